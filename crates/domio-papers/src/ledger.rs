//! Verdicts on claims, and the ledger that collects them.

use crate::claim::Claim;
use domio_stats::Estimate;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// Whether a claim holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
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
    /// The statement with its figures: "average ping latency of a, 12.3 ± 0.4 ms, under 17".
    pub told: String,
    /// The figures alone: "12.3 ± 0.4 ms under 17".
    pub figures: String,
    /// Experiments that the check reads: more replications of them may decide it.
    pub reads: Vec<String>,
}

/// Number of checks by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Checks {
    /// Checks that hold.
    pub holds: usize,
    /// Checks whose contrary is proven.
    pub fails: usize,
    /// Checks of which neither is proven.
    pub undecided: usize,
}

impl Checks {
    /// All of them.
    pub fn total(&self) -> usize {
        self.holds + self.fails + self.undecided
    }
}

/// What was measured for a claim.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(untagged)]
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
            told: String::new(),
            figures: String::new(),
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
///
/// In JSON it has the keys `id`, `verdict`, `checks` (with `holds`, `fails` and `undecided`),
/// `expected`, `measured`, `unit`, `ci95` (null for none) and `replications`, and no others.
#[derive(Clone, PartialEq, Debug)]
pub struct LedgerEntry {
    /// The claim.
    pub claim: Claim,
    /// The finding.
    pub finding: ClaimResult,
}

impl Serialize for LedgerEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (claim, finding) = (&self.claim, &self.finding);
        let mut out = serializer.serialize_struct("Entry", 8)?;
        out.serialize_field("id", &claim.id)?;
        out.serialize_field("verdict", &finding.verdict)?;
        out.serialize_field("checks", &finding.counts())?;
        out.serialize_field("expected", &claim.expect)?;
        out.serialize_field("measured", &finding.measured)?;
        out.serialize_field("unit", &finding.unit)?;
        out.serialize_field("ci95", &finding.ci95)?;
        out.serialize_field("replications", &finding.replications)?;
        out.end()
    }
}

/// Number of claims by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct VerdictCounts {
    /// Claims that hold.
    pub holds: usize,
    /// Claims that fail.
    pub fails: usize,
    /// Claims of which neither is proven.
    pub undecided: usize,
    /// Claims that no check decides.
    pub not_implemented: usize,
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
}

impl Serialize for ClaimLedger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Ledger", 2)?;
        out.serialize_field("claims", &self.entries)?;
        out.serialize_field("summary", &self.summary())?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use serde_json::json;

    #[test]
    fn json_has_the_promised_keys() {
        let claims = Claims::shipped();
        let claim = |id: &str| claims.find(id).unwrap().clone();
        let estimate = Estimate::of(&[14.0, 14.5, 14.3]).unwrap();
        let [low, high] = estimate.ci95.unwrap();
        let ledger = ClaimLedger {
            entries: vec![
                LedgerEntry {
                    claim: claim("ongaro.fig2.cpu-fairness"),
                    finding: ClaimResult::estimated(true, estimate, "%"),
                },
                LedgerEntry {
                    claim: claim("ongaro.test1.sedf"),
                    finding: ClaimResult::decided(false, vec![1.0, 2.5], "Mb/s").note("why"),
                },
                LedgerEntry {
                    claim: claim("boutcher.cfq16"),
                    finding: ClaimResult::not_implemented(),
                },
            ],
        };
        let value = serde_json::to_value(&ledger).unwrap();
        assert_eq!(
            value["summary"],
            json!({"holds": 1, "fails": 1, "undecided": 0, "not_implemented": 1})
        );
        assert_eq!(value["claims"][0]["verdict"], "holds");
        assert_eq!(value["claims"][0]["ci95"], json!([low, high]));
        assert_eq!(value["claims"][0]["replications"], 3);
        assert_eq!(value["claims"][0]["measured"], json!(estimate.mean));
        assert_eq!(
            value["claims"][0]["expected"],
            "each of the 7 equal-weight burning guests gets 1/7 of the processor"
        );
        assert_eq!(value["claims"][1]["measured"], json!([1.0, 2.5]));
        assert_eq!(value["claims"][1]["unit"], "Mb/s");
        let keys: Vec<&String> = value["claims"][1].as_object().unwrap().keys().collect();
        assert_eq!(
            value["claims"][1]["checks"],
            json!({"holds": 0, "fails": 1, "undecided": 0})
        );
        assert_eq!(keys.len(), 8, "{keys:?}");
        assert_eq!(value["claims"][2]["verdict"], "not-implemented");
        assert_eq!(value["claims"][2]["measured"], json!(null));
        assert_eq!(value["claims"][2]["ci95"], json!(null));
    }
}
