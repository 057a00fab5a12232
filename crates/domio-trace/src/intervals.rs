//! Runstate changes paired into intervals.

use std::collections::BTreeMap;

use domio_core::{Instant, Kind, PcpuId, Record, Runstate, VcpuName};

use crate::Losses;

/// Most vcpus that analyses tell apart; records of further ones are left out. No host has as many:
/// the bound keeps a damaged file from taking all memory.
pub const VCPUS_MAX: usize = 1 << 16;

/// A completed stay of a vcpu in one runstate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The vcpu.
    pub vcpu: VcpuName,
    /// The runstate; `None` when records are missing or contradict each other in between.
    pub state: Option<Runstate>,
    /// The runstate before.
    pub after: Runstate,
    /// The runstate that follows.
    pub next: Runstate,
    /// First instant.
    pub start: Instant,
    /// Instant at which the next runstate starts.
    pub end: Instant,
    /// Pcpu that recorded the start: for running, the one that it ran on.
    pub pcpu: PcpuId,
}

/// Pairs the runstate changes of a trace: feed it every record.
#[derive(Debug, Default)]
pub struct Intervals {
    open: BTreeMap<u32, Open>,
    losses: Losses,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    since: Instant,
    state: Runstate,
    after: Runstate,
    pcpu: PcpuId,
    /// Losses that concerned it when the interval started.
    losses: u64,
}

impl Intervals {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Intervals::default()
    }

    /// Takes one record and hands the intervals that it ends, two at most, to `ended`.
    pub fn feed(&mut self, record: &Record, mut ended: impl FnMut(&Interval)) {
        if record.kind == Kind::Lost {
            self.losses.add(record.pcpu);
            return;
        }
        if record.kind == Kind::Continue {
            // Whoever has a pcpu to itself has no other record.
            self.open_running(record);
            return;
        }
        for (vcpu, old, new) in record.changes().into_iter().flatten() {
            let word = vcpu.word();
            let before = self.open.get(&word).copied();
            if let Some(open) = before {
                let missed = self.losses.concerning(open.state, open.pcpu) != open.losses;
                ended(&Interval {
                    vcpu,
                    state: (open.state == old && !missed).then_some(old),
                    after: open.after,
                    next: new,
                    start: open.since,
                    end: record.at,
                    pcpu: open.pcpu,
                });
            } else if self.open.len() >= VCPUS_MAX {
                continue;
            }
            self.open.insert(
                word,
                Open {
                    since: record.at,
                    state: new,
                    after: old,
                    pcpu: record.pcpu,
                    losses: self.losses.concerning(new, record.pcpu),
                },
            );
        }
    }

    /// A vcpu that was not seen before runs.
    fn open_running(&mut self, record: &Record) {
        let word = record.vcpu.word();
        if self.open.contains_key(&word) || self.open.len() >= VCPUS_MAX {
            return;
        }
        let running = Open {
            since: record.at,
            state: Runstate::Running,
            after: Runstate::Running,
            pcpu: record.pcpu,
            losses: self.losses.concerning(Runstate::Running, record.pcpu),
        };
        self.open.insert(word, running);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Runnable, Running};

    #[test]
    fn who_goes_on_was_running() {
        let v = VcpuName::from_word(1);
        let at = Instant::from_nanos;
        let goes_on = |ns| Record::new(at(ns), PcpuId(2), Kind::Continue, v);
        let mut intervals = Intervals::new();
        let mut out = Vec::new();
        let stops = Record::runstate(at(40), PcpuId(2), v, Running, Blocked);
        for r in [goes_on(10), goes_on(20), stops] {
            intervals.feed(&r, |i| out.push((i.start, i.end, i.state, i.pcpu)));
        }
        assert_eq!(out, [(at(10), at(40), Some(Running), PcpuId(2))]);
    }

    #[test]
    fn changes_pair_and_losses_make_unsure() {
        let v = VcpuName::from_word(1);
        let change =
            |ns, old, new| Record::runstate(Instant::from_nanos(ns), PcpuId(2), v, old, new);
        let mut intervals = Intervals::new();
        let mut out = Vec::new();
        let lost = Record::new(Instant::from_nanos(25), PcpuId(2), Kind::Lost, v);
        for r in [
            change(10, Blocked, Runnable),
            change(15, Runnable, Running),
            lost,
            change(40, Running, Blocked),
        ] {
            intervals.feed(&r, |i| {
                out.push((
                    i.start.as_nanos(),
                    i.end.as_nanos(),
                    i.state,
                    i.after,
                    i.next,
                ));
            });
        }
        assert_eq!(
            out,
            [
                (10, 15, Some(Runnable), Blocked, Running),
                (15, 40, None, Runnable, Blocked),
            ]
        );
    }
}
