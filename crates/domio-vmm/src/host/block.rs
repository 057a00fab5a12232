//! The hypercalls with which a vcpu gives its pcpu away (xen-spec 0.7).

use super::{Cause, Host, Queue};
use crate::bus::device::Device;
use domio_core::{Instant, Kind, PcpuId, Record, Sink, VcpuId};
use domio_sched::Pause;

impl<S: Sink, D: Device> Host<S, D> {
    /// The block hypercall (xen-spec 0.7).
    #[inline]
    pub(super) fn block(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        self.tables.vcpus[vcpu.index()].pause.set(Pause::BLOCKED);
        self.trace(Record::new(
            now,
            pcpu,
            Kind::Block,
            self.vcpus[vcpu.index()].name,
        ));
        self.raise(queue, pcpu, now, Cause::Block);
    }

    /// The yield hypercall.
    #[inline]
    pub(super) fn yields(&mut self, queue: &mut Queue, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        let name = self.vcpus[vcpu.index()].name;
        self.trace(Record::new(now, pcpu, Kind::Yield, name));
        self.ask(queue, pcpu, now, Cause::Yield, |s, cx| s.yielded(cx, vcpu));
        self.raise(queue, pcpu, now, Cause::Yield);
    }
}
