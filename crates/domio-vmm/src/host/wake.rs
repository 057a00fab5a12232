//! Waking, pausing and migrating vcpus; their runstates and the records of them.

use super::{Cause, Host, Queue};
use crate::bus::device::Device;
use domio_core::{CpuSet, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuId, XenVersion};
use domio_sched::{Affinity, Cx, Effect, Pause, Wake};

impl<S: Sink, D: Device> Host<S, D> {
    /// Changes the runstate of a vcpu that is not part of a switch.
    #[inline]
    pub(super) fn change(&mut self, vcpu: VcpuId, state: Runstate, on: PcpuId, now: Instant) {
        let records = self.records();
        let v = &mut self.vcpus[vcpu.index()];
        if records {
            self.sink
                .record(&Record::runstate(now, on, v.name, v.state, state));
        }
        v.account(state, now);
    }

    /// Wakes `vcpu` from hypervisor code on `on` (xen-spec 0.6): its event came, or a pause ended.
    #[inline(always)]
    pub(super) fn wake(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        on: PcpuId,
        now: Instant,
        why: Wake,
    ) {
        let view = &mut self.tables.vcpus[vcpu.index()];
        if why == Wake::Event {
            view.pause.clear(Pause::BLOCKED);
        }
        let (runnable, blocked) = (view.runnable(), view.pause.has(Pause::BLOCKED));
        let trace_first = self.version >= XenVersion::V3_4;
        if self.records() && trace_first {
            self.trace_wake(vcpu, on, now);
        }
        let state = self.vcpus[vcpu.index()].state;
        if runnable {
            if state >= Runstate::Blocked {
                self.change(vcpu, Runstate::Runnable, on, now);
            }
            let records = self.records();
            self.tables.here = on;
            let mut cx = Cx::new(now, &mut self.tables, &mut self.effects, records);
            self.scheduler.wake(&mut cx, vcpu, why);
            // Most often it preempts who runs here, and that is all. The effect's pcpu is compared
            // and not used: to use what was written a moment ago would be to wait for it.
            if let [Effect::Tickle(pcpu)] = &self.effects[..]
                && *pcpu == on
                && !self.prices_work
                && self.tables.online.contains(on)
            {
                self.effects.clear();
                self.raise(queue, on, now, Cause::Wake);
            } else {
                self.apply_effects(queue, on, now, Cause::Wake);
            }
        } else if !blocked && state == Runstate::Blocked {
            self.change(vcpu, Runstate::Offline, on, now);
        }
        if self.records() && !trace_first {
            self.trace_wake(vcpu, on, now);
        }
    }

    #[inline(never)]
    fn trace_wake(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let name = self.vcpus[vcpu.index()].name;
        self.trace(Record::new(now, on, Kind::Wake, name));
    }

    /// `vcpu` is not runnable any more: it does not wait for a pcpu from now on. One that is being
    /// switched in has its pcpu already.
    pub(super) fn stop_waiting(&mut self, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let is_held = self.tables.vcpus[vcpu.index()].on_pcpu;
        if !is_held && self.vcpus[vcpu.index()].state == Runstate::Runnable {
            self.change(vcpu, Runstate::Offline, on, now);
        }
    }

    /// Pauses `vcpu` for the reason `flag` (xen-spec 0.7).
    pub(super) fn pause(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        flag: u8,
        on: PcpuId,
        now: Instant,
    ) {
        self.tables.vcpus[vcpu.index()].pause.set(flag);
        self.stop_waiting(vcpu, on, now);
        self.ask(queue, on, now, Cause::Operator, |s, cx| s.sleep(cx, vcpu));
        self.trace(Record::new(
            now,
            on,
            Kind::Sleep,
            self.vcpus[vcpu.index()].name,
        ));
    }

    /// Ends the pause for the reason `flag`.
    pub(super) fn unpause(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        flag: u8,
        on: PcpuId,
        now: Instant,
    ) {
        let pause = &mut self.tables.vcpus[vcpu.index()].pause;
        if pause.has(flag) {
            pause.clear(flag);
            self.wake(queue, vcpu, on, now, Wake::Unpause);
        }
    }

    /// Carries out a migration (xen-spec 0.8) of `vcpu`, which is flagged and not running.
    pub(super) fn migrate(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant) {
        self.tables.vcpus[vcpu.index()]
            .pause
            .clear(Pause::MIGRATING);
        self.place(queue, vcpu, on, now);
        if self.tables.vcpus[vcpu.index()].runnable() {
            self.wake(queue, vcpu, on, now, Wake::Migrate);
        } else if self.vcpus[vcpu.index()].state == Runstate::Runnable {
            self.change(vcpu, Runstate::Offline, on, now);
        }
    }

    /// Asks the policy where `vcpu` belongs.
    pub(super) fn place(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let pcpu = self.ask(queue, on, now, Cause::Operator, |s, cx| {
            s.pick_pcpu(cx, vcpu)
        });
        let allowed = self.tables.affinity[vcpu.index()].hard & self.tables.online;
        if pcpu.index() < self.tables.pcpus.len() && allowed.contains(pcpu) {
            self.tables.vcpus[vcpu.index()].pcpu = pcpu;
        } else {
            let name = self.vcpus[vcpu.index()].name;
            self.policy_fault(alloc::format!(
                "the policy placed {name} on {pcpu}; allowed are {allowed:?}"
            ));
        }
    }

    /// Flags `vcpu` to move and moves it, now or when it has been switched out.
    pub(super) fn move_away(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let on = self.tables.vcpus[vcpu.index()].pcpu;
        self.pause(queue, vcpu, Pause::MIGRATING, on, now);
        if !self.tables.vcpus[vcpu.index()].on_pcpu {
            self.migrate(queue, vcpu, on, now);
        }
    }

    /// Gives `vcpu` a new affinity. Since 4.3 it is descheduled and placed anew whatever that is,
    /// before only where it may not stay.
    pub(super) fn pin(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        hard: CpuSet,
        soft: CpuSet,
        now: Instant,
    ) {
        self.tables.affinity[vcpu.index()] = Affinity { hard, soft };
        let stays = (hard & self.tables.online).contains(self.tables.vcpus[vcpu.index()].pcpu);
        if !stays || self.version >= XenVersion::V4_3 {
            self.move_away(queue, vcpu, now);
        }
    }
}
