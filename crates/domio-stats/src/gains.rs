//! Who gains and who pays when one thing changes.

use crate::domains::competes;
use crate::numbers::{Difference, Estimate};
use domio_run::Sample;
use domio_run::measure::{Better, MEASURES, Measure};
use serde::Serialize;
use std::cmp::Ordering;

/// A proven difference is told from this part of the larger value on: less is nobody's concern.
const NOTABLE: f64 = 0.01;

/// The same where there are no replications to prove anything.
const NOTABLE_UNPROVEN: f64 = 0.05;

/// One figure of one domain that differs from the first variant.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Gain {
    /// Label of the variant.
    pub variant: String,
    /// Name of the domain.
    pub domain: String,
    /// [`Measure::key`].
    pub measure: &'static str,
    /// [`Measure::title`].
    pub title: &'static str,
    /// [`Measure::unit`].
    pub unit: &'static str,
    /// Mean in the first variant.
    pub from: f64,
    /// Mean in this one.
    pub to: f64,
    /// Whether the domain is better off.
    pub gains: bool,
    /// Whether the difference is beyond its 95 % interval; with one replication none is.
    pub proven: bool,
}

impl Gain {
    /// How large it is, whichever way: the same for half as much and for twice as much.
    fn size(&self) -> f64 {
        match self.from == 0.0 || self.to == 0.0 {
            true => f64::INFINITY,
            false => (self.to / self.from).ln().abs(),
        }
    }
}

/// The changes of each variant against the first one, the largest first. A share is something to
/// gain for those that compete for processors alone.
///
/// Replication n of every variant must have used the same seed.
pub fn changes(domains: &[String], variants: &[(String, Vec<Sample>)]) -> Vec<Gain> {
    let Some(((_, first), others)) = variants.split_first() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (label, samples) in others {
        let mut of_variant = Vec::new();
        for domain in domains {
            let found = MEASURES.iter();
            let found = found.filter_map(|measure| change(measure, label, domain, first, samples));
            of_variant.extend(found);
        }
        // Equal sizes stay in the order of domains and measures.
        let by_size = |a: &Gain, b: &Gain| b.size().total_cmp(&a.size());
        of_variant.sort_by(|a, b| by_size(a, b).then(Ordering::Equal));
        all.extend(of_variant);
    }
    all
}

fn change(
    measure: &Measure,
    label: &str,
    domain: &str,
    first: &[Sample],
    samples: &[Sample],
) -> Option<Gain> {
    let higher_is_better = match measure.better {
        Better::Higher => true,
        Better::Lower => false,
        Better::Neither => {
            let competes = competes(first, domain) || competes(samples, domain);
            if measure.key != "share_pct" || !competes {
                return None;
            }
            true
        }
    };
    let name = measure.name(domain);
    let values =
        |samples: &[Sample]| -> Vec<f64> { samples.iter().filter_map(|s| s.get(&name)).collect() };
    let (before, after) = (values(first), values(samples));
    let mean = |values: &[f64]| Estimate::of(values).map(|e| e.mean);
    let (from, to) = (mean(&before)?, mean(&after)?);
    let part = (to - from).abs() / from.abs().max(to.abs());
    let proven = match Difference::paired(&after, &before) {
        Some(difference) if difference.is_greater() || difference.is_less() => true,
        Some(_) => return None,
        None => false,
    };
    let notable = if proven { NOTABLE } else { NOTABLE_UNPROVEN };
    (part >= notable).then(|| Gain {
        variant: label.to_owned(),
        domain: domain.to_owned(),
        measure: measure.key,
        title: measure.title,
        unit: measure.unit,
        from,
        to,
        gains: (to > from) == higher_is_better,
        proven,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(label: &str, values: &[[f64; 3]]) -> (String, Vec<Sample>) {
        let sample = |[share, wait, idle]: &[f64; 3]| {
            let sample = Sample::new().with("hog.share_pct", *share);
            let sample = sample.with("hog.competes", 1.0);
            let sample = sample.with("web.wake_p95_us", *wait);
            sample.with("web.share_pct", *idle)
        };
        (label.to_owned(), values.iter().map(sample).collect())
    }

    #[test]
    fn the_largest_change_comes_first_and_says_who_gains() {
        let before = variant("a", &[[80.0, 9000.0, 5.0], [82.0, 9100.0, 5.1]]);
        let after = variant("b", &[[60.0, 90.0, 9.0], [61.0, 88.0, 9.1]]);
        let changes = changes(&["hog".into(), "web".into()], &[before, after]);
        let told: Vec<_> = changes
            .iter()
            .map(|c| (c.domain.as_str(), c.measure, c.gains, c.proven))
            .collect();
        // The share of a guest that sleeps is no gain.
        assert_eq!(
            told,
            [
                ("web", "wake_p95_us", true, true),
                ("hog", "share_pct", false, true)
            ]
        );
        assert_eq!((changes[0].from, changes[0].to), (9050.0, 89.0));
    }

    #[test]
    fn what_is_within_the_interval_is_no_change() {
        let before = variant("a", &[[80.0, 100.0, 5.0], [80.0, 300.0, 5.0]]);
        let after = variant("b", &[[80.1, 300.0, 5.0], [80.1, 100.0, 5.0]]);
        assert_eq!(changes(&["hog".into(), "web".into()], &[before, after]), []);
    }

    #[test]
    fn one_replication_proves_nothing() {
        let before = variant("a", &[[80.0, 100.0, 5.0]]);
        let after = variant("b", &[[78.0, 300.0, 5.0]]);
        let changes = changes(&["hog".into(), "web".into()], &[before, after]);
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert!(!change.gains && !change.proven && change.domain == "web");
    }
}
