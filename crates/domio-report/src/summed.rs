//! The summary of a trace: what it says in words, and as tables.

use crate::{driver_work, tables, written};
use domio_answer::{Answered, Cell, Column, Holds, Sentence, Table};
use domio_core::{DomainId, Figure, FigureTable, VcpuName};
use domio_meter::{DiskUser, DomainSummary, Quantiles, Summary};
use domio_stats::drivers::DriverFigures;
use std::collections::BTreeMap;

/// Most threads in the table of who asked for requests of disks; JSON has all.
const DISK_USERS: usize = 10;

/// A summary with the names of the domains in it.
#[derive(Clone, Copy, Debug)]
pub struct Summed<'a> {
    /// The summary.
    pub summary: &'a Summary,
    /// Ids and names; a domain without a name is shown with its id.
    pub names: &'a [(DomainId, String)],
    /// What threads of a Linux host are called, by the vcpu that they are in records, in that
    /// order.
    pub threads: &'a [(VcpuName, String)],
}

impl<'a> Summed<'a> {
    /// The answer for programs, of a file whose clock counts `tsc_hz` a second; `truncated` says
    /// that the file ends too early.
    pub fn answer(&self, tsc_hz: u64, truncated: bool) -> Answered {
        let name = |id: DomainId| self.told(id).map(str::to_owned);
        let thread = |vcpu: VcpuName| self.thread(vcpu).map(str::to_owned);
        let summary = self.summary;
        let mut answer = summary.answer_with_threads(name, thread, tsc_hz, truncated);
        answer.findings = self.findings().into_iter().map(Sentence::new).collect();
        answer
    }

    /// What was found, a sentence each: how fair the running times are, how evenly boosts are
    /// spread, which records nobody declares.
    pub fn findings(&self) -> Vec<String> {
        let summary = self.summary;
        let competing = summary.competing();
        let jain = summary.jain(&competing).filter(|_| competing.len() > 1);
        let jain = jain.map(|index| {
            let over = written::names(competing.iter().map(|id| self.domain(*id)));
            let index = written::number(index);
            format!("Jain's index of the running times of {over}, which compete: {index}")
        });
        // On one pcpu boosts are spread as they can be.
        let balance = summary.boost_balance().filter(|_| summary.pcpus.len() > 1);
        let balance = balance.map(|factor| {
            let factor = written::number(factor);
            format!("Load-balance factor of boosts over pcpus (mean by most): {factor}")
        });
        let undeclared = summary.undeclared.iter();
        let undeclared: Vec<String> = undeclared.map(|(name, n)| format!("{n} {name}")).collect();
        let undeclared = (!undeclared.is_empty())
            .then(|| format!("Records that nobody declares: {}", undeclared.join(", ")));
        [jain, balance, undeclared].into_iter().flatten().collect()
    }

    /// What the figures cover, in a line.
    pub fn covers(&self) -> String {
        let lost = match self.summary.lost_records {
            0 => String::new(),
            n => format!(", {n} more are lost"),
        };
        let seconds = written::number(self.summary.seconds());
        format!("{} records in {seconds} s{lost}", self.summary.records)
    }

    /// Domains, whom driver domains worked for, disks, and pcpus.
    pub fn tables(&self) -> Vec<Table> {
        let summary = self.summary;
        let (accounted, others): (Vec<_>, Vec<_>) = summary
            .tables
            .iter()
            .partition(|table| table.is_accounted());
        let figures = |declared: &&'static FigureTable| self.figures(declared);
        let mut tables: Vec<Table> = accounted.into_iter().map(figures).collect();
        tables.push(self.unknown());
        tables.extend(others.into_iter().map(figures));
        tables.extend(summary.driver_work.iter().map(|work| {
            // A driver domain may have no records of its own.
            let ids = work.done_for.keys().copied();
            let ids = [work.driver].into_iter().chain(ids);
            let names: Vec<_> = ids.map(|id| (id, self.domain(id))).collect();
            let work = DriverFigures::of(work, &names);
            let measured_ms = summary.seconds() * 1e3;
            let mut table = driver_work::of_time("for", work.rows(), measured_ms);
            table.title = format!("Work of {} for others", work.driver).into();
            table
        }));
        tables.extend(self.disks());
        tables.push(summary.pcpu_table().filled());
        tables.retain(|table| !table.is_empty());
        tables
    }

    /// A row for each domain that has figures of `declared`, a column for each figure that any has.
    fn figures(&self, declared: &FigureTable) -> Table {
        let name = [tables::name("domain")];
        let columns = declared.figures.iter().map(tables::declared);
        let mut table = Table::new("", name.into_iter().chain(columns).collect::<Vec<Column>>());
        for domain in self.domains() {
            let value = |f: &Figure| Cell::from(self.summary.figure(domain, f.key));
            let values: Vec<Cell> = declared.figures.iter().map(value).collect();
            if values.iter().any(|value| !value.is_none()) {
                table.row([self.domain(domain.id).into()].into_iter().chain(values));
            }
        }
        table.filled()
    }

    /// Requests of the host's disks, of each disk, by domain, and by the threads that asked for
    /// most.
    fn disks(&self) -> [Table; 3] {
        let disks = &self.summary.disks;
        let amounts =
            || [("requests", ""), ("data", "MB")].map(|(name, unit)| tables::number(name, unit));
        let times = ["queue", "device"].into_iter().flat_map(|place| {
            let percents = [50, 95, 99].into_iter();
            percents.map(move |p| tables::number(format!("{place} p{p}"), "ns").of(Holds::Whole))
        });
        let columns = [tables::name("disk")]
            .into_iter()
            .chain(amounts())
            .chain(times);
        let mut of_disks = Table::new("Requests of disks", columns.collect::<Vec<Column>>());
        let mut by_domain: BTreeMap<(DomainId, &str), (u64, u64)> = BTreeMap::new();
        let mut users: Vec<(&str, &DiskUser)> = Vec::new();
        for disk in disks {
            let times = |of: &Quantiles| [of.p50, of.p95, of.p99].map(Cell::from);
            let row = [Cell::text(disk.disk.clone())];
            let row = row.into_iter().chain(done(disk.requests, disk.bytes));
            of_disks.row(row.chain(times(&disk.queue.0)).chain(times(&disk.device.0)));
            for user in &disk.users {
                let sums = by_domain.entry((user.name.domain, &disk.disk)).or_default();
                *sums = (sums.0 + user.requests, sums.1 + user.bytes);
                users.push((&disk.disk, user));
            }
        }
        let of_users = |title: &'static str, name| {
            let names = [tables::name(name), tables::name("disk")];
            Table::new(
                title,
                names.into_iter().chain(amounts()).collect::<Vec<_>>(),
            )
        };
        let mut of_domains = of_users("Requests of disks, by domain", "domain");
        for ((domain, disk), (requests, bytes)) in by_domain {
            let names = [
                self.asked(domain, || self.domain(domain)),
                Cell::text(disk.to_owned()),
            ];
            of_domains.row(names.into_iter().chain(done(requests, bytes)));
        }
        let mut of_threads = of_users("Who asked for most", "thread");
        users.sort_by_key(|(disk, user)| (u64::MAX - user.bytes, user.name, *disk));
        for (disk, user) in users.into_iter().take(DISK_USERS) {
            let told = || self.told(user.name.domain);
            let name = || {
                self.thread(user.name)
                    .map_or_else(|| user.name.called(told()), str::to_owned)
            };
            let names = [
                self.asked(user.name.domain, name),
                Cell::text(disk.to_owned()),
            ];
            of_threads.row(names.into_iter().chain(done(user.requests, user.bytes)));
        }
        [of_disks.filled(), of_domains, of_threads]
    }

    /// Who asked for requests; the idle domain stands for what is not known.
    fn asked(&self, domain: DomainId, name: impl Fn() -> String) -> Cell {
        match domain {
            DomainId::IDLE => Cell::from("unknown"),
            _ => Cell::text(name()),
        }
    }

    /// The name of the thread that `vcpu` stands for.
    fn thread(&self, vcpu: VcpuName) -> Option<&'a str> {
        let place = self.threads.binary_search_by_key(&vcpu, |(vcpu, _)| *vcpu);
        Some(&self.threads[place.ok()?].1)
    }

    /// Domains of which records were lost, or contradict each other.
    fn unknown(&self) -> Table {
        let unknown = tables::number("unknown", "% of one pcpu");
        let mut table = Table::new("", [tables::name("domain"), unknown]);
        for domain in self.domains().filter(|d| d.total.unknown > 0) {
            let percent = self.summary.percent(domain.total.unknown);
            table.row([self.domain(domain.id).into(), percent.into()]);
        }
        table
    }

    /// All but the idle domain.
    fn domains(&self) -> impl Iterator<Item = &'a DomainSummary> + use<'a> {
        let domains = self.summary.domains.iter();
        domains.filter(|d| d.id != DomainId::IDLE)
    }

    fn domain(&self, id: DomainId) -> String {
        id.called(self.told(id))
    }

    fn told(&self, id: DomainId) -> Option<&str> {
        // Most hosts number their domains from 0 on.
        let likely = self.names.get(usize::from(id.0)).filter(|(d, _)| *d == id);
        let named = likely.or_else(|| self.names.iter().find(|(d, _)| *d == id));
        named.map(|(_, name)| &**name)
    }
}

/// Cells of a number of requests and their size.
fn done(requests: u64, bytes: u64) -> [Cell; 2] {
    [requests.into(), (bytes as f64 / 1e6).into()]
}
