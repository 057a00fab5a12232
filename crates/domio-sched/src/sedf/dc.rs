//! SEDF-DC, the debt collector: SEDF in which a domain pays for what driver domains do on its
//! behalf (Gupta and others 2006, section 4).
//!
//! From time to time a vcpu is charged for such work. The charges add up to its debt, and the debt
//! is taken off what is left of its slice: when it is switched out (step 1 of the paper), when a
//! period of its begins (step 3) and when it wakes (step 6). Queues, extra time, weights and the
//! choice of a pcpu are those of SEDF.
//!
//! The paper's remaining time `r` is `slice - cputime` here, and its deadline `d` of a domain in
//! the wait queue is the begin of the next period: SEDF moves a deadline when a slice is used up,
//! the paper when the old one has passed.

use super::event::{self, Woke};
use super::params::{DomainParams, RELEASE, release};
use super::state::{NEVER, Queue, Vcpu, flag};
use super::{Sedf, ns};
use core::fmt;
use domio_contract::{Cx, Descriptor, Promises};
use domio_core::params::{Params as _, flag, int};
use domio_core::{DomainId, Duration, VcpuId, XenVersion};

const MS: i64 = 1_000_000;

/// No vcpu owes more, however long it is charged without end: 73 years.
const DEBT_MAX: i64 = i64::MAX / 4;

params! {
    /// Parameters of the policy as a whole.
    pub(super) struct Params {
        // The oldest release is the paper's.
        version: XenVersion = release(XenVersion::V3_0), RELEASE;
        spread_debt: bool = flag(true),
            "Whether a debt is spread over the periods in a feedback interval, so that each pays \
             its part; else the next periods pay all that they can (Gupta 2006, 4.1).";
        feedback_ms: i64 = int("ms", (1, 60_000), 500),
            "Length of the feedback interval that a debt is spread over, to be that of the \
             controller that charges (Gupta 2006, 4.1).";
    }
}

/// What this policy is.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "sedf-dc",
    summary: "SEDF that charges a domain's slices for what driver domains do on its behalf",
    source: "Gupta, Cherkasova, Gardner, Vahdat 2006, section 4; Xen 3.0, sched_sedf.c",
    params: Params::SPECS,
    domain_params: DomainParams::SPECS,
    promises: Promises {
        charges: true,
        ..super::DESCRIPTOR.promises
    },
    ..super::DESCRIPTOR
};

/// How debts are collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Collector {
    /// Whether each period pays a part only.
    spread: bool,
    /// The feedback interval, in nanoseconds.
    feedback: i64,
}

impl Collector {
    pub fn new(params: &Params) -> Self {
        Collector {
            spread: params.spread_debt,
            feedback: params.feedback_ms * MS,
        }
    }

    /// What each period of `v` pays at most: `spread_debt` of the paper, or all.
    fn quota(self, v: &Vcpu) -> i64 {
        match self.feedback / v.period {
            periods @ 2.. if self.spread => v.debt / periods,
            _ => v.debt,
        }
    }

    /// Whether a period pays its part only.
    fn spreads(self, v: &Vcpu) -> bool {
        self.spread && self.feedback / v.period > 1
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feedback = Duration::from_nanos(self.feedback as u64);
        match self.spread {
            true => write!(f, "debts spread over {feedback}"),
            false => f.write_str("debts collected immediately"),
        }
    }
}

impl Sedf {
    /// The vcpus of `domain` that can be charged: those that reserve something.
    fn chargeable(&self, domain: DomainId) -> impl Iterator<Item = VcpuId> + '_ {
        let all = self.vcpus.iter().enumerate();
        all.filter(move |(_, v)| v.has(flag::PRESENT) && v.domain == domain.0 && v.slice > 0)
            .map(|(i, _)| VcpuId(i as u32))
    }

    /// Others have worked for `domain` for so long. Its vcpus owe equal parts; what the division
    /// leaves is owed by the first one.
    pub(super) fn charge_domain(
        &mut self,
        cx: &mut Cx<'_>,
        domain: DomainId,
        done: Duration,
    ) -> bool {
        let Some(collector) = self.collector else {
            return false;
        };
        let vcpus = self.chargeable(domain).count() as u64;
        if vcpus == 0 {
            return false;
        }
        let (part, mut rest) = (done.as_nanos() / vcpus, done.as_nanos() % vcpus);
        for i in 0..self.vcpus.len() {
            let v = &mut self.vcpus[i];
            if !(v.has(flag::PRESENT) && v.domain == domain.0 && v.slice > 0) {
                continue;
            }
            let own = i64::try_from(part + core::mem::take(&mut rest)).unwrap_or(DEBT_MAX);
            v.debt = v.debt.saturating_add(own).min(DEBT_MAX);
            v.quota = collector.quota(v);
            if !collector.spreads(v) {
                v.due = v.debt;
            }
            event::charged(cx, VcpuId(i as u32), v, own);
        }
        true
    }

    /// What `domain` owes.
    pub(super) fn debt_of(&self, domain: DomainId) -> Option<Duration> {
        self.collector?;
        let mut sum = None;
        for vcpu in self.chargeable(domain) {
            let debt = Duration::from_nanos(self.vcpus[vcpu.index()].debt as u64);
            sum = Some(sum.unwrap_or(Duration::ZERO).saturating_add(debt));
        }
        sum
    }

    /// Takes what is due off what is left of the slice of `vcpu`, as far as that goes (step 1).
    pub(super) fn collect(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        let paid = v.due.min(v.debt).min(v.remaining());
        if paid > 0 {
            v.cputime += paid;
            v.due -= paid;
            v.debt -= paid;
            event::collected(cx, vcpu, v, paid);
        }
    }

    /// The queue that `vcpu` belongs into by its deadline, having paid what is due if its period
    /// has begun (steps 3 and 6). A period whose slice goes to the debt as a whole is over, and the
    /// next one is looked at.
    pub(super) fn begin_period(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> Queue {
        let now = ns(cx.now());
        loop {
            let v = &mut self.vcpus[vcpu.index()];
            if v.begin() > now {
                return Queue::Wait;
            }
            if v.due_in != v.deadline {
                v.due_in = v.deadline;
                v.due = v.debt.min(v.quota);
            }
            if v.due == 0 || v.remaining() <= 0 {
                return Queue::Run;
            }
            self.collect(cx, vcpu);
            let v = &mut self.vcpus[vcpu.index()];
            if v.remaining() > 0 {
                return Queue::Run;
            }
            v.deadline += v.period;
            v.cputime = 0;
            event::deadline(cx, vcpu, v);
        }
    }

    /// `vcpu` wakes: within its period it continues with what is left of its slice; after that,
    /// what it has not used while it slept goes to its debt (step 6).
    pub(super) fn wake_with_debt(&mut self, vcpu: VcpuId, now: i64) -> Woke {
        let v = &mut self.vcpus[vcpu.index()];
        if v.deadline == NEVER {
            v.deadline = now + v.period;
            return Woke::Long;
        }
        if now < v.begin() {
            return Woke::InExtraTime;
        }
        if now < v.deadline {
            return Woke::Short;
        }
        let periods = (now - v.deadline) / v.period;
        let slept_over = periods.saturating_mul(v.slice.max(0));
        let unused = slept_over.saturating_add(v.remaining().max(0));
        v.debt = v.debt.saturating_sub(unused).max(0);
        v.deadline += (periods + 1) * v.period;
        v.cputime = 0;
        Woke::Long
    }
}
