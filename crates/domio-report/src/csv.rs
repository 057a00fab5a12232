//! Figures as CSV: one row an observation or an estimate, numbers with every digit, so that
//! whoever draws them anew needs no other file.

use crate::data::{
    Bars, Cdf, Chart, DataTable, Lines, Panels, Printed, Quantity, Sequence, Stack, Timeline,
};
use crate::figure;
use domio_papers::ledger::LedgerEntry;
use domio_stats::Estimate;
use domio_stats::compare::Comparison;

/// Headings of an estimate.
const ESTIMATE: [&str; 4] = ["mean", "ci95_low", "ci95_high", "replications"];

/// The data of `chart`, with a line of headings.
pub fn csv(chart: &Chart) -> String {
    written(&rows(chart))
}

fn written(rows: &[Row]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        // Rows have as many cells as the headings, and memory is always written.
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// `tables` with what they are of, with a line of headings: one row a variant, a domain and a
/// figure that was measured.
pub fn compared<'t>(tables: impl IntoIterator<Item = (Quantity, &'t Comparison)>) -> String {
    let mut rest: Vec<&str> = ESTIMATE.into();
    rest.push("compared");
    let mut rows = head(&["variant", "domain", "key", "quantity", "unit"], &rest);
    for (value, table) in tables {
        for variant in &table.rows {
            for (metric, cell) in table.metrics.iter().zip(&variant.cells) {
                let Some(cell) = cell else { continue };
                let mut row = vec![variant.name.clone(), metric.title.clone()];
                row.push(metric.key.clone());
                row.extend(named(&value));
                row.extend(estimate(Some(&cell.estimate)));
                row.push(compared_with_first(cell.better_than_first).to_owned());
                rows.push(row);
            }
        }
    }
    written(&rows)
}

/// How a figure is to the one that it is compared with.
fn compared_with_first(better: Option<bool>) -> &'static str {
    match better {
        Some(true) => "better",
        Some(false) => "worse",
        None => "",
    }
}

type Row = Vec<String>;

fn rows(chart: &Chart) -> Vec<Row> {
    match chart {
        Chart::Bars(bars) => of_bars(bars),
        Chart::Stack(stack) => of_stack(stack),
        Chart::Cdf(cdf) => of_cdf(cdf),
        Chart::Timeline(timeline) => of_timeline(timeline),
        Chart::Panels(panels) => of_panels(panels),
        Chart::Sequence(sequence) => of_sequence(sequence),
        Chart::Lines(lines) => of_lines(lines),
        Chart::Table(table) => of_table(table),
        Chart::Claims(entries) => of_claims(entries),
    }
}

fn head(first: &[&str], rest: &[&str]) -> Vec<Row> {
    vec![first.iter().chain(rest).map(|h| (*h).to_owned()).collect()]
}

fn estimate(estimate: Option<&Estimate>) -> [String; 4] {
    let Some(e) = estimate else {
        return Default::default();
    };
    let ends = e.ci95.map(|ends| ends.map(|v| v.to_string()));
    let [low, high] = ends.unwrap_or_default();
    [e.mean.to_string(), low, high, e.n.to_string()]
}

fn named(value: &Quantity) -> [String; 2] {
    [value.name.clone(), value.unit.clone()]
}

fn of_bars(bars: &Bars) -> Vec<Row> {
    let mut rest: Vec<&str> = ESTIMATE.into();
    rest.extend(["compared", "printed"]);
    let mut rows = head(&["group", "series", "quantity", "unit"], &rest);
    for group in &bars.groups {
        for (i, (series, bar)) in bars.series.iter().zip(&group.bars).enumerate() {
            let compared = compared_with_first(group.mark(i));
            let here = |p: &&Printed| p.is_at(&group.name) && p.is_of(series);
            let printed = bars.published.iter().filter(here);
            let printed: Vec<String> = printed.map(|p| p.value.to_string()).collect();
            let mut row = vec![group.name.clone(), series.clone()];
            row.extend(named(&bars.value));
            row.extend(estimate(bar.as_ref()));
            row.extend([compared.to_owned(), printed.join(" ")]);
            rows.push(row);
        }
    }
    rows
}

fn of_stack(stack: &Stack) -> Vec<Row> {
    let mut rows = head(&["bar", "part", "quantity", "unit", "value"], &[]);
    for bar in &stack.bars {
        for (part, length) in stack.parts.iter().zip(&bar.lengths) {
            let mut row = vec![bar.name.clone(), part.clone()];
            row.extend(named(&stack.value));
            row.push(length.to_string());
            rows.push(row);
        }
    }
    rows
}

fn of_cdf(cdf: &Cdf) -> Vec<Row> {
    let mut rows = head(
        &["series", "quantity", "unit", "value", "part_at_or_below"],
        &[],
    );
    for series in &cdf.series {
        for (value, part) in &series.steps {
            let mut row = vec![series.name.clone()];
            row.extend(named(&cdf.value));
            row.extend([value.to_string(), part.to_string()]);
            rows.push(row);
        }
    }
    rows
}

fn of_timeline(timeline: &Timeline) -> Vec<Row> {
    let mut rows = head(&["row", "domain", "state", "from_ns", "until_ns"], &[]);
    for row in &timeline.rows {
        let inside =
            |s: &&crate::data::Span| s.until_ns > timeline.from_ns && s.from_ns < timeline.until_ns;
        for span in row.spans.iter().filter(inside) {
            rows.push(vec![
                row.name.clone(),
                timeline.owners.get(span.owner).cloned().unwrap_or_default(),
                span.state.name().to_owned(),
                span.from_ns.to_string(),
                span.until_ns.to_string(),
            ]);
        }
    }
    rows
}

fn of_panels(panels: &Panels) -> Vec<Row> {
    let first = ["column", "quantity", "unit", "what", "number"];
    let mut rows = head(&first, &ESTIMATE);
    let mut add =
        |column: &str, value: &Quantity, what: &str, number: usize, cells: [String; 4]| {
            let mut row = vec![column.to_owned()];
            row.extend(named(value));
            row.extend([what.to_owned(), number.to_string()]);
            row.extend(cells);
            rows.push(row);
        };
    let alone = |value: f64| {
        [
            value.to_string(),
            String::new(),
            String::new(),
            String::new(),
        ]
    };
    for panel in &panels.panels {
        for (column, cell) in panels.columns.iter().zip(&panel.cells) {
            let value = &panel.value;
            if cell.mean.is_some() {
                add(column, value, &panel.mean, 1, estimate(cell.mean.as_ref()));
            }
            for (end, number) in cell.range.iter().flatten().zip(1..) {
                add(column, value, &panel.range, number, alone(*end));
            }
            for ((_, what), marks) in panel.marks.iter().zip(&cell.marks) {
                for (mark, number) in marks.iter().zip(1..) {
                    add(column, value, what, number, alone(*mark));
                }
            }
            for ((printed, _), number) in cell.published.iter().zip(1..) {
                add(
                    column,
                    value,
                    "printed in the paper",
                    number,
                    alone(*printed),
                );
            }
        }
    }
    rows
}

fn of_sequence(sequence: &Sequence) -> Vec<Row> {
    let mut rows = head(&["series", "number", "quantity", "unit", "value"], &[]);
    for (name, values) in &sequence.series {
        for (value, number) in values.iter().zip(1..) {
            let mut row = vec![name.clone(), i32::to_string(&number)];
            row.extend(named(&sequence.value));
            row.push(value.to_string());
            rows.push(row);
        }
    }
    rows
}

fn of_lines(lines: &Lines) -> Vec<Row> {
    let along = figure::heading(&lines.along.name, &lines.along.unit);
    let mut rows = head(&["series", &along, "quantity", "unit"], &ESTIMATE);
    for line in &lines.lines {
        for point in &line.points {
            let mut row = vec![line.name.clone(), point.x.to_string()];
            row.extend(named(&lines.value));
            row.extend(estimate(point.y.as_ref()));
            rows.push(row);
        }
    }
    for (x, value, _) in &lines.published {
        let mut row = vec!["printed in the paper".to_owned(), x.to_string()];
        row.extend(named(&lines.value));
        row.push(value.to_string());
        row.extend([String::new(), String::new(), String::new()]);
        rows.push(row);
    }
    rows
}

fn of_table(table: &DataTable) -> Vec<Row> {
    let width = table.head.len();
    let mut rows = vec![table.head.clone()];
    rows.extend(table.rows.iter().map(|row| {
        let mut row = row.clone();
        row.resize(width, String::new());
        row
    }));
    rows
}

fn of_claims(entries: &[LedgerEntry]) -> Vec<Row> {
    let first = ["claim", "where", "verdict", "expected", "measured", "unit"];
    let mut rows = head(&first, &["ci95_low", "ci95_high", "replications"]);
    for LedgerEntry { claim, finding } in entries {
        let [low, high] = finding
            .ci95
            .map(|e| e.map(|v| v.to_string()))
            .unwrap_or_default();
        let measured = figure::measured(&finding.measured, None, "");
        rows.push(vec![
            claim.id.clone(),
            claim.place.clone(),
            finding.verdict.name().to_owned(),
            claim.expect.clone(),
            measured,
            finding.unit.clone(),
            low,
            high,
            finding.replications.to_string(),
        ]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{BarGroup, CdfSeries, PanelCell};
    use crate::data::{MarkShape, Panel};
    use domio_core::Better;
    use domio_run::Sample;
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
            Chart::Table(DataTable {
                head: vec!["a".into(), "b".into()],
                rows: vec![vec!["1".into()]],
            }),
        ];
        for (chart, count) in charts.iter().zip([3, 7, 3, 2]) {
            let rows = rows(chart);
            assert_eq!(rows.len(), count);
            assert!(
                rows.iter().all(|row| row.len() == rows[0].len()),
                "{rows:?}"
            );
            assert_eq!(csv(chart).lines().count(), count);
        }
    }
}
