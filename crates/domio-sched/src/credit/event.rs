//! Private trace records, with the numbers and words of Xen 4.17 (`TRC_CSCHED_*`).
//!
//! They are written under the rules of every release, though Xen has the first six since 4.3 and
//! the others since 4.9.

use domio_contract::Cx;
use domio_core::class::{Class, Declared, Field, QueueRules, Says, Shows, Unit};
use domio_core::{Adds, Tally};
use domio_core::{DomainId, Duration, PcpuId, VcpuId};

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
// Not Xen's: those of `xcollopts`.
const BALANCED: u8 = 48;
const PUT_OFF: u8 = 49;
const WAITS_FOR_DRIVER: u8 = 50;
const DISPATCHED: u8 = 51;
const WAITED: u8 = 52;

/// Xen's records, with its numbers. The vcpu of Xen's first two words, or one, is the record's
/// actor.
pub static CLASS: Class = Class::new("credit", &XEN).with_queue(RULES);

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of credit says: the same with the
/// records of `xcollopts`, which a policy writes that has any of that switched on.
pub(super) static CLASS_WITH_XCOLLOPTS: Class = Class::new("credit", &ALL).with_queue(RULES);

const RULES: QueueRules = QueueRules {
    fifo_with_boost: true,
    ..QueueRules::NONE
};

const XEN: [Declared; 10] = [
    Declared::new(ACCOUNT_START, "earns credit from now on", ACTIVE),
    Declared::new(ACCOUNT_STOP, "earns no credit any more", ACTIVE),
    Declared::new(STOLEN, "stolen", &[Field::word("from", 0, Unit::Pcpu)]),
    Declared::new(PICKED_PCPU, "pcpu picked", &[PCPU]).says(Says::Wants { pcpu: 0 }),
    Declared::new(TICKLE, "tickled", &[PCPU])
        .says(Says::Tickled { pcpu: 0 })
        .shows(TICKLES),
    Declared::new(BOOST_START, "boosted", &[])
        .says(Says::Boosted)
        .shows(BOOSTS),
    Declared::new(BOOST_END, "boost ends", &[])
        .says(Says::BoostOver)
        .shows(BOOSTS),
    Declared::new(
        SCHEDULE,
        "pass",
        &[
            Field::bits("pcpu", 0, 16, Unit::Pcpu),
            Field::bits("tasklet", 16, 8, Unit::Flag),
            Field::bits("idle", 24, 8, Unit::Flag),
        ],
    )
    .says(Says::Pass)
    .shows(SINCE_4_9),
    Declared::new(
        RATELIMIT,
        "goes on: rate limit",
        &[Field::word("ran", 0, Unit::Nanoseconds)],
    )
    .says(Says::RateLimited)
    .shows(SINCE_4_9),
    Declared::new(
        STEAL_CHECK,
        "queue looked at",
        &[
            Field::word("peer", 0, Unit::Pcpu),
            Field::word("searched", 1, Unit::Flag),
        ],
    )
    .shows(SINCE_4_9),
];

const XCOLLOPTS: [Declared; 5] = [
    Declared::new(
        BALANCED,
        "boosted vcpu placed",
        &[
            Field::bits("from", 0, 16, Unit::Pcpu),
            Field::bits("to", 16, 16, Unit::Pcpu),
            Field::word("looks", 1, Unit::Number),
        ],
    )
    .says(Says::Queued { pcpu: 1 })
    .tallies(&[
        Tally::new("boost_searches", Adds::One),
        Tally::new("boost_looks", Adds::Sum(2)),
    ]),
    Declared::new(
        PUT_OFF,
        "goes on: packets at hand",
        &[Field::word("packets", 0, Unit::Number)],
    )
    .says(Says::Dispatches),
    Declared::new(
        WAITS_FOR_DRIVER,
        "waits for the driver domain",
        &[Field::word("driver", 0, Unit::Domain)],
    ),
    Declared::new(
        DISPATCHED,
        "may be preempted again",
        &[
            Field::long("held", 0, Unit::Nanoseconds),
            Field::word("passes", 2, Unit::Number),
            Field::word("bound", 3, Unit::Flag),
        ],
    )
    .tallies(&[
        Tally::new("dispatch_holds", Adds::One),
        Tally::new("dispatch_held", Adds::Spent(0)),
        Tally::new("dispatch_passes", Adds::Sum(1)),
        Tally::new("dispatch_bounds", Adds::Sum(2)),
    ]),
    Declared::new(
        WAITED,
        "has waited for the driver domain",
        &[Field::long("waited", 0, Unit::Nanoseconds)],
    )
    .tallies(&[Tally::new("waited_for_driver", Adds::Spent(0))]),
];

static ALL: [Declared; XEN.len() + XCOLLOPTS.len()] = {
    let mut all = [XEN[0]; XEN.len() + XCOLLOPTS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < XEN.len() {
            XEN[i]
        } else {
            XCOLLOPTS[i - XEN.len()]
        };
        i += 1;
    }
    all
};

const ACTIVE: &[Field] = &[Field::word("active_vcpus_of_the_domain", 0, Unit::Number)];
const PCPU: Field = Field::word("pcpu", 0, Unit::Pcpu);

const TICKLES: Shows = Shows {
    tickles: true,
    ..Shows::NOTHING
};
const BOOSTS: Shows = Shows {
    boosts: true,
    ..Shows::NOTHING
};
/// Releases that write these records write tickles, too.
const SINCE_4_9: Shows = Shows {
    limits: true,
    ..TICKLES
};

/// `vcpu` earns credit from now on; its domain has `count` such vcpus.
pub(super) fn account_start(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, count: u32) {
    cx.note(here, ACCOUNT_START, Some(vcpu), &[count]);
}

/// `vcpu` earns no credit any more; its domain has `count` others that do.
pub(super) fn account_stop(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, count: u32) {
    cx.note(here, ACCOUNT_STOP, Some(vcpu), &[count]);
}

/// `here` takes `vcpu` from the queue of `peer`.
pub(super) fn stolen(cx: &mut Cx<'_>, here: PcpuId, peer: PcpuId, vcpu: VcpuId) {
    cx.note(here, STOLEN, Some(vcpu), &[u32::from(peer.0)]);
}

/// `pcpu` would suit `vcpu` best.
#[inline]
pub(super) fn picked(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, pcpu: PcpuId) {
    cx.note(here, PICKED_PCPU, Some(vcpu), &[u32::from(pcpu.0)]);
}

/// `pcpu` is asked for a pass.
#[inline]
pub(super) fn tickle(cx: &mut Cx<'_>, here: PcpuId, pcpu: PcpuId) {
    cx.note(here, TICKLE, None, &[u32::from(pcpu.0)]);
}

/// `vcpu` is boosted.
#[inline]
pub(super) fn boost_start(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId) {
    cx.note(here, BOOST_START, Some(vcpu), &[]);
}

/// `vcpu` is no longer boosted.
#[inline]
pub(super) fn boost_end(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId) {
    cx.note(here, BOOST_END, Some(vcpu), &[]);
}

/// A pass begins. The word is `pcpu`, 8 bits for pending hypervisor work (always 0 here), and 8
/// bits for whether the pcpu idled.
#[inline]
pub(super) fn schedule(cx: &mut Cx<'_>, pcpu: PcpuId, idle: bool) {
    let word = u32::from(pcpu.0) | u32::from(idle) << 24;
    cx.note(pcpu, SCHEDULE, None, &[word]);
}

/// `vcpu` ran for `ran` only and continues.
#[inline]
pub(super) fn ratelimit(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, ran: Duration) {
    // The record has 32 bits for a time under half a second.
    cx.note(here, RATELIMIT, Some(vcpu), &[ran.as_nanos() as u32]);
}

/// The queue of `peer` was searched for work, or not.
#[inline]
pub(super) fn steal_check(cx: &mut Cx<'_>, here: PcpuId, peer: PcpuId, searched: bool) {
    let words = [u32::from(peer.0), u32::from(searched)];
    cx.note(here, STEAL_CHECK, None, &words);
}

/// The boosted `vcpu` wakes where it cannot run immediately, and goes `from` there `to` where it
/// runs soonest, which took so many looks.
pub(super) fn balanced(
    cx: &mut Cx<'_>,
    here: PcpuId,
    vcpu: VcpuId,
    (from, to): (PcpuId, PcpuId),
    looks: u32,
) {
    let ways = u32::from(from.0) | u32::from(to.0) << 16;
    cx.note(here, BALANCED, Some(vcpu), &[ways, looks]);
}

/// `vcpu` was to be preempted and continues, with so many packets at hand.
pub(super) fn put_off(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, packets: u32) {
    cx.note(here, PUT_OFF, Some(vcpu), &[packets]);
}

/// `vcpu` would have run instead of a vcpu of `driver`.
pub(super) fn waits_for_driver(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, driver: DomainId) {
    cx.note(here, WAITS_FOR_DRIVER, Some(vcpu), &[u32::from(driver.0)]);
}

/// `vcpu` has continued for `held` since it was first to be preempted, over so many `passes`;
/// `bound` says that this was too long.
pub(super) fn dispatched(
    cx: &mut Cx<'_>,
    here: PcpuId,
    vcpu: VcpuId,
    held: Duration,
    passes: u32,
    bound: bool,
) {
    let [low, high] = halves(held);
    cx.note(
        here,
        DISPATCHED,
        Some(vcpu),
        &[low, high, passes, bound.into()],
    );
}

/// `vcpu` would have run for so long already, but for the packets of a driver domain.
pub(super) fn waited(cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId, waited: Duration) {
    cx.note(here, WAITED, Some(vcpu), &halves(waited));
}

/// The words of a time, the lower one first.
fn halves(time: Duration) -> [u32; 2] {
    let ns = time.as_nanos();
    [ns as u32, (ns >> 32) as u32]
}
