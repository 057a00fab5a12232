//! The summary of a trace: what it says in words, and as tables.

use crate::{driver_work, tables, written};
use domio_answer::{Answered, Cell, Column, Sentence, Table};
use domio_core::{DomainId, Figure, FigureTable, VcpuName};
use domio_meter::{DomainSummary, Summary};
use domio_stats::drivers::DriverFigures;

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
        let thread = |vcpu: VcpuName| {
            let place = self.threads.binary_search_by_key(&vcpu, |(vcpu, _)| *vcpu);
            Some(self.threads[place.ok()?].1.clone())
        };
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

    /// Domains, whom driver domains worked for, and pcpus.
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
        let named = self.names.iter().find(|(d, _)| *d == id);
        named.map(|(_, name)| &**name)
    }
}
