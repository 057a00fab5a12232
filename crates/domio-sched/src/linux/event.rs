//! Private trace records: quotas that end and begin, and threads that a pcpu pulls.
//!
//! Linux writes other events; numbers and words are domio's own.

use domio_contract::{Cx, GroupId, WorksFor};
use domio_core::class::{Class, Declared, Field, Says, Unit};
use domio_core::{DomainId, PcpuId, VcpuId};

const THROTTLED: u8 = 1;
const UNTHROTTLED: u8 = 2;
const PULLED: u8 = 3;
const GROUP_THROTTLED: u8 = 4;
const GROUP_UNTHROTTLED: u8 = 5;
const EMULATOR_THROTTLED: u8 = 6;
const EMULATOR_UNTHROTTLED: u8 = 7;
const VCPU_THROTTLED: u8 = 8;
const VCPU_UNTHROTTLED: u8 = 9;
const IOTHREAD_THROTTLED: u8 = 10;
const IOTHREAD_UNTHROTTLED: u8 = 11;
const HELD_INSIDE: u8 = 12;

const DOMAIN: &[Field] = &[Field::word("domain", 0, Unit::Number)];
const GROUP: &[Field] = &[Field::word("group", 0, Unit::Number)];

const VCPU: &[Field] = &[
    Field::word("domain", 0, Unit::Number),
    Field::word("vcpu", 1, Unit::Number),
];
const IOTHREAD: &[Field] = &[
    Field::word("domain", 0, Unit::Number),
    Field::word("iothread", 1, Unit::Number),
];

const RECORDS: &[Declared] = &[
    Declared::new(THROTTLED, "throttled", DOMAIN),
    Declared::new(UNTHROTTLED, "unthrottled", DOMAIN),
    Declared::new(PULLED, "pulled", &[Field::word("to", 0, Unit::Number)]),
    Declared::new(GROUP_THROTTLED, "group throttled", GROUP),
    Declared::new(GROUP_UNTHROTTLED, "group unthrottled", GROUP),
    Declared::new(EMULATOR_THROTTLED, "emulator throttled", DOMAIN),
    Declared::new(EMULATOR_UNTHROTTLED, "emulator unthrottled", DOMAIN),
    Declared::new(VCPU_THROTTLED, "vcpu throttled", VCPU),
    Declared::new(VCPU_UNTHROTTLED, "vcpu unthrottled", VCPU),
    Declared::new(IOTHREAD_THROTTLED, "iothread throttled", IOTHREAD),
    Declared::new(IOTHREAD_UNTHROTTLED, "iothread unthrottled", IOTHREAD),
    Declared::new(HELD_INSIDE, "held in its group", &[]).says(Says::HeldInside),
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
    /// A part of the group of a domain.
    Part(DomainId, Part),
}

/// A group inside the group of a domain, as libvirt makes them (linux-spec 9.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The one around all others.
    Libvirt,
    Emulator,
    Vcpu(u16),
    /// That of an I/O thread, by its number; from [`Part::SEATED`] on that of a vcpu.
    Iothread(u32),
}

impl Part {
    /// The first number of vcpus with the seat of an I/O thread, past the numbers of all threads
    /// of the host.
    const SEATED: u32 = WorksFor::UNNUMBERED + (1 << 16);

    /// The group of the vcpu number `index`, whose seat is that of an I/O thread.
    pub fn of_seated(index: u16) -> Part {
        Part::Iothread(Part::SEATED + u32::from(index))
    }

    /// A number for it, which no other part of the domain has.
    pub fn number(self) -> u64 {
        match self {
            Part::Libvirt => 0,
            Part::Emulator => 1,
            Part::Vcpu(n) => 2 + 2 * u64::from(n),
            Part::Iothread(n) => 3 + 2 * u64::from(n),
        }
    }
}

/// The quota of `owner` is used up on `pcpu`.
pub(super) fn throttled(cx: &mut Cx<'_>, pcpu: PcpuId, owner: Owner) {
    note(cx, pcpu, owner, 0);
}

/// `owner` has time again on `pcpu`.
pub(super) fn unthrottled(cx: &mut Cx<'_>, pcpu: PcpuId, owner: Owner) {
    note(cx, pcpu, owner, UNTHROTTLED - THROTTLED);
}

/// The record about `owner` that comes `after` the one of a quota that is used up.
fn note(cx: &mut Cx<'_>, pcpu: PcpuId, owner: Owner, after: u8) {
    match owner {
        // Without a quota.
        Owner::Root | Owner::Part(_, Part::Libvirt) => {}
        Owner::Domain(domain) => cx.note(pcpu, THROTTLED + after, None, &[u32::from(domain.0)]),
        Owner::Group(group) => cx.note(pcpu, GROUP_THROTTLED + after, None, &[u32::from(group.0)]),
        Owner::Part(domain, part) => {
            let domain = u32::from(domain.0);
            match part {
                Part::Vcpu(n) => {
                    cx.note(pcpu, VCPU_THROTTLED + after, None, &[domain, u32::from(n)]);
                }
                Part::Iothread(n) => {
                    let words = [domain, n];
                    cx.note(pcpu, IOTHREAD_THROTTLED + after, None, &words);
                }
                _ => cx.note(pcpu, EMULATOR_THROTTLED + after, None, &[domain]),
            }
        }
    }
}

/// `vcpu` may not run, as its group inside that of its domain has no time.
pub(super) fn held_inside(cx: &mut Cx<'_>, vcpu: VcpuId) {
    let pcpu = cx.vcpu(vcpu).pcpu;
    cx.note(pcpu, HELD_INSIDE, Some(vcpu), &[]);
}

/// `vcpu`, which waits, is pulled to the pcpu `to`.
pub(super) fn pulled(cx: &mut Cx<'_>, vcpu: VcpuId, to: PcpuId) {
    let from = cx.vcpu(vcpu).pcpu;
    cx.note(from, PULLED, Some(vcpu), &[u32::from(to.0)]);
}
