//! The samples that a check reads, by experiment.

use domio_run::Sample;
use std::collections::BTreeMap;

/// Why an experiment has no samples.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{experiment}, replication {replication}: {why}")]
pub struct ExperimentError {
    /// Name of the experiment.
    pub experiment: String,
    /// Number of the replication that failed first, from 0.
    pub replication: u32,
    /// What happened.
    pub why: String,
}

/// What a check reads: the samples of the experiments that it named, one a replication.
pub struct Samples<'a> {
    by_experiment: BTreeMap<&'a str, &'a [Sample]>,
    risk: f64,
}

impl<'a> Samples<'a> {
    /// Samples by name of the experiment.
    pub fn new(by_experiment: impl IntoIterator<Item = (&'a str, &'a [Sample])>) -> Self {
        Samples {
            by_experiment: by_experiment.into_iter().collect(),
            risk: 0.05,
        }
    }

    /// The samples, for checks that err with probability `risk` each; 0.05 unless it is said.
    pub fn at_risk(self, risk: f64) -> Self {
        Samples { risk, ..self }
    }

    /// With which probability each check may err.
    pub fn risk(&self) -> f64 {
        self.risk
    }

    /// Samples of `experiment`, by replication.
    ///
    /// # Panics
    /// When the check did not name `experiment` among those it reads.
    pub fn of(&self, experiment: &str) -> &'a [Sample] {
        self.by_experiment
            .get(experiment)
            .unwrap_or_else(|| panic!("the check does not read \"{experiment}\""))
    }

    /// The value called `value` of `experiment`, by replication.
    ///
    /// # Panics
    /// As [`Samples::of`], and when a sample lacks the value: checks and experiments are written
    /// together, so that either is a bug of domio.
    pub fn values(&self, experiment: &str, value: &str) -> Vec<f64> {
        let one = |sample: &Sample| {
            sample
                .get(value)
                .unwrap_or_else(|| panic!("{experiment} does not measure \"{value}\""))
        };
        self.of(experiment).iter().map(one).collect()
    }

    /// Number of replications: of the experiment that has fewest.
    pub fn replications(&self) -> u32 {
        let counts = self.by_experiment.values().map(|s| s.len() as u32);
        counts.min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_by_replication() {
        let one = |value| Sample::new().with("d1.share_pct", value);
        let two = [one(14.3), one(14.1)];
        let samples = Samples::new([("burn", &two[..]), ("stream", &two[..1])]);
        assert_eq!(samples.values("burn", "d1.share_pct"), [14.3, 14.1]);
        assert_eq!(samples.replications(), 1);
    }

    #[test]
    #[should_panic(expected = "the check does not read \"ping\"")]
    fn a_check_reads_what_it_named() {
        Samples::new([]).of("ping");
    }
}
