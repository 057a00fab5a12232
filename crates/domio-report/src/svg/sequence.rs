//! Observations in their order.

use super::axis;
use super::legend::{Legend, largest};
use super::letters::{SMALL, fit};
use super::plot::{self, PlotArea};
use super::scale::Scale;
use super::shape::{self, Area, Drawn, PUBLISHED, polyline};
use crate::data::Sequence;
use maud::{Markup, html};

/// Room at the sides of the plot.
const SIDES: [f64; 2] = [56.0, 20.0];

/// The picture. On a logarithmic axis, observations of zero and below lie on the lower edge, where
/// the axis cannot show them.
pub fn draw(sequence: &Sequence, width: f64) -> Drawn {
    let series = || sequence.series.iter();
    let highest = series().map(|(name, values)| (name, largest(values.iter().copied())));
    let legend = Legend::new(highest, "the highest");
    let plot = PlotArea::new(
        (legend, false),
        width,
        SIDES,
        [PlotArea::ABOVE, PlotArea::HEIGHT],
    );
    let published = sequence.published.iter().flat_map(|(range, _)| *range);
    let values = series().flat_map(|(_, values)| values).copied();
    let y = Scale::of(sequence.log, values.chain(published), plot.bottom, plot.top);
    // No ticks between whole numbers.
    let most = series().map(|(_, values)| values.len()).fold(5, usize::max);
    let x = Scale::exact(0.0, most as f64, plot.left, plot.right);
    let content = html! {
        @for (range, _) in &sequence.published { (band(y, &plot, *range)) }
        (plot.base())
        @for i in plot.legend.order() {
            @let (name, values) = &sequence.series[i];
            @let look = plot.legend.look(i);
            (plot::curve(look, &curve(values, x, y), name))
            // A curve of one observation has no length.
            @if let [only] = values.as_slice() {
                (plot::dot(look, (x.place(1.0), y.place(*only)), name))
            }
        }
        @for ([_, high], text) in &sequence.published {
            @let above = (y.place(*high) - 5.0).max(plot.top + 10.0);
            @let text = fit(text, SMALL, plot.right - plot.left - 4.0);
            (shape::text("end printed", (plot.right - 4.0, above), &text))
        }
    };
    let title = axis::title(&sequence.value, sequence.log);
    plot.draw([&title, &sequence.count], &plot.grid(x, y), &content)
}

/// A published range; a single value is as high as a line.
fn band(y: Scale, plot: &PlotArea, range: [f64; 2]) -> Markup {
    let [low, high] = range.map(|value| y.place(value));
    let size = (plot.right - plot.left, low - high + 3.0);
    Area::new((plot.left, high - 1.5), size).filled("band", PUBLISHED)
}

fn curve(values: &[f64], x: Scale, y: Scale) -> String {
    let places = values.iter().zip(1_u32..);
    polyline(places.map(|(value, i)| (x.place(f64::from(i)), y.place(*value))))
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
