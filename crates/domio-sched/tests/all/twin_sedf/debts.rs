//! SEDF-DC: steps 1 to 6 of Gupta and others 2006, section 4.1, in the paper's own quantities.
//!
//! `r` is worked out when it is needed, and written back as the time used. A deadline of a vcpu on
//! the waitq is that of its next period, as SEDF has it; the paper's is its begin.

use super::{List, TwinSedf};
use domio_core::{DomainId, Duration, ParamValues, VcpuId};

/// The parameters of SEDF-DC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    spread: bool,
    t: i128,
}

impl Feedback {
    pub fn new(params: &ParamValues) -> Option<Self> {
        Some(Feedback {
            spread: params.by_name("spread_debt")? == 1,
            t: i128::from(params.by_name("feedback_ms")?) * super::MS,
        })
    }
}

/// What a vcpu owes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debt {
    pub debt: i128,
    /// Most that a period pays; `None` for all that it can.
    spread_debt: Option<i128>,
    /// The deadline of the period that `share` is of.
    period: Option<i128>,
    /// What that period still pays.
    share: i128,
}

/// a ^- b of the paper.
fn minus(a: i128, b: i128) -> i128 {
    if a <= b { 0 } else { a - b }
}

impl TwinSedf {
    pub(super) fn charge_vcpus(&mut self, domain: DomainId, done: Duration) -> bool {
        let Some(feedback) = self.feedback else {
            return false;
        };
        let ids: Vec<VcpuId> = self.owing(domain);
        let done = i128::from(done.as_nanos());
        for (i, id) in ids.iter().enumerate() {
            let n = ids.len() as i128;
            let own = match i {
                0 => done - (n - 1) * (done / n),
                _ => done / n,
            };
            let v = self.v_mut(*id);
            let debt = (v.owes.debt + own).min(i128::from(i64::MAX / 4));
            v.owes.debt = debt;
            let period_freq = feedback.t / v.period;
            let spreads = feedback.spread && period_freq > 1;
            v.owes.spread_debt = spreads.then(|| debt / period_freq);
            if !spreads {
                // Due as a whole, also once periods have become short enough to spread a debt.
                v.owes.share = debt;
            }
        }
        !ids.is_empty()
    }

    pub(super) fn debt_of_vcpus(&self, domain: DomainId) -> Option<Duration> {
        self.feedback?;
        let ids = self.owing(domain);
        let sum: i128 = ids.iter().map(|v| self.v(*v).owes.debt).sum();
        (!ids.is_empty()).then(|| Duration::from_nanos(sum as u64))
    }

    fn owing(&self, domain: DomainId) -> Vec<VcpuId> {
        let all = self.vcpus.iter().enumerate();
        let of = all.filter_map(|(i, v)| Some((i, v.as_ref()?)));
        of.filter(|(_, v)| v.name.domain == domain && v.slice > 0)
            .map(|(i, _)| VcpuId(i as u32))
            .collect()
    }

    /// What may be taken off `r` now.
    fn due(&self, v: VcpuId) -> i128 {
        let v = self.v(v);
        match v.owes.spread_debt {
            None => v.owes.debt,
            Some(_) => v.owes.share.min(v.owes.debt),
        }
    }

    /// Step 1: `r` pays as much of the debt as it can.
    pub(super) fn pay(&mut self, v: VcpuId) {
        let r = self.v(v).slice - self.v(v).cputime;
        let due = self.due(v);
        if due <= 0 || r <= 0 {
            return;
        }
        let (r, paid) = if due <= r { (r - due, due) } else { (0, r) };
        let v = self.v_mut(v);
        v.cputime = v.slice - r;
        v.owes.debt -= paid;
        v.owes.share -= paid;
    }

    /// Steps 3 and 6: `r` of a period that has begun, and the queue that follows from that.
    pub(super) fn enter(&mut self, v: VcpuId, now: i128) -> List {
        while self.v(v).begin() <= now {
            let deadl = self.v(v).deadl;
            let owes = &mut self.v_mut(v).owes;
            if owes.period != deadl {
                owes.period = deadl;
                owes.share = owes.spread_debt.unwrap_or(owes.debt).min(owes.debt);
            }
            let paid_nothing = self.due(v) <= 0 || self.v(v).slice <= self.v(v).cputime;
            self.pay(v);
            let vcpu = self.v_mut(v);
            if paid_nothing || vcpu.cputime < vcpu.slice {
                return List::Runq;
            }
            // r = 0: it stays on the waitq, with the next deadline.
            vcpu.cputime = 0;
            vcpu.deadl = Some(vcpu.deadl() + vcpu.period);
        }
        List::Waitq
    }

    /// Step 6, but for what `enter` does.
    pub(super) fn unblock_with_debt(&mut self, v: VcpuId, now: i128) {
        let v = self.v_mut(v);
        let Some(d) = v.deadl else {
            v.deadl = Some(now + v.period);
            return;
        };
        if now < d {
            return;
        }
        let bl_periods = (now - d) / v.period;
        let r = minus(v.slice, v.cputime);
        v.owes.debt = minus(v.owes.debt, r + bl_periods * v.slice.max(0));
        v.cputime = 0;
        v.deadl = Some(d + (bl_periods + 1) * v.period);
    }
}
