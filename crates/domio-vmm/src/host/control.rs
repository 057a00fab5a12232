//! What processes of controllers ask of the hypervisor.

use super::{Host, Queue};
use crate::bus::Device;
use crate::process::Hypercall;
use domio_core::{Instant, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// The process that executes on `vcpu` makes a hypercall.
    pub(super) fn hypercall(
        &mut self,
        _: &mut Queue,
        _: PcpuId,
        vcpu: VcpuId,
        _: Hypercall,
        _: Instant,
    ) {
        self.vcpus[vcpu.index()].guest.hypercall_returned(0);
    }
}
