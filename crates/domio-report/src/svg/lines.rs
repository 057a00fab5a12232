//! Values along an axis, joined by lines, with confidence intervals.

use super::axis;
use super::legend::{Legend, largest};
use super::plot::{self, PlotArea};
use super::scale::{Scale, ends_with_zero};
use super::shape::{self, Drawn, polyline};
use crate::data::{Line, Lines, Point};
use crate::written;
use domio_stats::Estimate;
use maud::{Markup, html};

/// Room at the sides of the plot.
const SIDES: [f64; 2] = [56.0, 24.0];

/// The picture.
pub fn draw(lines: &Lines, width: f64) -> Drawn {
    let highest = |l: &Line| largest(measured(l).map(|(_, e)| e.mean));
    let series = lines.lines.iter().map(|l| (&l.name, highest(l)));
    let legend = Legend::new(series, "the highest");
    let published = !lines.published.is_empty();
    let plot = PlotArea::new(
        (legend, published),
        width,
        SIDES,
        [PlotArea::ABOVE, PlotArea::HEIGHT],
    );
    let points = || lines.lines.iter().flat_map(|l| &l.points);
    let printed = || lines.published.iter();
    let ends = points()
        .filter_map(|p| p.y)
        .flat_map(|e| [e.mean, upper(&e)]);
    let ends = ends.chain(printed().map(|(_, y, _)| *y));
    let y = Scale::of(lines.log, ends, plot.bottom, plot.top);
    let places = points().map(|p| p.x).chain(printed().map(|(x, ..)| *x));
    let (low, high) = ends_with_zero(places);
    let x = Scale::exact(low, high, plot.left, plot.right);
    let look = |i| plot.legend.look(i);
    let content = html! {
        (plot.base())
        @for i in plot.legend.order() { (draw_line(look(i), &lines.lines[i], lines, x, y)) }
        @for (place, value, text) in printed() {
            (shape::diamond((x.place(*place), y.place(*value)), text))
        }
    };
    let above = axis::title(&lines.value, lines.log);
    let below = axis::title(&lines.along, false);
    plot.draw([&above, &below], &plot.grid(x, y), &content)
}

/// Points where something was measured.
fn measured(line: &Line) -> impl Iterator<Item = (f64, Estimate)> {
    let points = line.points.iter();
    points.filter_map(|Point { x, y }| Some((*x, (*y)?)))
}

/// The upper end of what is drawn of `estimate`.
fn upper(estimate: &Estimate) -> f64 {
    estimate.ci95.map_or(estimate.mean, |[_, high]| high)
}

fn draw_line(look: usize, line: &Line, lines: &Lines, x: Scale, y: Scale) -> Markup {
    let place = |(along, e): (f64, Estimate)| (x.place(along), y.place(e.mean));
    let tip = |along: f64, e: &Estimate| {
        let value = written::with_unit(&written::estimate(e), &lines.value.unit);
        let (name, along) = (&line.name, written::number(along));
        format!("{name}, {along}: {value}, n = {}", e.n)
    };
    html! {
        (plot::curve(look, &polyline(measured(line).map(place)), &line.name))
        @for (along, estimate) in measured(line) {
            @let place = place((along, estimate));
            @if let Some([low, high]) = estimate.ci95 {
                (shape::line("whisker", (place.0, y.place(low)), (place.0, y.place(high))))
            }
            (plot::dot(look, place, &tip(along, &estimate)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Point, Quantity};
    use crate::svg::inspect::faults;
    use crate::svg::{NARROW, WIDE};
    use domio_stats::Estimate;

    #[test]
    fn lines_have_a_point_for_each_value() {
        let point = |x: f64, values: &[f64]| Point {
            x,
            y: Estimate::of(values),
        };
        let lines = Lines {
            along: Quantity::new("load <1>", "%"),
            value: Quantity::new("turnaround", "s"),
            log: false,
            lines: vec![
                Line {
                    name: "credit".into(),
                    points: vec![
                        point(1.0, &[3.0, 4.0]),
                        point(2.0, &[]),
                        point(4.0, &[12.0]),
                    ],
                },
                Line {
                    name: "sedf".into(),
                    points: vec![point(1.0, &[0.0])],
                },
            ],
            published: vec![(4.0, 14_000.0, "14 s".into())],
        };
        for width in [WIDE, NARROW] {
            for log in [true, false] {
                let (height, content) = draw(
                    &Lines {
                        log,
                        ..lines.clone()
                    },
                    width,
                );
                let svg = content.into_string();
                assert_eq!(svg.matches("<circle").count(), 3);
                assert!(svg.contains("load &lt;1&gt; [%]") && svg.contains("14 s"));
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
                let faults = faults(&svg, width, height);
                assert!(faults.is_empty(), "{faults:?}");
            }
            draw(&Lines::default(), width);
        }
    }
}
