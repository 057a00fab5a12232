//! A picture as a file of its own, for papers and slides.
//!
//! Such a file is read by programs that know less of style sheets than browsers, so that no rule of
//! it has a variable: values are put in their places, and rules for the colour of a series are
//! written once for each.

use super::look::{COLOURS, hatches};
use super::{WIDE, draw};
use crate::data::Chart;
use maud::{PreEscaped, html};

/// Rules for pictures.
pub const CHART_STYLE: &str = include_str!("chart.css");

/// Rules for the page, whose first block has the colours.
const PAGE_STYLE: &str = include_str!("../html/style.css");

/// The file; `None` for tables, which have no picture.
pub fn document(chart: &Chart) -> Option<String> {
    let picture = draw(chart, WIDE)?.into_string();
    let (tag, rest) = picture.split_once('>')?;
    let size = tag.split_once("viewBox=\"0 0 ")?.1.split_once('"')?.0;
    let (width, height) = size.split_once(' ')?;
    let style = format!("{}\n{}", style(), "svg { background: #ffffff; }");
    let head = html! {
        style { (PreEscaped(style)) }
        (hatches())
        rect width=(width) height=(height) fill="#ffffff" {}
    };
    Some(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{tag} xmlns=\"http://www.w3.org/2000/svg\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\">{}{rest}\n",
        head.into_string()
    ))
}

/// The rules for pictures without variables.
fn style() -> String {
    let mut style = String::new();
    let rules = CHART_STYLE.lines().filter(|line| line.starts_with('.'));
    // What gives the variables of a series their values is not needed.
    for rule in rules.filter(|rule| !rule.starts_with(".c") || rule.starts_with(".chart")) {
        if !rule.contains("var(--c)") && !rule.contains("var(--dash)") {
            style += &in_place(rule, None);
            continue;
        }
        let Some((selector, body)) = rule.split_once(" {") else {
            continue;
        };
        for series in 0..COLOURS {
            let one = format!("{selector}.c{series} {{{body}");
            style += &in_place(&one, Some(series));
        }
    }
    style
}

/// `rule` with the values of its variables, those of a series as well.
fn in_place(rule: &str, series: Option<usize>) -> String {
    let mut rule = rule.to_owned();
    let own = series.and_then(|series| {
        let start = format!(".c{series} {{");
        CHART_STYLE.lines().find(|line| line.starts_with(&start))
    });
    // Those of a series name colours of the page.
    for source in own.into_iter().chain([light()]) {
        for (name, value) in variables(source) {
            rule = rule.replace(&format!("var({name})"), value);
        }
    }
    rule + "\n"
}

/// The block of the page's style that has the colours of light pages.
fn light() -> &'static str {
    let block = PAGE_STYLE
        .split_once(":root {")
        .map_or("", |(_, rest)| rest);
    block.split_once('}').map_or("", |(block, _)| block)
}

/// Names and values of the variables that are set in `text`.
fn variables(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let body = text.split_once('{').map_or(text, |(_, body)| body);
    body.split(';').filter_map(|part| {
        let (name, value) = part.trim().split_once(": ")?;
        let value = value.trim_end_matches([' ', '}']);
        name.starts_with("--").then_some((name, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{BarGroup, Bars, Cdf, Quantity};
    use domio_answer::Table;
    use domio_stats::Estimate;

    #[test]
    fn the_style_has_no_variable() {
        let style = style();
        assert!(!style.contains("var("), "{style}");
        assert!(
            style.contains(".chart .fill.c0 { fill: #0072b2;"),
            "{style}"
        );
        assert!(style.contains(".chart .curve.c1 {") && style.contains("dasharray: 7 3"));
        assert!(style.contains(".chart text.worse { fill: #b23c00; }"));
        assert_eq!(style.matches('{').count(), style.matches('}').count());
    }

    #[test]
    fn a_file_has_its_size_and_what_it_refers_to() {
        let bars = Bars {
            value: Quantity::new("share", "%"),
            series: vec!["credit".into(), "<sedf>".into()],
            groups: vec![BarGroup {
                name: "web".into(),
                bars: vec![Estimate::of(&[1.0, 2.0]), Estimate::of(&[3.0])],
                marks: Vec::new(),
            }],
            ..Bars::default()
        };
        let file = document(&Chart::Bars(bars)).unwrap();
        assert!(file.starts_with("<?xml") && file.ends_with("</svg>\n"));
        assert!(file.contains("xmlns=") && file.contains("width=\"760\""));
        assert!(file.contains("aria-label=\"Bar chart of share."));
        for (at, _) in file.match_indices("url(#") {
            let id = file[at + 5..].split(')').next().unwrap();
            assert!(file.contains(&format!("id=\"{id}\"")), "{id}");
        }
        assert_eq!(file.matches("<svg").count(), 1);
        assert!(document(&Chart::Cdf(Cdf::default())).is_some());
        assert_eq!(document(&Chart::Table(Table::default())), None);
    }
}
