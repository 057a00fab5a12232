//! What driver domains of networks cost: processor time by kind of work, and memory. A section
//! of a report, and the form for JSON.

use crate::data::{Chart, Picture, Quantity, Section, Stack, StackBar};
use crate::driver_work::of_time;
use crate::tables;
use domio_answer::{Holds, Table};
use domio_meter::InOrder;
use domio_run::overhead::{NetMemory, WorkKind};
use domio_stats::Estimate;
use domio_stats::overhead::OverheadFigures;
use serde::Serialize;

const TEXT: &str = "What a driver domain executes, by kind of work, and what it has in memory for \
                    the interfaces of guests.";

/// A picture of all driver domains, and two tables for each; `None` without any. `measured_ms`
/// is the length of the measured time.
pub fn section(drivers: &[(OverheadFigures, NetMemory)], measured_ms: f64) -> Option<Section> {
    if drivers.is_empty() {
        return None;
    }
    // Kinds that no driver domain has are left out: there are as many colours as kinds at most.
    let parts = WorkKind::ALL.into_iter().filter(|kind| {
        let mut shown = drivers.iter().flat_map(|(figures, _)| figures.shown());
        kind.is_summed() && shown.any(|(other, _)| other == kind)
    });
    let parts: Vec<WorkKind> = parts.collect();
    let length = |figures: &OverheadFigures, part: &WorkKind| {
        let ms = figures.kinds.iter().find(|(kind, _)| kind == part);
        ms.map_or(0.0, |(_, ms)| ms.mean / measured_ms * 100.0)
    };
    let bar = |(figures, _): &(OverheadFigures, NetMemory)| StackBar {
        name: figures.driver.clone(),
        lengths: parts.iter().map(|part| length(figures, part)).collect(),
    };
    let stack = Stack {
        value: Quantity::new("time executed", "% of one pcpu"),
        parts: parts.iter().map(|kind| kind.title().to_owned()).collect(),
        bars: drivers.iter().map(bar).collect(),
    };
    let picture = Picture::new("What each driver domain executed", Chart::Stack(stack));
    let of_driver = |(figures, memory): &(OverheadFigures, NetMemory)| {
        let name = &figures.driver;
        let rows = figures.shown().map(|(kind, ms)| (kind.title(), ms));
        let executed = Chart::Table(of_time("what", rows, measured_ms));
        [
            Picture::new(format!("Overhead of {name}"), executed),
            Picture::new(
                format!("Memory of {name} for guests' interfaces"),
                Chart::Table(held(memory)),
            ),
        ]
    };
    let tables = drivers.iter().flat_map(of_driver);
    Some(Section {
        title: "Overhead of driver domains".to_owned(),
        text: TEXT.to_owned(),
        figures: [picture.as_picture()].into_iter().chain(tables).collect(),
    })
}

/// What a driver domain has in memory: a row for each kind that there is any of, with whose pages
/// these are.
fn held(memory: &NetMemory) -> Table {
    let size = tables::number("size", "KiB").of(Holds::Whole);
    let columns = [tables::name("what"), tables::text("whose pages"), size];
    let mut table = Table::new("", columns);
    for (kind, whose, bytes) in [
        ("rings", "guests", memory.rings),
        ("pending packets", "guests", memory.pending),
        ("pools, from guests", "own", memory.pools),
        ("pools, to guests", "guests", memory.guest_pools),
    ] {
        if bytes > 0 {
            table.row([kind.into(), whose.into(), (bytes / 1024).into()]);
        }
    }
    table
}

/// What one driver domain costs, in `domio run --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OverheadJson {
    driver: String,
    processor: InOrder<Estimate>,
    memory_kib: InOrder<u64>,
}

impl OverheadJson {
    /// Of these figures.
    pub fn new(figures: OverheadFigures, memory: &NetMemory) -> Self {
        let kinds = figures.kinds.into_iter();
        let memory = [
            ("rings", memory.rings),
            ("pending", memory.pending),
            ("pools", memory.pools),
            ("guest_pools", memory.guest_pools),
        ];
        let memory = memory.map(|(name, bytes)| (name.to_owned(), bytes / 1024));
        OverheadJson {
            driver: figures.driver,
            processor: InOrder(kinds.map(|(k, ms)| (k.key().to_owned(), ms)).collect()),
            memory_kib: InOrder(memory.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::table::tests::plain;
    use crate::text::{View, page};
    use domio_core::DomainId;

    /// Domain-0, busy for 120 ms, with one interface and a pair of tasklets.
    fn driver() -> (OverheadFigures, NetMemory) {
        let ms = |kind| match kind {
            WorkKind::Netback => 30.0,
            WorkKind::Rest => 90.0,
            WorkKind::Busy => 120.0,
            _ => 0.0,
        };
        let kinds = WorkKind::ALL.map(|kind| (kind, Estimate::of(&[ms(kind)]).unwrap()));
        let figures = OverheadFigures {
            id: DomainId(0),
            driver: "Domain-0".to_owned(),
            kinds: kinds.to_vec(),
        };
        let memory = NetMemory {
            rings: 8 << 10,
            pending: 1 << 20,
            ..NetMemory::default()
        };
        (figures, memory)
    }

    #[test]
    fn kinds_are_parts_of_a_bar_and_memory_is_a_table() {
        let section = section(&[driver()], 1_000.0).unwrap();
        let Chart::Stack(stack) = &section.figures[0].chart else {
            panic!("{section:?}");
        };
        assert_eq!(stack.parts, ["netback's tasklets", "hypervisor and rest"]);
        assert_eq!(stack.bars[0].lengths, [3.0, 9.0]);
        let text = plain(&page::sections(&[section], &View::default()));
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
        assert_eq!(super::section(&[], 1_000.0), None);
    }

    #[test]
    fn json_has_all_kinds_in_order_and_kib() {
        let (figures, memory) = driver();
        let json = serde_json::to_string(&OverheadJson::new(figures, &memory)).unwrap();
        let begin = r#"{"driver":"Domain-0","processor":{"interrupts_ms":{"mean":0.0,"#;
        let end = r#""memory_kib":{"rings":8,"pending":1024,"pools":0,"guest_pools":0}}"#;
        assert!(json.starts_with(begin) && json.ends_with(end), "{json}");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["processor"]["rest_ms"]["mean"], 90.0);
        assert_eq!(json["processor"]["busy_ms"]["n"], 1);
    }
}
