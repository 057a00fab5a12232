//! Private trace records, with the numbers and words of Xen 4.17 (`TRC_CSCHED_*`).
//!
//! They are written under the rules of every release, though Xen has the first six since 4.3 and
//! the others since 4.9.

use crate::cx::Cx;
use domio_core::{Duration, PcpuId, VcpuId};

const ACCOUNT_START: u8 = 2;
const ACCOUNT_STOP: u8 = 3;
const STOLEN: u8 = 4;
const PICKED_PCPU: u8 = 5;
const TICKLE: u8 = 6;
const BOOST_START: u8 = 7;
const BOOST_END: u8 = 8;
const SCHEDULE: u8 = 9;
const RATELIMIT: u8 = 10;
const STEAL_CHECK: u8 = 11;

#[inline]
fn name(cx: &Cx<'_>, vcpu: VcpuId) -> [u32; 2] {
    let name = cx.vcpu(vcpu).name;
    [u32::from(name.domain.0), u32::from(name.index)]
}

#[inline]
fn named(cx: &mut Cx<'_>, here: PcpuId, event: u8, vcpu: VcpuId, third: Option<u32>) {
    if cx.tracing() {
        let [domain, index] = name(cx, vcpu);
        match third {
            Some(word) => cx.note(here, event, &[domain, index, word]),
            None => cx.note(here, event, &[domain, index]),
        }
    }
}

/// `vcpu` earns credit from now on; its domain has `count` such vcpus.
pub(super) fn account_start(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, count: u32) {
    named(cx, here, ACCOUNT_START, vcpu, Some(count));
}

/// `vcpu` earns no credit any more; its domain has `count` others that do.
pub(super) fn account_stop(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, count: u32) {
    named(cx, here, ACCOUNT_STOP, vcpu, Some(count));
}

/// `here` takes `vcpu` from the queue of `peer`.
pub(super) fn stolen(cx: &mut Cx<'_>, here: PcpuId, peer: PcpuId, vcpu: VcpuId) {
    if cx.tracing() {
        let [domain, index] = name(cx, vcpu);
        cx.note(here, STOLEN, &[u32::from(peer.0), domain, index]);
    }
}

/// `pcpu` would suit `vcpu` best.
#[inline]
pub(super) fn picked(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, pcpu: PcpuId) {
    named(cx, here, PICKED_PCPU, vcpu, Some(u32::from(pcpu.0)));
}

/// `pcpu` is asked for a pass.
#[inline]
pub(super) fn tickle(cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId) {
    if cx.tracing() {
        cx.note(here, TICKLE, &[u32::from(pcpu.0)]);
    }
}

/// `vcpu` is boosted.
#[inline]
pub(super) fn boost_start(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId) {
    named(cx, here, BOOST_START, vcpu, None);
}

/// `vcpu` is no longer boosted.
#[inline]
pub(super) fn boost_end(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId) {
    named(cx, here, BOOST_END, vcpu, None);
}

/// A pass begins. The word is `pcpu`, 8 bits for pending hypervisor work (always 0 here), and 8
/// bits for whether the pcpu idled.
#[inline]
pub(super) fn schedule(cx: &mut Cx<'_>, pcpu: PcpuId, idle: bool) {
    if cx.tracing() {
        cx.note(pcpu, SCHEDULE, &[u32::from(pcpu.0) | u32::from(idle) << 24]);
    }
}

/// `vcpu` ran for `ran` only and goes on.
#[inline]
pub(super) fn ratelimit(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, ran: Duration) {
    if cx.tracing() {
        let word = cx.vcpu(vcpu).name.word();
        // The record has 32 bits for a time under half a second.
        cx.note(here, RATELIMIT, &[word, ran.as_nanos() as u32]);
    }
}

/// The queue of `peer` was searched for work, or not.
#[inline]
pub(super) fn steal_check(cx: &mut Cx<'_>, here: PcpuId, peer: PcpuId, searched: bool) {
    if cx.tracing() {
        cx.note(here, STEAL_CHECK, &[u32::from(peer.0), u32::from(searched)]);
    }
}
