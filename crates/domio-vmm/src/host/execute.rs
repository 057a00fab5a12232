//! Guests execute, and how far they have come.

use super::Host;
use crate::bus::device::Device;
use crate::event::Queue;
use domio_core::{Instant, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// The current vcpu of `pcpu` executes guest code from `from` (now or a little later) on.
    #[inline(always)]
    pub(super) fn go(&mut self, queue: &mut Queue, pcpu: PcpuId, from: Instant) {
        if let Some(vcpu) = self.xen.policy.current(pcpu) {
            self.go_on(queue, pcpu, vcpu, from);
        }
    }

    /// As [`Host::go`] for `vcpu`, which is current.
    #[inline(always)]
    pub(super) fn go_on(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, from: Instant) {
        let p = &mut self.xen.pcpus[pcpu];
        p.exec_from = from;
        if from > queue.now() {
            // What it does is decided when it gets there: an interrupt may come first.
            queue.arm(p.done, from);
        } else if !self.xen.vcpus[vcpu].guest.is_steady() {
            self.next_step(queue, pcpu, vcpu, from);
        }
    }

    /// Finds out what `vcpu` executes next: its kernel goes before its processes.
    #[inline(always)]
    fn next_step(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        if D::present() && self.xen.interrupts.any() && self.xen.interrupts.has(vcpu) {
            self.softirq_thread(queue, pcpu, vcpu, now);
            return;
        }
        if D::present() && !self.kernel_is_quiet(vcpu) && self.step_kernel(queue, pcpu, vcpu, now) {
            return;
        }
        self.step_processes(queue, pcpu, vcpu, now);
    }

    pub(super) fn guest_done(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        let Some(vcpu) = self.xen.policy.current(pcpu) else {
            return;
        };
        let p = &mut self.xen.pcpus[pcpu];
        let time = now.since(p.exec_from);
        p.exec_from = now;
        if !core::mem::take(&mut p.polling) && !time.is_zero() {
            let work = self.xen.progress(pcpu, vcpu, time);
            self.xen.vcpus[vcpu].guest.executed(work);
        }
        if !self.xen.vcpus[vcpu].guest.is_steady() {
            self.next_step(queue, pcpu, vcpu, now);
        }
    }
}
