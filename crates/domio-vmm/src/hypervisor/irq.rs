//! Interrupts of devices on a host with KVM, and their softirqs: both take the time of whatever
//! runs on the pcpu (linux-spec 9.7).
//!
//! ```text
//!  interrupt ─▶ Phase::Interrupt: handler, softirqs ─┬─▶ who was interrupted goes on
//!               (no pass: it is noted)               ├─▶ a pass, if one was asked for
//!                                                    └─▶ ksoftirqd woken, if softirqs are left
//! ```
//!
//! Each pcpu with interrupts of devices has a thread `ksoftirqd`, a vcpu like all threads of the
//! host. Its kernel has the handlers and the softirqs, whether they run in the time of others or
//! in the thread's own turn: nobody preempts them in either, since Linux runs them with preemption
//! off. The host's clock charges who was interrupted, as Linux does without `IRQ_TIME_ACCOUNTING`;
//! records ([`TAKEN_TIME`](super::taken::TAKEN_TIME)) say how much of the time that was.

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::pcpu::{Cause, Phase};
use domio_contract::Pause;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId};

impl<S: Sink> Hypervisor<S> {
    /// A device interrupts the pcpu of `thread`: the handler begins, or does so when the switch is
    /// over that is under way.
    pub fn interrupt_for(&mut self, queue: &mut Queue, thread: VcpuId, now: Instant) {
        let pcpu = self.policy.view(thread).pcpu;
        let phase = self.pcpus[pcpu].phase;
        let Some(own) = self.interrupts.of(thread) else {
            return;
        };
        if own.on.is_some() {
            // The kernel looks when the piece is over that it executes.
            return;
        }
        match phase {
            Phase::Guest => {
                let profile = &self.release.profile;
                let lead = match self.policy.current(pcpu) {
                    Some(_) => profile.interrupt,
                    None => profile.idle_exit,
                };
                self.enter_interrupt(queue, pcpu, thread, now, lead);
            }
            _ => own.due = true,
        }
    }

    /// The thread with an interrupt that waits for `pcpu`, which has no other one now.
    #[inline]
    pub fn interrupt_due(&mut self, pcpu: PcpuId) -> Option<VcpuId> {
        if !self.interrupts.any() || self.pcpus[pcpu].phase != Phase::Guest {
            return None;
        }
        let views = &self.policy.tables.vcpus;
        let mut all = self.interrupts.all.iter();
        let due = all.find(|own| own.due && views[own.thread.index()].pcpu == pcpu);
        due.map(|own| own.thread)
    }

    /// The kernel of `thread` executes on `pcpu` from now on, `lead` later: who runs there is
    /// interrupted.
    pub fn enter_interrupt(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        thread: VcpuId,
        now: Instant,
        lead: Duration,
    ) {
        let p = &self.pcpus[pcpu];
        let (polled, from) = (p.polling, p.exec_from);
        let current = self.policy.current(pcpu);
        self.halt(queue, pcpu, now);
        if current.is_none() {
            self.pcpus.turn(pcpu, true, now);
            self.turn_thread(queue, pcpu, true, now);
        }
        let Some(own) = self.interrupts.of(thread) else {
            return;
        };
        own.due = false;
        own.on = Some(pcpu);
        own.since = now;
        own.softirq = false;
        own.leg = Duration::ZERO;
        own.polled = polled;
        own.rest = match from {
            Instant::MAX => Duration::ZERO,
            from => from.saturating_since(now),
        };
        let p = &mut self.pcpus[pcpu];
        p.phase = Phase::Interrupt;
        p.stage_at = now + lead;
        // By way of the queue even when nothing takes time: what was sent with the interrupt is
        // not delivered in full yet.
        queue.arm(p.stage, p.stage_at);
    }

    /// The kernel on `pcpu` executes for `time` from now on.
    pub fn interrupt_until(&mut self, queue: &mut Queue, pcpu: PcpuId, at: Instant) {
        let p = &mut self.pcpus[pcpu];
        p.stage_at = at;
        queue.arm(p.stage, at);
    }

    /// The interrupt on `pcpu` is over. Returns what is left of the way back into who was
    /// interrupted; `None` where a pass comes first, or nobody was.
    pub fn leave_interrupt(
        &mut self,
        queue: &mut Queue,
        pcpu: PcpuId,
        now: Instant,
    ) -> Option<Duration> {
        self.tell_taken(pcpu, now);
        let own = self.interrupts.on(pcpu);
        let (rest, polled) = (own.rest, own.polled);
        own.on = None;
        let current = self.policy.current(pcpu);
        if current.is_none() {
            self.pcpus.turn(pcpu, false, now);
            self.turn_thread(queue, pcpu, false, now);
        }
        let p = &mut self.pcpus[pcpu];
        p.phase = Phase::Guest;
        if core::mem::take(&mut p.again) {
            // Who polled sleeps instead of being preempted.
            p.polling = polled && current.is_some();
            self.interrupts.set_awake(pcpu, current.is_none());
            self.raise(queue, pcpu, now, Cause::Ipi);
            return None;
        }
        current.map(|_| rest)
    }

    /// Says what the current vcpu of `pcpu`, which is in an interrupt, has lost until `now` since
    /// that was told last. The thread of the softirqs loses nothing by its own work.
    fn tell_taken(&mut self, pcpu: PcpuId, now: Instant) {
        let current = self.policy.current(pcpu);
        let own = self.interrupts.on(pcpu);
        own.count(now);
        let taken = core::mem::take(&mut own.taken);
        let Some(vcpu) = current.filter(|vcpu| *vcpu != own.thread) else {
            return;
        };
        for (number, time) in (0..).zip(taken) {
            if !time.is_zero() {
                self.trace.taken(now, pcpu, vcpu, number, time);
            }
        }
    }

    /// As [`Hypervisor::tell_taken`] for every pcpu that is in an interrupt.
    pub fn tell_all_taken(&mut self, now: Instant) {
        for i in 0..self.interrupts.all.len() {
            if let Some(pcpu) = self.interrupts.all[i].on {
                self.tell_taken(pcpu, now);
            }
        }
    }

    /// Softirqs are left to the thread of the interrupt on `pcpu`, which is woken.
    pub fn wake_softirqd(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let thread = self.interrupts.thread_on(pcpu);
        if self.policy.view(thread).pause.has(Pause::BLOCKED) {
            self.wake(queue, thread, pcpu, now, domio_contract::Wake::Event);
        }
    }
}
