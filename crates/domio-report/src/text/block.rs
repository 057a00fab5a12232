//! Traces of block devices as tables.

use crate::figure;
use crate::text::table::folded;
use crate::text::{TextCell, TextColumn, TextTable, Tone, View};
use domio_meter::block::{
    BesideJson, BlockComparison, BlockSummaryJson, BlockWaitsJson, ComparedJson, FoundJson,
    SpreadJson, StageJson, WaiterJson,
};
use std::collections::BTreeMap;

/// Rows of those who asked or waited, at most; the rest is one row.
const ROWS: usize = 12;

/// Columns of those whose requests the device had, at most; the rest is one column.
const BESIDE: usize = 6;

const SECTOR: f64 = BlockSummaryJson::SECTOR as f64;

/// What was asked of a disk.
pub fn summary(summary: &BlockSummaryJson, format: &str, view: &View) -> String {
    let asked = asked(summary, view);
    let mut text = format!(
        "Requests, as they were queued and as the driver took them:\n\n{}\n{}\n",
        stages(&summary.stages, summary.seconds, view),
        figures(&summary.figures, view)
    );
    if !asked.is_empty() {
        text += &format!("Who asked:\n\n{asked}\n");
    }
    if let (Some(elevator), Some(device)) = (summary.elevator_depth, summary.device_depth) {
        let [waiting, there] = [elevator.mean, device.mean].map(figure::number);
        text += &format!(
            "In the elevator {waiting} on average, {} at most; in the device {there}, {} at \
             most.\n",
            elevator.max, device.max
        );
    }
    text + &covers(summary, format)
}

fn covers(summary: &BlockSummaryJson, format: &str) -> String {
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
        figure::scaled(summary.seconds, None, "s"),
        match summary.devices {
            1 => "one device".to_owned(),
            many => format!("{many} devices"),
        }
    )
}

fn stages(stages: &[StageJson], seconds: f64, view: &View) -> String {
    let mut table = TextTable::new([
        TextColumn::words("requests").whole(),
        TextColumn::figures("number"),
        TextColumn::figures("of them\n[%]"),
        TextColumn::figures("rate\n[1/s]"),
        TextColumn::figures("data\n[MiB]"),
        TextColumn::figures("size,\nmean"),
        TextColumn::figures("size,\n50 %"),
        TextColumn::figures("size,\n99 %"),
        TextColumn::figures("sequential\n[%]"),
    ]);
    for stage in stages {
        let same = stages.iter().filter(|s| s.stage == stage.stage);
        let all: u64 = same.map(|s| s.requests).sum();
        let size = &stage.size_bytes;
        let of = match stage.stage {
            "queued" => "queued",
            _ => "taken",
        };
        table.row([
            TextCell::new(format!("{}s, {of}", stage.way), Tone::Strong),
            stage.requests.to_string().into(),
            percent(stage.requests as f64, all as f64).into(),
            figure::number(stage.requests as f64 / seconds.max(1e-9)).into(),
            figure::number(stage.bytes as f64 / (1 << 20) as f64).into(),
            bytes(size.mean).into(),
            bytes(size.p50 as f64).into(),
            bytes(size.p99 as f64).into(),
            percent(stage.sequential, 1.0).into(),
        ]);
    }
    table.render(view)
}

fn figures(figures: &[FoundJson], view: &View) -> String {
    let mut table = TextTable::new([
        TextColumn::words("time or place").whole(),
        TextColumn::figures("mean"),
        TextColumn::figures("50 %"),
        TextColumn::figures("95 %"),
        TextColumn::figures("99 %"),
        TextColumn::figures("largest"),
    ]);
    for found in figures {
        let SpreadJson { mean, .. } = found.spread;
        let rest = [
            found.spread.p50,
            found.spread.p95,
            found.spread.p99,
            found.spread.max,
        ];
        let name = TextCell::new(found.name, Tone::Strong);
        let values = [mean].into_iter().chain(rest.map(|value| value as f64));
        let values = values.map(|value| in_unit(value, found.unit).into());
        table.row([name].into_iter().chain(values));
    }
    table.render(view)
}

/// Who asked; the least busy in one row.
fn asked(summary: &BlockSummaryJson, view: &View) -> String {
    let mut table = TextTable::new([
        TextColumn::words("who").whole(),
        TextColumn::figures("members"),
        TextColumn::figures("reads"),
        TextColumn::figures("writes"),
        TextColumn::figures("data\n[MiB]"),
    ]);
    let mut row = |name: String, counts: [u64; 3], bytes: u64| {
        let counts = counts.map(|count| count.to_string().into());
        let mib = figure::number(bytes as f64 / (1 << 20) as f64);
        let cells = [TextCell::new(name, Tone::Strong)]
            .into_iter()
            .chain(counts);
        table.row(cells.chain([mib.into()]));
    };
    let (shown, rest) = summary.actors.split_at(summary.actors.len().min(ROWS));
    for one in shown {
        let counts = [one.members, one.reads, one.writes];
        row(told_name(&one.name), counts, one.bytes);
    }
    if !rest.is_empty() {
        let sum = |of: fn(&domio_meter::block::SpeakerJson) -> u64| rest.iter().map(of).sum();
        let counts = [sum(|a| a.members), sum(|a| a.reads), sum(|a| a.writes)];
        row(format!("{} others", rest.len()), counts, sum(|a| a.bytes));
    }
    match table.is_empty() {
        true => String::new(),
        false => table.render(view),
    }
}

/// What requests waited for, and behind whom.
pub fn waits(waits: &BlockWaitsJson, view: &View) -> String {
    let mut parts = Vec::new();
    if !waits.waiters.is_empty() {
        parts.push(format!(
            "Time of requests, by what they waited for, in % of their time:\n\n{}",
            waiters(&waits.waiters, view)
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
        if let Some(table) = by_whom(beside, view) {
            let title = folded(title, view.width.into(), "");
            parts.push(format!("{title}\n{table}"));
        }
    }
    if !waits.longest.is_empty() {
        parts.push(format!("Longest waits:\n\n{}", longest(waits, view)));
    }
    let untold = untold(waits);
    if !untold.is_empty() {
        let lines = untold.iter();
        let lines = lines.map(|said| view.item("", &format!("{said}.")));
        let title = "What the trace does not tell:\n".to_owned();
        parts.push(lines.fold(title, |text, line| text + &line));
    }
    let seconds = figure::number(waits.seconds);
    parts.push(format!(
        "{} requests in {seconds} s, {} more without an end\n",
        waits.ended, waits.unended
    ));
    parts.join("\n")
}

/// A replay: what was asked, and what requests waited for.
pub fn replay(
    asked: &BlockSummaryJson,
    explained: &BlockWaitsJson,
    format: &str,
    view: &View,
) -> String {
    format!(
        "{}\n{}",
        summary(asked, format, view),
        waits(explained, view)
    )
}

/// What the trace cannot tell, and what to do.
fn untold(waits: &BlockWaitsJson) -> Vec<&'static str> {
    let mut untold = Vec::new();
    if !waits.tells_end {
        untold.push(
            "when requests ended, so there are no waits to explain; --drive replays them on a \
             drive",
        );
    } else if waits.tells_response_alone {
        untold.push(
            "what a response time consists of; --drive replays the requests on a drive, which \
             tells",
        );
    } else if !waits.tells_issue {
        untold.push("when the driver took requests, so elevator and device are one");
    }
    let tells_parts = waits.tells_end && !waits.tells_response_alone;
    if tells_parts && waits.waiters.iter().all(|waiter| waiter.device.is_none()) {
        untold.push(
            "what the time in the device went to: its queue, arm, platter or cache; --drive \
             replays the requests on a drive, which tells",
        );
    }
    untold
}

fn waiters(waiters: &[WaiterJson], view: &View) -> String {
    let split = waiters.iter().any(|waiter| waiter.device.is_some());
    let untold = waiters.iter().any(|waiter| waiter.untold_ns > 0);
    let mut columns = vec![
        TextColumn::words("requests").whole(),
        TextColumn::figures("number"),
        TextColumn::figures("time of\none"),
        TextColumn::figures("99 %"),
    ];
    let mut heads = vec!["elevator"];
    match split {
        true => heads.extend([
            "device,\nqueue",
            "seek",
            "rotation",
            "transfer",
            "cache\n[% of them]",
        ]),
        false => heads.push("device"),
    }
    if untold {
        heads.push("either");
    }
    columns.extend(heads.into_iter().map(TextColumn::figures));
    let mut table = TextTable::new(columns);
    for waiter in waiters.iter().take(ROWS) {
        let total = waiter.total_ns() as f64;
        let part = |ns: u64| TextCell::from(percent(ns as f64, total));
        let time = |ns: f64| TextCell::from(figure::scaled(ns / 1e6, None, "ms"));
        let name = format!("{}, {}s", told_name(&waiter.who), waiter.way);
        let mut cells = vec![
            TextCell::new(name, Tone::Strong),
            waiter.requests.to_string().into(),
            time(waiter.response_ns.mean),
            time(waiter.response_ns.p99 as f64),
            part(waiter.elevator_ns),
        ];
        match (split, waiter.device) {
            (true, Some(parts)) => {
                let times = [
                    parts.queued_ns,
                    parts.seek_ns,
                    parts.rotation_ns,
                    parts.transfer_ns,
                ];
                cells.extend(times.map(part));
                let cached = percent(parts.cached as f64, waiter.requests as f64);
                cells.push(cached.into());
            }
            (true, None) => cells.extend((0..5).map(|_| "-".into())),
            (false, _) => cells.push(part(waiter.device_ns)),
        }
        if untold {
            cells.push(part(waiter.untold_ns));
        }
        table.row(cells);
    }
    let text = table.render_all(view);
    match waiters.len().saturating_sub(ROWS) {
        0 => text,
        more => text + &format!("and {more} more rows, with less time in all\n"),
    }
}

/// Names, those with the most time first.
fn largest<'a>(all: impl IntoIterator<Item = (Option<&'a str>, f64)>) -> Vec<Option<&'a str>> {
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.into_iter().map(|(name, _)| name).collect()
}

/// Who waited beside whom; `None` when nobody waited.
fn by_whom(beside: &[BesideJson], view: &View) -> Option<String> {
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
    let title = |name: &Option<&str>| name.map_or("nobody".to_owned(), told_name);
    let mut columns = vec![
        TextColumn::words("who").whole(),
        TextColumn::figures("time\n[s]"),
    ];
    columns.extend(shown.iter().map(|name| TextColumn::figures(title(name))));
    if !rest.is_empty() {
        columns.push(TextColumn::figures("others"));
    }
    let mut table = TextTable::new(columns);
    for name in names.into_iter().flatten().take(ROWS) {
        let total = of_waiters[name];
        let of = |by: &Option<&str>| times.get(&(name, *by)).copied().unwrap_or(0.0);
        let mut cells = vec![
            TextCell::new(told_name(name), Tone::Strong),
            figure::number(total / 1e9).into(),
        ];
        cells.extend(shown.iter().map(|by| percent(of(by), total).into()));
        if !rest.is_empty() {
            cells.push(percent(rest.iter().map(of).sum(), total).into());
        }
        table.row(cells);
    }
    (!table.is_empty()).then(|| table.render(view))
}

fn longest(waits: &BlockWaitsJson, view: &View) -> String {
    let mut table = TextTable::new([
        TextColumn::words("who").whole(),
        TextColumn::words("does").whole(),
        TextColumn::figures("queued at\n[s]"),
        TextColumn::figures("took"),
        TextColumn::figures("elevator"),
        TextColumn::figures("device"),
        TextColumn::figures("requests\nbefore it"),
        TextColumn::figures("sector"),
        TextColumn::figures("size"),
    ]);
    for wait in &waits.longest {
        let time = |ns: u64| figure::scaled(ns as f64 / 1e6, None, "ms");
        let told = |ns: Option<u64>| ns.map_or("-".to_owned(), time);
        let device = wait.elevator_ns.map(|elevator| wait.response_ns - elevator);
        let passed = wait.passed.map_or("-".to_owned(), |n| n.to_string());
        table.row([
            TextCell::new(told_name(&wait.who), Tone::Strong),
            wait.way.into(),
            format!("{:.3}", wait.queued_ns as f64 / 1e9).into(),
            time(wait.response_ns).into(),
            told(wait.elevator_ns).into(),
            told(device).into(),
            passed.into(),
            wait.sector.to_string().into(),
            bytes(f64::from(wait.sectors) * SECTOR).into(),
        ]);
    }
    table.render(view)
}

/// Two traces beside each other.
pub fn comparison(comparison: &BlockComparison, names: &[String; 2], view: &View) -> String {
    let mut mix = TextTable::new([
        TextColumn::words("mix").whole(),
        TextColumn::figures("A"),
        TextColumn::figures("B"),
    ]);
    let part = |parts: [Option<f64>; 2]| {
        parts.map(|part| part.map_or("-".to_owned(), |part| percent(part, 1.0)))
    };
    let rows = [
        ("length [s]", comparison.seconds.map(figure::number)),
        ("requests", comparison.requests.map(|n| n.to_string())),
        ("reads [% of requests]", part(comparison.reads.map(Some))),
        ("sequential reads [%]", part(comparison.sequential_reads)),
        ("sequential writes [%]", part(comparison.sequential_writes)),
    ];
    for (name, [a, b]) in rows {
        mix.row([TextCell::new(name, Tone::Strong), a.into(), b.into()]);
    }
    let mut table = TextTable::new([
        TextColumn::words("figure").whole(),
        TextColumn::figures("mean,\nA"),
        TextColumn::figures("mean,\nB"),
        TextColumn::figures("50 %,\nA"),
        TextColumn::figures("50 %,\nB"),
        TextColumn::figures("99 %,\nA"),
        TextColumn::figures("99 %,\nB"),
        TextColumn::figures("demerit"),
        TextColumn::figures("demerit\n[% of mean]"),
    ]);
    for compared in &comparison.figures {
        table.row(compared_row(compared));
    }
    format!(
        "A: {}\nB: {}\n\n{}\n{}",
        names[0],
        names[1],
        mix.render(view),
        table.render_all(view)
    )
}

fn compared_row(compared: &ComparedJson) -> Vec<TextCell> {
    let unit = compared.unit;
    let value = |value: f64| TextCell::from(in_unit(value, unit));
    let percent = compared.demerit_percent.map(figure::number);
    let mut cells = vec![TextCell::new(compared.name, Tone::Strong)];
    cells.extend(compared.mean.map(value));
    cells.extend(compared.p50.map(|v| value(v as f64)));
    cells.extend(compared.p99.map(|v| value(v as f64)));
    cells.push(value(compared.demerit));
    cells.push(percent.unwrap_or("-".to_owned()).into());
    cells
}

/// A name; of those that have none, that there is none.
fn told_name(name: &str) -> String {
    match name.is_empty() {
        true => "(no name)".to_owned(),
        false => name.to_owned(),
    }
}

fn percent(part: f64, of: f64) -> String {
    match of > 0.0 {
        true => format!("{:.1}", 100.0 * part / of),
        false => "-".to_owned(),
    }
}

/// A value of a figure: times in the unit that makes them short, places and sizes in bytes.
fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => figure::scaled(value / 1e6, None, "ms"),
        "sector" => bytes(value * SECTOR),
        _ => bytes(value),
    }
}

/// Bytes in the unit that makes them short.
fn bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] = [
        ((1u64 << 40) as f64, "TiB"),
        ((1u64 << 30) as f64, "GiB"),
        ((1u64 << 20) as f64, "MiB"),
        ((1u64 << 10) as f64, "KiB"),
    ];
    let fitting = UNITS.iter().find(|(size, _)| bytes >= *size);
    match fitting {
        Some((size, unit)) => format!("{} {unit}", figure::short(bytes / size)),
        None => format!("{} B", figure::short(bytes)),
    }
}
