//! Who waited behind whom, and why.
//!
//! A vcpu waits while it is runnable and no pcpu executes it. That time is split by the vcpu that
//! ran meanwhile on the pcpu where the waiting one ran last, and by cause ([`Why`]), as far as
//! records tell. Per vcpu the parts sum to the runnable time of the [`Summary`](crate::Summary):
//! both follow vcpus with a [`Track`](domio_trace::Track).
//!
//! # Causes
//!
//! How a wait begins is its cause at first: a vcpu leaves its pcpu when its slice is over, or
//! before, or yields; it is released from a pause; or it is woken, and a pcpu is tickled for it or
//! not. A policy's own records say more, as their class declares:
//!
//! - **Tickles** follow the wake-up in the buffer of the pcpu that woke. Between them and the pass,
//!   the wait is for the pass.
//! - **The rate limit** is recorded by the pass that it ends. Where credits are recorded, it shows
//!   at a wake-up, too: no pcpu is tickled, and the policy has not even looked at the credit of who
//!   runs, since it looks at nobody who has run for too short a time.
//! - **Priorities** are recorded by no policy. Where its queues keep an order
//!   ([`QueueRules::fifo_with_boost`]), their effect is: vcpus of one priority take turns in the
//!   order in which they were queued. One that is queued later and runs first has a higher
//!   priority. If it has a boost, the wait is for that boost; if it has none, it is UNDER, and who
//!   waits is OVER. So is one that is woken without a tickle behind one without a boost: every
//!   other one that is woken is boosted.
//! - **Credits** may be recorded. Less than nothing is over, as the others' credit is used before
//!   it is given anew. So are the budgets of capped domains.
//!
//! Priorities are concluded only of vcpus that are still in the queue where they were put: not
//! after the policy wanted them elsewhere.
//!
//! [`QueueRules::fifo_with_boost`]: domio_core::QueueRules::fifo_with_boost

mod books;
mod common;
mod hear;
pub(super) mod map;
mod queues;
pub(super) mod why;

use domio_answer::Maybe;
use domio_core::{ActorId, DomainId, Instant, PcpuId, Record, Runstate, VcpuName};
use domio_trace::{GoingOn, Ground, Over, StayPassed};

use super::result::{Explanation, LongWait, Worst};
use super::tells::WaitTells;
use crate::account::Window;
use books::{IdleBooks, OpenWait, Pcpu, Vcpu, Who};
use map::{Cartographer, MapChange, MapRow, MapWindow};
use why::Why;

/// Most vcpus that are told apart: no host has as many, and the bound keeps a damaged file from
/// taking all time and memory.
const EXPLAINED_MAX: usize = 1 << 15;

/// No place in the list.
const NOWHERE: u32 = u32::MAX;

/// What is known of vcpus and pcpus while a trace is read. Memory does not grow with its length.
#[derive(Debug)]
pub(super) struct WaitBooks {
    window: Window,
    lost_records: u64,
    /// Records of vcpus beyond [`EXPLAINED_MAX`].
    left_out: u64,
    tells: WaitTells,
    ground: Ground,
    going_on: GoingOn,
    idling: IdleBooks,
    list: Vec<Vcpu>,
    /// Places in `list`, by actor.
    places: Vec<u32>,
    /// Whether each class is a policy's.
    policies: Vec<bool>,
    pcpus: Vec<Pcpu>,
    worst: Worst,
    worst_woken: Worst,
    cartographer: Cartographer,
}

/// What a vcpu does, as far as somebody is concerned who waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    Runs,
    /// Runnable, behind the domain that runs on its pcpu.
    Waits(Option<DomainId>),
    Rests,
    Unknown,
}

impl WaitBooks {
    /// Nothing seen yet; the map will show `map`.
    pub fn new(window: Window, map: MapWindow) -> Self {
        WaitBooks {
            window,
            lost_records: 0,
            left_out: 0,
            tells: WaitTells::default(),
            ground: Ground::new(),
            going_on: GoingOn::new(),
            idling: IdleBooks::new(window),
            list: Vec::new(),
            places: Vec::new(),
            policies: Vec::new(),
            pcpus: Vec::new(),
            worst: Worst::default(),
            worst_woken: Worst::default(),
            cartographer: Cartographer::new(map),
        }
    }

    /// What counts begins at `at`.
    pub fn begin(&mut self, at: u64) {
        self.cartographer.begin(at.max(self.window.from));
    }

    /// Takes what every record tells.
    #[inline]
    pub fn see(&mut self, record: &Record) {
        self.ground.see(record);
    }

    /// The trace is over at `at`: every vcpu stays in its state until then.
    pub fn stay(&mut self, at: u64) {
        for slot in 0..self.list.len() {
            let track = &mut self.list[slot].track;
            let state = track.state();
            let passed = track.advance(at);
            self.passed(slot, passed, state);
        }
    }

    /// Adds what `passed` of a vcpu, if anything did; from then on it is in the state `new`, as far
    /// as its wait is concerned.
    fn passed(&mut self, slot: usize, passed: Option<StayPassed>, new: Runstate) {
        if let Some(passed) = passed {
            self.flush(slot, passed.to);
            self.list[slot].book(&passed, self.window);
            self.close(slot, passed.to, new, passed.sure);
        }
    }

    /// Adds what was found to `explanation`, which ends where the trace does.
    pub fn add_to(self, explanation: &mut Explanation) {
        let end = explanation.start.as_nanos() + explanation.elapsed;
        let mut unfinished = Worst::default();
        let pcpus = self.pcpus.iter().enumerate().filter(|(_, p)| p.seen);
        explanation.pcpus = pcpus.map(|(i, _)| PcpuId(i as u16)).collect();
        let never_idles = self.tells.never_idles();
        for mut vcpu in self.list {
            let idled = self.idling.until(end, vcpu.may_use);
            vcpu.flush(end, idled, self.window, never_idles);
            if let Some(mut wait) = vcpu.wait.take()
                && let Some(begin) = wait.begin
            {
                wait.whole.take_from(&mut wait.parts);
                let begin = begin.max(self.window.from);
                let wait = LongWait::of(vcpu.who.name, vcpu.home, begin, &wait.ended());
                if wait.length > 0 {
                    unfinished.add(wait);
                }
            }
            explanation.vcpus.push(vcpu.sums);
        }
        explanation.vcpus.sort_by_key(|v| v.name);
        explanation.lost_records = self.lost_records;
        explanation.left_out = self.left_out;
        explanation.tells = self.tells;
        explanation.worst = self.worst.into_list();
        explanation.worst_woken = self.worst_woken.into_list();
        explanation.unfinished = unfinished.into_list();
        explanation.map = Maybe(self.cartographer.finish(Instant::from_nanos(end)));
    }

    fn pcpu(&mut self, pcpu: PcpuId) -> &mut Pcpu {
        let index = pcpu.index();
        if index >= self.pcpus.len() {
            self.pcpus.resize_with(index + 1, Pcpu::default);
        }
        &mut self.pcpus[index]
    }

    /// Where the vcpu's book is; `None` when there are too many, or it is an idle one.
    fn slot(&mut self, who: Who, pcpu: PcpuId) -> Option<usize> {
        if who.name.is_idle() {
            return None;
        }
        if let Some(slot) = self.place(who.actor) {
            return Some(slot);
        }
        if self.list.len() >= EXPLAINED_MAX {
            self.left_out += 1;
            return None;
        }
        let (slot, actor) = (self.list.len(), who.actor.index());
        if actor >= self.places.len() {
            self.places.resize(actor + 1, NOWHERE);
        }
        self.places[actor] = slot as u32;
        self.list.push(Vcpu::new(who, pcpu));
        Some(slot)
    }

    fn place(&self, actor: ActorId) -> Option<usize> {
        let place = self.places.get(actor.index()).copied();
        place
            .filter(|place| *place != NOWHERE)
            .map(|place| place as usize)
    }

    fn known(&mut self, actor: ActorId) -> Option<&mut Vcpu> {
        let slot = self.place(actor)?;
        self.list.get_mut(slot)
    }

    fn flush(&mut self, slot: usize, at: u64) {
        let never_idles = self.tells.never_idles();
        let vcpu = &mut self.list[slot];
        let idled = self.idling.until(at, vcpu.may_use);
        vcpu.flush(at, idled, self.window, never_idles);
    }

    /// What the vcpu does.
    pub fn doing(&self, actor: ActorId) -> Doing {
        let Some(slot) = self.place(actor) else {
            return Doing::Unknown;
        };
        let vcpu = &self.list[slot];
        match vcpu.track.state() {
            Runstate::Running => Doing::Runs,
            Runstate::Runnable => {
                let pcpu = self.pcpus.get(vcpu.home.index());
                let current = pcpu.and_then(|pcpu| pcpu.current);
                let domain = current.map(|who| who.name.domain);
                Doing::Waits(domain.filter(|domain| *domain != DomainId::IDLE))
            }
            Runstate::Blocked | Runstate::Offline => Doing::Rests,
        }
    }

    /// Something tells at `at` of a vcpu that executes: its time is added up to then, if it is
    /// known to do so. Returns the time that it ran so far, as far as it counts.
    pub fn executes(&mut self, actor: ActorId, at: u64) -> u64 {
        let Some(slot) = self.place(actor) else {
            return 0;
        };
        let vcpu = &mut self.list[slot];
        if let Some(passed) = vcpu.track.executes(at) {
            vcpu.book(&passed, self.window);
        }
        vcpu.sums.running
    }

    /// It is clear by now that nothing more is tickled for who was woken last on `pcpu`.
    fn settle(&mut self, pcpu: PcpuId) {
        let Some(slot) = self.pcpu(pcpu).pending.take() else {
            return;
        };
        let tells = self.tells;
        let home = self.list[slot].home;
        let runner = self.pcpu(home).current;
        let runner = runner.and_then(|who| self.place(who.actor));
        let runner = runner.map(|runner| &self.list[runner]);
        let held_off = runner.is_some_and(|runner| self.list[slot].is_held_off_by(runner));
        let boosted = runner.map(|v| v.boosted);
        let behind_boostless = boosted == Some(Some(false));
        let vcpu = &mut self.list[slot];
        let boostless = match vcpu.boosted {
            Some(false) => true,
            // It may have lost its boost unseen. With one it would have gone before who runs.
            _ => behind_boostless && vcpu.boosted_at.is_none_or(|at| Some(at) < vcpu.queued),
        };
        let is_over = boostless && !vcpu.strays && tells.boosts && tells.is_fifo_with_boost();
        if let Some(wait) = &mut vcpu.wait
            && wait.base.is_none()
        {
            wait.base = Some(match tells.tickles {
                true if is_over => Why::OverCredit,
                true if held_off && tells.limits => Why::RateLimit,
                true => Why::NotTickled,
                false => Why::Woken,
            });
        }
    }

    /// `vcpu` is on `pcpu` from `at` on; `None` for nobody.
    fn put(&mut self, at: u64, pcpu: PcpuId, vcpu: Option<Who>) {
        let before = self.pcpu(pcpu).current;
        if before == vcpu {
            return;
        }
        let waiters = core::mem::take(&mut self.pcpu(pcpu).waiters);
        for slot in &waiters {
            self.flush(*slot, at);
        }
        self.idling.change(at, pcpu, before, vcpu);
        let runner = vcpu.and_then(|who| self.place(who.actor));
        let rank = runner.map(|slot| self.list[slot].rank);
        let runner = runner.map(|slot| (slot, self.list[slot].queued, self.list[slot].boosted));
        let is_free = vcpu.is_some_and(|who| who.name.is_idle());
        let is_fifo = self.tells.is_fifo_with_boost();
        for slot in &waiters {
            let waiting = &mut self.list[*slot];
            let own_rank = waiting.rank;
            let may_conclude = is_fifo && !waiting.strays && waiting.boosted != Some(true);
            let queued = waiting.queued;
            let Some(wait) = &mut waiting.wait else {
                continue;
            };
            wait.behind = vcpu.map(|who| who.name).filter(|name| !name.is_idle());
            wait.ahead = None;
            wait.outranked = rank.is_some_and(|rank| rank < own_rank);
            (wait.is_free, wait.waking) = (is_free, 0);
            if wait.base == Some(Why::RateLimit) && wait.called.is_none() && wait.behind.is_some() {
                // A pass has taken another one.
                wait.base = Some(Why::NotTickled);
            }
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
            let is_other =
                vcpu.is_some_and(|who| !who.name.is_idle() && who != self.list[slot].who);
            self.changes_base(slot, at, Why::PassedOver, is_other);
        }
        let pcpu = self.pcpu(pcpu);
        pcpu.waiters = waiters;
        pcpu.current = vcpu;
    }

    /// The rank of who runs on `pcpu`.
    fn rank_on(&mut self, pcpu: PcpuId) -> Option<u64> {
        let runner = self.pcpu(pcpu).current?;
        let slot = self.place(runner.actor)?;
        Some(self.list[slot].rank)
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
    fn change(&mut self, at: u64, pcpu: PcpuId, who: Who, [old, new]: [Runstate; 2]) {
        let is_mark = old == new;
        let left = old == Runstate::Running && !is_mark;
        if left && self.pcpu(pcpu).current == Some(who) {
            self.put(at, pcpu, None);
        }
        if new == Runstate::Running && who.name.is_idle() {
            self.put(at, pcpu, Some(who));
        }
        let Some(slot) = self.slot(who, pcpu) else {
            return;
        };
        let track = &mut self.list[slot].track;
        let passed = track.change(&mut self.ground, at, pcpu, [old, new]);
        self.turned(slot, (at, pcpu), [old, new], &passed);
    }

    /// A vcpu that no record told of but such ones goes on on `pcpu`.
    fn found_running(&mut self, at: u64, pcpu: PcpuId, who: Who) {
        if who.name.is_idle() {
            self.put(at, pcpu, Some(who));
        }
        let Some(slot) = self.slot(who, pcpu) else {
            return;
        };
        let track = &mut self.list[slot].track;
        let passed = track.goes_on(&mut self.ground, at, pcpu);
        self.turned(slot, (at, pcpu), [Runstate::Running; 2], &passed);
    }

    /// A run that only went on on `pcpu` is over.
    #[cold]
    fn displace(&mut self, at: u64, pcpu: PcpuId, over: Over) {
        if let Some(slot) = self.place(over.actor) {
            let passed = self.list[slot].track.displace(at, pcpu, over.now);
            self.passed(slot, passed, Runstate::Running);
        }
    }

    /// Records of `pcpu` are missing from `at` on: waits that may end there unseen are over.
    fn lose(&mut self, at: u64, pcpu: PcpuId) {
        self.ground.lose(pcpu);
        for slot in 0..self.list.len() {
            let vcpu = &mut self.list[slot];
            let passed = vcpu.track.lose(at, pcpu);
            if passed.is_some()
                && let Some(wait) = &mut vcpu.wait
            {
                wait.begin = None;
            }
            self.passed(slot, passed, Runstate::Offline);
        }
    }

    /// A vcpu went from `old` to `new` at `at`, when `passed` was over.
    fn turned(
        &mut self,
        slot: usize,
        (at, pcpu): (u64, PcpuId),
        [old, new]: [Runstate; 2],
        passed: &StayPassed,
    ) {
        let is_mark = old == new;
        self.flush(slot, at);
        self.list[slot].book(passed, self.window);
        let ended = self.close(slot, at, new, passed.sure);
        if new == Runstate::Running || (old == Runstate::Offline && !is_mark) {
            self.list[slot].held_inside = false;
        }
        if new == Runstate::Running {
            if !is_mark {
                let slice = self.pcpu(pcpu).slice.take();
                let vcpu = &mut self.list[slot];
                vcpu.slice = slice.map(|slice| (at, slice));
                vcpu.limited = false;
                vcpu.yielded = false;
            }
            let vcpu = &mut self.list[slot];
            vcpu.home = pcpu;
            vcpu.strays = false;
            let who = vcpu.who;
            self.put(at, pcpu, Some(who));
        }
        if new == Runstate::Runnable && ended {
            self.open(slot, at, pcpu, old);
        }
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
            let held = core::mem::take(&mut wait.held);
            vcpu.sums.parked += held;
            vcpu.sums.out_of_budget += held;
            for (part, time) in wait.parts.iter() {
                *vcpu.sums.times.entry(*part).or_default() += time;
            }
            wait.whole.take_from(&mut wait.parts);
            if new == Runstate::Runnable {
                vcpu.wait = Some(wait);
                return false;
            }
        } else {
            wait.begin = None;
        }
        let (name, home, called) = (vcpu.who.name, vcpu.home, wait.called);
        self.pcpu(home).waiters.retain(|other| *other != slot);
        if let Some(called) = called {
            self.pcpu(called).called.retain(|other| *other != slot);
        }
        if let Some(begin) = wait.begin.filter(|_| self.window.holds(at)) {
            let begin = begin.max(self.window.from);
            let length = wait.whole.total();
            let sums = &mut self.list[slot].sums;
            sums.waits += 1;
            sums.woken += u64::from(wait.woken);
            sums.longest = sums.longest.max(length);
            self.remember(
                length,
                || LongWait::of(name, home, begin, &wait.ended()),
                (begin, at),
                wait.woken,
            );
        }
        self.list[slot].spare = [wait.parts.cleared(), wait.whole.cleared()];
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
        let current = self.pcpu(home).current.map(|who| who.name);
        let behind = current.filter(|name| !name.is_idle());
        let idled = self.idling.until(at, self.list[slot].may_use);
        let rank = self.rank_on(home);
        let is_free = current.is_some_and(VcpuName::is_idle);
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
        let [parts, whole] = core::mem::take(&mut vcpu.spare);
        vcpu.wait = Some(OpenWait {
            begin: is_seen.then_some(at),
            woken: old == Runstate::Blocked,
            base,
            called: None,
            flushed: at,
            idled,
            outranked: rank.is_some_and(|rank| rank < vcpu.rank),
            is_free,
            waking: 0,
            behind,
            ahead: None,
            parts,
            whole,
            idle_elsewhere: 0,
            held: 0,
        });
        let name = vcpu.who.name;
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
}
