//! The workloads: each word with its keys, and what a task with these keys does.

use super::disk::COPY;
use super::files::ON_FILES;
use super::flow::flow;
use super::inputs::{WITH_INPUT, with_input};
use super::work::{Make, Placing, Work};
use crate::check::{Cx, Fields};
use crate::limits::{MAX_DOMAIN_ID, MAX_VCPUS};
use crate::plan::Replay;
use domio_core::Duration;
use domio_core::keys::{Distribution, JoinedWords, Keys, Need, WordOf, int, lengths, text, time};
use domio_net::keys::TRAFFIC;
use domio_vmm::config::Workload;

/// Highest frequency of a recording's clock that readers of traces take.
const MAX_TRACE_HZ: i64 = 18_000_000_000;

const US: u64 = 1_000;

/// All of them.
pub(crate) static WORKLOADS: JoinedWords =
    JoinedWords(&[&DEMANDS, &TRAFFIC, &COPY, &ON_FILES, &WITH_INPUT]);

/// Workloads that need no device.
static DEMANDS: [WordOf<Make>; 8] = [
    WordOf::new(
        "burn",
        |_| Some(Work::Demand(Workload::Burn)),
        "Computes for ever.",
    ),
    WordOf::new(
        "idle",
        |_| Some(Work::Demand(Workload::Idle)),
        "Sleeps for ever.",
    ),
    WordOf::with_keys(
        "periodic",
        |fields| fields.read::<Periodic>().work(),
        "Releases a job at `phase`, `phase` + `period` and so on; each computes for `burst`. Jobs \
         that come while an earlier one is unfinished queue up.",
        Periodic::KEYS,
    ),
    WordOf::with_keys(
        "on-off",
        |fields| fields.read::<OnOff>().work(),
        "Computes for `on`, then sleeps for `off`, for ever.",
        OnOff::KEYS,
    ),
    WordOf::with_keys(
        "lookbusy",
        |fields| fields.read::<Lookbusy>().work(),
        "A steady share of the processor, as `lookbusy -c`: computes for `percent` of each \
         `period`, and makes up for what it was kept from.",
        Lookbusy::KEYS,
    ),
    WordOf::with_keys(
        "compute",
        |fields| fields.read::<Compute>().work(),
        "Computes for `work` in all, then sleeps for ever; the trace tells the turnaround.",
        Compute::KEYS,
    ),
    WordOf::with_keys(
        "yield",
        |fields| fields.read::<Yielding>().work(),
        "Computes for `burst`, then yields the processor, as a guest does that waits for a lock; \
         for ever.",
        Yielding::KEYS,
    ),
    WordOf::with_keys(
        "replay",
        replay,
        "Demands what a vcpu demanded in a recorded trace: it is woken when that one was. A job \
         that ended at a time by the clock, as the trace shows by those that were preempted, does \
         so again; others take the processor time that they took.",
        ReplayKeys::KEYS,
    ),
];

/// What the workload `word`, which `fields` describe, does; `place` has the keys of the task, where
/// it is one.
pub(super) fn work(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    word: &'static str,
    place: Option<Placing<'_>>,
) -> Option<Work> {
    if let Some(traffic) = WordOf::find(&TRAFFIC, word) {
        return flow(cx, fields, word, place, *traffic).map(Work::Flow);
    }
    if let Some(read) = WordOf::find(&WITH_INPUT, word) {
        return with_input(cx, fields, *read);
    }
    let make = WordOf::find(&DEMANDS, word).or_else(|| WordOf::find(&COPY, word));
    let make = make.or_else(|| WordOf::find(&ON_FILES, word));
    make.expect("a word of one of the lists")(fields)
}

keys! {
    struct Periodic {
        period: Duration = time("ms", US), Need::Required, "Time between two releases.";
        phase: Duration = time("us", 0), Need::TimeNs(0),
            "First release, after the domain's start.";
        burst: Distribution = lengths("us", 1), Need::Required, "Processor time of a job.";
    }
}

impl Periodic {
    fn work(&self) -> Option<Work> {
        Some(Work::Demand(Workload::Periodic {
            period: self.period.get()?,
            phase: self.phase.get()?,
            burst: self.burst.get()?,
        }))
    }
}

keys! {
    struct OnOff {
        on: Distribution = lengths("ms", US), Need::Required, "Processor time of a burst.";
        off: Distribution = lengths("ms", US), Need::Required, "Length of the sleep after it.";
    }
}

impl OnOff {
    fn work(&self) -> Option<Work> {
        let (on, off) = (self.on.get()?, self.off.get()?);
        Some(Work::Demand(Workload::OnOff { on, off }))
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
    fn work(&self) -> Option<Work> {
        let (percent, period) = (self.percent.get()?, self.period.get()?);
        Some(Work::Demand(Workload::Periodic {
            period,
            phase: Duration::ZERO,
            burst: Distribution::Constant(period * percent / 100),
        }))
    }
}

keys! {
    struct Compute {
        work: Duration = time("ms", 1), Need::Required, "Processor time.";
    }
}

impl Compute {
    fn work(&self) -> Option<Work> {
        let work = self.work.get()?;
        Some(Work::Demand(Workload::Compute { work }))
    }
}

keys! {
    struct Yielding {
        burst: Distribution = lengths("us", US), Need::Required,
            "Processor time between two yields.";
    }
}

impl Yielding {
    fn work(&self) -> Option<Work> {
        let burst = self.burst.get()?;
        Some(Work::Demand(Workload::Yielding { burst }))
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
            "Counts a second of the clock of a recording of xentrace; traces of domio's own \
             need none.";
    }
}

fn replay(fields: &Fields<'_>) -> Option<Work> {
    let keys: ReplayKeys = fields.read();
    Some(Work::Replay(Replay {
        trace: keys.trace.get()?,
        domain: keys.trace_domain.get()?,
        vcpu: keys.trace_vcpu.get()?,
        hz: keys.trace_hz.if_given()?,
        at: (0, 0, 0),
        span: fields.span(&keys.trace),
    }))
}
