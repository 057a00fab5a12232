//! Who gains and who pays when one thing changes.

use crate::domains::competes;
use crate::numbers::{Difference, Estimate};
use domio_answer::rows;
use domio_core::accounted::SHARE;
use domio_core::{Better, Felt, Figure};
use domio_run::Sample;
use domio_run::measure::Measures;
use std::borrow::Cow;

/// A proven difference is distinguished from this part of the larger value on, felt or not: below
/// it are roundings.
const NOTABLE: f64 = 0.01;

/// Least part of the larger figure that a change must have to be felt. A job of a minute ends three
/// seconds earlier or later with it; less is what one day of the same host differs from another.
pub const PART: f64 = 0.05;

rows! {
    /// One figure of one domain that differs from the first variant.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Gain {
        /// Label of the variant.
        pub variant: String = key("variant");
        /// Name of the domain.
        pub domain: String = key("domain");
        /// Key of the measure.
        pub measure: Cow<'static, str> = key("measure");
        /// The measure for people.
        pub title: Cow<'static, str> = fact("title");
        /// Its unit.
        pub unit: Cow<'static, str> = fact("unit");
        /// Mean in the first variant.
        pub from: f64 = fact("from");
        /// Mean in this one.
        pub to: f64 = fact("to");
        /// `to` less `from`, with the 95 % interval of the difference, paired by replication;
        /// null for one replication.
        pub difference: Estimate = fact("difference");
        /// `to` as a multiple of `from`; null where that is nothing.
        pub times: Option<f64> = fact("times");
        /// Whether the domain is better off than in the first variant.
        pub gains: bool = fact("gains");
        /// Whether the difference is beyond the 95 % interval; with one replication nothing is.
        pub proven: bool = fact("proven");
        /// Whether somebody feels it: it reaches the absolute and the relative floor of its figure.
        pub felt: bool = fact("felt");
    }
}

/// A place in the order by what matters: the smaller comes first.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rank {
    unfelt: bool,
    /// [`Felt::rank`].
    felt: u8,
    /// By how much the figure grows or shrinks, the same for half as much and for twice as much.
    /// Both sides have the floor added: what is below the floor hardly counts, and a change from
    /// nothing is as large as the figure that comes of it.
    size: f64,
}

impl Rank {
    fn of(gain: &Gain, felt: Felt) -> Rank {
        let floor = f64::from(felt.floor().unwrap_or_default());
        Rank {
            unfelt: !gain.felt,
            felt: felt.rank(),
            size: ((gain.to + floor) / (gain.from + floor)).ln().abs(),
        }
    }

    fn before(&self, other: &Rank) -> std::cmp::Ordering {
        let order = (self.unfelt, self.felt).cmp(&(other.unfelt, other.felt));
        order.then(other.size.total_cmp(&self.size))
    }
}

/// The changes of each variant against the first one, in the order of what matters: what somebody
/// feels before what nobody does, figures that are felt themselves before their causes, and the
/// largest first. A share is something to gain for those that compete for processors alone.
///
/// Replication n of every variant must have used the same seed.
pub fn changes(
    measures: &Measures,
    domains: &[String],
    variants: &[(String, Vec<Sample>)],
) -> Vec<Gain> {
    let Some(((_, first), others)) = variants.split_first() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (label, samples) in others {
        let mut of_variant: Vec<(Rank, Gain)> = Vec::new();
        for domain in domains {
            let found = measures.figures().filter_map(|figure| {
                let gain = change(figure, label, domain, first, samples)?;
                Some((Rank::of(&gain, figure.felt), gain))
            });
            of_variant.extend(found);
        }
        // Equal ranks stay in the order of domains and measures.
        of_variant.sort_by(|(a, _), (b, _)| a.before(b));
        all.extend(of_variant.into_iter().map(|(_, gain)| gain));
    }
    all
}

fn change(
    figure: &Figure,
    label: &str,
    domain: &str,
    first: &[Sample],
    samples: &[Sample],
) -> Option<Gain> {
    let floor = f64::from(figure.felt.floor()?);
    let higher_is_better = match figure.better {
        Better::Higher => true,
        Better::Lower => false,
        // A share.
        Better::Neither if competes(first, domain) || competes(samples, domain) => true,
        Better::Neither => return None,
    };
    let (before, after) = (
        values(figure, domain, first),
        values(figure, domain, samples),
    );
    let mean = |values: &[f64]| Estimate::of(values).map(|e| e.mean);
    let (from, to) = (mean(&before)?, mean(&after)?);
    let difference = to - from;
    let part = difference.abs() / from.abs().max(to.abs());
    let paired = Difference::paired(&after, &before);
    let proven = match &paired {
        Some(paired) if paired.is_greater() || paired.is_less() => true,
        Some(_) => return None,
        None => false,
    };
    let notable = if proven { NOTABLE } else { PART };
    (part >= notable).then(|| Gain {
        variant: label.to_owned(),
        domain: domain.to_owned(),
        measure: figure.key.into(),
        title: figure.title.into(),
        unit: figure.unit.into(),
        from,
        to,
        difference: Estimate {
            mean: difference,
            ci95: paired.map(|paired| paired.ci95),
            deviation: None,
            n: after.len(),
        },
        times: (from != 0.0).then_some(to / from),
        gains: (to > from) == higher_is_better,
        proven,
        felt: difference.abs() >= floor && part >= PART,
    })
}

/// The values of a figure of `domain`, one a replication that has the figure. Of what is counted,
/// a domain that is there and has no figure got nothing.
fn values(figure: &Figure, domain: &str, samples: &[Sample]) -> Vec<f64> {
    let name = figure.name(domain);
    let counted = figure.better == Better::Higher;
    let there = format!("{domain}.{SHARE}");
    let value = |sample: &Sample| {
        let nothing = || (counted && sample.get(&there).is_some()).then_some(0.0);
        sample.get(&name).or_else(nothing)
    };
    samples.iter().filter_map(value).collect()
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
        let changes = changes(
            &Measures::shipped(),
            &["hog".into(), "web".into()],
            &[before, after],
        );
        let told: Vec<_> = changes
            .iter()
            .map(|c| (c.domain.as_str(), &*c.measure, c.gains, c.proven))
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

    /// A variant of one domain with one figure besides its share.
    fn one(label: &str, figures: &[(&str, f64)]) -> (String, Vec<Sample>) {
        let share = Sample::new().with("g.share_pct", 5.0);
        let named = |s: Sample, (key, value): &(&str, f64)| s.with(&format!("g.{key}"), *value);
        (label.to_owned(), vec![figures.iter().fold(share, named)])
    }

    fn order(before: &[(&str, f64)], after: &[(&str, f64)]) -> Vec<(Cow<'static, str>, bool)> {
        let changes = changes(
            &Measures::shipped(),
            &["g".into()],
            &[one("a", before), one("b", after)],
        );
        changes.into_iter().map(|c| (c.measure, c.felt)).collect()
    }

    #[test]
    fn a_change_from_nothing_is_as_large_as_what_comes_of_it() {
        // 20 us more are nobody's concern, though the median was 0.
        let told = order(
            &[("wake_p50_us", 0.0), ("wake_p99_us", 3_100.0)],
            &[("wake_p50_us", 20.0), ("wake_p99_us", 9_000.0)],
        );
        assert_eq!(
            told,
            [("wake_p99_us".into(), true), ("wake_p50_us".into(), false)]
        );
        // Half a second where there was nothing is more than three times as much of another.
        let told = order(
            &[("ping_p95_ms", 0.0), ("wake_p99_us", 3_100.0)],
            &[("ping_p95_ms", 500.0), ("wake_p99_us", 9_000.0)],
        );
        assert_eq!(
            told,
            [("ping_p95_ms".into(), true), ("wake_p99_us".into(), true)]
        );
    }

    #[test]
    fn a_cause_comes_after_what_is_felt() {
        let told = order(
            &[("waiting_pct", 1.0), ("turnaround_p95_ms", 20.0)],
            &[("waiting_pct", 90.0), ("turnaround_p95_ms", 30.0)],
        );
        assert_eq!(
            told,
            [
                ("turnaround_p95_ms".into(), true),
                ("waiting_pct".into(), true)
            ]
        );
    }

    #[test]
    fn both_floors_have_to_be_reached() {
        for (measure, from, to, felt) in [
            ("wake_p95_us", 500.0, 1_499.0, false),
            ("wake_p95_us", 500.0, 1_500.0, true),
            ("wake_p95_us", 50_000.0, 47_400.0, true),
            ("turnaround_mean_ms", 1.0, 5.9, false),
            ("turnaround_mean_ms", 6.0, 1.0, true),
            ("net_mbps", 0.3, 1.2, false),
            ("replies_per_s", 100.0, 90.0, true),
        ] {
            let told = order(&[(measure, from)], &[(measure, to)]);
            assert_eq!(told, [(measure.into(), felt)], "{from} to {to}");
        }
        // Less than a twentieth is not even told without a proof.
        assert_eq!(order(&[("net_mbps", 900.0)], &[("net_mbps", 860.0)]), []);
    }

    /// Every kind of figure: whoever gets no packet, reply or job any more has no such figure.
    #[test]
    fn who_gets_nothing_any_more_pays() {
        for measure in ["net_mbps", "ping_replies", "replies_per_s", "jobs_done"] {
            let (full, none) = (one("a", &[(measure, 90.0)]), one("b", &[]));
            let lost = changes(
                &Measures::shipped(),
                &["g".into()],
                &[full.clone(), none.clone()],
            );
            assert_eq!((lost[0].to, lost[0].gains), (0.0, false), "{measure}");
            let won = changes(&Measures::shipped(), &["g".into()], &[none, full]);
            assert_eq!((won[0].from, won[0].times), (0.0, None), "{measure}");
            assert!(won[0].gains && won[0].felt, "{measure}");
            // A variant without the domain tells nothing of it.
            let absent = ("c".to_owned(), vec![Sample::new()]);
            let other = one("a", &[(measure, 90.0)]);
            assert_eq!(
                changes(&Measures::shipped(), &["g".into()], &[other, absent]),
                []
            );
        }
    }

    #[test]
    fn a_change_says_how_large_it_is() {
        let before = variant("a", &[[80.0, 9000.0, 5.0], [82.0, 9100.0, 5.1]]);
        let after = variant("b", &[[60.0, 9000.0, 5.0], [63.0, 9100.0, 5.1]]);
        let changes = changes(
            &Measures::shipped(),
            &["hog".into(), "web".into()],
            &[before, after],
        );
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert_eq!(
            (change.difference.mean, change.times),
            (-19.5, Some(61.5 / 81.0))
        );
        let [low, high] = change.difference.ci95.expect("two replications");
        assert!(low < -19.5 && high < 0.0 && high > -19.5, "{change:?}");
    }

    #[test]
    fn what_is_within_the_interval_is_no_change() {
        let before = variant("a", &[[80.0, 100.0, 5.0], [80.0, 300.0, 5.0]]);
        let after = variant("b", &[[80.1, 300.0, 5.0], [80.1, 100.0, 5.0]]);
        assert_eq!(
            changes(
                &Measures::shipped(),
                &["hog".into(), "web".into()],
                &[before, after]
            ),
            []
        );
    }

    #[test]
    fn one_replication_proves_nothing() {
        let before = variant("a", &[[80.0, 100.0, 5.0]]);
        let after = variant("b", &[[78.0, 300.0, 5.0]]);
        let changes = changes(
            &Measures::shipped(),
            &["hog".into(), "web".into()],
            &[before, after],
        );
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert!(!change.gains && !change.proven && change.domain == "web");
    }
}
