//! What an explanation says, as figures: the same for terminal and report, for scenarios and
//! traces.
//!
//! | file | what it holds |
//! |---|---|
//! | `vcpus.rs` | behind whom vcpus waited, and why |
//! | `items.rs` | what packets and requests waited for |
//! | `shares.rs` | parts of wholes, as tables and bars have them |
//!
//! The longest waits, and how the sections are put together, are here.

mod items;
mod shares;
mod vcpus;

pub use shares::{Shares, percent};

use crate::data::{Chart, DataTable, Figure, Section};
use crate::{driver_work, figure};
use domio_answer::{Answer, Finding};
use domio_core::{DomainId, Instant, VcpuName};
use domio_meter::{Explanation, HostPlaces, LongWait};
use domio_stats::drivers::DriverFigures;

/// An explanation with the names of the domains in it.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    /// The sums.
    pub explanation: &'a Explanation,
    /// Ids and names; a domain without a name is shown with its id.
    pub names: &'a [(DomainId, String)],
    /// The host, where that is known: a trace does not tell.
    pub places: Option<&'a HostPlaces>,
}

impl<'a> Explained<'a> {
    /// `explanation`, whose domains have these names.
    pub fn new(explanation: &'a Explanation, names: &'a [(DomainId, String)]) -> Self {
        Explained {
            explanation,
            names,
            places: None,
        }
    }

    /// The same, of this host.
    pub fn on(self, places: Option<&'a HostPlaces>) -> Self {
        Explained { places, ..self }
    }

    /// The answer for programs; `truncated` says that a trace ends too early.
    pub fn answer(&self, truncated: bool) -> Answer {
        let name = |id: DomainId| self.told(id).map(str::to_owned);
        let mut answer = self.explanation.answer(name, self.places, truncated);
        answer.findings = self.findings().into_iter().map(Finding::new).collect();
        answer
    }

    /// What was found, a sentence each: who waited most, and for what.
    pub fn findings(&self) -> Vec<String> {
        let of_vcpus = [self.verdicts(), self.parked(), self.idled()].concat();
        let classes = self.classes();
        let of_items = classes.iter().flat_map(|class| self.item_verdicts(class));
        of_vcpus.into_iter().chain(of_items).collect()
    }

    /// Name of a domain.
    pub fn domain(&self, id: DomainId) -> String {
        id.called(self.told(id))
    }

    /// Name of a vcpu.
    pub fn vcpu(&self, vcpu: VcpuName) -> String {
        vcpu.called(self.told(vcpu.domain))
    }

    fn told(&self, id: DomainId) -> Option<&str> {
        let named = self.names.iter().find(|(d, _)| *d == id);
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

    /// Headings of [`Explained::cells`].
    pub fn heads(&self) -> Vec<&'static str> {
        let run = self.of_several().then_some("run");
        let heads = [
            "begins [s]",
            "length",
            "vcpu",
            "on",
            "mostly",
            "who ran meanwhile",
        ];
        run.into_iter().chain(heads).collect()
    }

    /// One wait, as cells of a table: when, how long, whose, why, behind whom; before them which
    /// run it is of, counted from 1, where several are added up.
    pub fn cells(&self, wait: &LongWait) -> Vec<String> {
        let time = |ns: u64| figure::scaled(ns as f64, None, "ns");
        // Who had less than a thousandth is of no interest to people.
        let behind = wait
            .behind
            .iter()
            .filter(|(_, ns)| *ns >= wait.length / 1000);
        let behind = behind.map(|(whom, ns)| format!("{} {}", self.whom(*whom), time(*ns)));
        let others = (wait.others > 0).then(|| format!("others {}", time(wait.others)));
        let behind: Vec<String> = behind.chain(others).collect();
        let run = self.of_several().then(|| (wait.run + 1).to_string());
        let cells = [
            self.seconds(wait.begin),
            time(wait.length),
            self.vcpu(wait.vcpu),
            wait.pcpu.to_string(),
            wait.why.name().to_owned(),
            behind.join(", "),
        ];
        run.into_iter().chain(cells).collect()
    }

    /// The report's sections.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = self.item_sections();
        if !self.explanation.vcpus.is_empty() {
            sections.push(Section {
                title: "Behind whom vcpus wait, and why".to_owned(),
                text: [self.verdicts(), self.parked(), self.idled()]
                    .concat()
                    .join(" "),
                figures: vec![
                    self.causes()
                        .picture("Time that each vcpu waited, by cause", "time of the vcpu"),
                    self.behind()
                        .picture("The same time, by who ran meanwhile", "time of the vcpu"),
                ],
            });
            let table = |(caption, waits): (&str, Vec<&LongWait>)| {
                let table = DataTable {
                    head: self.heads().into_iter().map(str::to_owned).collect(),
                    rows: waits.iter().map(|w| self.cells(w)).collect(),
                };
                Figure::new(caption, Chart::Table(table))
            };
            sections.push(Section {
                title: "The longest waits".to_owned(),
                text: "Times count from the first instant that counts.".to_owned(),
                figures: self.longest().into_iter().map(table).collect(),
            });
        }
        let order: Vec<String> = self.names.iter().map(|(_, name)| name.clone()).collect();
        let work = driver_work::section(&self.driver_work(), &order, self.elapsed_ms());
        sections.extend(work);
        let untold = self.explanation.untold();
        if !untold.is_empty() {
            sections.push(Section {
                title: "What the trace does not tell".to_owned(),
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
