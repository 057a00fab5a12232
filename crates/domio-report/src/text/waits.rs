//! What guests and their packets wait for, as tables.

use crate::figure;
use crate::text::{self, Cell, Column, Table, Tone, View};
use crate::waits::{Shares, Waits};

/// Three tables and a sentence for each guest with packets; without any, the table of run queues.
/// Then a table for each driver domain that worked for others.
pub fn render(waits: Waits<'_>, view: &View) -> String {
    let mut text = String::new();
    let packets = waits.packets();
    if !packets.is_empty() {
        let counts = waits.guests().map(|(_, packets)| {
            let mean = Waits::mean_ms(packets);
            [
                packets.begun.to_string(),
                mean.map_or("-".to_owned(), |ms| figure::scaled(ms, None, "ms")),
            ]
        });
        let heads = ["packets", "time of one"].map(str::to_owned);
        let first = (&heads[..], counts.map(Vec::from).collect());
        text += "Packets, by what they waited for, in % of their time:\n\n";
        text += &table("guest", first, &packets).render(view);
        text += "\nPackets in run queues, by who ran meanwhile, in % of their time:\n\n";
        text += &table("guest", Default::default(), &waits.packets_behind()).render(view);
        text += "\n";
    }
    let shares = waits.run_queues();
    let elapsed = waits.explanation.elapsed();
    let runs = waits.explanation.domains.iter().map(|d| match elapsed {
        0 => vec!["-".to_owned()],
        elapsed => vec![percent(d.running as f64 * 100.0 / elapsed as f64)],
    });
    text += "Domains in run queues, by who ran meanwhile, in % of the time:\n\n";
    let first = (&["it runs".to_owned()][..], runs.collect());
    text += &table("domain", first, &shares).render(view);
    let work = waits.driver_work();
    if !work.is_empty() {
        text += "\n";
        text += &text::driver_work::render(&work, waits.elapsed_ms(), view);
    }
    for verdict in waits.verdicts() {
        text += "\n";
        text += &verdict;
    }
    if !packets.is_empty() {
        text += "\n";
    }
    if waits.explanation.lost_records > 0 {
        let lost = waits.explanation.lost_records;
        text += &format!("\n{lost} records are missing; these figures are not to be relied on.\n");
    }
    text
}

/// The parts of each domain, behind columns with these heads and figures.
fn table(rows: &str, first: (&[String], Vec<Vec<String>>), shares: &Shares) -> Table {
    let (heads, figures) = first;
    let parts = shares.parts.iter().map(|part| in_two_lines(part));
    let columns = heads.iter().cloned().chain(parts).map(Column::figures);
    let mut table = Table::new([Column::words(rows).whole()].into_iter().chain(columns));
    for (i, (name, parts)) in shares.rows.iter().enumerate() {
        let figures = figures.get(i).cloned().unwrap_or_default();
        let parts = parts.iter().map(|part| match *part {
            0.0 => Cell::new("-", Tone::Dim),
            part => percent(part).into(),
        });
        let cells = figures.into_iter().map(Cell::from).chain(parts);
        table.row([Cell::new(name, Tone::Strong)].into_iter().chain(cells));
    }
    table
}

/// Columns are narrow: what follows a comma, or else the last word of a long name, goes below.
fn in_two_lines(part: &str) -> String {
    match (part.split_once(", "), part.rsplit_once(' ')) {
        (Some((first, rest)), _) => format!("{first},\n{rest}"),
        (None, Some((first, rest))) if part.len() > 12 => format!("{first}\n{rest}"),
        _ => part.to_owned(),
    }
}

fn percent(part: f64) -> String {
    format!("{part:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::tests::{driver_work, explanation, names};
    use domio_meter::Explanation;

    #[test]
    fn the_tables_hold_all_parts() {
        let (mut explanation, names) = (explanation(), names());
        let render = |explanation: &Explanation| {
            let names = &names;
            render(Waits { explanation, names }, &View::default())
        };
        let text = render(&explanation);
        for part in [
            "web",
            "25",
            "60.0",
            "11.0",
            "event-channel",
            "others,",
            "54.0",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("missing") && !text.contains("Work of"));
        explanation.driver_work = vec![driver_work()];
        let with_work = render(&explanation);
        let table = with_work.split("\nWork of d2 for others:\n\n").nth(1);
        let table = table.unwrap();
        assert!(
            table.contains("web") && table.contains("nobody"),
            "{with_work}"
        );
        // What the guests waited for stands last, as it does without.
        let rest = table.split("\nPackets of").nth(1).unwrap();
        assert!(text.ends_with(rest));
        explanation.driver_work.clear();
        explanation.lost_records = 7;
        assert!(render(&explanation).contains("7 records are missing"));
        explanation
            .domains
            .iter_mut()
            .for_each(|d| d.packets = None);
        assert!(!render(&explanation).contains("Packets"));
    }
}
