//! Caps: budgets of domains, and parking (xen-spec 4.1 "Caps").
//!
//! A domain has a pool of time that is filled up every period. A vcpu that runs takes a quota out
//! of it, and brings back what it did not use. One that gets nothing is parked until there is
//! something in the pool again.
//!
//! Each domain has a timer for that, in Xen on a pcpu chosen at random when the domain is created.

use super::load::Change;
use super::params::{MIN_TIMER, MS};
use super::state::{NO_CAP, flag};
use super::{Credit2, ns};
use alloc::vec::Vec;
use domio_contract::Cx;
use domio_core::{DomainId, Instant, VcpuId};

impl Credit2 {
    /// Gets `vcpu`, whose domain has a cap, some budget unless it has any. Parks it when there is
    /// none.
    pub(super) fn grab_budget(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> bool {
        let v = &mut self.vcpus[vcpu.index()];
        if v.budget > 0 {
            return true;
        }
        let domain = &mut self.domains[v.domain as usize];
        // What it ran too long is the domain's debt.
        domain.budget += v.budget;
        if domain.budget > 0 {
            v.budget = domain.budget.min(v.quota);
            domain.budget -= v.budget;
            return true;
        }
        v.budget = 0;
        domain.parked.push(vcpu);
        cx.park(vcpu);
        if self.vcpus[vcpu.index()].has(flag::QUEUED) {
            self.dequeue(vcpu);
            self.update_load(cx, vcpu, Change::Ceases);
        }
        false
    }

    /// `vcpu`, which has stopped, brings back what it has left. Returns those that may run again.
    pub(super) fn return_budget(&mut self, vcpu: VcpuId) -> Vec<VcpuId> {
        let v = &mut self.vcpus[vcpu.index()];
        let domain = &mut self.domains[v.domain as usize];
        domain.budget += core::mem::take(&mut v.budget);
        match domain.budget > 0 {
            true => core::mem::take(&mut domain.parked),
            false => Vec::new(),
        }
    }

    /// Ends the pause of those in `parked`, the latest one first.
    pub(super) fn unpark(&mut self, cx: &mut Cx<'_>, parked: &[VcpuId]) {
        for &vcpu in parked.iter().rev() {
            let runnable = cx.unpark(vcpu);
            if self.vcpus[vcpu.index()].has(flag::SCHEDULED) {
                // It queues up when its state is saved.
                self.vcpus[vcpu.index()].set(flag::DELAYED_ADD);
            } else if runnable {
                self.begin_waiting(cx, vcpu);
            }
        }
    }

    /// Fills the pool of `domain` up, for every period that has passed. Returns when the next one
    /// is over.
    pub(super) fn refill(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        let now = ns(cx.now());
        let period = self.settings.cap_period;
        let domain = domain.index();
        let d = &mut self.domains[domain];
        while d.refill_at <= now {
            d.refill_at += period;
            d.budget += d.whole;
        }
        let again = Instant::from_nanos(d.refill_at as u64);
        if d.budget > 0 {
            d.budget = d.budget.min(d.whole);
            let parked = core::mem::take(&mut d.parked);
            self.unpark(cx, &parked);
            self.keep_list(domain, parked);
        }
        Some(again)
    }

    /// Gives the room of an emptied list back to its domain.
    pub(super) fn keep_list(&mut self, domain: usize, mut list: Vec<VcpuId>) {
        let parked = &mut self.domains[domain].parked;
        if parked.is_empty() && list.capacity() > parked.capacity() {
            list.clear();
            *parked = list;
        }
    }

    /// Puts the weight and the cap of `domain` into force.
    pub(super) fn adjust(&mut self, cx: &mut Cx<'_>, domain: DomainId, weight: u32, cap: i64) {
        let d = &mut self.domains[domain.index()];
        let old = core::mem::replace(&mut d.weight, weight);
        d.wanted_cap = cap;
        for i in 0..self.domains[domain.index()].vcpus.len() {
            let vcpu = self.domains[domain.index()].vcpus[i];
            let v = &mut self.vcpus[vcpu.index()];
            v.weight = weight;
            let runq = v.runq as usize;
            if runq < self.runqs.len() {
                self.follow_weight(cx, runq, weight, old);
            }
        }
        self.adjust_cap(cx, domain.index());
    }

    /// Puts the cap that was asked for `domain` into force, if its vcpus can reach it: Xen refuses
    /// any other, and what was before stays.
    pub(super) fn adjust_cap(&mut self, cx: &mut Cx<'_>, domain: usize) {
        let d = &mut self.domains[domain];
        let count = d.vcpus.len() as i64;
        if d.wanted_cap == 0 {
            if d.cap != 0 {
                self.end_cap(cx, domain);
            }
            return;
        }
        if d.wanted_cap > 100 * count {
            return;
        }
        d.whole = self.settings.cap_period * d.wanted_cap / 100;
        let quota = (d.whole / count).max(MIN_TIMER);
        let begins = d.cap == 0;
        d.cap = d.wanted_cap;
        if begins {
            d.budget = d.whole;
            d.refill_at = ns(cx.now()) + self.settings.cap_period;
        }
        for i in 0..self.domains[domain].vcpus.len() {
            let vcpu = self.domains[domain].vcpus[i];
            self.vcpus[vcpu.index()].quota = quota;
            if !self.vcpus[vcpu.index()].capped() {
                self.begin_budget(cx, vcpu);
            }
        }
        if begins {
            let at = self.domains[domain].refill_at;
            cx.set_domain_timer(DomainId(domain as u16), Instant::from_nanos(at as u64));
        }
    }

    /// `vcpu` needs a budget from now on.
    fn begin_budget(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            // What it ran until now is free.
            self.burn(cx, vcpu);
            let pcpu = cx.vcpu(vcpu).pcpu;
            let runq = self.runq_of(pcpu);
            self.runqs[runq].tickled.insert(pcpu);
            cx.tickle(pcpu);
        }
        self.vcpus[vcpu.index()].budget = 0;
    }

    fn end_cap(&mut self, cx: &mut Cx<'_>, domain: usize) {
        let d = &mut self.domains[domain];
        d.cap = 0;
        let parked = core::mem::take(&mut d.parked);
        for i in 0..self.domains[domain].vcpus.len() {
            let vcpu = self.domains[domain].vcpus[i];
            let v = &mut self.vcpus[vcpu.index()];
            (v.budget, v.quota) = (NO_CAP, 0);
        }
        cx.stop_domain_timer(DomainId(domain as u16));
        self.unpark(cx, &parked);
        self.keep_list(domain, parked);
    }
}

const _: () = assert!(MIN_TIMER < MS, "a cap period is at least a shortest slice");
