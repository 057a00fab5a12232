//! A host that starts in the middle of a run.
//!
//! A [`Snapshot`] shows a host in which vcpus run, wait and sleep. A host that starts from one is
//! put into that state: nobody is woken and nothing is decided before its time. The policy takes
//! its own state over when the tables show the rest
//! ([`Scheduler::resume`](domio_contract::Scheduler::resume)).

use super::Host;
use crate::bus::device::Device;
use crate::event::{Event, Queue};
use crate::hypervisor::hold::TimerHold;
use crate::hypervisor::pcpu::Cause;
use alloc::vec::Vec;
use domio_contract::{Pause, StateRows};
use domio_core::{Instant, PcpuId, Runstate, Sink, VcpuId, VcpuName};

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
    pub holds: Vec<TimerHold>,
    /// What the policy has in its books, in rows as the policy tells them; without a row the policy
    /// begins anew.
    pub policy: StateRows,
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
        let recording = self.xen.trace.on();
        self.set_recording(false);
        self.power_on(queue, snapshot.at);
        for domain in 0..self.domains.all.len() {
            self.create_vcpus(queue, domain, snapshot.at, Instant::ZERO);
        }
        for vcpu in self.xen.vcpus.ids() {
            let view = self.xen.policy.view_mut(vcpu);
            view.pause = Pause::NONE;
            view.pause.set(Pause::BLOCKED);
            self.xen.vcpus[vcpu].start_in(Runstate::Blocked, snapshot.at);
        }
        for shown in &snapshot.vcpus {
            let vcpu = self
                .find_vcpu(shown.name)
                .expect("a vcpu of the snapshot is configured");
            let view = self.xen.policy.view_mut(vcpu);
            view.pcpu = shown.pcpu;
            view.pause = Pause::NONE;
            match shown.state {
                Runstate::Running | Runstate::Runnable => {}
                Runstate::Blocked => view.pause.set(Pause::BLOCKED),
                Runstate::Offline if shown.parked => view.pause.set(Pause::PARKED),
                Runstate::Offline => view.pause.set(Pause::PAUSED),
            }
            self.xen.vcpus[vcpu].start_in(shown.state, shown.since);
        }
        for (p, shown) in snapshot.pcpus.iter().enumerate() {
            let Some(name) = shown.current else {
                continue;
            };
            let vcpu = self
                .find_vcpu(name)
                .expect("a vcpu of the snapshot is configured");
            assert_eq!(
                self.xen.vcpus[vcpu].state,
                Runstate::Running,
                "{name} is current"
            );
            self.xen.policy.view_mut(vcpu).on_pcpu = true;
            self.xen.policy.tables.pcpus[PcpuId(p as u16)].current = Some(vcpu);
            let pcpu = &mut self.xen.pcpus[PcpuId(p as u16)];
            pcpu.entered = shown.entered;
            if let Some(end) = shown.slice_end {
                queue.arm(pcpu.slice_timer, end.max(snapshot.at));
            }
        }
        let ids = self.xen.vcpus.ids();
        let runnable = ids.filter(|v| self.xen.policy.view(*v).runnable());
        let runnable: Vec<VcpuId> = runnable.collect();
        self.xen
            .ask(queue, PcpuId(0), snapshot.at, Cause::Operator, |s, cx| {
                s.resume(cx, &runnable, &snapshot.policy)
            });
        self.set_recording(recording);
        self.xen.pcpus.holds.plan(queue, &snapshot.holds);
        for vcpu in self.xen.vcpus.ids() {
            // Work that was due before now is found when the guest executes next.
            let guest = &mut self.xen.vcpus[vcpu].guest;
            if guest.next_wake() <= snapshot.at {
                guest.interrupt();
            }
            let blocked = self.xen.policy.view(vcpu).pause.has(Pause::BLOCKED);
            if blocked || !guest.has_pending() {
                self.xen.vcpus[vcpu].set_timer::<D>(queue, snapshot.at);
            }
        }
        for pcpu in self.xen.pcpus.ids() {
            if self.xen.policy.current(pcpu).is_some() {
                self.xen.turn_thread(queue, pcpu, true, snapshot.at);
                self.go(queue, pcpu, snapshot.at);
            }
        }
        if !self.xen.pcpus.due.is_empty() {
            // The policy has asked for passes, which come when the run begins.
            queue.post(snapshot.at, Event::Begin);
        }
    }

    /// The vcpu called `name`.
    pub fn find_vcpu(&self, name: VcpuName) -> Option<VcpuId> {
        self.xen.vcpus.find(name)
    }
}
