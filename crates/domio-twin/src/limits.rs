//! How far a recorded figure may be from simulated ones.

use serde::Serialize;

/// The limit of each figure. A recording agrees with twins when each of its figures lies within the
/// range of the twins' figures, made wider by the limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AgreementLimits {
    /// Share, in points of percent of a pcpu, on one pcpu.
    pub share_points: f64,
    /// The same on several pcpus, which the emulator runs in turn.
    pub share_points_smp: f64,
    /// Median length of runs, as a factor.
    pub run_p50: f64,
    /// 95 % quantile of the length of runs, as a factor.
    pub run_p95: f64,
    /// Median time from wake-up to running, as a factor.
    pub wake_p50: f64,
    /// 95 % quantile of the time from wake-up to running, as a factor.
    pub wake_p95: f64,
    /// Either time from wake-up to running, in microseconds, where that is wider than the factor.
    pub wake_us: f64,
    /// Rate of context switches, as a factor.
    pub switches: f64,
}

impl AgreementLimits {
    /// How far two recordings of one host are from each other. Three hosts were recorded twice
    /// (`docs/FIDELITY.md`, "How near two recordings are"), and each factor is the largest that was
    /// found between the two. A median run of 0.09 and 1.0 ms is not among them: it lay between
    /// two modes, which the ensemble shows itself. Shares and rates differed by no more than what
    /// is written here; nor did waits of a few microseconds.
    pub const REPEATABILITY: AgreementLimits = AgreementLimits {
        share_points: 1.0,
        share_points_smp: 3.0,
        run_p50: 2.8 / 1.6,
        run_p95: 17.8 / 15.0,
        wake_p50: 1.8 / 0.9,
        wake_p95: 0.57 / 0.30,
        wake_us: 20.0,
        switches: 1.15,
    };

    /// For a twin that makes the recorded decisions one by one: nothing else should differ.
    pub const EXACT: AgreementLimits = AgreementLimits {
        share_points: 1.0,
        share_points_smp: 3.0,
        run_p50: 1.10,
        run_p95: 1.15,
        wake_p50: 1.5,
        wake_p95: 1.5,
        wake_us: 20.0,
        switches: 1.15,
    };
}

/// By how much a range is made wider.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Widening {
    /// So much on either side.
    Sum(f64),
    /// By this factor on either side.
    Factor(f64),
    /// By the factor, or by so much where that is more.
    FactorOr(f64, f64),
}

impl Widening {
    pub(crate) fn widen(self, [low, high]: [f64; 2]) -> [f64; 2] {
        match self {
            Widening::Sum(by) => [low - by, high + by],
            Widening::Factor(by) => [low / by, high * by],
            Widening::FactorOr(by, sum) => [(low / by).min(low - sum), (high * by).max(high + sum)],
        }
    }
}

/// A figure of a recording beside that of its twins; `None` where there is no sample.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// From the recording.
    pub recorded: Option<f64>,
    /// From the simulation: the median of the twins.
    pub simulated: Option<f64>,
    /// The lowest and the highest of the twins.
    pub range: Option<[f64; 2]>,
    /// Where the recorded figure agrees.
    pub accepted: Option<[f64; 2]>,
    /// Whether a twin has no sample, so that the recording need not have one.
    #[serde(skip)]
    pub may_lack: bool,
}

impl Compared {
    /// `recorded` beside the figure of each twin.
    pub(crate) fn of(recorded: Option<f64>, twins: &[Option<f64>], limit: Widening) -> Compared {
        let mut values: Vec<f64> = twins.iter().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        let range = values.first().zip(values.last()).map(|(a, b)| [*a, *b]);
        Compared {
            recorded,
            simulated: values.get(values.len() / 2).copied(),
            range,
            accepted: range.map(|range| limit.widen(range)),
            may_lack: values.len() < twins.len(),
        }
    }

    /// Whether the recorded figure is one that is accepted.
    pub fn agrees(&self) -> bool {
        match (self.recorded, self.accepted) {
            (Some(value), Some([low, high])) => (low..=high).contains(&value),
            (Some(_), None) => false,
            (None, _) => self.may_lack,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(recorded: impl Into<Option<f64>>, twins: &[Option<f64>], limit: Widening) -> bool {
        Compared::of(recorded.into(), twins, limit).agrees()
    }

    #[test]
    fn a_figure_within_the_range_made_wider_agrees() {
        let twins = [Some(10.0), Some(12.0), Some(20.0)];
        let compared = Compared::of(Some(9.0), &twins, Widening::Sum(1.0));
        assert_eq!(compared.simulated, Some(12.0));
        assert_eq!(compared.range, Some([10.0, 20.0]));
        assert_eq!(compared.accepted, Some([9.0, 21.0]));
        assert!(compared.agrees());
        assert!(!agrees(8.9, &twins, Widening::Sum(1.0)));
        assert!(!agrees(21.1, &twins, Widening::Sum(1.0)));
        let twice = Widening::Factor(2.0);
        for (value, expected) in [(4.9, false), (5.0, true), (40.0, true), (40.1, false)] {
            assert_eq!(agrees(value, &twins, twice), expected, "{value}");
        }
    }

    #[test]
    fn the_wider_of_factor_and_sum_counts() {
        let limit = Widening::FactorOr(2.0, 15.0);
        assert_eq!(limit.widen([10.0, 10.0]), [-5.0, 25.0]);
        assert_eq!(limit.widen([100.0, 100.0]), [50.0, 200.0]);
    }

    #[test]
    fn a_figure_may_be_missing_where_a_twin_lacks_it_too() {
        let limit = Widening::Factor(2.0);
        assert!(agrees(None, &[None, Some(1.0)], limit));
        assert!(agrees(1.5, &[None, Some(1.0)], limit));
        assert!(!agrees(None, &[Some(1.0)], limit));
        assert!(!agrees(1.0, &[None], limit));
        assert!(agrees(None, &[None], limit));
    }
}
