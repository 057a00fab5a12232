//! The first pcpu of a vcpu (xen-spec 0.10). Each vcpu but the first of a domain goes next to the
//! one before it. Vcpu 0 goes to the emptiest pcpu, where the tools of Xen chose (until 4.7), and
//! to the lowest one since ([`Successive`]). Dom0 is older than the tools: Xen boots it with vcpu i
//! on pcpu i, in all releases.
//!
//! Policies share this page. `placed` are the vcpus that have a pcpu already.

use domio_contract::{Cx, Pause};
use domio_core::{DomainId, PcpuId, VcpuId, VcpuName};

/// The rule since 4.8, under policies that have none of their own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Successive {
    /// The vcpu that was placed last, and where: the next one of its domain follows it.
    last: Option<(VcpuName, PcpuId)>,
}

impl Successive {
    /// Where `vcpu`, which has no pcpu yet, goes.
    pub fn first_pcpu(&mut self, cx: &Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let name = cx.vcpu(vcpu).name;
        let start = match self.last {
            Some((before, pcpu)) if before.domain == name.domain && name.index != 0 => {
                cx.online().cycle(pcpu)
            }
            _ => cx.online().first(),
        };
        let pcpu = allowed_from(cx, vcpu, start);
        self.last = Some((name, pcpu));
        pcpu
    }
}

/// `start`, or the next pcpu after it that `vcpu` may use.
pub(crate) fn allowed_from(cx: &Cx<'_>, vcpu: VcpuId, start: Option<PcpuId>) -> PcpuId {
    start
        .and_then(|pcpu| cx.hard(vcpu).test_or_cycle(pcpu))
        .expect("a vcpu has an online pcpu in its affinity")
}

/// Where `vcpu`, which has no pcpu yet, goes.
pub(crate) fn first_pcpu(
    cx: &Cx<'_>,
    vcpu: VcpuId,
    placed: impl Iterator<Item = VcpuId> + Clone,
) -> PcpuId {
    let name = cx.vcpu(vcpu).name;
    let is_before = |id: &VcpuId| {
        let other = cx.vcpu(*id).name;
        other.domain == name.domain && other.index + 1 == name.index
    };
    let start = match placed.clone().find(is_before) {
        Some(before) => cx.online().cycle(cx.vcpu(before).pcpu),
        None => start_of_domain(cx, vcpu, placed),
    };
    allowed_from(cx, vcpu, start)
}

/// Where the search for a pcpu begins for `vcpu`, the first of its domain, until 4.7: the lowest
/// one for dom0 (`setup.c` and `domain_build.c` of 3.0 to 4.7), else the emptiest one.
pub(crate) fn start_of_domain(
    cx: &Cx<'_>,
    vcpu: VcpuId,
    placed: impl Iterator<Item = VcpuId>,
) -> Option<PcpuId> {
    match cx.vcpu(vcpu).name.domain {
        DomainId::DOM0 => cx.online().first(),
        _ => Some(emptiest_pcpu(cx, placed)),
    }
}

/// The pcpu with the fewest vcpus that are up: not one that shares a core with the lowest pcpu
/// unless all others have more, with hyperthreads never the first of a core, the highest of equals.
fn emptiest_pcpu(cx: &Cx<'_>, placed: impl Iterator<Item = VcpuId>) -> PcpuId {
    let mut population = alloc::vec![0_u32; cx.pcpus()];
    for vcpu in placed {
        let view = cx.vcpu(vcpu);
        if !view.pause.has(Pause::DOWN) {
            population[view.pcpu.index()] += 1;
        }
    }
    let online = cx.online();
    let lowest = online.first().expect("some pcpu is online");
    let siblings = |pcpu: PcpuId| *cx.topology().siblings(pcpu) & online;
    let mut excluded = siblings(lowest);
    let mut best = excluded.iter().nth(1).unwrap_or(lowest);
    for pcpu in online.iter() {
        let core = siblings(pcpu);
        let is_primary = core.len() > 1 && core.first() == Some(pcpu);
        if excluded.contains(pcpu) || is_primary {
            continue;
        }
        excluded |= core;
        if population[pcpu.index()] <= population[best.index()] {
            best = pcpu;
        }
    }
    best
}
