//! The workloads: each word with its keys, and what a task with these keys does.

use crate::devices;
use crate::limits::{MAX_DOMAIN_ID, MAX_VCPUS};
use crate::plan::Replay;
use domio_core::Duration;
use domio_core::keys::{
    Distribution, Given, JoinedWords, Key, KeyTable, KeyVariant, Keys, Need, WordList, WordOf,
    flag, int, lengths, text, time,
};
use domio_vmm::config::Workload;

/// Highest frequency of a recording's clock that readers of traces take.
const MAX_TRACE_HZ: i64 = 18_000_000_000;

const US: u64 = 1_000;

/// A workload that a scenario can ask for by a word, made of the keys beside the word alone.
pub struct WorkloadEntry {
    /// The word, what it means, and the keys.
    pub variant: KeyVariant,
    /// What a task with these keys does; `None` when one of them is bad.
    pub make: fn(&dyn Given) -> Option<Workload>,
}

impl WorkloadEntry {
    /// The workload `word`, which means `doc` (sentences) and is made of `keys`.
    pub const fn new(
        word: &'static str,
        doc: &'static str,
        keys: &'static [Key],
        make: fn(&dyn Given) -> Option<Workload>,
    ) -> Self {
        WorkloadEntry {
            variant: KeyVariant::new(word, doc, keys),
            make,
        }
    }
}

/// The words of a list.
pub(crate) fn of(list: &'static dyn WordList) -> impl Iterator<Item = &'static KeyVariant> {
    (0..).map_while(|i| list.nth(i))
}

/// Makes a replay of the keys of a table; `None` when one of them is bad.
pub(crate) type MakeReplay = fn(&dyn KeyTable) -> Option<Replay>;

/// Those that ship and are made of more than their own keys, after [`DEMANDS`] in lists.
pub(crate) static OTHERS: JoinedWords = JoinedWords(&[&REPLAY, &devices::WORKLOADS]);

/// Workloads that need no device and no file.
pub(crate) static DEMANDS: [WorkloadEntry; 7] = [
    WorkloadEntry::new("burn", "Computes for ever.", &[], |_| Some(Workload::Burn)),
    WorkloadEntry::new("idle", "Sleeps for ever.", &[], |_| Some(Workload::Idle)),
    WorkloadEntry::new(
        "periodic",
        "Releases a job at `phase`, `phase` + `period` and so on; each computes for `burst`. Jobs \
         that come while an earlier one is unfinished queue up.",
        Periodic::KEYS,
        |table| Periodic::read(table).workload(),
    ),
    WorkloadEntry::new(
        "on-off",
        "Computes for `on`, then sleeps for `off`, for ever.",
        OnOff::KEYS,
        |table| OnOff::read(table).workload(),
    ),
    WorkloadEntry::new(
        "lookbusy",
        "A steady share of the processor, as `lookbusy -c`: computes for `percent` of each \
         `period`, and makes up for what it was kept from.",
        Lookbusy::KEYS,
        |table| Lookbusy::read(table).workload(),
    ),
    WorkloadEntry::new(
        "compute",
        "Computes for `work` altogether, then sleeps for ever; the trace has the turnaround.",
        Compute::KEYS,
        |table| Compute::read(table).workload(),
    ),
    WorkloadEntry::new(
        "yield",
        "Computes for `burst`, then yields the processor, as a guest does that waits for a lock; \
         for ever.",
        Yielding::KEYS,
        |table| Yielding::read(table).workload(),
    ),
];

/// Those that replay a recording.
pub(crate) static REPLAY: [WordOf<MakeReplay>; 1] = [WordOf::with_keys(
    "replay",
    replay,
    "Demands what a vcpu demanded in a recorded trace: it is woken when that one was. A job \
         that ended at a time by the clock, as the trace shows by those that were preempted, does \
         so again; others take the processor time that they took.",
    ReplayKeys::KEYS,
)];

keys! {
    struct Periodic {
        period: Duration = time("ms", US), Need::Required, "Time between two releases.";
        phase: Duration = time("us", 0), Need::TimeNs(0),
            "First release, after the domain's start.";
        burst: Distribution = lengths("us", 1), Need::Required, "Processor time of a job.";
    }
}

impl Periodic {
    fn workload(&self) -> Option<Workload> {
        Some(Workload::Periodic {
            period: self.period.get()?,
            phase: self.phase.get()?,
            burst: self.burst.get()?,
        })
    }
}

keys! {
    struct OnOff {
        on: Distribution = lengths("ms", US), Need::Required, "Processor time of a burst.";
        off: Distribution = lengths("ms", US), Need::Required, "Length of the sleep after it.";
    }
}

impl OnOff {
    fn workload(&self) -> Option<Workload> {
        let (on, off) = (self.on.get()?, self.off.get()?);
        Some(Workload::OnOff { on, off })
    }
}

keys! {
    struct Lookbusy {
        percent: u64 = int(1, 100), Need::Int(50),
            "Share of a vcpu (`--cpu-util`; the program's own default).";
        period: Duration = time("ms", US), Need::TimeNs(100_000_000),
            "From the begin of a burst to the next (assumed).";
    }
}

impl Lookbusy {
    fn workload(&self) -> Option<Workload> {
        let (percent, period) = (self.percent.get()?, self.period.get()?);
        Some(Workload::Periodic {
            period,
            phase: Duration::ZERO,
            burst: Distribution::Constant(period * percent / 100),
        })
    }
}

keys! {
    struct Compute {
        work: Duration = time("ms", 1), Need::Required, "Processor time.";
    }
}

impl Compute {
    fn workload(&self) -> Option<Workload> {
        let work = self.work.get()?;
        Some(Workload::Compute { work })
    }
}

keys! {
    struct Yielding {
        burst: Distribution = lengths("us", US), Need::Required,
            "Processor time between two yields.";
    }
}

impl Yielding {
    fn workload(&self) -> Option<Workload> {
        let burst = self.burst.get()?;
        Some(Workload::Yielding { burst })
    }
}

keys! {
    struct ReplayKeys {
        trace: String = text(), Need::Required,
            "Path of the trace, relative to the scenario's file.";
        trace_domain: u16 = int(0, MAX_DOMAIN_ID), Need::Required, "Id of the recorded domain.";
        trace_vcpu: u16 = int(0, MAX_VCPUS as i64 - 1), Need::Int(0),
            "Index of the recorded vcpu in it.";
        trace_hz: u64 = int(1, MAX_TRACE_HZ), Need::Optional("1000000000"),
            "Counts a second of the clock of a recording of xentrace; traces of domio's own and \
             of Linux need none.";
        kicks_vcpu: u16 = int(0, MAX_VCPUS as i64 - 1), Need::Optional("none"),
            "Index of the vcpu of this domain that is woken where the recorded vcpu woke another \
             one: a vhost thread.";
        kicked: bool = flag(), Need::Int(0),
            "Whether another vcpu of this domain wakes this one (`kicks_vcpu`), and not the \
             recorded times.";
    }
}

fn replay(table: &dyn KeyTable) -> Option<Replay> {
    let keys = ReplayKeys::read(table);
    Some(Replay {
        trace: keys.trace.get()?,
        domain: keys.trace_domain.get()?,
        vcpu: keys.trace_vcpu.get()?,
        hz: keys.trace_hz.if_given()?,
        kicks: keys.kicks_vcpu.if_given()?,
        kicked: keys.kicked.get()?,
        at: (0, 0, 0),
        span: table.span(&keys.trace),
    })
}
