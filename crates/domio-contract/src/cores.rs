//! Core scheduling (Xen 4.13 and later, `sched-gran=core`): a policy decides for whole cores.
//!
//! The vcpus of a domain form units of as many as a core has threads: vcpu n is in unit n /
//! threads, and its thread of a core is n modulo threads. [`Cores`] is a policy to its host, and a
//! host to the policy that it wraps, which sees one pcpu a core, the first thread, and one vcpu a
//! unit, the first one of it. A unit is runnable when one of its vcpus is. On the core that has a
//! unit its runnable vcpus run on their threads, and the other threads idle.
//!
//! A pass is made by all threads of a core together ([`Scheduler::together`]). A vcpu that wakes or
//! is paused while others of its unit run takes or leaves its thread alone, without a decision, as
//! in Xen (`sched_slave()` of `sched/core.c`).

use crate::contract::{
    Conflict, Descriptor, GroupId, Needs, PacketsMoved, Pick, Prev, Scheduler, Stop, Wake, WorksFor,
};
use crate::cx::{Cx, Effect, Pause, Tables};
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_core::{
    Class, CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId,
};

/// What continues at a core.
#[derive(Clone, Copy, Default)]
struct Core {
    /// The policy has asked for a pass since its last decision.
    asked: bool,
    /// Threads that have yet to be notified of the last decision.
    left: u16,
    /// When the current unit was switched in.
    entered: Instant,
    /// When its slice ends.
    slice_end: Option<Instant>,
}

/// A policy for units of vcpus on whole cores.
pub struct Cores {
    inner: Box<dyn Scheduler>,
    threads: u16,
    /// What the policy sees: first threads, and first vcpus of units.
    tables: Tables,
    effects: Vec<Effect>,
    /// Threads that are online.
    there: CpuSet,
    /// By vcpu: whether it exists.
    exists: Vec<bool>,
    /// By vcpu: packets that it has at hand.
    at_hand: Vec<u32>,
    cores: Vec<Core>,
    /// Threads whose vcpu is to come or go while its unit runs.
    forced: CpuSet,
    /// The thread whose pass is such a change and no more.
    alone: Option<PcpuId>,
}

impl Cores {
    /// `inner`, which has seen no pcpu yet, on cores of this shape.
    pub fn new(inner: Box<dyn Scheduler>, topology: &Topology) -> Self {
        let threads = topology.threads_per_core();
        Cores {
            inner,
            threads: threads as u16,
            tables: Tables::new(topology.clone()),
            effects: Vec::new(),
            there: CpuSet::EMPTY,
            exists: Vec::new(),
            at_hand: Vec::new(),
            cores: alloc::vec![Core::default(); topology.pcpus() / threads],
            forced: CpuSet::EMPTY,
            alone: None,
        }
    }

    /// The first thread of the core of `pcpu`.
    fn first(&self, pcpu: PcpuId) -> PcpuId {
        PcpuId(pcpu.0 / self.threads * self.threads)
    }

    fn core(&mut self, pcpu: PcpuId) -> &mut Core {
        &mut self.cores[usize::from(pcpu.0 / self.threads)]
    }

    /// The thread of `vcpu` in the core with the first thread `first`.
    fn thread(&self, cx: &Cx<'_>, vcpu: VcpuId, first: PcpuId) -> PcpuId {
        PcpuId(first.0 + cx.vcpu(vcpu).name.index % self.threads)
    }

    /// The unit of `vcpu`: its first vcpu. Vcpus of a domain have successive numbers.
    fn unit(&self, cx: &Cx<'_>, vcpu: VcpuId) -> VcpuId {
        VcpuId(vcpu.0 - u32::from(cx.vcpu(vcpu).name.index % self.threads))
    }

    /// The vcpus of `unit`, in the order of their threads.
    fn members(&self, cx: &Cx<'_>, unit: VcpuId) -> Vec<VcpuId> {
        let all = (unit.0..unit.0 + u32::from(self.threads)).map(VcpuId);
        let known = all.filter(|v| self.exists.get(v.index()) == Some(&true));
        let own = known.filter(|v| self.unit(cx, *v) == unit);
        own.collect()
    }

    /// The vcpu of `unit` that has the thread `pcpu`.
    fn on_thread(&self, cx: &Cx<'_>, unit: VcpuId, pcpu: PcpuId) -> Option<VcpuId> {
        let vcpu = VcpuId(unit.0 + u32::from(pcpu.0 % self.threads));
        self.members(cx, unit).contains(&vcpu).then_some(vcpu)
    }

    /// The unit that the core of `pcpu` has.
    fn current(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.tables.pcpus[self.first(pcpu)].current
    }

    /// Whether a vcpu of `unit` wants to execute, and the policy lets it.
    fn runnable(&self, unit: VcpuId) -> bool {
        self.tables.vcpus[unit.index()].runnable()
    }

    /// Brings what the policy sees up to date.
    fn sync(&mut self, cx: &Cx<'_>) {
        let host = cx.tables();
        let known = self.tables.vcpus.len();
        self.tables.vcpus.extend_from_slice(&host.vcpus[known..]);
        self.tables.affinity.clone_from(&host.affinity);
        for unit in (0..host.vcpus.len() as u32).map(VcpuId) {
            let members = self.members(cx, unit);
            if !members.is_empty() {
                let pauses = members.iter().map(|v| cx.vcpu(*v).pause);
                let own = self.tables.vcpus[unit.index()].pause;
                self.tables.vcpus[unit.index()].pause = pause_of(own, pauses);
            }
        }
        let host = cx.tables();
        let all = host.topology.siblings(PcpuId(0)).len();
        let firsts = self.there.iter().filter(|p| self.first(*p) == *p);
        let whole = |p: &PcpuId| (*host.topology.siblings(*p) & self.there).len() == all;
        self.tables.online = firsts.filter(whole).collect();
        self.tables.here = self.first(host.here);
        self.tables.any_pcpu = self.first(host.any_pcpu);
        self.tables.no_soft_affinity = host.no_soft_affinity;
        self.tables.no_hard_affinity = host.no_hard_affinity;
    }

    /// Calls the policy, and asks the host for what it asks for.
    fn ask<R>(
        &mut self,
        cx: &mut Cx<'_>,
        call: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>) -> R,
    ) -> R {
        self.sync(cx);
        let mut effects = core::mem::take(&mut self.effects);
        let inner = &mut *self.inner;
        let answer = cx.within(&mut self.tables, &mut effects, |cx| call(inner, cx));
        for effect in effects.drain(..) {
            self.pass_on(cx, effect);
        }
        self.effects = effects;
        answer
    }

    fn pass_on(&mut self, cx: &mut Cx<'_>, effect: Effect) {
        match effect {
            Effect::Tickle(pcpu) => {
                self.core(pcpu).asked = true;
                cx.tickle(pcpu);
            }
            Effect::Timer { pcpu, slot, at } => match at {
                Some(at) => cx.set_timer(pcpu, slot, at),
                None => cx.stop_timer(pcpu, slot),
            },
            Effect::DomainTimer { domain, at } => match at {
                Some(at) => cx.set_domain_timer(domain, at),
                None => cx.stop_domain_timer(domain),
            },
            Effect::Park(unit) => {
                let members = self.members(cx, unit);
                members.into_iter().for_each(|v| cx.park(v));
            }
            Effect::Unpark(unit) => {
                for vcpu in self.members(cx, unit) {
                    let _ = cx.unpark(vcpu);
                }
            }
            // Those that are held have the host ask where the unit is to go.
            Effect::Migrate(unit) => {
                let members = self.members(cx, unit).into_iter();
                let held: Vec<VcpuId> = members.filter(|v| cx.vcpu(*v).on_pcpu).collect();
                held.into_iter().for_each(|v| cx.migrate(v));
            }
            Effect::Move(unit, pcpu) => self.bring(cx, unit, pcpu, |_, _| true),
            Effect::Note {
                pcpu,
                number,
                about,
                words,
                ..
            } => {
                // The thread that executes the policy writes, whatever thread the policy sees.
                let writes = match pcpu == self.tables.here {
                    true => cx.tables().here,
                    false => pcpu,
                };
                cx.note(writes, number, about, &words);
            }
        }
    }

    /// The vcpus of `unit` that `which` names and no pcpu holds belong to the core with the first
    /// thread `first` from now on.
    fn bring(
        &self,
        cx: &mut Cx<'_>,
        unit: VcpuId,
        first: PcpuId,
        which: impl Fn(&Cx<'_>, VcpuId) -> bool,
    ) {
        for vcpu in self.members(cx, unit) {
            let thread = self.thread(cx, vcpu, first);
            let view = cx.vcpu(vcpu);
            if !view.on_pcpu && view.pcpu != thread && which(cx, vcpu) {
                cx.move_to(vcpu, thread);
            }
        }
    }

    /// The policy decides who has the core of `pcpu` next.
    fn decide(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) {
        let first = self.first(pcpu);
        let now = cx.now();
        let threads = self.threads;
        self.sync(cx);
        for thread in (first.0..first.0 + threads).map(PcpuId) {
            self.forced.remove(thread);
        }
        let current = self.current(pcpu);
        let core = self.core(pcpu);
        core.asked = false;
        core.left = threads;
        let ran = now.saturating_since(core.entered);
        let prev = Prev {
            vcpu: current,
            ran: current.map_or(Duration::ZERO, |_| ran),
            why: match current {
                Some(unit) if !self.runnable(unit) => Stop::NotRunnable,
                _ if prev.why == Stop::NotRunnable => Stop::Tickled,
                _ => prev.why,
            },
        };
        let pick = self.ask(cx, |s, cx| s.schedule(cx, first, prev));
        let core = self.core(pcpu);
        core.slice_end = pick.time_slice.map(|slice| now + slice);
        if pick.next == current {
            return;
        }
        core.entered = now;
        self.tables.pcpus[first].current = pick.next;
        if let Some(unit) = pick.next {
            let view = &mut self.tables.vcpus[unit.index()];
            view.on_pcpu = true;
            view.pcpu = first;
            self.bring(cx, unit, first, |cx, v| !cx.vcpu(v).runnable());
        }
    }

    /// What is left of the slice, on the thread that has the timer.
    fn slice(&mut self, pcpu: PcpuId, now: Instant) -> Option<Duration> {
        let end = self.core(pcpu).slice_end;
        let end = end.filter(|_| pcpu.0.is_multiple_of(self.threads));
        end.map(|end| end.saturating_since(now))
    }

    /// Whether `pcpu` has no more to do than to take its vcpu, which has woken, or to leave it.
    fn is_forced(&mut self, cx: &Cx<'_>, pcpu: PcpuId) -> bool {
        let (forced, now) = (self.forced.contains(pcpu), cx.now());
        self.forced.remove(pcpu);
        let ended = self.slice(pcpu, now) == Some(Duration::ZERO);
        if !forced || self.core(pcpu).asked || ended {
            return false;
        }
        let Some(unit) = self.current(pcpu) else {
            return false;
        };
        let Some(vcpu) = self.on_thread(cx, unit, pcpu) else {
            return false;
        };
        let (view, members) = (cx.vcpu(vcpu), self.members(cx, unit));
        let others = members.iter().filter(|v| **v != vcpu);
        let other_runs = |v: &VcpuId| cx.vcpu(*v).on_pcpu && cx.vcpu(*v).runnable();
        match view.runnable() {
            true => !view.on_pcpu,
            false => view.on_pcpu && others.clone().any(other_runs),
        }
    }

    /// The thread of `vcpu`, whose unit has a core, is to take or leave the vcpu.
    fn force(&mut self, cx: &mut Cx<'_>, unit: VcpuId, vcpu: VcpuId) {
        let first = self.tables.vcpus[unit.index()].pcpu;
        if self.current(first) == Some(unit) {
            let thread = self.thread(cx, vcpu, first);
            self.forced.insert(thread);
            cx.tickle(thread);
        }
    }
}

/// Why a unit is not runnable, which the policy has paused for the reasons in `own` and whose vcpus
/// are paused for `vcpus`: for no reason if one of them has none.
fn pause_of(own: Pause, vcpus: impl Iterator<Item = Pause>) -> Pause {
    let (mut any, mut down, mut free) = (Pause::NONE, true, false);
    for mut pause in vcpus {
        pause.clear(Pause::PARKED);
        free |= pause == Pause::NONE;
        down &= pause.has(Pause::DOWN);
        for flag in [Pause::BLOCKED, Pause::MIGRATING, Pause::PAUSED] {
            if pause.has(flag) {
                any.set(flag);
            }
        }
    }
    if free {
        any = Pause::NONE;
    } else if down || any == Pause::NONE {
        any.set(Pause::DOWN);
    }
    // What the policy has reported the unit as a whole stays.
    for flag in [Pause::PARKED, Pause::MIGRATING] {
        if own.has(flag) {
            any.set(flag);
        }
    }
    any
}

impl Scheduler for Cores {
    fn descriptor(&self) -> &'static Descriptor {
        self.inner.descriptor()
    }

    fn needs(&self) -> Needs {
        self.inner.needs().and(Needs {
            tickle: true,
            context_saved: true,
            together: true,
            ..Needs::NOTHING
        })
    }

    fn classes(&self) -> Vec<Option<&'static Class>> {
        self.inner.classes()
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.there.insert(pcpu);
        let first = self.first(pcpu);
        self.sync(cx);
        if self.tables.online.contains(first) {
            self.ask(cx, |s, cx| s.pcpu_online(cx, first));
        }
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let first = self.first(pcpu);
        let whole = self.tables.online.contains(first);
        self.there.remove(pcpu);
        if whole {
            self.ask(cx, |s, cx| s.pcpu_offline(cx, first));
        }
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.ask(cx, |s, cx| s.set_domain(cx, domain, params));
    }

    fn set_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        let unit = self.unit(cx, vcpu);
        self.ask(cx, |s, cx| s.set_vcpu(cx, unit, params));
    }

    fn set_group(
        &mut self,
        cx: &mut Cx<'_>,
        group: GroupId,
        parent: Option<GroupId>,
        params: &ParamValues,
    ) {
        self.ask(cx, |s, cx| s.set_group(cx, group, parent, params));
    }

    fn join(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        self.ask(cx, |s, cx| s.join(cx, domain, group));
    }

    fn host_thread(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, works: WorksFor) {
        let unit = self.unit(cx, vcpu);
        self.ask(cx, |s, cx| s.host_thread(cx, unit, works));
    }

    fn params(&self) -> Option<&ParamValues> {
        self.inner.params()
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        self.ask(cx, |s, cx| s.set_params(cx, params))
    }

    fn charge(&mut self, cx: &mut Cx<'_>, domain: DomainId, done: Duration) -> bool {
        self.ask(cx, |s, cx| s.charge(cx, domain, done))
    }

    fn debt(&self, domain: DomainId) -> Option<Duration> {
        self.inner.debt(domain)
    }

    fn packets(&mut self, cx: &mut Cx<'_>, moved: PacketsMoved) {
        self.ask(cx, |s, cx| s.packets(cx, moved));
    }

    /// A unit has what its vcpus have.
    fn dispatching(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, packets: u32) {
        if self.at_hand.len() <= vcpu.index() {
            self.at_hand.resize(vcpu.index() + 1, 0);
        }
        self.at_hand[vcpu.index()] = packets;
        let unit = self.unit(cx, vcpu);
        let of = |v: &VcpuId| self.at_hand.get(v.index()).copied().unwrap_or(0);
        let packets = self.members(cx, unit).iter().map(of).sum();
        self.ask(cx, |s, cx| s.dispatching(cx, unit, packets));
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.exists.len() <= vcpu.index() {
            self.exists.resize(vcpu.index() + 1, false);
        }
        self.exists[vcpu.index()] = true;
        let unit = self.unit(cx, vcpu);
        if self.members(cx, unit).len() == 1 {
            self.ask(cx, |s, cx| s.insert(cx, unit));
        }
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let unit = self.unit(cx, vcpu);
        if self.members(cx, unit).len() == 1 {
            self.ask(cx, |s, cx| s.remove(cx, unit));
        }
        self.exists[vcpu.index()] = false;
        if let Some(packets) = self.at_hand.get_mut(vcpu.index()) {
            *packets = 0;
        }
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let unit = self.unit(cx, vcpu);
        let view = &mut self.tables.vcpus[unit.index()];
        let moving = view.pause.has(Pause::MIGRATING) && !view.on_pcpu;
        if moving {
            view.pause.clear(Pause::MIGRATING);
        }
        if moving || self.members(cx, unit).len() == 1 {
            let first = self.ask(cx, |s, cx| s.pick_pcpu(cx, unit));
            self.tables.vcpus[unit.index()].pcpu = first;
            self.bring(cx, unit, first, |_, v| v != vcpu);
            // The host wakes `vcpu`, if that is runnable.
            if moving && !cx.vcpu(vcpu).runnable() && self.runnable(unit) {
                self.ask(cx, |s, cx| s.wake(cx, unit, Wake::Migrate));
            }
        }
        self.thread(cx, vcpu, self.tables.vcpus[unit.index()].pcpu)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        let unit = self.unit(cx, vcpu);
        self.sync(cx);
        if !self.runnable(unit) {
            return;
        }
        // The unit may run already: the policy knows.
        self.ask(cx, |s, cx| s.wake(cx, unit, why));
        if !cx.vcpu(vcpu).on_pcpu {
            self.force(cx, unit, vcpu);
        }
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let unit = self.unit(cx, vcpu);
        self.sync(cx);
        if !self.runnable(unit) {
            self.ask(cx, |s, cx| s.sleep(cx, unit));
        } else if cx.vcpu(vcpu).on_pcpu {
            self.force(cx, unit, vcpu);
        }
    }

    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let unit = self.unit(cx, vcpu);
        let pcpu = cx.vcpu(vcpu).pcpu;
        self.core(pcpu).asked = true;
        self.ask(cx, |s, cx| s.yielded(cx, unit));
    }

    fn together(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> CpuSet {
        if self.is_forced(cx, pcpu) {
            self.alone = Some(pcpu);
            return CpuSet::of(pcpu);
        }
        *cx.topology().siblings(pcpu)
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let alone = self.alone.take().is_some();
        if !alone {
            if self.core(pcpu).left == 0 {
                self.decide(cx, pcpu, prev);
            }
            self.core(pcpu).left -= 1;
        }
        let unit = self.current(pcpu);
        let vcpu = unit.and_then(|unit| self.on_thread(cx, unit, pcpu));
        Pick {
            // A unit that is not runnable is for the host to refuse.
            next: vcpu
                .filter(|v| cx.vcpu(*v).runnable() || unit.is_some_and(|u| !self.runnable(u))),
            time_slice: self.slice(pcpu, cx.now()),
        }
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let unit = self.unit(cx, vcpu);
        let view = self.tables.vcpus[unit.index()];
        let mut members = self.members(cx, unit).into_iter();
        let runs = self.current(view.pcpu) == Some(unit);
        if !view.on_pcpu || runs || members.any(|v| cx.vcpu(v).on_pcpu) {
            return;
        }
        self.tables.vcpus[unit.index()].on_pcpu = false;
        self.ask(cx, |s, cx| s.context_saved(cx, unit));
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        self.ask(cx, |s, cx| s.timer(cx, pcpu, slot))
    }

    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        self.ask(cx, |s, cx| s.domain_timer(cx, domain))
    }
}
