//! The first pcpu of a vcpu, as the tools of Xen chose it until 4.7 (xen-spec 0.10): vcpu 0 of a
//! domain goes to the emptiest pcpu, each other vcpu next to the one before it.
//!
//! Policies of those releases share this page. `placed` are the vcpus that have a pcpu already.

use crate::cx::{Cx, Pause};
use domio_core::{PcpuId, VcpuId};

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
        None => Some(emptiest_pcpu(cx, placed)),
    };
    start
        .and_then(|pcpu| cx.hard(vcpu).test_or_cycle(pcpu))
        .expect("a vcpu has an online pcpu in its affinity")
}

/// The pcpu with the fewest vcpus that are up: not one that shares a core with the lowest pcpu
/// unless all others have more, with hyperthreads never the first of a core, the highest of equals.
pub(crate) fn emptiest_pcpu(cx: &Cx<'_>, placed: impl Iterator<Item = VcpuId>) -> PcpuId {
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
