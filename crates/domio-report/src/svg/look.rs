//! How series are told apart: a colour each, and hatching.

use maud::{Markup, html};

/// Number of colours and patterns. Of more series the worst have colours: see
/// [`Legend`](super::legend::Legend).
pub const COLOURS: usize = 8;

/// Class that gives a shape the colour of series `index`.
pub fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
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
