//! Distributions over a logarithmic axis, with a vertical axis that shows the tail.
//!
//! The vertical axis is the part of the observations below a value, so that the step from 99 to
//! 99.9 % is as high as that from 90 to 99 %: whoever schedules cares for the worst of a thousand
//! waits, which would vanish in the last pixel of a linear axis.

use super::axis;
use super::legend::Legend;
use super::plot::{self, PlotArea};
use super::scale::{Scale, Tick};
use super::shape::{Drawn, course};
use crate::data::{Cdf, CdfSeries};
use maud::{Markup, html};

/// Room at the sides of the plot.
const SIDES: [f64; 2] = [64.0, 24.0];
/// Room above the plot.
const ABOVE: f64 = 30.0;
/// Height of the plot for each step of the vertical axis.
const STEP: f64 = 66.0;
/// The part of the observations behind which a tail begins.
const TAIL: f64 = 0.99;
/// Most steps: 99.9999 % of a million.
const STEPS_MAX: u32 = 6;

/// The picture. Values of zero and below lie on the left edge, where the axis cannot show them.
pub fn draw(cdf: &Cdf, width: f64) -> Drawn {
    let series = cdf.series.iter().map(|s| (&s.name, s.quantile(TAIL)));
    let legend = Legend::new(series, "the longest tails");
    let steps = steps(cdf);
    let height = STEP * f64::from(steps);
    let plot = PlotArea::new((legend, false), width, SIDES, [ABOVE, height]);
    let bottom = plot.bottom;
    let tail = Tail { bottom, steps };
    let values = || {
        cdf.series
            .iter()
            .flat_map(|s| &s.steps)
            .map(|(value, _)| *value)
    };
    let x = Scale::log_of(values(), plot.left, plot.right);
    let mut ticks = x.ticks_across();
    // Zero is infinitely far to the left.
    let has_zero = values().any(|value| value <= 0.0);
    if let Some(first) = ticks.first_mut().filter(|_| has_zero) {
        first.label = format!("0 to {}", first.label);
    }
    let axes = html! {
        @for tick in &ticks {
            @let middle = tick.place.max(tick.half_width());
            (axis::down(tick.class(), tick, middle, [plot.top, bottom]))
        }
        (axis::across(&tail.ticks(), [plot.left, plot.right], 8.0))
    };
    let look = |i| plot.legend.look(i);
    let content = html! {
        @for i in plot.legend.order() { (draw_series(&cdf.series[i], look(i), x, tail)) }
    };
    let above = "part that is below, wider towards 100 %";
    plot.draw([above, &axis::title(&cdf.value, true)], &axes, &content)
}

/// The curve, and a dot at its end, the largest observation: all observations may be the same, and
/// the curve no longer than a dash.
fn draw_series(series: &CdfSeries, look: usize, x: Scale, tail: Tail) -> Markup {
    let Some((largest, _)) = series.steps.last() else {
        return html! {};
    };
    let before = series.steps.iter().rev().nth(1);
    let below = before.map_or(1.0, |(_, below)| *below);
    let tip = format!("{}, n = {}", series.name, series.count);
    html! {
        (plot::curve(look, &curve(series, x, tail), &tip))
        (plot::dot(look, (x.place(*largest), tail.place(below)), &tip))
    }
}

/// Steps of the vertical axis, as many as the largest number of observations needs.
fn steps(cdf: &Cdf) -> u32 {
    let most = cdf.series.iter().map(|s| s.count).max().unwrap_or(0);
    let steps = (most.max(1) as f64).log10().ceil() as u32;
    steps.clamp(2, STEPS_MAX)
}

/// The vertical axis: minus the logarithm of the part that is not below.
#[derive(Clone, Copy)]
struct Tail {
    bottom: f64,
    /// Steps by ten from the bottom to the top.
    steps: u32,
}

impl Tail {
    /// Where `below`, from 0 to 1, is.
    fn place(self, below: f64) -> f64 {
        let rest = (1.0 - below).max(1e-12);
        self.bottom - STEP * (-rest.log10()).clamp(0.0, f64::from(self.steps))
    }

    fn ticks(self) -> Vec<Tick> {
        let tick = |label: String, below: f64| Tick {
            place: self.place(below),
            label,
        };
        let nines = (1..=self.steps).map(|step| {
            let below = 1.0 - 10_f64.powi(-(step as i32));
            let decimals = step.saturating_sub(2) as usize;
            tick(format!("{:.decimals$} %", below * 100.0), below)
        });
        let halves = [tick("0 %".to_owned(), 0.0), tick("50 %".to_owned(), 0.5)];
        halves.into_iter().chain(nines).collect()
    }
}

/// A single value is a line from the bottom to the top: all observations are there.
///
/// A staircase: level until the next value, then up to the part below the value after that. The
/// largest value ends it, at the part below that. Steps too small to see are joined.
fn curve(series: &CdfSeries, x: Scale, y: Tail) -> String {
    const SEEN: f64 = 0.5;
    if let [(only, _)] = series.steps.as_slice() {
        return course("M_,_ V_", &[x.place(*only), y.bottom, y.place(1.0)]);
    }
    let mut path = String::new();
    let mut drawn = (f64::NEG_INFINITY, 0.0);
    let mut below = 0.0;
    let last = series.steps.len().saturating_sub(1);
    for (i, (value, fraction)) in series.steps.iter().enumerate() {
        let (px, py) = (x.place(*value), y.place(below));
        if px - drawn.0 >= SEEN || (py - drawn.1).abs() >= SEEN || i == last {
            path += &match i {
                0 => course("M_,_", &[px, py]),
                _ => course(" V_ H_", &[py, px]),
            };
            drawn = (px, py);
        }
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
        let steps = steps(&cdf(&values));
        assert_eq!(steps, 4);
        let bottom = STEP * 4.0;
        let tail = Tail { bottom, steps };
        let labels: Vec<String> = tail.ticks().into_iter().map(|t| t.label).collect();
        assert_eq!(labels, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        let places: Vec<f64> = tail.ticks().iter().map(|t| t.place).collect();
        for two in places[2..].windows(2) {
            assert!((two[0] - two[1] - STEP).abs() < 1e-6, "{places:?}");
        }
        assert_eq!(tail.place(0.0), tail.bottom);
        assert!(tail.place(0.999_9).abs() < 1e-6);
    }

    #[test]
    fn the_largest_value_is_the_end_of_the_tail() {
        let cdf = cdf(&[1.0, 10.0, 100.0, 1000.0]);
        let bottom = STEP * 2.0;
        let tail = Tail { bottom, steps: 2 };
        let path = curve(&cdf.series[0], Scale::log(1.0, 1000.0, 0.0, 300.0), tail);
        let ends = course("V_ H300", &[tail.place(0.75)]);
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
