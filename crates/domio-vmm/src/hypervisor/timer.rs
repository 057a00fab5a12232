//! Timers of a pcpu that expire: the guests', the policy's, the slice's; ticks (xen-spec 0.3, 0.9).

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::domain_timer::{OF_DOMAINS, PRICE};
use crate::hypervisor::pcpu::{Cause, Pcpus, Phase};
use crate::hypervisor::release::Release;
use crate::process::WokenBy;
use domio_contract::{Cx, Pause, Scheduler};
use domio_core::{DomainId, Duration, Instant, PcpuId, Sink, VcpuId, XenVersion};
use domio_sim::TimerId;

/// Period of the guest tick that Xen up to 3.0 sends to whoever runs (xen-spec 0.9).
pub const HOST_TICK: Duration = Duration::from_millis(10);

/// What becomes of a timer that expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// Its handler runs, and is done at this time.
    Runs { until: Instant },
    /// The hardware delivers it at this time at the earliest.
    Later(Instant),
}

impl Pcpus {
    /// As [`Pcpus::expire`] for an interrupt that is delivered at its time: nothing but a switch
    /// under way holds it back. The softirq that it comes from holds other timers back as always.
    fn arrive(&mut self, release: &Release, pcpu: PcpuId, now: Instant, work: Duration) -> Expiry {
        if release.version < XenVersion::V4_0 {
            return self.expire(release, pcpu, now, work);
        }
        let slop = release.slop();
        let p = &mut self[pcpu];
        if p.phase == Phase::Switching && p.stage_at > now {
            return Expiry::Later(p.stage_at);
        }
        let until = now + release.profile.softirq.after_wake;
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
    pub fn expire(
        &mut self,
        release: &Release,
        pcpu: PcpuId,
        at: Instant,
        work: Duration,
    ) -> Expiry {
        if release.free {
            return Expiry::Runs { until: at };
        }
        self.expire_at_cost(release, pcpu, at, work)
    }

    fn expire_at_cost(
        &mut self,
        release: &Release,
        pcpu: PcpuId,
        at: Instant,
        work: Duration,
    ) -> Expiry {
        let late = release.version >= XenVersion::V4_0;
        let entry = release.profile.softirq.entry;
        let slop = release.slop();
        let p = &mut self[pcpu];
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
    pub fn extend_softirq(&mut self, pcpu: PcpuId, time: Duration) {
        let p = &mut self[pcpu];
        p.softirq_end += time;
        p.timer_floor += time;
    }
}

impl<S: Sink> Hypervisor<S> {
    /// What becomes of the timer of `vcpu`, which expires now.
    #[inline]
    pub fn guest_expiry(&mut self, vcpu: VcpuId, pcpu: PcpuId, now: Instant) -> Expiry {
        if self.release.free {
            return Expiry::Runs { until: now };
        }
        self.guest_expiry_at_cost(vcpu, pcpu, now)
    }

    #[inline(never)]
    fn guest_expiry_at_cost(&mut self, vcpu: VcpuId, pcpu: PcpuId, now: Instant) -> Expiry {
        let asleep = self.policy.view(vcpu).pause.has(Pause::BLOCKED);
        let work = if asleep {
            self.release.profile.wake_to_pass
        } else {
            self.release.profile.softirq.of_guest()
        };
        if asleep && self.vcpus[vcpu].guest.woken_by() == WokenBy::Interrupt {
            self.pcpus.arrive(&self.release, pcpu, now, work)
        } else {
            self.pcpus.expire(&self.release, pcpu, now, work)
        }
    }

    /// Arms the next periodic tick of `vcpu`, which is switched in on `pcpu` (xen-spec 0.9).
    /// Whether it missed one, which it is to be given.
    #[inline]
    pub fn start_tick(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        vcpu: VcpuId,
        now: Instant,
    ) -> bool {
        let legacy = self.release.version <= XenVersion::V3_0;
        let ticks = self.pcpus[pcpu].host_ticks;
        let v = &mut self.vcpus[vcpu];
        let Some(tick) = &mut v.tick else {
            return false;
        };
        if legacy {
            return core::mem::replace(&mut tick.seen, ticks) != ticks;
        }
        let missed = now > tick.last + tick.period;
        if missed {
            tick.last = now;
        }
        queue.arm(tick.timer, tick.last + tick.period);
        missed
    }

    pub fn slice_expired(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let p = &mut self.pcpus[pcpu];
        if p.phase == Phase::Switching {
            // The pass set a slice that is over before the pass is. Setting it raised the timer
            // softirq, which follows the pass: it needs no interrupt, so it knows no slop.
            p.timer_floor = p.timer_floor.min(p.stage_at);
        }
        match self
            .pcpus
            .expire(&self.release, pcpu, now, self.release.profile.softirq.entry)
        {
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
    pub fn policy_timer(&mut self, queue: &mut Queue, pcpu: PcpuId, slot: u8, now: Instant) {
        if self.release.free {
            let tracing = self.trace.on();
            let timer = |s: &mut dyn Scheduler, cx: &mut Cx<'_>| s.timer(cx, pcpu, slot);
            let again = self.policy.call(now, tracing, timer);
            if !self.policy.effects.is_empty() {
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
    /// handler does not run immediately: `Some` then, and whether the softirq has begun it.
    pub fn handler_waits(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        timer: TimerId,
        slot: u8,
        now: Instant,
    ) -> Option<bool> {
        let work = self.release.profile.timer_to_handler[slot as usize] + self.heap(pcpu);
        match self.pcpus.expire(&self.release, pcpu, now, work) {
            Expiry::Later(at) => {
                queue.arm(timer, at);
                Some(false)
            }
            Expiry::Runs { until } if until > now => {
                self.pcpus
                    .extend_softirq(pcpu, self.release.profile.softirq.again);
                queue.arm(timer, until);
                let handled = until + self.release.profile.handler;
                let later = handled.saturating_since(self.pcpus[pcpu].stage_at);
                self.pcpus.delay_pass(queue, pcpu, later);
                Some(true)
            }
            Expiry::Runs { .. } => None,
        }
    }

    /// The handler of a policy's timer has run on `pcpu` for `cost`. If a pass was under way
    /// already, `entering` says whether the handler had waited.
    pub fn handler_done(
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
        let deeper = self.release.profile.softirq.heap;
        if deeper.is_zero() {
            return deeper;
        }
        let views = self.policy.tables.vcpus.iter();
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
        let cost =
            self.release.profile.timer_to_handler[slot as usize] + self.release.profile.handler;
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
        if self.release.version < XenVersion::V4_0 && !self.release.profile.timer_slop.is_zero() {
            self.fire_within_slop(queue, pcpu, now);
        }
    }

    fn fire_within_slop(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let horizon = now + self.release.profile.timer_slop;
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

    /// The policy's timer of `domain` expires.
    pub fn domain_timer(&mut self, queue: &mut Queue, domain: DomainId, now: Instant) {
        let Some((timer, handled)) = self.pcpus.domain_timers.expired(domain) else {
            return;
        };
        let pcpu = handled.unwrap_or_else(|| {
            let pool = self.release.pool_of(domain) & self.policy.tables.online;
            pool.first().expect("a pool has a pcpu online")
        });
        if handled.is_some() {
            self.pcpus.no_longer_handled(pcpu);
        } else if !self.release.free
            && let Some(begun) = self.handler_waits(queue, pcpu, timer, PRICE, now)
        {
            if begun {
                self.pcpus.domain_timers.is_handled(domain, pcpu);
                self.pcpus[pcpu].handling |= OF_DOMAINS;
            }
            return;
        }
        let entering = self.pcpus[pcpu].phase == Phase::Entering;
        self.ask(queue, pcpu, now, Cause::PolicyTimer, |s, cx| {
            if let Some(at) = s.domain_timer(cx, domain) {
                cx.set_domain_timer(domain, at);
            }
        });
        if !self.release.free {
            let cost = self.release.profile.timer_to_handler[PRICE as usize]
                + self.release.profile.handler;
            let waited = handled.is_some();
            self.handler_done(queue, pcpu, now, cost, entering.then_some(waited));
        }
    }
}
