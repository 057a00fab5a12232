//! Behind whom the vcpus of a trace waited, and why, as tables.

use crate::figure;
use crate::text::sched_map;
use crate::text::{Cell, Column, Table, Tone, View};
use crate::waiting::{Waited, percent};
use crate::waits::Shares;
use domio_meter::LongWait;

/// Tables of vcpus by cause and by who ran, the longest waits, the map, and what the trace does not
/// tell.
pub fn render(waited: Waited<'_>, view: &View) -> String {
    let waiting = waited.waiting;
    let mut text = String::new();
    if !waiting.vcpus.is_empty() {
        text += "Time that each vcpu was runnable and did not run, by cause, in % of its time:\n\n";
        text += &causes(waited, view);
        text += "\nThe same time, by who ran meanwhile, in % of its time:\n\n";
        text += &table(waited, &waited.behind(), view);
    }
    let unfinished = waited.unfinished();
    let lists = [
        ("The longest waits after a wake-up", &waiting.worst_woken),
        ("The longest waits of all", &waiting.worst),
        (
            "Waits that last when the trace ends; no sum above holds them",
            &unfinished,
        ),
    ];
    for (title, waits) in lists {
        if !waits.is_empty() {
            text += &format!("\n{title}:\n\n");
            text += &longest(waited, waits, view);
        }
    }
    if let Some(map) = &waiting.map {
        text += &format!("\n{}", sched_map::render(waited, map, view));
    }
    let sentences = [waited.verdicts(), waited.parked(), waited.idled()].concat();
    if !sentences.is_empty() {
        text += "\n";
        sentences.iter().for_each(|s| text += &format!("{s}\n"));
    }
    let untold = waiting.untold();
    if !untold.is_empty() {
        text += "\nWhat the trace does not tell:\n";
        for sentence in untold {
            text += &folded(&format!("- {sentence}."), view.width.into());
        }
    }
    text += &covers(waited);
    text
}

/// What the trace covers, in a line.
fn covers(waited: Waited<'_>) -> String {
    let waiting = waited.waiting;
    let seconds = waiting.end.saturating_since(waiting.start).as_nanos() as f64 / 1e9;
    let lost = match waiting.lost_records {
        0 => String::new(),
        n => format!(", {n} more were lost when they were recorded"),
    };
    let policy = match waiting.tells.policy_name() {
        Some(name) => format!(" under {name}"),
        None => String::new(),
    };
    let pcpus = match waiting.pcpus.len() {
        1 => "1 pcpu".to_owned(),
        n => format!("{n} pcpus"),
    };
    format!(
        "\n{} records of {pcpus}{policy} in {} s{lost}\n",
        waiting.records,
        figure::number(seconds)
    )
}

fn causes(waited: Waited<'_>, view: &View) -> String {
    let mut text = table(waited, &waited.causes(), view);
    text += "\n";
    for (name, meaning) in waited.meanings() {
        text += &folded(&format!("{name}: {meaning}"), view.width.into());
    }
    let (none, untold) = waited.absent();
    for (title, causes) in [("For nobody", none), ("Not told", untold)] {
        if !causes.is_empty() {
            text += &folded(
                &format!("{title}: {}", causes.join(", ")),
                view.width.into(),
            );
        }
    }
    text
}

/// The parts of each vcpu, behind how long it ran and waited.
fn table(waited: Waited<'_>, shares: &Shares, view: &View) -> String {
    let fixed = ["it runs", "it waits", "longest"].map(Column::figures);
    let parts = shares
        .parts
        .iter()
        .map(|part| Column::figures(in_two_lines(part)));
    let columns = fixed.into_iter().chain(parts);
    let mut table = Table::new([Column::words("vcpu").whole()].into_iter().chain(columns));
    for (vcpu, (name, parts)) in waited.waiting.vcpus.iter().zip(&shares.rows) {
        let share = |time| share(percent(time, vcpu.seen));
        let longest = match vcpu.waits {
            0 => Cell::new("-", Tone::Dim),
            _ => figure::scaled(vcpu.longest as f64, None, "ns").into(),
        };
        let fixed = [share(vcpu.running), share(vcpu.runnable()), longest];
        let parts = parts.iter().map(|part| self::share(*part));
        let cells = fixed.into_iter().chain(parts);
        table.row([Cell::new(name, Tone::Strong)].into_iter().chain(cells));
    }
    table.render(view)
}

fn share(part: f64) -> Cell {
    match part {
        0.0 => Cell::new("-", Tone::Dim),
        part if part < 0.005 => "<0.01".into(),
        part => format!("{part:.2}").into(),
    }
}

fn longest(waited: Waited<'_>, waits: &[LongWait], view: &View) -> String {
    let [begin, length, vcpu, on, why, behind] = Waited::WAIT_HEADS;
    let mut table = Table::new([
        Column::figures(begin),
        Column::figures(length),
        Column::words(vcpu).whole(),
        Column::words(on).whole(),
        Column::words(why).whole(),
        Column::words(behind),
    ]);
    for wait in waits {
        table.row(waited.cells(wait).map(Cell::from));
    }
    table.render(view)
}

/// Columns are narrow: the last word of a long name goes below.
fn in_two_lines(part: &str) -> String {
    match part.rsplit_once(' ') {
        Some((first, rest)) if part.len() > 8 => format!("{first}\n{rest}"),
        _ => part.to_owned(),
    }
}

/// `text` in lines of `width` characters at most, the second and later ones indented.
pub(super) fn folded(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines += &format!("{line}\n");
            line = " ".to_owned();
        }
        if !line.is_empty() || word.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &line + "\n"
}
