//! Policies with one bug each, which the [conformance suite](domio_sched::conformance) must catch.
//!
//! Every one is a plain FIFO policy but for one mistake of a kind that schedulers really had. Its
//! documentation describes the mistake, and [`Bug::CAUGHT_BY`] names the checker that sees it; a
//! test holds both to it. None of them is in the registry.

pub mod fifo;
pub mod groups;
pub mod order;
pub mod placement;
pub mod promises;
pub mod queueing;
pub mod settings;
pub mod vcpus;

use domio_contract::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, Wake};
use domio_core::{DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId};
use fifo::Fifo;

/// One mistake: what differs from the FIFO policy. Every method does what that one does, unless
/// the mistake is there.
#[expect(
    missing_docs,
    reason = "the methods are those of `Scheduler`, with the correct policy as `fifo`"
)]
pub trait Bug: Send + 'static {
    /// Name of the checker that must catch it, one of
    /// [`CHECKERS`](domio_sched::conformance::CHECKERS).
    const CAUGHT_BY: &'static str;

    /// The descriptor: the FIFO policy's, unless the mistake is a promise that is not kept.
    const DESCRIPTOR: &'static Descriptor = &fifo::DESCRIPTOR;

    fn pick_pcpu(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        fifo.pick_pcpu(cx, vcpu)
    }

    fn wake(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) {
        fifo.wake(cx, vcpu);
    }

    fn sleep(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) {
        fifo.sleep(cx, vcpu);
    }

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        fifo.schedule(cx, pcpu, prev)
    }

    fn timer(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let _ = (fifo, cx, pcpu);
    }

    fn params(&self) -> Option<&ParamValues> {
        None
    }

    fn charge(&mut self, domain: DomainId, done: Duration) -> bool {
        let _ = (domain, done);
        false
    }

    fn debt(&self, domain: DomainId) -> Option<Duration> {
        let _ = domain;
        None
    }

    fn set_params(&mut self, params: &ParamValues) -> Result<(), Conflict> {
        let _ = params;
        Err(Conflict::fixed("parameters"))
    }
}

/// The FIFO policy with a mistake.
pub struct Broken<B> {
    fifo: Fifo,
    bug: B,
}

impl<B: Bug> Broken<B> {
    /// The FIFO policy with `bug`, for a host of this shape.
    pub fn new(bug: B, topology: &Topology) -> Self {
        Broken {
            fifo: Fifo::new(topology),
            bug,
        }
    }
}

impl<B: Bug> Scheduler for Broken<B> {
    fn descriptor(&self) -> &'static Descriptor {
        B::DESCRIPTOR
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn set_domain(&mut self, _: &mut Cx<'_>, _: DomainId, _: &ParamValues) {}

    fn insert(&mut self, _: &mut Cx<'_>, _: VcpuId) {}

    fn remove(&mut self, _: &mut Cx<'_>, _: VcpuId) {}

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.bug.pick_pcpu(&mut self.fifo, cx, vcpu)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.bug.wake(&mut self.fifo, cx, vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.bug.sleep(&mut self.fifo, cx, vcpu);
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        self.bug.schedule(&mut self.fifo, cx, pcpu, prev)
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: u8) -> Option<Instant> {
        self.bug.timer(&mut self.fifo, cx, pcpu);
        None
    }

    fn params(&self) -> Option<&ParamValues> {
        self.bug.params()
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        self.bug.set_params(params)
    }

    fn charge(&mut self, _: &mut Cx<'_>, domain: DomainId, done: Duration) -> bool {
        self.bug.charge(domain, done)
    }

    fn debt(&self, domain: DomainId) -> Option<Duration> {
        self.bug.debt(domain)
    }
}
