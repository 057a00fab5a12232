//! Verdicts on claims, and the ledger that collects them.

use crate::claim::Claim;
use domio_answer::{Inner, rows, texts};
use domio_stats::Estimate;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// Whether a claim holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The measurement agrees with the paper: everything that the claim says is proven.
    Holds,
    /// The contrary of something that the claim says is proven.
    Fails,
    /// Neither is proven: there are too few replications, or the experiment could not be run.
    Undecided,
    /// No check decides this claim yet.
    NotImplemented,
}

texts! {
    Verdict: |verdict| verdict.name().into(),
        |text, _| Verdict::ALL.into_iter().find(|verdict| verdict.name() == text);
}

impl Verdict {
    /// All of them, in the order of the summary.
    pub const ALL: [Verdict; 4] = [
        Verdict::Holds,
        Verdict::Fails,
        Verdict::Undecided,
        Verdict::NotImplemented,
    ];

    /// The word in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Undecided => "undecided",
            Verdict::NotImplemented => "not-implemented",
        }
    }
}

/// One of the statements that a claim is made of, and whether it holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// Holds, fails or undecided.
    pub verdict: Verdict,
    /// What the check is about: "average ping latency of a". Empty when it is about no figure.
    pub name: String,
    /// The measured figure: "12.3 ± 0.4 ms".
    pub measured: String,
    /// What the figure has to be: "under 17", "over 27 ± 2 ms".
    pub claimed: String,
    /// What it is compared with: "average ping latency of b"; empty for a limit.
    pub than: String,
    /// Experiments that the check reads: more replications of them may decide it.
    pub reads: Vec<String>,
}

impl Check {
    /// The statement with its figures: "average ping latency of a, 12.3 ± 0.4 ms, under 17".
    pub fn told(&self) -> String {
        self.with(&self.claimed)
    }

    /// What was found out: as the statement, and "not under 17" when the contrary is proven.
    pub fn found(&self) -> String {
        match self.verdict {
            Verdict::Fails => self.with(&format!("not {}", self.claimed)),
            _ => self.told(),
        }
    }

    fn with(&self, claimed: &str) -> String {
        let parts = [&self.name, &self.measured, claimed, &self.than];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(", ")
    }
}

rows! {
    /// Number of checks by verdict.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
    pub struct Checks {
        /// Checks that hold.
        pub holds: usize = count("holds");
        /// Checks whose contrary is proven.
        pub fails: usize = count("fails");
        /// Checks of which neither is proven.
        pub undecided: usize = count("undecided");
    }

    /// Number of claims by verdict.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct VerdictCounts {
        /// Claims that hold.
        pub holds: usize = count("holds");
        /// Claims that fail.
        pub fails: usize = count("fails");
        /// Claims of which neither is proven.
        pub undecided: usize = count("undecided");
        /// Claims that no check decides.
        pub not_implemented: usize = count("not_implemented");
    }

    /// What was found out about a claim.
    #[derive(Clone, PartialEq, Debug, Deserialize)]
    pub struct ClaimFound {
        /// The verdict.
        pub verdict: Verdict = fact("verdict");
        /// Number of checks by verdict.
        pub checks: Inner<Checks> = fact("checks");
        /// What was measured: one figure, or several in the order in which the claim names them;
        /// empty for none.
        pub measured: Vec<f64> = fact("measured");
        /// What was measured where that is no figure: a comparison or a behaviour, in words.
        pub in_words: Option<String> = fact("in_words");
        /// Unit of the figures, empty for none.
        pub unit: String = fact("unit");
        /// 95 % confidence interval of a single figure; null without one.
        pub ci95: Option<[f64; 2]> = fact("ci95");
        /// Replications behind the measurement.
        pub replications: u32 = count("replications");
    }

    /// A claim in the ledger.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ClaimRow {
        /// Id of the claim.
        pub id: String = key("id").title("claim");
        /// What was found out.
        pub found: ClaimFound = fact("");
        /// The verdict on record.
        pub recorded: Option<String> = fact("recorded");
        /// What the paper says.
        pub expected: String = fact("expected");
        /// The same in a few words, where the paper is known for it.
        pub headline: Option<String> = fact("headline");
        /// What a reader should know: how a shape was decided, why a claim fails, or why it could
        /// not be measured. May be empty.
        pub note: String = fact("note");
    }
}

impl fmt::Display for VerdictCounts {
    /// "12 hold, 3 fail, 5 undecided, 77 not implemented".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VerdictCounts {
            holds,
            fails,
            undecided,
            not_implemented,
        } = self;
        write!(
            f,
            "{holds} hold, {fails} fail, {undecided} undecided, {not_implemented} not implemented"
        )
    }
}

impl Checks {
    /// All of them.
    pub fn total(&self) -> usize {
        self.holds + self.fails + self.undecided
    }
}

/// What was measured for a claim.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Measured {
    /// Nothing.
    #[default]
    Nothing,
    /// One figure.
    Number(f64),
    /// Several figures, in the order in which the claim names them.
    Numbers(Vec<f64>),
    /// A comparison or a behaviour, in words and figures.
    Text(String),
}

impl From<f64> for Measured {
    fn from(number: f64) -> Self {
        Measured::Number(number)
    }
}

impl From<Vec<f64>> for Measured {
    fn from(numbers: Vec<f64>) -> Self {
        Measured::Numbers(numbers)
    }
}

impl From<String> for Measured {
    fn from(text: String) -> Self {
        Measured::Text(text)
    }
}

impl From<&str> for Measured {
    fn from(text: &str) -> Self {
        Measured::Text(text.to_owned())
    }
}

/// What a check found out about a claim.
#[derive(Clone, PartialEq, Debug)]
pub struct ClaimResult {
    /// Whether the claim holds: when all checks hold. The claim fails when one of them fails.
    pub verdict: Verdict,
    /// What the claim says, piece by piece.
    pub checks: Vec<Check>,
    /// The measurement.
    pub measured: Measured,
    /// Unit of the figures ("ms", "Mb/s", "% of one pcpu"), empty for none.
    pub unit: String,
    /// 95 % confidence interval of a single figure.
    pub ci95: Option<[f64; 2]>,
    /// Replications behind the measurement.
    pub replications: u32,
    /// What a reader should know: how a shape was decided, why a claim fails. May be empty.
    pub note: String,
}

impl ClaimResult {
    /// A claim that `checks` decide. [`reproduce`](mod@crate::reproduce) fills in the number of
    /// replications when it is zero.
    pub fn of(checks: Vec<Check>, measured: impl Into<Measured>, unit: &str) -> Self {
        let any = |verdict| checks.iter().any(|check| check.verdict == verdict);
        let verdict = match () {
            () if any(Verdict::Fails) => Verdict::Fails,
            () if any(Verdict::Undecided) || checks.is_empty() => Verdict::Undecided,
            () => Verdict::Holds,
        };
        ClaimResult {
            verdict,
            checks,
            measured: measured.into(),
            unit: unit.to_owned(),
            ci95: None,
            replications: 0,
            note: String::new(),
        }
    }

    /// A claim that one check decides.
    pub fn decided(holds: bool, measured: impl Into<Measured>, unit: &str) -> Self {
        let check = Check {
            verdict: match holds {
                true => Verdict::Holds,
                false => Verdict::Fails,
            },
            name: String::new(),
            measured: String::new(),
            claimed: String::new(),
            than: String::new(),
            reads: Vec::new(),
        };
        ClaimResult::of(vec![check], measured, unit)
    }

    /// A claim about one figure that one check decides, with the interval of `estimate`.
    pub fn estimated(holds: bool, estimate: Estimate, unit: &str) -> Self {
        ClaimResult::decided(holds, Measured::Nothing, unit).showing(&estimate)
    }

    /// Nothing is known of the claim, for the reason `why`.
    pub fn unknown(why: impl Into<String>) -> Self {
        ClaimResult::of(Vec::new(), Measured::Nothing, "").note(why)
    }

    /// The finding with `estimate` as what was measured.
    pub fn showing(self, estimate: &Estimate) -> Self {
        ClaimResult {
            measured: Measured::Number(estimate.mean),
            ci95: estimate.ci95,
            replications: estimate.n as u32,
            ..self
        }
    }

    /// The finding as a row.
    pub fn found(&self) -> ClaimFound {
        let (measured, in_words) = match &self.measured {
            Measured::Nothing => (Vec::new(), None),
            Measured::Number(number) => (vec![*number], None),
            Measured::Numbers(numbers) => (numbers.clone(), None),
            Measured::Text(text) => (Vec::new(), Some(text.clone())),
        };
        ClaimFound {
            verdict: self.verdict,
            checks: Inner(self.counts()),
            measured,
            in_words,
            unit: self.unit.clone(),
            ci95: self.ci95,
            replications: self.replications,
        }
    }

    /// How many of the checks hold, fail and are undecided.
    pub fn counts(&self) -> Checks {
        let count = |verdict| self.checks.iter().filter(|c| c.verdict == verdict).count();
        Checks {
            holds: count(Verdict::Holds),
            fails: count(Verdict::Fails),
            undecided: count(Verdict::Undecided),
        }
    }

    /// The check that decides the claim, or keeps it from being decided: the first that fails, or
    /// else the first that is undecided. `None` when all hold.
    pub fn decisive(&self) -> Option<&Check> {
        let first = |verdict| self.checks.iter().find(|c| c.verdict == verdict);
        first(Verdict::Fails).or_else(|| first(Verdict::Undecided))
    }

    /// A claim that no check decides.
    pub fn not_implemented() -> Self {
        ClaimResult {
            verdict: Verdict::NotImplemented,
            ..ClaimResult::of(Vec::new(), Measured::Nothing, "")
        }
    }

    /// The finding with this note.
    pub fn note(self, note: impl Into<String>) -> Self {
        ClaimResult {
            note: note.into(),
            ..self
        }
    }
}

/// One claim and what was found out about it.
#[derive(Clone, PartialEq, Debug)]
pub struct LedgerEntry {
    /// The claim.
    pub claim: Claim,
    /// The finding.
    pub finding: ClaimResult,
}

impl LedgerEntry {
    /// The entry as a row, with the verdict on record.
    pub fn row(&self, recorded: Option<&String>) -> ClaimRow {
        ClaimRow {
            id: self.claim.id.clone(),
            found: self.finding.found(),
            recorded: recorded.cloned(),
            expected: self.claim.expect.clone(),
            headline: self.claim.headline.clone(),
            note: self.finding.note.clone(),
        }
    }
}

/// The verdicts on a selection of claims, in the order of the claims file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClaimLedger {
    /// One entry a claim.
    pub entries: Vec<LedgerEntry>,
}

impl ClaimLedger {
    /// Number of claims by verdict.
    pub fn summary(&self) -> VerdictCounts {
        let count = |verdict| {
            let same = |e: &&LedgerEntry| e.finding.verdict == verdict;
            self.entries.iter().filter(same).count()
        };
        VerdictCounts {
            holds: count(Verdict::Holds),
            fails: count(Verdict::Fails),
            undecided: count(Verdict::Undecided),
            not_implemented: count(Verdict::NotImplemented),
        }
    }

    /// How many claims no check decides, by paper: "Not implemented: boutcher 12, gupta 15.";
    /// `None` where checks decide all.
    pub fn not_implemented(&self) -> Option<String> {
        let entries = self.entries.iter();
        let open = entries.filter(|e| e.finding.verdict == Verdict::NotImplemented);
        let mut papers: BTreeMap<&str, usize> = BTreeMap::new();
        open.for_each(|entry| *papers.entry(entry.claim.paper()).or_default() += 1);
        let parts = papers.iter().map(|(paper, n)| format!("{paper} {n}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        (!papers.is_empty()).then(|| format!("Not implemented: {parts}."))
    }
}
