//! Private trace records: charges, picks, wake-ups and warps.
//!
//! Xen's BVT wrote none, so numbers and words are domio's own. The first word is the vcpu, domain
//! in the upper half and index in the lower one, unless said otherwise.
//!
//! | number | when | second word | third word |
//! |---|---|---|---|
//! | 1 | a pass charges the vcpu that ran | its actual virtual time | its effective one |
//! | 2 | a pass picks it | its effective virtual time | slice in ns |
//! | 3 | it wakes | its actual virtual time | its effective one |
//! | 4 | its domain begins to warp again (1) or stops warping (0) | 1 or 0 | |
//! | 5 | (no vcpu) virtual times of a pcpu are set back | system virtual time | |
//!
//! A wake-up writes one record, so that what a host charges for further ones does not fall on a
//! policy that had none in Xen.

use crate::cx::Cx;
use domio_core::{PcpuId, VcpuId};

const CHARGE: u8 = 1;
const PICK: u8 = 2;
const WOKE: u8 = 3;
const WARP: u8 = 4;
const WRAP: u8 = 5;

fn named(cx: &mut Cx<'_>, event: u8, vcpu: VcpuId, second: u32, third: u32) {
    if cx.tracing() {
        let view = cx.vcpu(vcpu);
        let (here, name) = (view.pcpu, view.name.word());
        cx.note(here, event, &[name, second, third]);
    }
}

/// `vcpu` ran and is charged.
#[inline]
pub(super) fn charge(cx: &mut Cx<'_>, vcpu: VcpuId, avt: u32, evt: u32) {
    named(cx, CHARGE, vcpu, avt, evt);
}

/// `vcpu` runs next, for `length` ns.
#[inline]
pub(super) fn pick(cx: &mut Cx<'_>, vcpu: VcpuId, evt: u32, length: i64) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    named(cx, PICK, vcpu, evt, length);
}

/// `vcpu` woke.
#[inline]
pub(super) fn woke(cx: &mut Cx<'_>, vcpu: VcpuId, avt: u32, evt: u32) {
    named(cx, WOKE, vcpu, avt, evt);
}

/// The domain of `vcpu` warps from now on, or does not.
pub(super) fn warp(cx: &mut Cx<'_>, vcpu: VcpuId, warps: bool) {
    if cx.tracing() {
        let view = cx.vcpu(vcpu);
        let (here, name) = (view.pcpu, view.name.word());
        cx.note(here, WARP, &[name, u32::from(warps)]);
    }
}

/// Virtual times of `pcpu` were set back, its system virtual time to `svt`.
pub(super) fn wrap(cx: &mut Cx<'_>, pcpu: PcpuId, svt: u32) {
    cx.note(pcpu, WRAP, &[svt]);
}
