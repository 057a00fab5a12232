//! The figures beneath each chart.

use crate::data::{Bars, Cdf, DataTable, Panel, PanelCell, Panels, Sequence, Stack, Timeline};
use crate::figure;
use domio_core::Runstate;
use domio_lab::{Estimate, stats};

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
        let cells = group.bars.iter().map(cell);
        [group.name.clone()].into_iter().chain(cells).collect()
    });
    DataTable {
        head: [String::new()].into_iter().chain(heads).collect(),
        rows: rows.collect(),
    }
}

fn series_by_groups(bars: &Bars) -> DataTable {
    let groups = bars.groups.iter();
    let heads = groups.map(|g| figure::heading(&g.name, &bars.value.unit));
    let rows = bars.series.iter().enumerate().map(|(i, name)| {
        let cells = bars
            .groups
            .iter()
            .map(|g| g.bars.get(i).map_or(String::new(), cell));
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

/// Quantiles of each curve.
pub fn of_cdf(cdf: &Cdf) -> DataTable {
    const QUANTILES: [(&str, f64); 6] = [
        ("10 %", 0.1),
        ("50 %", 0.5),
        ("90 %", 0.9),
        ("99 %", 0.99),
        ("99.9 %", 0.999),
        ("largest", 1.0),
    ];
    let heads = QUANTILES.map(|(name, _)| figure::heading(name, &cdf.value.unit));
    let rows = cdf.series.iter().map(|series| {
        let cells = QUANTILES.map(|(_, q)| match series.quantile(q) {
            Some(value) => figure::number(value),
            None => "none".to_owned(),
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
        row.push(of(stats::mean(values)));
        row.extend(QUANTILES.map(|(_, q)| of(stats::quantile(values, q))));
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
    use crate::data::{Quantity, StackBar};

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
}
