//! Grouped bars with confidence intervals, lying down: names and values are never clipped.
//!
//! Where values span decades the axis is logarithmic. A bar has to begin at zero, which such an
//! axis does not have, so that dots take the place of bars.

use crate::data::{BarGroup, Bars};
use crate::figure;
use crate::svg::legend::{Legend, Swatch, largest};
use crate::svg::scale::{Scale, Tick, spans_decades};
use crate::svg::shape::{self, Area};
use crate::svg::{Drawn, SMALL, at, colour, fit, hatch, text_width, title_below};
use domio_stats::Estimate;
use maud::{Markup, html};

const BAR: f64 = 16.0;
const GAP: f64 = 12.0;
const NAME_SIZE: f64 = 13.0;
/// Height of a name above its bars.
const NAME_LINE: f64 = 17.0;
/// Least width of a bar.
const SEEN: f64 = 1.5;
/// Part of the width that names may take beside their bars.
const NAME_PART: f64 = 0.28;

/// The picture.
pub fn draw(bars: &Bars, width: f64) -> Drawn {
    let names = bars.groups.iter().map(|g| text_width(&g.name, NAME_SIZE));
    let widest = names.fold(30.0, f64::max);
    let beside = widest <= width * NAME_PART;
    let left = if beside { widest + 14.0 } else { 6.0 };
    let name_room = if beside { 0.0 } else { NAME_LINE };
    let legend = legend_of(bars);
    let head = legend.height(0.0, width) + 6.0;
    let printed = bars.published.iter().any(|p| p.value.is_finite());
    let top =
        head + if bars.reference.is_some() { 18.0 } else { 0.0 } + if printed { 20.0 } else { 0.0 };
    let group_height = name_room + bars.series.len().max(1) as f64 * BAR + GAP;
    let bottom = top + group_height * bars.groups.len() as f64;
    // Room for the value that is written after the longest bar.
    let values = bars
        .groups
        .iter()
        .flat_map(|g| (0..g.bars.len()).map(|i| text_of(g, i)));
    let room = values.map(|v| text_width(&v, SMALL)).fold(20.0, f64::max);
    let log = is_log(bars);
    let (first, last) = (left, width - room - 12.0);
    let frame = Frame {
        scale: scale(bars, log, first, last),
        log,
        left,
        right: last,
        top,
        bottom,
        name_room,
        width,
    };
    let groups = || {
        let tops = (0..).map(|i| top + group_height * f64::from(i));
        bars.groups.iter().zip(tops)
    };
    let content = html! {
        (legend.draw(0.0, width, Swatch::Box))
        @if printed { (printed_legend(head + 4.0)) }
        (axis(bars, frame))
        @for (group, y) in groups() { (draw_group(group, bars, &legend, frame, y)) }
        @if !log { (frame.down("base", frame.scale.place(0.0))) }
        (reference(bars, frame))
        // Last, so that nothing is drawn through a figure.
        @for (group, y) in groups() { (values_of_group(group, frame, y)) }
    };
    (bottom + 46.0, content)
}

/// The legend of the series that have a bar.
fn legend_of(bars: &Bars) -> Legend {
    let longest = |series: usize| {
        let of_series = bars
            .groups
            .iter()
            .filter_map(|g| g.bars.get(series)?.as_ref());
        largest(of_series.map(|e| e.mean.abs()))
    };
    let badness: Vec<Option<f64>> = (0..bars.series.len()).map(longest).collect();
    Legend::new(&bars.series, &badness, "the longest bars")
}

/// Where the bars are.
#[derive(Clone, Copy)]
struct Frame {
    scale: Scale,
    log: bool,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Height of the name above the bars of a group; zero where it stands beside them.
    name_room: f64,
    width: f64,
}

impl Frame {
    /// A line from the top of the bars to the bottom.
    fn down(self, class: &str, x: f64) -> Markup {
        shape::line(class, (x, self.top), (x, self.bottom))
    }

    /// The upper end of bar `series` of the group at `top`.
    fn bar_top(self, top: f64, series: usize) -> f64 {
        top + self.name_room + GAP / 2.0 + BAR * series as f64
    }
}

/// Whether the axis is logarithmic.
pub fn is_log(bars: &Bars) -> bool {
    let means = || estimates(bars).map(|e| e.mean);
    let shown = || means().chain(bars.published.iter().map(|p| p.value));
    bars.log
        .unwrap_or_else(|| means().all(|m| m >= 0.0) && spans_decades(shown()))
}

fn axis(bars: &Bars, frame: Frame) -> Markup {
    let mut title = figure::heading(&bars.value.name, &bars.value.unit);
    if frame.log {
        title += ", logarithmic";
    }
    let middle = (frame.left + frame.right) / 2.0;
    let mut ticks: Vec<Tick> = frame.scale.ticks_across();
    // Zero is infinitely far to the left of a logarithmic axis.
    let has_zero = frame.log && estimates(bars).any(|e| e.mean <= 0.0);
    if let Some(first) = ticks.first_mut().filter(|_| has_zero) {
        first.label = format!("0, {}", first.label);
    }
    html! {
        g class="axis" {
            @for tick in ticks {
                @let class = if tick.label.is_empty() { "grid minor" } else { "grid" };
                (frame.down(class, tick.place))
                @let half = text_width(&tick.label, SMALL) / 2.0;
                @let x = tick.place.clamp(half, (frame.width - half).max(half));
                (shape::text("middle", (x, frame.bottom + 16.0), &tick.label))
            }
            (title_below(&title, (middle, frame.bottom + 36.0), frame.width))
        }
    }
}

/// The value to compare with: a line through all groups, named above them.
fn reference(bars: &Bars, frame: Frame) -> Markup {
    let Some((name, value)) = &bars.reference else {
        return html! {};
    };
    let x = frame.scale.place(*value);
    let label = format!("{name}: {}", figure::number(*value));
    let label = fit(&label, SMALL, frame.width);
    let wide = text_width(&label, SMALL);
    let (class, beside) = match x + 6.0 + wide > frame.width {
        true => ("end", (x - 6.0).max(wide)),
        false => ("start", x + 6.0),
    };
    html! {
        g class="reference" {
            (shape::line("here", (x, frame.top - 16.0), (x, frame.bottom)))
            (shape::text(class, (beside, frame.top - 6.0), &label))
        }
    }
}

fn printed_legend(y: f64) -> Markup {
    html! {
        g class="legend" {
            (shape::diamond((9.0, y), "a diamond"))
            (shape::text("start", (26.0, y + 4.0), "printed in the paper"))
        }
    }
}

fn estimates(bars: &Bars) -> impl Iterator<Item = &Estimate> {
    bars.groups.iter().flat_map(|g| g.bars.iter().flatten())
}

fn scale(bars: &Bars, log: bool, first: f64, last: f64) -> Scale {
    let others = bars.reference.iter().map(|(_, value)| *value);
    let others = others.chain(bars.published.iter().map(|p| p.value));
    if log {
        // The lower end of an interval may be next to zero.
        let ends = estimates(bars).flat_map(|e| [e.mean, e.ci95.map_or(e.mean, |[_, h]| h)]);
        return Scale::log_of(ends.chain(others), first, last);
    }
    let ends = estimates(bars).flat_map(|e| drawn(e).unwrap_or([e.mean, e.mean]));
    let finite = ends.chain(others).filter(|v| v.is_finite());
    let (low, high) = finite.fold((0.0_f64, 0.0_f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    Scale::linear(low, high, first, last)
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

fn draw_group(group: &BarGroup, bars: &Bars, legend: &Legend, frame: Frame, top: f64) -> Markup {
    let height = bars.series.len().max(1) as f64 * BAR;
    let first = frame.bar_top(top, 0);
    let (class, place) = match frame.name_room {
        0.0 => ("name end", (frame.left - 10.0, first + height / 2.0 + 4.0)),
        _ => ("name", (0.0, first - 5.0)),
    };
    let name = fit(&group.name, NAME_SIZE, frame.width);
    let measured = group.bars.iter().enumerate();
    let middle = first + height / 2.0;
    let series = |of: &Option<String>| bars.series.iter().position(|s| Some(s) == of.as_ref());
    // Beside its own bar, or in the middle of all.
    let beside = |of: &Option<String>| match series(of) {
        Some(i) => frame.bar_top(top, i) + BAR / 2.0,
        None => middle,
    };
    html! {
        (shape::short_text(class, place, &name, &group.name))
        @for (i, estimate) in measured.filter_map(|(i, bar)| Some((i, bar.as_ref()?))) {
            @let tip = describe(group, bars, i, estimate);
            (draw_bar(legend.look(i), estimate, frame, frame.bar_top(top, i), &tip))
        }
        @for printed in bars.published.iter().filter(|p| p.is_at(&group.name)) {
            @let place = (frame.scale.place(printed.value), beside(&printed.of));
            (shape::diamond(place, &printed.text))
        }
    }
}

fn draw_bar(series: usize, estimate: &Estimate, frame: Frame, top: f64, tip: &str) -> Markup {
    let scale = frame.scale;
    let end = scale.place(estimate.mean);
    let middle = top + BAR / 2.0;
    let whisker =
        drawn(estimate).map(|[low, high]| whisker(scale.place(low), scale.place(high), middle));
    if frame.log {
        return html! {
            (shape::line("guide", (frame.left, middle), (end, middle)))
            @if let Some(whisker) = whisker { (whisker) }
            (dot(series, (end, middle), tip))
        };
    }
    let zero = scale.place(0.0);
    let bar = Area {
        x: zero.min(end),
        y: top + 1.0,
        // A bar of nothing shows that something was measured.
        width: (end - zero).abs().max(SEEN),
        height: BAR - 2.0,
    };
    html! {
        (bar.filled(&format!("fill {}", colour(series)), tip))
        (bar.hatched(&hatch(series)))
        @if let Some(whisker) = whisker { (whisker) }
    }
}

/// A dot, hatched as its series is.
fn dot(series: usize, (x, y): shape::Xy, tip: &str) -> Markup {
    let fill = format!("fill {}", colour(series));
    html! {
        circle class=(fill) cx=(at(x)) cy=(at(y)) r="6" { title { (tip) } }
        circle class="hatch" fill=(hatch(series)) cx=(at(x)) cy=(at(y)) r="6" {}
    }
}

/// What is written beside a bar.
fn text_of(group: &BarGroup, series: usize) -> String {
    let Some(estimate) = group.bars.get(series).and_then(Option::as_ref) else {
        return String::new();
    };
    figure::estimate(estimate) + figure::mark(group.mark(series))
}

fn values_of_group(group: &BarGroup, frame: Frame, top: f64) -> Markup {
    let place = |series: usize, e: &Estimate| {
        let ends = [e.mean, 0.0, e.ci95.unwrap_or_default()[1]];
        let ends = ends.map(|v| frame.scale.place(v));
        let x = ends.into_iter().fold(frame.left, f64::max);
        let room = if frame.log { 10.0 } else { 6.0 };
        (x + room, frame.bar_top(top, series) + BAR / 2.0 + 4.0)
    };
    let class = |series| match group.mark(series) {
        Some(true) => "value better",
        Some(false) => "value worse",
        None => "value",
    };
    let measured = group.bars.iter().enumerate();
    html! {
        @for (i, estimate) in measured.filter_map(|(i, bar)| Some((i, bar.as_ref()?))) {
            (shape::text(class(i), place(i, estimate), &text_of(group, i)))
        }
    }
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
    let name = bars.series.get(series).map_or("", String::as_str);
    let value = figure::with_unit(&figure::estimate(estimate), &bars.value.unit);
    let mark = match group.mark(series) {
        Some(true) => ", better than the first",
        Some(false) => ", worse than the first",
        None => "",
    };
    format!("{}, {name}: {value}, n = {}{mark}", group.name, estimate.n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Printed, Quantity};
    use crate::svg::inspect::faults;
    use crate::svg::{NARROW, WIDE};

    fn bars() -> Bars {
        let estimate = |v: &[f64]| Estimate::of(v);
        Bars {
            value: Quantity::new("share", "%"),
            series: vec!["credit <1>".into(), "credit2".into()],
            groups: vec![
                BarGroup {
                    name: "d1".into(),
                    bars: vec![estimate(&[14.0, 14.4]), estimate(&[12.0, 13.0])],
                    marks: vec![None, Some(false)],
                },
                BarGroup {
                    name: "a & b".into(),
                    bars: vec![None, estimate(&[-3.0])],
                    marks: Vec::new(),
                },
            ],
            reference: Some(("1/7".into(), 14.29)),
            published: vec![Printed {
                at: vec!["d1".into()],
                of: None,
                value: 30.0,
                text: "30 <in print>".into(),
            }],
            ..Bars::default()
        }
    }

    #[test]
    fn every_bar_has_its_value_and_names_are_escaped() {
        let svg = draw(&bars(), WIDE).1.into_string();
        assert_eq!(svg.matches("class=\"value").count(), 3);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 2);
        assert!(svg.contains("a &amp; b") && svg.contains("credit &lt;1&gt;"));
        assert!(!svg.contains("NaN"));
        assert!(svg.contains("1/7: 14.29") && svg.contains("30 &lt;in print&gt;"));
        assert!(
            svg.contains(" −<") && svg.contains("worse than the first"),
            "{svg}"
        );
    }

    #[test]
    fn what_is_printed_of_one_bar_is_beside_the_bar() {
        let mut bars = bars();
        let height = |bars: &Bars| -> f64 {
            let svg = draw(bars, WIDE).1.into_string();
            // The first one is the legend's.
            let path = svg.split("class=\"published\" d=\"M").nth(2).unwrap();
            let y = path.split_once(',').unwrap().1.split_once(' ').unwrap().0;
            y.parse().unwrap()
        };
        let middle = height(&bars);
        bars.published[0].of = Some("credit2".into());
        assert_eq!(height(&bars), middle + BAR / 2.0, "the second of two");
        bars.published[0].of = Some("credit <1>".into());
        assert_eq!(height(&bars), middle - BAR / 2.0);
    }

    #[test]
    fn an_interval_does_not_move_the_axis_to_the_other_side_of_zero() {
        let wide = Estimate::of(&[0.0, 0.0, 300.0]).unwrap();
        assert!(wide.ci95.unwrap()[0] < 0.0);
        assert_eq!(drawn(&wide).unwrap()[0], 0.0);
        let mut bars = bars();
        bars.groups.truncate(1);
        bars.groups[0].bars = vec![Some(wide); bars.series.len()];
        assert_eq!(scale(&bars, false, 100.0, 500.0).place(0.0), 100.0);
    }

    #[test]
    fn values_that_span_decades_are_dots() {
        let mut bars = bars();
        bars.published.clear();
        assert!(!is_log(&bars), "one is negative");
        bars.groups[1].bars[1] = Estimate::of(&[59_681.0, 60_000.0]);
        assert!(is_log(&bars));
        let svg = draw(&bars, WIDE).1.into_string();
        assert!(
            svg.contains("<circle") && svg.contains("logarithmic"),
            "{svg}"
        );
        assert!(!svg.contains("<rect class=\"fill c0\" x=\"50"), "no bar");
        bars.log = Some(false);
        assert!(!draw(&bars, WIDE).1.into_string().contains("<circle"));
        bars.log = None;
        bars.groups[0].bars[0] = Estimate::of(&[0.0]);
        assert!(draw(&bars, WIDE).1.into_string().contains(">0, "));
    }

    #[test]
    fn nothing_is_cut_off() {
        let mut bars = bars();
        for value in [3.0, 123_456.789] {
            for name in [
                "web",
                "a guest whose name is a good deal longer than most names",
            ] {
                bars.groups[0].name = name.into();
                bars.groups[1].bars[1] = Estimate::of(&[value, value * 1.5]);
                for width in [WIDE, NARROW] {
                    let (height, content) = draw(&bars, width);
                    let faults = faults(&content.into_string(), width, height);
                    assert!(faults.is_empty(), "{width}, {name}: {faults:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_to_draw_is_drawn() {
        for width in [WIDE, NARROW] {
            let svg = draw(&Bars::default(), width).1.into_string();
            assert!(!svg.contains("NaN"));
        }
    }
}
