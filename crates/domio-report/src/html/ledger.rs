//! The claims ledger as a table with a filter that needs no script.

use crate::figure;
use domio_papers::ledger::{ClaimLedger, ClaimResult, LedgerEntry, Verdict};
use maud::{Markup, html};

/// The section.
pub fn section(ledger: &ClaimLedger) -> Markup {
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
            (table(&ledger.entries))
        }
    }
}

/// Claims with their verdicts, one row each.
pub fn table(entries: &[LedgerEntry]) -> Markup {
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

fn row(entry: &LedgerEntry) -> Markup {
    let (claim, finding) = (&entry.claim, &entry.finding);
    html! {
        tr class=(finding.verdict.name()) {
            td class="id" { (claim.id) small { (claim.place) } }
            td class="verdict" { (words(finding.verdict)) }
            td data-label="expected" {
                (claim.expect)
                small {
                    (claim.experiment)
                    @if let Some(tolerance) = &claim.tolerance { "; tolerance " (tolerance) }
                }
            }
            td class="measured" data-label="measured" {
                (folded(&figure::measured(&finding.measured, finding.ci95, &finding.unit)))
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
    let told = finding.checks.iter().filter(|check| !check.told.is_empty());
    html! {
        details class="checks" {
            summary {
                (counts.holds) " of " (counts.total()) " checks hold"
                @if counts.fails > 0 { ", " (counts.fails) " fail" }
                @if counts.undecided > 0 { ", " (counts.undecided) " undecided" }
            }
            ul { @for check in told { li { b { (words(check.verdict)) } ": " (check.told) } } }
        }
    }
}

/// Most characters of a text that is shown whole; a longer one begins with about as many.
const SHOWN: usize = 130;

/// `text`, of which the rest shows when it is opened if it is long: rows that compare many cells
/// list them all, and a page of such rows can't be read.
fn folded(text: &str) -> Markup {
    if text.chars().count() <= SHOWN {
        return html! { (text) };
    }
    let cut = text
        .char_indices()
        .nth(SHOWN)
        .map_or(text.len(), |(at, _)| at);
    let cut = text[..cut].rfind(' ').unwrap_or(cut);
    let (begin, rest) = text.split_at(cut);
    html! { details class="text" { summary { (begin) } (rest) } }
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::Undecided => "undecided",
        Verdict::NotImplemented => "not implemented",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
