//! Which pcpu a vcpu belongs to. Nobody is ever moved for the sake of balance (xen-spec 2, "SMP").

use super::Sedf;
use super::params::Want;
use super::state::{Vcpu, flag};
use crate::cx::{Cx, Pause};
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

    /// Where a new vcpu goes, as the host decided before 4.8 (xen-spec 0.10): vcpu 0 of a domain
    /// to the emptiest pcpu, each other one next to the one before it.
    fn first_pcpu(&self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let name = cx.vcpu(vcpu).name;
        let is_before = |(i, v): &(usize, &Vcpu)| {
            let other = cx.vcpu(VcpuId(*i as u32)).name;
            v.has(flag::PLACED) && other.domain == name.domain && other.index + 1 == name.index
        };
        let start = match self.vcpus.iter().enumerate().find(is_before) {
            Some((_, before)) => cx.online().cycle(PcpuId(before.pcpu)),
            None => Some(self.emptiest_pcpu(cx)),
        };
        start
            .and_then(|pcpu| cx.hard(vcpu).test_or_cycle(pcpu))
            .expect("a vcpu has an online pcpu in its affinity")
    }

    /// The pcpu with the fewest vcpus, the highest of equals. Of a core with several threads the
    /// first one is left out, and the lowest core is chosen only if it has fewer than all others.
    fn emptiest_pcpu(&self, cx: &Cx<'_>) -> PcpuId {
        let online = cx.online();
        let lowest = online.first().expect("some pcpu is online");
        let lowest_core = *cx.topology().siblings(lowest) & online;
        let mut best = lowest_core.iter().nth(1).unwrap_or(lowest);
        let mut fewest = self.population(cx, best);
        let mut seen = lowest_core;
        for pcpu in online.iter() {
            let core = *cx.topology().siblings(pcpu) & online;
            let first_thread = core.len() > 1 && core.first() == Some(pcpu);
            if first_thread || seen.contains(pcpu) {
                continue;
            }
            seen |= core;
            let count = self.population(cx, pcpu);
            if count <= fewest {
                (best, fewest) = (pcpu, count);
            }
        }
        best
    }

    /// Vcpus of `pcpu` that are up.
    fn population(&self, cx: &Cx<'_>, pcpu: PcpuId) -> usize {
        let lives_there = |(i, v): &(usize, &Vcpu)| {
            v.has(flag::PLACED)
                && v.pcpu == pcpu.0
                && !cx.vcpu(VcpuId(*i as u32)).pause.has(Pause::DOWN)
        };
        self.vcpus.iter().enumerate().filter(lives_there).count()
    }
}
