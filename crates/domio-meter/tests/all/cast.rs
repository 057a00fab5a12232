//! The actors of hand-made traces: vcpus 0 to 3 of domains 0 to 63, and 64 idle ones.

use domio_core::{ActorId, DomainId, Names, PcpuId, Record, Sink, VcpuName};

const DOMAINS: u16 = 64;
const VCPUS: u16 = 4;

/// The number of a vcpu in [`names`].
pub fn actor(name: VcpuName) -> ActorId {
    let number = match name.is_idle() {
        true => DOMAINS * VCPUS + name.index,
        false => name.domain.0 * VCPUS + name.index,
    };
    ActorId(u32::from(number))
}

/// The number of the first vcpu of a domain.
pub fn first(domain: u16) -> ActorId {
    actor(VcpuName::new(DomainId(domain), 0))
}

/// All of them.
pub fn names() -> Names {
    let mut names = Names::new();
    for domain in 0..DOMAINS {
        for index in 0..VCPUS {
            names.add_actor(VcpuName::new(DomainId(domain), index));
        }
    }
    for pcpu in 0..DOMAINS {
        names.add_actor(VcpuName::idle(PcpuId(pcpu)));
    }
    names
}

/// `sink` after `records`.
pub fn fed<S: Sink>(mut sink: S, names: &Names, records: &[Record]) -> S {
    records.iter().for_each(|r| sink.record(names, r));
    sink
}
