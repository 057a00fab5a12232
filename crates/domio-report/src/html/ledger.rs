//! The claims ledger as a table with a filter that needs no script.

use crate::figure;
use domio_lab::ledger::{Entry, Ledger, Verdict};
use maud::{Markup, html};

/// The section.
pub fn section(ledger: &Ledger) -> Markup {
    let summary = ledger.summary();
    let count = |verdict| match verdict {
        Verdict::Holds => summary.holds,
        Verdict::Fails => summary.fails,
        Verdict::NotImplemented => summary.not_implemented,
    };
    let decided = summary.holds + summary.fails;
    html! {
        section class="ledger" id="claims" {
            h2 { "Claims" }
            p {
                "What the papers state, and what was measured here. A value holds within its "
                "tolerance, a comparison when it is proven beyond the 95 % confidence interval "
                "over replications."
            }
            fieldset class="filter" {
                legend { "Show" }
                // What is decided comes first; with nothing decided, that would be an empty table.
                label {
                    input type="radio" name="verdict" id="show-decided" checked[decided > 0];
                    "decided (" (decided) ")"
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
pub fn table(entries: &[Entry]) -> Markup {
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

fn row(entry: &Entry) -> Markup {
    let (claim, finding) = (&entry.claim, &entry.finding);
    html! {
        tr class=(finding.verdict.name()) {
            td class="id" { (claim.id) small { (claim.place) } }
            td class="verdict" { (words(finding.verdict)) }
            td {
                (claim.expect)
                small {
                    (claim.experiment)
                    @if let Some(tolerance) = &claim.tolerance { "; tolerance " (tolerance) }
                }
            }
            td class="measured" {
                (figure::measured(&finding.measured, finding.ci95, &finding.unit))
                @if !finding.note.is_empty() { small { (finding.note) } }
            }
            td class="figure" { @if finding.replications > 0 { (finding.replications) } }
        }
    }
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::NotImplemented => "not implemented",
    }
}
