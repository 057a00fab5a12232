//! Values along an axis, joined by lines, with confidence intervals.

use crate::data::{Line, Lines};
use crate::figure;
use crate::svg::legend::{Legend, Swatch, largest};
use crate::svg::scale::Scale;
use crate::svg::shape;
use crate::svg::{Drawn, at, colour, grid, title_above, title_below};
use maud::{Markup, html};

const LEFT: f64 = 56.0;
const MARGIN: f64 = 24.0;
const PLOT: f64 = 260.0;

/// The picture.
pub fn draw(lines: &Lines, width: f64) -> Drawn {
    let names: Vec<String> = lines.lines.iter().map(|l| l.name.clone()).collect();
    let right = width - MARGIN;
    let printed = if lines.published.is_empty() {
        0.0
    } else {
        20.0
    };
    let means = |l: &Line| largest(l.points.iter().filter_map(|p| p.y).map(|e| e.mean));
    let badness: Vec<Option<f64>> = lines.lines.iter().map(means).collect();
    let legend = Legend::new(&names, &badness, "the highest");
    let legends = legend.height(0.0, width);
    let head = legends + printed;
    let top = head + 26.0;
    let bottom = top + PLOT;
    let y = y_scale(lines, bottom, top);
    let places = lines
        .lines
        .iter()
        .flat_map(|l| l.points.iter().map(|p| p.x));
    let places = places.chain(lines.published.iter().map(|(x, ..)| *x));
    let (low, high) = places.fold((0.0_f64, 0.0_f64), |(l, h), x| (l.min(x), h.max(x)));
    let x = Scale::exact(low, high, LEFT, right);
    let mut title = figure::heading(&lines.value.name, &lines.value.unit);
    if lines.log {
        title += ", logarithmic";
    }
    let along = figure::heading(&lines.along.name, &lines.along.unit);
    let middle = ((LEFT + right) / 2.0, bottom + 36.0);
    let content = html! {
        (legend.draw(0.0, width, Swatch::Line))
        @if printed > 0.0 {
            g class="legend" {
                (shape::diamond((9.0, legends + 8.0), "a diamond"))
                (shape::text("start", (26.0, legends + 12.0), "printed in the paper"))
            }
        }
        (title_above(&title, head + 14.0, width))
        g class="axis" {
            (grid(x, y, [LEFT, right], [top, bottom]))
            (title_below(&along, middle, width))
        }
        (shape::line("base", (LEFT, bottom), (right, bottom)))
        @for i in legend.order() { (draw_line(legend.look(i), &lines.lines[i], lines, x, y)) }
        @for (place, value, text) in &lines.published {
            (shape::diamond((x.place(*place), y.place(*value)), text))
        }
    };
    (bottom + 46.0, content)
}

fn y_scale(lines: &Lines, bottom: f64, top: f64) -> Scale {
    let measured = lines.lines.iter().flat_map(|l| &l.points);
    let ends = measured.filter_map(|p| p.y).flat_map(|e| {
        let high = e.ci95.map_or(e.mean, |[_, high]| high);
        [e.mean, high]
    });
    let all = ends.chain(lines.published.iter().map(|(_, y, _)| *y));
    let all = all.filter(|v| v.is_finite());
    match lines.log {
        true => Scale::log_of(all, bottom, top),
        false => {
            let (low, high) = all.fold((0.0_f64, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
            Scale::linear(low, high, bottom, top)
        }
    }
}

fn draw_line(series: usize, line: &Line, lines: &Lines, x: Scale, y: Scale) -> Markup {
    let measured = || line.points.iter().filter_map(|p| Some((p.x, p.y?)));
    let path: Vec<String> = measured()
        .enumerate()
        .map(|(i, (px, e))| {
            let letter = if i == 0 { 'M' } else { 'L' };
            format!("{letter}{},{}", at(x.place(px)), at(y.place(e.mean)))
        })
        .collect();
    html! {
        path class={ "curve " (colour(series)) } d=(path.join(" ")) { title { (line.name) } }
        @for (px, estimate) in measured() {
            @let place = (x.place(px), y.place(estimate.mean));
            @if let Some([low, high]) = estimate.ci95 {
                (shape::line("whisker", (place.0, y.place(low)), (place.0, y.place(high))))
            }
            circle class={ "fill " (colour(series)) } cx=(at(place.0)) cy=(at(place.1)) r="3.5" {
                title {
                    (line.name) ", " (figure::number(px)) ": "
                    (figure::with_unit(&figure::estimate(&estimate), &lines.value.unit))
                    ", n = " (estimate.n)
                }
            }
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
