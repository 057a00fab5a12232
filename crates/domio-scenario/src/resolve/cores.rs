//! `sched_gran = "core"`: what does not go together with scheduling of whole cores.

use super::host::{Gran, HostKeys};
use super::pool::Pool;
use super::resolved::Resolved;
use crate::amount::show_pcpus;
use crate::check::{Cx, Fields};
use domio_core::keys::{Code, Mistake, quote};
use domio_core::{CpuSet, Instant, Topology, XenVersion};
use domio_vmm::config::Action;

/// The first release with core scheduling.
const SINCE: XenVersion = XenVersion::V4_13;

/// Whether policies decide for whole cores. Reports what does not go together with that.
pub(super) fn whole_cores(
    cx: &mut Cx<'_>,
    (host, keys): (&Fields, &HostKeys),
    topology: Option<&Topology>,
    pools: &[Pool],
    (resolved, actions): (&Resolved, &[(Instant, Action)]),
) -> Option<bool> {
    if keys.sched_gran.get()? == Gran::Cpu {
        return Some(false);
    }
    let topology = topology?;
    let slot = &keys.sched_gran;
    let refuse = |cx: &mut Cx<'_>, what: String, expected: &str, hint: &str| {
        cx.push(
            Mistake::new(Code::Conflict, host.span(slot), what)
                .key(host.path_of(slot))
                .expected(expected)
                .hint(hint.to_owned()),
        );
    };
    if let Some(version) = keys.version().filter(|v| *v < SINCE) {
        let what = format!("Xen {version} has no core scheduling");
        refuse(
            cx,
            what,
            "Xen 4.13 or later",
            "take such a release, or `sched_gran = \"cpu\"`",
        );
    }
    if topology.threads_per_core() == 1 {
        cx.notices.push(format!(
            "`{} = \"core\"` has no effect: the cores of the host have one thread each",
            slot.name
        ));
        return Some(false);
    }
    if let Some(pool) = pools.iter().find(|pool| !is_whole(topology, &pool.pcpus)) {
        let (name, pcpus) = (quote(&pool.name), show_pcpus(&pool.pcpus));
        let what = format!("the pool `{name}` has a part of a core: {pcpus}");
        refuse(
            cx,
            what,
            "pools of whole cores",
            "give the pool every thread of its cores",
        );
    }
    for domain in &resolved.domains {
        let vcpus = &domain.config.vcpus;
        let name = quote(&domain.config.name);
        if vcpus
            .iter()
            .any(|v| !is_whole(topology, &(v.hard & topology.all())))
        {
            let what = format!("the pin of `{name}` has a part of a core");
            refuse(
                cx,
                what,
                "pins to whole cores",
                "pin to every thread of a core, or to none",
            );
        }
        let mut units = vcpus.chunks(topology.threads_per_core());
        if units.any(|unit| {
            unit.iter()
                .any(|v| (v.hard, v.soft) != (unit[0].hard, unit[0].soft))
        }) {
            let what = format!("vcpus of one unit of `{name}` have different pins");
            refuse(
                cx,
                what,
                "one affinity for each unit",
                "pin all vcpus of a unit alike",
            );
        }
    }
    let moves = |action: &Action| match action {
        Action::Pin { .. } => Some("pins change"),
        Action::PcpuOffline(_) | Action::PcpuOnline(_) => Some("pcpus go off and on"),
        _ => None,
    };
    if let Some(what) = actions.iter().find_map(|(_, action)| moves(action)) {
        let what = format!("core scheduling has no model of what happens when {what} in a run");
        refuse(
            cx,
            what,
            "a host without such actions",
            "leave the action out",
        );
    }
    Some(true)
}

/// Whether `pcpus` are whole cores.
fn is_whole(topology: &Topology, pcpus: &CpuSet) -> bool {
    pcpus
        .iter()
        .all(|pcpu| topology.siblings(pcpu).is_subset(pcpus))
}
