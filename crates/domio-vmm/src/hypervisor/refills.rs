//! Vcpus that have moved fetch their working sets again, as they execute.
//!
//! A move leaves a vcpu with a debt, the time that fetching its whole working set takes
//! ([`Profile::migration_refill`], [`Profile::socket_refill`]). The vcpu touches its working set
//! evenly in [`Profile::refill_span`] of progress, and pays in proportion: for `work` of progress,
//! `work * debt of a whole move / span` of it, until nothing is left. So a vcpu that is moved and
//! executes 10 us pays for what it touches in 10 us. What it has not touched yet stays a debt: the
//! vcpu may sleep, and pays when it executes again.
//!
//! Sums are whole nanoseconds, and what has been paid is never computed from rounded rests: a piece
//! of work takes the same time whether it is interrupted or not, but for a nanosecond for each
//! interruption.

use crate::profile::Profile;
use alloc::vec::Vec;
use domio_core::{Duration, VcpuId};

/// What vcpus have to fetch again.
pub struct Refills {
    /// What a move costs at most, in nanoseconds; 0 where all is paid before the first instruction.
    whole: u64,
    /// In which progress that is paid, in nanoseconds.
    span: u64,
    /// By vcpu, in nanoseconds.
    owed: Vec<u64>,
}

impl Refills {
    /// Nobody owes anything on a machine with these costs.
    pub fn new(profile: &Profile) -> Self {
        let whole = profile.migration_refill + profile.socket_refill;
        let span = profile.refill_span;
        Refills {
            whole: match span.is_zero() {
                true => 0,
                false => whole.as_nanos(),
            },
            span: span.as_nanos(),
            owed: Vec::new(),
        }
    }

    /// Whether debts are paid by and by.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.whole != 0
    }

    /// `vcpu` has moved, which costs `refill`. Returns what it pays before its first instruction.
    /// A move while it still owes for an earlier one has it fetch that once.
    pub fn moved(&mut self, vcpu: VcpuId, refill: Duration) -> Duration {
        if !self.any() {
            return refill;
        }
        if self.owed.len() <= vcpu.index() {
            self.owed.resize(vcpu.index() + 1, 0);
        }
        let owed = &mut self.owed[vcpu.index()];
        *owed = refill.as_nanos().max(*owed);
        Duration::ZERO
    }

    /// What `vcpu` owes, in nanoseconds.
    #[inline(always)]
    fn owes(&self, vcpu: VcpuId) -> u64 {
        self.owed.get(vcpu.index()).copied().unwrap_or(0)
    }

    /// How long `vcpu` takes for `work`.
    #[inline(always)]
    pub fn time_for(&self, vcpu: VcpuId, work: Duration) -> Duration {
        if !self.any() {
            return work;
        }
        match self.owes(vcpu) {
            0 => work,
            owed => work + Duration::from_nanos(self.paid(work.as_nanos(), owed)),
        }
    }

    /// What a vcpu that owes `owed` pays during `work` of progress.
    fn paid(&self, work: u64, owed: u64) -> u64 {
        match work >= self.span {
            true => owed,
            false => owed.min(self.rate(work)),
        }
    }

    /// What `work` of progress, up to the whole span, costs one who owes enough.
    fn rate(&self, work: u64) -> u64 {
        (u128::from(work) * u128::from(self.whole) / u128::from(self.span)) as u64
    }

    /// What `vcpu` gets done in `time`. The rest of the time is paid.
    #[inline(always)]
    pub fn work(&mut self, vcpu: VcpuId, time: Duration) -> Duration {
        if !self.any() || self.owes(vcpu) == 0 {
            return time;
        }
        self.pay(vcpu, time)
    }

    #[inline(never)]
    fn pay(&mut self, vcpu: VcpuId, time: Duration) -> Duration {
        let (time, owed) = (time.as_nanos(), self.owes(vcpu));
        // The most work whose time is no more than this: either all is paid, or a part.
        let all_paid = time.saturating_sub(owed);
        let in_step = u128::from(time.min(self.span.saturating_add(self.whole)));
        let together = u128::from(self.span) + u128::from(self.whole);
        let mut partly = (in_step * u128::from(self.span) / together) as u64;
        while partly < self.span && partly + 1 + self.rate(partly + 1) <= time {
            partly += 1;
        }
        let work = all_paid.max(partly);
        self.owed[vcpu.index()] = owed - (time - work).min(owed);
        Duration::from_nanos(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V: VcpuId = VcpuId(3);

    fn ns(ns: u64) -> Duration {
        Duration::from_nanos(ns)
    }

    fn refills(whole: u64, span: u64) -> Refills {
        Refills::new(&Profile {
            socket_refill: ns(whole),
            refill_span: ns(span),
            ..Profile::IDEAL
        })
    }

    #[test]
    fn a_vcpu_pays_for_what_it_executes_up_to_the_whole() {
        for (whole, span) in [
            (50_000, 50_000),
            (50_000, 16_000),
            (7, 50_000),
            (52_001, 333),
        ] {
            let mut refills = refills(whole, span);
            assert_eq!(refills.time_for(V, ns(10_000)), ns(10_000));
            assert_eq!(refills.moved(V, ns(whole)), Duration::ZERO);
            for work in [1, 100, span / 2, span - 1, span, 10 * span] {
                let time = refills.time_for(V, ns(work));
                let share = (work * whole).div_ceil(span).min(whole);
                assert!(time <= ns(work + share), "{work}: {time:?}");
                assert!(time + ns(1) >= ns(work + share), "{work}: {time:?}");
            }
        }
    }

    #[test]
    fn work_takes_the_time_that_was_foreseen_and_interruptions_hardly_change_it() {
        for (whole, span) in [
            (50_000, 50_000),
            (50_000, 16_000),
            (7, 50_000),
            (52_001, 333),
        ] {
            for pieces in [1, 7, 100] {
                let mut refills = refills(whole, span);
                refills.moved(V, ns(whole));
                let work = ns(span + 1_234);
                let mut left = refills.time_for(V, work);
                assert_eq!(left, work + ns(whole));
                let (each, mut done, mut passed) = (left / pieces, Duration::ZERO, ns(0));
                for _ in 1..pieces {
                    done += refills.work(V, each);
                    passed += each;
                    left = refills.time_for(V, work - done);
                    assert!(passed + left <= work + ns(whole), "{pieces}");
                    assert!(passed + left + ns(pieces) >= work + ns(whole), "{pieces}");
                }
                assert_eq!(
                    refills.work(V, left),
                    work - done,
                    "{whole} {span} {pieces}"
                );
                assert_eq!(refills.time_for(V, ns(999)), ns(999));
            }
        }
    }

    #[test]
    fn a_second_move_does_not_have_it_fetch_twice_what_it_has_not() {
        let mut refills = refills(50_000, 50_000);
        refills.moved(V, ns(50_000));
        assert_eq!(refills.work(V, ns(20_000)), ns(10_000));
        refills.moved(V, ns(2_000));
        assert_eq!(refills.time_for(V, ns(100_000)), ns(140_000));
        refills.moved(V, ns(50_000));
        assert_eq!(refills.time_for(V, ns(100_000)), ns(150_000));
    }

    #[test]
    fn without_a_span_all_is_paid_first() {
        let mut refills = refills(50_000, 0);
        assert_eq!(refills.moved(V, ns(50_000)), ns(50_000));
        assert_eq!(refills.work(V, ns(10)), ns(10));
    }
}
