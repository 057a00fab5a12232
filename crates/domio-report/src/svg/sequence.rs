//! Observations in their order.

use crate::data::Sequence;
use crate::figure;
use crate::svg::legend::{Legend, Swatch, largest};
use crate::svg::scale::Scale;
use crate::svg::shape::{self, Area};
use crate::svg::{Drawn, SMALL, at, colour, fit, grid, title_above, title_below};
use maud::{Markup, html};

const LEFT: f64 = 56.0;
const MARGIN: f64 = 20.0;
const PLOT: f64 = 260.0;

/// The picture. On a logarithmic axis, observations of zero and below lie on the lower edge, where
/// the axis cannot show them.
pub fn draw(sequence: &Sequence, width: f64) -> Drawn {
    let names: Vec<String> = sequence
        .series
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    let right = width - MARGIN;
    let highest = |(_, values): &(String, Vec<f64>)| largest(values.iter().copied());
    let badness: Vec<Option<f64>> = sequence.series.iter().map(highest).collect();
    let legend = Legend::new(&names, &badness, "the highest");
    let head = legend.height(0.0, width);
    let top = head + 26.0;
    let bottom = top + PLOT;
    let y = y_scale(sequence, bottom, top);
    let longest = sequence.series.iter().map(|(_, values)| values.len());
    // No ticks between whole numbers.
    let most = longest.max().unwrap_or(0).max(5);
    let x = Scale::exact(0.0, most as f64, LEFT, right);
    let middle = ((LEFT + right) / 2.0, bottom + 36.0);
    let mut title = figure::heading(&sequence.value.name, &sequence.value.unit);
    if sequence.log {
        title += ", logarithmic";
    }
    let content = html! {
        (legend.draw(0.0, width, Swatch::Line))
        (title_above(&title, head + 14.0, width))
        g class="axis" {
            (grid(x, y, [LEFT, right], [top, bottom]))
            (title_below(&sequence.count, middle, width))
        }
        @for ([low, high], _) in &sequence.published { (band(y, [LEFT, right], *low, *high)) }
        (shape::line("base", (LEFT, bottom), (right, bottom)))
        @for i in legend.order() {
            @let (name, values) = &sequence.series[i];
            @let look = colour(legend.look(i));
            path class={ "curve " (look) } d=(curve(values, x, y)) { title { (name) } }
            // A curve of one observation has no length.
            @if let [only] = values.as_slice() {
                @let place = (x.place(1.0), y.place(*only));
                circle class={ "fill " (look) } cx=(at(place.0)) cy=(at(place.1)) r="3.5" {
                    title { (name) }
                }
            }
        }
        @for ([_, high], text) in &sequence.published {
            @let above = (y.place(*high) - 5.0).max(top + 10.0);
            @let text = fit(text, SMALL, right - LEFT - 4.0);
            (shape::text("end printed", (right - 4.0, above), &text))
        }
    };
    (bottom + 46.0, content)
}

fn y_scale(sequence: &Sequence, bottom: f64, top: f64) -> Scale {
    let observed = sequence
        .series
        .iter()
        .flat_map(|(_, values)| values)
        .copied();
    let published = sequence.published.iter().flat_map(|(range, _)| *range);
    let all = observed.chain(published).filter(|v| v.is_finite());
    match sequence.log {
        true => Scale::log_of(all, bottom, top),
        false => {
            let (low, high) = all.fold((0.0_f64, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
            Scale::linear(low, high, bottom, top)
        }
    }
}

/// A published range; a single value is as high as a line.
fn band(y: Scale, [left, right]: [f64; 2], low: f64, high: f64) -> Markup {
    let (low, high) = (y.place(low), y.place(high));
    let area = Area {
        x: left,
        y: high - 1.5,
        width: right - left,
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
    use crate::svg::inspect::faults;
    use crate::svg::{NARROW, WIDE};

    #[test]
    fn curves_have_a_point_for_each_observation() {
        let sequence = Sequence {
            count: "ping".into(),
            value: Quantity::new("round trip", "ms"),
            log: true,
            series: vec![
                ("with".into(), vec![0.2, 0.25, 30.0, 0.0]),
                ("without".into(), vec![150.0, 140.0]),
                ("none".into(), vec![]),
            ],
            published: vec![([0.2, 0.3], "0.2 to 0.3 ms".into())],
        };
        let svg = draw(&sequence, WIDE).1.into_string();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let with = curve(&sequence.series[0].1, Scale::exact(0.0, 4.0, 0.0, 4.0), {
            Scale::log(0.1, 100.0, 300.0, 0.0)
        });
        assert_eq!(with.matches('L').count(), 3);
        assert!(with.ends_with("4,300"), "zero is at the edge: {with}");
        assert!(svg.contains("0.2 to 0.3 ms"));
        for width in [WIDE, NARROW] {
            for log in [true, false] {
                let (height, content) = draw(
                    &Sequence {
                        log,
                        ..sequence.clone()
                    },
                    width,
                );
                let faults = faults(&content.into_string(), width, height);
                assert!(faults.is_empty(), "{faults:?}");
            }
            draw(&Sequence::default(), width);
        }
    }
}
