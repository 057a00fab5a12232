//! How many samples are taken to decide claims, and when sampling stops.
//!
//! Samples are looked at after each stage of replications. Stages double. An experiment continues
//! to the next stage as long as a check that reads the experiment is undecided, of a claim that its
//! other checks do not decide, and up to the last stage of the effort.
//!
//! Whoever looks several times, and stops when the answer pleases, errs more often than at each
//! look. So the risk of 5 % that each check has is spent in equal parts on the planned looks
//! (Pocock, *Biometrika* 64, 1977; by Bonferroni's inequality the risk over all looks is at most
//! the sum). With 7 looks each one uses intervals of 99.3 %.
//!
//! The effort fixes numbers of samples and simulated times, never the time on a clock: the same
//! effort, seed and version give the same verdicts on any machine.

use std::fmt;

/// The risk of each check to be decided wrongly, over all looks.
pub const RISK: f64 = 0.05;

/// How far `reproduce` goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Effort {
    /// A first look: half of each experiment's replications, over short times.
    #[default]
    Quick,
    /// Up to three looks.
    Normal,
    /// Up to seven looks: until nearly everything is decided.
    Full,
}

impl Effort {
    /// All of them, from the least.
    pub const ALL: [Effort; 3] = [Effort::Quick, Effort::Normal, Effort::Full];

    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Normal => "normal",
            Effort::Full => "full",
        }
    }

    /// How often samples are looked at, at most.
    pub const fn looks(self) -> u32 {
        match self {
            Effort::Quick => 1,
            Effort::Normal => 3,
            Effort::Full => 7,
        }
    }

    /// Replications, at look `look` from 0, of an experiment whose first stage has `first` at full
    /// effort.
    pub const fn replications(self, first: u32, look: u32) -> u32 {
        let first = match self {
            Effort::Full => first,
            _ if first < 4 => 2,
            _ => first / 2,
        };
        first << look
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Verdict;
    use crate::proof::Proof;
    use crate::series::Series;
    use domio_sim::RandomStream;

    #[test]
    fn stages_double() {
        let stages = |effort: Effort, first| {
            let looks = 0..effort.looks();
            looks
                .map(|look| effort.replications(first, look))
                .collect::<Vec<_>>()
        };
        assert_eq!(stages(Effort::Quick, 10), [5]);
        assert_eq!(stages(Effort::Normal, 20), [10, 20, 40]);
        assert_eq!(stages(Effort::Full, 10), [10, 20, 40, 80, 160, 320, 640]);
        assert_eq!(stages(Effort::Quick, 1), [2], "an interval needs two");
    }

    /// A figure whose mean is exactly the limit: over and under are both wrong, and whoever stops
    /// at the first answer may say either in 5 % of all runs at most.
    #[test]
    fn stopping_at_the_first_answer_keeps_the_risk() {
        const RUNS: u32 = 2_000;
        let decided = |risk: f64| {
            let wrong = |run: &u32| {
                let mut random = RandomStream::new(1, *run, "figures");
                let mut values = Vec::new();
                (0..Effort::Full.looks()).any(|look| {
                    let n = Effort::Full.replications(10, look) as usize;
                    // The sum of twelve uniform numbers is nearly normal.
                    values.resize_with(n, || {
                        let draws = (0..12).map(|_| random.below(1 << 30) as f64);
                        draws.sum::<f64>() / f64::from(1 << 30) - 6.0
                    });
                    let mut proof = Proof::new(risk);
                    proof.above(&Series::new("x", "", values.clone()), 0.0);
                    proof.verdict() != Verdict::Undecided
                })
            };
            (0..RUNS).filter(wrong).count() as f64 / f64::from(RUNS)
        };
        let spent = decided(RISK / f64::from(Effort::Full.looks()));
        assert!(spent <= RISK, "{spent}");
        assert!(spent > RISK / 4.0, "{spent}: far too careful");
        let unspent = decided(RISK);
        assert!(unspent > 2.0 * RISK, "{unspent}: the test could not fail");
    }
}
