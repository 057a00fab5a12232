//! Where vcpus ran, as a table of the terminal.

use crate::residence::{Places, TITLE};
use crate::text::{Cell, Column, Table, Tone, View};
use domio_meter::ResidenceJson;

/// A row a vcpu that ran, of its name and where it ran within `elapsed_ns`, which is left out where
/// moves are not known; nothing on a host of one pcpu (`pcpus`), where there is nothing to tell.
pub fn render(
    vcpus: &[(String, ResidenceJson)],
    pcpus: usize,
    elapsed_ns: Option<u64>,
    view: &View,
) -> String {
    let Some(places) = Places::of(vcpus, pcpus, elapsed_ns) else {
        return String::new();
    };
    let columns = places
        .columns
        .iter()
        .map(|&(title, is_figure)| match is_figure {
            true => Column::figures(title),
            false => Column::words(title).whole(),
        });
    let mut table = Table::new(columns);
    for row in places.rows {
        let mut cells = row.into_iter();
        let name = cells.next().map(|name| Cell::new(name, Tone::Strong));
        table.row(name.into_iter().chain(cells.map(Cell::from)));
    }
    format!("{TITLE}:\n\n{}", table.render(view))
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
