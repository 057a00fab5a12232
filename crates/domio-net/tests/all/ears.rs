//! A policy that passes everything on to another one and remembers what devices tell a policy.

use domio_contract::{Cx, Descriptor, Needs, PacketsMoved, Pick, Prev, Scheduler, Wake};
use domio_core::{DomainId, Instant, ParamValues, PcpuId, VcpuId};
use std::cell::RefCell;

/// What a policy was told.
#[derive(Default)]
pub struct Told {
    /// Packets that netback has moved.
    pub moved: Vec<PacketsMoved>,
    /// When driver domains told how many packets they have at hand.
    pub at_hand: Vec<(Instant, u32)>,
    /// Passes that the policy has made.
    pub passes: u64,
}

thread_local! {
    static TOLD: RefCell<Told> = RefCell::new(Told::default());
}

/// What was told on this thread since the last call.
pub fn told() -> Told {
    TOLD.take()
}

/// The policy.
pub struct Ears {
    pub inner: Box<dyn Scheduler>,
    pub descriptor: &'static Descriptor,
    pub needs: Needs,
}

impl Scheduler for Ears {
    fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }
    fn needs(&self) -> Needs {
        self.needs
    }
    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.inner.pcpu_online(cx, pcpu);
    }
    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.inner.pcpu_offline(cx, pcpu);
    }
    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        self.inner.set_domain(cx, domain, params);
    }
    fn packets(&mut self, cx: &mut Cx<'_>, moved: PacketsMoved) {
        TOLD.with_borrow_mut(|told| told.moved.push(moved));
        self.inner.packets(cx, moved);
    }
    fn dispatching(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, packets: u32) {
        assert_eq!(cx.vcpu(vcpu).name.domain, DomainId::DOM0);
        assert!(cx.is_current(vcpu) && cx.here() == cx.vcpu(vcpu).pcpu);
        TOLD.with_borrow_mut(|told| told.at_hand.push((cx.now(), packets)));
        self.inner.dispatching(cx, vcpu, packets);
    }
    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.insert(cx, vcpu);
    }
    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.remove(cx, vcpu);
    }
    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        self.inner.pick_pcpu(cx, vcpu)
    }
    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        self.inner.wake(cx, vcpu, why);
    }
    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.sleep(cx, vcpu);
    }
    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        TOLD.with_borrow_mut(|told| told.passes += 1);
        self.inner.schedule(cx, pcpu, prev)
    }
    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        self.inner.timer(cx, pcpu, slot)
    }
}
