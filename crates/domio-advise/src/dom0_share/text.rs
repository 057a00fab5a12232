//! Dom0's share for the terminal.

use crate::dom0_share::answers::{best_of, setting};
use crate::dom0_share::{Dom0Guest, Dom0Outcome, Dom0Point};
use domio_report::text::{TextCell, TextColumn, TextTable, Tone, View};

/// What each setting gives, what dom0 works for the guests, and the answers.
pub fn render(outcome: &Dom0Outcome, answers: &[String], view: &View) -> String {
    let mut text = settings(outcome).render(view);
    text += &format!(
        "\nWhat {} get and cost {}\n\n",
        served(outcome),
        outcome.dom0
    );
    text += &guests(outcome).render(view);
    text += "\n";
    for answer in answers {
        text += &view.item("", answer);
    }
    text
}

/// Who is served, for people.
fn served(outcome: &Dom0Outcome) -> String {
    match outcome.points.first().and_then(|point| point.own.as_ref()) {
        Some(_) => format!("the guests and {} itself", outcome.dom0),
        None => "the guests".to_owned(),
    }
}

/// The name of a row: the scenario's own setting has none of its own.
fn row_name(point: &Dom0Point) -> String {
    match setting(point).as_str() {
        "" => "as it is".to_owned(),
        setting => setting.to_owned(),
    }
}

fn settings(outcome: &Dom0Outcome) -> TextTable {
    let dom0 = &outcome.dom0;
    let mut columns = vec![
        TextColumn::words("policy"),
        TextColumn::words("setting"),
        TextColumn::figures("score"),
        TextColumn::words("served worst"),
        TextColumn::figures(format!("{dom0}\n[%]")),
        TextColumn::figures("its vcpus\nwait [%]"),
        TextColumn::figures("its runs\n[1/s]"),
    ];
    let names: Vec<String> = outcome.points.first().map_or(Vec::new(), |p| {
        p.guests.iter().map(|g| g.name.clone()).collect()
    });
    columns.extend(
        names
            .iter()
            .map(|n| TextColumn::figures(format!("{n}\n[%]"))),
    );
    let mut table = TextTable::new(columns);
    let best = best_of(outcome);
    for point in &outcome.points {
        let tone = match best.is_some_and(|best| std::ptr::eq(best, point)) {
            true => Tone::Strong,
            false => Tone::Plain,
        };
        let mut cells: Vec<TextCell> = vec![
            point.policy.clone().into(),
            row_name(point).into(),
            TextCell::new(format!("{:.2}", point.score), tone),
            format!("{} ({:.2})", point.worst_guest, point.worst).into(),
            format!("{:.1}", point.dom0_share_pct).into(),
            format!("{:.1}", point.dom0_waiting_pct).into(),
            format!("{:.0}", point.dom0_runs_per_s).into(),
        ];
        let share = |g: &Dom0Guest| TextCell::from(format!("{:.1}", g.share_pct));
        cells.extend(point.guests.iter().map(share));
        table.row(cells);
    }
    table
}

fn guests(outcome: &Dom0Outcome) -> TextTable {
    let mut columns = vec![TextColumn::words("policy"), TextColumn::words("setting")];
    let first = outcome.points.first();
    let guests: Vec<&Dom0Guest> = first.map_or(Vec::new(), |point| point.served().collect());
    for guest in &guests {
        for service in &guest.services {
            columns.push(TextColumn::figures(format!(
                "{}\n{}",
                guest.name, service.title
            )));
        }
        if let Some((_, unit)) = cost(guest) {
            columns.push(TextColumn::figures(format!(
                "{}\n[us/{unit}]",
                outcome.dom0
            )));
        }
    }
    let mut table = TextTable::new(columns);
    for point in &outcome.points {
        let mut cells: Vec<TextCell> = vec![point.policy.clone().into(), row_name(point).into()];
        for guest in &guests {
            let now = point.served().find(|g| g.name == guest.name);
            for service in &guest.services {
                let same = |s: &&crate::dom0_share::Dom0Service| s.key == service.key;
                let value = now.and_then(|g| g.services.iter().find(same));
                cells.push(value.map_or("-".to_owned(), |s| digits(s.value)).into());
            }
            if cost(guest).is_some() {
                let value = now.and_then(cost);
                cells.push(value.map_or("-".to_owned(), |(us, _)| digits(us)).into());
            }
        }
        table.row(cells);
    }
    table
}

/// What dom0 works for a guest, and for each what.
fn cost(guest: &Dom0Guest) -> Option<(f64, &'static str)> {
    let reply = guest.dom0_us_per_reply.map(|us| (us, "reply"));
    reply.or(guest.dom0_us_per_kib.map(|us| (us, "KiB")))
}

/// Three digits or so.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_their_digits() {
        let shown = [1234.5, 12.34, 1.234, 0.1234].map(digits);
        assert_eq!(shown, ["1234", "12.3", "1.23", "0.123"]);
    }
}
