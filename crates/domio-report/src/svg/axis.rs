//! Titles, ticks and lines of axes.

use super::letters::{TITLE, fit, text_width};
use super::scale::Tick;
use super::shape;
use crate::data::Quantity;
use crate::written;
use maud::{Markup, html};

/// Room below a plot for the labels of its axis and its title.
pub const BELOW: f64 = 46.0;

/// The title of an axis for `value`.
pub fn title(value: &Quantity, log: bool) -> String {
    let suffix = if log { ", logarithmic" } else { "" };
    written::heading(&value.name, &value.unit) + suffix
}

/// The title of a vertical axis, above its upper end: upright letters are read more easily.
pub fn title_above(title: &str, y: f64, width: f64) -> Markup {
    shape::text("title soft", (0.0, y), &fit(title, TITLE, width))
}

/// The title of a horizontal axis below a plot, under its middle, moved where it would leave the
/// picture.
pub fn title_below(title: &str, [left, right]: [f64; 2], bottom: f64, width: f64) -> Markup {
    let shown = fit(title, TITLE, width);
    let half = text_width(&shown, TITLE) / 2.0;
    let middle = ((left + right) / 2.0).clamp(half, (width - half).max(half));
    shape::text("middle title soft", (middle, bottom + 36.0), &shown)
}

/// Lines across a plot at the ticks of its vertical axis, with their labels `gap` left of it.
pub fn across(ticks: &[Tick], [left, right]: [f64; 2], gap: f64) -> Markup {
    html! {
        @for tick in ticks {
            (shape::line(tick.class(), (left, tick.place), (right, tick.place)))
            (shape::text("end", (left - gap, tick.place + 4.0), &tick.label))
        }
    }
}

/// A line down a plot at a tick of its horizontal axis, whose label has its middle at `middle`.
pub fn down(class: &str, tick: &Tick, middle: f64, [top, bottom]: [f64; 2]) -> Markup {
    html! {
        (shape::line(class, (tick.place, top), (tick.place, bottom)))
        (shape::text("middle", (middle, bottom + 16.0), &tick.label))
    }
}
