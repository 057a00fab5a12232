//! A scenario of a real host before it is written: what is said about it, by whom, and what is
//! assumed.

pub(crate) mod domain;
pub(crate) mod write;

use crate::xl::{ListedDomain, SchedText};
use domain::{Domain, Group, Setting};
use domio_trace::{LinuxHost, LinuxThread, TraceHeader};
use std::collections::BTreeMap;

/// What a scenario is made of, and what its comments call the sources.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Path of the trace, as the scenario names it.
    pub trace: String,
    /// The command that makes the scenario.
    pub command: String,
    /// Counts a second of the trace's clock, for traces that do not say, and where the figure is
    /// from.
    pub hz: Option<(u64, String)>,
    /// The head of a trace of domio's own.
    pub header: Option<TraceHeader>,
    /// Settings of the scheduler, and the name of their file.
    pub sched: Option<(SchedText, String)>,
    /// Domains, and the name of their file.
    pub list: Option<(BTreeMap<u16, ListedDomain>, String)>,
    /// Of a trace of Linux: its threads and what is known of the host.
    pub linux: Option<LinuxSources>,
}

/// What is known of a Linux host.
#[derive(Clone, Debug, Default)]
pub struct LinuxSources {
    /// Release of the kernel, where trace or file say so.
    pub kernel: Option<String>,
    /// The threads of the trace.
    pub threads: Vec<LinuxThread>,
    /// What the file beside the trace says.
    pub host: Option<LinuxHost>,
}

/// A scenario before it is written.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub title: String,
    /// Keys of `[run]` and `[host]`.
    pub run: Vec<Setting>,
    pub host: Vec<Setting>,
    pub pcpus: u16,
    pub policy: String,
    /// Parameters of the policy, with their values in TOML.
    pub params: Vec<(String, String)>,
    /// Groups of domains, each after the one that it is in.
    pub groups: Vec<Group>,
    /// Disks of the host, each with its keys.
    pub disks: Vec<Vec<Setting>>,
    pub domains: Vec<Domain>,
    /// Sentences for the file's head: what is from where, what is assumed, and what nobody has
    /// told, with what would say.
    pub derived: Vec<String>,
    pub assumed: Vec<String>,
    pub unknown: Vec<String>,
    /// What was read, and has no place in a scenario.
    pub left_out: Vec<String>,
    /// Commands to try on the scenario.
    pub tries: Vec<String>,
    /// What was taken of settings, and from where.
    pub taken: Vec<(String, Vec<&'static str>)>,
}

impl Draft {
    /// Notes that `what` is from `source`.
    pub fn take(&mut self, what: &'static str, source: &str) {
        let at = self.taken.iter().position(|(from, _)| from == source);
        let at = at.unwrap_or_else(|| {
            self.taken.push((source.to_owned(), Vec::new()));
            self.taken.len() - 1
        });
        let taken = &mut self.taken[at].1;
        if !taken.contains(&what) {
            taken.push(what);
        }
    }

    /// Says what was taken, and from where.
    pub fn say_taken(&mut self) {
        for (source, taken) in std::mem::take(&mut self.taken) {
            self.derived
                .push(format!("{}: {source}", write::listed(&taken)));
        }
    }

    /// Says whether anything reports pins, where there are none.
    pub fn say_pins(&mut self, sources: &Sources) {
        let lists = || sources.list.iter().flat_map(|(list, _)| list.values());
        let mut sets = lists().flat_map(|d| d.hard.values()).peekable();
        if sets.peek().is_none() {
            let none = "no vcpu is pinned: there is no output of `xl vcpu-list`";
            return self.assumed.push(none.to_owned());
        }
        if sets.all(Vec::is_empty)
            && let Some((_, file)) = &sources.list
        {
            self.derived.push(format!("no vcpu is pinned: {file}"));
        }
    }
}
