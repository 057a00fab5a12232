//! How rows of the claims file are decided, by cells of the paper's experiment.
//!
//! Words of the paper that name no figure mean the same in all rows: "much" is a factor of two,
//! "basically the same" is within a tenth.

use super::cell::experiment;
use super::series::Reading;
use crate::ledger::Finding;
use crate::registry::Registry;

/// "Much" more or less.
pub const MUCH: f64 = 2.0;
/// "Basically the same": so far apart at most, as a part of the other figure.
pub const BASICALLY: f64 = 0.1;

/// One row of the claims file: what it reads and how it is decided.
pub struct Row {
    /// Id of the claim.
    pub claim: &'static str,
    /// Tests, and the configurations read of each.
    pub reads: Vec<(&'static str, Vec<&'static str>)>,
    /// Decides it, or says why there are no figures to decide it by.
    pub decide: fn(&Reading<'_>) -> Result<Finding, String>,
}

impl Row {
    /// The row that reads `configurations` of each of `tests`.
    pub fn new(
        claim: &'static str,
        tests: &[&'static str],
        configurations: &[&'static str],
        decide: fn(&Reading<'_>) -> Result<Finding, String>,
    ) -> Self {
        let reads = tests.iter().map(|test| (*test, configurations.to_vec()));
        Row {
            claim,
            reads: reads.collect(),
            decide,
        }
    }

    /// Adds its check to `registry`, which has the experiments.
    pub fn register(self, registry: &mut Registry) {
        let reads = self.reads.iter().flat_map(|(test, configurations)| {
            configurations
                .iter()
                .map(move |configuration| experiment(test, configuration))
        });
        let reads: Vec<String> = reads.collect();
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        let decide = self.decide;
        registry.check(self.claim, &reads, move |samples, claim| {
            decide(&Reading::new(samples, claim)).unwrap_or_else(|why| Finding::unknown(why))
        });
    }
}
