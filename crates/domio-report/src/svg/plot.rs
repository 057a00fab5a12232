//! The frame of a picture of curves: its legend, its axes with their titles, and how a curve looks.

use super::axis::{self, BELOW};
use super::legend::{Legend, Swatch, printed};
use super::look::colour;
use super::scale::Scale;
use super::shape::{self, Drawn, Xy};
use maud::{Markup, html};

/// Where the curves are.
pub struct PlotArea {
    /// How the curves look.
    pub legend: Legend,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Lower end of the legends.
    head: f64,
    /// Width of the picture.
    width: f64,
    /// Whether the legend names what a paper prints.
    printed: bool,
}

impl PlotArea {
    /// Room above a plot for the title of its vertical axis.
    pub const ABOVE: f64 = 26.0;

    /// Height of a plot whose vertical axis has no unit of length of its own.
    pub const HEIGHT: f64 = 260.0;

    /// A plot that is `height` high, with so much room above it and at its sides, in a picture that
    /// is `width` wide.
    pub fn new(
        (legend, printed): (Legend, bool),
        width: f64,
        [left, right]: [f64; 2],
        [above, height]: [f64; 2],
    ) -> Self {
        let head = legend.height(width) + if printed { 20.0 } else { 0.0 };
        PlotArea {
            legend,
            left,
            right: width - right,
            top: head + above,
            bottom: head + above + height,
            head,
            width,
            printed,
        }
    }

    /// The picture with `axes`, titles above the vertical and below the horizontal one, and
    /// `content`.
    pub fn draw(&self, [above, below]: [&str; 2], axes: &Markup, content: &Markup) -> Drawn {
        let content = html! {
            (self.legend.draw(self.width, Swatch::Line))
            @if self.printed { (printed(self.head - 12.0)) }
            (axis::title_above(above, self.head + 14.0, self.width))
            g class="axis" {
                (axes)
                (axis::title_below(below, [self.left, self.right], self.bottom, self.width))
            }
            (content)
        };
        (self.bottom + BELOW, content)
    }

    /// Lines across and down the plot at the ticks of both axes.
    pub fn grid(&self, x: Scale, y: Scale) -> Markup {
        html! {
            (axis::across(&y.ticks(), [self.left, self.right], 8.0))
            @for tick in x.ticks_across() {
                (axis::down("grid", &tick, tick.place, [self.top, self.bottom]))
            }
        }
    }

    /// The line below the curves.
    pub fn base(&self) -> Markup {
        shape::line("base", (self.left, self.bottom), (self.right, self.bottom))
    }
}

/// A curve of series `look`.
pub fn curve(look: usize, course: &str, tip: &str) -> Markup {
    shape::path(&format!("curve {}", colour(look)), course, tip)
}

/// A dot on a curve of series `look`.
pub fn dot(look: usize, place: Xy, tip: &str) -> Markup {
    shape::dot(&format!("fill {}", colour(look)), place, shape::DOT, tip)
}
