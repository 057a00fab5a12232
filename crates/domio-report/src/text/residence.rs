//! Where vcpus ran, as a table.

use crate::text::{Cell, Column, Table, Tone, View};
use domio_meter::{PlacesJson, ResidenceJson};

/// Pcpus or nodes that a cell names, those with most time first.
const NAMED: usize = 3;

/// A row a vcpu that ran, of its name and where it ran within `elapsed_ns`, which is left out where
/// moves are not known; nothing on a host of one pcpu (`pcpus`), where there is nothing to tell.
pub fn render(
    vcpus: &[(String, ResidenceJson)],
    pcpus: usize,
    elapsed_ns: Option<u64>,
    view: &View,
) -> String {
    let ran = || vcpus.iter().filter(|(_, r)| !r.pcpus.ran.is_empty());
    if pcpus < 2 || ran().next().is_none() {
        return String::new();
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
    let nodes = several(&|r| last(&r.nodes));
    // Cores that are pcpus say nothing new.
    let cores = ran().any(|(_, r)| r.cores.as_ref().is_some_and(|c| *c != r.pcpus));
    let soft = ran().any(|(_, r)| r.inside_soft_percent.is_some());
    let mut columns = vec![
        Column::words("vcpu").whole(),
        Column::figures("pcpus\nused"),
        Column::words("pcpu: % of its time").whole(),
    ];
    let moving = elapsed_ns.is_some();
    let optional = [
        (moving, Column::figures("moves\n[1/s]")),
        (soft, Column::figures("inside\nsoft [%]")),
        (nodes, Column::words("node: %").whole()),
        (nodes && moving, Column::figures("to another\nnode [1/s]")),
        (cores && moving, Column::figures("to another\ncore [1/s]")),
    ];
    columns.extend(
        optional
            .into_iter()
            .filter_map(|(is, column)| is.then_some(column)),
    );
    let mut table = Table::new(columns);
    for (name, residence) in ran() {
        let moves = |places: &Option<PlacesJson>| {
            let places = places.as_ref();
            places.map_or("-".to_owned(), |places| rate(places.moves))
        };
        let inside = residence.inside_soft_percent;
        let inside = inside.map_or("-".to_owned(), |percent| format!("{percent:.1}"));
        let mut cells: Vec<Cell> = vec![
            Cell::new(name.clone(), Tone::Strong),
            residence.pcpus.ran.len().to_string().into(),
            most(&residence.pcpus).into(),
        ];
        let on_nodes = residence.nodes.as_ref().map_or("-".to_owned(), most);
        let optional = [
            (moving, rate(residence.pcpus.moves)),
            (soft, inside),
            (nodes, on_nodes),
            (nodes && moving, moves(&residence.nodes)),
            (cores && moving, moves(&residence.cores)),
        ];
        cells.extend(
            optional
                .into_iter()
                .filter_map(|(is, cell)| is.then_some(cell.into())),
        );
        table.row(cells);
    }
    format!("Where vcpus ran:\n\n{}", table.render(view))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::table::tests::plain;
    use domio_core::{CpuSet, DomainId, PcpuId, Topology, VcpuName};
    use domio_meter::{HostPlaces, Residence};

    fn told(of: &[(u16, u64)], topology: Topology, soft: Option<CpuSet>) -> ResidenceJson {
        let vcpu = VcpuName::new(DomainId(1), 0);
        let moves = [((PcpuId(of[0].0), PcpuId(of[1].0)), 5)];
        let residence = Residence::of(of.iter().map(|(p, ns)| (PcpuId(*p), *ns)), moves);
        let places = HostPlaces {
            topology,
            soft: soft.map(|soft| (vcpu, soft)).into_iter().collect(),
        };
        ResidenceJson::new(vcpu, &residence, Some(&places))
    }

    #[test]
    fn a_row_tells_where_a_vcpu_ran() {
        let flat = Topology::flat(4).unwrap();
        let rows = [("web.0".to_owned(), told(&[(1, 30), (3, 70)], flat, None))];
        let text = plain(&render(&rows, 4, Some(2_000_000_000), &View::default()));
        let row = text.lines().last().unwrap().split_whitespace();
        assert_eq!(
            row.collect::<Vec<_>>().join(" "),
            "web.0 2 3: 70.0, 1: 30.0 2.5"
        );
        assert!(!text.contains("node") && !text.contains("soft"), "{text}");
        assert_eq!(render(&rows, 1, Some(2_000_000_000), &View::default()), "");
        assert_eq!(render(&[], 4, Some(2_000_000_000), &View::default()), "");
    }

    #[test]
    fn sockets_threads_and_soft_affinity_have_columns() {
        let topology = Topology::new(2, 1, 2).unwrap();
        let soft = Some(CpuSet::of(PcpuId(0)));
        let ran = told(&[(0, 20), (3, 80)], topology, soft);
        let rows = [("web.0".to_owned(), ran)];
        let shown = |view| plain(&render(&rows, 4, Some(1_000_000_000), &view));
        let row = |text: &str| {
            let row = text.lines().find(|line| line.starts_with("web"));
            let words = row.unwrap_or_default().split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        let most = "web.0 2 3: 80.0, 0: 20.0 5.0 20.0 1: 80.0, 0: 20.0";
        assert_eq!(row(&shown(View::default())), format!("{most} 5.0 5.0"));
        let narrow = shown(View::of_width(80));
        assert_eq!(row(&narrow), most);
        assert!(narrow.contains("no room for"), "{narrow}");
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 80),
            "{narrow}"
        );
    }
}
