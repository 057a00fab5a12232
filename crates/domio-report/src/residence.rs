//! Where vcpus ran, as a table.

use crate::data::{Chart, Picture, Section};
use crate::tables;
use domio_answer::{Cell, Column, ColumnKind, Holds, Table};
use domio_meter::{Level, RanOn, RanWhere};

/// Pcpus or nodes that a cell names, those with most time first.
const NAMED: usize = 3;

/// Where vcpus ran, by name, within `elapsed_ns`, which is left out where moves are not known: a
/// row a vcpu that ran; `None` on a host of one pcpu (`pcpus`), where there is nothing to tell.
pub fn section(
    vcpus: &[(String, RanWhere)],
    pcpus: usize,
    elapsed_ns: Option<u64>,
) -> Option<Section> {
    let ran: Vec<&(String, RanWhere)> = vcpus.iter().filter(|(_, r)| !r.ran.is_empty()).collect();
    if pcpus < 2 || ran.is_empty() {
        return None;
    }
    let of = |cell: &dyn Fn(&RanWhere) -> Cell| -> Vec<Cell> {
        ran.iter().map(|(_, r)| cell(r)).collect()
    };
    let seconds = elapsed_ns.map_or(0.0, |ns| ns as f64 / 1e9);
    let rate = |level| {
        of(&|r| {
            let moves = r.moves(level).filter(|_| seconds > 0.0);
            let rate = moves.map(|moves| (moves as f64 / seconds * 10.0).round() / 10.0);
            rate.into()
        })
    };
    let moving = elapsed_ns.is_some();
    let any = |is: &dyn Fn(&RanOn) -> bool| ran.iter().any(|(_, r)| r.ran.iter().any(is));
    let nodes = any(&|ran| ran.level == Level::Node && ran.number > 0);
    // Cores that are pcpus say nothing new.
    let same = |a: Vec<RanOn>, b: Vec<RanOn>| {
        let time = |ran: &RanOn| (ran.number, ran.ns);
        a.iter().map(time).eq(b.iter().map(time))
    };
    let cores = ran.iter().any(|(_, r)| {
        let known = r.moves(Level::Core).is_some();
        known && !same(r.at(Level::Core), r.at(Level::Pcpu))
    });
    let soft = ran.iter().any(|(_, r)| r.inside_soft_percent.is_some());
    let inside = |percent: f64| Cell::Number((percent * 10.0).round() / 10.0);
    let per_second = |title| tables::number(title, "1/s");
    let whole = |title| Column {
        kind: ColumnKind::Key,
        ..tables::text(title)
    };
    // Whether the column is there, the column, and its cells.
    let columns = [
        (
            true,
            tables::number("pcpus used", "").of(Holds::Whole),
            of(&|r| r.at(Level::Pcpu).len().into()),
        ),
        (
            true,
            whole("pcpu: % of its time"),
            of(&|r| most(r.at(Level::Pcpu)).into()),
        ),
        (moving, per_second("moves"), rate(Level::Pcpu)),
        (
            soft,
            tables::number("inside soft", "%"),
            of(&|r| r.inside_soft_percent.map(inside).unwrap_or_default()),
        ),
        (
            nodes,
            whole("node: %"),
            of(&|r| most(r.at(Level::Node)).into()),
        ),
        (
            nodes && moving,
            per_second("to another node"),
            rate(Level::Node),
        ),
        (
            cores && moving,
            per_second("to another core"),
            rate(Level::Core),
        ),
    ];
    let mut table = Table::new("", [tables::name("vcpu")]);
    ran.iter()
        .for_each(|(name, _)| table.row([name.clone().into()]));
    for (_, column, cells) in columns.into_iter().filter(|(is_there, ..)| *is_there) {
        table.derive(column, cells);
    }
    Some(Section {
        title: "Where vcpus ran".to_owned(),
        text: String::new(),
        figures: vec![Picture::new("Where vcpus ran", Chart::Table(table))],
    })
}

/// Where most of the time was: `4: 61.0, 5: 39.0`.
fn most(mut ran: Vec<RanOn>) -> String {
    ran.sort_by_key(|place| (std::cmp::Reverse(place.ns), place.number));
    let words = ran.iter().take(NAMED);
    let words: Vec<String> = words
        .map(|p| format!("{}: {:.1}", p.number, p.percent))
        .collect();
    let more = if ran.len() > NAMED { ", ..." } else { "" };
    format!("{}{more}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::View;
    use crate::text::page::sections;
    use anstream::adapter::strip_str;
    use domio_core::{CpuSet, DomainId, PcpuId, Topology, VcpuName};
    use domio_meter::{HostPlaces, Residence};

    fn told(of: &[(u16, u64)], topology: Topology, soft: Option<CpuSet>) -> RanWhere {
        let vcpu = VcpuName::new(DomainId(1), 0);
        let moves = [((PcpuId(of[0].0), PcpuId(of[1].0)), 5)];
        let residence = Residence::of(of.iter().map(|(p, ns)| (PcpuId(*p), *ns)), moves);
        let places = HostPlaces {
            topology,
            soft: soft.map(|soft| (vcpu, soft)).into_iter().collect(),
        };
        RanWhere::new(vcpu, &residence, Some(&places))
    }

    #[test]
    fn a_row_tells_where_a_vcpu_ran() {
        let flat = Topology::flat(4).unwrap();
        let rows = [("web.0".to_owned(), told(&[(1, 30), (3, 70)], flat, None))];
        let one = section(&rows, 4, Some(2_000_000_000)).unwrap();
        let text = strip_str(&sections(&[one], &View::default())).to_string();
        let row = text.lines().last().unwrap().split_whitespace();
        assert_eq!(
            row.collect::<Vec<_>>().join(" "),
            "web.0 2 3: 70.0, 1: 30.0 2.5"
        );
        assert!(!text.contains("node") && !text.contains("soft"), "{text}");
        assert_eq!(section(&rows, 1, Some(2_000_000_000)), None);
        assert_eq!(section(&[], 4, Some(2_000_000_000)), None);
    }

    #[test]
    fn sockets_threads_and_soft_affinity_have_columns() {
        let topology = Topology::new(2, 1, 2).unwrap();
        let soft = Some(CpuSet::of(PcpuId(0)));
        let ran = told(&[(0, 20), (3, 80)], topology, soft);
        let rows = [("web.0".to_owned(), ran)];
        let one = section(&rows, 4, Some(1_000_000_000)).unwrap();
        let shown = |view| strip_str(&sections(std::slice::from_ref(&one), &view)).to_string();
        let row = |text: &str| {
            let row = text.lines().find(|line| line.starts_with("web"));
            let words = row.unwrap_or_default().split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        let most = "web.0 2 3: 80.0, 0: 20.0 5 20 1: 80.0, 0: 20.0";
        assert_eq!(row(&shown(View::default())), format!("{most} 5 5"));
        let narrow = shown(View::of_width(80));
        assert!(narrow.contains("no room for"), "{narrow}");
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 80),
            "{narrow}"
        );
    }
}
