//! Pictures as SVG, coloured by a style sheet.
//!
//! Nothing here names a colour: shapes carry classes (`c0` to `c7` for the series), so that one
//! picture serves light, dark and printed pages. Series differ by hatching or dashes as well, for
//! readers and printers without colour.
//!
//! A picture is drawn for a width: a page has each one twice, for wide and for narrow screens, and
//! the letters have the same size in both.

pub mod bars;
pub mod cdf;
pub mod document;
#[cfg(test)]
mod inspect;
pub mod legend;
pub mod lines;
#[cfg(test)]
mod marks;
pub mod panels;
pub mod scale;
pub mod sequence;
pub mod shape;
pub mod stack;
pub mod timeline;

use crate::data::Chart;
use crate::finding;
use crate::svg::scale::Scale;
use maud::{Markup, html};

/// Width of a picture for pages, paper and files, in its own units, which are about a pixel each.
pub const WIDE: f64 = 760.0;

/// Width of a picture for telephones.
pub const NARROW: f64 = 360.0;

/// Number of colours and patterns. Of more series the worst have colours: see [`legend`].
pub const COLOURS: usize = 8;

/// The picture of `chart` that is `width` wide; `None` for tables, which have none.
pub fn draw(chart: &Chart, width: f64) -> Option<Markup> {
    let (height, content) = match chart {
        Chart::Bars(bars) => bars::draw(bars, width),
        Chart::Stack(stack) => stack::draw(stack, width),
        Chart::Cdf(cdf) => cdf::draw(cdf, width),
        Chart::Timeline(timeline) => timeline::draw(timeline, width),
        Chart::Panels(panels) => panels::draw(panels, width),
        Chart::Sequence(sequence) => sequence::draw(sequence, width),
        Chart::Lines(lines) => lines::draw(lines, width),
        Chart::Table(_) | Chart::Claims(_) => return None,
    };
    Some(picture((width, height), &finding::alt(chart), &content))
}

/// Height of a picture, and what is in it.
pub type Drawn = (f64, Markup);

/// Class that gives a shape the colour of series `index`.
pub fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
}

/// About how wide `text` is at `size`. Fonts differ; this errs on the wide side.
pub fn text_width(text: &str, size: f64) -> f64 {
    let narrow = |c: char| {
        matches!(
            c,
            'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ' ' | '\'' | ':'
        )
    };
    let wide = |c: char| c.is_uppercase() || matches!(c, 'm' | 'w' | '%' | '±') || !c.is_ascii();
    let parts = text.chars().map(|c| match c {
        c if narrow(c) => 0.36,
        c if wide(c) => 0.86,
        _ => 0.61,
    });
    size * parts.sum::<f64>()
}

/// `text`, cut with an ellipsis so that it fits into `width` at `size`.
pub fn fit(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut cut: String = text.to_owned();
    while cut.pop().is_some() {
        let shown = format!("{}…", cut.trim_end());
        if text_width(&shown, size) <= width {
            return shown;
        }
    }
    "…".to_owned()
}

/// `text` in lines that are not wider than `width` at `size`, broken between words where they can
/// be.
pub fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fit(line, size, width)).collect()
}

/// A coordinate with one decimal: a tenth of a pixel is finer than any screen.
pub fn at(x: f64) -> String {
    let text = format!("{x:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Size of small text: ticks, legends, values.
pub const SMALL: f64 = 12.0;

/// Size of the titles of axes.
pub const TITLE: f64 = 13.0;

/// The title of a vertical axis, above its upper end: upright letters are read more easily.
pub fn title_above(title: &str, y: f64, width: f64) -> Markup {
    shape::text("title soft", (0.0, y), &fit(title, TITLE, width))
}

/// The title of a horizontal axis, below its middle, moved where it would leave the picture.
pub fn title_below(title: &str, (middle, y): shape::Xy, width: f64) -> Markup {
    let shown = fit(title, TITLE, width);
    let half = text_width(&shown, TITLE) / 2.0;
    let middle = middle.clamp(half, (width - half).max(half));
    shape::text("middle title soft", (middle, y), &shown)
}

/// Lines across a plot at the ticks of `y` and `x`, with their labels at the left and below.
pub fn grid(x: Scale, y: Scale, [left, right]: [f64; 2], [top, bottom]: [f64; 2]) -> Markup {
    html! {
        @for tick in y.ticks() {
            @let class = if tick.label.is_empty() { "grid minor" } else { "grid" };
            (shape::line(class, (left, tick.place), (right, tick.place)))
            (shape::text("end", (left - 8.0, tick.place + 4.0), &tick.label))
        }
        @for tick in x.ticks_across() {
            (shape::line("grid", (tick.place, top), (tick.place, bottom)))
            (shape::text("middle", (tick.place, bottom + 16.0), &tick.label))
        }
    }
}

/// The `fill` that hatches a shape of series `index`; the first series stays plain.
pub fn hatch(index: usize) -> String {
    match index % COLOURS {
        0 => "none".to_owned(),
        i => format!("url(#hatch{i})"),
    }
}

/// Definitions of the hatching patterns.
pub fn hatches() -> Markup {
    // Strokes in a cell of 6 x 6, for series 1 to 7.
    const STROKES: [&str; COLOURS - 1] = [
        "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2",
        "M-1,5 l2,2 M0,0 l6,6 M5,-1 l2,2",
        "M0,3 h6",
        "M3,0 v6",
        "M0,0 l6,6 M0,6 l6,-6",
        "M0,3 h6 M3,0 v6",
        "M2.5,2.5 h1 v1 h-1 z",
    ];
    let pattern = |id: &str, size: &str, stroke: &str| {
        html! {
            pattern id=(id) width=(size) height=(size) patternUnits="userSpaceOnUse" {
                path class="stroke" d=(stroke) {}
            }
        }
    };
    html! {
        defs {
            @for (i, stroke) in STROKES.iter().enumerate() {
                (pattern(&format!("hatch{}", i + 1), "6", stroke))
            }
            (pattern("waits", "5", "M-1,1 l2,-2 M0,5 l5,-5 M4,6 l2,-2"))
        }
    }
}

/// Definitions of the hatching patterns for all pictures of a page.
pub fn hatch_definitions() -> Markup {
    html! {
        svg class="definitions" width="0" height="0" aria-hidden="true" focusable="false" {
            (hatches())
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_fit() {
        assert_eq!(fit("credit", 12.0, 100.0), "credit");
        let cut = fit("a very long name of a policy", 12.0, 80.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 80.0);
        assert_eq!(fit("x", 12.0, 0.0), "…");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrap("credit", 12.0, 100.0), ["credit"]);
        let lines = wrap("the average of the guests that burn", 12.0, 90.0);
        assert!(lines.len() > 1 && lines.iter().all(|l| text_width(l, 12.0) <= 90.0));
        assert_eq!(lines.join(" "), "the average of the guests that burn");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(at(3.0), "3");
        assert_eq!(at(-0.01), "0");
        assert_eq!(at(1.26), "1.3");
    }
}
