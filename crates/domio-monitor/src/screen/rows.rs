//! The rows of the screen: domains, their vcpus below them, and the idle time last.

use super::columns::{COLUMNS, Column, Window};
use crate::names::DomainNames;
use domio_core::{DomainId, VcpuName};
use domio_meter::{Figures, IntervalSample, Part};
use std::collections::{BTreeMap, BTreeSet};

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What it is called, indented below its domain.
    pub name: String,
    /// Whose row it is.
    pub domain: DomainId,
    /// Whether it is a vcpu of the domain above it.
    pub is_vcpu: bool,
    /// Figures of the last second.
    pub short: Figures,
    /// Figures of the last ten.
    pub long: Figures,
}

/// The two windows that rows are of, and their lengths in nanoseconds.
pub(crate) struct Windows<'a> {
    /// The last second.
    pub short: &'a IntervalSample,
    /// The last ten.
    pub long: &'a IntervalSample,
    /// Time of each.
    pub times: [f64; 2],
}

impl Windows<'_> {
    /// The figure of a row in a column.
    pub fn value(&self, row: &Row, column: &Column) -> Option<f64> {
        let (figures, time) = match column.window {
            Window::Short => (&row.short, self.times[0]),
            Window::Long => (&row.long, self.times[1]),
        };
        (column.value)(figures, time)
    }
}

/// The order of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// Column of [`COLUMNS`] to sort by, the largest first; by number of the domain without.
    pub column: Option<usize>,
    /// The other way round.
    pub reversed: bool,
}

/// The rows in their order. Domains in `open` are followed by their vcpus.
pub fn rows(
    windows: &Windows<'_>,
    names: &DomainNames,
    order: Order,
    open: &BTreeSet<DomainId>,
) -> Vec<Row> {
    let domains = windows.short.domains.iter().chain(&windows.long.domains);
    let ids: BTreeSet<DomainId> = domains.map(|d| d.id).collect();
    let row = |id: DomainId| Row {
        name: names.domain(id),
        domain: id,
        is_vcpu: false,
        short: windows.short.domain(id),
        long: windows.long.domain(id),
    };
    let mut domains: Vec<Row> = ids.into_iter().map(row).collect();
    sort(&mut domains, windows, order);
    // Idle time is nobody's share: it stays below the others.
    domains.sort_by_key(|row| row.domain == DomainId::IDLE);
    let mut rows = Vec::new();
    for domain in domains {
        let id = domain.domain;
        rows.push(domain);
        if open.contains(&id) {
            let mut vcpus = vcpus(windows, id);
            sort(&mut vcpus, windows, order);
            rows.extend(vcpus);
        }
    }
    rows
}

fn sort(rows: &mut [Row], windows: &Windows<'_>, order: Order) {
    if let Some(column) = order.column.and_then(|at| COLUMNS.get(at)) {
        let value = |row: &Row| windows.value(row, column).unwrap_or(-1.0);
        rows.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
    if order.reversed {
        rows.reverse();
    }
}

/// The vcpus of a domain, by number.
fn vcpus(windows: &Windows<'_>, domain: DomainId) -> Vec<Row> {
    let mut rows: BTreeMap<VcpuName, Row> = BTreeMap::new();
    let of = |sample: &IntervalSample| -> Vec<Part> {
        let parts = sample.parts.iter().filter(|p| p.vcpu.domain == domain);
        parts.copied().collect()
    };
    let new = |vcpu: VcpuName| Row {
        name: match vcpu.is_idle() {
            true => format!("  pcpu {}", vcpu.index),
            false => format!("  vcpu {}", vcpu.index),
        },
        domain,
        is_vcpu: true,
        short: Figures::default(),
        long: Figures::default(),
    };
    for part in of(windows.short) {
        let row = rows.entry(part.vcpu).or_insert_with(|| new(part.vcpu));
        row.short.add(&part.figures);
    }
    for part in of(windows.long) {
        let row = rows.entry(part.vcpu).or_insert_with(|| new(part.vcpu));
        row.long.add(&part.figures);
    }
    rows.into_values().collect()
}
