//! Statements that have to be proven: comparisons, limits, values that have to be near.
//!
//! A figure has one value a replication ([`Series`]). A comparison of two figures is paired by
//! replication, as far as both have the same ones: guests and flows begin alike in both, so that
//! what chance does to both is no difference between them. A check *holds* when the interval of the
//! difference, of the mean for a limit or a tolerance, lies wholly on the right side. A check
//! *fails* when the interval lies wholly on the wrong side. Otherwise, and with one replication,
//! the check is *undecided*.
//!
//! How wide the interval is follows from the risk of an error that the samples allow for each check
//! ([`Samples::risk`](crate::samples::Samples::risk)): 5 % where samples are looked at a single
//! time, less where sampling continues until checks are decided.
//!
//! A cell in which no ping is answered has no latency: the figure counts as the higher one when the
//! other cell's replies come, and is outside of every limit and tolerance.

use crate::ledger::{Check, ClaimResult, Measured, Verdict};
use crate::series::{Series, number};
use crate::tolerance::Tolerance;
use domio_stats::Difference;

/// Statements that have to be proven, all of them unless it is said otherwise.
#[derive(Clone, PartialEq, Debug)]
pub struct Proof {
    checks: Vec<Check>,
    risk: f64,
}

impl Proof {
    /// Nothing to prove yet. Each statement may err with probability `risk`.
    pub fn new(risk: f64) -> Self {
        Proof {
            checks: Vec::new(),
            risk,
        }
    }

    /// `a` is more than `factor` times `b`.
    pub fn greater(&mut self, a: &Series, factor: f64, b: &Series) {
        let b = scaled(b, factor);
        let verdict = self.compare(a, &b);
        self.compared(verdict, a, "over", &b);
    }

    /// `a` is less than `factor` times `b`.
    pub fn less(&mut self, a: &Series, factor: f64, b: &Series) {
        let b = scaled(b, factor);
        let verdict = self.compare(&b, a);
        self.compared(verdict, a, "under", &b);
    }

    /// `a` differs from `b` by less than `part` of `b`, either way.
    pub fn within(&mut self, a: &Series, part: f64, b: &Series) {
        self.less(a, 1.0 + part, b);
        self.greater(a, 1.0 - part, b);
    }

    /// `a` is under `limit`, interval included.
    pub fn below(&mut self, a: &Series, limit: f64) {
        let verdict = self.judge(a, |_, high| high < limit, |low, _| low >= limit);
        self.judged(verdict, a, &format!("under {}", number(limit)));
    }

    /// `a` is over `limit`, interval included.
    pub fn above(&mut self, a: &Series, limit: f64) {
        let verdict = self.judge(a, |low, _| low > limit, |_, high| high <= limit);
        self.judged(verdict, a, &format!("over {}", number(limit)));
    }

    /// `a` is zero in every replication. One replication in which it is not disproves that.
    pub fn never(&mut self, a: &Series) {
        let verdict = match a.values.as_slice() {
            [] => Verdict::Undecided,
            values if values.iter().all(|v| *v == 0.0) => Verdict::Holds,
            _ => Verdict::Fails,
        };
        self.judged(verdict, a, "zero each time");
    }

    /// `a` is not zero in any replication. One replication in which it is disproves that.
    pub fn always(&mut self, a: &Series) {
        let verdict = match a.values.as_slice() {
            [] => Verdict::Undecided,
            values if values.iter().all(|v| *v != 0.0) => Verdict::Holds,
            _ => Verdict::Fails,
        };
        self.judged(verdict, a, "not zero any time");
    }

    /// `a` is within `tolerance` of `published`, interval included.
    pub fn near(&mut self, a: &Series, published: f64, tolerance: Tolerance) {
        let (least, most) = tolerance.range(published);
        let verdict = self.judge(
            a,
            |low, high| tolerance.holds(published, low) && tolerance.holds(published, high),
            |low, high| high < least || low > most,
        );
        let range = format!("in {} to {}", number(least), number(most));
        self.judged(verdict, a, &range);
    }

    /// At least `least` of the statements of each of `parts` hold; what they say in all is `claim`.
    pub fn most(&mut self, least: usize, parts: &[Proof], claim: &str) {
        let count = |verdict| parts.iter().filter(|p| p.verdict() == verdict).count();
        let (holds, fails) = (count(Verdict::Holds), count(Verdict::Fails));
        let verdict = match () {
            () if holds >= least => Verdict::Holds,
            () if parts.len() - fails < least => Verdict::Fails,
            () => Verdict::Undecided,
        };
        let undecided = parts
            .iter()
            .flat_map(|part| &part.checks)
            .filter(|check| check.verdict == Verdict::Undecided);
        self.checks.push(Check {
            verdict,
            name: claim.to_owned(),
            measured: format!("{holds} of {}", parts.len()),
            claimed: format!("at least {least}"),
            than: String::new(),
            reads: undecided.flat_map(|check| check.reads.clone()).collect(),
        });
    }

    /// All that `part` says.
    pub fn all(&mut self, part: Proof) {
        self.checks.extend(part.checks);
    }

    /// What the statements make together.
    pub fn verdict(&self) -> Verdict {
        ClaimResult::of(self.checks.clone(), Measured::Nothing, "").verdict
    }

    /// Whether `high` is over `low`. Where `high` alone is missing, it is over whatever `low` is.
    fn compare(&self, high: &Series, low: &Series) -> Verdict {
        let few = |series: &Series| series.values.len() < 2;
        match (high.is_missing(), low.is_missing()) {
            _ if few(high) || few(low) => return Verdict::Undecided,
            (true, true) => return Verdict::Undecided,
            (true, false) => return Verdict::Holds,
            (false, true) => return Verdict::Fails,
            (false, false) => {}
        }
        let both = high.values.len().min(low.values.len());
        let difference = Difference::paired(&high.values[..both], &low.values[..both]);
        match difference.map(|d| d.interval(self.risk)) {
            Some([from, _]) if from > 0.0 => Verdict::Holds,
            Some([_, to]) if to <= 0.0 => Verdict::Fails,
            _ => Verdict::Undecided,
        }
    }

    /// Whether the interval of `a`, from its low to its high end, is `inside` or `outside`.
    fn judge(
        &self,
        a: &Series,
        inside: impl Fn(f64, f64) -> bool,
        outside: impl Fn(f64, f64) -> bool,
    ) -> Verdict {
        if a.is_missing() {
            return Verdict::Fails;
        }
        match a.estimate().and_then(|e| e.interval(self.risk)) {
            Some([low, high]) if inside(low, high) => Verdict::Holds,
            Some([low, high]) if outside(low, high) => Verdict::Fails,
            _ => Verdict::Undecided,
        }
    }

    fn compared(&mut self, verdict: Verdict, a: &Series, how: &str, b: &Series) {
        let mut reads = a.reads.clone();
        reads.extend(
            b.reads
                .iter()
                .filter(|name| !a.reads.contains(name))
                .cloned(),
        );
        self.checks.push(Check {
            verdict,
            name: a.name.clone(),
            measured: a.shown(),
            claimed: format!("{how} {}", b.shown()),
            than: b.name.clone(),
            reads,
        });
    }

    fn judged(&mut self, verdict: Verdict, a: &Series, range: &str) {
        self.checks.push(Check {
            verdict,
            name: a.name.clone(),
            measured: a.shown(),
            claimed: range.to_owned(),
            than: String::new(),
            reads: a.reads.clone(),
        });
    }

    /// The verdict on what was `measured`, in words; the note says how it was decided.
    pub fn finding(self, measured: impl Into<String>, how: &str) -> ClaimResult {
        let measured: String = measured.into();
        ClaimResult::of(self.checks, measured, "").note(format!("decided by {how}"))
    }

    /// The verdict on one figure.
    pub fn finding_on(self, figure: &Series, how: &str) -> ClaimResult {
        let finding = ClaimResult::of(self.checks, Measured::Nothing, &figure.unit);
        let finding = finding.note(format!("decided by {how}"));
        match figure.estimate() {
            Some(estimate) => finding.showing(&estimate),
            None => finding,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Verdict::{Fails, Holds, Undecided};
    use crate::series::MISSING;

    fn series(name: &str, values: &[f64]) -> Series {
        Series::new(name, "ms", values.to_vec())
    }

    fn verdict(state: impl Fn(&mut Proof)) -> Verdict {
        let mut proof = Proof::new(0.05);
        state(&mut proof);
        proof.verdict()
    }

    #[test]
    fn comparisons_are_paired() {
        let low = series("low", &[10.0, 14.0, 12.0]);
        let high = series("high", &[11.0, 15.1, 13.0]);
        assert_eq!(verdict(|p| p.greater(&high, 1.0, &low)), Holds);
        assert_eq!(verdict(|p| p.greater(&low, 1.0, &high)), Fails);
        assert_eq!(verdict(|p| p.greater(&high, 2.0, &low)), Fails);
        assert_eq!(verdict(|p| p.greater(&high, 1.08, &low)), Undecided);
        assert_eq!(verdict(|p| p.less(&high, 2.0, &low)), Holds);
        // The same is not less, and that is certain.
        assert_eq!(verdict(|p| p.less(&low, 1.0, &low)), Fails);
        let one = |value| series("one", &[value]);
        let alone = verdict(|p| p.greater(&one(9.0), 1.0, &one(1.0)));
        assert_eq!(alone, Undecided, "one replication");
    }

    /// One of two cells goes on because of another comparison: what the replications of both have
    /// decided stays decided.
    #[test]
    fn replications_of_both_count_where_one_has_more() {
        let high = series("high", &[11.0, 15.1, 13.0, 2.0, 40.0, 10.0]);
        let low = series("low", &[10.0, 14.0, 12.0]);
        let first = series("first", &high.values[..3]);
        for high in [&first, &high] {
            assert_eq!(verdict(|p| p.greater(high, 1.0, &low)), Holds);
            assert_eq!(verdict(|p| p.less(&low, 1.0, high)), Holds);
            assert_eq!(verdict(|p| p.greater(&low, 1.0, high)), Fails);
            assert_eq!(verdict(|p| p.greater(high, 1.08, &low)), Undecided);
        }
        let one = series("one", &[9.0]);
        assert_eq!(verdict(|p| p.less(&low, 1.0, &one)), Undecided);
    }

    #[test]
    fn a_smaller_risk_needs_more() {
        let high = series("high", &[11.0, 15.1, 13.0]);
        let low = series("low", &[10.0, 14.0, 12.0]);
        let at = |risk| {
            let mut proof = Proof::new(risk);
            proof.greater(&high, 1.0, &low);
            proof.above(&high, 7.0);
            proof.checks.iter().map(|c| c.verdict).collect::<Vec<_>>()
        };
        assert_eq!(at(0.05), [Holds, Holds]);
        assert_eq!(at(0.0005), [Undecided, Undecided]);
    }

    #[test]
    fn a_latency_that_is_missing_is_the_higher_one() {
        let low = series("low", &[10.0, 14.0, 12.0, 13.0, 11.0]);
        let never = series("never", &[MISSING; 5]);
        assert_eq!(verdict(|p| p.greater(&never, 2.0, &low)), Holds);
        assert_eq!(verdict(|p| p.less(&never, 1.0, &low)), Fails);
        assert_eq!(verdict(|p| p.greater(&never, 1.0, &never)), Undecided);
        assert_eq!(verdict(|p| p.greater(&low, 1.0, &never)), Fails);
        assert_eq!(verdict(|p| p.above(&never, 1.0)), Fails, "no figure");
        assert_eq!(verdict(|p| p.below(&never, 1.0)), Fails);
        let none = series("none", &[]);
        assert_eq!(verdict(|p| p.greater(&none, 1.0, &low)), Undecided);
        assert_eq!(verdict(|p| p.above(&none, 1.0)), Undecided);
        assert_eq!(never.figures(), "without any reply");
    }

    #[test]
    fn the_same_means_near_on_both_sides() {
        let base = series("base", &[100.0, 102.0, 98.0]);
        let off = |factor: f64| base.map(|v| v * factor);
        assert_eq!(verdict(|p| p.within(&off(1.05), 0.1, &base)), Holds);
        assert_eq!(verdict(|p| p.within(&off(0.95), 0.1, &base)), Holds);
        assert_eq!(verdict(|p| p.within(&off(1.2), 0.1, &base)), Fails);
        assert_eq!(verdict(|p| p.within(&off(0.8), 0.1, &base)), Fails);
    }

    #[test]
    fn limits_hold_for_the_whole_interval() {
        // 10 ± 4.97.
        let wide = series("wide", &[8.0, 10.0, 12.0]);
        for (limit, under) in [(16.0, Holds), (11.0, Undecided), (5.0, Fails)] {
            assert_eq!(verdict(|p| p.below(&wide, limit)), under, "{limit}");
        }
        for (limit, over) in [(4.0, Holds), (9.0, Undecided), (15.0, Fails)] {
            assert_eq!(verdict(|p| p.above(&wide, limit)), over, "{limit}");
        }
        let two = Tolerance::Factor(2.0);
        for (published, near) in [(9.0, Holds), (7.0, Undecided), (2.0, Fails), (40.0, Fails)] {
            assert_eq!(
                verdict(|p| p.near(&wide, published, two)),
                near,
                "{published}"
            );
        }
        let one = series("one", &[8.0]);
        assert_eq!(verdict(|p| p.below(&one, 8.5)), Undecided);
    }

    #[test]
    fn once_is_not_never() {
        assert_eq!(verdict(|p| p.never(&series("x", &[0.0, 0.0]))), Holds);
        assert_eq!(verdict(|p| p.never(&series("x", &[0.0, 1.0]))), Fails);
        assert_eq!(verdict(|p| p.never(&series("x", &[]))), Undecided);
    }

    #[test]
    fn a_check_says_what_it_compares_and_what_it_reads() {
        let mut a = series("spread of a", &[18.0, 18.0]);
        a.reads = vec!["a".to_owned()];
        let mut b = series("spread of b", &[9.0, 9.0]);
        b.reads = vec!["a".to_owned(), "b".to_owned()];
        let mut proof = Proof::new(0.05);
        proof.below(&a, 17.0);
        proof.greater(&a, 3.0, &b);
        let finding = proof.finding("18, 12", "the limit");
        assert_eq!(finding.note, "decided by the limit");
        assert_eq!(finding.verdict, Fails);
        let [limit, ratio] = &finding.checks[..] else {
            panic!("two checks");
        };
        assert_eq!(limit.told(), "spread of a, 18 ± 0 ms, under 17");
        assert_eq!(
            ratio.told(),
            "spread of a, 18 ± 0 ms, over 27 ± 0 ms, 3 times the spread of b"
        );
        assert_eq!(limit.found(), "spread of a, 18 ± 0 ms, not under 17");
        assert_eq!(ratio.reads, ["a", "b"]);
        assert_eq!(finding.counts().fails, 2);
    }

    #[test]
    fn most_counts_proofs() {
        let proof = |limit: f64| {
            let mut proof = Proof::new(0.05);
            proof.above(&series("x", &[1.0, 1.5]), limit);
            proof
        };
        // One holds, one fails, one is undecided.
        let parts = [proof(-9.0), proof(9.0), proof(1.0)];
        assert_eq!(verdict(|p| p.most(1, &parts, "x")), Holds);
        assert_eq!(verdict(|p| p.most(2, &parts, "x")), Undecided);
        assert_eq!(verdict(|p| p.most(3, &parts, "x")), Fails);
    }
}
