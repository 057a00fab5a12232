//! The claims ledger as tables: what is on record, the verdicts, and failures in words.

use crate::data::PaperTitle;
use crate::text::View;
use crate::text::folded::folded;
use crate::text::table::render as drawn;
use crate::{tables, written};
use domio_answer::{Cell, Holds, Table, Tone};
use domio_papers::ledger::{Check, ClaimLedger, ClaimResult, LedgerEntry, Verdict};
use domio_papers::recorded::RecordedPaper;

/// Which claims have rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LedgerRows {
    /// All that are decided or might be, by paper: for claims that are known by their statement.
    Headlines,
    /// All that are decided or might be, by id.
    Measured,
    /// All, by id.
    All,
}

/// Fewest characters of a line that has room for ids, statements and figures in columns.
const ROOMY: u16 = 120;

/// The verdicts, a row each: what the paper states, what was claimed of the decisive figure, what
/// was measured, and the verdict. The decisive figure is that of the check that fails or is
/// undecided, or else of the first check. Narrow lines have the claim's id and one text of what was
/// found: "29.6 ms, not under 17".
pub fn rows(ledger: &ClaimLedger, which: LedgerRows, view: &View) -> String {
    let by_paper = which == LedgerRows::Headlines;
    let roomy = by_paper || view.width >= ROOMY;
    let mut columns = vec![tables::name(if by_paper { "paper" } else { "claim" })];
    let words: &[&str] = match roomy {
        true => &["statement", "claimed", "measured"],
        false => &["measured"],
    };
    columns.extend(words.iter().map(|word| tables::text(*word)));
    let verdict_at = columns.len();
    columns.push(tables::text("verdict"));
    if roomy && !by_paper {
        columns.push(tables::text("checks"));
    }
    let mut table = Table::new("", columns);
    for entry in &ledger.entries {
        let (claim, finding) = (&entry.claim, &entry.finding);
        if which != LedgerRows::All && finding.verdict == Verdict::NotImplemented {
            continue;
        }
        table.set_tone(table.rows().len(), verdict_at, tone(finding.verdict));
        let (claimed, measured) = decisive(finding);
        let name = if by_paper { claim.paper() } else { &claim.id };
        let mut row: Vec<Cell> = vec![name.to_owned().into()];
        match (roomy, finding.verdict) {
            (true, _) => row.extend([
                claim.statement_in_short().to_owned().into(),
                claimed.into(),
                measured.into(),
            ]),
            (false, _) if claimed.is_empty() => row.push(measured.into()),
            (false, Verdict::Fails) => row.push(format!("{measured}, not {claimed}").into()),
            (false, _) => row.push(format!("{measured}, {claimed}").into()),
        }
        row.push(finding.verdict.name().into());
        if roomy && !by_paper {
            row.push(checks(finding).into());
        }
        table.row(row);
    }
    match table.is_empty() {
        true => String::new(),
        false => drawn(&table, view),
    }
}

/// How many claims have which verdict.
pub fn summary(ledger: &ClaimLedger, view: &View) -> String {
    let mut text = format!("{}\n", ledger.summary());
    if let Some(open) = ledger.not_implemented() {
        text += &folded(&open, view.width.into(), "");
    }
    text
}

/// What is on record, paper by paper, and what a verdict means. `titles` are those of the papers.
pub fn record(papers: &[RecordedPaper], titles: &[PaperTitle], view: &View) -> String {
    let counts = ["claims", "hold", "fail", "undecided"];
    let counts = counts.map(|title| tables::number(title, "").of(Holds::Whole));
    let columns = [tables::name("paper"), tables::text("title")];
    let mut table = Table::new("", columns.into_iter().chain(counts).collect::<Vec<_>>());
    let mut row = |paper: &str, title: &str, of: [usize; 4]| {
        let names = [paper, title].map(|text| Cell::text(text.to_owned()));
        table.row(names.into_iter().chain(of.map(Cell::from)));
    };
    let mut all = [0; 4];
    for paper in papers {
        let of = [paper.claims, paper.holds, paper.fails, paper.undecided];
        let title = titles.iter().find(|title| title.id == paper.paper);
        row(&paper.paper, title.map_or("", |title| &title.title), of);
        all.iter_mut().zip(of).for_each(|(sum, n)| *sum += n);
    }
    if papers.len() > 1 {
        row("all", "", all);
    }
    let meaning = "A claim holds when everything that it states is proven here, and fails when the \
                   contrary of something is. A claim that fails is a finding about the paper or \
                   the model: the page of the paper in docs/papers says why. Undecided means that \
                   more replications are needed.";
    let meaning = folded(meaning, view.width.into(), "");
    format!("Verdicts on record:\n\n{}\n{meaning}", drawn(&table, view))
}

/// How many failures are told in words.
const TOLD: usize = 3;

/// Failures in words, claimed and measured: the first of each paper, and not more than three.
/// Empty when nothing fails.
pub fn failures(ledger: &ClaimLedger, view: &View) -> String {
    let mut told: Vec<&LedgerEntry> = Vec::new();
    for entry in &ledger.entries {
        let is_new = told.iter().all(|e| e.claim.paper() != entry.claim.paper());
        let fails = entry.finding.verdict == Verdict::Fails;
        if fails && is_new && told.len() < TOLD {
            told.push(entry);
        }
    }
    let item = |entry: &&LedgerEntry| {
        let claim = &entry.claim;
        let found = entry.finding.decisive().map(Check::found);
        let told = format!(
            "{} ({}). Claimed: {}. Measured: {}.",
            claim.id,
            claim.place,
            claim.expect,
            found.unwrap_or_default(),
        );
        view.item("  ", &told)
    };
    let items: String = told.iter().map(item).collect();
    match told.is_empty() {
        true => items,
        false => format!("Failures that say most:\n{items}"),
    }
}

/// How many of the checks are as the verdict says: "12 of 16".
fn checks(finding: &ClaimResult) -> String {
    let counts = finding.counts();
    let so = match finding.verdict {
        Verdict::Holds => counts.holds,
        Verdict::Fails => counts.fails,
        Verdict::Undecided => counts.undecided,
        Verdict::NotImplemented => return String::new(),
    };
    format!("{so} of {}", counts.total())
}

/// What is claimed of the decisive figure, and what was measured; why a claim could not be
/// measured, if that is so.
fn decisive(finding: &ClaimResult) -> (String, String) {
    let told = |check: &&Check| !check.measured.is_empty();
    let check = finding.decisive().filter(told);
    match (
        check.or_else(|| finding.checks.first().filter(told)),
        &finding.measured,
    ) {
        _ if finding.checks.is_empty() => (String::new(), finding.note.clone()),
        (Some(check), _) => (check.claimed.clone(), check.measured.clone()),
        (None, _) => {
            let figure = written::measured(&finding.measured, finding.ci95, &finding.unit);
            (String::new(), figure)
        }
    }
}

/// How a verdict stands out.
pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Holds => Tone::Good,
        Verdict::Fails => Tone::Bad,
        Verdict::Undecided | Verdict::NotImplemented => Tone::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_papers::Claims;
    use domio_papers::recorded::{Record, by_paper};
    use domio_stats::Estimate;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn check(verdict: Verdict, measured: &str) -> Check {
        Check {
            verdict,
            name: "spread of sedf".to_owned(),
            measured: measured.to_owned(),
            claimed: "under 17".to_owned(),
            than: String::new(),
            reads: Vec::new(),
        }
    }

    /// Whatever is found out about a claim, its row has the id, the verdict and the checks, and
    /// fits.
    #[test]
    fn every_shipped_claim_has_a_row_that_fits() {
        let claims = Claims::shipped();
        for verdict in [Verdict::Holds, Verdict::Fails, Verdict::Undecided] {
            let check = check(verdict, &"1234.56 ± 7.89 Mb/s in 10 to 20 ".repeat(9));
            let entries = claims.iter().map(|claim| LedgerEntry {
                claim: claim.clone(),
                finding: ClaimResult::of(vec![check.clone(); 100], "", ""),
            });
            let ledger = ClaimLedger {
                entries: entries.collect(),
            };
            for width in [80, 120, 200] {
                let view = View::of_width(width);
                let text = plain(&rows(&ledger, LedgerRows::Measured, &view));
                let longest = text.lines().map(|line| line.chars().count()).max();
                assert!(longest <= Some(width.into()), "{text}");
                let first = text.matches(verdict.name()).count();
                assert!(first >= claims.len(), "{first} of {}: {text}", claims.len());
                assert!(text.contains("1234.56"), "the decisive figure: {text}");
            }
        }
    }

    #[test]
    fn rows_record_summary_and_failures() {
        let claims = Claims::shipped();
        let entry = |id: &str, finding| LedgerEntry {
            claim: claims.find(id).unwrap().clone(),
            finding,
        };
        let estimate = Estimate::of(&[14.2, 14.3, 14.35]).unwrap();
        let failing = || {
            ClaimResult::of(
                vec![
                    check(Verdict::Holds, "12 Mb/s"),
                    check(Verdict::Fails, "60 ± 3 Mb/s"),
                    check(Verdict::Undecided, "16 Mb/s"),
                ],
                "spread 60 Mb/s",
                "",
            )
        };
        let ledger = ClaimLedger {
            entries: vec![
                entry("boutcher.cfq16", ClaimResult::not_implemented()),
                entry(
                    "ongaro.fig2.cpu-fairness",
                    ClaimResult::estimated(true, estimate, "%"),
                ),
                entry("ongaro.test1.no-tickle-bound", failing()),
                entry("ongaro.test1.sedf", failing()),
                entry("zeng.fig5.p3", failing()),
            ],
        };
        let view = View::of_width(200);
        let of = |which| plain(&rows(&ledger, which, &view));
        let measured = of(LedgerRows::Measured);
        assert!(!measured.contains("boutcher.cfq16"), "{measured}");
        let line = |text: &str, word: &str| {
            let line = text.lines().find(|line| line.contains(word));
            let words = line.unwrap_or_default().split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        let holds = line(&measured, "fig2");
        assert!(holds.ends_with("14.28 ± 0.19 % holds 1 of 1"), "{holds}");
        let fails = line(&measured, "no-tickle-bound");
        let end = "under 17 60 ± 3 Mb/s fails 1 of 3";
        assert!(fails.ends_with(end), "{fails}");
        assert!(of(LedgerRows::All).contains("not-implemented"));
        let short = line(&of(LedgerRows::Headlines), "without tickling");
        assert!(short.starts_with("ongaro without"), "{short}");
        let told = failures(&ledger, &view);
        assert_eq!(
            told.matches("60 ± 3 Mb/s, not under 17.").count(),
            2,
            "one a paper: {told}"
        );
        let all = summary(&ledger, &view);
        let end = "1 hold, 3 fail, 0 undecided, 1 not implemented\nNot implemented: boutcher 1.\n";
        assert_eq!(all, end);
        let on = Record::from([("ongaro.test1.sedf".to_owned(), "fails".to_owned())]);
        let text = plain(&record(&by_paper(claims.iter(), &on), &[], &view));
        assert_eq!(
            line(&text, "all "),
            format!("all {} 0 1 {}", claims.len(), claims.len() - 1)
        );
    }
}
