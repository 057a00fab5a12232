//! The report as one HTML file.
//!
//! The file asks for nothing from outside: no script, no font, no picture, and a policy in its head
//! that forbids it. All text passes through the template engine, which escapes it.

mod ledger;
mod tables;

use crate::data::{Chart, DataTable, Figure, ReportData, Section};
use crate::svg;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// What the page may fetch: nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page, from the doctype to the end.
///
/// The head tells which command made the page, if the provenance does.
pub fn page(data: &ReportData) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content="domio";
                @if let Some((_, command)) = data.provenance.iter().find(|(n, _)| n == "command") {
                    (mark(command))
                }
                title { (data.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (svg::hatch_definitions())
                header {
                    h1 { (data.title) }
                    @if !data.lead.is_empty() { p class="lead" { (prose(&data.lead)) } }
                    (contents(data))
                    (provenance(&data.provenance))
                }
                main {
                    @for (i, section) in data.overview.iter().enumerate() {
                        (draw_section(i, section))
                    }
                    @if let Some(ledger) = &data.ledger { (ledger::section(ledger)) }
                    @for (i, section) in data.sections.iter().enumerate() {
                        (draw_section(data.overview.len() + i, section))
                    }
                }
            }
        }
    };
    page.into_string()
}

/// Tells which command made a page.
fn mark(command: &str) -> Markup {
    html! { meta name="domio-command" content=(command); }
}

/// Whether `page`, or the beginning of one, was made by `command`.
pub fn is_made_by(page: &str, command: &str) -> bool {
    page.contains(&mark(command).into_string())
}

fn contents(data: &ReportData) -> Markup {
    html! {
        @let parts = data.overview.len() + data.sections.len();
        @if parts + usize::from(data.ledger.is_some()) > 1 {
            nav aria-label="Contents" {
                ul {
                    (links(&data.overview, 0))
                    @if data.ledger.is_some() { li { a href="#claims" { "Claims" } } }
                    (links(&data.sections, data.overview.len()))
                }
            }
        }
    }
}

/// Links to sections, of which `before` others come first.
fn links(sections: &[Section], before: usize) -> Markup {
    html! {
        @for (i, section) in sections.iter().enumerate() {
            li { a href={ "#section-" (before + i + 1) } { (section.title) } }
        }
    }
}

/// Text in which words between backticks are code.
fn prose(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('`').enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn provenance(facts: &[(String, String)]) -> Markup {
    html! {
        @if !facts.is_empty() {
            dl class="provenance" {
                @for (name, fact) in facts { dt { (name) } dd { (fact) } }
            }
        }
    }
}

fn draw_section(index: usize, section: &Section) -> Markup {
    html! {
        section id={ "section-" (index + 1) } {
            h2 { (section.title) }
            @if !section.text.is_empty() { p { (prose(&section.text)) } }
            @for figure in &section.figures { (draw_figure(figure)) }
        }
    }
}

fn draw_figure(figure: &Figure) -> Markup {
    let (picture, tables) = match &figure.chart {
        Chart::Bars(bars) => (svg::bars::draw(bars), vec![tables::of_bars(bars)]),
        Chart::Stack(stack) => (svg::stack::draw(stack), vec![tables::of_stack(stack)]),
        Chart::Cdf(cdf) => (svg::cdf::draw(cdf), vec![tables::of_cdf(cdf)]),
        Chart::Timeline(line) => (svg::timeline::draw(line), vec![tables::of_timeline(line)]),
        Chart::Panels(panels) => (svg::panels::draw(panels), tables::of_panels(panels)),
        Chart::Sequence(seq) => (svg::sequence::draw(seq), vec![tables::of_sequence(seq)]),
        Chart::Table(table) => return captioned("", &figure.caption, &draw_table(table)),
        Chart::Claims(entries) => {
            return captioned("claims", &figure.caption, &ledger::table(entries));
        }
    };
    let content = html! {
        div class="scroll" { (picture) }
        // Open, so that the figures are on paper too.
        details open { summary { "Figures" } @for table in &tables { (draw_table(table)) } }
    };
    captioned("", &figure.caption, &content)
}

fn captioned(class: &str, caption: &str, content: &Markup) -> Markup {
    let class = (!class.is_empty()).then_some(class);
    html! {
        figure class=[class] {
            figcaption { (caption) }
            (content)
        }
    }
}

fn draw_table(table: &DataTable) -> Markup {
    let class = |column: usize| (column > 0).then_some("figure");
    html! {
        div class="scroll" {
            table {
                thead { tr {
                    @for (i, head) in table.head.iter().enumerate() {
                        th scope="col" class=[class(i)] { (head) }
                    }
                } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                td class=[class(i)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}
