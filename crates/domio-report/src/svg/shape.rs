//! The few shapes that pictures are made of.

use super::look::{colour, hatch};
use maud::{Markup, html};

/// A place: to the right, and down.
pub type Xy = (f64, f64);

/// Height of a picture, and what is in it.
pub type Drawn = (f64, Markup);

/// A coordinate with one decimal: a tenth of a pixel is finer than any screen.
pub fn at(x: f64) -> String {
    let text = format!("{x:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

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

/// A path with a text that shows when one points at it.
pub fn path(class: &str, course: &str, tip: &str) -> Markup {
    html! { path class=(class) d=(course) { title { (tip) } } }
}

/// The course of a path: `form` has its commands, with `_` for each coordinate.
///
/// # Panics
/// When there are fewer coordinates than places for them.
pub fn course(form: &str, coordinates: &[f64]) -> String {
    let mut next = coordinates.iter();
    let mut place = || at(*next.next().expect("a coordinate for each place"));
    let parts = form.chars().map(|c| match c {
        '_' => place(),
        command => command.to_string(),
    });
    parts.collect()
}

/// The course of a curve through `places`.
pub fn polyline(places: impl IntoIterator<Item = Xy>) -> String {
    let steps = places
        .into_iter()
        .zip(std::iter::once('M').chain(std::iter::repeat('L')));
    let steps = steps.map(|((x, y), letter)| format!("{letter}{},{}", at(x), at(y)));
    steps.collect::<Vec<_>>().join(" ")
}

/// The path of a confidence interval, seen on what is behind.
pub fn whisker(course: &str) -> Markup {
    html! { path class="halo" d=(course) {} path class="whisker" d=(course) {} }
}

/// A disc or a ring, as the class says.
pub fn dot(class: &str, (x, y): Xy, radius: f64, tip: &str) -> Markup {
    html! { circle class=(class) cx=(at(x)) cy=(at(y)) r=(at(radius)) { title { (tip) } } }
}

/// Radius of a dot on a curve.
pub const DOT: f64 = 3.5;

/// A diamond, which stands for a value that a paper prints.
pub fn diamond((x, y): Xy, tip: &str) -> Markup {
    let [left, right, top, bottom] = [x - 5.5, x + 5.5, y - 5.5, y + 5.5];
    let course = course(
        "M_,_ L_,_ L_,_ L_,_ Z",
        &[x, top, right, y, x, bottom, left, y],
    );
    path("published", &course, &format!("{PUBLISHED}: {tip}"))
}

/// What is written about published values.
pub const PUBLISHED: &str = "printed in the paper";

/// A rectangle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Area {
    corner: Xy,
    size: (f64, f64),
}

impl Area {
    /// The rectangle with this upper left corner, and this width and height.
    pub fn new(corner: Xy, size: (f64, f64)) -> Self {
        Area { corner, size }
    }

    /// The area in the colour of its class. An empty `tip` shows nothing.
    pub fn filled(self, class: &str, tip: &str) -> Markup {
        let [x, y, width, height] = self.coordinates();
        html! {
            rect class=(class) x=(x) y=(y) width=(width) height=(height) {
                @if !tip.is_empty() { title { (tip) } }
            }
        }
    }

    /// A pattern over the area; see [`hatch`].
    pub fn hatched(self, pattern: &str) -> Markup {
        let [x, y, width, height] = self.coordinates();
        html! { rect class="hatch" fill=(pattern) x=(x) y=(y) width=(width) height=(height) {} }
    }

    /// The area in the colour and the pattern of series `look`, as `class` says.
    pub fn of_series(self, class: &str, look: usize, tip: &str) -> Markup {
        html! {
            (self.filled(&format!("{class} {}", colour(look)), tip))
            (self.hatched(&hatch(look)))
        }
    }

    fn coordinates(self) -> [String; 4] {
        [self.corner.0, self.corner.1, self.size.0, self.size.1].map(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(at(3.0), "3");
        assert_eq!(at(-0.01), "0");
        assert_eq!(at(1.26), "1.3");
        assert_eq!(course("M_,_ H_ Z", &[0.0, 1.26, 3.0]), "M0,1.3 H3 Z");
        assert_eq!(polyline([(0.0, 1.0), (2.0, 3.0)]), "M0,1 L2,3");
    }
}
