//! The scheduler pass and the context switch (xen-spec 0.5).

use super::{Hypervisor, MAX_PASSES_AT_ONE_INSTANT, MAX_PASSES_OF_A_VCPU};
use crate::event::Queue;
use crate::hypervisor::pcpu::{Cause, Phase};
use crate::hypervisor::trace::Switch;
use alloc::boxed::Box;
use alloc::format;
use domio_contract::{Pause, Pick, Prev, Stop};
use domio_core::{Duration, Instant, PcpuId, Runstate, Sink, VcpuId, XenVersion};

/// What a pass or a switch leads back to.
#[derive(Clone, Copy)]
pub(crate) struct Back {
    /// Whose guest executes on the pcpu, and from when; nobody's while the pcpu idles or the
    /// hypervisor has more to do there.
    pub to: Option<(VcpuId, Instant)>,
    /// Who was switched in and has missed a periodic tick, which it is to be given.
    pub ticked: Option<VcpuId>,
}

impl Back {
    /// No guest executes yet.
    pub(super) const NOT_YET: Back = Back {
        to: None,
        ticked: None,
    };
}

/// What a pass has decided.
#[derive(Clone, Copy)]
pub(super) struct Decided {
    pub current: Option<VcpuId>,
    pub next: Option<VcpuId>,
    /// For how long the current one has run.
    pub ran: Duration,
    /// Time for the policy's work.
    pub worked: Duration,
}

impl<S: Sink> Hypervisor<S> {
    /// The scheduler softirq on `pcpu`: asks the policy and begins to carry its answer out.
    #[inline(always)]
    pub fn pass(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) -> Back {
        if self.policy.together {
            return self.come_together(queue, pcpu, now);
        }
        self.pass_alone(queue, pcpu, now)
    }

    /// As [`Hypervisor::pass`], for this pcpu alone.
    #[inline(always)]
    pub(super) fn pass_alone(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) -> Back {
        let Some(decided) = self.decide(queue, pcpu, now) else {
            return Back::NOT_YET;
        };
        if decided.next == decided.current {
            self.keep(queue, pcpu, now, decided)
        } else {
            let Decided { current, next, .. } = decided;
            self.switch(queue, pcpu, now, decided.worked, current, next)
        }
    }

    /// Asks the policy who runs next on `pcpu`; `None` when the run ends here.
    #[inline(always)]
    pub(super) fn decide(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
    ) -> Option<Decided> {
        self.policy.passes += 1;
        let current = self.policy.current(pcpu);
        let p = &mut self.pcpus[pcpu];
        p.phase = Phase::Switching;
        p.stage_at = now;
        if p.last_pass == now {
            p.passes_at_instant += 1;
            if p.passes_at_instant > max_passes(self.vcpus.len()) {
                self.complain_of_passes(pcpu);
                return None;
            }
        } else {
            p.last_pass = now;
            p.passes_at_instant = 1;
        }
        let prev = match current {
            None => Prev {
                vcpu: None,
                ran: Duration::ZERO,
                why: p.why,
            },
            Some(vcpu) => Prev {
                vcpu: current,
                ran: now.saturating_since(p.entered),
                why: if self.policy.view(vcpu).runnable() {
                    p.why
                } else {
                    Stop::NotRunnable
                },
            },
        };
        // Its parts, not the whole: they come by way of memory, where a copy of the whole would
        // have to wait for the stores of the parts.
        let tracing = self.trace.on();
        let Pick { next, time_slice } = self
            .policy
            .call(now, tracing, |s, cx| s.schedule(cx, pcpu, prev));
        // Taken before the effects, whose work it is not.
        let worked = self.policy.take_work(&self.release);
        if !self.policy.effects.is_empty() {
            self.apply_effects(queue, pcpu, now, Cause::Wake);
        }
        let p = &mut self.pcpus[pcpu];
        match time_slice {
            Some(Duration::ZERO) => {
                self.refuse(pcpu, current, next, time_slice);
                return None;
            }
            Some(slice) => queue.arm(p.slice_timer, now + slice),
            None => queue.disarm(p.slice_timer),
        }
        p.slice = time_slice.unwrap_or(Duration::MAX);
        Some(Decided {
            current,
            next,
            ran: prev.ran,
            worked,
        })
    }

    /// A slice timer that becomes the first of the timers of `pcpu` raises their softirq, which
    /// follows the pass and programs the hardware no earlier than the slop after its own end
    /// (xen-spec 0.3, 4.x).
    #[inline(always)]
    pub fn program_slice(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        if !self.release.free {
            self.program_early_slice(queue, pcpu, now);
        }
    }

    fn program_early_slice(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let p = &self.pcpus[pcpu];
        let softirq = &self.release.profile.softirq;
        let end_of_softirq = p.stage_at + softirq.after_pass;
        let floor = end_of_softirq + self.release.slop();
        let late = self.release.version >= XenVersion::V4_0;
        if !late || p.slice >= floor.saturating_since(now) {
            return;
        }
        let end = now + p.slice;
        let sooner = |timer| queue.deadline(timer).is_some_and(|at| at < end);
        let guests = self.vcpus.iter();
        let mut guests = guests.filter(|(id, _)| self.policy.view(*id).pcpu == pcpu);
        if !p.policy.iter().any(|t| sooner(*t)) && !guests.any(|(_, v)| sooner(v.timer)) {
            let p = &mut self.pcpus[pcpu];
            p.timer_batch = end_of_softirq;
            p.softirq_end = end_of_softirq;
            p.timer_floor = floor;
        }
    }

    #[cold]
    fn complain_of_passes(&mut self, pcpu: PcpuId) {
        if self.fault.is_none() {
            let passes = max_passes(self.vcpus.len());
            let what = format!(
                "{pcpu} made {passes} scheduler passes at one instant: \
                 the policy keeps tickling it, or its vcpus do nothing but wake and block"
            );
            self.fault = Some(Box::new(domio_sim::StopCause::Stalled { what }));
        }
    }

    /// Notes what is wrong with the policy's pick.
    #[cold]
    #[inline(never)]
    fn refuse(
        &mut self,
        pcpu: PcpuId,
        current: Option<VcpuId>,
        next: Option<VcpuId>,
        time_slice: Option<Duration>,
    ) {
        let (Some(vcpu), false) = (next, time_slice == Some(Duration::ZERO)) else {
            self.policy_fault(format!("the policy gave a slice of zero on {pcpu}"));
            return;
        };
        let Some(view) = self.policy.tables.vcpus.get(vcpu.index()) else {
            self.policy_fault(format!(
                "the policy picked {vcpu:?} on {pcpu}, which never existed"
            ));
            return;
        };
        let wrong = if !view.runnable() {
            "is not runnable"
        } else if view.on_pcpu && current != Some(vcpu) {
            "is still held by another pcpu"
        } else if !self.policy.tables.affinity[vcpu.index()]
            .hard
            .contains(pcpu)
        {
            "may not run there by its hard affinity"
        } else {
            "would run on a pcpu that is offline"
        };
        let name = view.name;
        self.policy_fault(format!(
            "the policy picked {name} on {pcpu}, but it {wrong}"
        ));
    }

    /// Whether the current vcpu of `pcpu` may stay, which the policy wants. Notes that it does.
    #[inline(always)]
    pub(super) fn stays(&mut self, pcpu: PcpuId, now: Instant, decided: &Decided) -> bool {
        let next = decided.next;
        if let Some(vcpu) = next
            && !(self.policy.view(vcpu).runnable() && self.policy.tables.may_run_on(vcpu, pcpu))
        {
            self.refuse(pcpu, next, next, None);
            return false;
        }
        if self.trace.on()
            && let Some(vcpu) = next
        {
            let slice = self.pcpus[pcpu].slice;
            self.trace.goes_on(now, pcpu, vcpu, decided.ran, slice);
        }
        true
    }

    #[inline(never)]
    fn keep(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant, decided: Decided) -> Back {
        if !self.stays(pcpu, now, &decided) {
            return Back::NOT_YET;
        }
        let Decided { next, worked, .. } = decided;
        self.interrupts.take_awake(pcpu);
        let keep = self.release.profile.keep + worked;
        let p = &mut self.pcpus[pcpu];
        p.prev = next;
        if keep.is_zero() {
            self.back_to_guest(queue, pcpu, now, next, Duration::ZERO)
        } else {
            p.stage_at = now + keep;
            queue.arm(p.stage, p.stage_at);
            Back::NOT_YET
        }
    }

    /// `pcpu` is to have `next`, who the policy wants there. Returns whether it may.
    #[inline(always)]
    pub(super) fn takes(
        &mut self,
        pcpu: PcpuId,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
    ) -> bool {
        if let Some(vcpu) = next {
            let Some(view) = self.policy.tables.vcpus.get(vcpu.index()) else {
                self.refuse(pcpu, prev, next, None);
                return false;
            };
            if !view.runnable() || view.on_pcpu || !self.policy.tables.may_run_on(vcpu, pcpu) {
                self.refuse(pcpu, prev, next, None);
                return false;
            }
            let view = self.policy.view_mut(vcpu);
            view.on_pcpu = true;
            view.pcpu = pcpu;
        }
        self.policy.tables.pcpus[pcpu].current = next;
        true
    }

    #[inline(always)]
    fn switch(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        worked: Duration,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
    ) -> Back {
        if !self.takes(pcpu, prev, next) {
            return Back::NOT_YET;
        }
        let mut cost = self.switch_cost(pcpu, prev, next) + worked;
        if self.interrupts.take_awake(pcpu) && prev.is_none() && next.is_some() {
            cost = cost.saturating_sub(self.release.profile.idle_exit);
        }
        if cost.is_zero() {
            self.switched(queue, pcpu, now, prev, next)
        } else {
            let p = &mut self.pcpus[pcpu];
            p.prev = prev;
            p.stage_at = now + cost;
            queue.arm(p.stage, p.stage_at);
            Back::NOT_YET
        }
    }

    /// What a switch from `prev` to `next` takes on `pcpu`. The context of the vcpu that ran last
    /// stays loaded while the pcpu idles.
    #[inline]
    pub(super) fn switch_cost(
        &self,
        pcpu: PcpuId,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
    ) -> Duration {
        let lazy = match (prev, next) {
            (_, None) => true,
            (None, Some(vcpu)) => {
                let here = self.vcpus[vcpu].ran_on == Some(pcpu);
                here && self.pcpus[pcpu].last_vcpu == next
            }
            _ => false,
        };
        let profile = &self.release.profile;
        let switch = match lazy {
            true => profile.idle_switch,
            false => profile.switch,
        };
        match (prev, next) {
            (None, Some(_)) => switch + profile.idle_exit,
            _ => switch,
        }
    }

    /// The phase `Switching` has lasted its time.
    #[inline(never)]
    pub fn switch_over(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) -> Back {
        let next = self.policy.current(pcpu);
        let prev = self.pcpus[pcpu].prev;
        if prev == next {
            self.back_to_guest(queue, pcpu, now, next, Duration::ZERO)
        } else {
            self.switched(queue, pcpu, now, prev, next)
        }
    }

    /// The context is switched: `next`, another vcpu than `prev`, runs.
    #[inline(always)]
    fn switched(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
    ) -> Back {
        if prev.is_none() != next.is_none() {
            self.pcpus.turn(pcpu, next.is_some(), now);
            self.turn_thread(queue, pcpu, next.is_some(), now);
        }
        if self.served.known
            && let Some(vcpu) = prev
        {
            self.tell_served(pcpu, vcpu, now);
        }
        if let Some(vcpu) = prev {
            self.tell_slowed(pcpu, vcpu, now);
        }
        let p = &mut self.pcpus[pcpu];
        // Times that the policy sees count from pass to pass, as in Xen.
        let entered = core::mem::replace(&mut p.entered, p.last_pass);
        if self.trace.on() {
            self.trace_switch(pcpu, now, prev, next, entered);
        }
        let mut moves = false;
        if let Some(vcpu) = prev {
            let view = self.policy.view_mut(vcpu);
            view.on_pcpu = false;
            moves = view.pause.has(Pause::MIGRATING);
            let v = &mut self.vcpus[vcpu];
            v.account(state_after_run(view.pause), now);
            v.stop_tick(queue);
        }
        let mut refill = Duration::ZERO;
        let mut ticked = None;
        if let Some(vcpu) = next {
            let v = &mut self.vcpus[vcpu];
            v.account(Runstate::Running, now);
            if v.ticks && self.start_tick(queue, pcpu, vcpu, now) {
                ticked = Some(vcpu);
            }
            refill = self.refill(pcpu, vcpu);
        }
        if let Some(vcpu) = prev {
            if self.policy.tells_saved {
                self.ask(queue, pcpu, now, Cause::Wake, |s, cx| {
                    s.context_saved(cx, vcpu)
                });
                moves = self.policy.view(vcpu).pause.has(Pause::MIGRATING);
            }
            if moves {
                self.migrate(queue, vcpu, pcpu, now);
            }
        }
        if next.is_none() {
            self.finish_leaving(queue, pcpu, now);
        }
        let back = self.back_to_guest(queue, pcpu, now, next, refill);
        Back { ticked, ..back }
    }

    /// Returns to the guest on `pcpu`, or makes another pass when one was asked for meanwhile.
    #[inline(always)]
    fn back_to_guest(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
        next: Option<VcpuId>,
        refill: Duration,
    ) -> Back {
        let p = &mut self.pcpus[pcpu];
        p.phase = Phase::Guest;
        if p.again {
            p.again = false;
            self.raise(queue, pcpu, now, Cause::Ipi);
            return Back::NOT_YET;
        }
        let resume = self.release.profile.resume + refill;
        Back {
            to: next.map(|vcpu| (vcpu, now + resume)),
            ticked: None,
        }
    }

    /// Time that `vcpu` needs before it makes progress on `pcpu` again. What a move costs beyond
    /// that is paid as it executes ([`Refills`](super::refills::Refills)).
    #[inline]
    fn refill(&mut self, pcpu: PcpuId, vcpu: VcpuId) -> Duration {
        if !self.release.has_caches {
            return Duration::ZERO;
        }
        self.refill_caches(pcpu, vcpu)
    }

    #[inline(never)]
    fn refill_caches(&mut self, pcpu: PcpuId, vcpu: VcpuId) -> Duration {
        let profile = &self.release.profile;
        let p = &mut self.pcpus[pcpu];
        let undisturbed = p.last_vcpu == Some(vcpu);
        p.last_vcpu = Some(vcpu);
        let before = self.vcpus[vcpu].ran_on.replace(pcpu);
        match before {
            Some(old) if old != pcpu => {
                let topology = &self.policy.tables.topology;
                let fetched = match profile.share_a_cache(topology, old, pcpu) {
                    true => profile.migration_refill,
                    false => profile.migration_refill + profile.socket_refill,
                };
                profile.cache_refill + self.refills.moved(vcpu, fetched)
            }
            _ if undisturbed => Duration::ZERO,
            _ => profile.cache_refill,
        }
    }

    #[inline(never)]
    fn trace_switch(
        &mut self,
        pcpu: PcpuId,
        now: Instant,
        prev: Option<VcpuId>,
        next: Option<VcpuId>,
        entered: Instant,
    ) {
        let ran = self.pcpus[pcpu].last_pass.saturating_since(entered);
        let state = prev.map_or(Runstate::Runnable, |v| {
            state_after_run(self.policy.view(v).pause)
        });
        let slice = self.pcpus[pcpu].slice;
        let waited = match next {
            Some(v) if self.vcpus[v].state == Runstate::Runnable => now.since(self.vcpus[v].since),
            _ => Duration::ZERO,
        };
        let switch = Switch {
            prev,
            next,
            state,
            ran,
            waited,
            slice,
        };
        self.trace.switch(now, pcpu, switch);
    }
}

/// Passes that a pcpu may make at one instant on a host of so many vcpus.
#[inline]
fn max_passes(vcpus: usize) -> u32 {
    MAX_PASSES_AT_ONE_INSTANT + MAX_PASSES_OF_A_VCPU.saturating_mul(vcpus as u32)
}

/// Runstate of a vcpu that is switched out (xen-spec 0.5).
#[inline]
fn state_after_run(pause: Pause) -> Runstate {
    if pause.has(Pause::BLOCKED) {
        Runstate::Blocked
    } else if pause == Pause::NONE {
        Runstate::Runnable
    } else {
        Runstate::Offline
    }
}
