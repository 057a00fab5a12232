//! What an explanation says, as figures: the same for terminal and report, for scenarios and
//! traces.
//!
//! | file | what it holds |
//! |---|---|
//! | `opening.rs` | the worst waits in sentences, and a row for each vcpu |
//! | `vcpus.rs` | behind whom vcpus waited, and why |
//! | `items.rs` | what packets and requests waited for |
//! | `shares.rs` | parts of wholes, as tables and bars have them |
//!
//! The longest waits, and how the sections are put together, are here.

mod items;
mod opening;
mod shares;
mod vcpus;

pub use shares::{Shares, percent};

use crate::data::{Chart, Picture, Section};
use crate::{driver_work, residence, tables, written};
use domio_answer::column::moment;
use domio_answer::{Answered, Cell, Column, ColumnKind, Holds, Sentence, Table};
use domio_core::{DomainId, Instant, VcpuName};
use domio_meter::{Explanation, HostPlaces, LongWait, RanWhere};
use domio_stats::drivers::DriverFigures;

/// An explanation with the names of the domains in it.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    /// The sums.
    pub explanation: &'a Explanation,
    /// Ids and names; a domain without a name is shown with its id.
    pub names: &'a [(DomainId, String)],
    /// What threads are called that are no vcpus, by the vcpu that they are in records, in that
    /// order.
    pub threads: &'a [(VcpuName, String)],
    /// The host, where that is known: a trace does not tell.
    pub places: Option<&'a HostPlaces>,
}

impl<'a> Explained<'a> {
    /// `explanation`, whose domains have these names.
    pub fn new(explanation: &'a Explanation, names: &'a [(DomainId, String)]) -> Self {
        Explained {
            explanation,
            names,
            threads: &[],
            places: None,
        }
    }

    /// The same, with names of threads.
    pub fn with_threads(self, threads: &'a [(VcpuName, String)]) -> Self {
        Explained { threads, ..self }
    }

    /// The same, of this host.
    pub fn on(self, places: Option<&'a HostPlaces>) -> Self {
        Explained { places, ..self }
    }

    /// The answer for programs; `truncated` says that a trace ends too early.
    pub fn answer(&self, truncated: bool) -> Answered {
        let name = |id: DomainId| self.told(id).map(str::to_owned);
        let thread = |vcpu: VcpuName| self.thread(vcpu).map(str::to_owned);
        let mut answer = self
            .explanation
            .answer(name, thread, self.places, truncated);
        answer.findings = self.findings().into_iter().map(Sentence::new).collect();
        answer
    }

    /// What was found: the worst waits of vcpus, and what the items of each guest waited for.
    pub fn findings(&self) -> Vec<String> {
        let classes = self.classes();
        let of_items = classes.iter().flat_map(|class| self.item_verdicts(class));
        self.worst().0.into_iter().chain(of_items).collect()
    }

    /// Name of a domain.
    pub fn domain(&self, id: DomainId) -> String {
        id.called(self.told(id))
    }

    /// Name of a vcpu.
    pub fn vcpu(&self, vcpu: VcpuName) -> String {
        match self.thread(vcpu) {
            Some(name) => name.to_owned(),
            None => vcpu.called(self.told(vcpu.domain)),
        }
    }

    /// Name of the thread that a vcpu stands for.
    fn thread(&self, vcpu: VcpuName) -> Option<&'a str> {
        let place = self.threads.binary_search_by_key(&vcpu, |(vcpu, _)| *vcpu);
        Some(self.threads[place.ok()?].1.as_str())
    }

    fn told(&self, id: DomainId) -> Option<&str> {
        // Most hosts number their domains from 0 on.
        let likely = self.names.get(usize::from(id.0)).filter(|(d, _)| *d == id);
        let named = likely.or_else(|| self.names.iter().find(|(d, _)| *d == id));
        named.map(|(_, name)| &**name)
    }

    /// Name of who ran; nobody where nobody did.
    pub fn whom(&self, vcpu: Option<VcpuName>) -> String {
        vcpu.map_or_else(|| "nobody".to_owned(), |vcpu| self.vcpu(vcpu))
    }

    /// Seconds from the first instant that counts to `at`.
    pub fn seconds(&self, at: Instant) -> String {
        let ns = at.saturating_since(self.explanation.start).as_nanos();
        format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
    }

    /// Length of the time that counts, in milliseconds.
    pub fn elapsed_ms(&self) -> f64 {
        self.explanation.elapsed as f64 / 1e6
    }

    /// For whom driver domains worked.
    pub fn driver_work(&self) -> Vec<DriverFigures> {
        let work = self.explanation.driver_work.iter();
        work.map(|w| DriverFigures::of(w, self.names)).collect()
    }

    /// Lists of the longest waits with their titles; those that are empty are left out. Waits that
    /// last when the trace ends are listed when they are not short beside the longest that ended.
    pub fn longest(&self) -> Vec<(&'static str, Vec<&'a LongWait>)> {
        let explanation = self.explanation;
        let ended = explanation.vcpus.iter().map(|v| v.longest).max();
        let long = |wait: &&LongWait| wait.length >= ended.unwrap_or(0) / 4;
        let lists = [
            (
                "The longest waits after a wake-up",
                explanation.worst_woken.iter().collect(),
            ),
            (
                "The longest waits of all",
                explanation.worst.iter().collect(),
            ),
            (
                "Waits that last when the trace ends",
                explanation.unfinished.iter().filter(long).collect(),
            ),
        ];
        let filled = lists.into_iter();
        filled
            .filter(|(_, waits): &(_, Vec<_>)| !waits.is_empty())
            .collect()
    }

    /// Whether several runs are added up, so that a wait has to say of which one it is.
    fn of_several(&self) -> bool {
        self.explanation.runs > 1
    }

    /// Waits as a table: when, how long, whose, why, behind whom; before them which run each is of,
    /// counted from 1, where several are added up.
    fn table_of(&self, waits: &[&LongWait]) -> Table {
        let several = self.of_several();
        let words = |title| Column {
            kind: ColumnKind::Key,
            ..tables::text(title)
        };
        let columns = [
            tables::number("run", "").of(Holds::Whole),
            moment("begins").of(Holds::Whole),
            tables::number("length", "ns").of(Holds::Whole),
            words("vcpu"),
            words("on"),
            words("mostly"),
            tables::text("what ran meanwhile"),
        ];
        let mut table = Table::new("", &columns[usize::from(!several)..]);
        for wait in waits {
            let begin = wait.begin.saturating_since(self.explanation.start);
            let cells: [Cell; 7] = [
                u64::from(wait.run + 1).into(),
                begin.as_nanos().into(),
                wait.length.into(),
                self.vcpu(wait.vcpu).into(),
                wait.pcpu.to_string().into(),
                wait.why.name().into(),
                self.ran_meanwhile(wait).into(),
            ];
            table.row(cells.into_iter().skip(usize::from(!several)));
        }
        table
    }

    /// Who ran during a wait, and how long.
    fn ran_meanwhile(&self, wait: &LongWait) -> String {
        let time = |ns: u64| written::scaled(ns as f64, None, "ns");
        // Who had less than a thousandth is of no interest to people.
        let behind = wait
            .behind
            .iter()
            .filter(|(_, ns)| *ns >= wait.length / 1000);
        let behind = behind.map(|(whom, ns)| format!("{} {}", self.whom(*whom), time(*ns)));
        let others = (wait.others > 0).then(|| format!("others {}", time(wait.others)));
        behind.chain(others).collect::<Vec<_>>().join(", ")
    }

    /// What the causes mean that somebody waited for.
    fn legend(&self) -> Table {
        let columns = [
            tables::name("cause"),
            tables::text("what it means"),
            tables::text("what to try"),
        ];
        let mut table = Table::new("", columns);
        for (name, meaning, cure) in self.meanings() {
            table.row([name.into(), meaning.into(), cure.into()]);
        }
        table
    }

    /// Where vcpus ran.
    fn residence(&self) -> Option<Section> {
        let explanation = self.explanation;
        let pcpus = self
            .places
            .map_or(explanation.pcpus.len(), |p| p.topology.pcpus());
        let vcpus = explanation.vcpus.iter().map(|v| {
            let told = RanWhere::new(v.name, &v.residence, self.places);
            (self.vcpu(v.name), told)
        });
        residence::section(&vcpus.collect::<Vec<_>>(), pcpus, Some(explanation.elapsed))
    }

    /// The report's sections.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = vec![Section {
            title: "The worst waits".to_owned(),
            text: self.worst().0.join(" "),
            figures: Vec::new(),
        }];
        sections.extend(self.item_sections());
        if !self.explanation.vcpus.is_empty() {
            let whole = "time of the vcpu";
            let causes = "Time that each vcpu waited or was parked, by cause";
            let table = |caption: &str, table| Picture::new(caption, Chart::Table(table));
            sections.push(Section {
                title: "Behind whom vcpus wait, and why".to_owned(),
                text: self.absences().join(" "),
                figures: vec![
                    table(
                        "How long each vcpu ran and waited",
                        self.overview(usize::MAX, true),
                    ),
                    self.causes().picture(causes, whole),
                    table("What the causes mean", self.legend()),
                    self.behind().picture(
                        "Time that each vcpu waited, by the vcpu that ran meanwhile",
                        whole,
                    ),
                ],
            });
            sections.extend(self.residence());
            let lists = self.longest();
            let lists = lists
                .iter()
                .map(|(caption, waits)| Picture::new(*caption, Chart::Table(self.table_of(waits))));
            sections.push(Section {
                title: "The longest waits".to_owned(),
                text: "Times are measured from the end of the warm-up, or from the first record."
                    .to_owned(),
                figures: lists.collect(),
            });
        }
        let order: Vec<String> = self.names.iter().map(|(_, name)| name.clone()).collect();
        let work = driver_work::section(&self.driver_work(), &order, self.elapsed_ms());
        sections.extend(work);
        let untold = self.explanation.untold();
        if !untold.is_empty() {
            sections.push(Section {
                title: "What the trace does not show".to_owned(),
                text: format!("{}.", untold.join(". ")),
                figures: Vec::new(),
            });
        }
        sections.retain(|s| !s.figures.is_empty() || !s.text.is_empty());
        sections
    }
}

#[cfg(test)]
pub(crate) mod tests;
