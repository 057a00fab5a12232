//! The figures beneath each chart.

use crate::data::{Bars, Cdf, DataTable, Timeline};
use crate::figure;
use domio_core::Runstate;
use domio_lab::Estimate;

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
