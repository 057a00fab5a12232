//! Wake-ups: what becomes of the period in which a vcpu slept (xen-spec 2, "Wake").

use super::event::Woke;
use super::extra::score_of;
use super::params::Unblock;
use super::pass::ceil_div;
use super::state::{EXTRA_QUANTUM, NEVER, Queue, Vcpu, flag};
use super::{Sedf, event, ns};
use domio_contract::Cx;
use domio_core::VcpuId;

/// Gives up what is left of the current period: the next one has a slice of its own.
fn skip_period(v: &mut Vcpu) {
    v.deadline += v.period;
    v.cputime = 0;
}

/// A period begins now, wherever the old ones would have begun.
fn begin_now(v: &mut Vcpu, now: i64) {
    v.deadline = now + v.period;
    v.cputime = 0;
}

impl Sedf {
    /// `vcpu` is runnable from now on.
    pub(super) fn wake_up(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus[vcpu.index()].linked() {
            return;
        }
        let now = ns(cx.now());
        let (woke, lost) = match self.collector {
            Some(_) => (self.wake_with_debt(vcpu, now), 0),
            None => self.wake_as_xen_does(vcpu, now),
        };
        let queue = self.begin_period(cx, vcpu);
        if self.vcpus[vcpu.index()].has(flag::AWARE) {
            self.enqueue(Queue::Utilisation, vcpu);
        }
        self.enqueue(queue, vcpu);
        let v = &mut self.vcpus[vcpu.index()];
        match v.is_held() {
            true => v.set(flag::HELD),
            false => v.clear(flag::HELD),
        }
        event::woke(cx, vcpu, woke, v, now, lost);
        if self.preempts(cx, vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        }
    }

    /// What a wake-up does to the deadline of `vcpu` under plain SEDF, and how much of its slice it
    /// loses by that.
    fn wake_as_xen_does(&mut self, vcpu: VcpuId, now: i64) -> (Woke, i64) {
        let v = &mut self.vcpus[vcpu.index()];
        if v.deadline == NEVER {
            v.deadline = now + v.slice;
        }
        let mut lost = 0;
        let woke = if now < v.begin() {
            if v.has(flag::WANT_PENALTY) {
                self.enqueue(Queue::Penalty, vcpu);
            }
            Woke::InExtraTime
        } else if now < v.deadline {
            lost = self.wake_after_short_block(vcpu, now);
            Woke::Short
        } else {
            let (unblock, v) = (self.unblock, &mut self.vcpus[vcpu.index()]);
            wake_after_long_block(unblock, v, now);
            Woke::Long
        };
        (woke, lost)
    }

    /// `vcpu` woke in the period in which it fell asleep. Returns how much of its slice it lost.
    fn wake_after_short_block(&mut self, vcpu: VcpuId, now: i64) -> i64 {
        let v = &mut self.vcpus[vcpu.index()];
        match self.unblock {
            Unblock::ExtraSupport => return self.support_by_extra_time(vcpu),
            Unblock::ShortResume if v.slept != NEVER => {
                v.cputime += now - v.slept;
                if v.cputime + EXTRA_QUANTUM > v.slice {
                    skip_period(v);
                }
            }
            _ => skip_period(v),
        }
        0
    }

    /// The rest of the slice is lost, but a turn of extra time before others makes up for some of
    /// it.
    fn support_by_extra_time(&mut self, vcpu: VcpuId) -> i64 {
        let v = &mut self.vcpus[vcpu.index()];
        if v.slept == NEVER {
            skip_period(v);
            return 0;
        }
        let lost = (v.slice - v.cputime).max(0);
        skip_period(v);
        v.lost = lost;
        if lost > 0 {
            v.score[0] = score_of(v.period, lost);
            v.set(flag::WANT_PENALTY);
            self.enqueue(Queue::Penalty, vcpu);
        }
        lost
    }
}

/// `a * b / c`, rounded towards zero: two lengths of seconds multiply to more than 64 bits.
pub(super) fn scaled(a: i64, b: i64, c: i64) -> i64 {
    (i128::from(a) * i128::from(b) / i128::from(c)) as i64
}

/// `v` woke when the period in which it fell asleep was over.
fn wake_after_long_block(unblock: Unblock, v: &mut Vcpu, now: i64) {
    match unblock {
        Unblock::IsochronousEdf => {
            v.deadline += (ceil_div(now - v.deadline, v.period) + 1) * v.period;
            v.cputime = 0;
        }
        Unblock::Atropos if v.latency > 0 => {
            v.period = v.latency;
            v.slice = scaled(v.latency, v.slice_orig, v.period_orig);
            begin_now(v, now);
        }
        _ => begin_now(v, now),
    }
}
