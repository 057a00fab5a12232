//! A recorded trace with the description of the host that it was recorded on.

use crate::linux::described::DescribedLinux;
use crate::net::described::DescribedNetwork;
use crate::net::truth::Truth;
use domio_core::Instant;
use domio_replay::NamedRecord;
use domio_trace::TraceError;
use domio_trace::order::{ADVICE, OutOfOrder};
use serde::Deserialize;
use std::path::PathBuf;

/// What `scenario.json` says.
#[derive(Clone, Debug, Deserialize)]
pub struct Description {
    /// Release of Xen 4 ("4.17.7"), as `xl info` shows it.
    pub xen: String,
    /// Xen's name of the scheduler.
    pub scheduler: String,
    /// Number of pcpus, [`MAX_PCPUS`](domio_core::cpuset::MAX_PCPUS) at most.
    pub pcpus: u16,
    /// Ticks of the trace's clock in a second.
    pub tsc_hz: u64,
    /// Parameters of the scheduler, by the names of its page.
    pub params: std::collections::BTreeMap<String, i64>,
    /// Domains, dom0 included, with [`MAX_VCPUS`](domio_scenario::MAX_VCPUS) vcpus together at
    /// most.
    pub domains: Vec<DescribedDomain>,
    /// How the guests read the time stamp counter: "native", or words that say that Xen emulates
    /// each read.
    #[serde(default)]
    pub guest_tsc_mode: Option<String>,
    /// The network, where its load was recorded instead of a demand of processor time.
    #[serde(default)]
    pub network: Option<DescribedNetwork>,
    /// What it does not say and which default holds instead, a sentence each.
    #[serde(skip)]
    pub assumed: Vec<String>,
}

impl Description {
    /// Number of vcpus of all domains.
    pub fn vcpus(&self) -> usize {
        self.domains.iter().map(|d| usize::from(d.vcpus)).sum()
    }
}

/// A domain of a [`Description`].
#[derive(Clone, Debug, Deserialize)]
pub struct DescribedDomain {
    /// Xen's domid.
    pub id: u16,
    /// Name.
    pub name: String,
    /// Number of vcpus.
    #[serde(default = "one")]
    pub vcpus: u16,
    /// Weight; 256 when not given.
    #[serde(default = "default_weight")]
    pub weight: i64,
    /// Cap in percent of one pcpu; 0, which means none, when not given.
    #[serde(default)]
    pub cap: i64,
    /// What it does.
    pub workload: DescribedWorkload,
    /// Its address in a recorded network, by which logs are named.
    #[serde(default)]
    pub ip: Option<String>,
}

/// What a recorded domain does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DescribedWorkload {
    /// It never blocks.
    Burn,
    /// Its demand is in the trace, or in the flows of a recorded network.
    Replay,
    /// It takes part in flows of a recorded network, and does nothing else.
    Net,
    /// It does so, and computes all the time besides.
    #[serde(rename = "net+burn")]
    NetAndBurn,
    /// It sleeps.
    Idle,
}

fn one() -> u16 {
    1
}

fn default_weight() -> i64 {
    256
}

/// A recording in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Name of its folder.
    pub name: String,
    /// The host.
    pub description: Description,
    /// Every record, in order of time. Times are those of the trace's clock in nanoseconds.
    pub records: Vec<NamedRecord>,
    /// What was counted on its network, where one was recorded.
    pub truth: Option<Truth>,
    /// The host, where it is one of Linux: then `description` has its cpus and scheduler alone.
    pub linux: Option<DescribedLinux>,
}

/// Why a recording could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// `scenario.json` is not what it should be.
    #[error(
        "{} is not a description of a recording; expected an object with xen, scheduler, pcpus, \
         tsc_hz, params and domains (id, name, vcpus, weight, cap, workload burn or replay)",
        path.display()
    )]
    Description {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// `scenario.json` of a Linux host is not what it should be.
    #[error(
        "{} is not a description of a recording of Linux; expected an object with kernel, \
         scheduler, cpus, hz, window_ns and vms (name, cgroup, pid, weight, threads)",
        path.display()
    )]
    DescriptionOfLinux {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// `truth.json` is not what it should be.
    #[error(
        "{} does not say what was counted on a recorded network; expected an object with flows, \
         sched (window_tsc) and counters",
        path.display()
    )]
    Truth {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// The trace is damaged.
    #[error("cannot read the trace {}", path.display())]
    Trace {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Box<TraceError>,
    },
    /// The trace goes back in time.
    #[error("{}: {problem}; {ADVICE}", path.display())]
    OutOfOrder {
        /// Which file.
        path: PathBuf,
        /// Where.
        problem: OutOfOrder,
    },
    /// The recording is of something that cannot be simulated.
    #[error("{name}: {problem}")]
    Unusable {
        /// Name of the recording.
        name: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A folder holds a trace or a description, and not both.
    #[error(
        "{} has no {missing}; a recording is a folder with trace.bin, packed or not, and \
         scenario.json: put it there, or take the folder away",
        folder.display()
    )]
    Incomplete {
        /// Which folder.
        folder: PathBuf,
        /// Name of the file that is not there.
        missing: &'static str,
    },
    /// No shipped recording has that name.
    #[error(
        "no shipped recording is called {name:?}; there are {}",
        shipped.join(", ")
    )]
    NotShipped {
        /// The name.
        name: String,
        /// Those that there are.
        shipped: Vec<&'static str>,
    },
    /// No recording was found.
    #[error(
        "no recording in {}: expected folders that hold trace.bin, trace.bin.gz or trace.bin.zst, \
         and scenario.json",
        path.display()
    )]
    None {
        /// Where.
        path: PathBuf,
    },
}

impl Recording {
    /// Time of the first record.
    pub fn begin(&self) -> Instant {
        self.records[0].at
    }

    /// Time of the last record.
    pub fn end(&self) -> Instant {
        self.records[self.records.len() - 1].at
    }
}
