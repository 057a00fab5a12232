//! How rows of the claims file are decided: comparisons that have to be proven, values that have to
//! be near.
//!
//! A figure of a cell has one value a replication; latencies are those of [all](crate::pooled)
//! pings of a cell. A comparison of two cells is paired by replication, for guests and flows begin
//! alike in both, and holds when the 95 % interval of the difference lies on the right side. Where
//! one cell was replicated more often, all of its values count, and none is paired. A limit or a
//! tolerance holds when the whole 95 % interval of the mean is inside. One replication proves no
//! comparison.
//!
//! A cell in which no ping is answered has no latency. It proves that its latency is the higher one
//! when the other cell's replies come, and disproves every limit and tolerance.
//!
//! Words of the paper that name no figure mean the same in all rows: "much" is a factor of two,
//! "basically the same" is within a tenth.

use super::cell::experiment;
use super::series::{Reading, Series, number};
use crate::ledger::{Finding, Measured};
use crate::registry::Registry;
use crate::stats::Difference;
use crate::tolerance::Tolerance;

/// "Much" more or less.
pub const MUCH: f64 = 2.0;
/// "Basically the same": so far apart at most, as a part of the other figure.
pub const BASICALLY: f64 = 0.1;

/// Statements that have to be proven, all of them unless it is said otherwise.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Proof {
    statements: Vec<(bool, String)>,
}

impl Proof {
    /// Nothing to prove yet.
    pub fn new() -> Self {
        Proof::default()
    }

    /// `a` is more than `factor` times `b`.
    pub fn greater(&mut self, a: &Series, factor: f64, b: &Series) {
        let b = scaled(b, factor);
        let proven = proven_greater(a, &b);
        self.compared(proven, a, "over", &b);
    }

    /// `a` is less than `factor` times `b`.
    pub fn less(&mut self, a: &Series, factor: f64, b: &Series) {
        let b = scaled(b, factor);
        let proven = proven_greater(&b, a);
        self.compared(proven, a, "under", &b);
    }

    /// `a` differs from `b` by less than `part` of `b`, either way.
    pub fn within(&mut self, a: &Series, part: f64, b: &Series) {
        self.less(a, 1.0 + part, b);
        self.greater(a, 1.0 - part, b);
    }

    /// `a` is under `limit`, interval included.
    pub fn below(&mut self, a: &Series, limit: f64) {
        let inside = interval(a).is_some_and(|[_, high]| high < limit);
        self.judged(inside, a, &format!("under {}", number(limit)));
    }

    /// `a` is over `limit`, interval included.
    pub fn above(&mut self, a: &Series, limit: f64) {
        let inside = interval(a).is_some_and(|[low, _]| low > limit);
        self.judged(inside, a, &format!("over {}", number(limit)));
    }

    /// `a` is within `tolerance` of `published`, interval included.
    pub fn near(&mut self, a: &Series, published: f64, tolerance: Tolerance) {
        let inside =
            interval(a).is_some_and(|ends| ends.iter().all(|end| tolerance.holds(published, *end)));
        let (low, high) = tolerance.range(published);
        let range = format!("in {} to {}", number(low), number(high));
        self.judged(inside, a, &range);
    }

    /// At least `least` of the statements of each of `parts` hold; what they say in all is `claim`.
    pub fn most(&mut self, least: usize, parts: &[Proof], claim: &str) {
        let holding = parts.iter().filter(|p| p.holds()).count();
        let told = format!("{claim}: {holding} of {}, not {least}", parts.len());
        self.statements.push((holding >= least, told));
    }

    /// Whether all statements are proven.
    pub fn holds(&self) -> bool {
        self.statements.iter().all(|(proven, _)| *proven)
    }

    fn compared(&mut self, proven: bool, a: &Series, how: &str, b: &Series) {
        let (what, value, limit) = (&a.name, a.shown(), b.shown());
        let told = format!("{what}, {value}, is not {how} {limit}, {}", b.name);
        self.statements.push((proven, told));
    }

    fn judged(&mut self, inside: bool, a: &Series, range: &str) {
        let told = format!("{}, {}, is not {range}", a.name, a.shown());
        self.statements.push((inside, told));
    }

    /// The verdict on what was `measured`, in words; the note says how it was decided, and what is
    /// not proven.
    pub fn finding(self, measured: impl Into<String>, how: &str) -> Finding {
        let measured: String = measured.into();
        let note = self.note(how);
        Finding::decided(self.holds(), measured, "").note(note)
    }

    /// The verdict on one figure.
    pub fn finding_on(self, figure: &Series, how: &str) -> Finding {
        let note = self.note(how);
        match figure.estimate() {
            Some(estimate) => Finding::estimated(self.holds(), estimate, figure.unit).note(note),
            None => Finding::decided(false, Measured::Nothing, figure.unit).note(note),
        }
    }

    fn note(&self, how: &str) -> String {
        const TOLD: usize = 3;
        let failed: Vec<&str> = self
            .statements
            .iter()
            .filter(|(proven, _)| !proven)
            .map(|(_, told)| told.as_str())
            .collect();
        let mut note = format!("decided by {how}");
        if !failed.is_empty() {
            let (told, all) = (failed.len().min(TOLD), self.statements.len());
            note += &format!(
                "; {} of {all} not proven: {}",
                failed.len(),
                failed[..told].join("; ")
            );
            if failed.len() > told {
                note += "; and so on";
            }
        }
        note
    }
}

fn scaled(series: &Series, factor: f64) -> Series {
    if factor == 1.0 {
        return series.clone();
    }
    let mut scaled = series.map(|v| v * factor);
    scaled.name = format!("{} times the {}", number(factor), series.name);
    scaled
}

/// Whether `high` is over `low` beyond the 95 % interval, paired by replication if both have as
/// many. Where `high` alone is missing, it is over whatever `low` is.
fn proven_greater(high: &Series, low: &Series) -> bool {
    if high.values.is_empty() || low.values.len() < 2 || low.is_missing() {
        return false;
    }
    let compare = match high.values.len() == low.values.len() {
        true => Difference::paired,
        false => Difference::welch,
    };
    high.is_missing() || compare(&high.values, &low.values).is_some_and(|d| d.is_greater())
}

/// Ends of the interval of the mean; the mean itself for one replication. `None` when the figure is
/// missing.
fn interval(series: &Series) -> Option<[f64; 2]> {
    let estimate = series.estimate()?;
    Some(estimate.ci95.unwrap_or([estimate.mean; 2]))
}

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
            decide(&Reading::new(samples, claim))
                .unwrap_or_else(|why| Finding::decided(false, Measured::Nothing, "").note(why))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::MISSING;
    use super::*;

    fn series(name: &str, values: &[f64]) -> Series {
        Series::new(name, "ms", values.to_vec())
    }

    fn proves(state: impl Fn(&mut Proof)) -> bool {
        let mut proof = Proof::new();
        state(&mut proof);
        proof.holds()
    }

    #[test]
    fn comparisons_are_paired_and_proven() {
        let low = series("low", &[10.0, 14.0, 12.0]);
        let high = series("high", &[11.0, 15.1, 13.0]);
        assert!(proves(|p| p.greater(&high, 1.0, &low)));
        assert!(!proves(|p| p.greater(&low, 1.0, &high)));
        assert!(!proves(|p| p.greater(&high, 2.0, &low)));
        assert!(proves(|p| p.less(&high, 2.0, &low)));
        assert!(!proves(|p| p.less(&low, 1.0, &low)));
        assert!(!proves(|p| p.greater(
            &series("x", &[9.0]),
            1.0,
            &series("y", &[1.0])
        )));
    }

    #[test]
    fn all_replications_count_where_one_has_more() {
        // The first two are no proof; six are.
        let high = series("high", &[10.0, 4.0, 10.0, 9.0, 11.0, 10.0]);
        let low = series("low", &[5.0, 6.0]);
        let first = series("first", &high.values[..2]);
        assert!(!proves(|p| p.greater(&first, 1.0, &low)));
        assert!(proves(|p| p.greater(&high, 1.0, &low)));
        assert!(proves(|p| p.less(&low, 1.0, &high)));
        assert!(!proves(|p| p.greater(&low, 1.0, &high)));
        assert!(!proves(|p| p.greater(&high, 2.0, &low)));
        assert!(!proves(|p| p.less(&low, 1.0, &series("one", &[9.0]))));
        let never = series("never", &[MISSING; 3]);
        assert!(proves(|p| p.greater(&never, 2.0, &low)));
        assert!(!proves(|p| p.greater(&low, 1.0, &never)));
        assert!(!proves(|p| p.greater(&series("none", &[]), 1.0, &low)));
    }

    #[test]
    fn a_latency_that_is_missing_is_the_higher_one() {
        let low = series("low", &[10.0, 14.0, 12.0, 13.0, 11.0]);
        let never = series("never", &[MISSING; 5]);
        assert!(proves(|p| p.greater(&never, 2.0, &low)));
        assert!(!proves(|p| p.less(&never, 1.0, &low)));
        assert!(!proves(|p| p.greater(&never, 1.0, &never)));
        assert!(!proves(|p| p.greater(&low, 1.0, &never)));
        assert!(!proves(|p| p.above(&never, 1.0)), "it has no figure");
        assert!(!proves(|p| p.below(&never, 1.0)));
        assert_eq!(never.figures(), "without any reply");
    }

    #[test]
    fn the_same_means_near_on_both_sides() {
        let base = series("base", &[100.0, 102.0, 98.0]);
        let off = |factor: f64| base.map(|v| v * factor);
        assert!(proves(|p| p.within(&off(1.05), 0.1, &base)));
        assert!(proves(|p| p.within(&off(0.95), 0.1, &base)));
        assert!(!proves(|p| p.within(&off(1.2), 0.1, &base)));
        assert!(!proves(|p| p.within(&off(0.8), 0.1, &base)));
    }

    #[test]
    fn limits_hold_for_the_whole_interval() {
        let wide = series("wide", &[8.0, 10.0, 12.0]);
        assert!(!proves(|p| p.below(&wide, 11.0)) && proves(|p| p.below(&wide, 16.0)));
        assert!(!proves(|p| p.above(&wide, 9.0)) && proves(|p| p.above(&wide, 4.0)));
        let two = Tolerance::Factor(2.0);
        assert!(proves(|p| p.near(&wide, 10.0, two)));
        assert!(
            !proves(|p| p.near(&wide, 7.0, two)),
            "the interval ends beyond 14"
        );
        assert!(proves(|p| p.below(&series("one", &[8.0]), 8.5)));
    }

    #[test]
    fn a_note_says_how_and_what_failed() {
        let mut proof = Proof::new();
        proof.below(&series("spread of a", &[18.0]), 17.0);
        proof.below(&series("spread of b", &[12.0]), 17.0);
        let finding = proof.finding("18, 12", "the limit");
        assert_eq!(
            finding.note,
            "decided by the limit; 1 of 2 not proven: spread of a, 18 ms, is not under 17"
        );
    }

    #[test]
    fn most_counts_proofs() {
        let proof = |holds: bool| {
            let mut proof = Proof::new();
            proof.above(&series("x", &[1.0]), if holds { 0.0 } else { 2.0 });
            proof
        };
        let parts = [proof(true), proof(false), proof(true)];
        assert!(proves(|p| p.most(2, &parts, "x")));
        assert!(!proves(|p| p.most(3, &parts, "x")));
    }
}
