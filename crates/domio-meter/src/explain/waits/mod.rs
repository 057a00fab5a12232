//! Who waited behind whom in a trace, and why.
//!
//! A vcpu waits while it is runnable and no pcpu executes it. The [`WaitExplainer`] splits that
//! time by the vcpu that ran meanwhile on the pcpu where the waiting one ran last, and by cause
//! ([`Why`]), as far as records tell. Per vcpu the parts sum to the runnable time of the
//! [`Summary`](crate::Summary): both leave out stays over which records are missing.
//!
//! # Causes
//!
//! How a wait begins is its cause at first: a vcpu leaves its pcpu when its slice is over, or
//! before, or yields; it is released from a pause; or it is woken, and a pcpu is tickled for it or
//! not. Private records of credit and credit2 say more (xen-spec 3 and 4):
//!
//! - **Tickles** follow the wake-up in the buffer of the pcpu that woke. Between them and the pass,
//!   the wait is for the pass.
//! - **The rate limit** is recorded by the pass that it ends.
//! - **Credit's priorities** are not recorded, but their effect is. Vcpus of one priority take
//!   turns in the order in which they were queued. One that is queued later and runs first has a
//!   higher priority. If it has a boost, the wait is for that boost; if it has none, it is UNDER,
//!   and who waits is OVER. So is one that is woken without a tickle behind one without a boost:
//!   credit boosts every other one that is woken.
//! - **Credit2's credits** are recorded. Less than nothing is over, as the others' credit is used
//!   before it is given anew. So are the budgets of capped domains.
//!
//! Priorities are concluded only of vcpus that are still in the queue where they were put: not
//! after a tick that wanted them elsewhere.

mod books;
mod hear;
mod json;
mod map;
mod result;
mod said;
mod why;

pub use json::{CauseJson, TellsJson, VcpuWaitsJson, WaitedJson, WaitingJson, WhomJson};
pub use map::{MAP_ROWS, Map, MapChange, MapRow, MapWindow};
pub use result::{BEHIND_MAX, LongWait, VcpuWaits, WORST_MAX, WaitTells, Waiting};
pub use why::Why;

use std::collections::BTreeMap;

use domio_core::{Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_trace::Losses;

use crate::told::Told;
use books::{Idling, OpenWait, Pcpu, Vcpu};
use map::Cartographer;
use result::Worst;
use said::said;

/// Most vcpus that are told apart: no host has as many, and the bound keeps a damaged file from
/// taking all time and memory.
const EXPLAINED_MAX: usize = 1 << 12;

/// Explains the waits of a trace: feed it every record in the order of time, then call
/// [`WaitExplainer::finish`]. Memory does not grow with the length of the trace.
#[derive(Debug)]
pub struct WaitExplainer {
    begun: bool,
    start: u64,
    end: u64,
    records: u64,
    lost_records: u64,
    /// Records of vcpus beyond [`EXPLAINED_MAX`].
    left_out: u64,
    told: Told,
    tells: WaitTells,
    losses: Losses,
    idling: Idling,
    list: Vec<Vcpu>,
    /// Places in `list`, by word.
    index: BTreeMap<u32, usize>,
    pcpus: Vec<Pcpu>,
    worst: Worst,
    worst_woken: Worst,
    cartographer: Cartographer,
}

impl WaitExplainer {
    /// Nothing seen yet; the map will show `window`.
    pub fn new(window: MapWindow) -> Self {
        WaitExplainer {
            begun: false,
            start: 0,
            end: 0,
            records: 0,
            lost_records: 0,
            left_out: 0,
            told: Told::default(),
            tells: WaitTells::default(),
            losses: Losses::new(),
            idling: Idling::default(),
            list: Vec::new(),
            index: BTreeMap::new(),
            pcpus: Vec::new(),
            worst: Worst::default(),
            worst_woken: Worst::default(),
            cartographer: Cartographer::new(window),
        }
    }

    /// What was found.
    pub fn finish(self) -> Waiting {
        let runstates = self.told.missing().is_none();
        let end = self.end;
        let mut unfinished = Worst::default();
        let mut vcpus = Vec::new();
        let pcpus = self.pcpus.iter().enumerate().filter(|(_, p)| p.seen);
        let pcpus = pcpus.map(|(i, _)| PcpuId(i as u16)).collect();
        let idled = self.idling.until(end);
        for mut vcpu in self.list {
            vcpu.flush(end, idled);
            let missed = self.losses.concerning(vcpu.state, vcpu.recorded) != vcpu.losses;
            if let Some(mut wait) = vcpu.wait.take()
                && let Some(begin) = wait.begin
                && !missed
            {
                for (part, time) in core::mem::take(&mut wait.parts) {
                    *wait.whole.entry(part).or_default() += time;
                }
                let base = wait.base.unwrap_or(Why::Woken);
                let wait = LongWait::of(vcpu.name, vcpu.home, begin, wait.woken, &wait.whole, base);
                if wait.length > 0 {
                    unfinished.add(wait);
                }
            }
            vcpu.sums.seen = vcpu.since.saturating_sub(vcpu.first);
            vcpus.push(vcpu.sums);
        }
        if !runstates {
            vcpus.clear();
        }
        vcpus.sort_by_key(|v| v.name);
        Waiting {
            start: Instant::from_nanos(self.start),
            end: Instant::from_nanos(end),
            records: self.records,
            lost_records: self.lost_records,
            runstates,
            pcpus,
            left_out: self.left_out,
            tells: self.tells,
            vcpus,
            worst: self.worst.into_list(),
            worst_woken: self.worst_woken.into_list(),
            unfinished: unfinished.into_list(),
            map: self.cartographer.finish(Instant::from_nanos(end)),
        }
    }

    fn pcpu(&mut self, pcpu: PcpuId) -> &mut Pcpu {
        let index = pcpu.index();
        if index >= self.pcpus.len() {
            self.pcpus.resize_with(index + 1, Pcpu::default);
        }
        &mut self.pcpus[index]
    }

    /// Where the vcpu's book is; `None` when there are too many, or it is an idle one.
    fn slot(&mut self, name: VcpuName, pcpu: PcpuId) -> Option<usize> {
        if name.is_idle() {
            return None;
        }
        if let Some(slot) = self.index.get(&name.word()) {
            return Some(*slot);
        }
        if self.list.len() >= EXPLAINED_MAX {
            self.left_out += 1;
            return None;
        }
        let slot = self.list.len();
        self.index.insert(name.word(), slot);
        self.list.push(Vcpu::new(name, pcpu));
        Some(slot)
    }

    fn known(&mut self, name: VcpuName) -> Option<&mut Vcpu> {
        let slot = *self.index.get(&name.word())?;
        self.list.get_mut(slot)
    }

    fn flush(&mut self, slot: usize, at: u64) {
        let idled = self.idling.until(at);
        self.list[slot].flush(at, idled);
    }

    /// It is clear by now that nothing more is tickled for who was woken last on `pcpu`.
    fn settle(&mut self, pcpu: PcpuId) {
        let Some(slot) = self.pcpu(pcpu).pending.take() else {
            return;
        };
        let tells = self.tells;
        let home = self.list[slot].home;
        let runner = self.pcpu(home).current;
        let boosted = runner.and_then(|name| self.known(name)).map(|v| v.boosted);
        let behind_boostless = boosted == Some(Some(false));
        let vcpu = &mut self.list[slot];
        let boostless = match vcpu.boosted {
            Some(false) => true,
            // It may have lost its boost unseen. With one it would have gone before who runs.
            _ => behind_boostless && vcpu.boosted_at.is_none_or(|at| Some(at) < vcpu.queued),
        };
        let is_over = boostless && !vcpu.strays && tells.boosts && tells.policy == Some(0);
        if let Some(wait) = &mut vcpu.wait
            && wait.base.is_none()
        {
            wait.base = Some(match tells.tickles {
                true if is_over => Why::OverCredit,
                true => Why::NotTickled,
                false => Why::Woken,
            });
        }
    }

    /// `vcpu` is on `pcpu` from `at` on; `None` for nobody.
    fn put(&mut self, at: u64, pcpu: PcpuId, vcpu: Option<VcpuName>) {
        let before = self.pcpu(pcpu).current;
        if before == vcpu {
            return;
        }
        let waiters = core::mem::take(&mut self.pcpu(pcpu).waiters);
        for slot in &waiters {
            self.flush(*slot, at);
        }
        self.idling.change(at, before, vcpu);
        let runner = vcpu.and_then(|name| self.index.get(&name.word())).copied();
        let runner = runner.map(|slot| (slot, self.list[slot].queued, self.list[slot].boosted));
        let idled = self.idling.until(at);
        let is_credit = self.tells.policy == Some(0);
        for slot in &waiters {
            let waiting = &mut self.list[*slot];
            let may_conclude = is_credit && !waiting.strays && waiting.boosted != Some(true);
            let queued = waiting.queued;
            let Some(wait) = &mut waiting.wait else {
                continue;
            };
            wait.behind = vcpu.filter(|v| !v.is_idle());
            wait.idled = idled;
            wait.ahead = None;
            if let Some((runner, Some(came), boosted)) = runner
                && runner != *slot
                && may_conclude
                && queued.is_some_and(|queued| queued < came)
            {
                wait.ahead = match boosted {
                    Some(true) => Some(Why::BoostAhead),
                    Some(false) => Some(Why::OverCredit),
                    None => None,
                };
            }
        }
        let called = self.pcpu(pcpu).called.clone();
        for slot in called {
            let is_other = vcpu.is_some_and(|v| !v.is_idle() && v != self.list[slot].name);
            self.changes_base(slot, at, Why::PassedOver, is_other);
        }
        let pcpu = self.pcpu(pcpu);
        pcpu.waiters = waiters;
        pcpu.current = vcpu;
    }

    /// A wait for a pass is for something else from now on, if `really`.
    fn changes_base(&mut self, slot: usize, at: u64, why: Why, really: bool) {
        if !really {
            return;
        }
        self.flush(slot, at);
        if let Some(wait) = &mut self.list[slot].wait
            && matches!(wait.base, Some(Why::Pass | Why::RateLimit))
        {
            wait.base = Some(why);
        }
    }

    /// A vcpu goes from `old` to `new` at `at`. Where they are equal, nothing changes.
    fn change(&mut self, at: u64, pcpu: PcpuId, name: VcpuName, old: Runstate, new: Runstate) {
        let is_mark = old == new;
        let left = old == Runstate::Running && !is_mark;
        if left && self.pcpu(pcpu).current == Some(name) {
            self.put(at, pcpu, None);
        }
        if new == Runstate::Running && name.is_idle() {
            self.put(at, pcpu, Some(name));
        }
        let Some(slot) = self.slot(name, pcpu) else {
            return;
        };
        self.flush(slot, at);
        let sure = self.book(slot, at, old);
        let ended = self.close(slot, at, new, sure);
        let vcpu = &mut self.list[slot];
        if !vcpu.known {
            vcpu.first = at;
        }
        vcpu.known = true;
        vcpu.changed |= !is_mark;
        vcpu.since = vcpu.since.max(at);
        vcpu.recorded = pcpu;
        vcpu.losses = self.losses.concerning(new, pcpu);
        vcpu.state = new;
        if new == Runstate::Running {
            if !is_mark {
                let slice = self.pcpu(pcpu).slice.take();
                let vcpu = &mut self.list[slot];
                vcpu.slice = slice.map(|slice| (at, slice));
                vcpu.limited = false;
                vcpu.yielded = false;
                vcpu.slept = false;
            }
            let vcpu = &mut self.list[slot];
            vcpu.home = pcpu;
            vcpu.strays = false;
            self.put(at, pcpu, Some(name));
        }
        if new == Runstate::Runnable && ended {
            self.open(slot, at, pcpu, old);
        }
    }

    /// Adds what the vcpu did since its last record, if it is known. Returns whether it is known to
    /// have been in the state `old` until now.
    fn book(&mut self, slot: usize, at: u64, old: Runstate) -> bool {
        let vcpu = &mut self.list[slot];
        if !vcpu.known {
            return false;
        }
        let part = at.saturating_sub(vcpu.since);
        let missed = self.losses.concerning(vcpu.state, vcpu.recorded) != vcpu.losses;
        let sure = !missed && vcpu.state == old;
        let sums = &mut vcpu.sums;
        match old {
            _ if !sure => sums.unknown += part,
            Runstate::Running => sums.running += part,
            Runstate::Blocked => sums.blocked += part,
            Runstate::Offline if vcpu.slept => sums.parked += part,
            Runstate::Offline => sums.paused += part,
            // Its parts are added when the wait is closed.
            Runstate::Runnable => {}
        }
        sure
    }

    /// Ends the wait of a vcpu, if it waited, or goes on with it where a record says again that it
    /// is runnable. `sure` is whether it is known to have waited until now. Returns whether the
    /// wait is over.
    fn close(&mut self, slot: usize, at: u64, new: Runstate, sure: bool) -> bool {
        let vcpu = &mut self.list[slot];
        let Some(mut wait) = vcpu.wait.take() else {
            return true;
        };
        if sure {
            vcpu.sums.idle_elsewhere += core::mem::take(&mut wait.idle_elsewhere);
            for (part, time) in core::mem::take(&mut wait.parts) {
                *vcpu.sums.times.entry(part).or_default() += time;
                *wait.whole.entry(part).or_default() += time;
            }
            if new == Runstate::Runnable {
                vcpu.wait = Some(wait);
                return false;
            }
        } else {
            wait.begin = None;
        }
        let (name, home, called) = (vcpu.name, vcpu.home, wait.called);
        self.pcpu(home).waiters.retain(|other| *other != slot);
        if let Some(called) = called {
            self.pcpu(called).called.retain(|other| *other != slot);
        }
        if let Some(begin) = wait.begin {
            let base = wait.base.unwrap_or(Why::Woken);
            let length = wait.whole.values().sum();
            let sums = &mut self.list[slot].sums;
            sums.waits += 1;
            sums.longest = sums.longest.max(length);
            self.remember(
                length,
                || LongWait::of(name, home, begin, wait.woken, &wait.whole, base),
                (begin, at),
                wait.woken,
            );
        }
        true
    }

    /// Keeps a wait if it is among the longest.
    fn remember(
        &mut self,
        length: u64,
        wait: impl Fn() -> LongWait,
        (begin, end): (u64, u64),
        woken: bool,
    ) {
        // Waits after a wake-up come before longer others.
        let longest = match woken {
            true => self.worst_woken.is_longest(length),
            false => self.worst_woken.is_empty() && self.worst.is_longest(length),
        };
        if longest {
            self.cartographer.longest(begin, end);
        }
        if self.worst.takes(length) {
            self.worst.add(wait());
        }
        if woken && self.worst_woken.takes(length) {
            self.worst_woken.add(wait());
        }
    }

    /// A wait begins.
    fn open(&mut self, slot: usize, at: u64, pcpu: PcpuId, old: Runstate) {
        let home = self.list[slot].home;
        let behind = self.pcpu(home).current.filter(|v| !v.is_idle());
        let idled = self.idling.until(at);
        let vcpu = &mut self.list[slot];
        let base = match old {
            Runstate::Running => Some(vcpu.leaves(at)),
            Runstate::Blocked => None,
            Runstate::Offline => Some(Why::Released),
            Runstate::Runnable => Some(Why::Before),
        };
        if base == Some(Why::SliceOver) {
            // No boost outlasts a tick, and a slice has ticks.
            vcpu.boosted = Some(false);
        }
        let is_seen = old != Runstate::Runnable;
        vcpu.queued = is_seen.then_some(at);
        vcpu.wait = Some(OpenWait {
            begin: is_seen.then_some(at),
            woken: old == Runstate::Blocked,
            base,
            called: None,
            flushed: at,
            idled,
            behind,
            ahead: None,
            parts: BTreeMap::new(),
            whole: BTreeMap::new(),
            idle_elsewhere: 0,
        });
        let name = vcpu.name;
        self.pcpu(home).waiters.push(slot);
        if base.is_none() {
            self.pcpu(pcpu).pending = Some(slot);
            self.cartographer.change(MapRow {
                at: Instant::from_nanos(at),
                pcpu,
                what: MapChange::Wakes(name),
            });
        }
    }

    /// Takes the runstate changes of a record.
    fn changes(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        let mut left = None;
        for (vcpu, old, new) in record.changes().into_iter().flatten() {
            if old == Runstate::Running && new != old {
                left = Some((vcpu, new));
                self.left(record.pcpu, vcpu, new);
            }
            if new == Runstate::Running {
                match old == new {
                    true => self.cartographer.runs_already(vcpu, record.pcpu),
                    false => {
                        let left = left.take().or_else(|| self.who_left(record.pcpu));
                        self.cartographer.change(MapRow {
                            at: record.at,
                            pcpu: record.pcpu,
                            what: MapChange::Runs(vcpu, left),
                        });
                    }
                }
            }
            self.change(at, record.pcpu, vcpu, old, new);
        }
    }

    fn left(&mut self, pcpu: PcpuId, vcpu: VcpuName, to: Runstate) {
        self.pcpu(pcpu).left = Some((vcpu, to));
    }

    fn who_left(&mut self, pcpu: PcpuId) -> Option<(VcpuName, Runstate)> {
        self.pcpu(pcpu).left.take()
    }

    /// Records of `pcpu` are missing.
    fn lost(&mut self, at: u64, pcpu: PcpuId, count: u32) {
        self.lost_records += u64::from(count);
        self.losses.add(pcpu);
        self.put(at, pcpu, None);
        for pcpu in &mut self.pcpus {
            pcpu.pending = None;
        }
        for vcpu in &mut self.list {
            // What was not seen may have changed all of that.
            vcpu.boosted = None;
            vcpu.credit = None;
            vcpu.budget = None;
            vcpu.slice = None;
        }
    }
}

impl Sink for WaitExplainer {
    fn record(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        if !self.begun {
            self.begun = true;
            self.start = at;
            self.cartographer.begin(at);
        }
        self.records += 1;
        self.end = self.end.max(at);
        self.told.see(record);
        self.pcpu(record.pcpu).seen = true;
        if let Some((policy, event, said)) = said(record) {
            return self.hear(record, policy, event, said);
        }
        if record.kind == Kind::Other {
            return;
        }
        self.settle(record.pcpu);
        match record.kind {
            Kind::Switch | Kind::RunstateChange => {
                if record.kind == Kind::Switch {
                    let slice = Some(record.data[3]).filter(|ns| *ns != u32::MAX);
                    self.slice(record.pcpu, slice);
                }
                self.changes(record);
            }
            Kind::InfNext => {
                let slice = Some(record.data[1]).filter(|ns| *ns != u32::MAX);
                self.slice(record.pcpu, slice);
            }
            Kind::Continue => self.goes_on(record),
            Kind::Yield => {
                if let Some(vcpu) = self.known(record.vcpu) {
                    vcpu.yielded = true;
                }
            }
            Kind::Sleep => {
                let runs = self.pcpu(record.pcpu).current == Some(record.vcpu);
                if let Some(vcpu) = self.known(record.vcpu) {
                    vcpu.slept = runs;
                }
            }
            Kind::Lost => self.lost(at, record.pcpu, record.data[0]),
            _ => {}
        }
    }
}

impl WaitExplainer {
    /// Who is put on `pcpu` next has this slice.
    fn slice(&mut self, pcpu: PcpuId, slice: Option<u32>) {
        self.tells.slices = true;
        self.pcpu(pcpu).slice = Some(slice.map(u64::from));
    }

    /// A pass lets a vcpu go on.
    fn goes_on(&mut self, record: &Record) {
        let (at, pcpu) = (record.at.as_nanos(), record.pcpu);
        // As the meter has it: until a change is seen, whoever goes on is found running.
        let is_known = self.known(record.vcpu).is_some_and(|vcpu| vcpu.changed);
        if !is_known {
            let running = Runstate::Running;
            self.cartographer.runs_already(record.vcpu, pcpu);
            self.change(at, pcpu, record.vcpu, running, running);
        }
        let length = record.data[1];
        if let Some(vcpu) = self.known(record.vcpu) {
            vcpu.yielded = false;
            // The rest of the rate limit is no slice; and some releases do not tell the slice.
            let limited = core::mem::take(&mut vcpu.limited);
            match (length, vcpu.slice) {
                _ if limited => {}
                (0, None) => {}
                (0, Some((_, before))) => vcpu.slice = Some((at, before)),
                (u32::MAX, _) => vcpu.slice = Some((at, None)),
                (length, _) => vcpu.slice = Some((at, Some(u64::from(length)))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
