//! What driver domains of networks cost, as tables: processor time by kind of work, and memory.

use super::driver_work::of_time;
use crate::figure;
use crate::overhead::memory_rows;
use crate::text::{Cell, Column, Table, Tone, View};
use domio_run::overhead::NetMemory;
use domio_stats::overhead::OverheadFigures;

/// Two tables for each driver domain, nothing without any. `measured_ms` is the length of the
/// measured time.
pub fn render(drivers: &[(OverheadFigures, NetMemory)], measured_ms: f64, view: &View) -> String {
    let one = |(figures, memory): &(OverheadFigures, NetMemory)| {
        let name = &figures.driver;
        let executed = executed(figures, measured_ms).render(view);
        let held = held(memory).render(view);
        format!(
            "Overhead of {name}:\n\n{executed}\nMemory of {name} for guests' interfaces:\n\n{held}"
        )
    };
    drivers.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn executed(figures: &OverheadFigures, measured_ms: f64) -> Table {
    let rows = figures.shown().map(|(kind, ms)| (kind.title(), ms));
    of_time("what", rows, measured_ms)
}

fn held(memory: &NetMemory) -> Table {
    let mut table = Table::new([
        Column::words("what").whole(),
        Column::words("whose pages"),
        Column::figures("size\n[KiB]"),
    ]);
    for (kind, whose, kib) in memory_rows(memory) {
        table.row([
            Cell::new(kind, Tone::Strong),
            whose.to_owned().into(),
            figure::number(kib as f64).into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::tests::driver;
    use crate::text::table::tests::plain;

    #[test]
    fn kinds_have_their_part_of_a_pcpu_and_memory_its_owner() {
        let text = plain(&render(&[driver()], 1_000.0, &View::default()));
        let rows: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(text.starts_with("Overhead of Domain-0:\n\n"), "{text}");
        for row in [
            "netback's tasklets 3 30 ms",
            "hypervisor and rest 9 90 ms",
            "busy 12 120 ms",
            "rings guests 8",
            "pending packets guests 1024",
        ] {
            assert!(rows.iter().any(|other| other == row), "{row} in\n{text}");
        }
        assert!(
            !text.contains("softirqs") && !text.contains("pools"),
            "{text}"
        );
        assert_eq!(render(&[], 1_000.0, &View::default()), "");
    }
}
