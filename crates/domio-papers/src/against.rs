//! Two ledgers: which verdicts and which figures are not what they were.

use crate::ledger::ClaimLedger;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A claim of which something moved.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClaimMoved {
    /// Its id.
    pub id: String,
    /// Keys of the ledger's JSON whose values differ, with both values.
    #[serde(flatten)]
    pub moved: BTreeMap<String, BeforeAfter>,
}

/// A value in two ledgers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BeforeAfter {
    /// In the baseline.
    pub before: Value,
    /// In this ledger.
    pub after: Value,
}

/// What moved between two ledgers.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LedgerMoves {
    /// Claims of which nothing moved.
    pub same: usize,
    /// Claims whose verdict moved, and perhaps their figures, in the order of the ledger.
    pub verdicts: Vec<ClaimMoved>,
    /// Claims whose figures alone moved.
    pub figures: Vec<ClaimMoved>,
    /// Claims that the baseline does not have.
    pub missing: Vec<String>,
}

/// What may move of a claim. The rest is the claim's own.
const KEYS: [&str; 6] = [
    "verdict",
    "checks",
    "measured",
    "unit",
    "ci95",
    "replications",
];

/// A ledger to compare with.
#[derive(Clone, PartialEq, Debug)]
pub struct BaselineLedger(BTreeMap<String, Map<String, Value>>);

impl BaselineLedger {
    /// The ledger that `domio reproduce --json` printed.
    ///
    /// # Errors
    /// What is wrong with the text, in a few words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}"))?;
        let claims = value.get("claims").and_then(Value::as_array);
        let claims = claims.ok_or("it has no list \"claims\"")?;
        let mut by_id = BTreeMap::new();
        for (i, claim) in claims.iter().enumerate() {
            let claim = claim.as_object();
            let id = claim.and_then(|claim| claim.get("id")?.as_str());
            let (Some(claim), Some(id)) = (claim, id) else {
                return Err(format!("claim {i} of its list has no \"id\""));
            };
            by_id.insert(id.to_owned(), claim.clone());
        }
        Ok(BaselineLedger(by_id))
    }

    /// `ledger` without the claims of which it knows nothing.
    pub fn of(ledger: &ClaimLedger) -> Self {
        let mut all = written(ledger);
        let known = ledger.entries.iter().filter(|e| {
            let finding = &e.finding;
            !finding.checks.is_empty() || finding.replications > 0
        });
        let known: Vec<&str> = known.map(|e| e.claim.id.as_str()).collect();
        all.0.retain(|id, _| known.contains(&id.as_str()));
        all
    }

    /// What is different in `ledger`.
    pub fn moves(&self, ledger: &ClaimLedger) -> LedgerMoves {
        let now = written(ledger);
        let mut moves = LedgerMoves::default();
        for entry in &ledger.entries {
            let id = &entry.claim.id;
            let (Some(before), Some(after)) = (self.0.get(id), now.0.get(id)) else {
                moves.missing.push(id.clone());
                continue;
            };
            let value = |claim: &Map<String, Value>, key: &str| claim.get(key).cloned();
            let moved: BTreeMap<String, BeforeAfter> = KEYS
                .iter()
                .filter(|key| before.get(**key) != after.get(**key))
                .map(|key| {
                    let pair = BeforeAfter {
                        before: value(before, key).unwrap_or_default(),
                        after: value(after, key).unwrap_or_default(),
                    };
                    ((*key).to_owned(), pair)
                })
                .collect();
            let id = id.clone();
            match moved.contains_key("verdict") {
                _ if moved.is_empty() => moves.same += 1,
                true => moves.verdicts.push(ClaimMoved { id, moved }),
                false => moves.figures.push(ClaimMoved { id, moved }),
            }
        }
        moves
    }
}

/// The ledger as it is read from its own JSON: numbers are rounded alike on both sides.
fn written(ledger: &ClaimLedger) -> BaselineLedger {
    let text = serde_json::to_string(ledger).expect("a ledger is JSON");
    BaselineLedger::parse(&text).expect("a ledger has claims with ids")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::ledger::{ClaimResult, LedgerEntry};
    use domio_stats::Estimate;

    fn ledger(findings: [ClaimResult; 3]) -> ClaimLedger {
        let ids = [
            "ongaro.fig2.cpu-fairness",
            "ongaro.test1.sedf",
            "boutcher.cfq16",
        ];
        let claims = Claims::shipped();
        let entries = ids.iter().zip(findings).map(|(id, finding)| LedgerEntry {
            claim: claims.find(id).unwrap().clone(),
            finding,
        });
        ClaimLedger {
            entries: entries.collect(),
        }
    }

    fn figure(values: &[f64], holds: bool) -> ClaimResult {
        ClaimResult::estimated(holds, Estimate::of(values).unwrap(), "ms")
    }

    #[test]
    fn a_ledger_has_not_moved_against_its_own_json() {
        // Figures whose shortest decimal form a quick reader gets wrong in the last bit.
        let values = [0.1 + 0.2, 1.0 / 3.0, 2e-308, 14.285714285714286];
        let one = ledger([
            figure(&values, true),
            ClaimResult::decided(false, values.to_vec(), "ms"),
            ClaimResult::not_implemented(),
        ]);
        let text = serde_json::to_string_pretty(&one).unwrap();
        let moves = BaselineLedger::parse(&text).unwrap().moves(&one);
        assert_eq!(
            moves,
            LedgerMoves {
                same: 3,
                ..LedgerMoves::default()
            }
        );
        let of = BaselineLedger::of(&one).moves(&one);
        assert_eq!(
            (of.same, of.missing),
            (2, vec!["boutcher.cfq16".to_owned()])
        );
    }

    #[test]
    fn verdicts_and_figures_that_moved_are_told_apart() {
        let none = ClaimResult::not_implemented;
        let before = ledger([figure(&[1.0, 2.0], true), figure(&[5.0, 6.0], true), none()]);
        let after = ledger([
            figure(&[1.0, 2.5], true),
            figure(&[9.0, 9.5], false),
            none(),
        ]);
        let moves = BaselineLedger::of(&before).moves(&after);
        assert_eq!(moves.verdicts[0].id, "ongaro.test1.sedf");
        let verdict = &moves.verdicts[0].moved["verdict"];
        assert_eq!(
            (&verdict.before, &verdict.after),
            (&"holds".into(), &"fails".into())
        );
        assert_eq!(moves.figures[0].id, "ongaro.fig2.cpu-fairness");
        assert_eq!(moves.figures[0].moved["measured"].after, 1.75);
        assert!(!moves.figures[0].moved.contains_key("unit"));
    }

    #[test]
    fn what_is_no_ledger_is_refused() {
        for (text, why) in [
            ("<html>", "it is no JSON"),
            ("{}", "no list \"claims\""),
            ("{\"claims\": [{}]}", "claim 0 of its list has no \"id\""),
        ] {
            let refused = BaselineLedger::parse(text).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
