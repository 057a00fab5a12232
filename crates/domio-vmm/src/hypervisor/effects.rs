//! What the policy asks for in a call: tickles, timers, parking, notes.

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::pcpu::Cause;
use alloc::format;
use domio_contract::Effect;
use domio_core::{Duration, Instant, Kind, PcpuId, Runstate, Sink, VcpuId};

impl<S: Sink> Hypervisor<S> {
    /// Carries out what the policy asked for in a call on `on`.
    #[inline(never)]
    pub fn apply_effects(&mut self, queue: &mut Queue, on: PcpuId, now: Instant, cause: Cause) {
        let searched = self.policy.take_search(&self.release);
        let worked = self.count_work(on, cause, searched);
        // Nothing below asks the policy, so nothing is added meanwhile.
        let mut next = 0;
        while let Some(effect) = self.policy.effects.get(next) {
            next += 1;
            match *effect {
                Effect::Tickle(pcpu) => {
                    self.apply_tickle(queue, (on, pcpu), (now, searched), cause)
                }
                Effect::Timer { pcpu, slot, at } => {
                    let p = &mut self.pcpus[pcpu];
                    p.handling &= !(1 << slot);
                    let timer = p.policy[slot as usize];
                    match at {
                        Some(at) => queue.arm(timer, at.max(now) + worked),
                        None => queue.disarm(timer),
                    }
                }
                Effect::DomainTimer { domain, at } => {
                    let at = at.map(|at| at.max(now) + worked);
                    self.pcpus.set_domain_timer(queue, domain, at);
                }
                Effect::Park(vcpu) => self.parked(vcpu, on, now),
                Effect::Unpark(vcpu) => self.unparked(vcpu, on, now),
                // The flag is in the tables; the switch carries it out.
                Effect::Migrate(_) => {}
                Effect::Move(vcpu, pcpu) => self.check_move(vcpu, pcpu),
                Effect::Note {
                    pool,
                    pcpu,
                    number,
                    about,
                    words,
                } => self.trace.note(now, pcpu, (pool, number), about, words),
            }
        }
        self.spend_work(queue, on, cause, worked);
        if cause != Cause::PolicyTimer {
            // Who is to come waits for the search, or the guest that is interrupted by it.
            self.steal(queue, on, now, searched);
        }
        self.policy.effects.clear();
    }

    #[inline(never)]
    fn apply_tickle(
        &mut self,
        queue: &mut Queue,
        (on, pcpu): (PcpuId, PcpuId),
        (now, searched): (Instant, Duration),
        cause: Cause,
    ) {
        // An IPI is sent when the search is over.
        let sends = pcpu != on && !self.release.profile.ipi.is_zero();
        let at = if sends { now + searched } else { now };
        self.tickle(queue, on, pcpu, at, cause);
    }

    #[inline(always)]
    pub fn tickle(
        &mut self,
        queue: &mut Queue,
        on: PcpuId,
        pcpu: PcpuId,
        now: Instant,
        cause: Cause,
    ) {
        if !self.policy.tables.online.contains(pcpu) && !self.pcpus[pcpu].leaving {
            self.complain_of_tickle(pcpu);
        } else if pcpu == on {
            self.raise(queue, pcpu, now, cause);
        } else if self.release.profile.ipi.is_zero() {
            self.raise(queue, pcpu, now, Cause::Ipi);
        } else {
            let ipi = self.pcpus[pcpu].ipi;
            if queue.deadline(ipi).is_none() {
                queue.arm(ipi, now + self.release.profile.ipi);
            }
        }
    }

    /// The policy has moved `vcpu` to `pcpu`, as the tables show already.
    #[inline(never)]
    fn check_move(&mut self, vcpu: VcpuId, pcpu: PcpuId) {
        let held = self.policy.view(vcpu).on_pcpu;
        if held || !self.policy.tables.may_run_on(vcpu, pcpu) {
            let name = self.vcpus[vcpu].name;
            self.policy_fault(format!(
                "the policy moved {name} to {pcpu}, which it may not have or while it runs"
            ));
        }
    }

    #[cold]
    #[inline(never)]
    fn complain_of_tickle(&mut self, pcpu: PcpuId) {
        self.policy_fault(format!(
            "the policy tickled {pcpu}, which is not online; it may tickle {:?}",
            self.policy.tables.online
        ));
    }

    /// The time for the work that the policy has reported in a call; timers that it sets count
    /// from their end. `searched` is part of it in a timer.
    #[inline]
    fn count_work(&mut self, on: PcpuId, cause: Cause, searched: Duration) -> Duration {
        let mut worked = self.policy.take_work(&self.release);
        if cause == Cause::PolicyTimer {
            worked += searched;
        }
        if cause == Cause::PolicyTimer && !worked.is_zero() {
            self.pcpus.extend_softirq(on, worked);
        }
        worked
    }

    /// Puts a pass that is to come off by the work of the call that asked for it.
    #[inline]
    fn spend_work(&mut self, queue: &mut Queue, on: PcpuId, cause: Cause, worked: Duration) {
        if cause == Cause::PolicyTimer && !worked.is_zero() {
            // The softirq has to be done before the pass.
            self.pcpus.delay_pass(queue, on, worked);
        }
        if cause == Cause::Wake && !self.release.profile.wake_note.is_zero() {
            let is_note = |effect: &&Effect| matches!(effect, Effect::Note { .. });
            let notes = self.policy.effects.iter().filter(is_note).count() as u64;
            if notes > 1 {
                let later = self.release.profile.wake_note * (notes - 1);
                self.pcpus.extend_softirq(on, later);
                self.pcpus.delay_pass(queue, on, later);
            }
        }
    }

    #[inline(never)]
    fn parked(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.stop_waiting(vcpu, on, now);
        self.trace.happened(now, on, Kind::Sleep, vcpu);
    }

    #[inline(never)]
    fn unparked(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.trace.happened(now, on, Kind::Wake, vcpu);
        if self.policy.view(vcpu).runnable() && self.vcpus[vcpu].state >= Runstate::Blocked {
            self.change(vcpu, Runstate::Runnable, on, now);
        }
    }
}
