//! The figures beneath each chart.

use crate::data::{
    BarGroup, Bars, Cdf, Chart, DataTable, Lines, Panel, PanelCell, Panels, Sequence, Stack,
    Timeline,
};
use crate::figure;
use domio_core::Runstate;
use domio_stats::Estimate;

/// The tables beneath `chart`.
pub fn of(chart: &Chart) -> Vec<DataTable> {
    match chart {
        Chart::Bars(bars) => vec![of_bars(bars)],
        Chart::Stack(stack) => vec![of_stack(stack)],
        Chart::Cdf(cdf) => vec![of_cdf(cdf)],
        Chart::Timeline(timeline) => vec![of_timeline(timeline)],
        Chart::Panels(panels) => of_panels(panels),
        Chart::Sequence(sequence) => vec![of_sequence(sequence)],
        Chart::Lines(lines) => vec![of_lines(lines)],
        Chart::Table(table) => vec![table.clone()],
        Chart::Claims(_) => Vec::new(),
    }
}

/// Groups by series, with intervals. The longer of the two goes down the page.
pub fn of_bars(bars: &Bars) -> DataTable {
    if bars.series.len() > bars.groups.len().max(4) {
        return series_by_groups(bars);
    }
    let heads = bars
        .series
        .iter()
        .map(|s| figure::heading(s, &bars.value.unit));
    let rows = bars.groups.iter().map(|group| {
        let cells = (0..group.bars.len()).map(|i| marked(group, i));
        let printed = (!bars.published.is_empty()).then(|| printed(bars, group));
        [group.name.clone()]
            .into_iter()
            .chain(cells)
            .chain(printed)
            .collect()
    });
    let last = (!bars.published.is_empty()).then(|| "printed in the paper".to_owned());
    DataTable {
        head: [String::new()]
            .into_iter()
            .chain(heads)
            .chain(last)
            .collect(),
        rows: rows.collect(),
    }
}

/// A bar's figure, with its mark.
fn marked(group: &BarGroup, series: usize) -> String {
    let bar = group.bars.get(series).map_or(String::new(), cell);
    bar + figure::mark(group.mark(series))
}

/// What a paper prints of a group.
fn printed(bars: &Bars, group: &BarGroup) -> String {
    let here = bars.published.iter();
    let here = here.filter(|p| p.is_at(&group.name));
    let told = here.map(|p| match &p.of {
        Some(series) => format!("{series}: {}", p.text),
        None => p.text.clone(),
    });
    told.collect::<Vec<_>>().join(", ")
}

fn series_by_groups(bars: &Bars) -> DataTable {
    let groups = bars.groups.iter();
    let heads = groups.map(|g| figure::heading(&g.name, &bars.value.unit));
    let rows = bars.series.iter().enumerate().map(|(i, name)| {
        let cells = bars.groups.iter().map(|g| match i < g.bars.len() {
            true => marked(g, i),
            false => String::new(),
        });
        [name.clone()].into_iter().chain(cells).collect()
    });
    DataTable {
        head: [String::new()].into_iter().chain(heads).collect(),
        rows: rows.collect(),
    }
}

/// Bars and parts. The longer of the two goes down the page. That is narrow: the unit is told once.
pub fn of_stack(stack: &Stack) -> DataTable {
    let unit = figure::heading("", &stack.value.unit).trim().to_owned();
    let bars: Vec<&str> = stack.bars.iter().map(|b| b.name.as_str()).collect();
    let parts: Vec<&str> = stack.parts.iter().map(String::as_str).collect();
    let down = bars.len() >= parts.len();
    let (rows, columns) = if down { (bars, parts) } else { (parts, bars) };
    let cell = |row: usize, column: usize| {
        let (bar, part) = if down { (row, column) } else { (column, row) };
        let length = stack.bars.get(bar).and_then(|b| b.lengths.get(part));
        length.map_or(String::new(), |length| figure::number(*length))
    };
    let row = |(i, name): (usize, &&str)| {
        let cells = (0..columns.len()).map(|column| cell(i, column));
        [(*name).to_owned()].into_iter().chain(cells).collect()
    };
    let heads = columns.iter().map(|name| (*name).to_owned());
    DataTable {
        head: [unit].into_iter().chain(heads).collect(),
        rows: rows.iter().enumerate().map(row).collect(),
    }
}

fn cell(bar: &Option<Estimate>) -> String {
    match bar {
        Some(estimate) => figure::estimate(estimate),
        None => "not measured".to_owned(),
    }
}

/// Quantiles of each curve. One with fewer observations beyond it than one is not told: it would
/// be the largest again.
pub fn of_cdf(cdf: &Cdf) -> DataTable {
    const QUANTILES: [(&str, f64); 6] = [
        ("50 %", 0.5),
        ("90 %", 0.9),
        ("99 %", 0.99),
        ("99.9 %", 0.999),
        ("99.99 %", 0.9999),
        ("largest", 1.0),
    ];
    let heads = QUANTILES.map(|(name, _)| figure::heading(name, &cdf.value.unit));
    let rows = cdf.series.iter().map(|series| {
        let cells = QUANTILES.map(|(_, q)| {
            let beyond = series.count as f64 * (1.0 - q);
            match series.quantile(q) {
                Some(_) if q < 1.0 && beyond < 1.0 - 1e-9 => "too few".to_owned(),
                Some(value) => figure::number(value),
                None => "none".to_owned(),
            }
        });
        [series.name.clone(), series.count.to_string()]
            .into_iter()
            .chain(cells)
            .collect()
    });
    let first = [cdf.value.name.clone(), "observations".to_owned()];
    DataTable {
        head: first.into_iter().chain(heads).collect(),
        rows: rows.collect(),
    }
}

/// A row a place, a column a line.
pub fn of_lines(lines: &Lines) -> DataTable {
    let mut places: Vec<f64> = lines
        .lines
        .iter()
        .flat_map(|l| l.points.iter().map(|p| p.x))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let unit = &lines.value.unit;
    let printed = !lines.published.is_empty();
    let row = |x: &f64| -> Vec<String> {
        let at = |line: &crate::data::Line| {
            let here = line.points.iter().find(|p| p.x == *x);
            here.map_or(String::new(), |p| cell(&p.y))
        };
        let of_paper = || {
            let here = lines.published.iter().filter(|(place, ..)| place == x);
            here.map(|(.., text)| text.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let cells = lines.lines.iter().map(at);
        let last = printed.then(of_paper);
        [figure::number(*x)]
            .into_iter()
            .chain(cells)
            .chain(last)
            .collect()
    };
    let heads = lines.lines.iter().map(|l| figure::heading(&l.name, unit));
    let first = figure::heading(&lines.along.name, &lines.along.unit);
    let last = printed.then(|| "printed in the paper".to_owned());
    DataTable {
        head: [first].into_iter().chain(heads).chain(last).collect(),
        rows: places.iter().map(row).collect(),
    }
}

/// A table a panel: the mean, the range and the marks by column, which go down the page.
pub fn of_panels(panels: &Panels) -> Vec<DataTable> {
    panels
        .panels
        .iter()
        .map(|panel| of_panel(panel, &panels.columns))
        .collect()
}

fn of_panel(panel: &Panel, columns: &[String]) -> DataTable {
    let title = figure::heading(&panel.value.name, &panel.value.unit);
    let mut head = vec![title, panel.mean.clone()];
    if !panel.range.is_empty() {
        head.push(panel.range.clone());
    }
    head.extend(panel.marks.iter().map(|(_, name)| name.clone()));
    head.extend((!panel.remark.is_empty()).then(|| panel.remark.clone()));
    let none = PanelCell::default();
    let row = |(i, name): (usize, &String)| {
        let shown = panel.cells.get(i).unwrap_or(&none);
        [name.clone()]
            .into_iter()
            .chain(of_cell(panel, shown))
            .collect()
    };
    DataTable {
        head,
        rows: columns.iter().enumerate().map(row).collect(),
    }
}

fn of_cell(panel: &Panel, shown: &PanelCell) -> Vec<String> {
    // Seven of them have to fit beside the rest.
    let list = |values: &[f64]| -> String {
        let texts = values.iter().map(|v| figure::short(*v));
        texts.collect::<Vec<_>>().join(" ")
    };
    let mut cells = vec![cell(&shown.mean)];
    if !panel.range.is_empty() {
        cells.push(match shown.range {
            Some([low, high]) => format!("{} to {}", figure::short(low), figure::short(high)),
            None => String::new(),
        });
    }
    let marks = |i: usize| shown.marks.get(i).map_or(String::new(), |m| list(m));
    cells.extend((0..panel.marks.len()).map(marks));
    cells.extend((!panel.remark.is_empty()).then(|| shown.remark.clone()));
    cells
}

/// Quantiles of each curve.
pub fn of_sequence(sequence: &Sequence) -> DataTable {
    const QUANTILES: [(&str, f64); 4] = [
        ("smallest", 0.0),
        ("50 %", 0.5),
        ("95 %", 0.95),
        ("largest", 1.0),
    ];
    let unit = &sequence.value.unit;
    let heads = QUANTILES.map(|(name, _)| figure::heading(name, unit));
    let rows = sequence.series.iter().map(|(name, values)| {
        let mut row = vec![name.clone(), values.len().to_string()];
        let of = |value: Option<f64>| value.map_or("none".to_owned(), figure::number);
        row.push(of(domio_stats::mean(values)));
        row.extend(QUANTILES.map(|(_, q)| of(domio_stats::quantile(values, q))));
        row
    });
    let first = [
        String::new(),
        "observations".to_owned(),
        figure::heading("mean", unit),
    ];
    DataTable {
        head: first.into_iter().chain(heads).collect(),
        rows: rows.collect(),
    }
}

/// Time in each state by row, clipped to what is shown.
pub fn of_timeline(timeline: &Timeline) -> DataTable {
    const MS: f64 = 1e6;
    let heads = Runstate::ALL.map(|state| figure::heading(state.name(), "ms"));
    let rows = timeline.rows.iter().map(|row| {
        let time = |state| {
            let spans = row.spans.iter().filter(|s| s.state == state);
            let shown = spans.map(|s| {
                let until = s.until_ns.min(timeline.until_ns);
                until.saturating_sub(s.from_ns.max(timeline.from_ns))
            });
            figure::number(shown.sum::<u64>() as f64 / MS)
        };
        let cells = Runstate::ALL.map(time);
        [row.name.clone()].into_iter().chain(cells).collect()
    });
    DataTable {
        head: [String::new()].into_iter().chain(heads).collect(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{CdfSeries, Line, Point, Printed, Quantity, StackBar};

    #[test]
    fn the_longer_side_of_a_stack_goes_down() {
        let mut stack = Stack {
            value: Quantity::new("time", "%"),
            parts: vec!["ring".into(), "work".into()],
            bars: vec![StackBar {
                name: "web".into(),
                lengths: vec![70.0, 30.0],
            }],
        };
        let table = of_stack(&stack);
        assert_eq!(table.head, ["[%]", "web"]);
        assert_eq!(table.rows, [["ring", "70"], ["work", "30"]]);
        stack.bars.push(StackBar {
            name: "db".into(),
            lengths: vec![1.0],
        });
        let table = of_stack(&stack);
        assert_eq!(table.head, ["[%]", "ring", "work"]);
        assert_eq!(table.rows, [["web", "70", "30"], ["db", "1", ""]]);
    }

    #[test]
    fn quantiles_need_observations() {
        let values: Vec<f64> = (0..1_000).map(f64::from).collect();
        let cdf = Cdf {
            value: Quantity::new("wait", "us"),
            series: vec![CdfSeries::of("web", &values)],
        };
        let row = &of_cdf(&cdf).rows[0];
        assert_eq!(
            row[1..],
            ["1000", "500", "900", "990", "999", "too few", "999"]
        );
    }

    #[test]
    fn bars_have_their_marks_and_what_is_printed() {
        let bars = Bars {
            series: vec!["credit".into(), "sedf".into()],
            groups: vec![BarGroup {
                name: "web".into(),
                bars: vec![Estimate::of(&[1.0]), Estimate::of(&[2.0])],
                marks: vec![None, Some(true)],
            }],
            published: vec![Printed {
                at: Vec::new(),
                of: None,
                value: 3.0,
                text: "3".into(),
            }],
            ..Bars::default()
        };
        assert_eq!(of_bars(&bars).rows, [["web", "1", "2 +", "3"]]);
    }

    #[test]
    fn lines_are_columns() {
        let line = |name: &str, xs: &[f64]| Line {
            name: name.into(),
            points: xs
                .iter()
                .map(|x| Point {
                    x: *x,
                    y: Estimate::of(&[x * 2.0]),
                })
                .collect(),
        };
        let lines = Lines {
            lines: vec![line("a", &[1.0, 2.0]), line("b", &[2.0])],
            published: vec![(2.0, 5.0, "5 s".into())],
            ..Lines::default()
        };
        let rows = of_lines(&lines).rows;
        assert_eq!(rows, [["1", "2", "", ""], ["2", "4", "4", "5 s"]]);
    }
}
