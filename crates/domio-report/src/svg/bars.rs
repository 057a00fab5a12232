//! Grouped bars with confidence intervals, lying down: names and values are never clipped.

use crate::data::{BarGroup, Bars};
use crate::figure;
use crate::svg::scale::Scale;
use crate::svg::shape::{self, Area};
use crate::svg::{
    SMALL, Swatch, WIDTH, at, colour, fit, hatch, legend, legend_height, picture, text_width,
};
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
        (frame.down("base", frame.scale.place(0.0)))
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

impl Frame {
    /// A line from the top of the bars to the bottom.
    fn down(self, class: &str, x: f64) -> Markup {
        shape::line(class, (x, self.top), (x, self.bottom))
    }
}

fn axis(bars: &Bars, frame: Frame) -> Markup {
    let title = figure::heading(&bars.value.name, &bars.value.unit);
    let middle = (frame.left + frame.right) / 2.0;
    html! {
        g class="axis" {
            @for tick in frame.scale.ticks() {
                (frame.down("grid", tick.place))
                (shape::text("middle", (tick.place, frame.bottom + 16.0), &tick.label))
            }
            (shape::text("middle title", (middle, frame.bottom + 36.0), &title))
        }
    }
}

/// The value to compare with: a line through all groups, named above them.
fn reference(bars: &Bars, frame: Frame) -> Markup {
    let Some((name, value)) = &bars.reference else {
        return html! {};
    };
    let x = frame.scale.place(*value);
    let (class, beside) = match x > (frame.left + frame.right) / 2.0 {
        true => ("end", x - 6.0),
        false => ("start", x + 6.0),
    };
    let label = format!("{name}: {}", figure::number(*value));
    html! {
        g class="reference" {
            (shape::line("here", (x, frame.top - 16.0), (x, frame.bottom)))
            (shape::text(class, (beside, frame.top - 6.0), &fit(&label, SMALL, WIDTH / 2.0)))
        }
    }
}

fn estimates(bars: &Bars) -> impl Iterator<Item = &Estimate> {
    bars.groups.iter().flat_map(|g| g.bars.iter().flatten())
}

fn scale(bars: &Bars, left: f64, right: f64) -> Scale {
    let ends = estimates(bars).flat_map(|e| drawn(e).unwrap_or([e.mean, e.mean]));
    let all = ends.chain(bars.reference.iter().map(|(_, value)| *value));
    let (low, high) = all
        .filter(|v| v.is_finite())
        .fold((0.0_f64, 0.0_f64), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    Scale::linear(low, high, left, right)
}

/// The interval as far as it is on the mean's side of zero: a time or a share cannot be negative,
/// and an axis that began there would only waste the room. The figure beside the bar has it all.
fn drawn(estimate: &Estimate) -> Option<[f64; 2]> {
    let [low, high] = estimate.ci95?;
    Some(match estimate.mean {
        mean if mean >= 0.0 => [low.max(0.0), high.max(0.0)],
        _ => [low.min(0.0), high.min(0.0)],
    })
}

fn draw_group(group: &BarGroup, bars: &Bars, frame: Frame, top: f64) -> Markup {
    let middle = top + (bars.series.len().max(1) as f64 * BAR + GAP) / 2.0;
    let name = fit(&group.name, NAME_SIZE, NAME_MAX);
    let measured = group.bars.iter().enumerate();
    html! {
        (shape::short_text("name end", (frame.left - 10.0, middle + 4.0), &name, &group.name))
        @for (i, estimate) in measured.filter_map(|(i, bar)| Some((i, bar.as_ref()?))) {
            @let tip = describe(group, bars, i, estimate);
            (draw_bar(i, estimate, frame.scale, bar_top(top, i), &tip))
        }
    }
}

fn draw_bar(series: usize, estimate: &Estimate, scale: Scale, top: f64, tip: &str) -> Markup {
    let (zero, end) = (scale.place(0.0), scale.place(estimate.mean));
    let bar = Area {
        x: zero.min(end),
        y: top + 1.0,
        width: (end - zero).abs(),
        height: BAR - 2.0,
    };
    html! {
        (bar.filled(&format!("fill {}", colour(series)), tip))
        (bar.hatched(&hatch(series)))
        @if let Some([low, high]) = drawn(estimate) {
            (whisker(scale.place(low), scale.place(high), top + BAR / 2.0))
        }
    }
}

fn values_of_group(group: &BarGroup, scale: Scale, top: f64) -> Markup {
    let place = |series: usize, e: &Estimate| {
        let ends = [e.mean, 0.0, e.ci95.unwrap_or_default()[1]];
        let x = ends.map(|v| scale.place(v)).into_iter().fold(0.0, f64::max);
        (x + 6.0, bar_top(top, series) + BAR / 2.0 + 4.0)
    };
    let measured = group.bars.iter().enumerate();
    html! {
        @for (i, estimate) in measured.filter_map(|(i, bar)| Some((i, bar.as_ref()?))) {
            (shape::text("value", place(i, estimate), &figure::estimate(estimate)))
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
    fn an_interval_does_not_move_the_axis_to_the_other_side_of_zero() {
        let wide = Estimate::of(&[0.0, 0.0, 300.0]).unwrap();
        assert!(wide.ci95.unwrap()[0] < 0.0);
        assert_eq!(drawn(&wide).unwrap()[0], 0.0);
        let mut bars = bars();
        bars.groups.truncate(1);
        bars.groups[0].bars = vec![Some(wide); bars.series.len()];
        assert_eq!(scale(&bars, 100.0, 500.0).place(0.0), 100.0);
    }

    #[test]
    fn nothing_to_draw_is_drawn() {
        let svg = draw(&Bars::default()).into_string();
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"));
    }
}
