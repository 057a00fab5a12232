//! Parameters of vcpus that are forgotten.

use domio_contract::{Cx, Descriptor, Pick, Prev, Scheduler, Wake};
use domio_core::{DomainId, Instant, ParamValues, PcpuId, Topology, VcpuId};
use domio_sched::rtds::{DESCRIPTOR, Rtds};

/// RTDS that knows the reservations of domains alone: what is said about one vcpu goes nowhere.
pub struct ForgetsVcpus(Rtds);

impl ForgetsVcpus {
    /// Name of the checker that must catch it.
    pub const CAUGHT_BY: &'static str = "reservations";

    /// The policy for a host of this shape.
    pub fn new(topology: &Topology) -> Self {
        ForgetsVcpus(Rtds::new(
            &ParamValues::defaults(DESCRIPTOR.params),
            topology,
        ))
    }
}

impl Scheduler for ForgetsVcpus {
    fn descriptor(&self) -> &'static Descriptor {
        self.0.descriptor()
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.0.pcpu_online(cx, pcpu);
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.0.pcpu_offline(cx, pcpu);
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.0.set_domain(cx, domain, params);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.0.insert(cx, vcpu);
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.0.remove(cx, vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.0.pick_pcpu(cx, vcpu)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        self.0.wake(cx, vcpu, why);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.0.sleep(cx, vcpu);
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        self.0.schedule(cx, pcpu, prev)
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.0.context_saved(cx, vcpu);
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        self.0.timer(cx, pcpu, slot)
    }
}
