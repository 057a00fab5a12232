//! Private trace records, with the numbers of Xen 4.17 (`TRC_RTDS_*`) and its words, of which the
//! first three fit.

use crate::cx::Cx;
use domio_core::{PcpuId, VcpuId};

const TICKLE: u8 = 1;
const PICK: u8 = 2;
const BURN: u8 = 3;
const REFILL: u8 = 4;
const SCHEDULE: u8 = 6;

/// `event` about `vcpu`, with a number of 64 bits.
fn note(cx: &mut Cx<'_>, here: PcpuId, event: u8, vcpu: VcpuId, value: i64) {
    if cx.tracing() {
        let name = cx.vcpu(vcpu).name.word();
        cx.note(here, event, &[name, value as u32, (value >> 32) as u32]);
    }
}

/// `pcpu` is asked for a pass.
pub(super) fn tickle(cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId) {
    cx.note(here, TICKLE, &[u32::from(pcpu.0)]);
}

/// `vcpu` is the best that may run on `here`.
pub(super) fn pick(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, deadline: i64) {
    note(cx, here, PICK, vcpu, deadline);
}

/// `vcpu` has `left` of its budget.
pub(super) fn burn(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, left: i64) {
    note(cx, here, BURN, vcpu, left);
}

/// The budget of `vcpu` is filled up, until `deadline`.
pub(super) fn refill(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, deadline: i64) {
    if cx.tracing() {
        let name = cx.vcpu(vcpu).name.word();
        cx.note(here, REFILL, &[name, 0, deadline as u32]);
    }
}

/// A pass begins on `here`.
pub(super) fn schedule(cx: &mut Cx<'_>, here: PcpuId, idle: bool, tickled: bool) {
    if cx.tracing() {
        let flags = u32::from(tickled) << 24 | u32::from(idle) << 28;
        cx.note(here, SCHEDULE, &[u32::from(here.0) | flags]);
    }
}
