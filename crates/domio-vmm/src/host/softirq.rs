//! From a cause to the scheduler pass: raising the softirq, timers and their slop, IPIs, and the
//! requests of the policy.

use super::{Cause, Event, Host, Phase, Queue};
use crate::bus::Device;
use alloc::format;
use domio_core::{Duration, Instant, PcpuId, Record, Runstate, Sink, VcpuId, XenVersion};
use domio_sched::{Cx, Effect, Pause, Stop};
use domio_sim::TimerId;

/// What becomes of a timer that expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expiry {
    /// Its handler runs, and is done at this time.
    Runs { until: Instant },
    /// The hardware delivers it at this time at the earliest.
    Later(Instant),
}

impl<S: Sink, D: Device> Host<S, D> {
    /// Time from `cause` to the pass.
    #[inline]
    fn lead(&self, cause: Cause) -> Duration {
        let profile = &self.profile;
        match cause {
            Cause::Slice => profile.timer_to_pass,
            Cause::Wake | Cause::Operator => profile.wake_to_pass,
            Cause::Block | Cause::Yield => profile.block_to_pass,
            Cause::Ipi => profile.ipi_to_pass,
            Cause::PolicyTimer => profile.handler,
        }
    }

    /// Raises the scheduler softirq on `pcpu`, from code that runs there.
    #[inline(always)]
    pub(super) fn raise(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cause: Cause) {
        let p = &mut self.pcpus[pcpu];
        match p.phase {
            Phase::Guest => {
                p.phase = Phase::Entering;
                p.why = match cause {
                    Cause::Slice => Stop::Slice,
                    Cause::Block => Stop::NotRunnable,
                    Cause::Yield => Stop::Yielded,
                    _ => Stop::Tickled,
                };
                p.stage_at = now;
                self.halt(queue, pcpu, now);
                self.enter(queue, pcpu, cause);
            }
            Phase::Entering => {
                if cause == Cause::Wake {
                    self.put_off(queue, pcpu, now, self.profile.wake_to_pass);
                }
            }
            Phase::Switching => p.again = true,
        }
    }

    /// Lets the time from `cause` to the pass go by.
    #[inline(always)]
    fn enter(&mut self, queue: &mut Queue, pcpu: PcpuId, cause: Cause) {
        if self.free {
            self.due.push(pcpu);
        } else {
            self.enter_at_cost(queue, pcpu, cause);
        }
    }

    #[inline(never)]
    fn enter_at_cost(&mut self, queue: &mut Queue, pcpu: PcpuId, cause: Cause) {
        let lead = self.lead(cause);
        let handled = self.handled(queue, pcpu);
        let p = &mut self.pcpus[pcpu];
        p.stage_at = (p.stage_at + lead).max(handled);
        if lead.is_zero() {
            self.due.push(pcpu);
        } else {
            queue.arm(p.stage, p.stage_at);
        }
    }

    /// When those handlers of `pcpu`'s timers are over that have begun: the timer softirq goes
    /// before the scheduler's (xen-spec 0.2).
    fn handled(&self, queue: &Queue, pcpu: PcpuId) -> Instant {
        let p = &self.pcpus[pcpu];
        if p.handling == 0 {
            return Instant::ZERO;
        }
        let begun = (0..p.policy.len()).filter(|slot| p.handling & (1 << slot) != 0);
        let ends = begun.filter_map(|slot| queue.deadline(p.policy[slot]));
        ends.max()
            .map_or(Instant::ZERO, |end| end + self.profile.handler)
    }

    /// Makes the passes that are due at `now`, unless other events of this instant come first:
    /// timers that are due run before the scheduler. It is called again after those.
    #[inline]
    pub(super) fn run_due(&mut self, queue: &mut Queue, now: Instant) {
        while let Some(&pcpu) = self.due.get(self.due_done) {
            if queue.is_due_now() {
                return;
            }
            self.due_done += 1;
            self.pass(queue, pcpu, now);
        }
        self.due.clear();
        self.due_done = 0;
    }

    pub(super) fn stage_over(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        match self.pcpus[pcpu].phase {
            Phase::Entering => match self.wake_first(queue, pcpu, now) {
                // The wake-up's own work puts the pass off further.
                Some(at) => self.put_off(queue, pcpu, at, Duration::ZERO),
                None => self.pass(queue, pcpu, now),
            },
            Phase::Switching => self.switch_over(queue, pcpu, now),
            Phase::Guest => unreachable!("{pcpu} has no stage to end"),
        }
    }

    /// When a wake-up is delivered whose interrupt was there before the pass that is due at
    /// `now`: the timer softirq goes before the scheduler's.
    #[inline]
    fn wake_first(&self, queue: &Queue, pcpu: PcpuId, now: Instant) -> Option<Instant> {
        let within = self.profile.wake_first;
        if within.is_zero() {
            return None;
        }
        let asleep = |i: &usize| {
            let view = &self.tables.vcpus[*i];
            let guest = &self.vcpus[*i].guest;
            view.pcpu == pcpu && view.pause.has(Pause::BLOCKED) && guest.wakes_by_delivery()
        };
        let due = |i: usize| queue.deadline(self.vcpus[i].timer);
        let wakes = (0..self.vcpus.len()).filter(asleep).filter_map(due);
        wakes.filter(|at| *at > now && *at <= now + within).min()
    }

    /// The softirq of a wake-up that began at `now` goes on for `time`: a pass on `pcpu` that is
    /// due before comes after it.
    #[inline]
    pub(super) fn put_off(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        time: Duration,
    ) {
        if self.profile.wake_first.is_zero() {
            return;
        }
        let later = (now + time).saturating_since(self.pcpus[pcpu].stage_at);
        if !later.is_zero() {
            self.delay_pass(queue, pcpu, later);
        }
    }

    /// A timer of `pcpu` expires now, which is `at` by the clock of the machine. Says what becomes
    /// of it; `work` is the time that its handler takes from the interrupt on.
    ///
    /// Xen 4.x programs the hardware no earlier than the slop after the end of the last timer
    /// softirq. Timers that expire while the softirq is entered run in it, one after the other.
    #[inline]
    pub(super) fn expire(&mut self, pcpu: PcpuId, at: Instant, work: Duration) -> Expiry {
        if self.free {
            return Expiry::Runs { until: at };
        }
        self.expire_at_cost(pcpu, at, work)
    }

    fn expire_at_cost(&mut self, pcpu: PcpuId, at: Instant, work: Duration) -> Expiry {
        let late = self.version >= XenVersion::V4_0;
        let entry = self.profile.softirq.entry;
        let slop = self.profile.softirq.exit + self.profile.timer_slop;
        let p = &mut self.pcpus[pcpu];
        if p.phase == Phase::Switching && p.stage_at > at {
            return Expiry::Later(p.stage_at);
        }
        if !late {
            return Expiry::Runs { until: at + work };
        }
        let begin = if at < p.timer_batch {
            p.softirq_end.max(at + entry)
        } else if at < p.softirq_end && p.handling != 0 {
            // How long the handler takes is known when it is done. Until then the floor may move,
            // and timers that wait for it would change places.
            return Expiry::Later(p.softirq_end);
        } else if at < p.timer_floor {
            // A pass that is on its way may have the hardware programmed anew: see after it.
            let under_way = p.phase == Phase::Entering && p.stage_at > at;
            let after = p.stage_at + Duration::from_nanos(1);
            return Expiry::Later(match under_way {
                true => after.min(p.timer_floor),
                false => p.timer_floor,
            });
        } else {
            p.timer_batch = at + entry;
            at + entry.min(work)
        };
        let until = begin + work.saturating_sub(entry);
        p.softirq_end = until;
        p.timer_floor = until + slop;
        Expiry::Runs { until }
    }

    /// The timer softirq that ran last on `pcpu` takes `time` more.
    #[inline]
    fn extend_softirq(&mut self, pcpu: PcpuId, time: Duration) {
        let p = &mut self.pcpus[pcpu];
        p.softirq_end += time;
        p.timer_floor += time;
    }

    pub(super) fn slice_expired(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let p = &mut self.pcpus[pcpu];
        if p.phase == Phase::Switching {
            // The pass set a slice that is over before the pass is. Setting it raised the timer
            // softirq, which follows the pass: it needs no interrupt, so it knows no slop.
            p.timer_floor = p.timer_floor.min(p.stage_at);
        }
        match self.expire(pcpu, now, self.profile.softirq.entry) {
            Expiry::Later(at) => {
                let timer = self.pcpus[pcpu].slice_timer;
                queue.arm(timer, at);
            }
            Expiry::Runs { .. } => {
                self.raise(queue, pcpu, now, Cause::Slice);
                self.fire_early(queue, pcpu, now);
            }
        }
    }

    #[inline(always)]
    pub(super) fn policy_timer(&mut self, queue: &mut Queue, pcpu: PcpuId, slot: u8, now: Instant) {
        if self.free {
            let records = self.records();
            let mut cx = Cx::new(now, &mut self.tables, &mut self.effects, records);
            let again = self.scheduler.timer(&mut cx, pcpu, slot);
            if !self.effects.is_empty() {
                self.apply_effects(queue, pcpu, now, Cause::PolicyTimer);
            }
            if let Some(at) = again {
                queue.arm(self.pcpus[pcpu].policy[slot as usize], at.max(now));
            }
        } else {
            self.policy_timer_at_cost(queue, pcpu, slot, now);
        }
    }

    #[inline(never)]
    fn policy_timer_at_cost(&mut self, queue: &mut Queue, pcpu: PcpuId, slot: u8, now: Instant) {
        let handling = 1 << slot;
        let waited = self.pcpus[pcpu].handling & handling != 0;
        if !waited {
            let timer = self.pcpus[pcpu].policy[slot as usize];
            let work = self.profile.timer_to_handler[slot as usize] + self.heap(pcpu);
            match self.expire(pcpu, now, work) {
                Expiry::Later(at) => {
                    queue.arm(timer, at);
                    return;
                }
                Expiry::Runs { until } if until > now => {
                    self.extend_softirq(pcpu, self.profile.softirq.again);
                    self.pcpus[pcpu].handling |= handling;
                    queue.arm(timer, until);
                    let handled = until + self.profile.handler;
                    let later = handled.saturating_since(self.pcpus[pcpu].stage_at);
                    self.delay_pass(queue, pcpu, later);
                    return;
                }
                Expiry::Runs { .. } => {}
            }
        }
        self.pcpus[pcpu].handling &= !handling;
        let entering = self.pcpus[pcpu].phase == Phase::Entering;
        let cost = self.run_policy_timer(queue, pcpu, slot, now);
        let paid = match entering {
            // The pass was put off when the handler began.
            true => waited,
            // The way to a pass that the handler asked for has the rest of the handler in it.
            false => self.pcpus[pcpu].phase == Phase::Entering,
        };
        if !paid {
            self.steal(queue, pcpu, now, cost);
        }
        self.fire_early(queue, pcpu, now);
    }

    /// What the depth of the heap of `pcpu`'s timers adds to a handler.
    fn heap(&self, pcpu: PcpuId) -> Duration {
        let deeper = self.profile.softirq.heap;
        if deeper.is_zero() {
            return deeper;
        }
        let views = self.tables.vcpus.iter();
        let asleep = views.filter(|v| v.pcpu == pcpu && v.pause.has(Pause::BLOCKED));
        match asleep.take(2).count() {
            2 => deeper,
            _ => Duration::ZERO,
        }
    }

    fn run_policy_timer(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        slot: u8,
        now: Instant,
    ) -> Duration {
        let cost = self.profile.timer_to_handler[slot as usize] + self.profile.handler;
        self.ask(queue, pcpu, now, Cause::PolicyTimer, |s, cx| {
            if let Some(at) = s.timer(cx, pcpu, slot) {
                cx.set_timer(pcpu, slot, at);
            }
        });
        cost
    }

    /// Xen 3.x runs every timer that is due within the slop when one fires (xen-spec 0.3): the
    /// slice timer and the policy's timers of `pcpu` fire up to the slop early.
    #[inline]
    fn fire_early(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if self.version < XenVersion::V4_0 && !self.profile.timer_slop.is_zero() {
            self.fire_within_slop(queue, pcpu, now);
        }
    }

    fn fire_within_slop(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let horizon = now + self.profile.timer_slop;
        for slot in 0..self.pcpus[pcpu].policy.len() {
            let timer = self.pcpus[pcpu].policy[slot];
            if queue.deadline(timer).is_some_and(|at| at < horizon) {
                queue.disarm(timer);
                let cost = self.run_policy_timer(queue, pcpu, slot as u8, now);
                self.steal(queue, pcpu, now, cost);
            }
        }
        let timer = self.pcpus[pcpu].slice_timer;
        if queue.deadline(timer).is_some_and(|at| at < horizon) {
            queue.disarm(timer);
            self.raise(queue, pcpu, now, Cause::Slice);
        }
    }

    /// The hypervisor of `pcpu` works for `cost` at `now`: the guest there, or the pass that is
    /// about to come, is that much later.
    #[inline]
    pub(super) fn steal(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, cost: Duration) {
        if cost.is_zero() {
            return;
        }
        match self.pcpus[pcpu].phase {
            Phase::Guest => {
                if self.tables.pcpus[pcpu].current.is_some() {
                    self.halt(queue, pcpu, now);
                    self.go(queue, pcpu, now + cost);
                }
            }
            Phase::Entering => {
                if self.pcpus[pcpu].stage_at > now {
                    self.delay_pass(queue, pcpu, cost);
                }
            }
            Phase::Switching => {}
        }
    }

    /// Puts the pass that `pcpu` is working towards off by `cost`.
    fn delay_pass(&mut self, queue: &mut Queue, pcpu: PcpuId, cost: Duration) {
        let p = &mut self.pcpus[pcpu];
        if p.phase == Phase::Entering {
            p.stage_at += cost;
            let (stage, at) = (p.stage, p.stage_at);
            queue.arm(stage, at);
        }
    }

    /// Carries out what the policy asked for in a call on `on`.
    #[inline(never)]
    pub(super) fn apply_effects(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        now: Instant,
        cause: Cause,
    ) {
        let worked = self.count_work(on, cause);
        // Nothing below asks the policy, so nothing is added meanwhile.
        let mut next = 0;
        while let Some(effect) = self.effects.get(next) {
            next += 1;
            match *effect {
                Effect::Tickle(pcpu) => self.apply_tickle(queue, on, pcpu, now, cause),
                Effect::Timer { pcpu, slot, at } => {
                    let p = &mut self.pcpus[pcpu];
                    p.handling &= !(1 << slot);
                    let timer = p.policy[slot as usize];
                    match at {
                        Some(at) => queue.arm(timer, at.max(now) + worked),
                        None => queue.disarm(timer),
                    }
                }
                Effect::Park(vcpu) => self.parked(vcpu, on, now),
                Effect::Unpark(vcpu) => self.unparked(vcpu, on, now),
                // The flag is in the tables; the switch carries it out.
                Effect::Migrate(_) => {}
                Effect::Note {
                    pcpu,
                    event,
                    len,
                    words,
                } => {
                    let id = self.trace_id;
                    self.trace(Record::policy_note(now, pcpu, id, event, len, words));
                }
            }
        }
        self.spend_work(queue, on, cause, worked);
        self.effects.clear();
    }

    #[inline(never)]
    fn apply_tickle(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        pcpu: PcpuId,
        now: Instant,
        cause: Cause,
    ) {
        self.tickle(queue, on, pcpu, now, cause);
    }

    /// The time for the work that the policy has reported in a call; timers that it sets count
    /// from their end.
    #[inline]
    fn count_work(&mut self, on: PcpuId, cause: Cause) -> Duration {
        let worked = self.take_work();
        if cause == Cause::PolicyTimer && !worked.is_zero() {
            self.extend_softirq(on, worked);
        }
        worked
    }

    /// Puts a pass that is to come off by the work of the call that asked for it.
    #[inline]
    fn spend_work(&mut self, queue: &mut Queue, on: PcpuId, cause: Cause, worked: Duration) {
        if cause == Cause::PolicyTimer && !worked.is_zero() {
            // The softirq has to be done before the pass.
            self.delay_pass(queue, on, worked);
        }
        if cause == Cause::Wake && !self.profile.wake_note.is_zero() {
            let is_note = |effect: &&Effect| matches!(effect, Effect::Note { .. });
            let notes = self.effects.iter().filter(is_note).count() as u64;
            if notes > 1 {
                let later = self.profile.wake_note * (notes - 1);
                self.extend_softirq(on, later);
                self.delay_pass(queue, on, later);
            }
        }
    }

    #[inline(always)]
    pub(super) fn tickle(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        pcpu: PcpuId,
        now: Instant,
        cause: Cause,
    ) {
        if !self.tables.online.contains(pcpu) && !self.pcpus[pcpu].leaving {
            self.complain_of_tickle(pcpu);
        } else if pcpu == on {
            self.raise(queue, pcpu, now, cause);
        } else if self.profile.ipi.is_zero() {
            self.raise(queue, pcpu, now, Cause::Ipi);
        } else {
            let ipi = self.pcpus[pcpu].ipi;
            if queue.deadline(ipi).is_none() {
                queue.arm(ipi, now + self.profile.ipi);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn complain_of_tickle(&mut self, pcpu: PcpuId) {
        self.policy_fault(format!(
            "the policy tickled {pcpu}, which is not online; it may tickle {:?}",
            self.tables.online
        ));
    }

    #[inline(never)]
    fn parked(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.stop_waiting(vcpu, on, now);
        self.trace(Record::new(
            now,
            on,
            domio_core::Kind::Sleep,
            self.vcpus[vcpu.index()].name,
        ));
    }

    #[inline(never)]
    fn unparked(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.trace(Record::new(
            now,
            on,
            domio_core::Kind::Wake,
            self.vcpus[vcpu.index()].name,
        ));
        if self.tables.vcpus[vcpu.index()].runnable()
            && self.vcpus[vcpu.index()].state >= Runstate::Blocked
        {
            self.change(vcpu, Runstate::Runnable, on, now);
        }
    }

    /// The timer that the policy keeps in `slot` of `pcpu`.
    pub(crate) fn timer_of_policy(&self, pcpu: PcpuId, slot: u8) -> TimerId {
        self.pcpus[pcpu].policy[usize::from(slot)]
    }

    /// Sets up timers and phases of every pcpu and tells the policy about them.
    pub(crate) fn power_on(&mut self, queue: &mut Queue, now: Instant) {
        for pcpu in self.pcpus.ids() {
            if pcpu != PcpuId(0) {
                self.pcpus[pcpu] = super::Pcpu::new(pcpu, queue);
            }
            if self.version <= XenVersion::V3_0 {
                queue.post(now + super::execute::HOST_TICK, Event::HostTick(pcpu));
            }
        }
        for pcpu in self.pcpus.ids() {
            self.tables.online.insert(pcpu);
            self.ask(queue, pcpu, now, Cause::Operator, |s, cx| {
                s.pcpu_online(cx, pcpu)
            });
        }
    }
}
