//! The hypercalls with which a vcpu gives its pcpu away (xen-spec 0.7).

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::pcpu::Cause;
use domio_contract::Pause;
use domio_core::{Instant, Kind, PcpuId, Sink, VcpuId};

impl<S: Sink> Hypervisor<S> {
    /// The block hypercall (xen-spec 0.7).
    #[inline(always)]
    pub fn block(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        self.policy.view_mut(vcpu).pause.set(Pause::BLOCKED);
        self.trace.happened(now, pcpu, Kind::Block, vcpu);
        self.raise(queue, pcpu, now, Cause::Block);
    }

    /// The yield hypercall.
    #[inline]
    pub fn yields(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        self.trace.happened(now, pcpu, Kind::Yield, vcpu);
        self.ask(queue, pcpu, now, Cause::Yield, |s, cx| s.yielded(cx, vcpu));
        self.raise(queue, pcpu, now, Cause::Yield);
    }
}
