//! Guests executing, and how far they have come.

use super::{Host, Phase, Queue};
use crate::bus::device::Device;
use domio_core::{Instant, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// The current vcpu of `pcpu` executes guest code from `from` (now or a little later) on.
    #[inline(always)]
    pub(super) fn go(&mut self, queue: &mut Queue, pcpu: PcpuId, from: Instant) {
        if let Some(vcpu) = self.tables.pcpus[pcpu].current {
            self.go_on(queue, pcpu, vcpu, from);
        }
    }

    /// As [`Host::go`] for `vcpu`, which is current.
    #[inline(always)]
    pub(super) fn go_on(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, from: Instant) {
        let p = &mut self.pcpus[pcpu];
        p.exec_from = from;
        if from > queue.now() {
            // What it does is decided when it gets there: an interrupt may come first.
            queue.arm(p.done, from);
        } else if !self.vcpus[vcpu.index()].guest.is_steady() {
            self.next_step(queue, pcpu, vcpu, from);
        }
    }

    /// Finds out what `vcpu` executes next: its kernel goes before its processes.
    #[inline(always)]
    fn next_step(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        if D::PRESENT && !self.kernel_is_quiet(vcpu) && self.step_kernel(queue, pcpu, vcpu, now) {
            return;
        }
        self.step_processes(queue, pcpu, vcpu, now);
    }

    pub(super) fn guest_done(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let Some(vcpu) = self.tables.pcpus[pcpu].current else {
            return;
        };
        let p = &mut self.pcpus[pcpu];
        let time = now.since(p.exec_from);
        p.exec_from = now;
        if !time.is_zero() {
            self.vcpus[vcpu.index()].guest.executed(time);
        }
        if !self.vcpus[vcpu.index()].guest.is_steady() {
            self.next_step(queue, pcpu, vcpu, now);
        }
    }

    /// Tells the guests that execute that they have done so until `now`, where it is to be known
    /// for whom they work: what they did before belongs to the time before.
    pub(super) fn execute_until(&mut self, now: Instant) {
        if !D::PRESENT || !self.bus.wires.owners {
            return;
        }
        for pcpu in self.pcpus.ids() {
            let p = &mut self.pcpus[pcpu];
            if p.phase != Phase::Guest || p.exec_from >= now {
                continue;
            }
            if let Some(vcpu) = self.tables.pcpus[pcpu].current {
                let time = now.since(p.exec_from);
                p.exec_from = now;
                self.vcpus[vcpu.index()].guest.executed(time);
            }
        }
    }
}
