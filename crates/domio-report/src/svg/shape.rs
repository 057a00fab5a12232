//! The few shapes that pictures are made of.

use crate::svg::at;
use maud::{Markup, html};

/// A place: to the right, and down.
pub type Xy = (f64, f64);

/// A straight line.
pub fn line(class: &str, from: Xy, to: Xy) -> Markup {
    html! {
        line class=(class) x1=(at(from.0)) y1=(at(from.1)) x2=(at(to.0)) y2=(at(to.1)) {}
    }
}

/// A straight line with a text that shows when one points at it.
pub fn line_with_tip(class: &str, from: Xy, to: Xy, tip: &str) -> Markup {
    html! {
        line class=(class) x1=(at(from.0)) y1=(at(from.1)) x2=(at(to.0)) y2=(at(to.1)) {
            title { (tip) }
        }
    }
}

/// A line of text whose base line starts, ends or has its middle at `place`, as the class says.
pub fn text(class: &str, place: Xy, text: &str) -> Markup {
    html! { text class=(class) x=(at(place.0)) y=(at(place.1)) { (text) } }
}

/// A text that may be a shortened form of `full`, which shows when one points at it.
pub fn short_text(class: &str, place: Xy, short: &str, full: &str) -> Markup {
    html! {
        text class=(class) x=(at(place.0)) y=(at(place.1)) { title { (full) } (short) }
    }
}

/// A diamond, which stands for a value that a paper prints.
pub fn diamond((x, y): Xy, tip: &str) -> Markup {
    let path = format!(
        "M{0},{1} L{2},{3} L{0},{4} L{5},{3} Z",
        at(x),
        at(y - 5.5),
        at(x + 5.5),
        at(y),
        at(y + 5.5),
        at(x - 5.5)
    );
    html! { path class="published" d=(path) { title { "printed in the paper: " (tip) } } }
}

/// A rectangle by its upper left corner and its size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Area {
    /// Left end.
    pub x: f64,
    /// Upper end.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// The area in the colour of its class. An empty `tip` shows nothing.
    pub fn filled(self, class: &str, tip: &str) -> Markup {
        let [x, y, width, height] = self.coordinates();
        html! {
            rect class=(class) x=(x) y=(y) width=(width) height=(height) {
                @if !tip.is_empty() { title { (tip) } }
            }
        }
    }

    /// A pattern over the area; see [`hatch`](crate::svg::hatch).
    pub fn hatched(self, pattern: &str) -> Markup {
        let [x, y, width, height] = self.coordinates();
        html! { rect class="hatch" fill=(pattern) x=(x) y=(y) width=(width) height=(height) {} }
    }

    fn coordinates(self) -> [String; 4] {
        [self.x, self.y, self.width, self.height].map(at)
    }
}
