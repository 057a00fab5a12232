//! A comparison of variants as a table.

use crate::figure;
use crate::text::{TextCell, TextColumn, TextTable, Tone, View};
use domio_stats::compare::Comparison;

/// One row a metric, under the heading `rows`, one column a row of `comparison`, each cell a mean
/// with its interval. A cell that differs from the first column beyond the 95 % interval ends in
/// "+" when it is better and "-" when worse. Nothing is left out: columns without room go into
/// further tables. Times have their own unit; the title above the table says that of other figures.
pub fn render(comparison: &Comparison, rows: &str, view: &View) -> String {
    // A long name has one line a word.
    let columns = comparison.rows.iter();
    let columns = columns.map(|row| TextColumn::figures(row.name.replace(' ', "\n")));
    let mut table = TextTable::new([TextColumn::words(rows).whole()].into_iter().chain(columns));
    for (index, metric) in comparison.metrics.iter().enumerate() {
        let cells = comparison.rows.iter().map(|row| match row.cells[index] {
            None => TextCell::new("-", Tone::Dim),
            Some(cell) => {
                let text = figure::cell(&cell.estimate, &metric.unit);
                match cell.better_than_first {
                    // The blank keeps the figures of a column in line.
                    None => TextCell::new(format!("{text}  "), Tone::Plain),
                    Some(true) => TextCell::new(format!("{text} +"), Tone::Good),
                    Some(false) => TextCell::new(format!("{text} -"), Tone::Bad),
                }
            }
        });
        table.row(
            [TextCell::new(&metric.title, Tone::Strong)]
                .into_iter()
                .chain(cells),
        );
    }
    table.render_all(view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::Better;
    use domio_run::Sample;
    use domio_stats::compare::Metric;

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
        let text = render(&comparison, "domain", &View::default());
        assert!(text.contains("wake to run") && !text.contains("[ms]"));
        assert!(text.contains("1.5 ± 1.4 ms +"), "{text}");
        assert!(!text.contains("5.5 ± 1.2 ms +") && text.contains("5.5 ± 1.2"));
    }

    #[test]
    fn every_domain_is_a_row_and_every_variant_a_column_however_many() {
        let metric = |i: usize| Metric {
            key: format!("g{i}"),
            title: format!("domain{i}."),
            unit: "% of one pcpu".into(),
            better: Better::Neither,
        };
        let sample = (0..51).fold(Sample::new(), |s, i| s.with(&format!("g{i}"), 10.0));
        let variants: Vec<_> = (0..9)
            .map(|i| {
                (
                    format!("credit:tslice_ms={i}. domain.rt.pin=4-5"),
                    vec![sample.clone()],
                )
            })
            .collect();
        let comparison = Comparison::of((0..51).map(metric).collect(), &variants);
        let text = render(&comparison, "domain", &View::of_width(80));
        let text = crate::text::table::tests::plain(&text);
        for i in 0..51 {
            assert!(text.contains(&format!("domain{i}. ")), "{i}: {text}");
        }
        for i in 0..9 {
            let label = format!("credit:tslice_ms={i}.");
            assert_eq!(text.matches(&label).count(), 1, "{label}: {text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(!text.contains("of one pcpu"), "the title above says that");
    }
}
