//! What a report shows, as text: the tables of its charts.

use crate::data::Section;
use crate::tables;
use crate::text::View;
use crate::text::table::render;

/// The tables of `sections` under their captions, parted by blank lines. What a section says in
/// words is for a page.
pub fn sections(sections: &[Section], view: &View) -> String {
    let sections = sections.iter().map(|section| one(section, view));
    let filled = sections.filter(|text| !text.is_empty());
    filled.collect::<Vec<_>>().join("\n")
}

fn one(section: &Section, view: &View) -> String {
    let mut parts: Vec<String> = Vec::new();
    for figure in section.figures.iter().filter(|figure| !figure.picture) {
        let shown = tables::wide(&figure.chart, true);
        let drawn = shown.iter().map(|table| render(table, view));
        let drawn = drawn.filter(|table| !table.is_empty());
        let drawn = drawn.collect::<Vec<_>>().join("\n");
        if !drawn.is_empty() {
            parts.push(format!("{}:\n\n{drawn}", figure.caption));
        }
    }
    parts.join("\n")
}
