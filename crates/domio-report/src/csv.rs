//! Figures as CSV: one row an observation or an estimate, numbers with every digit, so that
//! whoever draws them anew needs no other file.

use crate::data::Chart;
use crate::tables;
use domio_answer::file;

/// The data of `chart`, with a line of headings.
pub fn csv(chart: &Chart) -> String {
    file::csv(&tables::long(chart).flat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{
        BarGroup, Bars, Cdf, CdfSeries, MarkShape, Panel, PanelCell, Panels, Quantity, Sequence,
    };
    use crate::tables::{name, text};
    use domio_answer::Table;
    use domio_stats::Estimate;

    #[test]
    fn numbers_are_whole_and_texts_quoted() {
        let bars = Bars {
            value: Quantity::new("wake to run, p95", "us"),
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
        assert!(first.starts_with("\"web \"\"x\"\"\",credit,\"wake to run, p95\",us,1.5,-4.85"));
        assert!(first.ends_with(",2,worse,"), "{first}");
        assert_eq!(
            lines.next(),
            Some("\"web \"\"x\"\"\",sedf,\"wake to run, p95\",us,,,,,,")
        );
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
