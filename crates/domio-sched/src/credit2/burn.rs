//! Credit: what running costs, its reset, and how long a vcpu may run on it (xen-spec 4.1).

use super::params::{CREDIT_INIT, CREDIT_MAX, CREDIT_MIN, MAX_TIMER, MIN_TIMER};
use super::state::Vcpu;
use super::{Credit2, event, ns};
use domio_contract::Cx;
use domio_core::{Duration, PcpuId, VcpuId};

/// A sum or difference of credits as Xen keeps it. That matters only where credit has no end: what
/// is under -2^31 ns comes out at the top.
#[inline]
pub(super) fn in_32_bits(credit: i64) -> i64 {
    i64::from(credit as i32)
}

impl Vcpu {
    /// Debits it for `time`, in a run queue whose heaviest vcpu has `max_weight`; `ends` says that
    /// there is a least credit.
    #[inline]
    fn pay(&mut self, max_weight: u32, time: i64, ends: bool) {
        let burned = if self.weight == max_weight && self.residual < max_weight {
            // The usual case: what is left over stays the same.
            time
        } else {
            let parts = time as u64 * u64::from(max_weight) + u64::from(self.residual);
            let weight = u64::from(self.weight);
            self.residual = (parts % weight) as u32;
            (parts / weight) as i64
        };
        self.credit = match ends {
            true => (self.credit - burned).max(CREDIT_MIN),
            false => in_32_bits(self.credit - burned),
        };
    }

    /// The time that `credit` lasts.
    fn time_of(&self, max_weight: u32, credit: i64) -> i64 {
        match self.weight == max_weight {
            true => credit,
            false => credit * i64::from(self.weight) / i64::from(max_weight),
        }
    }
}

impl Credit2 {
    /// Debits `vcpu`, which is current, for its time since the last debit.
    #[inline]
    pub(super) fn burn(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let now = ns(cx.now());
        let v = &mut self.vcpus[vcpu.index()];
        let time = now - v.start;
        if time > 0 {
            let ends = self.settings.rules.credit_ends;
            v.pay(self.runqs[v.runq as usize].max_weight, time, ends);
            if v.capped() {
                v.budget -= time;
            }
            v.start = now;
        }
        event::burned(
            cx,
            self.here,
            vcpu,
            v.credit,
            v.capped().then_some(v.budget),
            time,
        );
    }

    /// The credit of all is used up: everyone in `runq` gets as much again. `next` is the vcpu that
    /// runs next on the pcpu that found out.
    ///
    /// The order of those that wait stays the same but for the clipping, and the list as it is.
    #[inline(never)]
    pub(super) fn reset(&mut self, cx: &mut Cx<'_>, runq: usize, next: VcpuId) {
        let gift = self.gift(self.vcpus[next.index()].credit);
        let now = ns(cx.now());
        let mut at = self.first_member(runq);
        while let Some(vcpu) = at {
            at = self.next_member(vcpu);
            if cx.is_current(vcpu) {
                self.burn(cx, vcpu);
                if self.vcpus[vcpu.index()].budget <= 0 {
                    // Somebody has to see that it stops.
                    self.ask_for_pass(cx, cx.vcpu(vcpu).pcpu);
                }
            }
            let v = &mut self.vcpus[vcpu.index()];
            let from = v.credit;
            v.credit = in_32_bits(from + gift).min(CREDIT_MAX);
            v.start = now;
            event::reset(cx, self.here, vcpu, from, v.credit);
        }
    }

    /// What a reset adds to everyone's credit when who is to run has `credit`.
    fn gift(&self, credit: i64) -> i64 {
        match self.settings.rules.credit_ends {
            true if credit == CREDIT_MIN => 2 * CREDIT_INIT,
            false if credit < -CREDIT_INIT => (1 + -credit / CREDIT_INIT) * CREDIT_INIT,
            _ => CREDIT_INIT,
        }
    }

    /// How long `next` runs on `pcpu`; `goes_on` says that it ran until now.
    #[inline]
    pub(super) fn slice(&self, cx: &Cx<'_>, pcpu: PcpuId, next: VcpuId, goes_on: bool) -> Duration {
        let runq = &self.runqs[self.runq_of(pcpu)];
        let v = &self.vcpus[next.index()];
        let mut least = MIN_TIMER;
        if self.settings.ratelimit != 0 {
            let left = match goes_on {
                true => v.entered + self.settings.ratelimit - ns(cx.now()),
                false => self.settings.ratelimit,
            };
            least = least.max(left);
        }
        // Until its credit ends, or is that of the first that waits with any.
        let credit = match self.vcpus.get(runq.head as usize) {
            Some(waits) if waits.credit > 0 => in_32_bits(v.credit - waits.credit),
            _ => v.credit,
        };
        let time = match credit > 0 {
            true => v.time_of(runq.max_weight, credit),
            false => 0,
        };
        let time = time.min(v.budget);
        let time = if time < least {
            least
        } else {
            time.min(MAX_TIMER)
        };
        Duration::from_nanos(time as u64)
    }
}
