//! Bars that are made of parts, lying down.

use super::axis::{self, BELOW};
use super::legend::{Legend, Swatch};
use super::letters::{SMALL, text_width};
use super::rows::BarRows;
use super::scale::Scale;
use super::shape::{self, Area, Drawn};
use crate::data::{Stack, StackBar};
use crate::written;
use maud::{Markup, html};

const BAR: f64 = 22.0;
/// Least width of a part that is there.
const SEEN: f64 = 1.0;
/// Room for half of the last tick's label.
const MARGIN: f64 = 24.0;

/// The picture.
pub fn draw(stack: &Stack, width: f64) -> Drawn {
    let sum = |part: usize| {
        let lengths = stack.bars.iter().filter_map(|bar| known(bar).nth(part));
        Some(lengths.sum::<f64>()).filter(|sum| *sum > 0.0)
    };
    let parts = stack.parts.iter().enumerate();
    let legend = Legend::new(parts.map(|(i, name)| (name, sum(i))), "the largest");
    let top = legend.height(width) + 6.0;
    let rows = BarRows::new(stack.bars.iter().map(|b| &b.name), BAR, top, width);
    let ends = [rows.left, width - MARGIN];
    let sums = stack.bars.iter().map(|b| known(b).sum::<f64>());
    let scale = Scale::linear(0.0, sums.fold(0.0, f64::max), ends[0], ends[1]);
    let title = axis::title(&stack.value, false);
    let content = html! {
        (legend.draw(width, Swatch::Box))
        g class="axis" {
            @for tick in scale.ticks_across() {
                (axis::down("grid", &tick, tick.place.max(8.0), [top, rows.bottom]))
            }
            (axis::title_below(&title, ends, rows.bottom, width))
        }
        @for (row, bar) in stack.bars.iter().enumerate() {
            (rows.name(row, &bar.name))
            (draw_bar(bar, stack, &legend, scale, rows.begin(row)))
        }
        (rows.down("base", scale.place(0.0)))
    };
    (rows.bottom + BELOW, content)
}

/// Lengths that can be drawn.
fn known(bar: &StackBar) -> impl Iterator<Item = f64> {
    let drawn = |v: &f64| if v.is_finite() { v.max(0.0) } else { 0.0 };
    bar.lengths.iter().map(drawn)
}

fn draw_bar(bar: &StackBar, stack: &Stack, legend: &Legend, scale: Scale, top: f64) -> Markup {
    let mut end = 0.0;
    let parts = known(bar).enumerate().map(|(i, length)| {
        let from = scale.place(end);
        end += length;
        let width = (scale.place(end) - from).max(SEEN);
        (i, length, from, width)
    });
    let parts: Vec<_> = parts.filter(|(_, length, ..)| *length > 0.0).collect();
    html! {
        @for (i, length, from, width) in &parts {
            @let part = Area::new((*from, top), (*width, BAR));
            (part.of_series("fill", legend.look(*i), &describe(bar, stack, *i, *length)))
        }
        // Last, so that nothing is drawn through a figure.
        @for (_, length, from, width) in &parts {
            @let figure = written::number(*length);
            @if text_width(&figure, SMALL) + 10.0 <= *width {
                @let place = (from + width / 2.0, top + BAR / 2.0 + 4.0);
                (shape::text("value middle", place, &figure))
            }
        }
    }
}

fn describe(bar: &StackBar, stack: &Stack, part: usize, length: f64) -> String {
    let part = stack.parts.get(part).map_or("", String::as_str);
    let value = written::with_unit(&written::number(length), &stack.value.unit);
    format!("{}, {part}: {value}", bar.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Quantity;
    use crate::svg::inspect::faults;
    use crate::svg::{NARROW, WIDE};

    fn stack(lengths: &[f64]) -> Stack {
        Stack {
            value: Quantity::new("time", "%"),
            parts: vec!["<run queue>".into(), "ring".into(), "work".into()],
            bars: vec![StackBar {
                name: "a & b".into(),
                lengths: lengths.to_vec(),
            }],
        }
    }

    #[test]
    fn parts_follow_one_another() {
        let scale = Scale::linear(0.0, 100.0, 0.0, 100.0);
        let stack = stack(&[60.0, 0.0, 40.0]);
        let sums = [Some(60.0), None, Some(40.0)];
        let legend = Legend::new(stack.parts.iter().zip(sums), "");
        let svg = draw_bar(&stack.bars[0], &stack, &legend, scale, 0.0).into_string();
        let at = |x: f64, width: f64| {
            let (x, width) = (crate::svg::shape::at(x), crate::svg::shape::at(width));
            format!("x=\"{x}\" y=\"0\" width=\"{width}\"")
        };
        assert!(
            svg.contains(&at(0.0, 60.0)) && svg.contains(&at(60.0, 40.0)),
            "{svg}"
        );
        assert_eq!(
            svg.matches("class=\"fill").count(),
            2,
            "nothing for nothing"
        );
    }

    #[test]
    fn figures_stand_where_there_is_room_and_names_are_escaped() {
        let svg = draw(&stack(&[97.0, 0.3, 2.7]), WIDE).1.into_string();
        assert_eq!(svg.matches("class=\"value middle\"").count(), 1);
        assert!(svg.contains("a &amp; b, ring: 0.3 %"));
        assert!(svg.contains("&lt;run queue&gt;"));
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        for stack in [Stack::default(), stack(&[f64::NAN, -1.0]), stack(&[])] {
            let svg = draw(&stack, WIDE).1.into_string();
            assert!(!svg.contains("NaN"));
        }
    }

    #[test]
    fn nothing_is_cut_off() {
        let mut stack = stack(&[97.0, 0.3, 2.7]);
        for name in [
            "web",
            "a driver domain whose name is a good deal longer than most",
        ] {
            stack.bars[0].name = name.into();
            stack.parts[1] = format!("the wait of {name} for the event-channel scan");
            for width in [WIDE, NARROW] {
                let (height, content) = draw(&stack, width);
                let faults = faults(&content.into_string(), width, height);
                assert!(faults.is_empty(), "{width}: {faults:?}");
            }
        }
    }
}
