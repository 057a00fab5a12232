//! Two ledgers: which verdicts and which figures are not what they were.

use crate::ledger::{ClaimFound, ClaimLedger};
use domio_answer::{Inner, rows};
use serde::Deserialize;
use std::collections::BTreeMap;

rows! {
    /// A claim of which something moved.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ClaimMoved {
        /// Its id.
        pub id: String = key("id").title("claim");
        /// What the baseline found.
        pub before: Inner<ClaimFound> = fact("before");
        /// What this ledger found.
        pub after: Inner<ClaimFound> = fact("after");
    }

    /// What moved between two ledgers.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct LedgerMoves {
        /// Claims of which nothing moved.
        pub same: usize = count("same");
        /// Claims whose verdict moved, and perhaps their figures, in the order of the ledger.
        pub verdicts: Vec<ClaimMoved> = parts("verdicts", []);
        /// Claims whose figures alone moved.
        pub figures: Vec<ClaimMoved> = parts("figures", []);
        /// Claims that the baseline does not have.
        pub missing: Vec<String> = fact("missing");
    }
}

/// A ledger to compare with.
#[derive(Clone, PartialEq, Debug)]
pub struct BaselineLedger(BTreeMap<String, ClaimFound>);

#[derive(Deserialize)]
struct Written {
    claims: Vec<WrittenClaim>,
}

#[derive(Deserialize)]
struct WrittenClaim {
    id: String,
    #[serde(flatten)]
    found: ClaimFound,
}

impl BaselineLedger {
    /// The ledger that `domio reproduce --json` printed.
    ///
    /// # Errors
    /// What is wrong with the text, in a few words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written: Result<Written, serde_json::Error> = serde_json::from_str(text);
        let written = written.map_err(|e| match e.is_data() {
            true => format!("it is no ledger of this version of domio: {e}"),
            false => format!("it is no JSON: {e}"),
        })?;
        let claims = written.claims.into_iter();
        Ok(BaselineLedger(
            claims.map(|claim| (claim.id, claim.found)).collect(),
        ))
    }

    /// `ledger` without the claims of which it knows nothing.
    pub fn of(ledger: &ClaimLedger) -> Self {
        let known = ledger.entries.iter().filter(|e| {
            let finding = &e.finding;
            !finding.checks.is_empty() || finding.replications > 0
        });
        let known = known.map(|e| (e.claim.id.clone(), as_read(e.finding.found())));
        BaselineLedger(known.collect())
    }

    /// What is different in `ledger`.
    pub fn moves(&self, ledger: &ClaimLedger) -> LedgerMoves {
        let mut moves = LedgerMoves::default();
        for entry in &ledger.entries {
            let id = entry.claim.id.clone();
            let Some(before) = self.0.get(&id) else {
                moves.missing.push(id);
                continue;
            };
            let after = as_read(entry.finding.found());
            if *before == after {
                moves.same += 1;
                continue;
            }
            let list = match before.verdict == after.verdict {
                true => &mut moves.figures,
                false => &mut moves.verdicts,
            };
            list.push(ClaimMoved {
                id,
                before: Inner(before.clone()),
                after: Inner(after),
            });
        }
        moves
    }
}

/// What a reader of the ledger's JSON finds: a quick one may miss the last bit of a number.
fn as_read(found: ClaimFound) -> ClaimFound {
    let read = |number: f64| {
        let text = serde_json::to_string(&number).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(number)
    };
    ClaimFound {
        measured: found.measured.into_iter().map(read).collect(),
        ci95: found.ci95.map(|ends| ends.map(read)),
        ..found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::ledger::{ClaimResult, ClaimRow, LedgerEntry, Verdict};
    use domio_answer::Table;
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
        let rows: Vec<ClaimRow> = one.entries.iter().map(|e| e.row(None)).collect();
        let claims = serde_json::to_string(&Table::of("", &rows)).unwrap();
        let text = format!("{{\"claims\": {claims}}}");
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
        let (before, after) = (&moves.verdicts[0].before.0, &moves.verdicts[0].after.0);
        assert_eq!(
            (before.verdict, after.verdict),
            (Verdict::Holds, Verdict::Fails)
        );
        assert_eq!(moves.figures[0].id, "ongaro.fig2.cpu-fairness");
        assert_eq!(moves.figures[0].after.0.measured, [1.75]);
    }

    #[test]
    fn what_is_no_ledger_is_refused() {
        for (text, why) in [
            ("<html>", "it is no JSON"),
            ("{}", "missing field `claims`"),
            ("{\"claims\": [{}]}", "missing field `id`"),
        ] {
            let refused = BaselineLedger::parse(text).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
