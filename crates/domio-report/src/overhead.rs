//! What driver domains of networks cost: processor time by kind of work, and memory. A section
//! of a report, and the table for programs.

use crate::data::{Chart, Picture, Quantity, Section, Stack, StackBar};
use crate::driver_work::of_time;
use crate::tables;
use domio_answer::column::{parts, sum};
use domio_answer::{Cell, Column, Holds, Table};
use domio_run::overhead::{NetMemory, WorkKind};
use domio_stats::overhead::OverheadFigures;

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

/// A kind of memory: its key, its name for people, whose pages these are, what it is, and how many
/// bytes.
type MemoryKind = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    fn(&NetMemory) -> u64,
);

const MEMORY: [MemoryKind; 4] = [
    (
        "rings",
        "rings",
        "guests",
        "Rings of interfaces, which are pages of guests.",
        |memory| memory.rings,
    ),
    (
        "pending",
        "pending packets",
        "guests",
        "Places of packets from guests: 256 pages for each pair of tasklets, where pages of guests \
         are.",
        |memory| memory.pending,
    ),
    (
        "pools",
        "pools, from guests",
        "own",
        "Pools of small packets from guests: its own pages.",
        |memory| memory.pools,
    ),
    (
        "guest_pools",
        "pools, to guests",
        "guests",
        "Pools of small packets to guests, which are pages of guests.",
        |memory| memory.guest_pools,
    ),
];

/// What a driver domain has in memory: a row for each kind that there is any of, with whose pages
/// these are.
fn held(memory: &NetMemory) -> Table {
    let size = tables::number("size", "KiB").of(Holds::Whole);
    let columns = [tables::name("what"), tables::text("whose pages"), size];
    let mut table = Table::new("", columns);
    for (_, kind, whose, _, bytes) in MEMORY {
        if bytes(memory) > 0 {
            table.row([kind.into(), whose.into(), (bytes(memory) / 1024).into()]);
        }
    }
    table
}

/// All of it for programs: a row a driver domain, with its time by kind of work and its memory by
/// kind.
pub fn table(drivers: &[(OverheadFigures, NetMemory)]) -> Table {
    let time = |kind: WorkKind| {
        let column = sum(kind.key(), "ms").of(Holds::Estimate);
        column.title(kind.title()).doc(kind.meaning())
    };
    let size = |(key, title, _, doc, _): MemoryKind| {
        let column = sum(key, "KiB").of(Holds::Whole);
        column.title(title).doc(doc)
    };
    let row = |key, columns: Vec<Column>, doc| parts(key, columns).of(Holds::RowType).doc(doc);
    let columns = [
        tables::name("driver").doc("Name of the driver domain."),
        row(
            "processor",
            WorkKind::ALL.map(time).into(),
            "Milliseconds that it executed, by kind of work.",
        ),
        row(
            "memory_kib",
            MEMORY.map(size).into(),
            "KiB in its address space for interfaces of guests, by kind.",
        ),
    ];
    let mut table = Table::new("", columns);
    for (figures, memory) in drivers {
        let times = figures.kinds.iter().map(|(_, ms)| (*ms).into());
        let sizes = MEMORY.iter().map(|kind| (kind.4(memory) / 1024).into());
        table.row([
            figures.driver.clone().into(),
            Cell::Rows(vec![times.collect()]),
            Cell::Rows(vec![sizes.collect()]),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{View, page};
    use anstream::adapter::strip_str;
    use domio_core::DomainId;
    use domio_stats::Estimate;

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
        let text = strip_str(&page::sections(&[section], &View::default())).to_string();
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
    fn programs_get_all_kinds_in_order_and_kib() {
        let table = table(&[driver()]);
        let [driver, processor, memory] = &table.rows()[0][..] else {
            panic!("{table:?}");
        };
        assert_eq!(driver, &Cell::text("Domain-0"));
        let keys = table.columns()[1].parts.iter().map(|column| &*column.key);
        assert!(keys.eq(WorkKind::ALL.map(WorkKind::key)));
        let times: Vec<_> = processor.rows()[0].iter().map(Cell::number).collect();
        assert_eq!(times[6..8], [Some(90.0), Some(120.0)]);
        let sizes = [8_u64, 1024, 0, 0].map(Cell::from);
        assert_eq!(memory.rows()[0], sizes);
    }
}
