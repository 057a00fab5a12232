//! Made-up samples, to show that a row can hold and can fail.

use super::cell::{Cell, experiment};
use super::decide::Row;
use super::series::{PING, Reading};
use crate::claims::Claims;
use crate::ledger::{Finding, Verdict};
use crate::sample::{Sample, Samples};
use std::collections::BTreeMap;

/// One value a replication.
#[derive(Clone, Copy, Debug)]
pub struct Values([f64; 4]);

impl Values {
    /// Within half a percent of `mean`, not the same way in any two cells.
    pub fn around(mean: f64) -> Self {
        let wobble = (mean * 7.3).sin() * 0.002;
        Values([1.001 + wobble, 0.998, 1.002, 0.999 - wobble].map(|factor| factor * mean))
    }

    /// Scattered about zero, without a sign.
    pub fn scattered(mean: f64) -> Self {
        Values([0.3, 1.9, 0.6, 1.2].map(|factor| factor * mean))
    }
}

/// Cells of four replications, and the rows that read them.
pub struct Fake {
    rows: Vec<Row>,
    cells: BTreeMap<String, Vec<Sample>>,
}

impl Fake {
    /// All cells, without any figure.
    pub fn new(rows: Vec<Row>) -> Self {
        let cells = Cell::all().map(|cell| (cell.experiment(), vec![Sample::new(); 4]));
        Fake {
            rows,
            cells: cells.collect(),
        }
    }

    /// Sets figures of one cell.
    pub fn cell(mut self, test: &str, configuration: &str, figures: &[(&str, Values)]) -> Self {
        let samples = self.cells.get_mut(&experiment(test, configuration));
        let samples = samples.expect("a known cell");
        for (key, Values(values)) in figures {
            for (sample, value) in samples.iter_mut().zip(values) {
                sample.set(key, *value);
                if *key == PING.key {
                    sample.set("ping.replies", 1_000.0);
                }
            }
        }
        self
    }

    /// Sets a list of one cell to what `of` says of each replication.
    pub fn lists(
        mut self,
        test: &str,
        configuration: &str,
        key: &str,
        of: impl Fn(usize) -> Vec<f64>,
    ) -> Self {
        let samples = self.cells.get_mut(&experiment(test, configuration));
        for (replication, sample) in samples.expect("a known cell").iter_mut().enumerate() {
            sample.set_list(key, of(replication));
        }
        self
    }

    /// Sets `key` of each of `configurations` in `test` to what `of` says.
    pub fn all(
        self,
        test: &str,
        configurations: &[&str],
        key: &str,
        of: impl Fn(&str) -> Values,
    ) -> Self {
        configurations.iter().fold(self, |fake, configuration| {
            fake.cell(test, configuration, &[(key, of(configuration))])
        })
    }

    /// What the row of `claim` finds.
    pub fn finding(&self, claim: &str) -> Finding {
        let claims = Claims::shipped();
        let row = self.rows.iter().find(|r| r.claim == claim).expect("a row");
        let read = row
            .reads
            .iter()
            .flat_map(|(test, configurations)| configurations.iter().map(|c| experiment(test, c)));
        // As in a run: a row sees the cells that it says it reads, and no others.
        let read: Vec<(String, &[Sample])> = read
            .map(|name| (name.clone(), self.cells[&name].as_slice()))
            .collect();
        let samples = Samples::new(read.iter().map(|(name, s)| (name.as_str(), *s)));
        let claim = claims.find(claim).expect("a shipped claim");
        (row.decide)(&Reading::new(&samples, claim)).unwrap_or_else(Finding::unknown)
    }

    /// Its verdict.
    pub fn verdict(&self, claim: &str) -> Verdict {
        self.finding(claim).verdict
    }
}
