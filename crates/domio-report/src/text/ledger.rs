//! The claims ledger as a table: one line a claim, of at most [`WIDTH`] columns.

use crate::text::View;
use crate::text::table::render as drawn;
use crate::{tables, written};
use domio_answer::{Table, Tone};
use domio_papers::ledger::{Check, ClaimLedger, ClaimResult, Measured, Verdict};

/// Most columns of a line.
pub const WIDTH: usize = 100;

/// The ledger: one line a claim, and the summary below.
///
/// Claims that no check decides are counted by paper; with `all` they have lines too.
pub fn render(ledger: &ClaimLedger, all: bool) -> String {
    let words = ["verdict", "checks", "decisive figure"].map(tables::text);
    let columns = [tables::name("claim")].into_iter().chain(words);
    let mut table = Table::new("", columns.collect::<Vec<_>>());
    let ids = ledger.entries.iter().map(|e| e.claim.id.len()).max();
    // Between columns are three spaces, and one is behind the last.
    let used = ids.unwrap_or(0).max(5) + "not-implemented".len() + "100 of 100".len() + 3 * 3 + 1;
    let room = WIDTH.saturating_sub(used);
    for entry in &ledger.entries {
        let (claim, finding) = (&entry.claim, &entry.finding);
        if !all && finding.verdict == Verdict::NotImplemented {
            continue;
        }
        table.set_tone(table.rows().len(), 1, tone(finding.verdict));
        table.row([
            claim.id.clone().into(),
            finding.verdict.name().into(),
            checks(finding).into(),
            cut(&decisive(finding), room).into(),
        ]);
    }
    let mut text = String::new();
    if !table.is_empty() {
        text = drawn(&table, &View::of_width(WIDTH as u16));
        text.push('\n');
    }
    text += &format!("{}\n", ledger.summary());
    if let Some(open) = ledger.not_implemented().filter(|_| !all) {
        text += &format!("{open}\n");
    }
    text
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

/// The figure that decides the claim: that of the check that fails or is undecided, or else what
/// was measured. Why a claim could not be measured, if that is so.
fn decisive(finding: &ClaimResult) -> String {
    let figures = |check: &Check| check.figures.clone();
    match (finding.decisive(), &finding.measured) {
        (None, _) if finding.checks.is_empty() => finding.note.clone(),
        (Some(check), _) if !check.figures.is_empty() => figures(check),
        (_, Measured::Number(_)) => {
            written::measured(&finding.measured, finding.ci95, &finding.unit)
        }
        _ => finding.checks.first().map_or_else(String::new, figures),
    }
}

/// `text` in one line of at most `room` columns.
fn cut(text: &str, room: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= room {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(room.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short + "…"
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
    use domio_papers::ledger::LedgerEntry;
    use domio_stats::Estimate;

    /// Whatever is found out about a claim, its line has the id, the verdict and the checks, and
    /// fits.
    #[test]
    fn every_shipped_claim_has_a_line_that_fits() {
        let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
        let claims = Claims::shipped();
        for verdict in [Verdict::Holds, Verdict::Fails, Verdict::Undecided] {
            let check = Check {
                verdict,
                told: String::new(),
                figures: "1234.56 ± 7.89 Mb/s in 10 to 20 ".repeat(9),
                reads: Vec::new(),
            };
            let entries = claims.iter().map(|claim| LedgerEntry {
                claim: claim.clone(),
                finding: ClaimResult::of(vec![check.clone(); 100], "", ""),
            });
            let ledger = ClaimLedger {
                entries: entries.collect(),
            };
            let text = plain(&render(&ledger, false));
            for claim in claims.iter() {
                let line = text.lines().find(|line| line.contains(&claim.id)).unwrap();
                assert!(line.chars().count() <= WIDTH, "{line}");
                let rest = format!("{}  ", verdict.name());
                assert!(
                    line.contains(&rest) && line.contains("100 of 100"),
                    "{line}"
                );
                assert!(
                    line.contains("1234.56 ± 7.89"),
                    "the decisive figure: {line}"
                );
            }
        }
    }

    #[test]
    fn rows_notes_and_summary() {
        let claims = Claims::shipped();
        let entry = |id: &str, finding| LedgerEntry {
            claim: claims.find(id).unwrap().clone(),
            finding,
        };
        let estimate = Estimate::of(&[14.2, 14.3, 14.35]).unwrap();
        let check = |verdict, told: &str| Check {
            verdict,
            told: format!("spread of sedf, {told}"),
            figures: told.to_owned(),
            reads: Vec::new(),
        };
        let long = "60 ± 3 Mb/s under 17";
        let ledger = ClaimLedger {
            entries: vec![
                entry(
                    "ongaro.fig2.cpu-fairness",
                    ClaimResult::estimated(true, estimate, "%"),
                ),
                entry(
                    "ongaro.test1.sedf",
                    ClaimResult::of(
                        vec![
                            check(Verdict::Holds, "70 Mb/s over 60"),
                            check(Verdict::Fails, &format!("{long}, and so on{long}{long}")),
                            check(Verdict::Undecided, "x"),
                        ],
                        "spread 60 Mb/s",
                        "",
                    ),
                ),
                entry("boutcher.cfq16", ClaimResult::not_implemented()),
            ],
        };
        let short = render(&ledger, false);
        assert!(!short.contains("boutcher.cfq16"), "{short}");
        assert!(short.ends_with("1 not implemented\nNot implemented: boutcher 1.\n"));
        let text = render(&ledger, true);
        assert!(text.contains("1 of 1   14.28 ± 0.19 %"), "{text}");
        assert!(
            text.contains("1 of 3   60 ± 3 Mb/s under 17, and so on60 ± 3"),
            "{text}"
        );
        assert!(text.ends_with("\n1 hold, 1 fail, 0 undecided, 1 not implemented\n"));
        assert!(
            anstream::adapter::strip_str(&text)
                .to_string()
                .lines()
                .all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(text.contains("not-implemented"));
    }
}
