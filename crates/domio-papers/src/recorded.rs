//! The verdicts that full effort has given, which ship with domio.
//!
//! A change of the program that changes a verdict is either a mistake or news. `domio reproduce
//! --check` tells. A claim that is decided must be decided as the record says. Undecided, on one
//! side or the other, contradicts nothing at less than full effort: fewer samples leave claims open
//! that full effort decides, and fewer looks at them allow each look a larger part of the risk, so
//! that a claim may be decided that full effort leaves open. At full effort both are changes, as
//! that is what the record was made with.

use crate::claim::Claim;
use crate::folders::PaperFolder;
use crate::ledger::{ClaimLedger, Verdict};
use domio_answer::rows;
use std::collections::BTreeMap;
use std::fmt;

/// A paper's file of verdicts.
const FILE: &str = "verdicts.toml";

/// A verdict that is not the recorded one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerdictChange {
    /// Id of the claim.
    pub claim: String,
    /// The verdict on record; `None` when the claim is not on record.
    pub was: Option<String>,
    /// The verdict now.
    pub is: Verdict,
}

impl fmt::Display for VerdictChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let was = self.was.as_deref().unwrap_or("nothing");
        let VerdictChange { claim, is, .. } = self;
        write!(f, "{claim}: {}, on record is {was}", is.name())
    }
}

rows! {
    /// What is on record of the claims of a paper.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct RecordedPaper {
        /// First word of the ids of its claims.
        pub paper: String = key("paper");
        /// How many claims it has.
        pub claims: usize = count("claims");
        /// Claims that hold on record.
        pub holds: usize = count("holds").title("hold");
        /// Claims that fail on record.
        pub fails: usize = count("fails").title("fail");
        /// Claims that are undecided on record, or not on record.
        pub undecided: usize = count("undecided");
    }
}

/// What `record` has of `claims`, paper by paper, in their order.
pub fn by_paper<'c>(
    claims: impl Iterator<Item = &'c Claim>,
    record: &Record,
) -> Vec<RecordedPaper> {
    let mut papers: Vec<RecordedPaper> = Vec::new();
    for claim in claims {
        if papers.last().is_none_or(|last| last.paper != claim.paper()) {
            papers.push(RecordedPaper {
                paper: claim.paper().to_owned(),
                ..RecordedPaper::default()
            });
        }
        let Some(paper) = papers.last_mut() else {
            continue;
        };
        paper.claims += 1;
        let is = |verdict: Verdict| record.get(&claim.id).is_some_and(|on| on == verdict.name());
        match () {
            () if is(Verdict::Holds) => paper.holds += 1,
            () if is(Verdict::Fails) => paper.fails += 1,
            () => paper.undecided += 1,
        }
    }
    papers
}

/// How verdicts compare with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgainstRecord {
    /// Claims that hold or fail.
    pub decided: usize,
    /// Those of them that are decided as on record.
    pub agree: usize,
    /// Those that the record decides the other way.
    pub contradict: usize,
}

/// How the verdicts of `ledger` compare with `record`. What is decided on one side alone neither
/// agrees nor contradicts.
pub fn compare(record: &Record, ledger: &ClaimLedger) -> AgainstRecord {
    let mut all = AgainstRecord::default();
    for entry in &ledger.entries {
        let is = entry.finding.verdict;
        if !matches!(is, Verdict::Holds | Verdict::Fails) {
            continue;
        }
        all.decided += 1;
        match record.get(&entry.claim.id).map(String::as_str) {
            Some(was) if was == is.name() => all.agree += 1,
            Some("holds" | "fails") => all.contradict += 1,
            _ => {}
        }
    }
    all
}

/// Verdicts by claim, as papers' files of verdicts have them.
pub type Record = BTreeMap<String, String>;

/// The verdicts on record of the papers in `folders`. A paper without a file of verdicts has none.
///
/// # Errors
/// When a file has mistakes.
pub fn of(folders: &[PaperFolder]) -> Result<Record, String> {
    let mut record = Record::new();
    for folder in folders {
        let text = folder.file(FILE).unwrap_or_default();
        let of_paper: Record = toml::from_str(text)
            .map_err(|e| format!("{}/{FILE} has a mistake: {e}", folder.place))?;
        record.extend(of_paper);
    }
    Ok(record)
}

/// What differs in `ledger` from `record`; `full` when it is the result of full effort. Claims that
/// no check decides are left out, as are those that `ledger` does not have.
pub fn changes(record: &Record, ledger: &ClaimLedger, full: bool) -> Vec<VerdictChange> {
    let changed = |(id, is): &(&String, Verdict)| {
        let (is, open) = (is.name(), Verdict::Undecided.name());
        let contradicts = |was: &String| was != is && (full || (was != open && is != open));
        is != Verdict::NotImplemented.name() && record.get(*id).is_none_or(contradicts)
    };
    let entries = ledger.entries.iter();
    entries
        .map(|entry| (&entry.claim.id, entry.finding.verdict))
        .filter(changed)
        .map(|(id, is)| VerdictChange {
            claim: id.clone(),
            was: record.get(id).cloned(),
            is,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::folders;
    use crate::ledger::{ClaimResult, LedgerEntry};

    fn ledger(verdicts: &[ClaimResult]) -> ClaimLedger {
        let claims = Claims::shipped();
        let entries = claims.iter().zip(verdicts);
        let entries = entries.map(|(claim, finding)| LedgerEntry {
            claim: claim.clone(),
            finding: finding.clone(),
        });
        ClaimLedger {
            entries: entries.collect(),
        }
    }

    #[test]
    fn changes_are_told_and_too_few_samples_are_none() {
        let holds = ClaimResult::decided(true, 1.0, "");
        let fails = ClaimResult::decided(false, 1.0, "");
        let open = ClaimResult::unknown("too few");
        let now = ledger(&[
            holds.clone(),
            fails,
            open,
            ClaimResult::not_implemented(),
            holds.clone(),
            holds,
        ]);
        let ids: Vec<&String> = now.entries.iter().map(|e| &e.claim.id).collect();
        let on_record = [(0, "holds"), (1, "holds"), (2, "fails"), (5, "undecided")];
        let record: BTreeMap<String, String> = on_record
            .map(|(i, verdict)| (ids[i].clone(), verdict.to_owned()))
            .into();
        let told = |full| {
            let changes = super::changes(&record, &now, full);
            changes
                .iter()
                .map(VerdictChange::to_string)
                .collect::<Vec<_>>()
        };
        let second = format!("{}: fails, on record is holds", ids[1]);
        let third = format!("{}: undecided, on record is fails", ids[2]);
        let fifth = format!("{}: holds, on record is nothing", ids[4]);
        let sixth = format!("{}: holds, on record is undecided", ids[5]);
        assert_eq!(told(false), [second.clone(), fifth.clone()]);
        assert_eq!(told(true), [second, third, fifth, sixth]);
    }

    #[test]
    fn the_shipped_record_names_shipped_claims_and_verdicts() {
        let (record, claims) = (of(&folders::shipped()).unwrap(), Claims::shipped());
        assert!(!record.is_empty());
        for (id, verdict) in record {
            assert!(claims.find(&id).is_some(), "{id}");
            let known = Verdict::ALL.map(Verdict::name);
            assert!(known.contains(&verdict.as_str()), "{id}: {verdict}");
        }
    }
}
