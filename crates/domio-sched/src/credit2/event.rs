//! Private trace records, with the numbers and words of Xen 4.17 (`TRC_CSCHED2_*`).
//!
//! The vcpu that a record is about is its actor, and no word. The load of a run queue (12),
//! balancing (17) and the choice of a pcpu (19) continue in Xen after the words that are here.

use super::state::Runq;
use domio_contract::{Cx, Work};
use domio_core::class::{Class, Declared, Field, Says, Shows, Unit};
use domio_core::{PcpuId, VcpuId};

const QUEUED: u8 = 2;
const BURNED: u8 = 3;
const SCORE: u8 = 5;
const TICKLE: u8 = 6;
const RESET: u8 = 7;
const LOAD: u8 = 9;
const ASSIGNED: u8 = 10;
const VCPU_LOAD: u8 = 11;
const RUNQ_LOAD: u8 = 12;
const TICKLE_FOR: u8 = 13;
const MAX_WEIGHT: u8 = 14;
const MIGRATE: u8 = 15;
const LOAD_CHECK: u8 = 16;
const BALANCE: u8 = 17;
const PICKED_PCPU: u8 = 19;
const CANDIDATE: u8 = 20;
const SCHEDULE: u8 = 21;
const RATELIMIT: u8 = 22;
const LOOKED_AT: u8 = 23;

/// What [`Descriptor::class`](domio_contract::Descriptor::class) of credit2 says.
pub static CLASS: Class = Class::new(
    "credit2",
    &[
        Declared::new(
            QUEUED,
            "queued",
            &[Field::word("position", 0, Unit::Number)],
        ),
        Declared::new(
            BURNED,
            "credit burned",
            &[
                CREDIT,
                Field::word("budget", 1, Unit::Signed),
                Field::word("ran", 2, Unit::Nanoseconds),
            ],
        )
        .says(Says::Credit {
            credit: 0,
            budget: Some(1),
        })
        .shows(CREDITS),
        Declared::new(
            SCORE,
            "preempted for",
            &[CREDIT, Field::word("score", 1, Unit::Signed)],
        ),
        Declared::new(TICKLE, "tickled", &[PCPU])
            .says(Says::Tickled { pcpu: 0 })
            .shows(TICKLES),
        Declared::new(
            RESET,
            "credit reset",
            &[
                Field::word("from", 0, Unit::Signed),
                Field::word("to", 1, Unit::Signed),
            ],
        )
        .says(Says::Credit {
            credit: 1,
            budget: None,
        })
        .shows(CREDITS),
        Declared::new(LOAD, "loads worked out", &[]),
        Declared::new(
            ASSIGNED,
            "assigned",
            &[Field::word("runq", 0, Unit::Number)],
        ),
        Declared::new(
            VCPU_LOAD,
            "load of a vcpu",
            &[AVERAGE, Field::word("shift", 2, Unit::Number)],
        ),
        Declared::new(
            RUNQ_LOAD,
            "load of a run queue",
            &[AVERAGE, Field::long("balanced", 2, Unit::Signed)],
        ),
        // The credit is that of who is to run: how a pcpu is looked for that it can have.
        Declared::new(
            TICKLE_FOR,
            "pcpu looked for",
            &[PCPU, Field::word("credit", 1, Unit::Signed)],
        )
        .says(Says::Credit {
            credit: 1,
            budget: None,
        })
        .shows(CREDITS.and(TICKLES)),
        Declared::new(
            MAX_WEIGHT,
            "highest weight",
            &[
                Field::bits("runq", 0, 16, Unit::Number),
                Field::bits("weight", 16, 16, Unit::Number),
            ],
        ),
        Declared::new(
            MIGRATE,
            "to another run queue",
            &[
                Field::bits("from", 0, 16, Unit::Number),
                Field::bits("to", 16, 16, Unit::Number),
            ],
        ),
        Declared::new(
            LOAD_CHECK,
            "loads compared",
            &[
                Field::bits("runq", 0, 16, Unit::Number),
                Field::bits("other", 16, 16, Unit::Number),
                Field::word("difference", 1, Unit::Number),
            ],
        ),
        Declared::new(
            BALANCE,
            "loads evened out",
            &[AVERAGE, Field::long("other", 2, Unit::Signed)],
        ),
        Declared::new(PICKED_PCPU, "run queue picked", &[AVERAGE]),
        // Without an actor, what the pass comes to is idling.
        Declared::new(
            CANDIDATE,
            "candidate",
            &[
                Field::word("tickled", 0, Unit::Signed),
                Field::word("credit", 1, Unit::Signed),
            ],
        )
        .shows(LIMITS),
        Declared::new(
            SCHEDULE,
            "pass",
            &[
                Field::bits("pcpu", 0, 16, Unit::Pcpu),
                Field::bits("runq", 16, 16, Unit::Number),
                Field::bits("tasklet", 32, 8, Unit::Flag),
                Field::bits("idle", 40, 8, Unit::Flag),
                Field::bits("smt_idle", 48, 8, Unit::Flag),
                Field::bits("tickled", 56, 8, Unit::Flag),
            ],
        )
        .says(Says::Pass)
        .shows(LIMITS),
        Declared::new(
            RATELIMIT,
            "goes on: rate limit",
            &[Field::word("ran", 0, Unit::Nanoseconds)],
        )
        .says(Says::RateLimited)
        .shows(LIMITS),
        Declared::new(LOOKED_AT, "looked at", &[]).shows(LIMITS),
    ],
);

const CREDIT: Field = Field::word("credit", 0, Unit::Signed);
const PCPU: Field = Field::word("pcpu", 0, Unit::Pcpu);
const AVERAGE: Field = Field::long("average", 0, Unit::Signed);

const CREDITS: Shows = Shows {
    credits: true,
    ..Shows::NOTHING
};
const TICKLES: Shows = Shows {
    tickles: true,
    ..Shows::NOTHING
};
const LIMITS: Shows = Shows {
    limits: true,
    ..Shows::NOTHING
};

/// The low half of a number of 64 bits, and its high half.
fn halves(value: i64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident($event:expr; $cx:ident, $here:ident $(, $arg:ident: $ty:ty)*)
        $about:expr => $words:expr
    ) => {
        $(#[$doc])*
        #[inline]
        pub(super) fn $name($cx: &mut Cx<'_>, $here: PcpuId $(, $arg: $ty)*) {
            if $cx.tracing() {
                let words = $words;
                $cx.note($here, $event, $about, &words);
                if $event != SCHEDULE {
                    $cx.did(Work::Note, 1);
                }
            }
        }
    };
}

record! {
    /// `vcpu` waits from now on, behind `position` others.
    queued(QUEUED; cx, here, vcpu: VcpuId, position: u32) Some(vcpu) => [position]
}
record! {
    /// `vcpu` ran for `ran` and was debited; `budget` is what its cap leaves it.
    burned(BURNED; cx, here, vcpu: VcpuId, credit: i64, budget: Option<i64>, ran: i64)
    Some(vcpu) => [credit as u32, budget.map_or(i32::MIN as u32, |b| b as u32), ran as u32]
}
record! {
    /// What is to be said for preempting `vcpu`.
    score(SCORE; cx, here, vcpu: VcpuId, credit: i64, score: i64)
    Some(vcpu) => [credit as u32, score as u32]
}
record! {
    /// `pcpu` is asked for a pass.
    tickle(TICKLE; cx, here, pcpu: PcpuId) None => [u32::from(pcpu.0)]
}
record! {
    /// The credit of `vcpu` is reset.
    reset(RESET; cx, here, vcpu: VcpuId, from: i64, to: i64)
    Some(vcpu) => [from as u32, to as u32]
}
record! {
    /// Averages of load are worked out anew.
    load(LOAD; cx, here) None => []
}
record! {
    /// `vcpu` belongs to `runq` from now on.
    assigned(ASSIGNED; cx, here, vcpu: VcpuId, runq: usize) Some(vcpu) => [runq as u32]
}
record! {
    /// The average load of `vcpu`, in parts of 2^`shift`.
    vcpu_load(VCPU_LOAD; cx, here, vcpu: VcpuId, average: i64, shift: u32) Some(vcpu) => {
        let [low, high] = halves(average);
        [low, high, shift]
    }
}
record! {
    /// The average load of `runq`.
    runq_load(RUNQ_LOAD; cx, here, runq: &Runq) None => {
        let ([low, high], [low_b, high_b]) = (halves(runq.average), halves(runq.balanced));
        [low, high, low_b, high_b]
    }
}
record! {
    /// A pcpu is looked for that `vcpu` can have.
    tickle_for(TICKLE_FOR; cx, here, vcpu: VcpuId, credit: i64)
    Some(vcpu) => [u32::from(cx.vcpu(vcpu).pcpu.0), credit as u32]
}
record! {
    /// The highest weight in `runq` may have changed.
    max_weight(MAX_WEIGHT; cx, here, runq: usize, weight: u32) None => [weight << 16 | runq as u32]
}
record! {
    /// `vcpu` is to go from run queue `from` to run queue `to`.
    migrate(MIGRATE; cx, here, vcpu: VcpuId, from: usize, to: usize)
    Some(vcpu) => [(to as u32) << 16 | from as u32]
}
record! {
    /// The greatest difference in load between `runq` and another is `delta`; `last` is the last
    /// of them.
    load_check(LOAD_CHECK; cx, here, runq: usize, last: usize, delta: i64)
    None => [(last as u32) << 16 | runq as u32, delta as u32]
}
record! {
    /// Load is evened out between run queues with these averages.
    balance(BALANCE; cx, here, own: i64, other: i64) None => {
        let ([low, high], [low_o, high_o]) = (halves(own), halves(other));
        [low, high, low_o, high_o]
    }
}
record! {
    /// `vcpu` goes where the average load is `average`.
    picked(PICKED_PCPU; cx, here, vcpu: VcpuId, average: i64) Some(vcpu) => halves(average)
}
record! {
    /// `vcpu`, none of them to idle, is what the pass comes to.
    candidate(CANDIDATE; cx, here, vcpu: Option<VcpuId>, tickled: u32, credit: i64)
    vcpu => [tickled, credit as u32]
}
record! {
    /// A pass begins on `here`.
    schedule(SCHEDULE; cx, here, runq: usize, idle: bool, smt_idle: bool, tickled: bool)
    None => [
        (runq as u32) << 16 | u32::from(here.0),
        u32::from(idle) << 8 | u32::from(smt_idle) << 16 | u32::from(tickled) << 24,
    ]
}
record! {
    /// `vcpu` ran for `ran` only and continues.
    ratelimit(RATELIMIT; cx, here, vcpu: VcpuId, ran: i64) Some(vcpu) => [ran as u32]
}
record! {
    /// A pass looks at `vcpu`, which waits.
    looked_at(LOOKED_AT; cx, here, vcpu: VcpuId) Some(vcpu) => []
}
