//! What a Linux host reports beyond the records that every host has.

use domio_core::accounted::{INTERRUPTS, SOFTIRQS, TAKEN};
use domio_core::class::{Class, Declared, Field, QueueRules, Says, Unit, WaitsFor};
use domio_core::figure::{Better, Felt, Figure, FigureKind, FigureOf, FigureTable, floor};
use domio_core::{Adds, Tally};

/// Records of the class [`LINUX`], by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Linux {
    Pass,
    Queued,
    TurnOver,
    Limited,
    QueuesOn,
    Rank,
    MayUse,
    Irq,
    Softirq,
    GuestMode,
    HaltPoll,
    Ready,
    Skew,
    Uninterruptible,
    OfGuest,
    DiskWait,
    DiskQueued,
    DiskDone,
}

const fn declared(number: Linux, name: &'static str, fields: &'static [Field]) -> Declared {
    Declared::new(number as u8, name, fields)
}

const TIME: &[Field] = &[Field::long("time", 0, Unit::Nanoseconds)];

const GUEST: Tally = Tally::new("guest_mode_ns", Adds::Spent(0));
const POLL: Tally = Tally::new("halt_poll_ns", Adds::Spent(0));
const READY: Tally = Tally::new("ready_ns", Adds::Spent(0));
const DISK_WAIT: Tally = Tally::new("disk_wait_ns", Adds::Spent(0));
const SKEW: Tally = Tally::new("skew_ns", Adds::Spent(0));

/// What a Linux host says beside runstates. Times are of the actor, a thread: interrupts and
/// softirqs that were served in its time, its time in guest mode, and its polling instead of a
/// sleep when its guest halts. Ready time and skew are recorded of threads that execute a vcpu. A
/// thread that blocks in state D cannot be interrupted. Requests of disks are of the thread that
/// asked for them.
pub static LINUX: Class = Class::new(
    "linux",
    &[
        declared(Linux::Pass, "pass-pending", &[]).says(Says::Waits(WaitsFor::Pass)),
        declared(Linux::Queued, "queued", &[]).says(Says::Waits(WaitsFor::Queue)),
        declared(Linux::TurnOver, "turn-over", &[]).says(Says::Waits(WaitsFor::Turn)),
        declared(Linux::Limited, "limited", &[]).says(Says::Waits(WaitsFor::Limit)),
        declared(
            Linux::QueuesOn,
            "queues-on",
            &[
                Field::word("pcpu", 0, Unit::Pcpu),
                Field::word("from", 1, Unit::Pcpu),
            ],
        )
        .says(Says::QueuesOn { pcpu: 0 }),
        declared(Linux::Rank, "rank", &[Field::word("rank", 0, Unit::Number)])
            .says(Says::Ranks { rank: 0 }),
        declared(
            Linux::MayUse,
            "may-use",
            &[
                Field::word("first", 0, Unit::Pcpu),
                Field::long("mask", 1, Unit::Number),
            ],
        )
        .says(Says::MayUse { first: 0, mask: 1 }),
        declared(
            Linux::Irq,
            "irq",
            &[
                Field::word("irq", 0, Unit::Number),
                Field::long("time", 1, Unit::Nanoseconds),
            ],
        )
        .says(Says::Interrupted { time: 1 })
        .tallies(&[INTERRUPTS]),
        declared(
            Linux::Softirq,
            "softirq",
            &[
                Field::word("vector", 0, Unit::Number),
                Field::long("time", 1, Unit::Nanoseconds),
            ],
        )
        .says(Says::Interrupted { time: 1 })
        .tallies(&[SOFTIRQS]),
        declared(Linux::GuestMode, "guest-mode", TIME).tallies(&[GUEST]),
        declared(Linux::HaltPoll, "halt-poll", TIME).tallies(&[POLL]),
        declared(Linux::Ready, "ready", TIME).tallies(&[READY]),
        declared(Linux::Skew, "skew", TIME).tallies(&[SKEW]),
        declared(Linux::Uninterruptible, "uninterruptible", &[]).says(Says::Uninterruptible),
        declared(Linux::OfGuest, "of-guest", &[]).says(Says::OfGuest),
        declared(Linux::DiskWait, "disk-wait", TIME)
            .says(Says::WaitedForDisk { time: 0 })
            .tallies(&[DISK_WAIT]),
        declared(
            Linux::DiskQueued,
            "disk-queued",
            &[
                Field::word("disk", 0, Unit::Number),
                Field::long("time", 1, Unit::Nanoseconds),
            ],
        )
        .says(Says::DiskQueued { disk: 0, time: 1 }),
        declared(
            Linux::DiskDone,
            "disk-done",
            &[
                Field::word("disk", 0, Unit::Number),
                Field::long("time", 1, Unit::Nanoseconds),
                Field::bits("sectors", 96, 31, Unit::Number),
                Field::bits("writes", 127, 1, Unit::Flag),
            ],
        )
        .says(Says::DiskDone {
            disk: 0,
            time: 1,
            sectors: 2,
            writes: 3,
        }),
    ],
)
.with_queue(QueueRules {
    never_idles: true,
    ..QueueRules::NONE
})
.with_tables(&[&READY_TIME, &TAKEN, &ASLEEP, &FOR_DISKS]);

const OF_VCPUS: &str = "% of time";
const OF_ONE: &str = "% of one pcpu";

const fn share((key, title): (&'static str, &'static str), of: &'static [FigureOf]) -> Figure {
    Figure::new((key, title, OF_VCPUS), FigureKind::ShareOfVcpus, of)
        .better(Better::Lower, Felt::Cause(floor::POINTS))
}

/// Ready time by the names that owners of guests know it by. KVM has no co-stop: the skew is the
/// time in which a vcpu of the guest ran while another one waited, which is what co-scheduling
/// limits.
static READY_TIME: FigureTable = FigureTable {
    title: "ready time of guests",
    nearness: 0,
    figures: &[
        share(
            ("rdy_pct", "CPU ready (%RDY)"),
            &[FigureOf::Tally(READY.name)],
        ),
        Figure::new(
            ("steal_pct", "steal, all vcpus", OF_ONE),
            FigureKind::Share,
            &[FigureOf::Tally(READY.name)],
        )
        .better(Better::Lower, Felt::Cause(floor::POINTS)),
        Figure::new(
            ("skew_pct", "skew (co-stop)", "% of time"),
            FigureKind::Share,
            &[FigureOf::Tally(SKEW.name)],
        )
        .only_some()
        .better(Better::Lower, Felt::Never),
        share(
            ("guest_mode_pct", "in guest mode"),
            &[FigureOf::Tally(GUEST.name)],
        )
        .only_some()
        .better(Better::Neither, Felt::Never),
        share(
            ("halt_poll_pct", "halt polling"),
            &[FigureOf::Tally(POLL.name)],
        )
        .only_some(),
    ],
};

/// Sleep that is no wait for a processor, and none for something to do either.
static ASLEEP: FigureTable = FigureTable {
    title: "waits for a disk, a lock or memory (state D)",
    nearness: 0,
    figures: &[share(
        ("uninterruptible_pct", "in state D"),
        &[FigureOf::Uninterruptible],
    )
    .only_some()],
};

/// The part of that sleep that ended with a request of the thread or its group.
static FOR_DISKS: FigureTable = FigureTable {
    title: "waits for a disk",
    nearness: 0,
    figures: &[share(
        ("disk_wait_pct", "waiting for a disk"),
        &[FigureOf::Tally(DISK_WAIT.name)],
    )
    .only_some()],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_declared_by_their_numbers() {
        for (i, record) in LINUX.records.iter().enumerate() {
            assert_eq!(usize::from(record.number), i, "{}", record.name);
        }
        assert_eq!(LINUX.records.len(), Linux::DiskDone as usize + 1);
    }
}
