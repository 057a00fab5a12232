//! Starting from a given state.
//!
//! In the middle of a run credits, budgets and averages of load have values that no empty start
//! gives. A [`MidRun`] holds them, for a host that starts there.

use super::load::Change;
use super::params::GRANULARITY;
use super::{Credit2, ns};
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::Cx;
use domio_core::{DomainId, Instant, PcpuId, VcpuId};

/// The state that a host gives its policy at the start, in place of the empty one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MidRun {
    /// Vcpus, each at most once; those that are not named keep their state. Those that are runnable
    /// but not current are queued where they belong, by credit, and equal ones in this order.
    pub vcpus: Vec<MidRunVcpu>,
    /// Domains with a cap; others that are named are passed over.
    pub domains: Vec<MidRunPool>,
    /// Run queues whose load is known.
    pub runqs: Vec<MidRunLoad>,
}

/// State of one vcpu at a warm start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MidRunVcpu {
    /// Which.
    pub vcpu: VcpuId,
    /// Its credit now, in nanoseconds: -10 ms to 10.5 ms.
    pub credit: i64,
    /// What it has burned beyond whole credits, in parts of its weight; below that.
    pub residual: u32,
    /// When it was switched in, if it is current: the rate limit counts from there.
    pub entered: Instant,
    /// What it may still run before its domain is asked again, in nanoseconds; of no meaning
    /// without a cap.
    pub budget: i64,
    /// Its own load on average, in parts of 2^`load_precision_shift`.
    pub average: i64,
    /// Whether it is paused because its domain has no budget.
    pub parked: bool,
}

/// State of one domain with a cap at a warm start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MidRunPool {
    /// Which.
    pub domain: DomainId,
    /// What is left in its pool, in nanoseconds.
    pub budget: i64,
    /// When the pool is filled next.
    pub refill_at: Instant,
}

/// Load of one run queue at a warm start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MidRunLoad {
    /// A pcpu of it.
    pub pcpu: PcpuId,
    /// The load on average, in parts of 2^`load_precision_shift`.
    pub average: i64,
    /// The same moved on by balancing.
    pub balanced: i64,
}

impl Credit2 {
    /// The same policy, which takes `start` for its state when the host
    /// [resumes](domio_contract::Scheduler::resume).
    pub fn resuming(mut self, start: MidRun) -> Self {
        self.warm = Some(Box::new(start));
        self
    }

    /// Sets the state as if the host had run before. Those that run have their pcpus already.
    /// Nobody is woken: no pass is asked for.
    ///
    /// # Panics
    /// When a vcpu is named twice or was never inserted.
    pub(super) fn warm_start(&mut self, cx: &mut Cx<'_>, start: &MidRun) {
        for warm in &start.vcpus {
            self.warm_vcpu(cx, warm);
        }
        let now = ns(cx.now()) >> GRANULARITY;
        for warm in &start.runqs {
            let runq = self.runq_of(warm.pcpu);
            let r = &mut self.runqs[runq];
            (r.average, r.balanced, r.averaged) = (warm.average, warm.balanced, now);
        }
        for warm in &start.domains {
            if let Some(d) = self.domains.get_mut(warm.domain.index())
                && d.cap != 0
            {
                (d.budget, d.refill_at) = (warm.budget, ns(warm.refill_at));
                cx.set_domain_timer(warm.domain, warm.refill_at);
            }
        }
    }

    fn warm_vcpu(&mut self, cx: &mut Cx<'_>, warm: &MidRunVcpu) {
        let now = ns(cx.now());
        let current = cx.is_current(warm.vcpu);
        let v = &mut self.vcpus[warm.vcpu.index()];
        v.credit = warm.credit;
        v.residual = warm.residual;
        (v.average, v.averaged) = (warm.average, now >> GRANULARITY);
        if v.capped() {
            v.budget = warm.budget;
        }
        if current {
            v.entered = ns(warm.entered);
        }
        let domain = v.domain as usize;
        if warm.parked {
            self.domains[domain].parked.push(warm.vcpu);
        } else if !current && cx.vcpu(warm.vcpu).runnable() {
            self.update_load(cx, warm.vcpu, Change::Begins);
            self.enqueue(cx, warm.vcpu);
        }
    }

    /// Credit of `vcpu`, as of its last debit, in nanoseconds.
    pub fn credit(&self, vcpu: VcpuId) -> i64 {
        self.vcpus[vcpu.index()].credit
    }
}
