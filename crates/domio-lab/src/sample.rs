//! What one replication of an experiment measured.

use std::collections::BTreeMap;

/// Named figures of one replication: single values and lists.
///
/// Names are words joined by dots, and say the unit last where there is one
/// ("d3.share_pct", "ping.latency_ms").
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sample {
    values: BTreeMap<String, f64>,
    lists: BTreeMap<String, Vec<f64>>,
}

impl Sample {
    /// A sample without figures.
    pub fn new() -> Self {
        Sample::default()
    }

    /// Sets the value called `name`, and hands the sample back.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.set(name, value);
        self
    }

    /// Sets the value called `name`.
    pub fn set(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), value);
    }

    /// Sets the list called `name`: one value a domain, an interval, a request.
    pub fn set_list(&mut self, name: &str, list: Vec<f64>) {
        self.lists.insert(name.to_owned(), list);
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// The list called `name`; empty when there is none.
    pub fn list(&self, name: &str) -> &[f64] {
        self.lists.get(name).map_or(&[], Vec::as_slice)
    }

    /// All values, by name.
    pub fn values(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    }

    /// All lists, by name.
    pub fn lists(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.lists
            .iter()
            .map(|(name, list)| (name.as_str(), list.as_slice()))
    }
}

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
    fn figures_are_found_by_name() {
        let mut sample = Sample::new().with("d1.share_pct", 14.3);
        sample.set_list("rtt_ms", vec![0.2, 0.3]);
        assert_eq!(sample.get("d1.share_pct"), Some(14.3));
        assert_eq!(sample.get("d2.share_pct"), None);
        assert_eq!(sample.list("rtt_ms"), [0.2, 0.3]);
        assert!(sample.list("other").is_empty());
        let two = [sample.clone(), sample.with("d1.share_pct", 14.1)];
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
