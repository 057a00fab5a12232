//! The claims ledger as a table.

use crate::figure;
use crate::text::{Cell, Column, Table, Tone};
use domio_lab::ledger::{Entry, Ledger, Summary, Verdict};
use std::collections::BTreeMap;

/// The ledger: one row a claim, notes of failed claims and the summary below.
///
/// Claims that no check decides are counted by paper; with `all` they have rows too.
pub fn render(ledger: &Ledger, all: bool, width: Option<u16>) -> String {
    let mut table = Table::new([
        Column::words("claim").whole(),
        Column::words("verdict").whole(),
        Column::words("expected"),
        Column::words("measured"),
        Column::figures("n"),
    ]);
    let open = |entry: &&Entry| entry.finding.verdict == Verdict::NotImplemented;
    for entry in ledger.entries.iter().filter(|e| all || !open(e)) {
        let (claim, finding) = (&entry.claim, &entry.finding);
        let n = match finding.replications {
            0 => String::new(),
            n => n.to_string(),
        };
        table.row([
            claim.id.as_str().into(),
            Cell::new(finding.verdict.name(), tone(finding.verdict)),
            claim.expect.as_str().into(),
            figure::measured(&finding.measured, finding.ci95, &finding.unit).into(),
            n.into(),
        ]);
    }
    let mut text = String::new();
    if !table.is_empty() {
        text = table.render(width);
        text.push('\n');
    }
    for entry in &ledger.entries {
        if entry.finding.verdict == Verdict::Fails && !entry.finding.note.is_empty() {
            text += &format!("{}: {}\n", entry.claim.id, entry.finding.note);
        }
    }
    text += &summary(ledger.summary());
    text.push('\n');
    if !all && ledger.entries.iter().any(|e| open(&e)) {
        text += &format!(
            "Not implemented: {}.\n",
            by_paper(ledger.entries.iter().filter(open))
        );
    }
    text
}

/// Numbers of claims by paper: "boutcher 12, gupta 15".
fn by_paper<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    let mut papers: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        let id = entry.claim.id.as_str();
        *papers
            .entry(id.split('.').next().unwrap_or(id))
            .or_default() += 1;
    }
    let parts = papers.iter().map(|(paper, n)| format!("{paper} {n}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// The summary in one line: "12 hold, 3 fail, 82 not implemented".
pub fn summary(summary: Summary) -> String {
    let Summary {
        holds,
        fails,
        not_implemented,
    } = summary;
    format!("{holds} hold, {fails} fail, {not_implemented} not implemented")
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Holds => Tone::Good,
        Verdict::Fails => Tone::Bad,
        Verdict::NotImplemented => Tone::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_lab::ledger::Finding;
    use domio_lab::{Claims, Estimate};

    #[test]
    fn rows_notes_and_summary() {
        let claims = Claims::shipped();
        let entry = |id: &str, finding| Entry {
            claim: claims.find(id).unwrap().clone(),
            finding,
        };
        let estimate = Estimate::of(&[14.2, 14.3, 14.35]).unwrap();
        let ledger = Ledger {
            entries: vec![
                entry(
                    "ongaro.fig2.cpu-fairness",
                    Finding::estimated(true, estimate, "%"),
                ),
                entry(
                    "ongaro.test1.sedf",
                    Finding::decided(false, "spread 60 Mb/s", "").note("wider than orig"),
                ),
                entry("boutcher.cfq16", Finding::not_implemented()),
            ],
        };
        let short = render(&ledger, false, None);
        assert!(!short.contains("boutcher.cfq16"), "{short}");
        assert!(short.ends_with("1 not implemented\nNot implemented: boutcher 1.\n"));
        let text = render(&ledger, true, None);
        assert!(text.contains("14.28 ± 0.19 %"), "{text}");
        assert!(text.contains("\nongaro.test1.sedf: wider than orig\n"));
        assert!(text.ends_with("\n1 hold, 1 fail, 1 not implemented\n"));
        assert!(text.contains("not-implemented"));
    }
}
