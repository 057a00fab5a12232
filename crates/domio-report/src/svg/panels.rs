//! Panels one below the other that share their columns.
//!
//! Each panel has an axis of its own, so that no reader has to find out which of two axes a mark
//! belongs to. Marks of one kind lie side by side in their order.

use super::axis;
use super::legend::flow;
use super::letters::{SMALL, TITLE, fit, text_width, widest, wrap};
use super::look::colour;
use super::scale::Scale;
use super::shape::{self, Area, DOT, Drawn, PUBLISHED, Xy, course, diamond};
use crate::data::{MarkShape, Panel, PanelCell, Panels};
use crate::written;
use domio_stats::Estimate;
use maud::{Markup, html};
use std::ops::Range;

const LEFT: f64 = 58.0;
const MARGIN: f64 = 6.0;
/// Height of the plot of a linear and of a logarithmic panel.
const LINEAR: f64 = 150.0;
const LOGARITHMIC: f64 = 210.0;
/// Least width of a column: "36.6 s" and "over 100" have to fit.
const COLUMN_MIN: f64 = 56.0;
/// Height of a line of legend, and room of a key before its name.
const LINE: f64 = 18.0;
const KEY: f64 = 24.0;
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
        let (bottom, part) = block(panels, shown, slot, top, width);
        parts.push(part);
        top = bottom + GAP;
    }
    (top - GAP + 4.0, html! { @for part in &parts { (part) } })
}

/// All panels of the columns `shown`, from `top` on; and their lower end. The first block has the
/// legends.
fn block(
    panels: &Panels,
    shown: Range<usize>,
    slot: f64,
    mut top: f64,
    width: f64,
) -> (f64, Markup) {
    let columns = panels.columns.get(shown.clone()).unwrap_or_default();
    let mut parts = Vec::new();
    for panel in &panels.panels {
        let (legend, lines) = match shown.start {
            0 => legend(panel, top + HEADING, width),
            _ => (html! {}, 0),
        };
        let begin = top + HEADING + lines as f64 * LINE + 8.0;
        let frame = Frame::new(panel, begin, slot, columns.len());
        let title = fit(&axis::title(&panel.value, panel.log), TITLE, width);
        let cells = panel.cells.iter().skip(shown.start);
        parts.push(html! {
            (shape::text("heading", (0.0, top + 12.0), &title))
            (legend)
            (frame.axis())
            @for (i, (name, cell)) in columns.iter().zip(cells).enumerate() {
                (frame.cell(i, cell).draw(name))
            }
        });
        top = frame.bottom + GAP;
    }
    let bottom = top - GAP;
    let names: Vec<Vec<String>> = columns.iter().map(|c| lines(c, slot)).collect();
    let most = names.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let content = html! {
        @for part in &parts { (part) }
        @for (i, (lines, name)) in names.iter().zip(columns).enumerate() {
            @for (line, y) in lines.iter().zip(1..) {
                @let place = (middle(i, slot), bottom + 3.0 + NAME * f64::from(y));
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

/// The middle of a column.
fn middle(column: usize, slot: f64) -> f64 {
    LEFT + slot * (column as f64 + 0.5)
}

/// A panel and where it is.
#[derive(Clone, Copy)]
struct Frame<'a> {
    panel: &'a Panel,
    scale: Scale,
    top: f64,
    bottom: f64,
    slot: f64,
    columns: usize,
}

impl<'a> Frame<'a> {
    /// The frame of `columns` of the panel. Its scale is that of all columns.
    fn new(panel: &'a Panel, top: f64, slot: f64, columns: usize) -> Self {
        let bottom = top + if panel.log { LOGARITHMIC } else { LINEAR };
        let values = panel.cells.iter().flat_map(|c| values(panel, c));
        let finite: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let high = finite.iter().copied().fold(0.0, f64::max);
        // Room for what is written above the highest.
        let scale = match panel.log {
            true => Scale::log_of(finite.into_iter().chain([high * 1.5]), bottom, top),
            false => Scale::linear(0.0, high * 1.1, bottom, top),
        };
        Frame {
            panel,
            scale,
            top,
            bottom,
            slot,
            columns,
        }
    }

    fn axis(self) -> Markup {
        let right = LEFT + self.slot * self.columns as f64;
        html! {
            g class="axis" {
                (axis::across(&self.scale.ticks(), [LEFT, right], 6.0))
                @for i in 0..=self.columns {
                    @let x = LEFT + self.slot * i as f64;
                    (shape::line("between", (x, self.top), (x, self.bottom)))
                }
            }
            (shape::line("base", (LEFT, self.bottom), (right, self.bottom)))
        }
    }

    /// What the panel has in `column`.
    fn cell(self, column: usize, cell: &'a PanelCell) -> Cell<'a> {
        Cell {
            frame: self,
            cell,
            x: middle(column, self.slot),
        }
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

/// What a panel has in one column.
struct Cell<'a> {
    frame: Frame<'a>,
    cell: &'a PanelCell,
    /// The middle of the column.
    x: f64,
}

impl Cell<'_> {
    fn place(&self, value: f64) -> f64 {
        self.frame.scale.place(value)
    }

    fn draw(&self, name: &str) -> Markup {
        let Some(mean) = &self.cell.mean else {
            return html! { (self.nothing()) (self.published(None)) };
        };
        let (x, y, Frame { panel, slot, .. }) = (self.x, self.place(mean.mean), self.frame);
        let place = |value: f64| self.place(value);
        let tip = describe(panel, mean, name);
        let half = slot * 0.4;
        let marks = panel.marks.iter().zip(&self.cell.marks);
        html! {
            @if let Some(range) = self.cell.range {
                (draw_range(panel, (x, slot), range.map(place), &tip))
            }
            @if !panel.log { (shape::line_with_tip("mean", (x - half, y), (x + half, y), &tip)) }
            @for (i, ((shape, _), values)) in marks.enumerate() {
                @for (place, value) in self.spread(values).into_iter().zip(values) {
                    (mark(*shape, i, place, &format!("{tip}: {}", written::number(*value))))
                }
            }
            // At the end of the line, or through the triangle.
            @match (mean.ci95.map(|ends| ends.map(place)), panel.log) {
                (Some([low, high]), true) => (shape::line("sure", (x, low), (x, high))),
                (Some(ends), false) => (whisker(ends, x + half)),
                (None, _) => {},
            }
            @if panel.log { (triangle((x, y), &tip)) }
            (self.published(Some(y)))
            (self.label(y))
        }
    }

    /// Places of `values` side by side.
    fn spread(&self, values: &[f64]) -> Vec<Xy> {
        let step = self.frame.slot * USED / values.len().max(2) as f64;
        let first = self.x - step * (values.len() as f64 - 1.0) / 2.0;
        let places = values.iter().enumerate();
        let places = places.map(|(i, value)| (first + step * i as f64, self.place(*value)));
        places.collect()
    }

    /// What stands in a column without a mean, in the middle unless a published value is there.
    fn nothing(&self) -> Markup {
        let frame = self.frame;
        let middle = (frame.top + frame.bottom) / 2.0;
        let lines = wrap(&self.cell.label, SMALL, frame.slot);
        let height = TEXT * lines.len() as f64;
        let printed = self.printed_places(None).into_iter();
        let taken = printed.flat_map(|(value, text)| [around(value, 6.0), above(text)]);
        let taken: Vec<Stretch> = taken.collect();
        let base = free(&taken, middle, height, frame).unwrap_or(middle);
        self.text("middle soft", &lines, base - height + TEXT)
    }

    /// Lines of text, the first with its base line at `first`.
    fn text(&self, class: &str, lines: &[String], first: f64) -> Markup {
        html! {
            @for (i, line) in lines.iter().enumerate() {
                (shape::text(class, (self.x, first + TEXT * i as f64), line))
            }
        }
    }

    /// Published values: a diamond each, with the figure on the side away from the mean.
    fn published(&self, mean: Option<f64>) -> Markup {
        let places = self.printed_places(mean);
        html! {
            @for ((_, text), (y, base)) in self.cell.published.iter().zip(places) {
                (diamond((self.x, y), text))
                (shape::text("middle printed", (self.x, base), text))
            }
        }
    }

    /// Of each published value: the place of its diamond, and the base line of its text, which lies
    /// over no mark where that is possible.
    fn printed_places(&self, mean: Option<f64>) -> Vec<(f64, f64)> {
        let published = || self.cell.published.iter().map(|(v, _)| self.place(*v));
        let mut taken: Vec<Stretch> = published().map(|y| around(y, 6.0)).collect();
        taken.extend(self.drawn(self.cell.marks.iter().flatten(), 4.0));
        taken.extend(mean.map(|mean| around(mean, 6.0)));
        if self.frame.panel.log {
            taken.extend(self.drawn(self.cell.range.iter().flatten(), 2.0));
        }
        let mut places = Vec::new();
        for y in published() {
            let above_mean = mean.is_some_and(|mean| y < mean);
            let wanted = match above_mean || y + 18.0 > self.frame.bottom {
                true => y - 8.0,
                false => y + 17.0,
            };
            let base = free(&taken, wanted, TEXT, self.frame).unwrap_or(wanted);
            taken.push(above(base));
            places.push((y, base));
        }
        places
    }

    /// What marks of `values` take that are twice `half` high, as far as they are drawn.
    fn drawn<'v>(
        &self,
        values: impl Iterator<Item = &'v f64>,
        half: f64,
    ) -> impl Iterator<Item = Stretch> {
        let Frame { panel, scale, .. } = self.frame;
        let log = panel.log;
        let drawn = values.filter(move |v| v.is_finite() && (!log || **v > 0.0));
        drawn.map(move |v| around(scale.place(*v), half))
    }

    /// The mean, which is at `mean`, in figures: beside it, over nothing else that is drawn.
    fn label(&self, mean: f64) -> Markup {
        if self.cell.label.is_empty() {
            return html! {};
        }
        let lines = wrap(&self.cell.label, SMALL, self.frame.slot);
        let height = TEXT * lines.len() as f64;
        let first = self.label_base(height, mean) - height + TEXT;
        self.text("middle value", &lines, first)
    }

    /// The last base line of the label: over nothing; or where there is no such place, over the
    /// thin line of the range, or over that of the interval.
    fn label_base(&self, height: f64, mean: f64) -> f64 {
        let cell = self.cell;
        let between = |[low, high]: [f64; 2]| [self.place(high) - 3.0, self.place(low) + 3.0];
        let mut taken = vec![around(mean, 8.0)];
        taken.extend(self.drawn(cell.marks.iter().flatten(), 5.0));
        for (value, text) in self.printed_places(Some(mean)) {
            taken.extend([around(value, 7.0), above(text)]);
        }
        let interval = cell.mean.and_then(|m| m.ci95).map(between);
        let range = cell.range.map(between);
        let with = |lines: [Option<Stretch>; 2]| -> Option<f64> {
            let lines = lines.into_iter().flatten();
            let all: Vec<Stretch> = taken.iter().copied().chain(lines).collect();
            let top = all.iter().map(|s| s[0]).fold(mean, f64::min);
            free(&all, top - 4.0, height, self.frame)
        };
        with([interval, range])
            .or_else(|| with([interval, None]))
            .or_else(|| with([None, None]))
            .unwrap_or(self.frame.top + height)
    }
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
fn free(taken: &[Stretch], wanted: f64, height: f64, frame: Frame<'_>) -> Option<f64> {
    let fits = |base: &f64| {
        let [top, bottom] = [base - height + 2.0, base + 3.0];
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

fn describe(panel: &Panel, mean: &Estimate, column: &str) -> String {
    let value = written::with_unit(&written::estimate(mean), &panel.value.unit);
    format!("{column}: {} {value}, n = {}", panel.mean, mean.n)
}

fn draw_range(panel: &Panel, (x, slot): (f64, f64), [low, high]: [f64; 2], tip: &str) -> Markup {
    if panel.log {
        let [left, right] = [x - 6.0, x + 6.0];
        let places = [x, low, high, left, high, right, left, low, right];
        return shape::path("thin", &course("M_,_ V_ M_,_ H_ M_,_ H_", &places), tip);
    }
    let size = (slot * 0.8, (low - high).max(0.5));
    Area::new((x - slot * 0.4, high), size).filled("range", tip)
}

fn mark(shape: MarkShape, series: usize, (x, y): Xy, tip: &str) -> Markup {
    let class = format!("mark {}", colour(series));
    match shape {
        MarkShape::Cross => {
            let [left, right, top, bottom] = [x - 3.0, x + 3.0, y - 3.0, y + 3.0];
            let places = [left, top, right, bottom, left, bottom, right, top];
            shape::path(&class, &course("M_,_ L_,_ M_,_ L_,_", &places), tip)
        }
        MarkShape::Box => {
            let area = Area::new((x - 2.5, y - 2.5), (5.0, 5.0));
            area.filled(&format!("mark box {}", colour(series)), tip)
        }
        MarkShape::Ring => shape::dot("mark ring", (x, y), DOT, tip),
        MarkShape::Dash => shape::line_with_tip(&class, (x - 8.0, y), (x + 8.0, y), tip),
    }
}

fn whisker([low, high]: [f64; 2], x: f64) -> Markup {
    let [left, right] = [x - 2.5, x + 2.5];
    let places = [left, low, right, x, low, high, left, high, right];
    shape::whisker(&course("M_,_ H_ M_,_ V_ M_,_ H_", &places))
}

fn triangle((x, y): Xy, tip: &str) -> Markup {
    let places = [x, y - 6.0, x + 6.0, y + 4.5, x - 6.0];
    shape::path("peak", &course("M_,_ L_,_ H_ Z", &places), tip)
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
        let suffix = if interval { ", with 95 % interval" } else { "" };
        keys.push((Key::Mean { interval }, format!("{}{suffix}", panel.mean)));
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

/// The legend of a panel, from `top` on, and its number of rows.
fn legend(panel: &Panel, top: f64, width: f64) -> (Markup, usize) {
    let keys = keys(panel).into_iter();
    let keys = keys.map(|(key, name)| (key, wrap(&name, SMALL, width - LEFT - KEY)));
    let keys: Vec<(Key, Vec<String>)> = keys.collect();
    let sizes = keys
        .iter()
        .map(|(_, lines)| (KEY + widest(lines, SMALL, 0.0), lines.len()));
    let (places, rows) = flow(sizes, [LEFT, width], 14.0);
    let drawn = html! {
        g class="legend" {
            @for ((key, lines), (row, x)) in keys.iter().zip(places) {
                @let y = top + 8.0 + row as f64 * LINE;
                (swatch(key, panel, (x + 9.0, y)))
                @for (i, line) in lines.iter().enumerate() {
                    (shape::text("start", (x + KEY, y + 4.0 + i as f64 * LINE), line))
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
            @if *interval { (whisker([y + 5.0, y - 5.0], x + 7.0)) }
        },
        Key::Range => draw_range(panel, (x, 22.0), [y + 7.0, y - 7.0], ""),
        Key::Mark(shape, series) => mark(*shape, *series, (x, y), ""),
        Key::Published => diamond((x, y), "a diamond"),
    }
}

#[cfg(test)]
mod tests;
