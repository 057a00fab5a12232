//! Private trace records, with the numbers of Xen 4.17 (`TRC_RTDS_*`) and the first of its words.
//! The vcpu that a record is about is its actor, and no word.

use domio_contract::Cx;
use domio_core::class::{Class, Declared, Field, Says, Shows, Unit};
use domio_core::{PcpuId, VcpuId};

const TICKLE: u8 = 1;
const PICK: u8 = 2;
const BURN: u8 = 3;
const REFILL: u8 = 4;
const SCHEDULE: u8 = 6;

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of RTDS says.
pub static CLASS: Class = Class::new(
    "rtds",
    &[
        Declared::new(TICKLE, "tickled", &[Field::word("pcpu", 0, Unit::Pcpu)])
            .says(Says::Tickled { pcpu: 0 })
            .shows(TICKLES),
        Declared::new(PICK, "picked", &[Field::long("deadline", 0, Unit::Time)]),
        Declared::new(
            BURN,
            "budget burned",
            &[Field::long("left", 0, Unit::Nanoseconds)],
        )
        .says(Says::Budget { left: 0 }),
        Declared::new(
            REFILL,
            "budget filled up",
            &[
                Field::word("level", 0, Unit::Number),
                Field::long("deadline", 1, Unit::Time),
            ],
        )
        .says(Says::Filled),
        Declared::new(
            SCHEDULE,
            "pass",
            &[
                Field::bits("pcpu", 0, 16, Unit::Pcpu),
                Field::bits("tasklet", 16, 8, Unit::Flag),
                Field::bits("tickled", 24, 4, Unit::Flag),
                Field::bits("idle", 28, 4, Unit::Flag),
            ],
        )
        .says(Says::Pass),
    ],
);

const TICKLES: Shows = Shows {
    tickles: true,
    ..Shows::NOTHING
};

/// The record `number` about `vcpu`, with a number of 64 bits.
fn note(cx: &mut Cx<'_>, here: PcpuId, number: u8, vcpu: VcpuId, value: i64) {
    let words = [value as u32, (value >> 32) as u32];
    cx.note(here, number, Some(vcpu), &words);
}

/// `pcpu` is asked for a pass.
pub(super) fn tickle(cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId) {
    cx.note(here, TICKLE, None, &[u32::from(pcpu.0)]);
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
    let words = [0, deadline as u32, (deadline >> 32) as u32];
    cx.note(here, REFILL, Some(vcpu), &words);
}

/// A pass begins on `here`.
pub(super) fn schedule(cx: &mut Cx<'_>, here: PcpuId, idle: bool, tickled: bool) {
    let flags = u32::from(tickled) << 24 | u32::from(idle) << 28;
    cx.note(here, SCHEDULE, None, &[u32::from(here.0) | flags]);
}
