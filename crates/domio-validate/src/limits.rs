//! How far a recorded figure may be from simulated ones, and what follows from where it is.

use domio_answer::{Maybe, rows, texts};
use std::fmt;

/// The limit of each figure. A recording agrees with simulations when each of its figures lies
/// within the range of the simulations' figures, made wider by the limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AgreementLimits {
    /// Share, in percentage points of a pcpu, on one pcpu.
    pub share_points: f64,
    /// The same on several pcpus, which the emulator runs in turn. Of other figures no limit is
    /// known there: no such host was recorded twice.
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

    /// For a simulation that makes the recorded decisions one by one: nothing else should differ.
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

rows! {
    /// By how much a range is made wider. Where there are both, the wider one counts.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Widening {
        /// So much on either side, in the figure's unit.
        pub sum: Option<f64> = fact("sum");
        /// By this factor on either side.
        pub factor: Option<f64> = fact("factor");
    }
}

impl Widening {
    pub(crate) fn sum(by: f64) -> Widening {
        Widening {
            sum: Some(by),
            factor: None,
        }
    }

    pub(crate) fn factor(by: f64) -> Widening {
        Widening {
            sum: None,
            factor: Some(by),
        }
    }

    fn widen(self, [low, high]: [f64; 2]) -> [f64; 2] {
        let (sum, factor) = (self.sum.unwrap_or(0.0), self.factor.unwrap_or(1.0));
        [
            (low / factor).min(low - sum),
            (high * factor).max(high + sum),
        ]
    }
}

/// What the comparison of a figure, a domain or a recording comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// Within the limits.
    Agrees,
    /// Outside of them.
    Differs,
    /// Within limits that are too wide to mean anything, or of which nothing is known.
    CannotTell,
    /// There is nothing to compare.
    NotJudged,
}

texts! {
    Judgement: |verdict| verdict.key().into(),
        |text, _| Judgement::ALL.into_iter().find(|verdict| verdict.key() == text);
    // A doubt is said, and never read back.
    Doubt: |doubt| doubt.to_string().into(), |_, _| None;
}

impl Judgement {
    const ALL: [Judgement; 4] = [
        Judgement::Agrees,
        Judgement::Differs,
        Judgement::CannotTell,
        Judgement::NotJudged,
    ];

    /// As programs read it.
    fn key(self) -> String {
        self.name().replace(' ', "_")
    }

    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Judgement::Agrees => "agrees",
            Judgement::Differs => "differs",
            Judgement::CannotTell => "cannot tell",
            Judgement::NotJudged => "not judged",
        }
    }

    /// What several come to: one that differs decides, then one that agrees.
    pub(crate) fn of_all(all: impl IntoIterator<Item = Judgement>) -> Judgement {
        const FIRST: [Judgement; 3] =
            [Judgement::Differs, Judgement::Agrees, Judgement::CannotTell];
        let all: Vec<Judgement> = all.into_iter().collect();
        let found = FIRST.into_iter().find(|verdict| all.contains(verdict));
        found.unwrap_or(Judgement::NotJudged)
    }
}

/// Doubt a figure neither agrees nor differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// It is one of several pcpus, for which no limit is known.
    NoLimit,
    /// No recording of the kind was repeated, so that no limit is known.
    NotRepeated,
    /// The limits are wider than from nothing to twice the figure.
    TooWide,
    /// Neither side has a sample.
    NoSample,
    /// The recording has no sample, and neither have some of the simulations.
    SomeLack,
    /// The domain never runs, recorded or simulated.
    NeverRuns,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::NoLimit => "no limit is known on several pcpus",
            Doubt::NotRepeated => "no such recording was repeated, so that no limit is known",
            Doubt::TooWide => "the limits are more than twice as wide as the figure",
            Doubt::NoSample => "neither side has any",
            Doubt::SomeLack => "none is recorded, and some simulations have none",
            Doubt::NeverRuns => "the domain never runs, recorded or simulated",
        })
    }
}

rows! {
    /// A figure of a recording beside that of its simulations; nothing where there is no sample.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Compared {
        /// From the recording.
        pub recorded: Option<f64> = fact("recorded");
        /// From the simulation: the median of the simulations.
        pub simulated: Option<f64> = fact("simulated");
        /// Lowest and highest of the simulations.
        pub range: Option<[f64; 2]> = fact("range");
        /// By how much the range is made wider, the wider of both; null where no limit is known.
        pub limit: Maybe<Widening> = fact("limit");
        /// Where the recorded figure agrees.
        pub accepted: Option<[f64; 2]> = fact("accepted");
        /// `agrees`, `differs`, `cannot_tell` where limits are too wide to mean anything or not
        /// known, `not_judged` where there is nothing to compare.
        pub verdict: Judgement = fact("verdict");
        /// Why it neither agrees nor differs.
        pub why: Option<Doubt> = fact("why");
    }
}

/// Limits that are wider than so many times the figure tell nothing: those from nothing to twice
/// the figure are as wide.
const WIDEST: f64 = 2.0;

impl Compared {
    /// `recorded` beside the figure of each simulation. Figures below `least` count as `least`
    /// where the width of the limits is judged: what is so small is nothing to speak of.
    pub(crate) fn of(
        recorded: Option<f64>,
        simulations: &[Option<f64>],
        limit: Option<Widening>,
        least: f64,
    ) -> Compared {
        let mut values: Vec<f64> = simulations.iter().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        let range = values.first().zip(values.last()).map(|(a, b)| [*a, *b]);
        let simulated = values.get(values.len() / 2).copied();
        let accepted = range.zip(limit).map(|(range, limit)| limit.widen(range));
        let lacking = values.len() < simulations.len();
        let (verdict, why) = match (recorded, simulated, accepted) {
            (None, None, _) => (Judgement::NotJudged, Some(Doubt::NoSample)),
            _ if limit.is_none() => (Judgement::CannotTell, Some(Doubt::NoLimit)),
            (None, ..) if lacking => (Judgement::CannotTell, Some(Doubt::SomeLack)),
            (Some(value), Some(simulated), Some([low, high])) => {
                let figure = value.min(simulated).max(least);
                let width = high - low.max(0.0);
                match (low..=high).contains(&value) {
                    false => (Judgement::Differs, None),
                    true if width > WIDEST * figure => {
                        (Judgement::CannotTell, Some(Doubt::TooWide))
                    }
                    true => (Judgement::Agrees, None),
                }
            }
            // One side alone has samples.
            _ => (Judgement::Differs, None),
        };
        Compared {
            recorded,
            simulated,
            range,
            limit: Maybe(limit),
            accepted,
            verdict,
            why,
        }
    }

    /// A figure without a limit, because no recording was repeated that would give one.
    pub(crate) fn not_repeated(self) -> Compared {
        Compared {
            why: self.why.map(|_| Doubt::NotRepeated),
            ..self
        }
    }

    /// The figure of a domain that never runs, neither recorded nor simulated: nothing on both
    /// sides is no agreement that would mean anything.
    pub(crate) fn of_nobody(self) -> Compared {
        Compared {
            verdict: Judgement::NotJudged,
            why: Some(Doubt::NeverRuns),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_answer::{Cell, Value};

    fn verdict(
        recorded: impl Into<Option<f64>>,
        simulations: &[Option<f64>],
        limit: Widening,
    ) -> Judgement {
        Compared::of(recorded.into(), simulations, Some(limit), 0.0).verdict
    }

    #[test]
    fn a_figure_within_the_range_made_wider_agrees() {
        let simulations = [Some(10.0), Some(12.0), Some(20.0)];
        let compared = Compared::of(Some(9.0), &simulations, Some(Widening::sum(1.0)), 0.0);
        assert_eq!(compared.simulated, Some(12.0));
        assert_eq!(compared.range, Some([10.0, 20.0]));
        assert_eq!(compared.accepted, Some([9.0, 21.0]));
        assert_eq!((compared.verdict, compared.why), (Judgement::Agrees, None));
        assert_eq!(
            verdict(8.9, &simulations, Widening::sum(1.0)),
            Judgement::Differs
        );
        assert_eq!(
            verdict(21.1, &simulations, Widening::sum(1.0)),
            Judgement::Differs
        );
        let half = Widening::factor(1.5);
        for (value, expected) in [
            (6.6, Judgement::Differs),
            (11.7, Judgement::Agrees),
            (30.0, Judgement::Agrees),
            (30.1, Judgement::Differs),
        ] {
            assert_eq!(verdict(value, &simulations, half), expected, "{value}");
        }
    }

    #[test]
    fn the_wider_of_factor_and_sum_counts() {
        let limit = Widening {
            factor: Some(2.0),
            sum: Some(15.0),
        };
        assert_eq!(limit.widen([10.0, 10.0]), [-5.0, 25.0]);
        assert_eq!(limit.widen([100.0, 100.0]), [50.0, 200.0]);
    }

    #[test]
    fn limits_wider_than_from_nothing_to_twice_the_figure_cannot_tell() {
        let of = |recorded, host: f64, limit, least| {
            let compared = Compared::of(Some(recorded), &[Some(host)], Some(limit), least);
            (compared.verdict, compared.why)
        };
        let too_wide = (Judgement::CannotTell, Some(Doubt::TooWide));
        let agrees = (Judgement::Agrees, None);
        // A factor of two alone is one and a half times as wide as a figure in its middle.
        assert_eq!(of(100.0, 100.0, Widening::factor(2.0), 0.0), agrees);
        assert_eq!(of(100.0, 100.0, Widening::factor(2.5), 0.0), too_wide);
        // Whichever of both is smaller is the figure.
        assert_eq!(of(60.0, 100.0, Widening::factor(2.0), 0.0), too_wide);
        assert_eq!(of(4.0, 1.0, Widening::sum(3.0), 1.0), too_wide);
        assert_eq!(of(40.0, 41.0, Widening::sum(3.0), 1.0), agrees);
        // Below nothing there is nothing, and what is small is as good as the least.
        assert_eq!(of(9.0, 10.0, Widening::sum(20.0), 20.0), agrees);
        assert_eq!(of(9.0, 10.0, Widening::sum(20.0), 0.0), too_wide);
        // However wide the limits are, what is outside of them differs.
        let outside = (Judgement::Differs, None);
        assert_eq!(of(1_000.0, 10.0, Widening::factor(50.0), 0.0), outside);
    }

    /// Two pcpus: 277 switches in a second against 495.
    #[test]
    fn a_figure_without_a_limit_cannot_be_told() {
        let switches = Compared::of(Some(277.0), &[Some(495.0)], None, 0.0);
        let told = (switches.verdict, switches.why, switches.accepted);
        assert_eq!(told, (Judgement::CannotTell, Some(Doubt::NoLimit), None));
        let unseen = Compared::of(None, &[Some(495.0)], None, 0.0);
        assert_eq!(unseen.verdict, Judgement::CannotTell);
        assert_eq!(switches.verdict.cell(), Cell::text("cannot_tell"));
        let read = Judgement::of(&switches.verdict.cell(), &[]);
        assert_eq!(read, Some(Judgement::CannotTell));
    }

    #[test]
    fn a_figure_may_be_missing_where_a_simulation_lacks_it_too() {
        let limit = Widening::factor(1.5);
        let none = |simulations| verdict(None, simulations, limit);
        assert_eq!(none(&[None, Some(1.0)]), Judgement::CannotTell);
        assert_eq!(none(&[Some(1.0)]), Judgement::Differs);
        assert_eq!(none(&[None]), Judgement::NotJudged);
        assert_eq!(verdict(1.5, &[None, Some(1.0)], limit), Judgement::Agrees);
        assert_eq!(verdict(1.0, &[None], limit), Judgement::Differs);
    }

    #[test]
    fn one_that_differs_decides_and_then_one_that_agrees() {
        use Judgement::{Agrees, CannotTell, Differs, NotJudged};
        for (all, expected) in [
            (&[Agrees, CannotTell, Differs][..], Differs),
            (&[CannotTell, Agrees, NotJudged], Agrees),
            (&[NotJudged, CannotTell], CannotTell),
            (&[NotJudged], NotJudged),
            (&[], NotJudged),
        ] {
            assert_eq!(Judgement::of_all(all.iter().copied()), expected, "{all:?}");
        }
    }
}
