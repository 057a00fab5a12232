//! Recorded times of experiments: how long `domio reproduce` will take.
//!
//! `times.toml` has the processor time of a replication of each experiment at quick effort, in
//! milliseconds. A longer replication takes as many times longer as its simulated time is.
//! `cargo xtask times` records the times anew. A paper without the file has no estimates.

use super::file::{Length, Suite, TestFile};
use crate::effort::Effort;
use crate::folders::PaperFolder;
use std::collections::BTreeMap;

/// A paper's file of times.
const FILE: &str = "times.toml";

/// Milliseconds of a replication at quick effort, by experiment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RecordedTimes(BTreeMap<String, f64>);

impl RecordedTimes {
    /// The times of the paper in `folder`.
    ///
    /// # Errors
    /// When the file is no table of numbers.
    pub fn read(folder: &PaperFolder) -> Result<Self, String> {
        let text = folder.file(FILE).unwrap_or_default();
        let times = toml::from_str(text);
        let times = times.map_err(|e| {
            format!(
                "{}/{FILE} has a mistake: {e}; expected lines `\"EXPERIMENT\" = MILLISECONDS`",
                folder.place
            )
        })?;
        Ok(RecordedTimes(times))
    }

    /// Seconds of a replication of `experiment`, which is of `test` of `suite`, of length `length`.
    pub(super) fn of(
        &self,
        experiment: &str,
        (suite, test): (&Suite, &TestFile),
        length: Length,
    ) -> Option<f64> {
        let quick_ms = self.0.get(experiment)?;
        let times = suite.times.get(&test.times)?;
        let simulated_s = |length| {
            let (warmup, measured) = times.of(length);
            (warmup + measured).as_nanos() as f64 / 1e9 + suite.patience_s
        };
        let longer = simulated_s(length) / simulated_s(Length::Effort(Effort::Quick));
        longer.is_finite().then_some(quick_ms / 1e3 * longer)
    }
}
