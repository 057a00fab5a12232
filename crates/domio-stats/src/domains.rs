//! Measures of domains over replications: tables, fairness, starvation, drops.

use crate::compare::{MeasureOf, VariantFigure};
use crate::numbers::Estimate;
use domio_blk::split::DISK_RATE;
use domio_core::Figure;
use domio_core::accounted::SHARE;
use domio_run::Sample;
use domio_run::measure::{self, Measures};
use std::collections::BTreeSet;

/// Whether `domain` competes for processors in any replication.
pub(crate) fn competes(samples: &[Sample], domain: &str) -> bool {
    samples.iter().any(|s| measure::competes(s, domain))
}

/// Jain's index, and of whose shares it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Jain {
    /// Over the replications.
    pub index: Estimate,
    /// The domains that compete, in the order of creation.
    pub over: Vec<String>,
}

/// Jain's index of the shares of those of `domains` that compete in any replication;
/// `None` for fewer than two, or when none runs.
pub fn jain(samples: &[Sample], domains: &[String]) -> Option<Jain> {
    let competing = domains.iter().filter(|domain| competes(samples, domain));
    jain_of(samples, competing.cloned().collect(), SHARE)
}

/// Jain's index of what those of `domains` read and write that have virtual disks; `None` for fewer
/// than two, or when none of them reads or writes.
pub fn jain_of_disks(samples: &[Sample], domains: &[String]) -> Option<Jain> {
    let rate = |domain: &str| format!("{domain}.{DISK_RATE}");
    let has = |d: &&String| samples.iter().any(|s| s.get(&rate(d)).is_some());
    jain_of(
        samples,
        domains.iter().filter(has).cloned().collect(),
        DISK_RATE,
    )
}

/// Jain's index of the figure `key` of the domains `over`.
fn jain_of(samples: &[Sample], over: Vec<String>, key: &str) -> Option<Jain> {
    let of = |sample: &Sample| {
        let values = over.iter().map(|d| sample.get(&format!("{d}.{key}")));
        domio_meter::jain_index(values.map(Option::unwrap_or_default))
    };
    let indices: Vec<f64> = samples.iter().filter_map(of).collect();
    let index = Estimate::of(&indices).filter(|_| over.len() > 1)?;
    Some(Jain { index, over })
}

/// What to say of those of `domains`, with the numbers of their vcpus, that waited for a pcpu and
/// never ran in a replication, under the policy called `policy`.
pub fn starvation(samples: &[Sample], domains: &[(String, usize)], policy: &str) -> Option<String> {
    let starved = domains.iter().filter_map(|(name, vcpus)| {
        let starved = samples.iter().map(|s| measure::starved_vcpus(s, name));
        match starved.max().unwrap_or(0) {
            0 => None,
            n if n >= *vcpus => Some(name.clone()),
            n => Some(format!("{n} of the {vcpus} vcpus of {name}")),
        }
    });
    let starved: Vec<String> = starved.collect();
    let advice = match policy {
        "null" => {
            "null gives a pcpu to one vcpu for ever: give the host more pcpus, or choose another \
             policy"
        }
        _ => "run for longer, or look at the policy with `domio explain`",
    };
    (!starved.is_empty()).then(|| {
        format!(
            "never ran under {policy}, though runnable: {}; {advice}",
            starved.join(", ")
        )
    })
}

/// Packets dropped in the measured time, by place, in the order of the places' names. A replication
/// that dropped none somewhere counts as zero there.
pub fn drops(samples: &[Sample]) -> Vec<(String, Estimate)> {
    let names = samples
        .iter()
        .flat_map(Sample::values)
        .map(|(name, _)| name);
    let places: BTreeSet<&str> = names.filter_map(measure::place_of_drops).collect();
    let estimate = |place: &str| {
        let counts = samples.iter().map(|s| measure::dropped_at(s, place));
        Some((place.to_owned(), Estimate::of(&counts.collect::<Vec<_>>())?))
    };
    places.into_iter().filter_map(estimate).collect()
}

/// Every figure of `measures` of `domains` under each of the variants, in the order of figures,
/// then domains.
pub fn comparisons(
    measures: &Measures,
    domains: &[String],
    variants: &[(String, Vec<Sample>)],
) -> Vec<VariantFigure> {
    let of = |figure: &'static Figure| {
        let of_domain = move |domain: &String| {
            let measured = MeasureOf {
                domain: domain.clone(),
                measure: figure.key.into(),
                title: figure.title.into(),
                unit: figure.unit.into(),
                better: figure.better,
                driver: None,
            };
            let name = figure.name(domain);
            measured.compared(variants, |sample| sample.get(&name))
        };
        domains.iter().flat_map(of_domain)
    };
    measures.figures().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_net::queue::DropPlace;

    #[test]
    fn a_replication_without_drops_counts_as_zero() {
        let mut one = Sample::new().with("g1.share_pct", 20.0);
        measure::note_drops(
            &mut one,
            &[(DropPlace("NIC ring"), 6), (DropPlace("bridge"), 1)],
        );
        let drops = drops(&[one, Sample::new()]);
        let means: Vec<_> = drops.iter().map(|(p, e)| (p.as_str(), e.mean)).collect();
        assert_eq!(means, [("NIC ring", 3.0), ("bridge", 0.5)]);
    }

    #[test]
    fn those_that_never_ran_are_named() {
        let one = Sample::new().with("g2.starved_vcpus", 1.0);
        let two = Sample::new().with("g3.starved_vcpus", 2.0);
        let domains = [("g1", 1), ("g2", 1), ("g3", 4)].map(|(n, v)| (n.to_owned(), v));
        let told = starvation(&[one, two], &domains, "null").expect("two starve");
        let head = "never ran under null, though runnable: g2, 2 of the 4 vcpus of g3; null gives";
        assert!(told.starts_with(head), "{told}");
        assert_eq!(starvation(&[Sample::new()], &domains, "null"), None);
    }

    #[test]
    fn jain_is_of_those_that_compete() {
        let sample = |a: f64, b: f64| {
            let shares = Sample::new().with("a.share_pct", a).with("b.share_pct", b);
            shares.with("idle.share_pct", 0.0)
        };
        let names = ["a", "b", "idle"].map(str::to_owned);
        let equal = sample(50.0, 50.0);
        assert_eq!(jain(std::slice::from_ref(&equal), &names), None);
        let equal = equal.with("a.competes", 1.0).with("b.competes", 1.0);
        let jain = jain(&[equal], &names).expect("two compete");
        assert_eq!((jain.index.mean, jain.over), (1.0, names[..2].to_vec()));
    }

    #[test]
    fn figures_that_nobody_has_are_left_out() {
        let one = Sample::new().with("g1.share_pct", 20.0);
        let figures = comparisons(
            &Measures::shipped(),
            &["g1".into(), "g2".into()],
            &[("null".into(), vec![one])],
        );
        assert_eq!(figures.len(), 1);
        assert_eq!(figures[0].of.title, "share");
        assert_eq!((&*figures[0].of.domain, figures[0].mean.mean), ("g1", 20.0));
    }
}
