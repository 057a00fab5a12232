//! Private trace records: deadlines, slices and turns of extra time.
//!
//! Xen's SEDF wrote none, so numbers and words are domio's own. Lengths are nanoseconds,
//! 4,294,967,295 for that and more. A wake-up writes one record, so that what a host charges for
//! further ones does not fall on a policy that had none in Xen.

use super::state::{EXTRA_QUANTUM, Queue, Vcpu};
use domio_contract::Cx;
use domio_core::class::{Class, Declared, Field, Says, Unit};
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
const USED_UP: u8 = 14;
const FILLED: u8 = 15;

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

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of SEDF and its kin says.
pub static CLASS: Class = Class::new(
    "sedf",
    &[
        Declared::new(
            DEADLINE,
            "new deadline",
            &[Field::long("deadline", 0, Unit::Nanoseconds)],
        ),
        Declared::new(
            SLICE,
            "runs by its slice",
            &[ns("left_of_the_slice", 0), ns("until_the_deadline", 1)],
        ),
        Declared::new(
            EXTRA,
            "turn of extra time",
            &[Field::word("utilisation", 0, Unit::Flag), SCORE],
        ),
        Declared::new(
            EXTRA_END,
            "turn of extra time ends",
            &[
                Field::bits("utilisation", 0, 8, Unit::Flag),
                Field::bits("shares_on", 8, 8, Unit::Flag),
                SCORE,
            ],
        ),
        Declared::new(Woke::InExtraTime as u8, "wakes in extra time", WOKE).says(WOKEN),
        Declared::new(Woke::Short as u8, "wakes after a short block", WOKE).says(WOKEN),
        Declared::new(Woke::Long as u8, "wakes after a long block", WOKE).says(WOKEN),
        Declared::new(
            MISSED,
            "missed its deadline or overran its slice",
            &[ns("late_by", 0), ns("slice_used", 1)],
        ),
        Declared::new(
            GAP,
            "idles: less than a turn is left",
            &[ns("until_the_next_period", 0)],
        ),
        Declared::new(RESERVE, "reserves", &[ns("period", 0), ns("slice", 1)]),
        Declared::new(
            CHARGED,
            "charged for work on its behalf",
            &[ns("charge", 0), ns("owes", 1)],
        ),
        Declared::new(
            COLLECTED,
            "slice pays a debt",
            &[ns("paid", 0), ns("still_owes", 1)],
        ),
        Declared::new(
            BUSIEST,
            "picked for its packets",
            &[
                Field::word("packets", 0, Unit::Number),
                ns("until_the_others_deadline", 1),
            ],
        ),
        Declared::new(
            USED_UP,
            "slice used up",
            &[ns("may_run_for", 0), ns("until_the_next_period", 1)],
        )
        .says(Says::Budget { left: 0 }),
        Declared::new(
            FILLED,
            "slice filled up",
            &[ns("slice", 0), ns("until_the_deadline", 1)],
        )
        .says(Says::Filled),
    ],
);

const fn ns(name: &'static str, word: u8) -> Field {
    Field::word(name, word, Unit::Nanoseconds)
}

const SCORE: Field = Field::word("score", 1, Unit::Signed);
const WOKE: &[Field] = &[
    ns("until_the_deadline", 0),
    ns("slice_lost", 1),
    ns("may_run_for", 2),
];
const WOKEN: Says = Says::Budget { left: 2 };

fn named(cx: &mut Cx<'_>, number: u8, vcpu: VcpuId, first: u32, second: u32) {
    let here = cx.vcpu(vcpu).pcpu;
    cx.note(here, number, Some(vcpu), &[first, second]);
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

/// The turn of `vcpu` is over; `again` says whether it waits for another one in `queue`.
#[inline]
pub(super) fn extra_end(cx: &mut Cx<'_>, vcpu: VcpuId, queue: Queue, again: bool, score: i64) {
    let second = queue_number(queue) | u32::from(again) << 8;
    named(cx, EXTRA_END, vcpu, second, score as u32);
}

/// `vcpu` woke, which gave it the deadline in `state`, and lost `lost` of its slice by that.
#[inline]
pub(super) fn woke(cx: &mut Cx<'_>, vcpu: VcpuId, woke: Woke, state: &Vcpu, now: i64, lost: i64) {
    let may_run_for = match state.is_held() {
        true => 0,
        // What is left of the slice, or a turn of extra time.
        false if state.is_in(Queue::Run) => state.remaining().max(1),
        false => EXTRA_QUANTUM,
    };
    // Readers take the last word with a sign.
    let may_run_for = may_run_for.min(i32::MAX.into());
    let words = [state.deadline - now, lost, may_run_for].map(length);
    let here = cx.vcpu(vcpu).pcpu;
    cx.note(here, woke as u8, Some(vcpu), &words);
}

/// `vcpu` is runnable, and may not run before its next period.
#[inline]
pub(super) fn used_up(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu, now: i64) {
    named(cx, USED_UP, vcpu, 0, length(state.begin() - now));
}

/// `vcpu` may run again: its next period has begun, or it takes part in extra time.
#[inline]
pub(super) fn filled(cx: &mut Cx<'_>, vcpu: VcpuId, state: &Vcpu, now: i64) {
    let slice = length(state.slice);
    named(cx, FILLED, vcpu, slice, length(state.deadline - now));
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
    cx.note(pcpu, GAP, None, &[length(left)]);
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
