//! Grouped bars with confidence intervals, lying down: names and values are never clipped.

use crate::data::{BarGroup, Bars};
use crate::figure;
use crate::svg::scale::Scale;
use crate::svg::text_width;
use crate::svg::{SMALL, Swatch, WIDTH, at, colour, fit, hatch, legend, legend_height, picture};
use domio_lab::Estimate;
use maud::{Markup, html};

const BAR: f64 = 16.0;
const GAP: f64 = 12.0;
const NAME_SIZE: f64 = 13.0;
const NAME_MAX: f64 = 220.0;

/// The picture.
pub fn draw(bars: &Bars) -> Markup {
    let names = bars.groups.iter().map(|g| text_width(&g.name, NAME_SIZE));
    let left = names.fold(40.0, f64::max).min(NAME_MAX) + 14.0;
    let reference_room = if bars.reference.is_some() { 18.0 } else { 0.0 };
    let top = legend_height(&bars.series, left) + 6.0 + reference_room;
    let group_height = bars.series.len().max(1) as f64 * BAR + GAP;
    let bottom = top + group_height * bars.groups.len() as f64;
    // Room for the value that is written after the longest bar.
    let values = estimates(bars).map(|e| text_width(&figure::estimate(e), SMALL));
    let right = WIDTH - values.fold(20.0, f64::max) - 14.0;
    let frame = Frame {
        scale: scale(bars, left, right),
        left,
        right,
        top,
        bottom,
    };
    let groups = || {
        let tops = (0..).map(|i| top + group_height * f64::from(i));
        bars.groups.iter().zip(tops)
    };
    let content = html! {
        (legend(&bars.series, left, Swatch::Box))
        (axis(bars, frame))
        @for (group, y) in groups() { (draw_group(group, bars, frame, y)) }
        line class="base" x1=(at(frame.scale.place(0.0))) x2=(at(frame.scale.place(0.0))) y1=(at(top)) y2=(at(bottom)) {}
        (reference(bars, frame))
        // Last, so that nothing is drawn through a figure.
        @for (group, y) in groups() { (values_of_group(group, frame.scale, y)) }
    };
    let label = format!("Bar chart of {}", bars.value.name);
    picture(bottom + 46.0, &label, &content)
}

/// Where the bars are.
#[derive(Clone, Copy)]
struct Frame {
    scale: Scale,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

fn axis(bars: &Bars, frame: Frame) -> Markup {
    html! {
        g class="axis" {
            @for tick in frame.scale.ticks() {
                line class="grid" x1=(at(tick.place)) x2=(at(tick.place)) y1=(at(frame.top)) y2=(at(frame.bottom)) {}
                text class="middle" x=(at(tick.place)) y=(at(frame.bottom + 16.0)) { (tick.label) }
            }
            text class="middle title" x=(at((frame.left + frame.right) / 2.0)) y=(at(frame.bottom + 36.0)) {
                (figure::heading(&bars.value.name, &bars.value.unit))
            }
        }
    }
}

/// The value to compare with: a line through all groups, named above them.
fn reference(bars: &Bars, frame: Frame) -> Markup {
    html! {
        @if let Some((name, value)) = &bars.reference {
            @let x = frame.scale.place(*value);
            @let right_half = x > (frame.left + frame.right) / 2.0;
            g class="reference" {
                line x1=(at(x)) x2=(at(x)) y1=(at(frame.top - 16.0)) y2=(at(frame.bottom)) {}
                text class=(if right_half { "end" } else { "start" }) x=(at(if right_half { x - 6.0 } else { x + 6.0 })) y=(at(frame.top - 6.0)) {
                    (fit(&format!("{name}: {}", figure::number(*value)), SMALL, WIDTH / 2.0))
                }
            }
        }
    }
}

fn estimates(bars: &Bars) -> impl Iterator<Item = &Estimate> {
    bars.groups.iter().flat_map(|g| g.bars.iter().flatten())
}

fn scale(bars: &Bars, left: f64, right: f64) -> Scale {
    let ends = estimates(bars).flat_map(|e| e.ci95.unwrap_or([e.mean, e.mean]));
    let all = ends.chain(bars.reference.iter().map(|(_, value)| *value));
    let (low, high) = all
        .filter(|v| v.is_finite())
        .fold((0.0_f64, 0.0_f64), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    Scale::linear(low, high, left, right)
}

fn draw_group(group: &BarGroup, bars: &Bars, frame: Frame, top: f64) -> Markup {
    let middle = top + (bars.series.len().max(1) as f64 * BAR + GAP) / 2.0;
    let zero = frame.scale.place(0.0);
    html! {
        text class="name end" x=(at(frame.left - 10.0)) y=(at(middle + 4.0)) {
            title { (group.name) }
            (fit(&group.name, NAME_SIZE, NAME_MAX))
        }
        @for (i, bar) in group.bars.iter().enumerate() {
            @if let Some(estimate) = bar {
                @let y = bar_top(top, i) + 1.0;
                @let end = frame.scale.place(estimate.mean);
                @let (x, width) = (zero.min(end), (end - zero).abs());
                rect class={ "fill " (colour(i)) } x=(at(x)) y=(at(y)) width=(at(width)) height=(at(BAR - 2.0)) {
                    title { (describe(group, bars, i, estimate)) }
                }
                rect class="hatch" fill=(hatch(i)) x=(at(x)) y=(at(y)) width=(at(width)) height=(at(BAR - 2.0)) {}
                @if let Some([low, high]) = estimate.ci95 {
                    (whisker(frame.scale.place(low), frame.scale.place(high), y - 1.0 + BAR / 2.0))
                }
            }
        }
    }
}

fn values_of_group(group: &BarGroup, scale: Scale, top: f64) -> Markup {
    let after = |e: &Estimate| {
        let ends = e.ci95.unwrap_or_default();
        [e.mean, 0.0, ends[1]]
            .map(|v| scale.place(v))
            .into_iter()
            .fold(0.0, f64::max)
    };
    html! {
        @for (i, estimate) in group.bars.iter().enumerate().filter_map(|(i, b)| Some((i, b.as_ref()?))) {
            text class="value" x=(at(after(estimate) + 6.0)) y=(at(bar_top(top, i) + BAR / 2.0 + 4.0)) {
                (figure::estimate(estimate))
            }
        }
    }
}

fn bar_top(group_top: f64, series: usize) -> f64 {
    group_top + GAP / 2.0 + BAR * series as f64
}

fn whisker(low: f64, high: f64, y: f64) -> Markup {
    let cap = 3.5;
    let path = format!(
        "M{0},{1} V{2} M{0},{3} H{4} M{4},{1} V{2}",
        at(low),
        at(y - cap),
        at(y + cap),
        at(y),
        at(high)
    );
    html! { path class="halo" d=(path) {} path class="whisker" d=(path) {} }
}

fn describe(group: &BarGroup, bars: &Bars, series: usize, estimate: &Estimate) -> String {
    let series = bars.series.get(series).map_or("", String::as_str);
    let value = figure::with_unit(&figure::estimate(estimate), &bars.value.unit);
    format!("{}, {series}: {value}, n = {}", group.name, estimate.n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Quantity;

    fn bars() -> Bars {
        let estimate = |v: &[f64]| Estimate::of(v);
        Bars {
            value: Quantity::new("share", "%"),
            series: vec!["credit <1>".into(), "credit2".into()],
            groups: vec![
                BarGroup {
                    name: "d1".into(),
                    bars: vec![estimate(&[14.0, 14.4]), estimate(&[12.0, 13.0])],
                },
                BarGroup {
                    name: "a & b".into(),
                    bars: vec![None, estimate(&[-3.0])],
                },
            ],
            reference: Some(("1/7".into(), 14.29)),
        }
    }

    #[test]
    fn every_bar_has_its_value_and_names_are_escaped() {
        let svg = draw(&bars()).into_string();
        assert_eq!(svg.matches("class=\"value\"").count(), 3);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 2);
        assert!(svg.contains("a &amp; b") && svg.contains("credit &lt;1&gt;"));
        assert!(!svg.contains("NaN"));
        assert!(svg.contains("1/7: 14.29"));
    }

    #[test]
    fn nothing_to_draw_is_drawn() {
        let svg = draw(&Bars::default()).into_string();
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"));
    }
}
