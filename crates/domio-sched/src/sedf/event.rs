//! Private trace records: deadlines, slices and turns of extra time.
//!
//! Xen's SEDF wrote none, so numbers and words are domio's own. The first word is the vcpu, domain
//! in the upper half and index in the lower one, unless said otherwise. Lengths are nanoseconds,
//! 4,294,967,295 for that and more.
//!
//! | number | when | second word | third word |
//! |---|---|---|---|
//! | 1 | a pass gives a vcpu another deadline | deadline, lower half | upper half |
//! | 2 | a pass picks it by its reservation | left of the slice | until the deadline |
//! | 3 | a pass gives it a turn of extra time | queue: 0 penalty, 1 utilisation | score |
//! | 4 | that turn ends | queue, 256 more if it goes on sharing | new score |
//! | 5 | it wakes before its period begins | until the deadline | 0 |
//! | 6 | it wakes after a short block | until the new deadline | time of its slice lost |
//! | 7 | it wakes after a long block | until the new deadline | 0 |
//! | 8 | it missed its deadline or used more than its slice | late by | slice used |
//! | 9 | (no vcpu) a pcpu idles, less than a turn is left | time until the next period | |
//! | 10 | an operator changes what it reserves | period | slice |
//! | 11 | it is charged, under SEDF-DC | charge | what it owes now |
//! | 12 | some of its slice goes to its debt | how much | what it still owes |
//! | 13 | it is picked for its packets before another one | packets | until the other's deadline |
//!
//! Scores are signed. A wake-up writes one record, so that what a host charges for further ones
//! does not fall on a policy that had none in Xen.

use super::state::{Queue, Vcpu};
use crate::cx::Cx;
use domio_core::{PcpuId, VcpuId};

const DEADLINE: u8 = 1;
const SLICE: u8 = 2;
const EXTRA: u8 = 3;
const EXTRA_END: u8 = 4;
const MISSED: u8 = 8;
const GAP: u8 = 9;
const RESERVE: u8 = 10;
const CHARGED: u8 = 11;
const COLLECTED: u8 = 12;
const BUSIEST: u8 = 13;

/// What a wake-up found; the numbers are those of its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Woke {
    /// Its next period has not begun.
    InExtraTime = 5,
    /// The period in which it fell asleep is not over.
    Short = 6,
    /// That period is over.
    Long = 7,
}

/// A length in one word.
fn length(ns: i64) -> u32 {
    u32::try_from(ns.max(0)).unwrap_or(u32::MAX)
}

fn queue_number(queue: Queue) -> u32 {
    u32::from(queue == Queue::Utilisation)
}

fn named(cx: &mut Cx<'_>, event: u8, vcpu: VcpuId, second: u32, third: u32) {
    if cx.tracing() {
        let view = cx.vcpu(vcpu);
        let (here, name) = (view.pcpu, view.name.word());
        cx.note(here, event, &[name, second, third]);
    }
}

/// `vcpu` has another deadline, which `state` holds.
#[inline]
pub(super) fn deadline(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu) {
    let at = state.deadline as u64;
    named(cx, DEADLINE, vcpu, at as u32, (at >> 32) as u32);
}

/// `vcpu` runs by its reservation.
#[inline]
pub(super) fn slice(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu, now: i64) {
    let left = length(state.slice - state.cputime);
    named(cx, SLICE, vcpu, left, length(state.deadline - now));
}

/// `vcpu` gets a turn of extra time out of `queue`.
#[inline]
pub(super) fn extra(cx: &mut Cx<'_>, vcpu: VcpuId, queue: Queue, score: i64) {
    named(cx, EXTRA, vcpu, queue_number(queue), score as u32);
}

/// The turn of `vcpu` is over; `again` tells whether it waits for another one in `queue`.
#[inline]
pub(super) fn extra_end(cx: &mut Cx<'_>, vcpu: VcpuId, queue: Queue, again: bool, score: i64) {
    let second = queue_number(queue) | u32::from(again) << 8;
    named(cx, EXTRA_END, vcpu, second, score as u32);
}

/// `vcpu` woke, which gave it the deadline in `state`, and lost `lost` of its slice by that.
#[inline]
pub(super) fn woke(cx: &mut Cx<'_>, vcpu: VcpuId, woke: Woke, state: &Vcpu, now: i64, lost: i64) {
    let until = length(state.deadline - now);
    named(cx, woke as u8, vcpu, until, length(lost));
}

/// `vcpu`, as `state` has it, missed its deadline or used more than its slice.
#[inline]
pub(super) fn missed(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu, now: i64) {
    let late = length(now - state.deadline);
    named(cx, MISSED, vcpu, late, length(state.cputime));
}

/// `pcpu` idles although vcpus wait for extra time there: a period begins in `left`.
#[inline]
pub(super) fn gap(cx: &mut Cx<'_>, pcpu: PcpuId, left: i64) {
    cx.note(pcpu, GAP, &[length(left)]);
}

/// `vcpu` reserves what `state` says from now on.
#[inline]
pub(super) fn reserve(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu) {
    named(cx, RESERVE, vcpu, length(state.period), length(state.slice));
}

/// `vcpu` is charged `done` and owes what `state` says.
pub(super) fn charged(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu, done: i64) {
    named(cx, CHARGED, vcpu, length(done), length(state.debt));
}

/// `paid` of the slice of `vcpu` goes to its debt, the rest of which `state` has.
pub(super) fn collected(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu, paid: i64) {
    named(cx, COLLECTED, vcpu, length(paid), length(state.debt));
}

/// `vcpu`, with so many packets, is picked before the vcpu that `first` describes, which has the
/// earliest deadline.
pub(super) fn busiest(cx: &mut Cx<'_>, vcpu: VcpuId, packets: u64, first: &Vcpu, now: i64) {
    let packets = u32::try_from(packets).unwrap_or(u32::MAX);
    named(cx, BUSIEST, vcpu, packets, length(first.deadline - now));
}
