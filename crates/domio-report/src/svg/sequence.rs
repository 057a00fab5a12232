//! Observations in their order, over a logarithmic axis.

use crate::data::Sequence;
use crate::figure;
use crate::svg::scale::Scale;
use crate::svg::shape::{self, Area};
use crate::svg::{Swatch, WIDTH, at, colour, legend, legend_height, picture};
use maud::{Markup, html};

const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 12.0;
const PLOT: f64 = 260.0;

/// The picture. Observations of zero and below lie on the lower edge, where the axis cannot show
/// them.
pub fn draw(sequence: &Sequence) -> Markup {
    let names: Vec<String> = sequence
        .series
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    let top = legend_height(&names, LEFT) + 10.0;
    let bottom = top + PLOT;
    let y = y_scale(sequence, bottom, top);
    let longest = sequence.series.iter().map(|(_, values)| values.len());
    let x = Scale::exact(0.0, longest.max().unwrap_or(0) as f64, LEFT, RIGHT);
    let middle = ((LEFT + RIGHT) / 2.0, bottom + 36.0);
    let upwards = format!("translate(14 {}) rotate(-90)", at((top + bottom) / 2.0));
    let title = figure::heading(&sequence.value.name, &sequence.value.unit) + ", logarithmic";
    let content = html! {
        (legend(&names, LEFT, Swatch::Line))
        g class="axis" {
            @for tick in y.ticks() {
                @let class = if tick.label.is_empty() { "grid minor" } else { "grid" };
                (shape::line(class, (LEFT, tick.place), (RIGHT, tick.place)))
                (shape::text("end", (LEFT - 8.0, tick.place + 4.0), &tick.label))
            }
            @for tick in x.ticks() {
                (shape::line("grid", (tick.place, top), (tick.place, bottom)))
                (shape::text("middle", (tick.place, bottom + 16.0), &tick.label))
            }
            (shape::text("middle title", middle, &sequence.count))
            text class="middle title" transform=(upwards) { (title) }
        }
        @for ([low, high], _) in &sequence.published { (band(y, *low, *high)) }
        (shape::line("base", (LEFT, bottom), (RIGHT, bottom)))
        @for (i, (name, values)) in sequence.series.iter().enumerate() {
            path class={ "curve " (colour(i)) } d=(curve(values, x, y)) { title { (name) } }
        }
        @for ([_, high], text) in &sequence.published {
            (shape::text("end printed", (RIGHT - 4.0, y.place(*high) - 5.0), text))
        }
    };
    let label = format!(
        "{} of {} after {}",
        sequence.value.name, sequence.count, sequence.count
    );
    picture(bottom + 46.0, &label, &content)
}

fn y_scale(sequence: &Sequence, bottom: f64, top: f64) -> Scale {
    let observed = sequence
        .series
        .iter()
        .flat_map(|(_, values)| values)
        .copied();
    let published = sequence.published.iter().flat_map(|(range, _)| *range);
    let all: Vec<f64> = observed.chain(published).collect();
    let positive = || all.iter().copied().filter(|v| *v > 0.0 && v.is_finite());
    let low = positive().min_by(f64::total_cmp).unwrap_or(1.0);
    let high = positive().max_by(f64::total_cmp).unwrap_or(1.0);
    Scale::log(low, high, bottom, top)
}

/// A published range; a single value is as high as a line.
fn band(y: Scale, low: f64, high: f64) -> Markup {
    let (low, high) = (y.place(low), y.place(high));
    let area = Area {
        x: LEFT,
        y: high - 1.5,
        width: RIGHT - LEFT,
        height: low - high + 3.0,
    };
    area.filled("band", "printed in the paper")
}

fn curve(values: &[f64], x: Scale, y: Scale) -> String {
    let points = values.iter().enumerate().map(|(i, value)| {
        let letter = if i == 0 { 'M' } else { 'L' };
        format!(
            "{letter}{},{}",
            at(x.place((i + 1) as f64)),
            at(y.place(*value))
        )
    });
    points.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Quantity;

    #[test]
    fn curves_have_a_point_for_each_observation() {
        let sequence = Sequence {
            count: "ping".into(),
            value: Quantity::new("round trip", "ms"),
            series: vec![
                ("with".into(), vec![0.2, 0.25, 30.0, 0.0]),
                ("without".into(), vec![150.0, 140.0]),
                ("none".into(), vec![]),
            ],
            published: vec![([0.2, 0.3], "0.2 to 0.3 ms".into())],
        };
        let svg = draw(&sequence).into_string();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let with = curve(&sequence.series[0].1, Scale::exact(0.0, 4.0, 0.0, 4.0), {
            Scale::log(0.1, 100.0, 300.0, 0.0)
        });
        assert_eq!(with.matches('L').count(), 3);
        assert!(with.ends_with("4,300"), "zero is at the edge: {with}");
        assert!(svg.contains("0.2 to 0.3 ms"));
        draw(&Sequence::default());
    }
}
