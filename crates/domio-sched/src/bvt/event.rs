//! Private trace records: charges, picks, wake-ups and warps.
//!
//! Xen's BVT wrote none, so numbers and words are domio's own.
//!
//! A wake-up writes one record, so that what a host charges for further ones does not fall on a
//! policy that had none in Xen.

use domio_contract::Cx;
use domio_core::class::{Class, Declared, Field, Unit};
use domio_core::{PcpuId, VcpuId};

const CHARGE: u8 = 1;
const PICK: u8 = 2;
const WOKE: u8 = 3;
const WARP: u8 = 4;
const WRAP: u8 = 5;

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of bvt says.
pub static CLASS: Class = Class::new(
    "bvt",
    &[
        Declared::new(CHARGE, "charged", TIMES),
        Declared::new(
            PICK,
            "runs",
            &[
                Field::word("effective_virtual_time", 0, Unit::Number),
                Field::word("slice", 1, Unit::Nanoseconds),
            ],
        ),
        Declared::new(WOKE, "wakes", TIMES),
        Declared::new(WARP, "warps", &[Field::word("begins", 0, Unit::Flag)]),
        Declared::new(
            WRAP,
            "virtual times set back",
            &[Field::word("system_virtual_time", 0, Unit::Number)],
        ),
    ],
);

const TIMES: &[Field] = &[
    Field::word("actual_virtual_time", 0, Unit::Number),
    Field::word("effective_virtual_time", 1, Unit::Number),
];

fn named(cx: &mut Cx<'_>, number: u8, vcpu: VcpuId, words: &[u32]) {
    let here = cx.vcpu(vcpu).pcpu;
    cx.note(here, number, Some(vcpu), words);
}

/// `vcpu` ran and is charged.
#[inline]
pub(super) fn charge(cx: &mut Cx<'_>, vcpu: VcpuId, avt: u32, evt: u32) {
    named(cx, CHARGE, vcpu, &[avt, evt]);
}

/// `vcpu` runs next, for `length` ns.
#[inline]
pub(super) fn pick(cx: &mut Cx<'_>, vcpu: VcpuId, evt: u32, length: i64) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    named(cx, PICK, vcpu, &[evt, length]);
}

/// `vcpu` woke.
#[inline]
pub(super) fn woke(cx: &mut Cx<'_>, vcpu: VcpuId, avt: u32, evt: u32) {
    named(cx, WOKE, vcpu, &[avt, evt]);
}

/// The domain of `vcpu` warps from now on, or does not.
pub(super) fn warp(cx: &mut Cx<'_>, vcpu: VcpuId, warps: bool) {
    named(cx, WARP, vcpu, &[u32::from(warps)]);
}

/// Virtual times of `pcpu` were set back, its system virtual time to `svt`.
pub(super) fn wrap(cx: &mut Cx<'_>, pcpu: PcpuId, svt: u32) {
    cx.note(pcpu, WRAP, None, &[svt]);
}
