//! Bars that are made of parts, lying down.

use crate::data::{Stack, StackBar};
use crate::figure;
use crate::svg::legend::{Legend, Swatch};
use crate::svg::scale::Scale;
use crate::svg::shape::{self, Area};
use crate::svg::{Drawn, SMALL, colour, fit, hatch, text_width, title_below};
use maud::{Markup, html};

const BAR: f64 = 22.0;
const GAP: f64 = 12.0;
const NAME_SIZE: f64 = 13.0;
/// Height of a name above its bar.
const NAME_LINE: f64 = 17.0;
/// Part of the width that names may take beside their bars.
const NAME_PART: f64 = 0.28;
/// Least width of a part that is there.
const SEEN: f64 = 1.0;
/// Room for half of the last tick's label.
const MARGIN: f64 = 24.0;

/// Most bars of one picture.
pub const BARS_MAX: usize = 24;

/// The picture, of the first [`BARS_MAX`] bars.
pub fn draw(stack: &Stack, width: f64) -> Drawn {
    let mut stack = stack.clone();
    stack.bars.truncate(BARS_MAX);
    let stack = &stack;
    let names = stack.bars.iter().map(|b| text_width(&b.name, NAME_SIZE));
    let widest = names.fold(30.0, f64::max);
    let beside = widest <= width * NAME_PART;
    let left = if beside { widest + 14.0 } else { 6.0 };
    let name_room = if beside { 0.0 } else { NAME_LINE };
    let sum = |part: usize| {
        let lengths = stack.bars.iter().filter_map(|bar| known(bar).nth(part));
        Some(lengths.sum::<f64>()).filter(|sum| *sum > 0.0)
    };
    let badness: Vec<Option<f64>> = (0..stack.parts.len()).map(sum).collect();
    let legend = Legend::new(&stack.parts, &badness, "the largest");
    let top = legend.height(0.0, width) + 6.0;
    let row = name_room + BAR + GAP;
    let bottom = top + row * stack.bars.len() as f64;
    let sums = stack.bars.iter().map(|b| known(b).sum::<f64>());
    let scale = Scale::linear(0.0, sums.fold(0.0, f64::max), left, width - MARGIN);
    let title = figure::heading(&stack.value.name, &stack.value.unit);
    let middle = (left + width - MARGIN) / 2.0;
    let down = |class, x| shape::line(class, (x, top), (x, bottom));
    let tops = (0..).map(|i| top + row * f64::from(i) + name_room + GAP / 2.0);
    let content = html! {
        (legend.draw(0.0, width, Swatch::Box))
        g class="axis" {
            @for tick in scale.ticks_across() {
                (down("grid", tick.place))
                (shape::text("middle", (tick.place.max(8.0), bottom + 16.0), &tick.label))
            }
            (title_below(&title, (middle, bottom + 36.0), width))
        }
        @for (bar, y) in stack.bars.iter().zip(tops) {
            @let name = fit(&bar.name, NAME_SIZE, width);
            @let (class, place) = match beside {
                true => ("name end", (left - 10.0, y + BAR / 2.0 + 4.0)),
                false => ("name", (0.0, y - 5.0)),
            };
            (shape::short_text(class, place, &name, &bar.name))
            (draw_bar(bar, stack, &legend, scale, y))
        }
        (down("base", scale.place(0.0)))
    };
    (bottom + 46.0, content)
}

/// Lengths that can be drawn.
fn known(bar: &StackBar) -> impl Iterator<Item = f64> {
    let drawn = |v: &f64| if v.is_finite() { v.max(0.0) } else { 0.0 };
    bar.lengths.iter().map(drawn)
}

fn draw_bar(bar: &StackBar, stack: &Stack, legend: &Legend, scale: Scale, top: f64) -> Markup {
    let mut end = 0.0;
    let parts: Vec<(usize, f64, Area)> = known(bar)
        .enumerate()
        .map(|(i, length)| {
            let from = scale.place(end);
            end += length;
            let area = Area {
                x: from,
                y: top,
                width: (scale.place(end) - from).max(SEEN),
                height: BAR,
            };
            (i, length, area)
        })
        .filter(|(_, length, _)| *length > 0.0)
        .collect();
    html! {
        @for (i, length, area) in &parts {
            @let look = legend.look(*i);
            (area.filled(&format!("fill {}", colour(look)), &describe(bar, stack, *i, *length)))
            (area.hatched(&hatch(look)))
        }
        // Last, so that nothing is drawn through a figure.
        @for (_, length, area) in &parts {
            @let figure = figure::number(*length);
            @if text_width(&figure, SMALL) + 10.0 <= area.width {
                @let place = (area.x + area.width / 2.0, top + BAR / 2.0 + 4.0);
                (shape::text("value middle", place, &figure))
            }
        }
    }
}

fn describe(bar: &StackBar, stack: &Stack, part: usize, length: f64) -> String {
    let part = stack.parts.get(part).map_or("", String::as_str);
    let value = figure::with_unit(&figure::number(length), &stack.value.unit);
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
        let legend = Legend::new(&stack.parts, &[Some(60.0), None, Some(40.0)], "");
        let svg = draw_bar(&stack.bars[0], &stack, &legend, scale, 0.0).into_string();
        let at = |x: f64, width: f64| {
            let (x, width) = (crate::svg::at(x), crate::svg::at(width));
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
