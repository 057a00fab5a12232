//! Which pcpu a vcpu belongs to. Nobody is ever moved for the sake of balance (xen-spec 2, "SMP").

use super::Sedf;
use super::params::Want;
use super::state::flag;
use crate::placement;
use domio_contract::Cx;
use domio_core::{PcpuId, VcpuId};

impl Sedf {
    /// The pcpu of `vcpu`, which is new or has to leave its own, and counts it there.
    pub(super) fn place(&mut self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let is_new = !self.vcpus[vcpu.index()].has(flag::PLACED);
        let pcpu = match is_new {
            true => self.first_pcpu(cx, vcpu),
            false => self.next_pcpu(cx, vcpu),
        };
        let v = &mut self.vcpus[vcpu.index()];
        assert!(!v.linked(), "a vcpu is placed while it is queued");
        v.pcpu = pcpu.0;
        if is_new {
            v.set(flag::PLACED);
            // Xen's tools adjust a domain once its vcpus are there; a domain that nobody adjusts
            // leaves the slices of the others as they are.
            if self.setting(vcpu).want != Want::Created {
                self.turn_weights_into_slices();
            }
        }
        pcpu
    }

    /// Where a vcpu goes that has to leave its pcpu: to the lowest pcpu that it may use, so that
    /// all of them gather there; since 4.3 to the lowest one that is not below its index, which is
    /// taken modulo the number of pcpus.
    fn next_pcpu(&self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let allowed = cx.hard(vcpu);
        let from = match self.rules.spread_by_index {
            true => usize::from(cx.vcpu(vcpu).name.index) % allowed.len().max(1),
            false => 0,
        };
        allowed
            .test_or_cycle(PcpuId(from as u16))
            .expect("a vcpu has an online pcpu in its affinity")
    }

    /// Where a new vcpu goes, as Xen boots dom0 and by the tools' rule.
    fn first_pcpu(&self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let numbered = self.vcpus.iter().enumerate();
        let placed = numbered.filter(|(_, v)| v.has(flag::PLACED));
        placement::first_pcpu(cx, vcpu, placed.map(|(i, _)| VcpuId(i as u32)))
    }
}
