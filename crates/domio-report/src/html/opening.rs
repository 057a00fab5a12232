//! What a report of claims opens with: paper by paper, how many claims hold and which, in one
//! screen.

use super::ledger::anchor;
use crate::data::PaperTitle;
use domio_papers::ledger::{ClaimLedger, LedgerEntry, Verdict};
use maud::{Markup, html};

/// The title of a page of claims, which says how they turned out.
pub fn title(ledger: &ClaimLedger) -> String {
    let entries: Vec<&LedgerEntry> = ledger.entries.iter().collect();
    let parts = Verdict::ALL.map(|verdict| (verdict, count(&entries, verdict)));
    let parts = parts.iter().filter(|(_, n)| *n > 0);
    let parts: Vec<String> = parts.map(|(v, n)| counted(*v, *n)).collect();
    match parts.is_empty() {
        true => "Published claims".to_owned(),
        false => format!("Published claims: {}", parts.join(", ")),
    }
}

fn counted(verdict: Verdict, n: usize) -> String {
    let verb = match (verdict, n) {
        (Verdict::Holds, 1) => "holds",
        (Verdict::Holds, _) => "hold",
        (Verdict::Fails, 1) => "fails",
        (Verdict::Fails, _) => "fail",
        (Verdict::Undecided, _) => "undecided",
        (Verdict::NotImplemented, _) => "without a check",
    };
    format!("{n} {verb}")
}

fn count(entries: &[&LedgerEntry], verdict: Verdict) -> usize {
    let same = entries.iter().filter(|e| e.finding.verdict == verdict);
    same.count()
}

/// The claims of one paper.
pub(super) struct OfPaper<'l> {
    /// First word of the ids.
    pub(super) id: &'l str,
    /// In the order of the ledger.
    pub(super) entries: Vec<&'l LedgerEntry>,
}

/// The claims by paper, in the order of the ledger.
pub(super) fn by_paper(ledger: &ClaimLedger) -> Vec<OfPaper<'_>> {
    let mut papers: Vec<OfPaper<'_>> = Vec::new();
    for entry in &ledger.entries {
        let id = entry.claim.paper();
        match papers.iter_mut().find(|p| p.id == id) {
            Some(paper) => paper.entries.push(entry),
            None => papers.push(OfPaper {
                id,
                entries: vec![entry],
            }),
        }
    }
    papers
}

/// Title of the paper whose claims begin with `id`; empty where nobody tells.
pub(super) fn title_of<'t>(id: &str, titles: &'t [PaperTitle]) -> &'t str {
    let found = titles.iter().find(|title| title.id == id);
    found.map_or("", |title| &title.title)
}

/// The table: a group of rows a paper, a row a verdict.
pub fn table(ledger: &ClaimLedger, titles: &[PaperTitle]) -> Markup {
    html! {
        table class="opening" {
            @for paper in by_paper(ledger) { (rows(&paper, titles)) }
        }
    }
}

fn rows(paper: &OfPaper<'_>, titles: &[PaperTitle]) -> Markup {
    let shown = Verdict::ALL.map(|verdict| (verdict, count(&paper.entries, verdict)));
    let shown: Vec<_> = shown.into_iter().filter(|(_, n)| *n > 0).collect();
    html! {
        tbody {
            @for (i, (verdict, n)) in shown.iter().enumerate() {
                tr class=(verdict.name()) {
                    @if i == 0 {
                        th scope="rowgroup" rowspan=(shown.len()) {
                            (paper.id) small { (title_of(paper.id, titles)) }
                        }
                    }
                    td class="verdict" { (counted(*verdict, *n)) }
                    td class="named" {
                        @let of = paper.entries.iter().filter(|e| e.finding.verdict == *verdict);
                        @for entry in of { (named(entry, paper.id)) " " }
                    }
                }
            }
        }
    }
}

/// A link to a claim, without the word that all of the paper begin with.
fn named(entry: &LedgerEntry, paper: &str) -> Markup {
    let id = &entry.claim.id;
    let rest = id.strip_prefix(paper).and_then(|r| r.strip_prefix('.'));
    html! { a class="claim-id" href={ "#" (anchor(id)) } title=(id) { (rest.unwrap_or(id)) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_papers::Claims;
    use domio_papers::ledger::ClaimResult;

    fn ledger(verdicts: &[(&str, bool)]) -> ClaimLedger {
        let claims = Claims::shipped();
        let entry = |(id, holds): &(&str, bool)| LedgerEntry {
            claim: claims.find(id).unwrap().clone(),
            finding: ClaimResult::decided(*holds, "1", "s"),
        };
        ClaimLedger {
            entries: verdicts.iter().map(entry).collect(),
        }
    }

    #[test]
    fn the_title_says_what_does_not_hold() {
        let two = ledger(&[
            ("ongaro.test1.sedf", true),
            ("ongaro.test2.sedf", false),
            ("ongaro.test3.orig", false),
        ]);
        assert_eq!(title(&two), "Published claims: 1 holds, 2 fail");
        assert_eq!(title(&ClaimLedger::default()), "Published claims");
    }

    #[test]
    fn each_paper_has_its_counts_and_names() {
        let ledger = ledger(&[
            ("gupta.fig6.sedf", true),
            ("ongaro.test1.sedf", true),
            ("gupta.fig5.weight", false),
        ]);
        let titles = [PaperTitle {
            id: "gupta".into(),
            title: "Isolation <1>".into(),
        }];
        let html = table(&ledger, &titles).into_string();
        let papers: Vec<&str> = html.split("<tbody>").skip(1).collect();
        let [gupta, ongaro] = papers.as_slice() else {
            panic!("two papers: {html}");
        };
        assert!(gupta.contains("Isolation &lt;1&gt;") && gupta.contains("rowspan=\"2\""));
        let (holds, fails) = gupta.split_once("1 fails").unwrap();
        assert!(holds.contains(">1 holds<") && holds.contains(">fig6.sedf<"));
        assert!(fails.contains(">fig5.weight<") && !fails.contains("fig6"));
        assert!(ongaro.contains(">test1.sedf<"), "{ongaro}");
    }
}
