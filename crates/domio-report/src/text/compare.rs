//! A comparison of policies as a table.

use crate::figure;
use crate::text::{Cell, Column, Table, Tone, View};
use domio_stats::compare::{Comparison, Metric};

/// One row a policy, one column a metric, each cell a mean with its interval. A cell that differs
/// from the first row beyond the 95 % interval ends in "+" when it is better and "-" when worse.
pub fn render(comparison: &Comparison, view: &View) -> String {
    let title = |m: &Metric| figure::head(&m.title, &m.unit);
    let metrics = comparison.metrics.iter();
    let columns = metrics.map(|m| Column::figures(title(m)));
    let mut table = Table::new([Column::words("policy").whole()].into_iter().chain(columns));
    for row in &comparison.rows {
        let cells = row.cells.iter().zip(&comparison.metrics);
        let cells = cells.map(|(cell, metric)| match cell {
            None => Cell::new("-", Tone::Dim),
            Some(cell) => {
                let text = figure::cell(&cell.estimate, &metric.unit);
                match cell.better_than_first {
                    // The blank keeps the figures of a column in line.
                    None => Cell::new(format!("{text}  "), Tone::Plain),
                    Some(true) => Cell::new(format!("{text} +"), Tone::Good),
                    Some(false) => Cell::new(format!("{text} -"), Tone::Bad),
                }
            }
        });
        table.row(
            [Cell::new(&row.name, Tone::Strong)]
                .into_iter()
                .chain(cells),
        );
    }
    table.render(view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_run::Sample;
    use domio_run::measure::Better;

    #[test]
    fn differences_are_marked_in_words() {
        let metric = Metric {
            key: "ms".into(),
            title: "wake to run".into(),
            unit: "ms".into(),
            better: Better::Lower,
        };
        let samples = |list: [f64; 3]| list.map(|v| Sample::new().with("ms", v)).to_vec();
        let comparison = Comparison::of(
            vec![metric],
            &[
                ("credit".into(), samples([5.0, 6.0, 5.5])),
                ("credit2".into(), samples([1.0, 2.1, 1.4])),
                ("rtds".into(), Vec::new()),
            ],
        );
        let text = render(&comparison, &View::default());
        assert!(text.contains("wake to run") && !text.contains("[ms]"));
        assert!(text.contains("1.5 ± 1.4 ms +"), "{text}");
        assert!(!text.contains("5.5 ± 1.2 ms +") && text.contains("5.5 ± 1.2"));
    }
}
