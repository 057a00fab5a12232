//! Private trace records: quotas that end and begin, and threads that a pcpu pulls.
//!
//! Linux writes other events; numbers and words are domio's own.

use domio_contract::Cx;
use domio_core::class::{Class, Declared, Field, Unit};
use domio_core::{DomainId, PcpuId, VcpuId};

const THROTTLED: u8 = 1;
const UNTHROTTLED: u8 = 2;
const PULLED: u8 = 3;

const DOMAIN: &[Field] = &[Field::word("domain", 0, Unit::Number)];

const RECORDS: &[Declared] = &[
    Declared::new(THROTTLED, "throttled", DOMAIN),
    Declared::new(UNTHROTTLED, "unthrottled", DOMAIN),
    Declared::new(PULLED, "pulled", &[Field::word("to", 0, Unit::Number)]),
];

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of cfs says.
pub static CFS: Class = Class::new("cfs", RECORDS);

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of eevdf says.
pub static EEVDF: Class = Class::new("eevdf", RECORDS);

/// The quota of `domain` is used up on `pcpu`.
pub(super) fn throttled(cx: &mut Cx<'_>, pcpu: PcpuId, domain: DomainId) {
    cx.note(pcpu, THROTTLED, None, &[u32::from(domain.0)]);
}

/// `domain` has time again on `pcpu`.
pub(super) fn unthrottled(cx: &mut Cx<'_>, pcpu: PcpuId, domain: DomainId) {
    cx.note(pcpu, UNTHROTTLED, None, &[u32::from(domain.0)]);
}

/// `vcpu`, which waits, is pulled to the pcpu `to`.
pub(super) fn pulled(cx: &mut Cx<'_>, vcpu: VcpuId, to: PcpuId) {
    let from = cx.vcpu(vcpu).pcpu;
    cx.note(from, PULLED, Some(vcpu), &[u32::from(to.0)]);
}
