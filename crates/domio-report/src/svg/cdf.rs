//! Cumulative distributions over a logarithmic axis.

use crate::data::{Cdf, CdfSeries};
use crate::figure;
use crate::svg::scale::Scale;
use crate::svg::shape;
use crate::svg::{Swatch, WIDTH, at, colour, legend, legend_height, picture};
use maud::{Markup, html};

const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 24.0;
const PLOT: f64 = 260.0;

/// The picture. Values of zero and below lie on the left edge, where the axis cannot show them.
pub fn draw(cdf: &Cdf) -> Markup {
    let names: Vec<String> = cdf.series.iter().map(|s| s.name.clone()).collect();
    let top = legend_height(&names, LEFT) + 10.0;
    let bottom = top + PLOT;
    let x = x_scale(cdf);
    let y = Scale::exact(0.0, 1.0, bottom, top);
    let has_zero = cdf
        .series
        .iter()
        .flat_map(|s| &s.steps)
        .any(|(value, _)| *value <= 0.0);
    let label = format!("Cumulative distribution of {}", cdf.value.name);
    let title = figure::heading(&cdf.value.name, &cdf.value.unit) + ", logarithmic";
    let middle = ((LEFT + RIGHT) / 2.0, bottom + 36.0);
    let upwards = format!("translate(14 {}) rotate(-90)", at((top + bottom) / 2.0));
    let content = html! {
        (legend(&names, LEFT, Swatch::Line))
        g class="axis" {
            @for (i, tick) in x.ticks().into_iter().enumerate() {
                @let class = if tick.label.is_empty() { "grid minor" } else { "grid" };
                (shape::line(class, (tick.place, top), (tick.place, bottom)))
                // Zero is infinitely far to the left.
                @let from_zero = if i == 0 && has_zero { "0 to " } else { "" };
                @let label = format!("{from_zero}{}", tick.label);
                (shape::text("middle", (tick.place, bottom + 16.0), &label))
            }
            @for percent in [0, 25, 50, 75, 100] {
                @let place = y.place(f64::from(percent) / 100.0);
                (shape::line("grid", (LEFT, place), (RIGHT, place)))
                (shape::text("end", (LEFT - 8.0, place + 4.0), &format!("{percent} %")))
            }
            (shape::text("middle title", middle, &title))
            text class="middle title" transform=(upwards) { "part at or below" }
        }
        @for (i, series) in cdf.series.iter().enumerate() {
            path class={ "curve " (colour(i)) } d=(curve(series, x, y)) {
                title { (series.name) ", n = " (series.count) }
            }
        }
    };
    picture(bottom + 46.0, &label, &content)
}

fn x_scale(cdf: &Cdf) -> Scale {
    let values = || {
        cdf.series
            .iter()
            .flat_map(|s| s.steps.iter().map(|(v, _)| *v))
    };
    let positive = || values().filter(|v| *v > 0.0 && v.is_finite());
    let low = positive().min_by(f64::total_cmp).unwrap_or(1.0);
    let high = positive().max_by(f64::total_cmp).unwrap_or(1.0);
    Scale::log(low, high, LEFT, RIGHT)
}

/// A staircase: level until the next value, then up. Steps too small to see are joined.
fn curve(series: &CdfSeries, x: Scale, y: Scale) -> String {
    const SEEN: f64 = 0.5;
    let mut path = String::new();
    let mut drawn = (f64::NEG_INFINITY, 0.0);
    let last = series.steps.len().saturating_sub(1);
    for (i, (value, fraction)) in series.steps.iter().enumerate() {
        let (px, py) = (x.place(*value), y.place(*fraction));
        let far = px - drawn.0 >= SEEN || (py - drawn.1).abs() >= SEEN;
        if i == 0 {
            path += &format!("M{},{} V{}", at(px), at(y.place(0.0)), at(py));
        } else if far || i == last {
            path += &format!(" H{} V{}", at(px), at(py));
        } else {
            continue;
        }
        drawn = (px, py);
    }
    match path.is_empty() {
        true => path,
        false => format!("{path} H{}", at(RIGHT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Quantity;

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
        let svg = draw(&cdf).into_string();
        assert_eq!(svg.matches("class=\"curve").count(), 6);
        assert!(svg.len() < 60_000, "{} bytes", svg.len());
        assert!(svg.contains(">0.01<") && svg.contains(">1000<"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn zero_is_named_at_the_left_edge() {
        let cdf = |values| Cdf {
            value: Quantity::new("wake to run", "us"),
            series: vec![CdfSeries::of("credit", values)],
        };
        let with = draw(&cdf(&[0.0, 2.0, 50.0])).into_string();
        assert!(with.contains("0 to 1<"), "{with}");
        assert!(!draw(&cdf(&[2.0, 50.0])).into_string().contains("0 to"));
    }
}
