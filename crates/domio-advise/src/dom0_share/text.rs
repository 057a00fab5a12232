//! Dom0's share for the terminal.

use crate::dom0_share::answers::{answers, best_of};
use crate::dom0_share::{Dom0Guest, Dom0Outcome, Dom0Point};
use domio_answer::column::share;
use domio_answer::{Table, Tone};
use domio_report::tables::{name, number};
use domio_report::text::View;
use domio_report::text::table::render as drawn;

/// What each setting gives, what dom0 works for the guests, and the answers.
pub fn render(outcome: &Dom0Outcome, view: &View) -> String {
    let mut text = drawn(&settings(outcome), view);
    text += &format!(
        "\nWhat {} get and cost {}\n\n",
        served(outcome),
        outcome.dom0
    );
    text += &drawn(&guests(outcome), view);
    text += "\n";
    for answer in answers(outcome) {
        text += &view.item("", &answer);
    }
    text
}

/// Who is served, for people.
fn served(outcome: &Dom0Outcome) -> String {
    match outcome
        .points
        .first()
        .and_then(|point| point.own.0.as_ref())
    {
        Some(_) => format!("the guests and {} itself", outcome.dom0),
        None => "the guests".to_owned(),
    }
}

/// The settings, with the share of each guest behind.
fn settings(outcome: &Dom0Outcome) -> Table {
    let points = &outcome.points;
    let mut table = Table::of("", points);
    let guests = points.first().map_or(&[][..], |point| &point.guests[..]);
    for (i, guest) in guests.iter().enumerate() {
        let shares = points.iter().map(|point| point.guests[i].share_pct.into());
        table.derive(share(guest.name.clone()), shares);
    }
    let best = best_of(outcome);
    let best = points
        .iter()
        .position(|p| best.is_some_and(|best| std::ptr::eq(best, p)));
    let score = table
        .columns()
        .iter()
        .position(|column| column.key == "score");
    if let (Some(row), Some(column)) = (best, score) {
        table.set_tone(row, column, Tone::Strong);
    }
    table
}

/// What everybody who is served gets, and what dom0 works for that.
fn guests(outcome: &Dom0Outcome) -> Table {
    let points = &outcome.points;
    let mut table = Table::new("", [name("policy"), name("setting")]);
    for point in points {
        table.row([point.policy.clone().into(), point.setting.clone().into()]);
    }
    let first = points.first();
    for guest in first.iter().flat_map(|point| point.served()) {
        let mut add = |what: &str, unit: &str, value: &dyn Fn(&Dom0Guest) -> Option<f64>| {
            let now = |p: &Dom0Point| p.served().find(|g| g.name == guest.name).and_then(value);
            let title = format!("{}, {what}", guest.name);
            table.derive(number(title, unit), points.iter().map(|p| now(p).into()));
        };
        for service in &guest.services {
            add(&service.title, &service.unit, &|guest| {
                let same = guest.services.iter().find(|s| s.key == service.key);
                same.map(|s| s.value)
            });
        }
        if let Some((_, unit)) = cost(guest) {
            add(&outcome.dom0, &format!("us/{unit}"), &|guest| {
                cost(guest).map(|(us, _)| us)
            });
        }
    }
    table
}

/// What dom0 works for a guest, and for each what.
fn cost(guest: &Dom0Guest) -> Option<(f64, &'static str)> {
    let reply = guest.dom0_us_per_reply.map(|us| (us, "reply"));
    reply.or(guest.dom0_us_per_kib.map(|us| (us, "KiB")))
}
