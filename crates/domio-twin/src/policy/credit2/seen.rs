//! What the private records of credit2 show of its state at the first record of a trace.

use crate::policy::record::{Private, scheduler};
use crate::recording::Recording;
use crate::start::Start;
use domio_core::{DomainId, Duration, Instant, Kind, PcpuId, Record, Runstate, Topology, VcpuName};
use std::collections::BTreeMap;

/// Credit2's private events (Xen 4.17) that tell something about its state.
mod event {
    pub const QUEUED: u8 = 2;
    pub const BURNED: u8 = 3;
    pub const RESET: u8 = 7;
    pub const VCPU_LOAD: u8 = 11;
    pub const RUNQ_LOAD: u8 = 12;
    pub const TICKLE_FOR: u8 = 13;
    pub const CANDIDATE: u8 = 20;
    pub const SCHEDULE: u8 = 21;
}

/// What a trace shows of a vcpu at its first record; `None` what it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShownVcpu {
    /// Credit, in nanoseconds.
    pub credit: Option<i64>,
    /// What it may run before its domain is asked, in nanoseconds.
    pub budget: Option<i64>,
    /// Its average load.
    pub average: Option<i64>,
}

/// What a trace shows of a run queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShownRunq {
    /// A pcpu of it.
    pub pcpu: PcpuId,
    /// Its average load, and the same moved on by balancing.
    pub average: i64,
    /// See `average`.
    pub balanced: i64,
}

/// Event and words of `r`, if it is a private record of credit2.
fn private(r: &Record) -> Option<Private> {
    Private::of(r).filter(|p| p.scheduler == scheduler::CREDIT2)
}

/// What `recording` shows of each vcpu of `start`.
pub(super) fn vcpus(recording: &Recording, topology: &Topology, start: &Start) -> Vec<ShownVcpu> {
    let mut found: BTreeMap<VcpuName, ShownVcpu> = BTreeMap::new();
    for r in &recording.records {
        let Some(p) = private(r) else {
            continue;
        };
        let [first, second, third] = p.words;
        let signed = |word: u32| i64::from(word as i32);
        let (name, credit) = match p.event {
            event::BURNED => {
                let name = VcpuName::from_word(first);
                let ran = ran_by(start, name, r.at);
                let shown = found.entry(name).or_default();
                if third != i32::MIN as u32 && shown.budget.is_none() && ran.is_some() {
                    shown.budget = Some(signed(third) + ran.unwrap_or(0));
                }
                let by = burned(recording, topology, start, name, ran.unwrap_or(0));
                (name, signed(second) + by)
            }
            event::RESET => (VcpuName::from_word(first), signed(second)),
            event::TICKLE_FOR | event::CANDIDATE => (VcpuName::from_word(first), signed(third)),
            event::VCPU_LOAD => {
                let shown = found.entry(VcpuName::from_word(third)).or_default();
                shown.average.get_or_insert(p.wide());
                continue;
            }
            _ => continue,
        };
        found.entry(name).or_default().credit.get_or_insert(credit);
    }
    let of = |v: &crate::start::StartVcpu| found.get(&v.name).copied().unwrap_or_default();
    start.vcpus.iter().map(of).collect()
}

/// How long `name` has run at `at` since `start`, in nanoseconds, if it was current then.
fn ran_by(start: &Start, name: VcpuName, at: Instant) -> Option<i64> {
    let current = start.pcpus.iter().any(|p| p.current == Some(name));
    current.then(|| at.since(start.at).as_nanos() as i64)
}

/// What `time` nanoseconds cost `name`: the more the less it weighs beside the heaviest vcpu of its
/// run queue.
fn burned(
    recording: &Recording,
    topology: &Topology,
    start: &Start,
    name: VcpuName,
    time: i64,
) -> i64 {
    let weight = |name: VcpuName| {
        let mut domains = recording.description.domains.iter();
        let found = domains.find(|d| d.id == name.domain.0);
        found.map_or(256, |d| d.weight.max(1))
    };
    let socket = |name: VcpuName| {
        let found = start.vcpus.iter().find(|v| v.name == name)?;
        Some(topology.socket_of(found.pcpu))
    };
    let own = socket(name);
    let peers = start.vcpus.iter().map(|v| v.name);
    let peers = peers.filter(|v| socket(*v) == own);
    let heaviest = peers.map(weight).max().unwrap_or(1);
    time * heaviest / weight(name)
}

/// The run queue of each pcpu that `records` tell of, by Xen's numbers.
pub(super) fn arrangement(records: &[Record]) -> BTreeMap<u16, u16> {
    let mut found = BTreeMap::new();
    for r in records {
        if let Some(p) = private(r)
            && p.event == event::SCHEDULE
        {
            let word = p.words[0];
            found.entry(word as u16).or_insert((word >> 16) as u16);
        }
    }
    found
}

/// The first load of each run queue that `records` tell.
pub(super) fn runqs(records: &[Record]) -> Vec<ShownRunq> {
    let numbers = arrangement(records);
    let mut found: BTreeMap<u16, ShownRunq> = BTreeMap::new();
    for r in records {
        if let Some(p) = private(r)
            && p.event == event::RUNQ_LOAD
            && let Some(number) = numbers.get(&r.pcpu.0)
        {
            found.entry(*number).or_insert(ShownRunq {
                pcpu: r.pcpu,
                average: p.wide(),
                balanced: i64::from(p.words[2]),
            });
        }
    }
    found.into_values().collect()
}

/// Pools are filled up no later than this after they are due.
const LATE: Duration = Duration::from_micros(200);

/// When the pools of domains with a cap are filled up first after `begin`: from the records of vcpus
/// that queue up without having been woken, which those do that were parked. Fillings are a `period`
/// apart, and a timer is never early, so that the one comes first that most others follow soon.
pub(super) fn refills(
    records: &[Record],
    period: Duration,
    begin: Instant,
) -> BTreeMap<DomainId, Instant> {
    let mut parked: BTreeMap<VcpuName, bool> = BTreeMap::new();
    let mut times: BTreeMap<DomainId, Vec<Instant>> = BTreeMap::new();
    for r in records {
        match (r.kind, r.runstates()) {
            (Kind::Wake, _) => {
                parked.insert(r.vcpu, false);
            }
            (_, Some((_, new))) => {
                parked.insert(r.vcpu, new == Runstate::Offline);
            }
            _ => {}
        }
        if let Some(p) = private(r)
            && p.event == event::QUEUED
        {
            let name = VcpuName::from_word(p.words[0]);
            if parked.insert(name, false) == Some(true) {
                times.entry(name.domain).or_default().push(r.at);
            }
        }
    }
    let phase = |at: Instant| at.as_nanos() % period.as_nanos();
    let after = |from: Instant, at: Instant| {
        let period = period.as_nanos();
        (phase(at) + period - phase(from)) % period
    };
    let first = |times: Vec<Instant>| {
        let follow = |from: &Instant| {
            let soon = times
                .iter()
                .filter(|at| after(*from, **at) <= LATE.as_nanos());
            soon.count()
        };
        let best = *times.iter().rev().max_by_key(|from| follow(from))?;
        Some(begin + Duration::from_nanos(after(begin, best)))
    };
    times
        .into_iter()
        .filter_map(|(domain, times)| Some((domain, first(times)?)))
        .collect()
}
