//! Distributions over a logarithmic axis, with a vertical axis that shows the tail.
//!
//! The vertical axis is the part of the observations below a value, so that the step from 99 to
//! 99.9 % is as high as that from 90 to 99 %: whoever schedules cares for the worst of a thousand
//! waits, which would vanish in the last pixel of a linear axis.

use crate::data::{Cdf, CdfSeries};
use crate::figure;
use crate::svg::legend::{Legend, Swatch};
use crate::svg::scale::Scale;
use crate::svg::shape;
use crate::svg::{Drawn, SMALL, at, colour, text_width, title_above, title_below};
use maud::{Markup, html};

const LEFT: f64 = 64.0;
const MARGIN: f64 = 24.0;
/// Height of the plot for each step of the vertical axis.
const STEP: f64 = 66.0;
/// The part of the observations behind which a tail begins.
const TAIL: f64 = 0.99;
/// Most steps: 99.9999 % of a million.
const STEPS_MAX: u32 = 6;

/// The picture. Values of zero and below lie on the left edge, where the axis cannot show them.
pub fn draw(cdf: &Cdf, width: f64) -> Drawn {
    let names: Vec<String> = cdf.series.iter().map(|s| s.name.clone()).collect();
    let right = width - MARGIN;
    let badness: Vec<Option<f64>> = cdf.series.iter().map(|s| s.quantile(TAIL)).collect();
    let legend = Legend::new(&names, &badness, "the longest tails");
    let head = legend.height(0.0, width);
    let top = head + 30.0;
    let tail = Tail::of(cdf, top);
    let bottom = tail.bottom;
    let x = x_scale(cdf, right);
    let has_zero = cdf
        .series
        .iter()
        .flat_map(|s| &s.steps)
        .any(|(value, _)| *value <= 0.0);
    let title = figure::heading(&cdf.value.name, &cdf.value.unit) + ", logarithmic";
    let middle = ((LEFT + right) / 2.0, bottom + 36.0);
    let content = html! {
        (legend.draw(0.0, width, Swatch::Line))
        (title_above("part that is below, wider towards 100 %", head + 14.0, width))
        g class="axis" {
            @for (i, tick) in x.ticks_across().into_iter().enumerate() {
                @let class = if tick.label.is_empty() { "grid minor" } else { "grid" };
                (shape::line(class, (tick.place, top), (tick.place, bottom)))
                // Zero is infinitely far to the left.
                @let from_zero = if i == 0 && has_zero { "0 to " } else { "" };
                @let label = format!("{from_zero}{}", tick.label);
                @let half = text_width(&label, SMALL) / 2.0;
                (shape::text("middle", (tick.place.max(half), bottom + 16.0), &label))
            }
            @for (label, below) in tail.ticks() {
                @let place = tail.place(below);
                (shape::line("grid", (LEFT, place), (right, place)))
                (shape::text("end", (LEFT - 8.0, place + 4.0), &label))
            }
            (title_below(&title, middle, width))
        }
        @for i in legend.order() { (draw_series(&cdf.series[i], legend.look(i), x, tail)) }
    };
    (bottom + 46.0, content)
}

/// The curve, and a dot at its end, the largest observation: all observations may be the same, and
/// the curve no longer than a dash.
fn draw_series(series: &CdfSeries, look: usize, x: Scale, tail: Tail) -> Markup {
    let Some((largest, _)) = series.steps.last() else {
        return html! {};
    };
    let below = series
        .steps
        .len()
        .checked_sub(2)
        .map_or(1.0, |i| series.steps[i].1);
    let end = (x.place(*largest), tail.place(below));
    let tip = format!("{}, n = {}", series.name, series.count);
    html! {
        path class={ "curve " (colour(look)) } d=(curve(series, x, tail)) { title { (tip) } }
        circle class={ "fill " (colour(look)) } cx=(at(end.0)) cy=(at(end.1)) r="3.5" {
            title { (tip) }
        }
    }
}

/// The vertical axis: minus the logarithm of the part that is not below.
#[derive(Clone, Copy)]
struct Tail {
    bottom: f64,
    /// Steps by ten from the bottom to the top.
    steps: u32,
}

impl Tail {
    /// As high as the largest number of observations needs.
    fn of(cdf: &Cdf, top: f64) -> Self {
        let most = cdf.series.iter().map(|s| s.count).max().unwrap_or(0);
        let steps = (most.max(1) as f64).log10().ceil() as u32;
        let steps = steps.clamp(2, STEPS_MAX);
        Tail {
            bottom: top + STEP * f64::from(steps),
            steps,
        }
    }

    /// Where `below`, from 0 to 1, is.
    fn place(self, below: f64) -> f64 {
        let rest = (1.0 - below).max(1e-12);
        self.bottom - STEP * (-rest.log10()).clamp(0.0, f64::from(self.steps))
    }

    fn ticks(self) -> Vec<(String, f64)> {
        let mut ticks = vec![("0 %".to_owned(), 0.0), ("50 %".to_owned(), 0.5)];
        for step in 1..=self.steps {
            let rest = 10_f64.powi(-(step as i32));
            let decimals = step.saturating_sub(2) as usize;
            ticks.push((format!("{:.decimals$} %", (1.0 - rest) * 100.0), 1.0 - rest));
        }
        ticks
    }
}

fn x_scale(cdf: &Cdf, right: f64) -> Scale {
    let values = cdf
        .series
        .iter()
        .flat_map(|s| s.steps.iter().map(|(v, _)| *v));
    Scale::log_of(values, LEFT, right)
}

/// A single value is a line from the bottom to the top: all observations are there.
///
/// A staircase: level until the next value, then up to the part below the value after that. The
/// largest value ends it, at the part below that. Steps too small to see are joined.
fn curve(series: &CdfSeries, x: Scale, y: Tail) -> String {
    const SEEN: f64 = 0.5;
    if let [(only, _)] = series.steps.as_slice() {
        return format!(
            "M{},{} V{}",
            at(x.place(*only)),
            at(y.bottom),
            at(y.place(1.0))
        );
    }
    let mut path = String::new();
    let mut drawn = (f64::NEG_INFINITY, 0.0);
    let mut below = 0.0;
    let last = series.steps.len().saturating_sub(1);
    for (i, (value, fraction)) in series.steps.iter().enumerate() {
        let (px, py) = (x.place(*value), y.place(below));
        let far = px - drawn.0 >= SEEN || (py - drawn.1).abs() >= SEEN;
        if i == 0 {
            path += &format!("M{},{}", at(px), at(py));
        } else if far || i == last {
            path += &format!(" V{} H{}", at(py), at(px));
        } else {
            below = *fraction;
            continue;
        }
        drawn = (px, py);
        below = *fraction;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Quantity;
    use crate::svg::inspect::faults;
    use crate::svg::{NARROW, WIDE};

    fn cdf(values: &[f64]) -> Cdf {
        Cdf {
            value: Quantity::new("wake to run", "us"),
            series: vec![CdfSeries::of("credit", values)],
        }
    }

    #[test]
    fn curves_are_staircases_of_bounded_size() {
        let many: Vec<f64> = (1..100_000).map(|i| f64::from(i) / 100.0).collect();
        let cdf = Cdf {
            value: Quantity::new("wake to run", "ms"),
            series: vec![
                CdfSeries::of("credit", &[0.1, 1.0, 10.0]),
                CdfSeries::of("credit2", &many),
                CdfSeries::of("none", &[]),
            ],
        };
        for width in [WIDE, NARROW] {
            let (height, content) = draw(&cdf, width);
            let svg = content.into_string();
            // Two curves and two entries: what has no observation has neither.
            assert_eq!(svg.matches("class=\"curve").count(), 4);
            assert!(svg.len() < 60_000, "{} bytes", svg.len());
            assert!(svg.contains(">0.01<") && svg.contains(">1000<"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
            assert!(!svg.contains('…'), "a title is cut");
            let faults = faults(&svg, width, height);
            assert!(faults.is_empty(), "{faults:?}");
        }
    }

    #[test]
    fn each_ten_of_the_tail_is_as_high_as_the_last() {
        let values: Vec<f64> = (0..10_000).map(f64::from).collect();
        let tail = Tail::of(&cdf(&values), 0.0);
        assert_eq!(tail.steps, 4);
        let labels: Vec<String> = tail.ticks().into_iter().map(|(l, _)| l).collect();
        assert_eq!(labels, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        let places: Vec<f64> = tail.ticks().iter().map(|(_, p)| tail.place(*p)).collect();
        for two in places[2..].windows(2) {
            assert!((two[0] - two[1] - STEP).abs() < 1e-6, "{places:?}");
        }
        assert_eq!(tail.place(0.0), tail.bottom);
        assert!(tail.place(0.999_9).abs() < 1e-6);
    }

    #[test]
    fn the_largest_value_is_the_end_of_the_tail() {
        let cdf = cdf(&[1.0, 10.0, 100.0, 1000.0]);
        let tail = Tail::of(&cdf, 0.0);
        let path = curve(&cdf.series[0], Scale::log(1.0, 1000.0, 0.0, 300.0), tail);
        let ends = format!("V{} H300", at(tail.place(0.75)));
        assert!(path.ends_with(&ends), "three of four are below it: {path}");
    }

    #[test]
    fn zero_is_named_at_the_left_edge() {
        let with = draw(&cdf(&[0.0, 2.0, 50.0]), WIDE).1.into_string();
        assert!(with.contains("0 to 1<"), "{with}");
        assert!(
            !draw(&cdf(&[2.0, 50.0]), WIDE)
                .1
                .into_string()
                .contains("0 to")
        );
    }
}
