//! Waking, pausing and migrating vcpus; their runstates and the records of them.

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::interrupts::Interrupt;
use crate::hypervisor::pcpu::Cause;
use domio_contract::{Affinity, Effect, Pause, Wake, Work};
use domio_core::{CpuSet, Instant, Kind, PcpuId, Runstate, Sink, VcpuId, XenVersion};

impl<S: Sink> Hypervisor<S> {
    /// Changes the runstate of a vcpu that is not part of a switch.
    #[inline]
    pub fn change(&mut self, vcpu: VcpuId, state: Runstate, on: PcpuId, now: Instant) {
        let v = &mut self.vcpus[vcpu];
        self.trace.runstate(now, on, vcpu, v.state, state);
        v.account(state, now);
    }

    /// Wakes `vcpu` from hypervisor code on `on` (xen-spec 0.6): its event came, or a pause ended.
    #[inline(always)]
    pub fn wake(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant, why: Wake) {
        let view = self.policy.view_mut(vcpu);
        if why == Wake::Event {
            view.pause.clear(Pause::BLOCKED);
        }
        let (runnable, blocked) = (view.runnable(), view.pause.has(Pause::BLOCKED));
        let trace_first = self.release.version >= XenVersion::V3_4;
        if self.trace.on() && trace_first {
            self.trace_wake(vcpu, on, now);
        }
        let state = self.vcpus[vcpu].state;
        if runnable {
            if state >= Runstate::Blocked {
                self.change(vcpu, Runstate::Runnable, on, now);
            }
            self.policy.tables.here = on;
            let tracing = self.trace.on();
            self.policy
                .call(now, tracing, |s, cx| s.wake(cx, vcpu, why));
            // Most often it preempts who runs here, and that is all. The effect's pcpu is compared
            // and not used: to use what was written a moment ago would be to wait for it.
            if let [Effect::Tickle(pcpu)] = &self.policy.effects[..]
                && *pcpu == on
                && !self.release.prices_work
                && self.policy.tables.work.count(Work::Balance) == 0
                && self.policy.tables.online.contains(on)
            {
                self.policy.effects.clear();
                self.raise(queue, on, now, Cause::Wake);
            } else {
                self.apply_effects(queue, on, now, Cause::Wake);
            }
            if self.halt_polls.any() {
                let pcpu = self.policy.view(vcpu).pcpu;
                self.end_poll(queue, pcpu, now);
            }
        } else if !blocked && state == Runstate::Blocked {
            self.change(vcpu, Runstate::Offline, on, now);
        }
        if self.trace.on() && !trace_first {
            self.trace_wake(vcpu, on, now);
        }
    }

    #[inline(never)]
    fn trace_wake(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.trace.happened(now, on, Kind::Wake, vcpu);
    }

    /// `vcpu` is not runnable any more: it does not wait for a pcpu from now on. One that is being
    /// switched in has its pcpu already.
    pub fn stop_waiting(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let is_held = self.policy.view(vcpu).on_pcpu;
        if !is_held && self.vcpus[vcpu].state == Runstate::Runnable {
            self.change(vcpu, Runstate::Offline, on, now);
        }
    }

    /// Pauses `vcpu` for the reason `flag` (xen-spec 0.7).
    pub fn pause(&mut self, queue: &mut Queue, vcpu: VcpuId, flag: u8, on: PcpuId, now: Instant) {
        self.policy.view_mut(vcpu).pause.set(flag);
        self.stop_waiting(vcpu, on, now);
        self.ask(queue, on, now, Cause::Operator, |s, cx| s.sleep(cx, vcpu));
        self.trace.happened(now, on, Kind::Sleep, vcpu);
    }

    /// Ends the pause for the reason `flag`.
    pub fn unpause(&mut self, queue: &mut Queue, vcpu: VcpuId, flag: u8, on: PcpuId, now: Instant) {
        let pause = &mut self.policy.view_mut(vcpu).pause;
        if pause.has(flag) {
            pause.clear(flag);
            self.wake(queue, vcpu, on, now, Wake::Unpause);
        }
    }

    /// Carries out a migration (xen-spec 0.8) of `vcpu`, which is flagged and not running.
    pub fn migrate(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.policy.view_mut(vcpu).pause.clear(Pause::MIGRATING);
        self.place(queue, vcpu, on, now);
        if self.policy.view(vcpu).runnable() {
            self.wake(queue, vcpu, on, now, Wake::Migrate);
        } else if self.vcpus[vcpu].state == Runstate::Runnable {
            self.change(vcpu, Runstate::Offline, on, now);
        }
        // An interrupt that waits for a pcpu comes to the one where its thread is now.
        let waits = |own: &mut Interrupt| own.due && own.on.is_none();
        if self.interrupts.of(vcpu).is_some_and(waits) {
            self.interrupt_for(queue, vcpu, now);
        }
    }

    /// Asks the policy where `vcpu` belongs.
    pub fn place(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let pcpu = self.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.pick_pcpu(cx, vcpu)
        });
        let allowed = self.policy.tables.affinity[vcpu.index()].hard & self.policy.tables.online;
        if pcpu.index() < self.policy.tables.pcpus.len() && allowed.contains(pcpu) {
            self.policy.view_mut(vcpu).pcpu = pcpu;
        } else {
            let name = self.vcpus[vcpu].name;
            self.policy_fault(alloc::format!(
                "the policy placed {name} on {pcpu}; allowed are {allowed:?}"
            ));
        }
    }

    /// Flags `vcpu` to move and moves it, now or when it has been switched out.
    pub fn move_away(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let on = self.policy.view(vcpu).pcpu;
        self.pause(queue, vcpu, Pause::MIGRATING, on, now);
        if !self.policy.view(vcpu).on_pcpu {
            self.migrate(queue, vcpu, on, now);
        }
    }

    /// Gives `vcpu` a new affinity. Since 4.3 it is descheduled and placed anew whatever that is,
    /// before only where it may not stay.
    pub fn pin(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        hard: CpuSet,
        soft: CpuSet,
        now: Instant,
    ) {
        self.policy.tables.affinity[vcpu.index()] = Affinity { hard, soft };
        let stays = (hard & self.policy.tables.online).contains(self.policy.view(vcpu).pcpu);
        if !stays || self.release.version >= XenVersion::V4_3 {
            self.move_away(queue, vcpu, now);
        }
    }
}
