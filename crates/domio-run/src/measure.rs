//! What is measured of each domain of a simulated host, as values of a [`Sample`].

use crate::sample::Sample;
use domio_core::{COMMON, DomainId, Figure, FigureTable};
use domio_meter::Summary;
use domio_net::queue::DropPlace;
use domio_scenario::Parts;
use std::sync::Arc;

/// The tables of figures that hosts with some [`Parts`] may have, as the classes of their records
/// declare them. A clone is the same tables.
#[derive(Clone, Debug)]
pub struct Measures(Arc<[&'static FigureTable]>);

impl From<&Parts> for Measures {
    fn from(parts: &Parts) -> Self {
        let classes = [&COMMON].into_iter().chain(parts.classes());
        let mut tables: Vec<&FigureTable> = Vec::new();
        // Policies and devices of one kind share a class.
        for table in classes.flat_map(|class| class.tables) {
            if !tables.iter().any(|known| std::ptr::eq(*known, *table)) {
                tables.push(table);
            }
        }
        Measures(tables.into())
    }
}

impl Measures {
    /// Those of hosts with the parts that ship.
    pub fn shipped() -> Self {
        Measures::from(&Parts::from(domio_sched::policies()))
    }

    /// The tables in their order: those of the common class first, then those of policies, then
    /// those of devices.
    pub fn tables(&self) -> &[&'static FigureTable] {
        &self.0
    }

    /// The figures of a domain that replications measure, in the order of tables. Those without a
    /// value in a run (no wake-up, no completed run, no job, no network) are not in its sample.
    pub fn figures(&self) -> impl Iterator<Item = &'static Figure> + Clone + use<'_> {
        let all = self.0.iter().flat_map(|table| table.figures);
        all.filter(|figure| !figure.detail)
    }

    /// The figure with this key.
    pub fn figure(&self, key: &str) -> Option<&'static Figure> {
        self.figures().find(|figure| figure.key == key)
    }
}

/// Every figure of every domain of `domains`, which gives their names.
pub fn sample(summary: &Summary, domains: &[(DomainId, String)]) -> Sample {
    let mut sample = Sample::new();
    for (id, name) in domains {
        let Some(domain) = summary.domain(*id) else {
            continue;
        };
        for (figure, value) in summary.figures(domain) {
            if !figure.detail {
                sample.set(&figure.name(name), value);
            }
        }
        let competes = summary.competing().contains(id);
        let starved = domain.starved().count();
        for (remark, value) in [(COMPETES, u32::from(competes)), (STARVED, starved as u32)] {
            if value > 0 {
                sample.set(&format!("{name}.{remark}"), f64::from(value));
            }
        }
    }
    sample
}

/// What a sample remarks of a domain, after its name and a dot: that it competes for processors.
const COMPETES: &str = "competes";
/// Likewise: how many of its vcpus waited for a pcpu and never got one.
const STARVED: &str = "starved_vcpus";

/// Whether a value of a sample is a remark on a domain, and no figure to show.
pub fn is_remark(name: &str) -> bool {
    let last = name.rsplit_once('.').map(|(_, last)| last);
    last.is_some_and(|last| [COMPETES, STARVED].contains(&last))
}

/// Whether `domain` competes for processors ([`Summary::competing`]).
pub fn competes(sample: &Sample, domain: &str) -> bool {
    sample.get(&format!("{domain}.{COMPETES}")).is_some()
}

/// How many vcpus of `domain` waited for a pcpu and never got one.
pub fn starved_vcpus(sample: &Sample, domain: &str) -> usize {
    let starved = sample.get(&format!("{domain}.{STARVED}"));
    starved.map_or(0, |vcpus| vcpus as usize)
}

/// Begin of the names of values that count dropped packets; the place follows.
const DROPPED: &str = "dropped.";

/// Notes in `sample` how many packets were dropped where.
pub fn note_drops(sample: &mut Sample, dropped: &[(DropPlace, u64)]) {
    for (place, count) in dropped {
        sample.set(&format!("{DROPPED}{place}"), *count as f64);
    }
}

/// How many packets were dropped at `place`.
pub fn dropped_at(sample: &Sample, place: &str) -> f64 {
    sample.get(&format!("{DROPPED}{place}")).unwrap_or(0.0)
}

/// The place of which the value of this name in a sample counts the drops, if it does.
pub fn place_of_drops(name: &str) -> Option<&str> {
    name.strip_prefix(DROPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_remarks_who_competes_and_who_starves() {
        let sample = Sample::new().with("a.competes", 1.0);
        let sample = sample.with("b.starved_vcpus", 2.0);
        assert!(competes(&sample, "a") && !competes(&sample, "b"));
        assert_eq!(["a", "b"].map(|d| starved_vcpus(&sample, d)), [0, 2]);
        assert!(is_remark("g2.starved_vcpus") && is_remark("a.b.competes"));
        assert!(!is_remark("g2.share_pct") && !is_remark("competes"));
    }

    #[test]
    fn drops_are_named_by_their_place() {
        let mut sample = Sample::new();
        note_drops(&mut sample, &[(DropPlace("NIC ring"), 6)]);
        let places: Vec<_> = sample
            .values()
            .map(|(name, n)| (place_of_drops(name), n))
            .collect();
        assert_eq!(places, [(Some("NIC ring"), 6.0)]);
        assert_eq!(place_of_drops("g1.share_pct"), None);
    }
}
