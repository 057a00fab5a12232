//! Timers of a pcpu that expire: the guests', the policy's, the slice's; ticks (xen-spec 0.3, 0.9).

use super::{Cause, Event, Host, Phase, Queue, Tick};
use crate::bus::Device;
use crate::process::WokenBy;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId, XenVersion};
use domio_sched::{Cx, Pause};
use domio_sim::TimerId;

/// Period of the guest tick that Xen up to 3.0 sends to whoever runs (xen-spec 0.9).
pub(super) const HOST_TICK: Duration = Duration::from_millis(10);

/// What becomes of a timer that expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expiry {
    /// Its handler runs, and is done at this time.
    Runs { until: Instant },
    /// The hardware delivers it at this time at the earliest.
    Later(Instant),
}

impl<S: Sink, D: Device> Host<S, D> {
    pub(super) fn guest_timer(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
        if let Expiry::Later(at) = self.guest_expiry(vcpu, pcpu, now) {
            queue.arm(self.vcpus[vcpu.index()].timer, at);
            return;
        }
        self.vcpus[vcpu.index()].timer_at = Instant::MAX;
        self.interrupt(queue, vcpu, pcpu, now);
    }

    /// What becomes of the timer of `vcpu`, which expires now.
    #[inline(never)]
    fn guest_expiry(&mut self, vcpu: VcpuId, pcpu: PcpuId, now: Instant) -> Expiry {
        let asleep = self.tables.vcpus[vcpu.index()].pause.has(Pause::BLOCKED);
        let work = if asleep {
            self.profile.wake_to_pass
        } else {
            self.profile.softirq.of_guest()
        };
        if asleep && self.vcpus[vcpu.index()].guest.woken_by() == WokenBy::Interrupt {
            self.arrive(pcpu, now, work)
        } else {
            self.expire(pcpu, now, work)
        }
    }

    /// As [`Host::expire`] for an interrupt that is delivered at its time: nothing but a switch
    /// under way holds it back. The softirq that it comes from holds other timers back as always.
    fn arrive(&mut self, pcpu: PcpuId, now: Instant, work: Duration) -> Expiry {
        if self.version < XenVersion::V4_0 {
            return self.expire(pcpu, now, work);
        }
        let slop = self.profile.softirq.exit + self.profile.timer_slop;
        let p = &mut self.pcpus[pcpu];
        if p.phase == Phase::Switching && p.stage_at > now {
            return Expiry::Later(p.stage_at);
        }
        let until = now + self.profile.softirq.after_wake;
        p.timer_batch = now;
        p.softirq_end = until;
        p.timer_floor = until + slop;
        Expiry::Runs { until }
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
    pub(super) fn extend_softirq(&mut self, pcpu: PcpuId, time: Duration) {
        let p = &mut self.pcpus[pcpu];
        p.softirq_end += time;
        p.timer_floor += time;
    }

    pub(super) fn guest_tick(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let pcpu = self.tables.vcpus[vcpu.index()].pcpu;
        let expiry = self.expire(pcpu, now, self.profile.softirq.of_guest());
        let Some(tick) = &mut self.vcpus[vcpu.index()].tick else {
            return;
        };
        if let Expiry::Later(at) = expiry {
            queue.arm(tick.timer, at);
            return;
        }
        tick.last = now;
        queue.arm(tick.timer, now + tick.period);
        self.interrupt(queue, vcpu, pcpu, now);
    }

    pub(super) fn host_tick(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        queue.post(now + HOST_TICK, Event::HostTick(pcpu));
        let ticks = self.pcpus[pcpu].host_ticks.wrapping_add(1);
        self.pcpus[pcpu].host_ticks = ticks;
        if let Some(vcpu) = self.tables.pcpus[pcpu].current
            && let Some(tick) = &mut self.vcpus[vcpu.index()].tick
        {
            tick.seen = ticks;
            self.interrupt(queue, vcpu, pcpu, now);
        }
    }

    /// A tick of `period` for the guest of a new vcpu.
    pub(super) fn new_tick(
        queue: &mut Queue,
        vcpu: VcpuId,
        period: Option<Duration>,
        now: Instant,
    ) -> Option<Tick> {
        period.map(|period| Tick {
            period,
            last: now,
            timer: queue.timer(Event::GuestTick(vcpu)),
            seen: 0,
        })
    }

    /// Gives `vcpu`, which is switched in on `pcpu`, the periodic tick that it missed, and arms
    /// the next one (xen-spec 0.9).
    #[inline]
    pub(super) fn start_tick(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) {
        let legacy = self.version <= XenVersion::V3_0;
        let ticks = self.pcpus[pcpu].host_ticks;
        let v = &mut self.vcpus[vcpu.index()];
        let Some(tick) = &mut v.tick else { return };
        if legacy {
            if tick.seen != ticks {
                tick.seen = ticks;
                self.give_tick(vcpu);
            }
            return;
        }
        let missed = now > tick.last + tick.period;
        if missed {
            tick.last = now;
        }
        queue.arm(tick.timer, tick.last + tick.period);
        if missed {
            self.give_tick(vcpu);
        }
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
            if let Some(begun) = self.handler_waits(queue, pcpu, timer, slot, now) {
                if begun {
                    self.pcpus[pcpu].handling |= handling;
                }
                return;
            }
        }
        self.pcpus[pcpu].handling &= !handling;
        let entering = self.pcpus[pcpu].phase == Phase::Entering;
        let cost = self.run_policy_timer(queue, pcpu, slot, now);
        self.handler_done(queue, pcpu, now, cost, entering.then_some(waited));
    }

    /// A policy's `timer` of `pcpu`, priced as that of `slot`, expires now. Sets it anew if its
    /// handler does not run at once: `Some` then, and whether the softirq has begun it.
    pub(super) fn handler_waits(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        timer: TimerId,
        slot: u8,
        now: Instant,
    ) -> Option<bool> {
        let work = self.profile.timer_to_handler[slot as usize] + self.heap(pcpu);
        match self.expire(pcpu, now, work) {
            Expiry::Later(at) => {
                queue.arm(timer, at);
                Some(false)
            }
            Expiry::Runs { until } if until > now => {
                self.extend_softirq(pcpu, self.profile.softirq.again);
                queue.arm(timer, until);
                let handled = until + self.profile.handler;
                let later = handled.saturating_since(self.pcpus[pcpu].stage_at);
                self.delay_pass(queue, pcpu, later);
                Some(true)
            }
            Expiry::Runs { .. } => None,
        }
    }

    /// The handler of a policy's timer has run on `pcpu` for `cost`. If a pass was under way
    /// already, `entering` says whether the handler had waited.
    pub(super) fn handler_done(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        cost: Duration,
        entering: Option<bool>,
    ) {
        let paid = match entering {
            // The pass was put off when the handler began.
            Some(waited) => waited,
            // The way to a pass that the handler asked for has the rest of the handler in it.
            None => self.pcpus[pcpu].phase == Phase::Entering,
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

    /// The timer that the policy keeps in `slot` of `pcpu`.
    pub(crate) fn timer_of_policy(&self, pcpu: PcpuId, slot: u8) -> TimerId {
        self.pcpus[pcpu].policy[usize::from(slot)]
    }
}
