//! The claims ledger: a table a paper, folded, with a filter that needs no script.

use super::opening::{OfPaper, by_paper, title_of};
use crate::data::PaperTitle;
use crate::written;
use domio_papers::ledger::{ClaimLedger, ClaimResult, LedgerEntry, Verdict};
use maud::{Markup, html};

/// The section. Each claim has its row here, and everything else links to the row.
pub fn section(ledger: &ClaimLedger, titles: &[PaperTitle]) -> Markup {
    let summary = ledger.summary();
    let count = |verdict| match verdict {
        Verdict::Holds => summary.holds,
        Verdict::Fails => summary.fails,
        Verdict::Undecided => summary.undecided,
        Verdict::NotImplemented => summary.not_implemented,
    };
    let decided = summary.holds + summary.fails + summary.undecided;
    html! {
        section class="ledger" id="claims" {
            h2 { "Claims" }
            p {
                "What the papers state, and what was measured here. A claim holds when each of "
                "its checks is proven, and fails when the contrary of one is proven. Otherwise "
                "the claim is undecided: more replications may decide it."
            }
            fieldset class="filter" {
                legend { "Show" }
                // What is decided comes first; with nothing decided, that would be an empty table.
                label {
                    input type="radio" name="verdict" id="show-decided" checked[decided > 0];
                    "measured (" (decided) ")"
                }
                label {
                    input type="radio" name="verdict" id="show-all" checked[decided == 0];
                    "all (" (ledger.entries.len()) ")"
                }
                @for verdict in Verdict::ALL {
                    label {
                        input type="radio" name="verdict" id={ "show-" (verdict.name()) };
                        (words(verdict)) " (" (count(verdict)) ")"
                    }
                }
            }
            @for paper in by_paper(ledger) { (of_paper(&paper, titles)) }
        }
    }
}

/// The claims of one paper, behind a line that names it.
fn of_paper(paper: &OfPaper<'_>, titles: &[PaperTitle]) -> Markup {
    let title = title_of(paper.id, titles);
    html! {
        details class="paper" {
            summary {
                b { (paper.id) } ", " (paper.entries.len()) " claims"
                @if !title.is_empty() { ": " (title) }
            }
            (table(&paper.entries))
        }
    }
}

/// Claims with their verdicts, one row each.
fn table(entries: &[&LedgerEntry]) -> Markup {
    html! {
        div class="scroll" {
            table {
                thead { tr {
                    th scope="col" { "claim" }
                    th scope="col" { "verdict" }
                    th scope="col" { "expected" }
                    th scope="col" { "measured, 95 % interval" }
                    th scope="col" class="figure" { abbr title="replications" { "n" } }
                } }
                tbody { @for entry in entries { (row(entry)) } }
            }
        }
    }
}

/// Links to the rows of `entries`, with their verdicts.
pub fn links(entries: &[LedgerEntry]) -> Markup {
    html! {
        ul class="claims" {
            @for entry in entries {
                li class=(entry.finding.verdict.name()) {
                    span class="verdict" { (words(entry.finding.verdict)) } " "
                    a class="claim-id" href={ "#" (anchor(&entry.claim.id)) } { (entry.claim.id) }
                }
            }
        }
    }
}

/// Id of the row of the claim called `id`.
pub(super) fn anchor(id: &str) -> String {
    format!("claim-{id}")
}

/// `text`, in which no id of a claim is broken over two lines.
pub(super) fn unbroken(text: &str) -> Markup {
    html! {
        @for (i, word) in text.split(' ').enumerate() {
            @if i > 0 { " " }
            @if is_id(word) { span class="claim-id" { (word) } } @else { (word) }
        }
    }
}

/// Whether `word` looks like the id of a claim: small letters, digits and hyphens between dots.
fn is_id(word: &str) -> bool {
    let part = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let word = word.trim_end_matches(['.', ',', ';', ':']);
    word.contains('.') && word.split('.').all(part)
}

fn row(entry: &LedgerEntry) -> Markup {
    let (claim, finding) = (&entry.claim, &entry.finding);
    html! {
        tr id=(anchor(&claim.id)) class=(finding.verdict.name()) {
            td class="id" { span class="claim-id" { (claim.id) } small { (claim.place) } }
            td class="verdict" { (words(finding.verdict)) }
            td data-label="expected" {
                (claim.expect)
                small {
                    (claim.experiment)
                    @if let Some(tolerance) = &claim.tolerance { "; tolerance " (tolerance) }
                }
            }
            td class="measured" data-label="measured" {
                (folded(&written::measured(&finding.measured, finding.ci95, &finding.unit)))
                @if !finding.note.is_empty() { small { (folded(&finding.note)) } }
                @if !finding.checks.is_empty() { (checks(finding)) }
            }
            td class="figure" data-label="replications" {
                @if finding.replications > 0 { (finding.replications) }
            }
        }
    }
}

/// The checks of a claim, behind a line that counts them.
fn checks(finding: &ClaimResult) -> Markup {
    let counts = finding.counts();
    let told = finding.checks.iter().filter(|check| !check.name.is_empty());
    html! {
        details class="checks" {
            summary {
                (counts.holds) " of " (counts.total()) " checks hold"
                @if counts.fails > 0 { ", " (counts.fails) " fail" }
                @if counts.undecided > 0 { ", " (counts.undecided) " undecided" }
            }
            ul { @for check in told { li { b { (words(check.verdict)) } ": " (check.told()) } } }
        }
    }
}

/// Most characters of a text that is shown whole; a longer one begins with about as many.
const SHOWN: usize = 130;

/// `text`, of which the rest shows when it is opened if it is long: rows that compare many cells
/// list them all, and a page of such rows can't be read.
fn folded(text: &str) -> Markup {
    if text.chars().count() <= SHOWN {
        return unbroken(text);
    }
    let cut = text
        .char_indices()
        .nth(SHOWN)
        .map_or(text.len(), |(at, _)| at);
    let cut = text[..cut].rfind(' ').unwrap_or(cut);
    let (begin, rest) = text.split_at(cut);
    html! { details class="text" { summary { (unbroken(begin)) } (unbroken(rest)) } }
}

pub(super) fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::Undecided => "undecided",
        Verdict::NotImplemented => "without a check",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_a_text_stay_whole() {
        let html =
            unbroken("to repeat: domio reproduce a.b-c.test1; 1.5 e.g. x. a.B").into_string();
        let whole: Vec<&str> = html.split("<span class=\"claim-id\">").skip(1).collect();
        let whole: Vec<&str> = whole.iter().filter_map(|p| p.split('<').next()).collect();
        assert_eq!(whole, ["a.b-c.test1;", "e.g."]);
        assert!(html.starts_with("to repeat: domio reproduce <span"));
    }

    #[test]
    fn long_texts_are_folded_between_words() {
        assert_eq!(folded("36 ms").into_string(), "36 ms");
        let long = "0.5 µs ".repeat(40);
        let html = folded(&long).into_string();
        let (begin, rest) = html.split_once("</summary>").unwrap();
        assert!(begin.ends_with("µs") || begin.ends_with("0.5"), "{begin}");
        assert!(rest.starts_with(' ') && rest.ends_with("</details>"));
        let text = html
            .replace("<details class=\"text\"><summary>", "")
            .replace("</summary>", "")
            .replace("</details>", "");
        assert_eq!(text, long, "nothing is lost");
    }
}
