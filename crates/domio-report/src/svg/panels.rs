//! Panels one below the other that share their columns.
//!
//! Each panel has an axis of its own, so that no reader has to find out which of two axes a mark
//! belongs to. Marks of one kind lie side by side in their order.

use crate::data::{MarkShape, Panel, PanelCell, Panels};
use crate::figure;
use crate::svg::scale::Scale;
use crate::svg::shape::{self, Area, Place};
use crate::svg::{SMALL, WIDTH, at, colour, fit, picture, text_width};
use maud::{Markup, html};

const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 6.0;
/// Height of the plot of a linear and of a logarithmic panel.
const LINEAR: f64 = 150.0;
const LOGARITHMIC: f64 = 210.0;
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
/// What is written about published values.
const PUBLISHED: &str = "printed in the paper";

/// The picture.
pub fn draw(panels: &Panels) -> Markup {
    let slot = (RIGHT - LEFT) / panels.columns.len().max(1) as f64;
    let mut top = 4.0;
    let mut parts = Vec::new();
    for panel in &panels.panels {
        let (legend, lines) = legend(panel, top + HEADING);
        let frame = Frame::new(panel, top + HEADING + lines as f64 * LINE + 8.0, slot);
        parts.push((panel, top, legend, frame));
        top = frame.bottom + GAP;
    }
    let bottom = top - GAP;
    let names: Vec<Vec<String>> = panels.columns.iter().map(|c| lines(c, slot)).collect();
    let most = names.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let content = html! {
        @for (panel, top, legend, frame) in &parts {
            (shape::text("heading", (0.0, top + 12.0), &heading(panel)))
            (legend)
            (axis(*frame, panels.columns.len()))
            @for (i, cell) in panel.cells.iter().enumerate() {
                (draw_cell(panel, cell, *frame, i, &panels.columns))
            }
        }
        @for (i, (lines, name)) in names.iter().zip(&panels.columns).enumerate() {
            @for (line, y) in lines.iter().zip(1..) {
                @let place = (LEFT + slot * (i as f64 + 0.5), bottom + 3.0 + 14.0 * f64::from(y));
                (shape::short_text("middle", place, line, name))
            }
        }
    };
    let names: Vec<&str> = panels
        .panels
        .iter()
        .map(|p| p.value.name.as_str())
        .collect();
    let label = format!("Chart of {} by configuration", names.join(", "));
    picture(bottom + 12.0 + 14.0 * most, &label, &content)
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
}

impl Frame {
    fn new(panel: &Panel, top: f64, slot: f64) -> Self {
        let height = if panel.log { LOGARITHMIC } else { LINEAR };
        let bottom = top + height;
        let values = || panel.cells.iter().flat_map(|c| values(panel, c));
        let finite = || values().filter(|v| v.is_finite());
        let scale = if panel.log {
            let positive = || finite().filter(|v| *v > 0.0);
            let low = positive().min_by(f64::total_cmp).unwrap_or(1.0);
            let high = positive().max_by(f64::total_cmp).unwrap_or(1.0);
            // Room for what is written above the highest.
            Scale::log(low, high * 1.5, bottom, top)
        } else {
            let high = finite().fold(0.0, f64::max);
            Scale::linear(0.0, high * 1.02, bottom, top)
        };
        Frame {
            scale,
            top,
            bottom,
            slot,
        }
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

fn axis(frame: Frame, columns: usize) -> Markup {
    html! {
        g class="axis" {
            @for tick in frame.scale.ticks() {
                @let class = if tick.label.is_empty() { "grid minor" } else { "grid" };
                (shape::line(class, (LEFT, tick.place), (RIGHT, tick.place)))
                (shape::text("end", (LEFT - 6.0, tick.place + 4.0), &tick.label))
            }
            @for i in 0..=columns {
                @let x = LEFT + frame.slot * i as f64;
                (shape::line("between", (x, frame.top), (x, frame.bottom)))
            }
        }
        (shape::line("base", (LEFT, frame.bottom), (RIGHT, frame.bottom)))
    }
}

fn draw_cell(
    panel: &Panel,
    cell: &PanelCell,
    frame: Frame,
    column: usize,
    columns: &[String],
) -> Markup {
    let x = frame.middle(column);
    let place = |value: f64| frame.scale.place(value);
    let name = columns.get(column).map_or("", String::as_str);
    let Some(mean) = &cell.mean else {
        return html! {
            (shape::text("middle soft", (x, (frame.top + frame.bottom) / 2.0), &cell.label))
            (published(cell, frame, x, None))
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
        (published(cell, frame, x, Some(place(mean.mean))))
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
fn spread(values: &[f64], x: f64, frame: Frame) -> Vec<Place> {
    let width = frame.slot * USED;
    let step = width / values.len().max(2) as f64;
    let first = x - step * (values.len() as f64 - 1.0) / 2.0;
    let places = values.iter().enumerate();
    places
        .map(|(i, value)| (first + step * i as f64, frame.scale.place(*value)))
        .collect()
}

fn mark(shape: MarkShape, series: usize, (x, y): Place, tip: &str) -> Markup {
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

fn triangle((x, y): Place, tip: &str) -> Markup {
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

/// Published values: a diamond each, with the figure on the side away from the mean.
fn published(cell: &PanelCell, frame: Frame, x: f64, mean: Option<f64>) -> Markup {
    html! {
        @for (value, text) in &cell.published {
            @let y = frame.scale.place(*value);
            @let above = mean.is_some_and(|mean| y < mean);
            @let below = y + 18.0 > frame.bottom;
            @let base = if above || below { y - 8.0 } else { y + 17.0 };
            (diamond((x, y), text))
            (shape::text("middle printed", (x, base), text))
        }
    }
}

fn diamond((x, y): Place, text: &str) -> Markup {
    let path = format!(
        "M{0},{1} L{2},{3} L{0},{4} L{5},{3} Z",
        at(x),
        at(y - 5.5),
        at(x + 5.5),
        at(y),
        at(y + 5.5),
        at(x - 5.5)
    );
    html! { path class="published" d=(path) { title { (PUBLISHED) ": " (text) } } }
}

/// The mean in figures: above everything, or below everything when a published figure is there.
fn label(panel: &Panel, cell: &PanelCell, frame: Frame, x: f64) -> Markup {
    if cell.label.is_empty() {
        return html! {};
    }
    let places: Vec<f64> = drawn(panel, cell).map(|v| frame.scale.place(v)).collect();
    let top = places.iter().copied().fold(frame.bottom, f64::min);
    let bottom = places.iter().copied().fold(frame.top, f64::max);
    let lines: Vec<&str> = cell.label.lines().collect();
    let height = TEXT * lines.len() as f64;
    let mut printed = cell.published.iter().map(|(v, _)| frame.scale.place(*v));
    let taken = printed.any(|y| y > top - 9.0 - height - TEXT && y < top + 2.0 * TEXT);
    let first = match taken {
        true => (bottom + 17.0).min(frame.bottom - 4.0 - height + TEXT),
        false => (top - 9.0 - height + TEXT).max(frame.top + 10.0),
    };
    html! {
        @for (i, line) in lines.iter().enumerate() {
            (shape::text("middle value", (x, first + TEXT * i as f64), line))
        }
    }
}

/// Values between whose places nothing may be written.
fn drawn<'a>(panel: &Panel, cell: &'a PanelCell) -> impl Iterator<Item = f64> + 'a {
    let ends = cell.range.into_iter().flatten();
    let interval = cell.mean.iter().flat_map(|m| m.ci95.into_iter().flatten());
    let mean = cell.mean.iter().map(|m| m.mean);
    let marks = cell.marks.iter().flatten().copied();
    let log = panel.log;
    ends.chain(interval)
        .chain(mean)
        .chain(marks)
        .filter(move |v| v.is_finite() && (!log || *v > 0.0))
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
    Mean,
    Range,
    Mark(MarkShape, usize),
    Published,
}

fn keys(panel: &Panel) -> Vec<(Key, String)> {
    let mut keys = vec![(Key::Mean, format!("{}, with 95 % interval", panel.mean))];
    if !panel.range.is_empty() {
        keys.push((Key::Range, panel.range.clone()));
    }
    for (i, (shape, name)) in panel.marks.iter().enumerate() {
        keys.push((Key::Mark(*shape, i), name.clone()));
    }
    if panel.cells.iter().any(|cell| !cell.published.is_empty()) {
        keys.push((Key::Published, PUBLISHED.to_owned()));
    }
    keys
}

/// Row and x of each key; and the number of rows.
fn legend_places(panel: &Panel) -> (Vec<(usize, f64)>, usize) {
    let (mut row, mut x) = (0, LEFT);
    let mut places = Vec::new();
    for (_, name) in keys(panel) {
        let width = 24.0 + text_width(&name, SMALL) + 14.0;
        if x > LEFT && x + width > RIGHT {
            row += 1;
            x = LEFT;
        }
        places.push((row, x));
        x += width;
    }
    (places, row + 1)
}

/// The legend of a panel, from `top` on, and its number of rows.
fn legend(panel: &Panel, top: f64) -> (Markup, usize) {
    let (places, rows) = legend_places(panel);
    let entries = keys(panel).into_iter().zip(places);
    let drawn = html! {
        g class="legend" {
            @for ((key, name), (row, x)) in entries {
                @let y = top + 8.0 + row as f64 * LINE;
                (swatch(&key, panel, (x + 9.0, y)))
                (shape::text("start", (x + 24.0, y + 4.0), &name))
            }
        }
    };
    (drawn, rows)
}

fn swatch(key: &Key, panel: &Panel, (x, y): Place) -> Markup {
    match key {
        Key::Mean if panel.log => html! {
            (shape::line("sure", (x, y + 8.0), (x, y - 8.0)))
            (triangle((x, y), ""))
        },
        Key::Mean => html! {
            (shape::line("mean", (x - 9.0, y), (x + 7.0, y)))
            (whisker((y + 5.0, y - 5.0), x + 7.0))
        },
        Key::Range => draw_range(panel, (x, 22.0), y + 7.0, y - 7.0, ""),
        Key::Mark(shape, series) => mark(*shape, *series, (x, y), ""),
        Key::Published => diamond((x, y), "a diamond"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Quantity;
    use domio_lab::Estimate;

    fn cell(values: &[f64]) -> PanelCell {
        PanelCell {
            mean: Estimate::of(values),
            label: "9 ms".into(),
            range: Some([-3.0, 40.0]),
            marks: vec![vec![1.0, 2.0, 30.0]],
            published: vec![(36_600.0, "36.6 s".into())],
            remark: String::new(),
        }
    }

    fn panels(log: bool) -> Panels {
        let panel = Panel {
            value: Quantity::new("latency", "ms"),
            log,
            mean: "average".into(),
            range: "deviation".into(),
            marks: vec![(MarkShape::Dash, "median <1>".into())],
            remark: String::new(),
            cells: vec![cell(&[8.0, 10.0]), PanelCell::default()],
        };
        Panels {
            columns: vec!["orig".into(), "a & b".into()],
            panels: vec![panel.clone(), panel],
        }
    }

    #[test]
    fn every_value_is_drawn_inside_the_picture() {
        for log in [false, true] {
            let svg = draw(&panels(log)).into_string();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.contains("a &amp; b") && svg.contains("median &lt;1&gt;"));
            assert_eq!(svg.matches(">36.6 s<").count(), 2, "{svg}");
            assert_eq!(
                svg.matches("class=\"value").count() + svg.matches("middle value").count(),
                2
            );
        }
    }

    #[test]
    fn the_axis_reaches_what_was_published() {
        let panels = panels(true);
        let frame = Frame::new(&panels.panels[0], 0.0, 60.0);
        assert!(frame.scale.place(36_600.0) > 0.0);
        assert_eq!(frame.scale.place(-3.0), frame.bottom, "below the axis");
        let linear = Frame::new(&self::panels(false).panels[0], 0.0, 60.0);
        assert_eq!(linear.scale.place(0.0), linear.bottom);
    }

    #[test]
    fn marks_lie_side_by_side_in_order() {
        let panels = panels(false);
        let frame = Frame::new(&panels.panels[0], 0.0, 60.0);
        let places = spread(&[1.0, 2.0, 30.0], 100.0, frame);
        assert_eq!(places[1].0, 100.0);
        assert!(
            places
                .windows(2)
                .all(|p| p[0].0 < p[1].0 && p[0].1 >= p[1].1)
        );
    }

    #[test]
    fn a_legend_stays_inside_the_picture() {
        let mut panel = panels(true).panels.remove(0);
        panel.mean = "a long name of a mean ".repeat(3);
        panel.range = "a long name of a range ".repeat(2);
        let (places, rows) = legend_places(&panel);
        assert!(rows > 1 && places.iter().all(|(row, x)| *row < rows && *x < RIGHT));
    }
}
