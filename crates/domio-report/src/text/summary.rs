//! The summary of one trace as tables.

use crate::figure;
use crate::text::{TextCell, TextColumn, TextTable, Tone, View};
use domio_core::{DomainId, Figure, FigureTable};
use domio_meter::{DomainJson, DriverSumsJson, SummaryJson};

/// Domains, pcpus and what the trace covers. `name` gives the name of a domain, where one is known.
pub fn render(summary: &SummaryJson, name: impl Fn(u16) -> Option<String>, view: &View) -> String {
    let real = |d: &&DomainJson| d.id != DomainId::IDLE.0;
    let domains: Vec<&DomainJson> = summary.domains.iter().filter(real).collect();
    let (accounted, others): (Vec<&FigureTable>, Vec<&FigureTable>) = summary
        .tables
        .iter()
        .partition(|table| table.is_accounted());
    let shown = |tables: Vec<&FigureTable>| -> String {
        let tables = tables
            .into_iter()
            .map(|table| figures(&domains, table, &name));
        let tables = tables.filter(|table| !table.is_empty());
        tables.map(|table| table.render(view) + "\n").collect()
    };
    let (accounted, others) = (shown(accounted), shown(others));
    let mut unknown = TextTable::new([
        TextColumn::words("domain").whole(),
        TextColumn::figures("unknown\n[% of one pcpu]"),
    ]);
    for domain in domains.iter().filter(|d| d.account.unknown_ns > 0) {
        let title = TextCell::new(title(domain.id, &name), Tone::Strong);
        unknown.row([title, percent(summary, domain.account.unknown_ns).into()]);
    }
    let unknown = match unknown.is_empty() {
        true => String::new(),
        false => unknown.render(view) + "\n",
    };
    // On one pcpu boosts are spread as they can be.
    let balance = summary.boost_balance.filter(|_| summary.pcpus.len() > 1);
    let pcpus = pcpus(summary, balance.is_some());
    let balance = match balance {
        Some(factor) => format!(
            "Load-balance factor of boosts over pcpus (mean by most): {}\n\n",
            figure::number(factor)
        ),
        None => String::new(),
    };
    let work: String = summary
        .driver_work
        .iter()
        .fold(String::new(), |text, work| {
            let driver = title(work.driver, &name);
            let table = driver_work(summary, work, &name).render(view);
            text + &format!("Work of {driver} for others:\n\n{table}\n")
        });
    let jain = match summary.jain {
        Some(index) => {
            let over = summary.jain_over.iter();
            let over = figure::names(over.map(|id| title(*id, &name)));
            let index = figure::number(index);
            format!("Jain's index of the running times of {over}, which compete: {index}\n\n")
        }
        None => String::new(),
    };
    let lost = match summary.lost_records {
        0 => String::new(),
        n => format!(", {n} more are lost"),
    };
    format!(
        "Time and waits, from the first record to the last, {} s:\n\n\
         {accounted}{unknown}{jain}{others}{work}{}\n\
         {balance}{} records in {} s{lost}\n{}",
        figure::number(summary.seconds),
        pcpus.render(view),
        summary.records,
        figure::number(summary.seconds),
        undeclared(summary)
    )
}

/// Records that nobody declares, by name, in a line; nothing without any.
fn undeclared(summary: &SummaryJson) -> String {
    let counts = summary.undeclared.0.iter();
    let counts: Vec<String> = counts.map(|(name, n)| format!("{n} {name}")).collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!("of them nobody declares: {}\n", counts.join(", ")),
    }
}

/// A row for each pcpu, with its rate of boosts where they are asked for and known.
fn pcpus(summary: &SummaryJson, with_boosts: bool) -> TextTable {
    let mut columns = vec![
        TextColumn::words("pcpu").whole(),
        TextColumn::figures("busy\n[% of time]"),
        TextColumn::figures("switches\n[1/s]"),
    ];
    if with_boosts {
        columns.push(TextColumn::figures("boosts\n[1/s]"));
    }
    let mut table = TextTable::new(columns);
    for pcpu in &summary.pcpus {
        let mut cells = vec![
            TextCell::new(format!("p{}", pcpu.id), Tone::Strong),
            percent(summary, pcpu.busy_ns).into(),
            figure::number(pcpu.switches_per_second).into(),
        ];
        if let (true, Some(boosts)) = (with_boosts, pcpu.boosts) {
            let rate = match summary.seconds > 0.0 {
                true => boosts as f64 / summary.seconds,
                false => 0.0,
            };
            cells.push(figure::number(rate).into());
        }
        table.row(cells);
    }
    table
}

/// A row for each domain that has figures of `declared`, a column for each figure that any has.
fn figures(
    domains: &[&DomainJson],
    declared: &FigureTable,
    name: &impl Fn(u16) -> Option<String>,
) -> TextTable {
    let value = |domain: &DomainJson, figure: &Figure| {
        let mut own = domain.figures.0.iter();
        own.find(|(f, _)| f.key == figure.key)
            .map(|(_, value)| *value)
    };
    let has = |f: &&Figure| domains.iter().any(|d| value(d, f).is_some());
    let figures: Vec<&Figure> = declared.figures.iter().filter(has).collect();
    let heads = figures
        .iter()
        .map(|f| TextColumn::figures(figure::head(f.title, f.unit)));
    let mut table = TextTable::new(
        [TextColumn::words("domain").whole()]
            .into_iter()
            .chain(heads),
    );
    for domain in domains {
        let values: Vec<Option<f64>> = figures.iter().map(|f| value(domain, f)).collect();
        if values.iter().any(Option::is_some) {
            let cells = figures
                .iter()
                .zip(values)
                .map(|(figure, value)| match value {
                    Some(value) => figure::plain_cell(value, figure.unit).into(),
                    None => TextCell::new("-", Tone::Dim),
                });
            let title = TextCell::new(title(domain.id, name), Tone::Strong);
            table.row([title].into_iter().chain(cells));
        }
    }
    table
}

/// For whom a driver domain worked.
fn driver_work(
    summary: &SummaryJson,
    work: &DriverSumsJson,
    name: &impl Fn(u16) -> Option<String>,
) -> TextTable {
    let mut table = TextTable::new([
        TextColumn::words("for").whole(),
        TextColumn::figures("share\n[% of one pcpu]"),
        TextColumn::figures("time"),
    ]);
    let others = work.for_ns.iter().map(|(id, ns)| (title(*id, name), *ns));
    let rest = [("nobody", work.nobody_ns), ("busy", work.busy_ns)];
    for (name, ns) in others.chain(rest.map(|(name, ns)| (name.to_owned(), ns))) {
        let time = figure::scaled(ns as f64, None, "ns");
        let percent = percent(summary, ns);
        table.row([
            TextCell::new(name, Tone::Strong),
            percent.into(),
            time.into(),
        ]);
    }
    table
}

/// How the domain `id` is called.
fn title(id: u16, name: impl Fn(u16) -> Option<String>) -> String {
    DomainId(id).called(name(id).as_deref())
}

fn percent(summary: &SummaryJson, ns: u64) -> String {
    match summary.seconds > 0.0 {
        true => format!("{:.2}", ns as f64 / summary.seconds / 1e7),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::table::tests::plain;
    use domio_core::{Instant, Names, PcpuId, Record, Runstate, Sink, VcpuName};
    use domio_meter::Meter;

    #[test]
    fn domains_are_named_and_the_idle_one_is_not_shown() {
        let mut meter = Meter::new();
        let mut names = Names::new();
        let guest = names.add_actor(VcpuName::new(DomainId(3), 0));
        let idle = names.add_actor(VcpuName::idle(PcpuId(0)));
        let mut change = |ms: u64, vcpu, old, new| {
            let at = Instant::from_nanos(ms * 1_000_000);
            meter.record(&names, &Record::runstate(at, PcpuId(0), vcpu, old, new));
        };
        change(0, guest, Runstate::Runnable, Runstate::Running);
        change(30, guest, Runstate::Running, Runstate::Blocked);
        change(30, idle, Runstate::Runnable, Runstate::Running);
        change(100, idle, Runstate::Running, Runstate::Runnable);
        let mut summary = SummaryJson::new(&meter.finish(), 1_000_000_000);
        let text = render(
            &summary,
            |id| (id == 3).then(|| "web".into()),
            &View::default(),
        );
        assert!(text.contains("web") && text.contains("30 "), "{text}");
        assert!(!text.contains("idle"));
        assert!(text.ends_with("4 records in 0.1 s\n"), "{text}");
        assert!(!text.contains("Work of"));
        summary.undeclared.0 = vec![("0x00802001".to_owned(), 3)];
        let text = render(&summary, |_| None, &View::default());
        assert!(
            text.ends_with("in 0.1 s\nof them nobody declares: 3 0x00802001\n"),
            "{text}"
        );
        summary.driver_work = vec![DriverSumsJson {
            driver: 0,
            busy_ns: 30_000_000,
            for_ns: [(3, 20_500_000)].into(),
            nobody_ns: 9_500_000,
        }];
        let text = plain(&render(
            &summary,
            |id| (id == 3).then(|| "web".into()),
            &View::default(),
        ));
        let (_, work) = text
            .split_once("\nWork of Domain-0 for others:\n\n")
            .unwrap();
        let rows: Vec<String> = work
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for row in [
            "web 20.50 20.5 ms",
            "nobody 9.50 9.5 ms",
            "busy 30.00 30 ms",
        ] {
            assert!(rows.iter().any(|r| r == row), "{row}: {text}");
        }
    }
}
