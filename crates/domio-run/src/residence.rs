//! Where vcpus ran, as lists of a [`Sample`].

use crate::sample::Sample;
use domio_core::{PcpuId, VcpuName};
use domio_meter::{HostPlaces, Residence, Summary};
use domio_scenario::Built;
use domio_vmm::config::Action;
use std::collections::BTreeMap;

/// Begin of the names of lists with nanoseconds by pcpu; the word of the vcpu
/// ([`VcpuName::word`]) follows.
const RAN: &str = "ran_on_ns.";

/// Begin of the names of lists with moves, three values each: from where, to where, how often.
const MOVES: &str = "moves.";

/// Notes in `sample` where vcpus ran; idle ones are left out.
pub fn note(sample: &mut Sample, summary: &Summary) {
    for vcpu in summary.domains.iter().flat_map(|domain| &domain.vcpus) {
        if vcpu.name.is_idle() {
            continue;
        }
        let word = vcpu.name.word();
        let ran = vcpu.residence.ran();
        let ran = ran.flat_map(|(pcpu, ns)| [f64::from(pcpu.0), ns as f64]);
        sample.set_list(&format!("{RAN}{word}"), ran.collect());
        let moves = vcpu
            .residence
            .moves()
            .flat_map(|((from, to), count)| [f64::from(from.0), f64::from(to.0), count as f64]);
        sample.set_list(&format!("{MOVES}{word}"), moves.collect());
    }
}

/// Where vcpus ran, by name, over all of `samples`.
pub fn of(samples: &[Sample]) -> BTreeMap<VcpuName, Residence> {
    let mut all: BTreeMap<VcpuName, Residence> = BTreeMap::new();
    for sample in samples {
        for (name, ran) in sample.lists() {
            let Some(word) = name.strip_prefix(RAN).and_then(|word| word.parse().ok()) else {
                continue;
            };
            let moves = sample.list(&format!("{MOVES}{word}"));
            let pcpu = |number: f64| PcpuId(number as u16);
            let ran = ran.chunks_exact(2).map(|r| (pcpu(r[0]), r[1] as u64));
            let moves = moves.chunks_exact(3);
            let moves = moves.map(|m| ((pcpu(m[0]), pcpu(m[1])), m[2] as u64));
            let vcpu = all.entry(VcpuName::from_word(word)).or_default();
            vcpu.add(&Residence::of(ran, moves));
        }
    }
    all
}

/// The pcpus of the host, and soft affinity where it says anything and no action changes it.
pub fn places(built: &Built) -> HostPlaces {
    let host = &built.host;
    let all = host.topology.all();
    let mut soft = BTreeMap::new();
    for domain in &host.domains {
        for (index, vcpu) in (0..).zip(&domain.vcpus) {
            if !all.is_subset(&vcpu.soft) {
                soft.insert(VcpuName::new(domain.id, index), vcpu.soft);
            }
        }
    }
    for (_, action) in &host.actions {
        if let Action::Pin { domain, vcpu, .. } = action {
            soft.remove(&VcpuName::new(*domain, *vcpu));
        }
    }
    HostPlaces {
        topology: host.topology.clone(),
        soft,
    }
}
