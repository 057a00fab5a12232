//! Figures as CSV: one row an observation or an estimate, numbers with every digit, so that
//! whoever draws them anew needs no other file.

use crate::data::{Chart, Quantity};
use crate::tables::{self, compared as marked, mean, name, text};
use domio_answer::{Table, file};
use domio_stats::compare::Comparison;

/// The data of `chart`, with a line of headings.
pub fn csv(chart: &Chart) -> String {
    file::csv(&tables::long(chart).flat())
}

/// `tables` with what they are of, with a line of headings: one row a variant, a domain and a
/// figure that was measured.
pub fn compared<'t>(tables: impl IntoIterator<Item = (Quantity, &'t Comparison)>) -> String {
    let words = ["domain", "key", "quantity", "unit"].map(text);
    let last = [mean("mean", ""), text("compared")];
    let columns = [name("variant")].into_iter().chain(words).chain(last);
    let mut all = Table::new("", columns.collect::<Vec<_>>());
    for (value, table) in tables {
        for variant in &table.rows {
            for (metric, cell) in table.metrics.iter().zip(&variant.cells) {
                let Some(cell) = cell else { continue };
                all.row([
                    variant.name.clone().into(),
                    metric.title.clone().into(),
                    metric.key.clone().into(),
                    value.name.clone().into(),
                    value.unit.clone().into(),
                    cell.estimate.into(),
                    marked(cell.better_than_first),
                ]);
            }
        }
    }
    file::csv(&all.flat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{
        BarGroup, Bars, Cdf, CdfSeries, MarkShape, Panel, PanelCell, Panels, Sequence,
    };
    use domio_core::Better;
    use domio_run::Sample;
    use domio_stats::Estimate;
    use domio_stats::compare::Metric;

    #[test]
    fn numbers_are_whole_and_texts_quoted() {
        let bars = Bars {
            value: Quantity::new("wake to run, 95 %", "us"),
            series: vec!["credit".into(), "sedf".into()],
            groups: vec![BarGroup {
                name: "web \"x\"".into(),
                bars: vec![Estimate::of(&[1.0, 2.0]), None],
                marks: vec![Some(false)],
            }],
            ..Bars::default()
        };
        let text = csv(&Chart::Bars(bars));
        let mut lines = text.lines();
        let heads =
            "group,series,quantity,unit,mean,ci95_low,ci95_high,replications,compared,printed";
        assert_eq!(lines.next(), Some(heads));
        let first = lines.next().unwrap();
        assert!(first.starts_with("\"web \"\"x\"\"\",credit,\"wake to run, 95 %\",us,1.5,-4.85"));
        assert!(first.ends_with(",2,worse,"), "{first}");
        assert_eq!(
            lines.next(),
            Some("\"web \"\"x\"\"\",sedf,\"wake to run, 95 %\",us,,,,,,")
        );
    }

    #[test]
    fn a_comparison_has_one_row_a_variant_and_figure() {
        let metric = |domain: &str| Metric {
            key: format!("{domain}.share_pct"),
            title: domain.into(),
            unit: "% of one pcpu".into(),
            better: Better::Higher,
        };
        let samples = |shares: [f64; 2]| shares.map(|v| Sample::new().with("web.share_pct", v));
        let table = Comparison::of(
            vec![metric("web"), metric("db")],
            &[
                ("a".into(), samples([1.0, 1.5]).into()),
                ("b, c".into(), samples([4.0, 4.5]).into()),
            ],
        );
        let text = compared([(Quantity::new("share", "% of one pcpu"), &table)]);
        let lines: Vec<&str> = text.lines().collect();
        let heads =
            "variant,domain,key,quantity,unit,mean,ci95_low,ci95_high,replications,compared";
        assert_eq!((lines.len(), lines[0]), (3, heads));
        let first = "a,web,web.share_pct,share,% of one pcpu,1.25,";
        assert!(
            lines[1].starts_with(first) && lines[1].ends_with(",2,"),
            "{text}"
        );
        assert!(lines[2].starts_with("\"b, c\",web,") && lines[2].ends_with(",2,better"));
    }

    fn table() -> Table {
        let mut table = Table::new("", [name("a"), text("b")]);
        table.row(["1".into(), "2".into()]);
        table
    }

    #[test]
    fn every_row_is_as_long_as_the_headings() {
        let charts = [
            Chart::Cdf(Cdf {
                value: Quantity::new("wait", "us"),
                series: vec![CdfSeries::of("a", &[0.1, 0.2])],
            }),
            Chart::Panels(Panels {
                columns: vec!["orig".into()],
                panels: vec![Panel {
                    marks: vec![(MarkShape::Box, "each".into())],
                    cells: vec![PanelCell {
                        mean: Estimate::of(&[1.0]),
                        range: Some([0.5, 2.0]),
                        marks: vec![vec![1.0, 3.0]],
                        published: vec![(7.0, "7".into())],
                        ..PanelCell::default()
                    }],
                    ..Panel::default()
                }],
            }),
            Chart::Sequence(Sequence {
                series: vec![("a".into(), vec![1.0, 2.0])],
                ..Sequence::default()
            }),
            Chart::Table(table()),
        ];
        for (chart, count) in charts.iter().zip([3, 7, 3, 2]) {
            assert_eq!(csv(chart).lines().count(), count);
        }
    }
}
