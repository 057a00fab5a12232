//! Pictures as SVG, coloured by a style sheet.
//!
//! Nothing here names a colour: shapes carry classes (`c0` to `c7` for the series), so that one
//! picture serves light, dark and printed pages. Series differ by hatching or dashes as well, for
//! readers and printers without colour.
//!
//! A picture is drawn for a width: a page has each one twice, for wide and for narrow screens, and
//! the letters have the same size in both.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@self`] | the picture of any chart |
//! | [`document`] | a picture as a file of its own |
//! | `bars`, `stack` | bars that lie; `rows`: their rows and names; `most`: which are drawn |
//! | `lines`, `sequence`, `cdf` | curves; `plot`: their frame |
//! | `panels`, `timeline` | columns and rows of marks |
//! | `legend` | names of series |
//! | `axis`, `scale` | titles, ticks, places |
//! | `shape`, `look`, `letters` | what all are made of: shapes, colours, text |

mod axis;
mod bars;
mod cdf;
pub mod document;
#[cfg(test)]
mod inspect;
mod legend;
mod letters;
mod lines;
mod look;
#[cfg(test)]
mod marks;
mod most;
mod panels;
mod plot;
mod rows;
pub(crate) mod scale;
mod sequence;
mod shape;
mod stack;
mod timeline;

use crate::data::Chart;
use crate::finding;
use maud::{Markup, html};
use shape::at;

pub use look::{COLOURS, hatch_definitions};

/// Width of a picture for pages, paper and files, in its own units, which are about a pixel each.
pub const WIDE: f64 = 760.0;

/// Width of a picture for telephones.
pub const NARROW: f64 = 360.0;

/// The picture of `chart` that is `width` wide; `None` for tables, which have none.
pub fn draw(chart: &Chart, width: f64) -> Option<Markup> {
    let (shown, left_out) = most::drawn(chart);
    let (height, content) = match shown.as_ref() {
        Chart::Bars(bars) => bars::draw(bars, width),
        Chart::Stack(stack) => stack::draw(stack, width),
        Chart::Cdf(cdf) => cdf::draw(cdf, width),
        Chart::Timeline(timeline) => timeline::draw(timeline, width),
        Chart::Panels(panels) => panels::draw(panels, width),
        Chart::Sequence(sequence) => sequence::draw(sequence, width),
        Chart::Lines(lines) => lines::draw(lines, width),
        Chart::Table(_) | Chart::Claims(_) => return None,
    };
    let (height, content) = match left_out {
        0 => (height, content),
        n => {
            let line = shape::text("soft", (0.0, height + 12.0), &most::said(n));
            (height + 18.0, html! { (content) (line) })
        }
    };
    Some(picture((width, height), &finding::alt(chart), &content))
}

/// The frame of a picture: its size, and `label` for readers who do not see it.
fn picture((width, height): (f64, f64), label: &str, content: &Markup) -> Markup {
    let view = format!("0 0 {} {}", at(width), at(height));
    let class = if width < WIDE {
        "chart narrow"
    } else {
        "chart wide"
    };
    html! { svg class=(class) viewBox=(view) role="img" aria-label=(label) { (content) } }
}
