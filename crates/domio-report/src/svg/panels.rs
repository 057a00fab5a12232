//! Panels one below the other that share their columns.
//!
//! Each panel has an axis of its own, so that no reader has to find out which of two axes a mark
//! belongs to. Marks of one kind lie side by side in their order.

use crate::data::{MarkShape, Panel, PanelCell, Panels};
use crate::figure;
use crate::svg::scale::Scale;
use crate::svg::shape::{self, Area, Xy, diamond};
use crate::svg::{Drawn, SMALL, at, colour, fit, text_width, wrap};
use maud::{Markup, html};
use std::ops::Range;

const LEFT: f64 = 58.0;
const MARGIN: f64 = 6.0;
/// Height of the plot of a linear and of a logarithmic panel.
const LINEAR: f64 = 150.0;
const LOGARITHMIC: f64 = 210.0;
/// Least width of a column: "36.6 s" and "over 100" have to fit.
const COLUMN_MIN: f64 = 56.0;
/// Height of a line of legend.
const LINE: f64 = 18.0;
/// Room between two panels.
const GAP: f64 = 24.0;
/// Room of a panel's heading.
const HEADING: f64 = 18.0;
/// Part of a column that marks take.
const USED: f64 = 0.62;
/// Distance of lines of text.
const TEXT: f64 = 13.0;
/// Distance of lines of names of columns.
const NAME: f64 = 14.0;
/// What is written about published values.
const PUBLISHED: &str = "printed in the paper";

/// The picture. Where the columns do not fit side by side, they go on below, on the same scales.
pub fn draw(panels: &Panels, width: f64) -> Drawn {
    let count = panels.columns.len().max(1);
    let fitting = ((width - LEFT - MARGIN) / COLUMN_MIN).floor().max(1.0) as usize;
    let rows = count.div_ceil(fitting);
    let a_row = count.div_ceil(rows);
    let slot = (width - LEFT - MARGIN) / a_row as f64;
    let mut top = 4.0;
    let mut parts = Vec::new();
    for row in 0..rows {
        let shown = row * a_row..((row + 1) * a_row).min(panels.columns.len());
        let (bottom, part) = block(panels, shown, slot, top, width, row == 0);
        parts.push(part);
        top = bottom + GAP;
    }
    let content = html! { @for part in &parts { (part) } };
    (top - GAP + 4.0, content)
}

/// All panels of the columns `shown`, from `top` on; and their lower end.
fn block(
    panels: &Panels,
    shown: Range<usize>,
    slot: f64,
    mut top: f64,
    width: f64,
    with_legend: bool,
) -> (f64, Markup) {
    let mut parts = Vec::new();
    for panel in &panels.panels {
        let (legend, lines) = match with_legend {
            true => legend(panel, top + HEADING, width),
            false => (html! {}, 0),
        };
        let begin = top + HEADING + lines as f64 * LINE + 8.0;
        let frame = Frame::new(panel, begin, slot, shown.len());
        parts.push((panel, top, legend, frame));
        top = frame.bottom + GAP;
    }
    let bottom = top - GAP;
    let columns = panels.columns.get(shown.clone()).unwrap_or_default();
    let names: Vec<Vec<String>> = columns.iter().map(|c| lines(c, slot)).collect();
    let most = names.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let content = html! {
        @for (panel, top, legend, frame) in &parts {
            (shape::text("heading", (0.0, top + 12.0), &fit(&heading(panel), 13.0, width)))
            (legend)
            (axis(*frame))
            @for (i, name) in columns.iter().enumerate() {
                @if let Some(cell) = panel.cells.get(shown.start + i) {
                    (draw_cell(panel, cell, *frame, i, name))
                }
            }
        }
        @for (i, (lines, name)) in names.iter().zip(columns).enumerate() {
            @for (line, y) in lines.iter().zip(1..) {
                @let place = (LEFT + slot * (i as f64 + 0.5), bottom + 3.0 + NAME * f64::from(y));
                (shape::short_text("middle", place, line, name))
            }
        }
    };
    (bottom + 8.0 + NAME * most, content)
}

/// The name of a column: cut after its hyphens where it is wider than the column.
fn lines(name: &str, width: f64) -> Vec<String> {
    let parts: Vec<&str> = match text_width(name, SMALL) > width {
        true => name.split_inclusive('-').collect(),
        false => vec![name],
    };
    let fitted = parts.into_iter().map(|part| fit(part, SMALL, width));
    fitted.collect()
}

fn heading(panel: &Panel) -> String {
    let title = figure::heading(&panel.value.name, &panel.value.unit);
    match panel.log {
        true => title + ", logarithmic",
        false => title,
    }
}

/// Where a panel is.
#[derive(Clone, Copy)]
struct Frame {
    scale: Scale,
    top: f64,
    bottom: f64,
    slot: f64,
    columns: usize,
}

impl Frame {
    /// The frame of `columns` of the panel. Its scale is that of all columns.
    fn new(panel: &Panel, top: f64, slot: f64, columns: usize) -> Self {
        let height = if panel.log { LOGARITHMIC } else { LINEAR };
        let bottom = top + height;
        let values = || panel.cells.iter().flat_map(|c| values(panel, c));
        let finite = || values().filter(|v| v.is_finite());
        let scale = if panel.log {
            let high = finite().fold(0.0, f64::max);
            // Room for what is written above the highest.
            Scale::log_of(finite().chain([high * 1.5]), bottom, top)
        } else {
            let high = finite().fold(0.0, f64::max);
            // Here as well.
            Scale::linear(0.0, high * 1.1, bottom, top)
        };
        Frame {
            scale,
            top,
            bottom,
            slot,
            columns,
        }
    }

    fn right(self) -> f64 {
        LEFT + self.slot * self.columns as f64
    }

    fn middle(self, column: usize) -> f64 {
        LEFT + self.slot * (column as f64 + 0.5)
    }
}

/// All values of a cell that the axis has to reach. The lower end of a range around a mean is no
/// such value on a logarithmic axis: it may be next to zero.
fn values(panel: &Panel, cell: &PanelCell) -> Vec<f64> {
    let mut values: Vec<f64> = cell.marks.iter().flatten().copied().collect();
    values.extend(cell.published.iter().map(|(value, _)| *value));
    if let Some(mean) = &cell.mean {
        values.push(mean.mean);
        values.extend(mean.ci95.map(|[_, high]| high));
    }
    if let Some([low, high]) = cell.range {
        values.push(high);
        values.extend((!panel.log).then_some(low));
    }
    values
}

fn axis(frame: Frame) -> Markup {
    let right = frame.right();
    html! {
        g class="axis" {
            @for tick in frame.scale.ticks() {
                @let class = if tick.label.is_empty() { "grid minor" } else { "grid" };
                (shape::line(class, (LEFT, tick.place), (right, tick.place)))
                (shape::text("end", (LEFT - 6.0, tick.place + 4.0), &tick.label))
            }
            @for i in 0..=frame.columns {
                @let x = LEFT + frame.slot * i as f64;
                (shape::line("between", (x, frame.top), (x, frame.bottom)))
            }
        }
        (shape::line("base", (LEFT, frame.bottom), (right, frame.bottom)))
    }
}

fn draw_cell(panel: &Panel, cell: &PanelCell, frame: Frame, column: usize, name: &str) -> Markup {
    let x = frame.middle(column);
    let place = |value: f64| frame.scale.place(value);
    let Some(mean) = &cell.mean else {
        return html! {
            (nothing(panel, cell, frame, x))
            (published(panel, cell, frame, (x, None)))
        };
    };
    let tip = describe(panel, cell, name);
    html! {
        @if let Some([low, high]) = cell.range {
            (draw_range(panel, (x, frame.slot), place(low), place(high), &tip))
        }
        @if !panel.log {
            @let (half, y) = (frame.slot * 0.4, place(mean.mean));
            (shape::line_with_tip("mean", (x - half, y), (x + half, y), &tip))
        }
        @for ((shape, _), (i, values)) in panel.marks.iter().zip(cell.marks.iter().enumerate()) {
            @for (place, value) in spread(values, x, frame).into_iter().zip(values) {
                @let tip = format!("{tip}: {}", figure::number(*value));
                (mark(*shape, i, place, &tip))
            }
        }
        @if let Some([low, high]) = mean.ci95 {
            (interval(panel, (place(low), place(high)), x, frame.slot))
        }
        @if panel.log { (triangle((x, place(mean.mean)), &tip)) }
        (published(panel, cell, frame, (x, Some(place(mean.mean)))))
        (label(panel, cell, frame, x))
    }
}

/// The interval of the mean: at the end of a line, through a triangle.
fn interval(panel: &Panel, (low, high): (f64, f64), x: f64, slot: f64) -> Markup {
    match panel.log {
        true => shape::line("sure", (x, low), (x, high)),
        false => whisker((low, high), x + slot * 0.4),
    }
}

fn draw_range(panel: &Panel, (x, slot): (f64, f64), low: f64, high: f64, tip: &str) -> Markup {
    if panel.log {
        let path = format!(
            "M{0},{1} V{2} M{3},{2} H{4} M{3},{1} H{4}",
            at(x),
            at(low),
            at(high),
            at(x - 6.0),
            at(x + 6.0)
        );
        return html! { path class="thin" d=(path) { title { (tip) } } };
    }
    let area = Area {
        x: x - slot * 0.4,
        y: high,
        width: slot * 0.8,
        height: (low - high).max(0.5),
    };
    area.filled("range", tip)
}

/// Places of `values` side by side around `x`.
fn spread(values: &[f64], x: f64, frame: Frame) -> Vec<Xy> {
    let width = frame.slot * USED;
    let step = width / values.len().max(2) as f64;
    let first = x - step * (values.len() as f64 - 1.0) / 2.0;
    let places = values.iter().enumerate();
    places
        .map(|(i, value)| (first + step * i as f64, frame.scale.place(*value)))
        .collect()
}

fn mark(shape: MarkShape, series: usize, (x, y): Xy, tip: &str) -> Markup {
    let colour = colour(series);
    match shape {
        MarkShape::Cross => {
            let path = format!(
                "M{0},{1} L{2},{3} M{0},{3} L{2},{1}",
                at(x - 3.0),
                at(y - 3.0),
                at(x + 3.0),
                at(y + 3.0)
            );
            html! { path class={ "mark " (colour) } d=(path) { title { (tip) } } }
        }
        MarkShape::Box => {
            let area = Area {
                x: x - 2.5,
                y: y - 2.5,
                width: 5.0,
                height: 5.0,
            };
            area.filled(&format!("mark box {colour}"), tip)
        }
        MarkShape::Ring => html! {
            circle class="mark ring" cx=(at(x)) cy=(at(y)) r="3.5" { title { (tip) } }
        },
        MarkShape::Dash => {
            let line = format!("mark {colour}");
            shape::line_with_tip(&line, (x - 8.0, y), (x + 8.0, y), tip)
        }
    }
}

fn whisker((low, high): (f64, f64), x: f64) -> Markup {
    let path = format!(
        "M{0},{1} H{2} M{3},{1} V{4} M{0},{4} H{2}",
        at(x - 2.5),
        at(low),
        at(x + 2.5),
        at(x),
        at(high)
    );
    html! { path class="halo" d=(path) {} path class="whisker" d=(path) {} }
}

fn triangle((x, y): Xy, tip: &str) -> Markup {
    let path = format!(
        "M{},{} L{},{} H{} Z",
        at(x),
        at(y - 6.0),
        at(x + 6.0),
        at(y + 4.5),
        at(x - 6.0)
    );
    html! { path class="peak" d=(path) { title { (tip) } } }
}

/// What stands in a column without a mean, in the middle unless a published value is there.
fn nothing(panel: &Panel, cell: &PanelCell, frame: Frame, x: f64) -> Markup {
    let middle = (frame.top + frame.bottom) / 2.0;
    let lines = wrap(&cell.label, SMALL, frame.slot);
    let height = TEXT * lines.len() as f64;
    let taken: Vec<Stretch> = printed_places(panel, cell, frame, None)
        .into_iter()
        .flat_map(|(value, text)| [around(value, 6.0), above(text)])
        .collect();
    let first = free(&taken, middle, height, frame).unwrap_or(middle) - height + TEXT;
    html! {
        @for (i, line) in lines.iter().enumerate() {
            (shape::text("middle soft", (x, first + TEXT * i as f64), line))
        }
    }
}

/// Published values: a diamond each, with the figure on the side away from the mean.
fn published(
    panel: &Panel,
    cell: &PanelCell,
    frame: Frame,
    (x, mean): (f64, Option<f64>),
) -> Markup {
    let places = printed_places(panel, cell, frame, mean);
    html! {
        @for ((_, text), (y, base)) in cell.published.iter().zip(places) {
            (diamond((x, y), text))
            (shape::text("middle printed", (x, base), text))
        }
    }
}

/// Of each published value: the place of its diamond, and the base line of its text, which lies
/// over no mark where that is possible.
fn printed_places(
    panel: &Panel,
    cell: &PanelCell,
    frame: Frame,
    mean: Option<f64>,
) -> Vec<(f64, f64)> {
    let place = |value: f64| frame.scale.place(value);
    let drawn = |v: &f64| v.is_finite() && (!panel.log || *v > 0.0);
    let diamonds = cell.published.iter().map(|(v, _)| around(place(*v), 6.0));
    let mut taken: Vec<Stretch> = diamonds.collect();
    let marks = cell.marks.iter().flatten().copied().filter(drawn);
    taken.extend(marks.map(|v| around(place(v), 4.0)));
    taken.extend(mean.map(|mean| around(mean, 6.0)));
    if panel.log {
        let caps = cell.range.into_iter().flatten().filter(drawn);
        taken.extend(caps.map(|v| around(place(v), 2.0)));
    }
    let mut places = Vec::new();
    for (value, _) in &cell.published {
        let y = place(*value);
        let above_mean = mean.is_some_and(|mean| y < mean);
        let below = y + 18.0 > frame.bottom;
        let wanted = if above_mean || below {
            y - 8.0
        } else {
            y + 17.0
        };
        let base = free(&taken, wanted, TEXT, frame).unwrap_or(wanted);
        taken.push(above(base));
        places.push((y, base));
    }
    places
}

/// A part of a column from top to bottom.
type Stretch = [f64; 2];

/// What a text with its base line at `y` takes.
fn above(y: f64) -> Stretch {
    [y - 10.0, y + 3.0]
}

/// What a mark at `y` takes that is twice `half` high.
fn around(y: f64, half: f64) -> Stretch {
    [y - half, y + half]
}

/// The last base line of a text that is `height` high and lies over nothing that is `taken`: the
/// one that is nearest to `wanted`. `None` when there is no room.
fn free(taken: &[Stretch], wanted: f64, height: f64, frame: Frame) -> Option<f64> {
    let text = |base: f64| [base - height + 2.0, base + 3.0];
    let fits = |base: &f64| {
        let [top, bottom] = text(*base);
        let apart = |s: &Stretch| bottom <= s[0] || s[1] <= top;
        top >= frame.top && bottom <= frame.bottom && taken.iter().all(apart)
    };
    let away = |base: &f64| (base - wanted).abs();
    let ends = taken
        .iter()
        .flat_map(|[top, bottom]| [top - 3.0, bottom + height - 2.0]);
    let bases = ends.chain([wanted, frame.bottom - 3.0]).filter(fits);
    bases.min_by(|a, b| away(a).total_cmp(&away(b)))
}

/// The mean in figures: beside it, over nothing else that is drawn.
fn label(panel: &Panel, cell: &PanelCell, frame: Frame, x: f64) -> Markup {
    let (Some(mean), false) = (&cell.mean, cell.label.is_empty()) else {
        return html! {};
    };
    let lines = wrap(&cell.label, SMALL, frame.slot);
    let height = TEXT * lines.len() as f64;
    let base = label_base(panel, cell, frame, height, frame.scale.place(mean.mean));
    html! {
        @for (i, line) in lines.iter().enumerate() {
            @let y = base - height + TEXT * (i + 1) as f64;
            (shape::text("middle value", (x, y), line))
        }
    }
}

/// The last base line of the label: over nothing; or where there is no such place, over the thin
/// line of the range, or over that of the interval.
fn label_base(panel: &Panel, cell: &PanelCell, frame: Frame, height: f64, mean: f64) -> f64 {
    let place = |value: f64| frame.scale.place(value);
    let drawn = |v: &f64| v.is_finite() && (!panel.log || *v > 0.0);
    let between = |[low, high]: [f64; 2]| [place(high) - 3.0, place(low) + 3.0];
    let mut taken = vec![around(mean, 8.0)];
    let marks = cell.marks.iter().flatten().copied().filter(drawn);
    taken.extend(marks.map(|v| around(place(v), 5.0)));
    for (value, text) in printed_places(panel, cell, frame, Some(mean)) {
        taken.extend([around(value, 7.0), above(text)]);
    }
    let interval = cell.mean.and_then(|m| m.ci95).map(between);
    let range = cell.range.map(between);
    let with = |lines: [Option<Stretch>; 2]| -> Option<f64> {
        let lines = lines.into_iter().flatten();
        let all: Vec<Stretch> = taken.iter().copied().chain(lines).collect();
        let top = all.iter().map(|s| s[0]).fold(mean, f64::min);
        free(&all, top - 4.0, height, frame)
    };
    with([interval, range])
        .or_else(|| with([interval, None]))
        .or_else(|| with([None, None]))
        .unwrap_or(frame.top + height)
}

fn describe(panel: &Panel, cell: &PanelCell, column: &str) -> String {
    let Some(mean) = &cell.mean else {
        return column.to_owned();
    };
    let value = figure::with_unit(&figure::estimate(mean), &panel.value.unit);
    format!("{column}: {} {value}, n = {}", panel.mean, mean.n)
}

/// What a line of the legend shows.
enum Key {
    Mean { interval: bool },
    Range,
    Mark(MarkShape, usize),
    Published,
}

/// The keys of what the panel has: a kind of mark that no column has is left out.
fn keys(panel: &Panel) -> Vec<(Key, String)> {
    let measured = || panel.cells.iter().filter(|cell| cell.mean.is_some());
    let mut keys = Vec::new();
    if measured().next().is_some() {
        let interval = measured().any(|c| c.mean.is_some_and(|mean| mean.ci95.is_some()));
        let name = match interval {
            true => format!("{}, with 95 % interval", panel.mean),
            false => panel.mean.clone(),
        };
        keys.push((Key::Mean { interval }, name));
    }
    if measured().any(|cell| cell.range.is_some()) {
        keys.push((Key::Range, panel.range.clone()));
    }
    for (i, (shape, name)) in panel.marks.iter().enumerate() {
        let has = |cell: &PanelCell| cell.marks.get(i).is_some_and(|marks| !marks.is_empty());
        if measured().any(has) {
            keys.push((Key::Mark(*shape, i), name.clone()));
        }
    }
    if panel.cells.iter().any(|cell| !cell.published.is_empty()) {
        keys.push((Key::Published, PUBLISHED.to_owned()));
    }
    keys
}

/// Of each key its row, its x and the lines of its name; and the number of rows.
fn legend_places(panel: &Panel, width: f64) -> (Vec<(usize, f64, Vec<String>)>, usize) {
    let (mut row, mut x, mut height) = (0, LEFT, 1);
    let mut places = Vec::new();
    for (_, name) in keys(panel) {
        let lines = wrap(&name, SMALL, width - LEFT - 24.0);
        let widest = lines
            .iter()
            .map(|l| text_width(l, SMALL))
            .fold(0.0, f64::max);
        if x > LEFT && x + 24.0 + widest > width {
            (row, x, height) = (row + height, LEFT, 1);
        }
        height = height.max(lines.len());
        places.push((row, x, lines));
        x += 24.0 + widest + 14.0;
    }
    (places, row + height)
}

/// The legend of a panel, from `top` on, and its number of rows.
fn legend(panel: &Panel, top: f64, width: f64) -> (Markup, usize) {
    let (places, rows) = legend_places(panel, width);
    let entries = keys(panel).into_iter().zip(places);
    let drawn = html! {
        g class="legend" {
            @for ((key, _), (row, x, lines)) in entries {
                @let y = top + 8.0 + row as f64 * LINE;
                (swatch(&key, panel, (x + 9.0, y)))
                @for (i, line) in lines.iter().enumerate() {
                    (shape::text("start", (x + 24.0, y + 4.0 + i as f64 * LINE), line))
                }
            }
        }
    };
    (drawn, rows)
}

fn swatch(key: &Key, panel: &Panel, (x, y): Xy) -> Markup {
    match key {
        Key::Mean { interval } if panel.log => html! {
            @if *interval { (shape::line("sure", (x, y + 8.0), (x, y - 8.0))) }
            (triangle((x, y), ""))
        },
        Key::Mean { interval } => html! {
            (shape::line("mean", (x - 9.0, y), (x + 7.0, y)))
            @if *interval { (whisker((y + 5.0, y - 5.0), x + 7.0)) }
        },
        Key::Range => draw_range(panel, (x, 22.0), y + 7.0, y - 7.0, ""),
        Key::Mark(shape, series) => mark(*shape, *series, (x, y), ""),
        Key::Published => diamond((x, y), "a diamond"),
    }
}

#[cfg(test)]
mod tests;
