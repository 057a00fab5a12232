//! What vcpus, packets and requests waited for, as tables.

use crate::explained::{Explained, Shares, percent};
use crate::figure;
use crate::text::table::folded;
use crate::text::{self, Cell, Column, Table, Tone, View, sched_map};
use domio_core::Class;
use domio_meter::{LongWait, ResidenceJson, capitalised};

/// What is before the second and later lines of a sentence.
pub(super) const INDENT: &str = "  ";

/// Rows of a list of waits in the narrowest lines, where each takes several; wider ones have all.
const ROWS_NARROW: usize = 10;

/// Tables of packets and requests where there are any, and tables of vcpus by cause and by who ran.
/// Where vcpus ran comes next. Then the longest waits, the map, and the work of driver domains. A
/// sentence for each who waited most, and what the trace does not tell, come last.
pub fn render(explained: Explained<'_>, view: &View) -> String {
    let explanation = explained.explanation;
    let mut parts: Vec<String> = Vec::new();
    let classes = explained.classes();
    parts.extend(classes.iter().map(|class| items(explained, class, view)));
    if !explanation.vcpus.is_empty() {
        parts.push(vcpus(explained, view));
    }
    let residence = residence(explained, view);
    if !residence.is_empty() {
        parts.push(residence);
    }
    for (title, waits) in explained.longest() {
        parts.push(format!("{title}:\n\n{}", longest(explained, &waits, view)));
    }
    if let Some(map) = &explanation.map.0 {
        parts.push(sched_map::render(explained, map, view));
    }
    let work = explained.driver_work();
    if !work.is_empty() {
        parts.push(text::driver_work::render(
            &work,
            explained.elapsed_ms(),
            view,
        ));
    }
    let sentences: String = explained
        .findings()
        .into_iter()
        .map(|sentence| format!("{sentence}\n"))
        .collect();
    if !sentences.is_empty() {
        parts.push(sentences);
    }
    let untold = explanation.untold();
    if !untold.is_empty() {
        let lines = untold.iter();
        let lines = lines.map(|said| view.item("", &format!("{said}.")));
        let title = "What the trace does not tell:\n".to_owned();
        parts.push(lines.fold(title, |text, line| text + &line));
    }
    parts.push(covers(explained));
    parts.join("\n")
}

/// Where vcpus ran, on a host with several pcpus.
fn residence(explained: Explained<'_>, view: &View) -> String {
    let explanation = explained.explanation;
    let places = explained.places;
    let pcpus = places.map_or(explanation.pcpus.len(), |p| p.topology.pcpus());
    let vcpus = explanation.vcpus.iter().map(|v| {
        let told = ResidenceJson::new(v.name, &v.residence, places);
        (explained.vcpu(v.name), told)
    });
    let vcpus: Vec<_> = vcpus.collect();
    text::residence::render(&vcpus, pcpus, Some(explanation.elapsed), view)
}

/// Items of one class: what they waited for, and who ran while they were in run queues.
fn items(explained: Explained<'_>, class: &'static Class, view: &View) -> String {
    let noun = capitalised(class.items);
    let counts = explained.guests(class).map(|(_, items)| {
        let mean = Explained::mean_ms(items);
        [
            items.begun.to_string().into(),
            mean.map_or("-".to_owned(), |ms| figure::scaled(ms, None, "ms"))
                .into(),
        ]
    });
    let heads = [class.items, "time of one"];
    let counts = counts.map(Vec::from).collect();
    let queues = table(
        "guest",
        (&heads, counts),
        &explained.queues(class),
        one_digit,
    );
    let mut text = format!(
        "{noun}, by what they waited for, in % of their time:\n\n{}",
        queues.render(view)
    );
    let behind = explained.items_behind(class);
    let beside = explained.items_beside(class);
    let ahead = explained.items_ahead(class);
    let where_ahead = format!("{}, by whose were ahead", Explained::where_ahead(class));
    let tables = [
        ("in run queues, by who ran meanwhile", behind),
        (
            "in the driver domain's queue and the device, by whose were in the device meanwhile",
            beside,
        ),
        (&where_ahead, ahead),
    ];
    for (what, shares) in tables.into_iter().filter(|(_, s)| !s.parts.is_empty()) {
        let shares = table("guest", (&[], Vec::new()), &shares, one_digit);
        text += &format!(
            "\n{noun} {what}, in % of their time:\n\n{}",
            shares.render(view)
        );
    }
    text
}

/// Vcpus: why they waited, and who ran meanwhile.
fn vcpus(explained: Explained<'_>, view: &View) -> String {
    let mut text =
        "Time that each vcpu was runnable and did not run, by cause, in % of the measured time:\n\n"
            .to_owned();
    text += &vcpu_table(explained, &explained.causes()).render(view);
    text += "\n";
    for (name, meaning) in explained.meanings() {
        text += &folded(&format!("{name}: {meaning}"), view.width.into(), INDENT);
    }
    let (none, untold) = explained.absent();
    for (title, causes) in [("For nobody", none), ("Not told", untold)] {
        if !causes.is_empty() {
            let line = format!("{title}: {}", causes.join(", "));
            text += &folded(&line, view.width.into(), INDENT);
        }
    }
    text += "\nThe same time, by who ran meanwhile, in % of the measured time:\n\n";
    text + &vcpu_table(explained, &explained.behind()).render(view)
}

/// The parts of each vcpu, behind how long it ran and waited.
fn vcpu_table(explained: Explained<'_>, shares: &Shares) -> Table {
    let whole = explained.explanation.elapsed;
    let vcpus = &explained.explanation.vcpus;
    let has_unknown = vcpus.iter().any(|vcpu| vcpu.unknown > 0);
    let row = |vcpu: &domio_meter::VcpuWaits| {
        let share = |time| two_digits(percent(time, whole));
        let longest = match vcpu.waits {
            0 => Cell::new("-", Tone::Dim),
            _ => figure::scaled(vcpu.longest as f64, None, "ns").into(),
        };
        let mut cells = vec![share(vcpu.running), share(vcpu.runnable()), longest];
        if has_unknown {
            cells.push(share(vcpu.unknown));
        }
        cells
    };
    let rows = vcpus.iter().map(row).collect();
    let heads = ["it runs", "it waits", "longest", "unknown"];
    let heads = &heads[..3 + usize::from(has_unknown)];
    table("vcpu", (heads, rows), shares, two_digits)
}

/// The parts of each row, behind columns with these heads and cells.
fn table(
    rows: &str,
    (heads, cells): (&[&str], Vec<Vec<Cell>>),
    shares: &Shares,
    share: impl Fn(f64) -> Cell,
) -> Table {
    let heads = heads.iter().copied().map(str::to_owned);
    let parts = shares.parts.iter().map(|part| in_two_lines(part));
    let columns = heads.chain(parts).map(Column::figures);
    let mut table = Table::new([Column::words(rows).whole()].into_iter().chain(columns));
    let mut cells = cells.into_iter();
    for (name, parts) in &shares.rows {
        let first = cells.next().unwrap_or_default().into_iter();
        let parts = parts.iter().map(|part| share(*part));
        let name = Cell::new(name, Tone::Strong);
        table.row([name].into_iter().chain(first).chain(parts));
    }
    table
}

fn one_digit(part: f64) -> Cell {
    match part {
        0.0 => Cell::new("-", Tone::Dim),
        part => format!("{part:.1}").into(),
    }
}

fn two_digits(part: f64) -> Cell {
    match part {
        0.0 => Cell::new("-", Tone::Dim),
        part if part < 0.005 => "<0.01".into(),
        part => format!("{part:.2}").into(),
    }
}

fn longest(explained: Explained<'_>, waits: &[&LongWait], view: &View) -> String {
    let heads = explained.heads();
    let last = heads.len() - 1;
    let columns = heads.iter().enumerate().map(|(i, head)| match *head {
        "run" | "begins [s]" | "length" => Column::figures(*head),
        _ if i == last => Column::words(*head),
        _ => Column::words(*head).whole(),
    });
    let mut table = Table::new(columns);
    // Which rows a wish to sort puts first is known when all are there.
    let shown = match view.width <= View::NARROWEST && view.sort.is_none() {
        true => ROWS_NARROW,
        false => waits.len(),
    };
    for wait in waits.iter().take(shown) {
        table.row(explained.cells(wait).into_iter().map(Cell::from));
    }
    let table = table.render(view);
    match waits.len().saturating_sub(shown) {
        0 => table,
        more => format!("{table}{more} more with COLUMNS=120, --json or --report\n"),
    }
}

/// What the figures cover, in a line.
fn covers(explained: Explained<'_>) -> String {
    let explanation = explained.explanation;
    let lost = match explanation.lost_records {
        0 => String::new(),
        n => format!(", {n} more are lost"),
    };
    let policy = match explanation.tells.policy_name() {
        Some(name) => format!(" under {name}"),
        None => String::new(),
    };
    let pcpus = match explanation.pcpus.len() {
        1 => "1 pcpu".to_owned(),
        n => format!("{n} pcpus"),
    };
    let runs = match explanation.runs {
        1 => String::new(),
        n => format!(" of {n} runs"),
    };
    format!(
        "{} records of {pcpus}{policy} in {} s{runs}{lost}\n",
        explanation.records,
        figure::number(explained.elapsed_ms() / 1e3)
    )
}

/// Columns are narrow: what follows a comma, or else the last word of a long name, goes below.
fn in_two_lines(part: &str) -> String {
    match (part.split_once(", "), part.rsplit_once(' ')) {
        (Some((first, rest)), _) => format!("{first},\n{rest}"),
        (None, Some((first, rest))) if part.len() > 8 => format!("{first}\n{rest}"),
        _ => part.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explained::tests::{driver_work, explanation, names};
    use crate::text::table::tests::plain;
    use domio_meter::Explanation;

    #[test]
    fn the_tables_hold_all_parts() {
        let (mut explanation, names) = (explanation(), names());
        let render = |explanation: &Explanation| {
            render(Explained::new(explanation, &names), &View::default())
        };
        let text = render(&explanation);
        for part in [
            "Packets, by what",
            "25",
            "60.0",
            "event-channel",
            "web.0",
            "dom2.0",
            "over its credit: ",
            "longest waits of all:",
            "web.0 waited 46 % of the time: 97.8 % of that behind dom2.0",
            "Packets of web waited most",
            "\n12 records of 1 pcpu under credit in 0.1 s\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("were lost") && !text.contains("Work of"));
        explanation.driver_work = vec![driver_work()];
        let with_work = render(&explanation);
        let table = with_work.split("\nWork of d2 for others:\n\n").nth(1);
        let table = table.unwrap();
        assert!(
            table.contains("web") && table.contains("nobody"),
            "{with_work}"
        );
        explanation.driver_work.clear();
        explanation.lost_records = 7;
        assert!(render(&explanation).contains("7 records were lost"));
        explanation.items.clear();
        assert!(!render(&explanation).contains("Packets"));
    }

    #[test]
    fn narrow_lines_have_the_ten_longest_waits() {
        let (mut explanation, names) = (explanation(), names());
        let wait = explanation.worst[0].clone();
        explanation.worst = vec![wait.clone(); 20];
        explanation.worst_woken.clear();
        explanation.unfinished.clear();
        let rows = |view: &View| {
            let text = plain(&render(Explained::new(&explanation, &names), view));
            let (_, list) = text.split_once("longest waits of all:").unwrap();
            let more = list.contains("\n10 more with COLUMNS=120, --json or --report\n");
            let begins = Explained::new(&explanation, &names).seconds(wait.begin);
            (list.matches(&begins).count(), more)
        };
        assert_eq!(rows(&View::of_width(80)), (10, true));
        assert_eq!(rows(&View::of_width(81)), (20, false));
        let sorted = View {
            sort: "length:asc".parse().ok(),
            ..View::of_width(80)
        };
        assert_eq!(rows(&sorted), (20, false));
    }

    #[test]
    fn waits_of_several_runs_say_of_which() {
        let (mut explanation, names) = (explanation(), names());
        let one = explanation.clone();
        explanation.add(&one);
        let text = plain(&render(
            Explained::new(&explanation, &names),
            &View::default(),
        ));
        let heads = text.lines().find(|l| l.contains("begins [s]")).unwrap();
        assert!(heads.trim_start().starts_with("run "), "{heads}");
        assert!(text.contains("0.2 s of 2 runs"), "{text}");
    }
}
