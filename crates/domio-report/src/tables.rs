//! Charts as tables: every value of them, a row each, as files hold them, and fewer columns and
//! figures for people.

use crate::data::{
    Bars, Cdf, Chart, Lines, Panel, PanelCell, Panels, Printed, Quantity, Sequence, Stack, Timeline,
};
use crate::written;
use domio_answer::column::{column, count, fact, key};
use domio_answer::{Cell, Column, ColumnKind, Holds, MeanCell, Table, Tone};
use domio_core::{Figure, Runstate};
use domio_papers::ledger::LedgerEntry;
use std::borrow::Cow;

/// A column of texts.
pub fn text(name: impl Into<Cow<'static, str>>) -> Column {
    fact(name).of(Holds::Text).optional()
}

/// A column of texts that name the row.
pub fn name(name: impl Into<Cow<'static, str>>) -> Column {
    key(name).of(Holds::Text)
}

/// A column of numbers in `unit`.
pub fn number(title: impl Into<Cow<'static, str>>, unit: &str) -> Column {
    Column {
        unit: unit.to_owned().into(),
        optional: true,
        ..column(title, "", ColumnKind::Fact)
    }
}

/// A column of estimates in `unit`.
pub fn mean(title: impl Into<Cow<'static, str>>, unit: &str) -> Column {
    number(title, unit).of(Holds::Estimate)
}

/// The column of a figure that its class declares.
pub fn declared(figure: &Figure) -> Column {
    number(figure.key, figure.unit).title(figure.title)
}

/// Every value of `chart`.
pub fn long(chart: &Chart) -> Table {
    match chart {
        Chart::Bars(bars) => of_bars(bars),
        Chart::Stack(stack) => of_stack(stack),
        Chart::Cdf(cdf) => of_cdf(cdf),
        Chart::Timeline(timeline) => of_timeline(timeline),
        Chart::Panels(panels) => of_panels(panels),
        Chart::Sequence(sequence) => of_sequence(sequence),
        Chart::Lines(lines) => of_lines(lines),
        Chart::Table(table) => table.clone(),
        Chart::Claims(entries) => of_claims(entries),
    }
}

/// The tables that people read beneath `chart`, or in its place. With `upright`, bars go down the
/// page; otherwise the longer side does.
pub fn wide(chart: &Chart, upright: bool) -> Vec<Table> {
    match chart {
        Chart::Bars(bars) => {
            let long = long(chart);
            let across = bars.series.len() > bars.groups.len().max(4) && !upright;
            let mut table = match across {
                true => long.pivot("series", "group", "mean"),
                false => long.pivot("group", "series", "mean"),
            };
            if !bars.published.is_empty() && !across {
                let printed = bars
                    .groups
                    .iter()
                    .map(|g| printed(&bars.published, &g.name));
                table.derive(text("printed in the paper"), printed);
            }
            vec![table]
        }
        Chart::Stack(stack) => {
            let mut table = match upright || stack.bars.len() >= stack.parts.len() {
                true => long(chart).pivot("bar", "part", "value"),
                false => long(chart).pivot("part", "bar", "value"),
            };
            table.each_column(|at, column, cells| match at {
                // The unit of all stands once, over the names.
                0 => {
                    column.title = stack.value.name.clone().into();
                    column.unit = stack.value.unit.clone().into();
                }
                _ => {
                    column.unit = "".into();
                    if stack.value.unit.starts_with('%') {
                        column.kind = ColumnKind::Share;
                    }
                    let empty = cells.iter_mut().filter(|cell| ***cell == Cell::Number(0.0));
                    empty.for_each(|cell| **cell = Cell::None);
                }
            });
            vec![table]
        }
        Chart::Lines(lines) => {
            // What a paper prints has its words here.
            let measured = Lines {
                published: Vec::new(),
                ..lines.clone()
            };
            let mut table = of_lines(&measured).pivot(&place(lines), "series", "mean");
            if !lines.published.is_empty() {
                let at = |row: &Vec<Cell>| {
                    let here = lines.published.iter();
                    let here = here.filter(|(x, ..)| Cell::Number(*x) == row[0]);
                    let texts: Vec<&str> = here.map(|(.., text)| text.as_str()).collect();
                    Cell::text(texts.join(" "))
                };
                let printed: Vec<Cell> = table.rows().iter().map(at).collect();
                table.derive(text("printed in the paper"), printed);
            }
            vec![table]
        }
        Chart::Cdf(cdf) => vec![quantiles_of_cdf(cdf)],
        Chart::Sequence(sequence) => vec![quantiles_of_sequence(sequence)],
        Chart::Timeline(timeline) => vec![times(timeline)],
        Chart::Panels(panels) => {
            let panel = |panel| of_panel(panel, &panels.columns);
            panels.panels.iter().map(panel).collect()
        }
        Chart::Table(table) => vec![table.clone()],
        Chart::Claims(_) => Vec::new(),
    }
}

/// What is measured: name and unit, a column each.
fn measured() -> [Column; 2] {
    [text("quantity"), text("unit")]
}

fn named(value: &Quantity) -> [Cell; 2] {
    [value.name.clone().into(), value.unit.clone().into()]
}

/// How a figure is to the one that it is compared with.
pub fn compared(better: Option<bool>) -> Cell {
    Cell::from(better.map(|better| if better { "better" } else { "worse" }))
}

/// How a figure stands out that is better or worse.
pub fn tone(better: Option<bool>) -> Tone {
    match better {
        Some(true) => Tone::Good,
        Some(false) => Tone::Bad,
        None => Tone::Plain,
    }
}

fn of_bars(bars: &Bars) -> Table {
    let [quantity, unit] = measured();
    let mean = mean("mean", &bars.value.unit);
    let last = [text("compared"), text("printed")];
    let columns = [name("group"), name("series"), quantity, unit, mean];
    let mut table = Table::new("", [&columns[..], &last[..]].concat());
    for group in &bars.groups {
        for (i, (series, bar)) in bars.series.iter().zip(&group.bars).enumerate() {
            let here = |p: &&Printed| p.is_at(&group.name) && p.is_of(series);
            let printed = bars.published.iter().filter(here);
            let printed: Vec<String> = printed.map(|p| p.value.to_string()).collect();
            let mark = group.mark(i);
            let mut row = vec![group.name.clone().into(), series.clone().into()];
            row.extend(named(&bars.value));
            row.extend([(*bar).into(), compared(mark), printed.join(" ").into()]);
            table.set_tone(table.rows().len(), 4, tone(mark));
            table.row(row);
        }
    }
    table
}

/// What a paper prints of a group.
fn printed(published: &[Printed], group: &str) -> Cell {
    let here = published.iter().filter(|p| p.is_at(group));
    let told = here.map(|p| match &p.of {
        Some(series) => format!("{series}: {}", p.text),
        None => p.text.clone(),
    });
    Cell::text(told.collect::<Vec<_>>().join(", "))
}

fn of_stack(stack: &Stack) -> Table {
    let [quantity, unit] = measured();
    let value = number("value", &stack.value.unit);
    let columns = [name("bar"), name("part"), quantity, unit, value];
    let mut table = Table::new("", columns);
    for bar in &stack.bars {
        for (part, length) in stack.parts.iter().zip(&bar.lengths) {
            let mut row = vec![bar.name.clone().into(), part.clone().into()];
            row.extend(named(&stack.value));
            row.push((*length).into());
            table.row(row);
        }
    }
    table
}

fn of_cdf(cdf: &Cdf) -> Table {
    let [quantity, unit] = measured();
    let value = number("value", &cdf.value.unit);
    let part = number("part_at_or_below", "");
    let mut table = Table::new("", [name("series"), quantity, unit, value, part]);
    for series in &cdf.series {
        for (value, part) in &series.steps {
            let [quantity, unit] = named(&cdf.value);
            let first = series.name.clone().into();
            table.row([first, quantity, unit, (*value).into(), (*part).into()]);
        }
    }
    table
}

fn of_timeline(timeline: &Timeline) -> Table {
    let time = |key| column(key, "ns", ColumnKind::Fact).of(Holds::Whole);
    let columns = [name("row"), text("domain"), text("state")];
    let times = [time("from_ns"), time("until_ns")];
    let mut table = Table::new("", [&columns[..], &times[..]].concat());
    for row in &timeline.rows {
        let inside = |s: &&crate::data::TimelineSpan| {
            s.until_ns > timeline.from_ns && s.from_ns < timeline.until_ns
        };
        for span in row.spans.iter().filter(inside) {
            let owner = timeline.owners.get(span.owner).cloned();
            let state = span.state.name();
            let times = [span.from_ns, span.until_ns].map(Cell::from);
            let first = [row.name.clone().into(), owner.into(), state.into()];
            table.row(first.into_iter().chain(times));
        }
    }
    table
}

fn of_panels(panels: &Panels) -> Table {
    let [quantity, unit] = measured();
    let columns = [
        name("column"),
        quantity,
        unit,
        text("what"),
        count("number").of(Holds::Whole),
        mean("mean", ""),
    ];
    let mut table = Table::new("", columns);
    for panel in &panels.panels {
        for (column, cell) in panels.columns.iter().zip(&panel.cells) {
            let mut add = |what: &str, number: usize, value: MeanCell| {
                let [quantity, unit] = named(&panel.value);
                let what = Cell::text(what.to_owned());
                let first = column.clone().into();
                table.row([first, quantity, unit, what, number.into(), value.into()]);
            };
            if let Some(mean) = cell.mean {
                add(&panel.mean, 1, mean.into());
            }
            for (end, number) in cell.range.iter().flatten().zip(1..) {
                add(&panel.range, number, MeanCell::alone(*end));
            }
            for ((_, what), marks) in panel.marks.iter().zip(&cell.marks) {
                for (mark, number) in marks.iter().zip(1..) {
                    add(what, number, MeanCell::alone(*mark));
                }
            }
            for ((printed, _), number) in cell.published.iter().zip(1..) {
                add("printed in the paper", number, MeanCell::alone(*printed));
            }
        }
    }
    table
}

fn of_sequence(sequence: &Sequence) -> Table {
    let [quantity, unit] = measured();
    let value = number("value", &sequence.value.unit);
    let order = count("number").of(Holds::Whole);
    let mut table = Table::new("", [name("series"), order, quantity, unit, value]);
    for (name, values) in &sequence.series {
        for (value, number) in values.iter().zip(1_usize..) {
            let [quantity, unit] = named(&sequence.value);
            let first = name.clone().into();
            table.row([first, number.into(), quantity, unit, (*value).into()]);
        }
    }
    table
}

fn of_lines(lines: &Lines) -> Table {
    let [quantity, unit] = measured();
    let along = &lines.along;
    let x = Column {
        title: along.name.clone().into(),
        optional: false,
        ..number(place(lines), &along.unit)
    };
    let mean = mean("mean", &lines.value.unit);
    let mut table = Table::new("", [name("series"), x, quantity, unit, mean]);
    let mut add = |series: &str, x: f64, y: Cell| {
        let [quantity, unit] = named(&lines.value);
        let series = Cell::text(series.to_owned());
        table.row([series, x.into(), quantity, unit, y]);
    };
    // By place, so that a table with a row a place has them in order.
    let all = lines.lines.iter();
    let all = all.flat_map(|line| line.points.iter().map(move |p| (line.name.as_str(), p)));
    let mut points: Vec<_> = all.collect();
    points.sort_by(|a, b| a.1.x.total_cmp(&b.1.x));
    for (name, point) in points {
        add(name, point.x, point.y.into());
    }
    for (x, value, _) in &lines.published {
        add("printed in the paper", *x, MeanCell::alone(*value).into());
    }
    table
}

/// Name of the column of places along the axis.
fn place(lines: &Lines) -> String {
    written::heading(&lines.along.name, &lines.along.unit)
}

fn of_claims(entries: &[LedgerEntry]) -> Table {
    let words = ["where", "verdict", "expected", "measured", "unit"].map(text);
    let ends = ["ci95_low", "ci95_high"].map(|name| number(name, ""));
    let columns = [name("claim")].into_iter().chain(words).chain(ends);
    let last = count("replications").of(Holds::Whole);
    let mut table = Table::new("", columns.chain([last]).collect::<Vec<_>>());
    for LedgerEntry { claim, finding } in entries {
        let [low, high] = [0, 1].map(|end| finding.ci95.map(|ends| ends[end]).into());
        table.row([
            claim.id.clone().into(),
            claim.place.clone().into(),
            finding.verdict.name().into(),
            claim.expect.clone().into(),
            written::measured(&finding.measured, None, "").into(),
            finding.unit.clone().into(),
            low,
            high,
            (finding.replications as usize).into(),
        ]);
    }
    table
}

/// Quantiles of each curve. One with fewer observations beyond it than one is not told: it would
/// be the largest again.
fn quantiles_of_cdf(cdf: &Cdf) -> Table {
    const QUANTILES: [(&str, f64); 6] = [
        ("p50", 0.5),
        ("p90", 0.9),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
        ("largest", 1.0),
    ];
    let first = [
        name("series").title(cdf.value.name.clone()),
        count("observations").of(Holds::Whole),
    ];
    let columns = QUANTILES.map(|(name, _)| number(name, &cdf.value.unit));
    let mut table = Table::new("", [&first[..], &columns[..]].concat());
    for series in &cdf.series {
        let cells = QUANTILES.map(|(_, q)| {
            let beyond = series.count as f64 * (1.0 - q);
            let is_told = q == 1.0 || beyond >= 1.0 - 1e-9;
            series.quantile(q).filter(|_| is_told).into()
        });
        let first = [series.name.clone().into(), series.count.into()];
        table.row(first.into_iter().chain(cells));
    }
    table
}

/// Quantiles of each sequence.
fn quantiles_of_sequence(sequence: &Sequence) -> Table {
    const QUANTILES: [(&str, f64); 4] = [
        ("smallest", 0.0),
        ("p50", 0.5),
        ("p95", 0.95),
        ("largest", 1.0),
    ];
    let unit = &sequence.value.unit;
    let first = [
        name("series").title(""),
        count("observations").of(Holds::Whole),
        number("mean", unit),
    ];
    let columns = QUANTILES.map(|(name, _)| number(name, unit));
    let mut table = Table::new("", [&first[..], &columns[..]].concat());
    for (name, values) in &sequence.series {
        let first = [
            name.clone().into(),
            values.len().into(),
            domio_stats::mean(values).into(),
        ];
        let cells = QUANTILES.map(|(_, q)| domio_stats::quantile(values, q).into());
        table.row(first.into_iter().chain(cells));
    }
    table
}

/// Time in each state by row, clipped to what is shown.
fn times(timeline: &Timeline) -> Table {
    let columns = Runstate::ALL.map(|state| number(state.name(), "ms"));
    let first = [name("row").title("")];
    let mut table = Table::new("", [&first[..], &columns[..]].concat());
    for row in &timeline.rows {
        let time = |state| {
            let spans = row.spans.iter().filter(|s| s.state == state);
            let shown = spans.map(|s| {
                let until = s.until_ns.min(timeline.until_ns);
                until.saturating_sub(s.from_ns.max(timeline.from_ns))
            });
            Cell::Number(shown.sum::<u64>() as f64 / 1e6)
        };
        let name = [row.name.clone().into()];
        table.row(name.into_iter().chain(Runstate::ALL.map(time)));
    }
    table
}

/// The mean, the range and the marks by column, which go down the page.
fn of_panel(panel: &Panel, columns: &[String]) -> Table {
    let title = written::heading(&panel.value.name, &panel.value.unit);
    let mut heads = vec![
        name("column").title(title),
        mean("mean", "").title(panel.mean.clone()),
    ];
    let words = panel.marks.iter().map(|(_, name)| name.clone());
    let range = (!panel.range.is_empty()).then(|| panel.range.clone());
    let remark = (!panel.remark.is_empty()).then(|| panel.remark.clone());
    heads.extend(range.into_iter().chain(words).chain(remark).map(text));
    let mut table = Table::new("", heads);
    let none = PanelCell::default();
    // Seven of them have to fit beside the rest.
    let list = |values: &[f64]| {
        let texts = values.iter().map(|v| written::short(*v));
        texts.collect::<Vec<_>>().join(" ")
    };
    for (i, column) in columns.iter().enumerate() {
        let shown = panel.cells.get(i).unwrap_or(&none);
        let mut cells = vec![Cell::from(column.clone()), shown.mean.into()];
        if !panel.range.is_empty() {
            let range = shown
                .range
                .map(|ends| ends.map(written::short).join(" to "));
            cells.push(range.into());
        }
        let marks = |i: usize| Cell::from(shown.marks.get(i).map(|m| list(m)));
        cells.extend((0..panel.marks.len()).map(marks));
        cells.extend((!panel.remark.is_empty()).then(|| shown.remark.clone().into()));
        table.row(cells);
    }
    table
}
