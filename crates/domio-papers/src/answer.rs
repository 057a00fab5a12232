//! What `domio reproduce` answers.

use crate::against::LedgerMoves;
use crate::claims::Claims;
use crate::ledger::{ClaimLedger, ClaimRow, LedgerEntry, Verdict, VerdictCounts};
use crate::paper::{MachineSearch, Survival, Survivals};
use crate::recorded::{self, Record, RecordedPaper};
use domio_answer::{AnswerSpec, Answered, Inner, Maybe, RowType, Sentence, rows};

rows! {
    /// Claims that were decided.
    #[derive(Clone, PartialEq, Debug)]
    struct Reproduced {
        /// In the order of the claims file.
        claims: Vec<ClaimRow> = parts("claims", []);
        /// What is on record of all claims of these papers.
        record: Vec<RecordedPaper> = parts("record", []);
        /// Number of claims by verdict.
        summary: Inner<VerdictCounts> = fact("summary");
        /// What moved since an earlier reproduction, where there is one to compare with.
        against: Maybe<LedgerMoves> = fact("against");
        /// What is on record of these claims on other machines that the papers allow, of those that
        /// have such a record.
        survival: Vec<SurvivingClaim> = parts("survival", []);
        /// What came out on other machines that the papers allow, a paper each.
        machines: Vec<MachineSearch> = parts("machines", []);
    }

    /// What is on record of a claim on other machines.
    #[derive(Clone, PartialEq, Debug)]
    struct SurvivingClaim {
        /// Id of the claim.
        id: String = key("id").title("claim");
        /// On those machines.
        survival: Survival = fact("");
    }
}

/// What the answer is.
pub fn spec() -> AnswerSpec {
    let doc = "What `domio reproduce --json` prints: the verdicts on published claims.";
    AnswerSpec::new("reproduce", 4, doc, Reproduced::spec())
}

/// The answer: the ledger, what is on `record` of all `claims`, here and on other machines, what
/// moved against another ledger, and what other machines make of the claims now. Findings are how
/// many claims hold, which have no checks, and why claims were not measured.
pub fn answer(
    ledger: &ClaimLedger,
    (claims, record, survivals): (&Claims, &Record, &Survivals),
    against: Option<LedgerMoves>,
    machines: Vec<MachineSearch>,
) -> Answered {
    let rows = ledger.entries.iter();
    let rows = rows.map(|entry| entry.row(record.get(&entry.claim.id)));
    let surviving = |entry: &LedgerEntry| {
        let id = entry.claim.id.clone();
        let survival = survivals.get(&id)?.clone();
        Some(SurvivingClaim { id, survival })
    };
    let reproduced = Reproduced {
        claims: rows.collect(),
        record: recorded::by_paper(claims.iter(), record),
        summary: Inner(ledger.summary()),
        against: Maybe(against),
        survival: ledger.entries.iter().filter_map(surviving).collect(),
        machines,
    };
    let mut answer = Answered::new(spec(), reproduced.cells());
    let unmeasured =
        |e: &&LedgerEntry| e.finding.verdict == Verdict::Undecided && e.finding.checks.is_empty();
    let unmeasured = ledger.entries.iter().filter(unmeasured);
    let unmeasured = unmeasured.map(|e| format!("{}: {}", e.claim.id, e.finding.note));
    let first = [Some(ledger.summary().to_string()), ledger.not_implemented()];
    let all = first.into_iter().flatten().chain(unmeasured);
    answer.findings = all.map(Sentence::new).collect();
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::ClaimResult;
    use domio_stats::Estimate;
    use serde_json::json;

    #[test]
    fn json_has_the_promised_keys() {
        let claims = Claims::shipped();
        let entry = |id: &str, finding| LedgerEntry {
            claim: claims.find(id).unwrap().clone(),
            finding,
        };
        let estimate = Estimate::of(&[14.0, 14.5, 14.3]).unwrap();
        let [low, high] = estimate.ci95.unwrap();
        let why = ClaimResult::decided(false, vec![1.0, 2.5], "Mb/s").note("why");
        let ledger = ClaimLedger {
            entries: vec![
                entry(
                    "ongaro.fig2.cpu-fairness",
                    ClaimResult::estimated(true, estimate, "%"),
                ),
                entry("ongaro.test1.sedf", why),
                entry("boutcher.cfq16", ClaimResult::not_implemented()),
                entry("zeng.fig5.p3", ClaimResult::unknown("it broke")),
            ],
        };
        let record = Record::from([("ongaro.test1.sedf".to_owned(), "holds".to_owned())]);
        let value = answer(
            &ledger,
            (&claims, &record, &Survivals::new()),
            None,
            Vec::new(),
        );
        let value = serde_json::to_value(value).unwrap();
        assert_eq!(
            value["summary"],
            json!({"holds": 1, "fails": 1, "undecided": 1, "not_implemented": 1})
        );
        assert_eq!(value["claims"][0]["verdict"], "holds");
        assert_eq!(value["claims"][0]["ci95"], json!([low, high]));
        assert_eq!(value["claims"][0]["replications"], 3);
        assert_eq!(value["claims"][0]["measured"], json!([estimate.mean]));
        assert_eq!(
            value["claims"][0]["expected"],
            "each of the 7 equal-weight burning guests gets 1/7 of the processor"
        );
        assert_eq!(value["claims"][1]["measured"], json!([1.0, 2.5]));
        assert_eq!(value["claims"][1]["unit"], "Mb/s");
        assert_eq!(value["claims"][1]["note"], "why");
        assert_eq!(
            value["claims"][1]["checks"],
            json!({"holds": 0, "fails": 1, "undecided": 0})
        );
        assert_eq!(value["claims"][1]["recorded"], "holds");
        assert_eq!(value["claims"][2]["verdict"], "not-implemented");
        let ongaro = value["record"].as_array().unwrap();
        let ongaro = ongaro.iter().find(|row| row["paper"] == "ongaro").unwrap();
        assert_eq!((&ongaro["holds"], &ongaro["fails"]), (&json!(1), &json!(0)));
        assert_eq!(
            ongaro["undecided"].as_u64().map(|n| n + 1),
            ongaro["claims"].as_u64()
        );
        assert_eq!(value["claims"][2]["measured"], json!([]));
        assert_eq!(value["claims"][2]["ci95"], json!(null));
        assert_eq!(
            value["findings"],
            json!([
                "1 hold, 1 fail, 1 undecided, 1 not implemented",
                "Not implemented: boutcher 1.",
                "zeng.fig5.p3: it broke",
            ])
        );
    }
}
