//! Vcpus that work for another one: they are woken by it, again and again.
//!
//! A vhost thread is woken by the vcpu whose guest has sent something. On a host that runs the vcpu
//! later the thread has to begin later, too. No record says who woke a vcpu. But a wake-up is
//! recorded where it comes from, so that the vcpu that executes there is either the waker or was
//! interrupted by a timer or a device. One that is there at nearly all wake-ups, although it does
//! not execute most of the time, is the waker.

use crate::named::NamedRecord;
use domio_core::{Instant, PcpuId, Runstate, VcpuName};
use std::collections::BTreeMap;

/// The waker of each vcpu that has one.
pub type Wakers = BTreeMap<VcpuName, VcpuName>;

/// Fewer wake-ups say nothing.
const LEAST_WAKES: u64 = 10;

/// So many percent of the wake-ups of a vcpu come from its waker, at least.
const OF_WAKES: u64 = 90;

/// So many percent of the time in which the vcpu sleeps its waker executes, at most: one that
/// executes more is there at most wake-ups by chance.
const OF_SLEEP: u128 = 70;

/// How a vcpu was woken.
#[derive(Clone, Debug, Default)]
struct Woken {
    times: u64,
    /// Since when it sleeps, and for how long it has slept before, in ns.
    since: Option<Instant>,
    asleep: u64,
    /// By who executed where it was woken.
    by: BTreeMap<VcpuName, u64>,
}

/// Looks for the wakers among the vcpus of a trace: take every record.
#[derive(Clone, Debug, Default)]
pub struct WakerSearch {
    /// Who executes on each pcpu, and since when.
    executes: BTreeMap<PcpuId, (VcpuName, Instant)>,
    ran: BTreeMap<VcpuName, u64>,
    woken: BTreeMap<VcpuName, Woken>,
    ends: Option<(Instant, Instant)>,
}

impl WakerSearch {
    /// Takes the next record.
    pub fn take(&mut self, record: &NamedRecord) {
        let (first, _) = self.ends.unwrap_or((record.at, record.at));
        self.ends = Some((first, record.at));
        for (name, old, new) in record.changes().filter(|(name, ..)| !name.is_idle()) {
            let current = self.executes.get(&record.pcpu).copied();
            if old == Runstate::Running
                && let Some((_, since)) = current.filter(|(current, _)| *current == name)
            {
                let ran = record.at.saturating_since(since).as_nanos();
                *self.ran.entry(name).or_default() += ran;
                self.executes.remove(&record.pcpu);
            }
            if new == Runstate::Running {
                self.executes.insert(record.pcpu, (name, record.at));
            }
            if new == Runstate::Blocked {
                self.woken.entry(name).or_default().since = Some(record.at);
            }
            if (old, new) == (Runstate::Blocked, Runstate::Runnable) {
                let woken = self.woken.entry(name).or_default();
                woken.times += 1;
                let since = woken.since.take().unwrap_or(record.at);
                woken.asleep += record.at.saturating_since(since).as_nanos();
                if let Some((current, _)) = self.executes.get(&record.pcpu) {
                    *woken.by.entry(*current).or_default() += 1;
                }
            }
        }
    }

    /// From the first to the last record, in nanoseconds.
    fn length(&self) -> u64 {
        let length = self.ends.map(|(first, last)| last.saturating_since(first));
        length.map_or(0, |length| length.as_nanos())
    }

    /// The part of the time in which `vcpu` executed, as far as its runs have ended; from 0 to 1.
    pub fn share(&self, vcpu: VcpuName) -> f64 {
        let ran = self.ran.get(&vcpu).copied().unwrap_or(0);
        ran as f64 / self.length().max(1) as f64
    }

    /// The wakers. Each wakes one vcpu: the one that it wakes most.
    pub fn wakers(&self) -> Wakers {
        let mut best: BTreeMap<VcpuName, (u64, VcpuName)> = BTreeMap::new();
        let often = |woken: &Woken| woken.times >= LEAST_WAKES;
        for (name, woken) in self.woken.iter().filter(|(_, woken)| often(woken)) {
            let Some((waker, times)) = woken.by.iter().max_by_key(|(_, times)| **times) else {
                continue;
            };
            let ran = self.ran.get(waker).copied().unwrap_or(0);
            let seldom = u128::from(ran) * 100 <= u128::from(woken.asleep) * OF_SLEEP;
            let is_known = best.get(waker).is_some_and(|(most, _)| most >= times);
            if times * 100 >= woken.times * OF_WAKES && seldom && !is_known {
                best.insert(*waker, (*times, *name));
            }
        }
        let pairs = best.into_iter();
        pairs.map(|(waker, (_, woken))| (woken, waker)).collect()
    }
}

/// The wakers among the vcpus of `records`.
pub fn wakers(records: &[NamedRecord]) -> Wakers {
    let mut search = WakerSearch::default();
    for record in records {
        search.take(record);
    }
    search.wakers()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, Duration};

    /// A vcpu that wakes a second one at the end of each turn, beside one that always executes and
    /// is interrupted by a timer that wakes the first.
    fn records(turns: u64, runs_us: u64) -> Vec<NamedRecord> {
        let [vcpu, helper, burns] = [0, 1, 2].map(|index| VcpuName::new(DomainId(1), index));
        let mut records = Vec::new();
        for turn in 0..turns {
            let mut put = |us: u64, name, old, new| {
                let at = Instant::ZERO + Duration::from_micros(1_000 * turn + us);
                records.push(NamedRecord::runstate(at, PcpuId(0), name, old, new));
            };
            use Runstate::{Blocked, Runnable, Running};
            put(100, vcpu, Blocked, Runnable);
            put(100, burns, Running, Runnable);
            put(100, vcpu, Runnable, Running);
            put(100 + runs_us, helper, Blocked, Runnable);
            put(110 + runs_us, vcpu, Running, Blocked);
            put(110 + runs_us, helper, Runnable, Running);
            put(120 + runs_us, helper, Running, Blocked);
            put(120 + runs_us, burns, Runnable, Running);
        }
        records
    }

    #[test]
    fn who_executes_at_nearly_all_wake_ups_is_the_waker() {
        let [vcpu, helper] = [0, 1].map(|index| VcpuName::new(DomainId(1), index));
        assert_eq!(wakers(&records(20, 300)), Wakers::from([(helper, vcpu)]));
        assert_eq!(wakers(&records(9, 300)), Wakers::new(), "too few");
        assert_eq!(wakers(&records(20, 800)), Wakers::new(), "always there");
    }
}
