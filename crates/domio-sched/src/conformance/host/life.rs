//! Lives of vcpus, guests and pcpus on the mini host: everything but the scheduler softirq.

use super::{Event, Fault, Host, Occurrence, Pcpu, PolicyCall, Vcpu};
use crate::conformance::log::Charge;
use crate::conformance::script::{Intervention, ScriptStep};
use domio_contract::{Affinity, Cx, Dispatching, Pause, Scheduler, Wake};
use domio_core::{CpuSet, Duration, PcpuId, VcpuId};

impl Host<'_> {
    // ---- vcpus ------------------------------------------------------------------------------

    pub(super) fn create(&mut self, v: VcpuId) {
        let name = self.tables.vcpus[v.index()].name;
        if !self.domains.iter().any(|(d, _)| *d == name.domain) {
            self.first_words(name.domain);
        }
        self.vcpus[v.index()].exists = true;
        self.vcpus[v.index()].left = self.step_length(v);
        // The tools' work is done on the first pcpu; a number of the vcpu is as good as a draw.
        let online = self.tables.online;
        let nth = |n: usize| online.iter().nth(n % online.len()).expect("in range");
        (self.tables.here, self.tables.any_pcpu) = (nth(0), nth(v.index()));
        let Affinity { hard, soft } = self.tables.affinity[v.index()];
        // Its pcpus may have gone since the script was written.
        self.set_affinity(v, self.widened(hard), soft);
        self.tell_work(v);
        self.call(|s, cx| s.insert(cx, v), |()| PolicyCall::Insert(v));
        self.ask_for_pcpu(v);
        self.first_words_of(v);
        self.set_pause(v, Pause::DOWN, false);
        self.wake(v, Wake::Event);
    }

    pub(super) fn destroy(&mut self, v: VcpuId) {
        if self.vcpus[v.index()].exists {
            self.vcpus[v.index()].dying = true;
            self.stop(v, Pause::DOWN);
            self.remove_if_stopped(v);
        }
    }

    pub(super) fn remove_if_stopped(&mut self, v: VcpuId) {
        if self.vcpus[v.index()].dying && !self.tables.vcpus[v.index()].on_pcpu {
            self.call(|s, cx| s.remove(cx, v), |()| PolicyCall::Remove(v));
            self.cancel(Event::Timeout(v));
            self.vcpus[v.index()] = Vcpu::default();
        }
    }

    /// Takes `v` off its pcpu or queue for the reason `flag`.
    fn stop(&mut self, v: VcpuId, flag: u8) {
        let was_runnable = self.tables.vcpus[v.index()].runnable();
        self.set_pause(v, flag, true);
        if was_runnable {
            self.call(|s, cx| s.sleep(cx, v), |()| PolicyCall::Sleep(v));
        }
    }

    /// Ends the reason `flag`, and wakes `v` if that was the last one.
    fn go_on(&mut self, v: VcpuId, flag: u8, why: Wake) {
        if self.tables.vcpus[v.index()].pause.has(flag) {
            self.set_pause(v, flag, false);
            self.wake(v, why);
        }
    }

    /// xen-spec 0.6.
    fn wake(&mut self, v: VcpuId, why: Wake) {
        if self.tables.vcpus[v.index()].runnable() {
            self.call(|s, cx| s.wake(cx, v, why), |()| PolicyCall::Wake(v, why));
        }
    }

    /// An event for `v` from code that runs on `here`.
    pub(super) fn send_event(&mut self, v: VcpuId, here: PcpuId) {
        self.tables.here = here;
        self.cancel(Event::Timeout(v));
        if !self.vcpus[v.index()].exists {
            return;
        }
        if self.tables.vcpus[v.index()].pause.has(Pause::BLOCKED) {
            self.go_on(v, Pause::BLOCKED, Wake::Event);
        } else {
            self.vcpus[v.index()].event_pending = true;
        }
    }

    /// Moves `v` because it may or shall not stay where it is.
    fn relocate(&mut self, v: VcpuId) {
        self.stop(v, Pause::MIGRATING);
        self.migrate_if_stopped(v);
    }

    /// xen-spec 0.8.
    pub(super) fn migrate_if_stopped(&mut self, v: VcpuId) {
        let view = &self.tables.vcpus[v.index()];
        if view.pause.has(Pause::MIGRATING) && !view.on_pcpu && !self.ended() {
            self.tables.here = view.pcpu;
            self.ask_for_pcpu(v);
            self.go_on(v, Pause::MIGRATING, Wake::Migrate);
        }
    }

    /// The pcpu that `v` belongs to, where its timers expire.
    pub(super) fn home(&self, v: VcpuId) -> PcpuId {
        self.tables.vcpus[v.index()].pcpu
    }

    fn ask_for_pcpu(&mut self, v: VcpuId) {
        let pcpu = self.call(
            |s, cx| s.pick_pcpu(cx, v),
            |pcpu| PolicyCall::PickPcpu(v, *pcpu),
        );
        if !self.tables.online.contains(pcpu) {
            self.fault(Fault::NotOnline(pcpu));
        } else if !self.tables.affinity[v.index()].hard.contains(pcpu) {
            self.fault(Fault::NotAllowed(pcpu, v));
        } else {
            self.assign(v, pcpu);
        }
    }

    pub(super) fn assign(&mut self, v: VcpuId, pcpu: PcpuId) {
        if self.tables.vcpus[v.index()].pcpu != pcpu {
            self.tables.vcpus[v.index()].pcpu = pcpu;
            self.note(Occurrence::Belongs(v, pcpu));
        }
    }

    /// The policy has moved `v`: the tables show it already.
    pub(super) fn moved(&mut self, v: VcpuId, pcpu: PcpuId) {
        if !self.vcpus[v.index()].exists {
            self.fault(Fault::NoSuchVcpu(v));
        } else if self.tables.vcpus[v.index()].on_pcpu {
            self.fault(Fault::RunsElsewhere(pcpu, v));
        } else if !self.tables.online.contains(pcpu) {
            self.fault(Fault::NotOnline(pcpu));
        } else if !self.tables.affinity[v.index()].hard.contains(pcpu) {
            self.fault(Fault::NotAllowed(pcpu, v));
        } else {
            self.note(Occurrence::Belongs(v, pcpu));
        }
    }

    fn set_pause(&mut self, v: VcpuId, flag: u8, on: bool) {
        let pause = &mut self.tables.vcpus[v.index()].pause;
        if on {
            pause.set(flag);
        } else {
            pause.clear(flag);
        }
        self.pause_changed(v);
    }

    pub(super) fn pause_changed(&mut self, v: VcpuId) {
        let view = self.tables.vcpus[v.index()];
        self.note(Occurrence::Paused(v, view.pause));
        if view.runnable() {
            self.resume(v);
        } else {
            self.suspend(v);
        }
    }

    // ---- what guests do ---------------------------------------------------------------------

    fn step_length(&self, v: VcpuId) -> Duration {
        let steps = &self.script.vcpus[v.index()].steps;
        match steps[self.vcpus[v.index()].step] {
            ScriptStep::Run(length) => length,
            ScriptStep::Burn => Duration::MAX,
            ScriptStep::Block(_)
            | ScriptStep::Wait
            | ScriptStep::Yield
            | ScriptStep::Kick(_)
            | ScriptStep::Dispatch(_) => Duration::ZERO,
        }
    }

    /// `v` executes from now on, if a pcpu holds it and nothing pauses it.
    pub(super) fn resume(&mut self, v: VcpuId) {
        let view = &self.tables.vcpus[v.index()];
        let current = self.tables.pcpus[view.pcpu].current == Some(v);
        if current && view.runnable() && self.vcpus[v.index()].executes_since.is_none() {
            self.vcpus[v.index()].executes_since = Some(self.now);
            let ends = self.now.saturating_add(self.vcpus[v.index()].left);
            self.add(ends, Event::StepEnds(v));
        }
    }

    pub(super) fn suspend(&mut self, v: VcpuId) {
        let vcpu = &mut self.vcpus[v.index()];
        if let Some(since) = vcpu.executes_since.take() {
            vcpu.left -= self.now.since(since);
            self.cancel(Event::StepEnds(v));
        }
    }

    /// `v` has finished a step of computing; continues to the next one that takes time.
    pub(super) fn step(&mut self, v: VcpuId) {
        self.suspend(v);
        let pcpu = self.tables.vcpus[v.index()].pcpu;
        let steps = &self.script.vcpus[v.index()].steps;
        let done = steps[self.vcpus[v.index()].step];
        self.vcpus[v.index()].step = (self.vcpus[v.index()].step + 1) % steps.len();
        self.vcpus[v.index()].left = self.step_length(v);
        match done {
            ScriptStep::Run(_) | ScriptStep::Burn => {}
            ScriptStep::Block(timeout) => {
                if self.block(v, pcpu) {
                    self.add(self.now + timeout, Event::Timeout(v));
                }
            }
            ScriptStep::Wait => {
                self.block(v, pcpu);
            }
            ScriptStep::Yield => {
                self.pcpus[pcpu.index()].yielded = true;
                self.call(|s, cx| s.yielded(cx, v), |()| PolicyCall::Yielded(v));
                // The guest is in the hypervisor until the pass lets it continue.
                return self.raise_schedule(pcpu);
            }
            ScriptStep::Kick(whom) => self.send_event(whom, pcpu),
            ScriptStep::Dispatch(packets) => {
                if self.policy.needs().dispatching != Dispatching::Untold {
                    self.tables.here = pcpu;
                    self.call(
                        |s, cx| s.dispatching(cx, v, packets),
                        |()| PolicyCall::Dispatching(v, packets),
                    );
                }
            }
        }
        self.resume(v);
    }

    /// xen-spec 0.7. Returns whether `v` does block.
    fn block(&mut self, v: VcpuId, pcpu: PcpuId) -> bool {
        if core::mem::take(&mut self.vcpus[v.index()].event_pending) {
            return false;
        }
        self.set_pause(v, Pause::BLOCKED, true);
        self.raise_schedule(pcpu);
        true
    }

    // ---- what the operator does -------------------------------------------------------------

    pub(super) fn operate(&mut self, action: Intervention) {
        match action {
            Intervention::Pause(v) => {
                if self.vcpus[v.index()].exists {
                    self.stop(v, Pause::PAUSED);
                }
            }
            Intervention::Unpause(v) => {
                self.tables.here = self.home(v);
                self.go_on(v, Pause::PAUSED, Wake::Unpause);
            }
            Intervention::Kick(v) => self.send_event(v, self.home(v)),
            Intervention::Affinity { vcpu, hard, soft } => {
                if self.vcpus[vcpu.index()].exists && hard.intersects(&self.tables.online) {
                    self.set_affinity(vcpu, hard, soft);
                    // Since 4.3 Xen places it anew in any case, before only where it has to go:
                    // policies see both.
                    let always = vcpu.index().is_multiple_of(2);
                    if always || !hard.contains(self.home(vcpu)) {
                        self.relocate(vcpu);
                    }
                }
            }
            Intervention::Offline(p) => self.take_offline(p),
            Intervention::Online(p) => self.bring_online(p),
            Intervention::SetPolicy(name, value) => self.set_policy(name, value),
            Intervention::Charge(domain, done) => {
                let charge = |s: &mut dyn Scheduler, cx: &mut Cx<'_>| {
                    let before = s.debt(domain);
                    let taken = s.charge(cx, domain, done);
                    let after = s.debt(domain);
                    Charge {
                        domain,
                        done,
                        taken,
                        before,
                        after,
                    }
                };
                self.call(charge, |charge| PolicyCall::Charge(*charge));
            }
            Intervention::Packets(moved) => {
                if self.policy.descriptor().needs.packets {
                    self.call(
                        |s, cx| s.packets(cx, moved),
                        |()| PolicyCall::Packets(moved),
                    );
                }
            }
            Intervention::Set(domain, name, value) => self.change_domain(domain, name, value),
            Intervention::SetVcpu(v, name, value) => self.change_vcpu(v, name, value),
            Intervention::SetGroup(group, name, value) => self.change_group(group, name, value),
            Intervention::Join(domain, group) => self.join(domain, group),
        }
    }

    fn set_affinity(&mut self, v: VcpuId, hard: CpuSet, soft: CpuSet) {
        self.tables.affinity[v.index()] = Affinity { hard, soft };
        self.note(Occurrence::Affinity(v, hard, soft));
    }

    /// `hard`, or everything when no pcpu of it is online.
    fn widened(&self, hard: CpuSet) -> CpuSet {
        if hard.intersects(&self.tables.online) {
            hard
        } else {
            CpuSet::ALL
        }
    }

    pub(super) fn bring_online(&mut self, pcpu: PcpuId) {
        if self.tables.online.contains(pcpu) || self.pcpus[pcpu.index()].leaving {
            return;
        }
        self.tables.online.insert(pcpu);
        self.note(Occurrence::Online(self.tables.online));
        self.call(
            |s, cx| s.pcpu_online(cx, pcpu),
            |()| PolicyCall::PcpuOnline(pcpu),
        );
        self.raise_schedule(pcpu);
    }

    fn take_offline(&mut self, pcpu: PcpuId) {
        if !self.tables.online.contains(pcpu) || self.tables.online.len() == 1 {
            return;
        }
        self.tables.online.remove(pcpu);
        self.pcpus[pcpu.index()].leaving = true;
        self.note(Occurrence::Online(self.tables.online));
        for v in (0..self.vcpus.len()).map(|i| VcpuId(i as u32)) {
            if !self.vcpus[v.index()].exists {
                continue;
            }
            let Affinity { hard, soft } = self.tables.affinity[v.index()];
            if self.widened(hard) != hard {
                self.set_affinity(v, self.widened(hard), soft);
            }
            if self.tables.vcpus[v.index()].pcpu == pcpu {
                self.relocate(v);
            }
        }
        self.leave_if_empty(pcpu);
    }

    pub(super) fn leave_if_empty(&mut self, pcpu: PcpuId) {
        let idle = self.tables.pcpus[pcpu].current.is_none();
        if !self.pcpus[pcpu.index()].leaving || !idle || self.ended() {
            return;
        }
        self.call(
            |s, cx| s.pcpu_offline(cx, pcpu),
            |()| PolicyCall::PcpuOffline(pcpu),
        );
        self.pcpus[pcpu.index()] = Pcpu::default();
        self.cancel(Event::Schedule(pcpu));
        self.cancel(Event::SliceEnds(pcpu));
        for slot in 0..Cx::TIMER_SLOTS {
            self.cancel(Event::Timer(pcpu, slot));
        }
    }
}
