//! Grouped bars with confidence intervals, lying down: names and values are never clipped.
//!
//! Where values span decades the axis is logarithmic. A bar has to begin at zero, which such an
//! axis does not have, so that dots take the place of bars.

use super::axis::{self, BELOW};
use super::legend::{Legend, Swatch, largest, printed};
use super::letters::{SMALL, fit, text_width, widest};
use super::look::{colour, hatch};
use super::rows::BarRows;
use super::scale::{Scale, spans_decades};
use super::shape::{self, Area, Drawn, Xy, at, course};
use crate::data::{BarGroup, Bars};
use crate::written;
use domio_stats::Estimate;
use maud::{Markup, html};

const BAR: f64 = 16.0;
/// Least width of a bar.
const SEEN: f64 = 1.5;

/// The picture.
pub fn draw(bars: &Bars, width: f64) -> Drawn {
    let legend = legend_of(bars);
    let head = legend.height(width) + 6.0;
    let has_printed = bars.published.iter().any(|p| p.value.is_finite());
    let reference = if bars.reference.is_some() { 18.0 } else { 0.0 };
    let top = head + reference + if has_printed { 20.0 } else { 0.0 };
    let height = bars.series.len().max(1) as f64 * BAR;
    let rows = BarRows::new(bars.groups.iter().map(|g| &g.name), height, top, width);
    // Room for the value that is written after the longest bar.
    let values = bars
        .groups
        .iter()
        .flat_map(|g| measured(g).map(|(i, e)| text_of(g, i, e)));
    let right = width - widest(values, SMALL, 20.0) - 12.0;
    let log = is_log(bars);
    let frame = Frame {
        bars,
        scale: scale(bars, log, rows.left, right),
        log,
        right,
        rows,
    };
    let groups = || bars.groups.iter().enumerate();
    let content = html! {
        (legend.draw(width, Swatch::Box))
        @if has_printed { (printed(head + 4.0)) }
        (frame.axis())
        @for (row, group) in groups() { (frame.group(row, group, &legend)) }
        @if !log { (rows.down("base", frame.scale.place(0.0))) }
        (frame.reference())
        // Last, so that nothing is drawn through a figure.
        @for (row, group) in groups() { (frame.values(row, group)) }
    };
    (rows.bottom + BELOW, content)
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
    let series = bars.series.iter().enumerate();
    Legend::new(
        series.map(|(i, name)| (name, longest(i))),
        "the longest bars",
    )
}

/// Whether the axis is logarithmic.
fn is_log(bars: &Bars) -> bool {
    let means = || estimates(bars).map(|e| e.mean);
    let shown = || means().chain(bars.published.iter().map(|p| p.value));
    bars.log
        .unwrap_or_else(|| means().all(|m| m >= 0.0) && spans_decades(shown()))
}

fn estimates(bars: &Bars) -> impl Iterator<Item = &Estimate> {
    bars.groups.iter().flat_map(|g| g.bars.iter().flatten())
}

/// What was measured of a group, by series.
fn measured(group: &BarGroup) -> impl Iterator<Item = (usize, &Estimate)> {
    let bars = group.bars.iter().enumerate();
    bars.filter_map(|(series, bar)| Some((series, bar.as_ref()?)))
}

fn scale(bars: &Bars, log: bool, first: f64, last: f64) -> Scale {
    let others = bars.reference.iter().map(|(_, value)| *value);
    let others = others.chain(bars.published.iter().map(|p| p.value));
    let ends = estimates(bars).flat_map(|e| match log {
        // The lower end of an interval may be next to zero.
        true => [e.mean, e.ci95.map_or(e.mean, |[_, high]| high)],
        false => drawn(e).unwrap_or([e.mean, e.mean]),
    });
    Scale::of(log, ends.chain(others), first, last)
}

/// The interval as far as it is on the mean's side of zero: a time or a share cannot be negative,
/// and an axis that began there would only waste the room. The figure beside the bar has it all.
fn drawn(estimate: &Estimate) -> Option<[f64; 2]> {
    let ends = estimate.ci95?;
    Some(match estimate.mean {
        mean if mean >= 0.0 => ends.map(|end| end.max(0.0)),
        _ => ends.map(|end| end.min(0.0)),
    })
}

/// What is written beside a bar.
fn text_of(group: &BarGroup, series: usize, estimate: &Estimate) -> String {
    written::estimate(estimate) + written::mark(group.mark(series))
}

/// Where the bars are.
struct Frame<'a> {
    bars: &'a Bars,
    rows: BarRows,
    scale: Scale,
    log: bool,
    right: f64,
}

impl Frame<'_> {
    /// The middle of the bar of `series` in `row`.
    fn middle(&self, row: usize, series: usize) -> f64 {
        self.rows.begin(row) + BAR * series as f64 + BAR / 2.0
    }

    fn axis(&self) -> Markup {
        let BarRows {
            left,
            top,
            bottom,
            width,
            ..
        } = self.rows;
        let mut ticks = self.scale.ticks_across();
        // Zero is infinitely far to the left of a logarithmic axis.
        let has_zero = self.log && estimates(self.bars).any(|e| e.mean <= 0.0);
        if let Some(first) = ticks.first_mut().filter(|_| has_zero) {
            first.label = format!("0, {}", first.label);
        }
        let title = axis::title(&self.bars.value, self.log);
        html! {
            g class="axis" {
                @for tick in &ticks {
                    @let half = tick.half_width();
                    @let middle = tick.place.clamp(half, (width - half).max(half));
                    (axis::down(tick.class(), tick, middle, [top, bottom]))
                }
                (axis::title_below(&title, [left, self.right], bottom, width))
            }
        }
    }

    /// The value to compare with: a line through all groups, named above them.
    fn reference(&self) -> Markup {
        let Some((name, value)) = &self.bars.reference else {
            return html! {};
        };
        let BarRows {
            top, bottom, width, ..
        } = self.rows;
        let x = self.scale.place(*value);
        let label = format!("{name}: {}", written::number(*value));
        let label = fit(&label, SMALL, width);
        let wide = text_width(&label, SMALL);
        let (class, beside) = match x + 6.0 + wide > width {
            true => ("end", (x - 6.0).max(wide)),
            false => ("start", x + 6.0),
        };
        html! {
            g class="reference" {
                (shape::line("here", (x, top - 16.0), (x, bottom)))
                (shape::text(class, (beside, top - 6.0), &label))
            }
        }
    }

    fn group(&self, row: usize, group: &BarGroup, legend: &Legend) -> Markup {
        let Frame { bars, rows, .. } = self;
        let all = rows.begin(row) + bars.series.len().max(1) as f64 * BAR / 2.0;
        let series = |of: &Option<String>| bars.series.iter().position(|s| Some(s) == of.as_ref());
        // Beside its own bar, or in the middle of all.
        let beside = |of| series(of).map_or(all, |i| self.middle(row, i));
        html! {
            (rows.name(row, &group.name))
            @for (i, estimate) in measured(group) {
                @let tip = describe(group, bars, i, estimate);
                (self.bar(legend.look(i), estimate, self.middle(row, i), &tip))
            }
            @for printed in bars.published.iter().filter(|p| p.is_at(&group.name)) {
                @let place = (self.scale.place(printed.value), beside(&printed.of));
                (shape::diamond(place, &printed.text))
            }
        }
    }

    fn bar(&self, look: usize, estimate: &Estimate, middle: f64, tip: &str) -> Markup {
        let place = |value: f64| self.scale.place(value);
        let end = place(estimate.mean);
        let whisker = drawn(estimate).map(|ends| whisker(ends.map(place), middle));
        if self.log {
            return html! {
                (shape::line("guide", (self.rows.left, middle), (end, middle)))
                (whisker.unwrap_or_default())
                (dot(look, (end, middle), tip))
            };
        }
        let zero = place(0.0);
        // A bar of nothing shows that something was measured.
        let size = ((end - zero).abs().max(SEEN), BAR - 2.0);
        let bar = Area::new((zero.min(end), middle - BAR / 2.0 + 1.0), size);
        html! { (bar.of_series("fill", look, tip)) (whisker.unwrap_or_default()) }
    }

    fn values(&self, row: usize, group: &BarGroup) -> Markup {
        let place = |series: usize, e: &Estimate| {
            let ends = [e.mean, 0.0, e.ci95.unwrap_or_default()[1]];
            let ends = ends.map(|v| self.scale.place(v));
            let x = ends.into_iter().fold(self.rows.left, f64::max);
            let room = if self.log { 10.0 } else { 6.0 };
            (x + room, self.middle(row, series) + 4.0)
        };
        let class = |series| match group.mark(series) {
            Some(true) => "value better",
            Some(false) => "value worse",
            None => "value",
        };
        html! {
            @for (i, estimate) in measured(group) {
                (shape::text(class(i), place(i, estimate), &text_of(group, i, estimate)))
            }
        }
    }
}

/// A dot, hatched as its series is.
fn dot(look: usize, (x, y): Xy, tip: &str) -> Markup {
    html! {
        (shape::dot(&format!("fill {}", colour(look)), (x, y), 6.0, tip))
        circle class="hatch" fill=(hatch(look)) cx=(at(x)) cy=(at(y)) r="6" {}
    }
}

fn whisker([low, high]: [f64; 2], y: f64) -> Markup {
    let [top, bottom] = [y - 3.5, y + 3.5];
    let places = [low, top, bottom, low, y, high, high, top, bottom];
    shape::whisker(&course("M_,_ V_ M_,_ H_ M_,_ V_", &places))
}

fn describe(group: &BarGroup, bars: &Bars, series: usize, estimate: &Estimate) -> String {
    let name = bars.series.get(series).map_or("", String::as_str);
    let value = written::with_unit(&written::estimate(estimate), &bars.value.unit);
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
