//! Private trace records, with the numbers and words of Xen 4.17 (`TRC_CSCHED2_*`).
//!
//! A record has at most three words here. Those that are longer in Xen, burned credit (3), load of
//! a vcpu (11), load of a run queue (12), balancing (17) and choice of a pcpu (19), end after the
//! third.

use super::state::Runq;
use crate::cx::Cx;
use crate::work::Work;
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

/// The word of a vcpu.
#[inline]
fn name(cx: &Cx<'_>, vcpu: VcpuId) -> u32 {
    cx.vcpu(vcpu).name.word()
}

/// The low half of a number of 64 bits, and its high half.
fn halves(value: i64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident($event:expr; $cx:ident, $here:ident $(, $arg:ident: $ty:ty)*)
        $words:expr
    ) => {
        $(#[$doc])*
        #[inline]
        pub(super) fn $name($cx: &mut Cx<'_>, $here: PcpuId $(, $arg: $ty)*) {
            if $cx.tracing() {
                let words = $words;
                $cx.note($here, $event, &words);
                if $event != SCHEDULE {
                    $cx.did(Work::Note, 1);
                }
            }
        }
    };
}

record! {
    /// `vcpu` waits from now on, behind `position` others.
    queued(QUEUED; cx, here, vcpu: VcpuId, position: u32) [name(cx, vcpu), position]
}
record! {
    /// `vcpu` was debited; `budget` is what its cap leaves it.
    burned(BURNED; cx, here, vcpu: VcpuId, credit: i64, budget: Option<i64>)
    [name(cx, vcpu), credit as u32, budget.map_or(i32::MIN as u32, |b| b as u32)]
}
record! {
    /// What is to be said for preempting `vcpu`.
    score(SCORE; cx, here, vcpu: VcpuId, credit: i64, score: i64)
    [name(cx, vcpu), credit as u32, score as u32]
}
record! {
    /// `pcpu` is asked for a pass.
    tickle(TICKLE; cx, here, pcpu: PcpuId) [u32::from(pcpu.0)]
}
record! {
    /// The credit of `vcpu` is reset.
    reset(RESET; cx, here, vcpu: VcpuId, from: i64, to: i64)
    [name(cx, vcpu), from as u32, to as u32]
}
record! {
    /// Averages of load are worked out anew.
    load(LOAD; cx, here) { [] }
}
record! {
    /// `vcpu` belongs to `runq` from now on.
    assigned(ASSIGNED; cx, here, vcpu: VcpuId, runq: usize) [name(cx, vcpu), runq as u32]
}
record! {
    /// The average load of `vcpu`.
    vcpu_load(VCPU_LOAD; cx, here, vcpu: VcpuId, average: i64) {
        let [low, high] = halves(average);
        [low, high, name(cx, vcpu)]
    }
}
record! {
    /// The average load of `runq`.
    runq_load(RUNQ_LOAD; cx, here, runq: &Runq, _number: usize, _shift: u32) {
        let [low, high] = halves(runq.average);
        [low, high, halves(runq.balanced)[0]]
    }
}
record! {
    /// A pcpu is looked for that `vcpu` can have.
    tickle_for(TICKLE_FOR; cx, here, vcpu: VcpuId, credit: i64)
    [name(cx, vcpu), u32::from(cx.vcpu(vcpu).pcpu.0), credit as u32]
}
record! {
    /// The highest weight in `runq` may have changed.
    max_weight(MAX_WEIGHT; cx, here, runq: usize, weight: u32) [weight << 16 | runq as u32]
}
record! {
    /// `vcpu` is to go from run queue `from` to run queue `to`.
    migrate(MIGRATE; cx, here, vcpu: VcpuId, from: usize, to: usize)
    [name(cx, vcpu), (to as u32) << 16 | from as u32]
}
record! {
    /// The greatest difference in load between `runq` and another is `delta`; `last` is the last
    /// of them.
    load_check(LOAD_CHECK; cx, here, runq: usize, last: usize, delta: i64)
    [(last as u32) << 16 | runq as u32, delta as u32]
}
record! {
    /// Load is evened out between run queues with these averages.
    balance(BALANCE; cx, here, own: i64, other: i64) {
        let [low, high] = halves(own);
        [low, high, halves(other)[0]]
    }
}
record! {
    /// `vcpu` goes where the average load is `average`.
    picked(PICKED_PCPU; cx, here, vcpu: VcpuId, average: i64) {
        let [low, high] = halves(average);
        [low, high, name(cx, vcpu)]
    }
}
record! {
    /// `vcpu`, none of them to idle, is what the pass comes to.
    candidate(CANDIDATE; cx, here, vcpu: Option<VcpuId>, tickled: u32, credit: i64)
    [vcpu.map_or(0x7fff_0000 | u32::from(here.0), |v| name(cx, v)), tickled, credit as u32]
}
record! {
    /// A pass begins on `here`.
    schedule(SCHEDULE; cx, here, runq: usize, idle: bool, smt_idle: bool, tickled: bool)
    [
        (runq as u32) << 16 | u32::from(here.0),
        u32::from(idle) << 8 | u32::from(smt_idle) << 16 | u32::from(tickled) << 24,
    ]
}
record! {
    /// `vcpu` ran for `ran` only and goes on.
    ratelimit(RATELIMIT; cx, here, vcpu: VcpuId, ran: i64) [name(cx, vcpu), ran as u32]
}
record! {
    /// A pass looks at `vcpu`, which waits.
    looked_at(LOOKED_AT; cx, here, vcpu: VcpuId) [name(cx, vcpu)]
}
