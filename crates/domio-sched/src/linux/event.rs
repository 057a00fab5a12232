//! Private trace records: quotas that end and begin, and threads that a pcpu pulls.
//!
//! Linux writes other events; numbers and words are domio's own.

use domio_contract::{Cx, GroupId};
use domio_core::class::{Class, Declared, Field, Unit};
use domio_core::{DomainId, PcpuId, VcpuId};

const THROTTLED: u8 = 1;
const UNTHROTTLED: u8 = 2;
const PULLED: u8 = 3;
const GROUP_THROTTLED: u8 = 4;
const GROUP_UNTHROTTLED: u8 = 5;

const DOMAIN: &[Field] = &[Field::word("domain", 0, Unit::Number)];
const GROUP: &[Field] = &[Field::word("group", 0, Unit::Number)];

const RECORDS: &[Declared] = &[
    Declared::new(THROTTLED, "throttled", DOMAIN),
    Declared::new(UNTHROTTLED, "unthrottled", DOMAIN),
    Declared::new(PULLED, "pulled", &[Field::word("to", 0, Unit::Number)]),
    Declared::new(GROUP_THROTTLED, "group throttled", GROUP),
    Declared::new(GROUP_UNTHROTTLED, "group unthrottled", GROUP),
];

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of cfs says.
pub static CFS: Class = Class::new("cfs", RECORDS);

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of eevdf says.
pub static EEVDF: Class = Class::new("eevdf", RECORDS);

/// Whose a task group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// Nobody's: the root.
    Root,
    Domain(DomainId),
    Group(GroupId),
}

/// The quota of `owner` is used up on `pcpu`.
pub(super) fn throttled(cx: &mut Cx<'_>, pcpu: PcpuId, owner: Owner) {
    note(cx, pcpu, owner, [THROTTLED, GROUP_THROTTLED]);
}

/// `owner` has time again on `pcpu`.
pub(super) fn unthrottled(cx: &mut Cx<'_>, pcpu: PcpuId, owner: Owner) {
    note(cx, pcpu, owner, [UNTHROTTLED, GROUP_UNTHROTTLED]);
}

/// The first of `numbers` about a domain, or the second about a group of domains.
fn note(cx: &mut Cx<'_>, pcpu: PcpuId, owner: Owner, numbers: [u8; 2]) {
    match owner {
        // Without a quota.
        Owner::Root => {}
        Owner::Domain(domain) => cx.note(pcpu, numbers[0], None, &[u32::from(domain.0)]),
        Owner::Group(group) => cx.note(pcpu, numbers[1], None, &[u32::from(group.0)]),
    }
}

/// `vcpu`, which waits, is pulled to the pcpu `to`.
pub(super) fn pulled(cx: &mut Cx<'_>, vcpu: VcpuId, to: PcpuId) {
    let from = cx.vcpu(vcpu).pcpu;
    cx.note(from, PULLED, Some(vcpu), &[u32::from(to.0)]);
}
