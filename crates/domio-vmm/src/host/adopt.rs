//! Taking over a host in mid-flight.
//!
//! A recorded trace begins while vcpus run, wait and sleep. Adoption puts a simulated host into
//! such a state: nobody is woken and nothing is decided; the policy is told its own state by a
//! call of the caller's choice.

use super::{Cause, Event, Host, Queue};
use crate::bus::Device;
use alloc::vec::Vec;
use domio_core::{Instant, PcpuId, Runstate, Sink, VcpuId, VcpuName};
use domio_sched::{Cx, Pause, Scheduler};

/// The state of a host at one instant.
#[derive(Clone, Debug, Default)]
pub struct Adoption {
    /// The instant from which on the simulation goes its own way.
    pub at: Instant,
    /// Vcpus that exist then; others of the configuration are blocked.
    pub vcpus: Vec<AdoptedVcpu>,
    /// What each pcpu does, by pcpu; missing ones idle.
    pub pcpus: Vec<AdoptedPcpu>,
    /// What will keep timers from running that no guest of the configuration does.
    pub holds: Vec<Hold>,
}

/// Something outside the model keeps the timers of a pcpu from running: those that expire from
/// `from` to `until` come at `until` (from Xen 4.0 on, xen-spec 0.3, and where the hypervisor's
/// work takes time).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Whose timers; a pcpu that exists.
    pub pcpu: PcpuId,
    /// From when, not before the adoption.
    pub from: Instant,
    /// Until when.
    pub until: Instant,
}

/// One vcpu at the instant of adoption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdoptedVcpu {
    /// Which.
    pub name: VcpuName,
    /// Its runstate. Running ones are those that a pcpu names as current.
    pub state: Runstate,
    /// Since when it is in that state, not after the adoption.
    pub since: Instant,
    /// The pcpu that it belongs to.
    pub pcpu: PcpuId,
    /// Whether the policy had parked it (for `state` offline).
    pub parked: bool,
}

/// One pcpu at the instant of adoption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AdoptedPcpu {
    /// Who runs there, `None` when it idles.
    pub current: Option<VcpuName>,
    /// When that vcpu was switched in, as the policy counts.
    pub entered: Instant,
    /// When its slice ends, if it has one.
    pub slice_end: Option<Instant>,
}

impl<S: Sink, D: Device> Host<S, D> {
    /// Creates every domain without waking anybody and puts the host into the state of
    /// `adoption`. `restore` gives the policy its own state; it may look vcpus up by
    /// [`Host::find_vcpu`]'s order, which is that of the configuration.
    ///
    /// # Panics
    /// When `adoption` contradicts itself or names unknown vcpus.
    pub(crate) fn adopt(
        &mut self,
        queue: &mut Queue,
        adoption: &Adoption,
        restore: impl FnOnce(&mut dyn Scheduler, &mut Cx<'_>, &dyn Fn(VcpuName) -> VcpuId),
    ) {
        // What comes before the adoption is set-up, not history.
        let recording = core::mem::replace(&mut self.recording, false);
        for domain in 0..self.domains.len() {
            self.create_vcpus(queue, domain, Instant::ZERO);
        }
        for v in 0..self.vcpus.len() {
            let view = &mut self.tables.vcpus[v];
            view.pause = Pause::NONE;
            view.pause.set(Pause::BLOCKED);
            self.vcpus[v].state = Runstate::Blocked;
            self.vcpus[v].since = adoption.at;
            self.vcpus[v].accounted = adoption.at;
            self.vcpus[v].created = adoption.at;
        }
        for adopted in &adoption.vcpus {
            let vcpu = self
                .find_vcpu(adopted.name)
                .expect("an adopted vcpu is configured");
            let view = &mut self.tables.vcpus[vcpu.index()];
            view.pcpu = adopted.pcpu;
            view.pause = Pause::NONE;
            match adopted.state {
                Runstate::Running | Runstate::Runnable => {}
                Runstate::Blocked => view.pause.set(Pause::BLOCKED),
                Runstate::Offline if adopted.parked => view.pause.set(Pause::PARKED),
                Runstate::Offline => view.pause.set(Pause::PAUSED),
            }
            let v = &mut self.vcpus[vcpu.index()];
            v.state = adopted.state;
            v.since = adopted.since;
            v.accounted = adopted.since;
            v.created = adopted.since;
        }
        for (p, adopted) in adoption.pcpus.iter().enumerate() {
            let Some(name) = adopted.current else {
                continue;
            };
            let vcpu = self.find_vcpu(name).expect("an adopted vcpu is configured");
            assert_eq!(
                self.vcpus[vcpu.index()].state,
                Runstate::Running,
                "{name} is current"
            );
            self.tables.vcpus[vcpu.index()].on_pcpu = true;
            self.tables.pcpus[PcpuId(p as u16)].current = Some(vcpu);
            let pcpu = &mut self.pcpus[PcpuId(p as u16)];
            pcpu.entered = adopted.entered;
            if let Some(end) = adopted.slice_end {
                queue.arm(pcpu.slice_timer, end.max(adoption.at));
            }
        }
        let names: Vec<VcpuName> = self.vcpus.iter().map(|v| v.name).collect();
        let find = |name: VcpuName| {
            let at = names.iter().position(|n| *n == name);
            VcpuId(at.expect("a restored vcpu is configured") as u32)
        };
        self.ask(queue, PcpuId(0), adoption.at, Cause::Operator, |s, cx| {
            restore(s, cx, &find)
        });
        self.recording = recording;
        self.holds = adoption.holds.clone();
        self.holds.sort_by_key(|hold| core::cmp::Reverse(hold.from));
        self.post_hold(queue);
        for v in 0..self.vcpus.len() {
            // Work that was due before now is found when the guest executes next.
            let guest = &mut self.vcpus[v].guest;
            if guest.next_wake() <= adoption.at {
                guest.interrupt();
            }
            let blocked = self.tables.vcpus[v].pause.has(Pause::BLOCKED);
            if blocked || !guest.has_pending() {
                self.vcpus[v].set_timer::<D>(queue, adoption.at);
            }
        }
        for pcpu in self.pcpus.ids() {
            if self.tables.pcpus[pcpu].current.is_some() {
                self.go(queue, pcpu, adoption.at);
            }
        }
    }

    /// Posts the next of the holds, which are kept in reverse.
    fn post_hold(&mut self, queue: &mut Queue) {
        if let Some(hold) = self.holds.last() {
            queue.post(hold.from, Event::Hold);
        }
    }

    /// The next hold begins.
    pub(super) fn hold(&mut self, queue: &mut Queue) {
        if let Some(hold) = self.holds.pop() {
            let p = &mut self.pcpus[hold.pcpu];
            p.timer_floor = p.timer_floor.max(hold.until);
        }
        self.post_hold(queue);
    }

    /// The vcpu called `name`.
    pub fn find_vcpu(&self, name: VcpuName) -> Option<VcpuId> {
        self.vcpus
            .iter()
            .position(|v| v.alive && v.name == name)
            .map(|v| VcpuId(v as u32))
    }
}
