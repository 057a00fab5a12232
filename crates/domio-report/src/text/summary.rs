//! The summary of one trace as tables.

use crate::figure;
use crate::text::{Cell, Column, Table, Tone, View};
use domio_core::DomainId;
use domio_meter::{
    AccountJson, DiskJson, DomainJson, DriverSumsJson, JobsJson, NetworkJson, SummaryJson, WebJson,
};

/// Heads of the table of web servers.
const WEB_HEADS: [&str; 9] = [
    "replies\n[1/s]",
    "timed\nout",
    "refused",
    "reset",
    "not\nbegun",
    "connect,\n50 %",
    "first byte,\n50 %",
    "response,\n50 %",
    "response,\n95 %",
];

/// Heads of the table of virtual disks.
const DISK_HEADS: [&str; 13] = [
    "read and\nwritten [MB/s]",
    "reads",
    "read,\nmean",
    "read,\n99 %",
    "writes",
    "write,\nmean",
    "write,\n99 %",
    "commands",
    "in the\ndrive",
    "queued,\nmean",
    "seek,\nmean",
    "rotation,\nmean",
    "transfer,\nmean",
];

/// Heads of the table of domains.
const DOMAIN_HEADS: [&str; 7] = [
    "running\n[% of one pcpu]",
    "runnable\n[% of time]",
    "runs\n[1/s]",
    "run, 50 %",
    "run, 95 %",
    "wake to run,\n50 %",
    "wake to run,\n95 %",
];

/// Heads of the table of jobs.
const JOB_HEADS: [&str; 5] = [
    "jobs\ndone",
    "turnaround,\nmean",
    "turnaround,\n50 %",
    "turnaround,\n95 %",
    "turnaround,\n99 %",
];

/// Heads of the table of network traffic.
const NETWORK_HEADS: [&str; 7] = [
    "delivered\n[Mb/s]",
    "pings\nanswered",
    "round trip,\nmean",
    "round trip,\nsd",
    "round trip,\n50 %",
    "round trip,\n95 %",
    "round trip,\n99 %",
];

/// Domains, pcpus and what the trace covers. `name` gives the name of a domain, where one is known.
pub fn render(summary: &SummaryJson, name: impl Fn(u16) -> Option<String>, view: &View) -> String {
    let real = |id: u16| id != DomainId::IDLE.0;
    let domains = per_domain(summary, &name, DOMAIN_HEADS, |d| {
        real(d.id).then(|| figures(summary, &d.account))
    });
    let unknown = per_domain(summary, &name, ["unknown\n[% of one pcpu]"], |d| {
        let is_told = real(d.id) && d.account.unknown_ns > 0;
        is_told.then(|| [percent(summary, d.account.unknown_ns)])
    });
    let jobs = per_domain(summary, &name, JOB_HEADS, |d| {
        d.jobs.as_ref().map(job_figures)
    });
    let networks = per_domain(summary, &name, NETWORK_HEADS, |d| {
        d.network.as_ref().map(network_figures)
    });
    let webs = per_domain(summary, &name, WEB_HEADS, |d| {
        d.web.as_ref().map(web_figures)
    });
    let disks = per_domain(summary, &name, DISK_HEADS, |d| {
        d.disk.as_ref().map(disk_figures)
    });
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
    let if_any = |table: &Table| match table.is_empty() {
        true => String::new(),
        false => format!("{}\n", table.render(view)),
    };
    let [unknown, jobs, networks, webs, disks] =
        [&unknown, &jobs, &networks, &webs, &disks].map(if_any);
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
         {}\n{unknown}{jain}{jobs}{networks}{webs}{disks}{work}{}\n\
         {balance}{} records in {} s{lost}\n{}",
        figure::number(summary.seconds),
        domains.render(view),
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
fn pcpus(summary: &SummaryJson, with_boosts: bool) -> Table {
    let mut columns = vec![
        Column::words("pcpu").whole(),
        Column::figures("busy\n[% of time]"),
        Column::figures("switches\n[1/s]"),
    ];
    if with_boosts {
        columns.push(Column::figures("boosts\n[1/s]"));
    }
    let mut table = Table::new(columns);
    for pcpu in &summary.pcpus {
        let mut cells = vec![
            Cell::new(format!("p{}", pcpu.id), Tone::Strong),
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

/// A row for each domain that has `figures`, under these heads.
fn per_domain<const N: usize>(
    summary: &SummaryJson,
    name: &impl Fn(u16) -> Option<String>,
    heads: [&str; N],
    figures: impl Fn(&DomainJson) -> Option<[String; N]>,
) -> Table {
    let columns = heads.into_iter().map(Column::figures);
    let mut table = Table::new([Column::words("domain").whole()].into_iter().chain(columns));
    for domain in &summary.domains {
        if let Some(figures) = figures(domain) {
            let title = Cell::new(title(domain.id, name), Tone::Strong);
            table.row([title].into_iter().chain(figures.map(Cell::from)));
        }
    }
    table
}

/// For whom a driver domain worked.
fn driver_work(
    summary: &SummaryJson,
    work: &DriverSumsJson,
    name: &impl Fn(u16) -> Option<String>,
) -> Table {
    let mut table = Table::new([
        Column::words("for").whole(),
        Column::figures("share\n[% of one pcpu]"),
        Column::figures("time"),
    ]);
    let others = work.for_ns.iter().map(|(id, ns)| (title(*id, name), *ns));
    let rest = [("nobody", work.nobody_ns), ("busy", work.busy_ns)];
    for (name, ns) in others.chain(rest.map(|(name, ns)| (name.to_owned(), ns))) {
        let time = figure::scaled(ns as f64, None, "ns");
        let percent = percent(summary, ns);
        table.row([Cell::new(name, Tone::Strong), percent.into(), time.into()]);
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

fn us(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |us| figure::scaled(us, None, "us"))
}

fn job_figures(jobs: &JobsJson) -> [String; 5] {
    [
        jobs.done.to_string(),
        us(jobs.turnaround_us.mean),
        us(jobs.turnaround_us.p50),
        us(jobs.turnaround_us.p95),
        us(jobs.turnaround_us.p99),
    ]
}

fn network_figures(network: &NetworkJson) -> [String; 7] {
    [
        figure::number(network.delivered_mbps),
        network.replies.to_string(),
        us(network.round_trip_us.mean),
        us(network.round_trip_sd_us),
        us(network.round_trip_us.p50),
        us(network.round_trip_us.p95),
        us(network.round_trip_us.p99),
    ]
}

fn disk_figures(disk: &DiskJson) -> [String; 13] {
    [
        figure::number(disk.mb_per_second),
        disk.reads.to_string(),
        us(disk.read_us.mean),
        us(disk.read_us.p99),
        disk.writes.to_string(),
        us(disk.write_us.mean),
        us(disk.write_us.p99),
        disk.commands.to_string(),
        figure::number(disk.in_drives),
        us(disk.queued_us),
        us(disk.seek_us),
        us(disk.rotation_us),
        us(disk.transfer_us),
    ]
}

fn web_figures(web: &WebJson) -> [String; 9] {
    let not_begun = web.no_descriptor + web.no_port;
    [
        figure::number(web.replies_per_second),
        web.timed_out.to_string(),
        web.refused.to_string(),
        web.reset.to_string(),
        not_begun.to_string(),
        us(web.connect_us.p50),
        us(web.first_byte_us.p50),
        us(web.response_us.p50),
        us(web.response_us.p95),
    ]
}

fn figures(summary: &SummaryJson, account: &AccountJson) -> [String; 7] {
    [
        format!("{:.2}", account.share_percent),
        percent(summary, account.runnable_ns),
        figure::number(account.executions_per_second),
        us(account.run_us.p50),
        us(account.run_us.p95),
        us(account.wake_to_run_us.p50),
        us(account.wake_to_run_us.p95),
    ]
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
        assert!(text.contains("web") && text.contains("30.00"), "{text}");
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
