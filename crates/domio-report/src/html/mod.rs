//! The report as one HTML file.
//!
//! The file asks for nothing from outside: no script, no font, no picture, and a policy in its head
//! that forbids it. All text passes through the template engine, which escapes it.

mod ledger;
mod opening;

pub use opening::title as claims_title;

use crate::data::{BarGroup, Chart, Picture, ReportData, Section};
use crate::svg::document::CHART_STYLE;
use crate::{finding, svg, tables, written};
use domio_answer::{Table, Tone};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::ops::Range;

/// Rules for the page, whose first blocks have the colours.
pub const STYLE: &str = include_str!("style.css");

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
                style { (PreEscaped(STYLE)) (PreEscaped(CHART_STYLE)) }
            }
            body class=[data.ledger.as_ref().map(|_| "of-claims")] {
                (svg::hatch_definitions())
                header {
                    h1 { (data.title) }
                    @if !data.lead.is_empty() { p class="lead" { (prose(&data.lead)) } }
                    @if let Some(ledger) = &data.ledger { (opening::table(ledger, &data.papers)) }
                    @if !opens_with_findings(data) { (provenance(&data.provenance)) }
                }
                (contents(data))
                main {
                    @for (i, section) in data.overview.iter().enumerate() {
                        (draw_section(i, section))
                    }
                    @if let Some(ledger) = &data.ledger {
                        (ledger::section(ledger, &data.papers))
                    }
                    @for (i, section) in data.sections.iter().enumerate() {
                        (draw_section(data.overview.len() + i, section))
                    }
                }
                @if opens_with_findings(data) { footer { (provenance(&data.provenance)) } }
            }
        }
    };
    page.into_string()
}

/// Whether findings come before where they are from.
fn opens_with_findings(data: &ReportData) -> bool {
    data.ledger.is_none() && !data.overview.is_empty()
}

/// Tells which command made a page.
fn mark(command: &str) -> Markup {
    html! { meta name="domio-command" content=(command); }
}

/// Whether `page`, or the beginning of one, was made by `command`.
pub fn is_made_by(page: &str, command: &str) -> bool {
    page.contains(&mark(command).into_string())
}

/// Whether `page`, or the beginning of one, is a report of any command.
pub fn is_report(page: &str) -> bool {
    page.contains("<meta name=\"domio-command\"")
}

/// The list of sections and their figures.
fn contents(data: &ReportData) -> Markup {
    let parts = data.overview.len() + data.sections.len();
    html! {
        @if parts + usize::from(data.ledger.is_some()) > 1 {
            nav class="contents" aria-label="Contents" {
                details {
                    summary { "Contents" }
                    ol {
                        (links(&data.overview, 0))
                        @if data.ledger.is_some() { li { a href="#claims" { "Claims" } } }
                        (links(&data.sections, data.overview.len()))
                    }
                }
            }
        }
    }
}

/// Links to sections, of which `before` others come first, and to the figures of each that has
/// several.
fn links(sections: &[Section], before: usize) -> Markup {
    html! {
        @for (section, i) in sections.iter().zip(before..) {
            li {
                a href={ "#section-" (i + 1) } { (section.title) }
                @let pictures = section.figures.iter().enumerate();
                @let pictures = pictures.filter(|(_, f)| !matches!(f.chart, Chart::Claims(_)));
                @if pictures.clone().count() > 1 {
                    ul {
                        @for (n, figure) in pictures {
                            li { a href={ "#" (anchor(i, n)) } { (figure.caption) } }
                        }
                    }
                }
            }
        }
    }
}

/// Id of a figure by its section and its number there.
fn anchor(section: usize, figure: usize) -> String {
    format!("figure-{}-{}", section + 1, figure + 1)
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
                @for (name, fact) in facts { dt { (name) } dd { (ledger::unbroken(fact)) } }
            }
        }
    }
}

fn draw_section(index: usize, section: &Section) -> Markup {
    html! {
        section id={ "section-" (index + 1) } {
            h2 { (section.title) }
            @match section.text.lines().count() {
                0 => "",
                1 => p { (prose(&section.text)) },
                _ => ul class="findings" {
                    @for line in section.text.lines() { li { (prose(line)) } }
                },
            }
            @for (n, figure) in section.figures.iter().enumerate() {
                (draw_picture(&anchor(index, n), figure))
            }
        }
    }
}

/// A figure with its caption, its picture for wide and for narrow screens, and its tables. `id` is
/// what links to it name.
pub fn draw_picture(id: &str, figure: &Picture) -> Markup {
    let (class, tables) = match &figure.chart {
        Chart::Table(table) => {
            let table = html! { details { summary { "Table" } (draw_table(table)) } };
            return captioned(id, "", figure, &table);
        }
        Chart::Claims(entries) => {
            return captioned(id, "claims", figure, &ledger::links(entries));
        }
        chart => ("", tables::wide(chart, false)),
    };
    let marked = matches!(&figure.chart, Chart::Bars(bars) if bars.groups.iter().any(is_marked));
    let content = html! {
        // One of the two is shown, as wide as the screen is.
        @for width in [svg::WIDE, svg::NARROW] {
            @if let Some(picture) = svg::draw(&figure.chart, width) { (picture) }
        }
        @if marked {
            p class="marks" {
                span class="better" { "+" } " better and " span class="worse" { "−" }
                " worse than the first, beyond the 95 % interval"
            }
        }
        details { summary { "Figures" } @for table in &tables { (draw_table(table)) } }
    };
    captioned(id, class, figure, &content)
}

fn is_marked(group: &BarGroup) -> bool {
    group.marks.iter().any(Option::is_some)
}

fn captioned(id: &str, class: &str, figure: &Picture, content: &Markup) -> Markup {
    let class = (!class.is_empty()).then_some(class);
    let finding = finding::finding(&figure.chart);
    html! {
        figure id=(id) class=[class] {
            figcaption {
                (figure.caption)
                // The picture's own label says it to those who do not see the page.
                @if !finding.is_empty() { small aria-hidden="true" { (finding) } }
            }
            (content)
        }
    }
}

/// Most columns of figures side by side: more fit neither on paper nor on a usual screen.
const COLUMNS_MAX: usize = 8;

/// The table; in several parts, each with the first column, where it has many columns.
fn draw_table(table: &Table) -> Markup {
    let table = &table.for_people();
    let count = table.columns().len().saturating_sub(1);
    let parts = count.div_ceil(COLUMNS_MAX).max(1);
    let each = count.div_ceil(parts);
    html! {
        @for part in 0..parts {
            @let columns = 1 + part * each..(1 + (part + 1) * each).min(1 + count);
            (draw_columns(table, columns))
        }
    }
}

fn draw_columns(table: &Table, columns: Range<usize>) -> Markup {
    let head = |at: usize| {
        let column = table.columns().get(at);
        column.map_or(String::new(), |c| {
            written::heading(&c.title, written::unit(c))
        })
    };
    let class = |column: usize| (column > 0).then_some("figure");
    let label = |column: usize| (column > 0).then(|| head(column));
    let shown = || [0].into_iter().chain(columns.clone());
    html! {
        div class="scroll" {
            table {
                thead { tr {
                    th scope="col" { (head(0)) }
                    @for column in columns.clone() {
                        th scope="col" class="figure" { (head(column)) }
                    }
                } }
                tbody {
                    @for (number, row) in table.rows().iter().enumerate() {
                        tr {
                            @for (column, cell) in shown().filter_map(|c| Some((c, row.get(c)?))) {
                                td class=[class(column)] data-label=[label(column)] {
                                    (written::shown(&table.columns()[column], cell))
                                    (marked(table.tone(number, column)))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What follows a figure that is better or worse than the one that it is compared with.
fn marked(tone: Tone) -> Markup {
    html! {
        @match tone {
            Tone::Good => span class="better" { (written::mark(Some(true))) },
            Tone::Bad => span class="worse" { (written::mark(Some(false))) },
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tables_are_drawn_in_parts() {
        let columns: Vec<_> = (0..20).map(|i| tables::text(format!("h{i}"))).collect();
        let mut table = Table::new("", columns);
        table.row((0..20).map(|i| format!("c{i}").into()));
        let html = draw_table(&table).into_string();
        assert_eq!(html.matches("<table>").count(), 3);
        assert_eq!(html.matches(">h0<").count(), 3, "each names its rows");
        for i in 1..20 {
            assert_eq!(html.matches(&format!(">h{i}<")).count(), 1);
            let cell = format!("data-label=\"h{i}\">c{i}<");
            assert_eq!(html.matches(&cell).count(), 1, "{html}");
        }
        assert!(
            draw_table(&Table::default())
                .into_string()
                .contains("<table>")
        );
    }

    #[test]
    fn findings_come_first_and_provenance_last() {
        let section = |title: &str, text: &str| Section {
            title: title.to_owned(),
            text: text.to_owned(),
            figures: Vec::new(),
        };
        let mut data = ReportData {
            provenance: vec![("seed".to_owned(), "7".to_owned())],
            overview: vec![section("Who gains", "b against a:\ngains <web>")],
            sections: vec![section("Domains", "one line")],
            ..ReportData::default()
        };
        let place = |page: &str, what: &str| page.find(what).unwrap_or_else(|| panic!("{what}"));
        let html = page(&data);
        let list = "<ul class=\"findings\"><li>b against a:</li><li>gains &lt;web&gt;</li></ul>";
        let places = [list, "<p>one line</p>", "<dd>7</dd>"].map(|what| place(&html, what));
        assert!(places.is_sorted(), "{html}");
        data.overview.clear();
        let html = page(&data);
        assert!(place(&html, "<dd>7</dd>") < place(&html, "<p>one line</p>"));
    }

    #[test]
    fn rules_for_paper_come_last() {
        let paper = STYLE.rfind("@media print").expect("rules for paper");
        for rule in [".filter {", ".contents ol {", "figure {", "@media screen"] {
            let other = STYLE.find(rule).expect(rule);
            assert!(other < paper, "{rule} would take precedence on paper");
        }
        assert_eq!(STYLE.matches("@media print").count(), 1);
        assert!(
            STYLE[paper..].contains("details-content"),
            "what is closed is on paper"
        );
    }

    #[test]
    fn marks_stand_out() {
        let mut table = Table::new("", [tables::name("a"), tables::number("b", "")]);
        table.row(["x".into(), 5.0.into()]);
        table.set_tone(0, 1, Tone::Bad);
        let html = draw_table(&table).into_string();
        assert!(
            html.contains(">5<span class=\"worse\"> −</span></td>"),
            "{html}"
        );
    }
}
