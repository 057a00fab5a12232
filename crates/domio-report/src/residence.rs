//! Where vcpus ran, as the columns and rows of a table: the same for terminal and report.

use crate::data::{Chart, DataTable, Figure, Section};
use domio_meter::{PlacesJson, ResidenceJson};

/// Pcpus or nodes that a cell names, those with most time first.
const NAMED: usize = 3;

/// What the table is of.
pub(crate) const TITLE: &str = "Where vcpus ran";

/// Columns, and a row a vcpu that ran.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The title of each, of up to two lines, and whether its cells are one figure each.
    pub columns: Vec<(&'static str, bool)>,
    pub rows: Vec<Vec<String>>,
}

impl Places {
    /// Of vcpus by name and where they ran within `elapsed_ns`, which is left out where moves are
    /// not known; `None` on a host of one pcpu (`pcpus`), where there is nothing to tell.
    pub(crate) fn of(
        vcpus: &[(String, ResidenceJson)],
        pcpus: usize,
        elapsed_ns: Option<u64>,
    ) -> Option<Places> {
        let ran = || vcpus.iter().filter(|(_, r)| !r.pcpus.ran.is_empty());
        if pcpus < 2 || ran().next().is_none() {
            return None;
        }
        let seconds = elapsed_ns.map_or(0.0, |ns| ns as f64 / 1e9);
        let rate = |moves: u64| match seconds > 0.0 {
            true => format!("{:.1}", moves as f64 / seconds),
            false => "-".to_owned(),
        };
        let several = |part: &dyn Fn(&ResidenceJson) -> Option<usize>| {
            ran().filter_map(|(_, r)| part(r)).any(|last| last > 0)
        };
        let last = |places: &Option<PlacesJson>| places.as_ref()?.ran.last().map(|p| p.number);
        let moving = elapsed_ns.is_some();
        let nodes = several(&|r| last(&r.nodes));
        // Cores that are pcpus say nothing new.
        let cores = ran().any(|(_, r)| r.cores.as_ref().is_some_and(|c| *c != r.pcpus));
        let soft = ran().any(|(_, r)| r.inside_soft_percent.is_some());
        let of = |places: &Option<PlacesJson>, cell: &dyn Fn(&PlacesJson) -> String| {
            places.as_ref().map_or("-".to_owned(), cell)
        };
        let moves = |places: &Option<PlacesJson>| of(places, &|p| rate(p.moves));
        let inside = |percent: Option<f64>| percent.map_or("-".to_owned(), |p| format!("{p:.1}"));
        // Whether the column is there, whether it has figures, its title, and a cell.
        type Cell<'c> = &'c dyn Fn(&str, &ResidenceJson) -> String;
        let all: [(bool, bool, &'static str, Cell<'_>); 8] = [
            (true, false, "vcpu", &|name, _| name.to_owned()),
            (true, true, "pcpus\nused", &|_, r| {
                r.pcpus.ran.len().to_string()
            }),
            (true, false, "pcpu: % of its time", &|_, r| most(&r.pcpus)),
            (moving, true, "moves\n[1/s]", &|_, r| rate(r.pcpus.moves)),
            (soft, true, "inside\nsoft [%]", &|_, r| {
                inside(r.inside_soft_percent)
            }),
            (nodes, false, "node: %", &|_, r| of(&r.nodes, &most)),
            (nodes && moving, true, "to another\nnode [1/s]", &|_, r| {
                moves(&r.nodes)
            }),
            (cores && moving, true, "to another\ncore [1/s]", &|_, r| {
                moves(&r.cores)
            }),
        ];
        let there = || all.iter().filter(|(is_there, ..)| *is_there);
        let row = |(name, r): &(String, ResidenceJson)| {
            let cells = there().map(|(.., cell)| cell(name, r));
            cells.collect()
        };
        Some(Places {
            columns: there()
                .map(|&(_, is_figure, title, _)| (title, is_figure))
                .collect(),
            rows: ran().map(row).collect(),
        })
    }
}

/// The table as a section of a report.
pub fn section(
    vcpus: &[(String, ResidenceJson)],
    pcpus: usize,
    elapsed_ns: Option<u64>,
) -> Option<Section> {
    let Places { columns, rows } = Places::of(vcpus, pcpus, elapsed_ns)?;
    let head = columns.iter().map(|(title, _)| title.replace('\n', " "));
    let table = DataTable {
        head: head.collect(),
        rows,
    };
    Some(Section {
        title: TITLE.to_owned(),
        text: String::new(),
        figures: vec![Figure::new("Pcpus of each vcpu", Chart::Table(table))],
    })
}

/// Where most of the time was: `4: 61.0, 5: 39.0`.
fn most(places: &PlacesJson) -> String {
    let mut ran = places.ran.clone();
    ran.sort_by_key(|place| (std::cmp::Reverse(place.ns), place.number));
    let words = ran.iter().take(NAMED);
    let words: Vec<String> = words
        .map(|p| format!("{}: {:.1}", p.number, p.percent))
        .collect();
    let more = if ran.len() > NAMED { ", ..." } else { "" };
    format!("{}{more}", words.join(", "))
}
