//! Traces of block devices as tables.

use super::explained::INDENT;
use crate::block_opening::{self, told_name};
use crate::text::View;
use crate::text::folded::folded;
use crate::text::table::{render, render_all};
use crate::{tables, written};
use domio_answer::column::share;
use domio_answer::{Cell, Column, Holds, Table};
use domio_meter::block::{
    Beside, BlockComparison, BlockDepth, BlockFigure, BlockSummary, BlockWaiter, BlockWaits,
    ComparedFigure, Speaker,
};
use std::collections::BTreeMap;

/// Rows of those who asked or waited, at most; the rest is one row.
const ROWS: usize = 12;

/// Columns of those whose requests the device had, at most; the rest is one column.
const BESIDE: usize = 6;

const SECTOR: f64 = BlockSummary::SECTOR as f64;

/// What was asked of a disk.
pub fn summary(summary: &BlockSummary, format: &str, view: &View) -> String {
    let title = "Requests, as they were queued and as the driver took them:\n".to_owned();
    let mut parts = vec![title, render(&stages(summary), view)];
    let figures = figures(&summary.figures);
    let filled = figures.iter().filter(|table| !table.is_empty());
    parts.extend(filled.map(|table| render(table, view)));
    if !summary.actors.is_empty() {
        let asked = render(&asked(&summary.actors), view);
        parts.push(format!("Who asked:\n\n{asked}"));
    }
    let mut last = String::new();
    if let Some(device) = summary.device_depth.0 {
        let of = |place: &str, depth: BlockDepth| {
            let mean = written::number(depth.mean);
            format!("n the {place} {mean} on average, {} at most", depth.max)
        };
        let device = of("device", device);
        last = match summary.elevator_depth.0 {
            Some(elevator) => format!("I{}; i{device}.\n", of("elevator", elevator)),
            None => format!("I{device}.\n"),
        };
    }
    parts.push(last + &covers(summary, format));
    parts.join("\n")
}

fn covers(summary: &BlockSummary, format: &str) -> String {
    let counts = [
        (summary.merged, "were merged"),
        (summary.without_data, "have no data"),
        (summary.unended, "have no end in the trace"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: String = counts.map(|(n, what)| format!(", {n} {what}")).collect();
    format!(
        "{} events of format {format} in {} on {}{counts}\n",
        summary.events,
        written::scaled(summary.seconds, None, "s"),
        match summary.devices {
            1 => "one device".to_owned(),
            many => format!("{many} devices"),
        }
    )
}

fn counted(title: &'static str) -> Column {
    tables::number(title, "").of(Holds::Whole)
}

fn percent(part: f64, of: f64) -> Cell {
    (of > 0.0).then(|| 100.0 * part / of).into()
}

fn part_of(title: impl Into<std::borrow::Cow<'static, str>>) -> Column {
    share(title).optional()
}

fn stages(summary: &BlockSummary) -> Table {
    let columns = [
        tables::name("requests"),
        counted("number"),
        part_of("of them"),
        tables::number("rate", "1/s"),
        tables::number("data", "B"),
        tables::number("size, mean", "B"),
        tables::number("size, p50", "B"),
        tables::number("size, p99", "B"),
        part_of("sequential"),
    ];
    let mut table = Table::new("", columns);
    for stage in &summary.stages {
        let same = summary.stages.iter().filter(|s| s.stage == stage.stage);
        let all: u64 = same.map(|s| s.requests).sum();
        let size = &stage.size_bytes.0;
        let of = match &*stage.stage {
            "queued" => "queued",
            _ => "taken",
        };
        table.row([
            format!("{}s, {of}", stage.way).into(),
            stage.requests.into(),
            percent(stage.requests as f64, all as f64),
            (stage.requests as f64 / summary.seconds.max(1e-9)).into(),
            stage.bytes.into(),
            size.mean.into(),
            size.p50.into(),
            size.p99.into(),
            percent(stage.sequential, 1.0),
        ]);
    }
    table
}

/// Times, and places in bytes from the begin of the device.
fn figures(figures: &[BlockFigure]) -> [Table; 2] {
    [("time", "ns"), ("place", "B")].map(|(title, unit)| {
        let names = ["mean", "p50", "p95", "p99", "largest"];
        let columns = names.map(|name| tables::number(name, unit));
        let name = [tables::name(title)];
        let mut table = Table::new("", [&name[..], &columns[..]].concat());
        let here = |found: &&BlockFigure| (found.unit == "ns") == (unit == "ns");
        for found in figures.iter().filter(here) {
            let spread = found.spread;
            let rest = [spread.p50, spread.p95, spread.p99, spread.max].map(|value| value as f64);
            let values = [spread.mean].into_iter().chain(rest);
            let values = values.map(|value| Cell::Number(value * size(&found.unit)));
            table.row([found.name.clone().into()].into_iter().chain(values));
        }
        table
    })
}

/// Bytes of a place or a size in `unit`, nanoseconds of a time.
fn size(unit: &str) -> f64 {
    match unit {
        "sector" => SECTOR,
        _ => 1.0,
    }
}

/// Who asked; the least busy in one row.
fn asked(actors: &[Speaker]) -> Table {
    let counts = ["members", "reads", "writes"].map(counted);
    let (name, data) = ([tables::name("who")], [tables::number("data", "B")]);
    let mut table = Table::new("", [&name[..], &counts[..], &data[..]].concat());
    let mut row = |name: String, of: &[Speaker]| {
        let sum = |count: fn(&Speaker) -> u64| Cell::from(of.iter().map(count).sum::<u64>());
        table.row([
            name.into(),
            sum(|a| a.members),
            sum(|a| a.reads),
            sum(|a| a.writes),
            sum(|a| a.bytes),
        ]);
    };
    let (shown, rest) = actors.split_at(actors.len().min(ROWS));
    for one in shown {
        row(told_name(&one.name).to_owned(), std::slice::from_ref(one));
    }
    if !rest.is_empty() {
        row(format!("{} others", rest.len()), rest);
    }
    table
}

/// What requests waited for, and behind whom.
pub fn waits(waits: &BlockWaits, view: &View) -> String {
    let worst = block_opening::worst(waits).into_iter();
    let worst: String = worst
        .map(|said| folded(&said, view.width.into(), INDENT))
        .collect();
    let mut parts: Vec<String> = [worst]
        .into_iter()
        .filter(|said| !said.is_empty())
        .collect();
    if !waits.waiters.is_empty() {
        let more = match waits.waiters.len().saturating_sub(ROWS) {
            0 => String::new(),
            more => format!("and {more} more rows, with less time in all\n"),
        };
        parts.push(format!(
            "Time of requests, by what they waited for, in % of their time:\n\n{}{more}",
            render_all(&waiters(&waits.waiters), view)
        ));
    }
    let behind = [
        (
            "Requests in the elevator, by whose requests the device had meanwhile, in % of their \
             time there:",
            &waits.elevator,
        ),
        (
            "Requests in the device, by whose requests were there, in % of their time there:",
            &waits.device,
        ),
    ];
    for (title, beside) in behind {
        let table = by_whom(beside);
        if !table.is_empty() {
            let title = folded(title, view.width.into(), "");
            parts.push(format!("{title}\n{}", render(&table, view)));
        }
    }
    if !waits.longest.is_empty() {
        parts.push(format!(
            "Longest waits:\n\n{}",
            render(&longest(waits), view)
        ));
    }
    let untold = waits.untold();
    if !untold.is_empty() {
        let lines = untold.iter();
        let lines = lines.map(|said| view.item("", &format!("{said}.")));
        let title = "What the trace does not record:\n".to_owned();
        parts.push(lines.fold(title, |text, line| text + &line));
    }
    let seconds = written::number(waits.seconds);
    parts.push(format!(
        "{} requests in {seconds} s, {} more without an end\n",
        waits.ended, waits.unended
    ));
    parts.join("\n")
}

/// A replay: what was asked, and what requests waited for.
pub fn replay(asked: &BlockSummary, explained: &BlockWaits, format: &str, view: &View) -> String {
    format!(
        "{}\n{}",
        summary(asked, format, view),
        waits(explained, view)
    )
}

fn waiters(waiters: &[BlockWaiter]) -> Table {
    let split = waiters.iter().any(|waiter| waiter.device.0.is_some());
    let untold = waiters.iter().any(|waiter| waiter.untold_ns > 0);
    let mut columns = vec![
        tables::name("requests"),
        counted("number"),
        tables::number("time of one", "ns"),
        tables::number("p99", "ns"),
        bare("elevator"),
    ];
    match split {
        true => {
            let parts = ["device, queue", "seek", "rotation", "transfer"];
            columns.extend(parts.map(bare));
            columns.push(part_of("cache").unit("% of them"));
        }
        false => columns.push(bare("device")),
    }
    columns.extend(untold.then(|| bare("either")));
    let mut table = Table::new("", columns);
    for waiter in waiters.iter().take(ROWS) {
        let total = waiter.total_ns() as f64;
        let part = |ns: u64| percent(ns as f64, total);
        let mut cells = vec![
            format!("{}, {}s", told_name(&waiter.who), waiter.way).into(),
            waiter.requests.into(),
            waiter.response_ns.0.mean.into(),
            waiter.response_ns.0.p99.into(),
            part(waiter.elevator_ns),
        ];
        match (split, waiter.device.0) {
            (true, Some(parts)) => {
                let times = [
                    parts.queued_ns,
                    parts.seek_ns,
                    parts.rotation_ns,
                    parts.transfer_ns,
                ];
                cells.extend(times.map(part));
                cells.push(percent(parts.cached as f64, waiter.requests as f64));
            }
            (true, None) => cells.extend(vec![Cell::None; 5]),
            (false, _) => cells.push(part(waiter.device_ns)),
        }
        cells.extend(untold.then(|| part(waiter.untold_ns)));
        table.row(cells);
    }
    table
}

/// A part of a whole in percent, of which the title of the table says that.
fn bare(title: impl Into<std::borrow::Cow<'static, str>>) -> Column {
    part_of(title).unit("")
}

/// Names, those with the most time first.
fn largest<'a>(all: impl IntoIterator<Item = (Option<&'a str>, f64)>) -> Vec<Option<&'a str>> {
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.into_iter().map(|(name, _)| name).collect()
}

/// Who waited beside whom.
fn by_whom(beside: &[Beside]) -> Table {
    let mut of_waiters: BTreeMap<&str, f64> = BTreeMap::new();
    let mut of_others: BTreeMap<Option<&str>, f64> = BTreeMap::new();
    let mut times: BTreeMap<(&str, Option<&str>), f64> = BTreeMap::new();
    for one in beside {
        let by = one.beside.as_deref();
        *of_waiters.entry(&one.who).or_default() += one.ns;
        *of_others.entry(by).or_default() += one.ns;
        *times.entry((&one.who, by)).or_default() += one.ns;
    }
    let others = largest(of_others);
    let by_name = of_waiters.iter().map(|(name, ns)| (Some(*name), *ns));
    let names = largest(by_name);
    let (shown, rest) = others.split_at(others.len().min(BESIDE));
    let title = |by: &Option<&str>| by.map_or("nobody", told_name).to_owned();
    let mut columns = vec![tables::name("who"), tables::number("time", "ns")];
    columns.extend(shown.iter().map(|name| bare(title(name))));
    columns.extend((!rest.is_empty()).then(|| bare("others")));
    let mut table = Table::new("", columns);
    for name in names.into_iter().flatten().take(ROWS) {
        let total = of_waiters[name];
        let of = |by: &Option<&str>| times.get(&(name, *by)).copied().unwrap_or(0.0);
        let mut cells = vec![told_name(name).to_owned().into(), total.into()];
        cells.extend(shown.iter().map(|by| percent(of(by), total)));
        if !rest.is_empty() {
            cells.push(percent(rest.iter().map(of).sum(), total));
        }
        table.row(cells);
    }
    table
}

fn longest(waits: &BlockWaits) -> Table {
    let columns = [
        tables::name("who"),
        tables::name("does"),
        domio_answer::column::moment("queued").of(Holds::Whole),
        tables::number("took", "ns"),
        tables::number("elevator", "ns"),
        tables::number("device", "ns"),
        counted("requests, before it"),
        counted("sector"),
        tables::number("size", "B"),
    ];
    let mut table = Table::new("", columns);
    for wait in &waits.longest {
        let device = wait.elevator_ns.map(|elevator| wait.response_ns - elevator);
        table.row([
            told_name(&wait.who).to_owned().into(),
            wait.way.clone().into(),
            wait.queued_ns.into(),
            wait.response_ns.into(),
            wait.elevator_ns.into(),
            device.into(),
            wait.passed.into(),
            wait.sector.into(),
            (f64::from(wait.sectors) * SECTOR).into(),
        ]);
    }
    table
}

/// Two traces beside each other.
pub fn comparison(comparison: &BlockComparison, names: &[String; 2], view: &View) -> String {
    let columns = [
        tables::name("trace"),
        tables::number("length", "s"),
        counted("requests"),
        part_of("reads").unit("% of requests"),
        part_of("sequential reads"),
        part_of("sequential writes"),
    ];
    let mut mix = Table::new("", columns);
    for (at, name) in ["A", "B"].into_iter().enumerate() {
        let part = |part: Option<f64>| Cell::from(part.map(|part| 100.0 * part));
        mix.row([
            name.into(),
            comparison.seconds[at].into(),
            comparison.requests[at].into(),
            part(Some(comparison.reads[at])),
            part(comparison.sequential_reads[at]),
            part(comparison.sequential_writes[at]),
        ]);
    }
    let compared = compared(&comparison.figures);
    let filled = compared.iter().filter(|table| !table.is_empty());
    let mut parts = vec![
        format!("A: {}\nB: {}\n", names[0], names[1]),
        render(&mix, view),
    ];
    parts.extend(filled.map(|table| render_all(table, view)));
    parts.join("\n")
}

/// Times of both traces, and sizes and places.
fn compared(figures: &[ComparedFigure]) -> [Table; 2] {
    [("time", "ns"), ("size or place", "B")].map(|(title, unit)| {
        let names = ["mean", "p50", "p99"];
        let sides = names
            .into_iter()
            .flat_map(|name| ["A", "B"].map(|side| format!("{name}, {side}")));
        let values = sides.chain(["demerit".to_owned()]);
        let values = values.map(|name| tables::number(name, unit));
        let percent = tables::number("demerit", "% of mean");
        let columns = [tables::name(title)].into_iter().chain(values);
        let columns = columns.chain([Column {
            key: "demerit_percent".into(),
            ..percent
        }]);
        let mut table = Table::new("", columns.collect::<Vec<_>>());
        let here = |found: &&ComparedFigure| (found.unit == "ns") == (unit == "ns");
        for found in figures.iter().filter(here) {
            let value = |value: f64| Cell::Number(value * size(&found.unit));
            let mut cells = vec![Cell::from(found.name.clone())];
            cells.extend(found.mean.map(value));
            cells.extend(found.p50.map(|v| value(v as f64)));
            cells.extend(found.p99.map(|v| value(v as f64)));
            cells.extend([value(found.demerit), found.demerit_percent.into()]);
            table.row(cells);
        }
        table
    })
}
