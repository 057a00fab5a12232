//! A host that starts in the middle of a run.
//!
//! A [`Snapshot`] shows a host in which vcpus run, wait and sleep. A host that starts from one is
//! put into that state: nobody is woken and nothing is decided before its time. The policy comes
//! with its own state and puts it into force when the tables show the rest
//! ([`Scheduler::resume`](domio_sched::Scheduler::resume)).

use super::hold::Hold;
use super::{Cause, Event, Host, Queue};
use crate::bus::device::Device;
use alloc::vec::Vec;
use domio_core::{Instant, PcpuId, Runstate, Sink, VcpuId, VcpuName};
use domio_sched::Pause;

/// The state of a host at one instant.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The instant; nothing is simulated before.
    pub at: Instant,
    /// Vcpus in a known state; others of the configuration are blocked.
    pub vcpus: Vec<VcpuSnapshot>,
    /// What each pcpu does, by pcpu; missing ones idle.
    pub pcpus: Vec<PcpuSnapshot>,
    /// What will keep timers from running from then on.
    pub holds: Vec<Hold>,
}

/// One vcpu of a [`Snapshot`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VcpuSnapshot {
    /// Which.
    pub name: VcpuName,
    /// Its runstate. Running ones are those that a pcpu names as current.
    pub state: Runstate,
    /// Since when it is in that state, not after the snapshot.
    pub since: Instant,
    /// The pcpu that it belongs to.
    pub pcpu: PcpuId,
    /// Whether the policy had parked it (for `state` offline). A policy that does not resume with
    /// that in its own state leaves it parked.
    pub parked: bool,
}

/// One pcpu of a [`Snapshot`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PcpuSnapshot {
    /// Who runs there, `None` when it idles.
    pub current: Option<VcpuName>,
    /// When that vcpu was switched in, as the policy counts.
    pub entered: Instant,
    /// When its slice ends, if it has one.
    pub slice_end: Option<Instant>,
}

impl<S: Sink, D: Device> Host<S, D> {
    /// Creates every domain without waking anybody and puts the host into the state of
    /// `snapshot`.
    ///
    /// # Panics
    /// When `snapshot` contradicts itself or names unknown vcpus.
    pub(crate) fn start_from(&mut self, queue: &mut Queue, snapshot: &Snapshot) {
        // What comes before the snapshot is set-up, not history.
        let recording = core::mem::replace(&mut self.bus.wires.recording, false);
        self.power_on(queue, snapshot.at);
        for domain in 0..self.domains.len() {
            self.create_vcpus(queue, domain, snapshot.at, Instant::ZERO);
        }
        for v in 0..self.vcpus.len() {
            let view = &mut self.tables.vcpus[v];
            view.pause = Pause::NONE;
            view.pause.set(Pause::BLOCKED);
            self.vcpus[v].state = Runstate::Blocked;
            self.vcpus[v].since = snapshot.at;
            self.vcpus[v].accounted = snapshot.at;
            self.vcpus[v].created = snapshot.at;
        }
        for shown in &snapshot.vcpus {
            let vcpu = self
                .find_vcpu(shown.name)
                .expect("a vcpu of the snapshot is configured");
            let view = &mut self.tables.vcpus[vcpu.index()];
            view.pcpu = shown.pcpu;
            view.pause = Pause::NONE;
            match shown.state {
                Runstate::Running | Runstate::Runnable => {}
                Runstate::Blocked => view.pause.set(Pause::BLOCKED),
                Runstate::Offline if shown.parked => view.pause.set(Pause::PARKED),
                Runstate::Offline => view.pause.set(Pause::PAUSED),
            }
            let v = &mut self.vcpus[vcpu.index()];
            v.state = shown.state;
            v.since = shown.since;
            v.accounted = shown.since;
            v.created = shown.since;
        }
        for (p, shown) in snapshot.pcpus.iter().enumerate() {
            let Some(name) = shown.current else {
                continue;
            };
            let vcpu = self
                .find_vcpu(name)
                .expect("a vcpu of the snapshot is configured");
            assert_eq!(
                self.vcpus[vcpu.index()].state,
                Runstate::Running,
                "{name} is current"
            );
            self.tables.vcpus[vcpu.index()].on_pcpu = true;
            self.tables.pcpus[PcpuId(p as u16)].current = Some(vcpu);
            let pcpu = &mut self.pcpus[PcpuId(p as u16)];
            pcpu.entered = shown.entered;
            if let Some(end) = shown.slice_end {
                queue.arm(pcpu.slice_timer, end.max(snapshot.at));
            }
        }
        let ids = (0..self.vcpus.len() as u32).map(VcpuId);
        let runnable: Vec<VcpuId> = ids
            .filter(|v| self.tables.vcpus[v.index()].runnable())
            .collect();
        self.ask(queue, PcpuId(0), snapshot.at, Cause::Operator, |s, cx| {
            s.resume(cx, &runnable)
        });
        self.bus.wires.recording = recording;
        self.plan_holds(queue, &snapshot.holds);
        for v in 0..self.vcpus.len() {
            // Work that was due before now is found when the guest executes next.
            let guest = &mut self.vcpus[v].guest;
            if guest.next_wake() <= snapshot.at {
                guest.interrupt();
            }
            let blocked = self.tables.vcpus[v].pause.has(Pause::BLOCKED);
            if blocked || !guest.has_pending() {
                self.vcpus[v].set_timer::<D>(queue, snapshot.at);
            }
        }
        for pcpu in self.pcpus.ids() {
            if self.tables.pcpus[pcpu].current.is_some() {
                self.go(queue, pcpu, snapshot.at);
            }
        }
        if !self.due.is_empty() {
            // The policy has asked for passes, which come when the run begins.
            queue.post(snapshot.at, Event::Begin);
        }
    }

    /// The vcpu called `name`.
    pub fn find_vcpu(&self, name: VcpuName) -> Option<VcpuId> {
        self.vcpus
            .iter()
            .position(|v| v.alive && v.name == name)
            .map(|v| VcpuId(v as u32))
    }
}
