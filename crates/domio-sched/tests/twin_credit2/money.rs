//! What running costs: credit, and budgets under a cap.

use super::{MS, TwinCredit2, US, now};
use domio_core::{DomainId, Instant, VcpuId};
use domio_sched::Cx;

impl TwinCredit2 {
    /// Burn.
    pub(super) fn burn(&mut self, cx: &Cx<'_>, v: VcpuId) {
        let at = now(cx);
        let queue = self.get(v).queue.expect("it runs");
        let (weight, heaviest) = (self.weight(v), self.heaviest(queue));
        let its = self.v(v);
        let delta = at - its.paid;
        if delta <= 0 {
            return;
        }
        let value = delta * heaviest + its.residual;
        its.residual = value % weight;
        its.credit = (its.credit - value / weight).max(-10 * MS);
        its.budget = its.budget.map(|b| b - delta);
        its.paid = at;
    }

    /// Reset.
    pub(super) fn reset(&mut self, cx: &mut Cx<'_>, queue: usize, next: VcpuId) {
        let lowest = self.get(next).credit == -10 * MS;
        let gift = if lowest { 20 * MS } else { 10 * MS };
        for v in self.queues[queue].members.clone() {
            if cx.is_current(v) {
                self.burn(cx, v);
                if self.get(v).budget.is_some_and(|b| b <= 0) {
                    self.tickle_pcpu(cx, cx.vcpu(v).pcpu);
                }
            }
            let its = self.v(v);
            its.credit = (its.credit + gift).min(10 * MS + 500 * US);
            its.paid = now(cx);
        }
    }

    /// A unit takes its quota; it parks if there is nothing.
    pub(super) fn grab(&mut self, cx: &mut Cx<'_>, v: VcpuId) -> bool {
        let its = self.get(v).clone();
        let has = its.budget.expect("its domain has a cap");
        if has > 0 {
            return true;
        }
        let domain = self.d(its.domain);
        domain.pool += has;
        let taken = domain.pool.min(its.quota);
        if domain.pool > 0 {
            domain.pool -= taken;
            self.v(v).budget = Some(taken);
            return true;
        }
        domain.parked.push(v);
        self.v(v).budget = Some(0);
        cx.park(v);
        if self.waits(v) {
            self.unqueue(v);
            self.change_load(cx, v, -1);
        }
        false
    }

    /// It stops, and brings back what it has. Returns who may run again.
    pub(super) fn give_back(&mut self, v: VcpuId) -> Vec<VcpuId> {
        let its = self.get(v).clone();
        let Some(left) = its.budget.filter(|b| *b > 0) else {
            return Vec::new();
        };
        self.v(v).budget = Some(0);
        let domain = self.d(its.domain);
        domain.pool += left;
        match domain.pool > 0 {
            true => domain.parked.drain(..).collect(),
            false => Vec::new(),
        }
    }

    pub(super) fn unpark(&mut self, cx: &mut Cx<'_>, parked: Vec<VcpuId>) {
        for v in parked.into_iter().rev() {
            let runnable = cx.unpark(v);
            if self.get(v).scheduled {
                self.v(v).delayed = true;
            } else if runnable {
                self.appear(cx, v);
            }
        }
    }

    /// Every period of a domain with a cap.
    pub(super) fn replenish(&mut self, cx: &mut Cx<'_>, id: DomainId) -> Option<Instant> {
        let at = now(cx);
        let period = self.param("cap_period_ms") * MS;
        let domain = self.d(id);
        let whole = period * domain.cap / 100;
        while domain.next <= at {
            domain.next += period;
            domain.pool += whole;
        }
        let next = domain.next;
        if domain.pool > 0 {
            domain.pool = domain.pool.min(whole);
            let parked = domain.parked.drain(..).collect();
            self.unpark(cx, parked);
        }
        Some(Instant::from_nanos(next as u64))
    }

    pub(super) fn of_domain(&self, id: DomainId) -> Vec<VcpuId> {
        let mine = |i: &usize| self.vcpus[*i].as_ref().is_some_and(|v| v.domain == id);
        let all = (0..self.vcpus.len()).filter(mine);
        all.map(|i| VcpuId(i as u32)).collect()
    }

    /// Puts the cap that was asked for into force, if the vcpus can use it.
    pub(super) fn settle_cap(&mut self, cx: &mut Cx<'_>, id: DomainId) {
        let vcpus = self.of_domain(id);
        let (asked, before) = (self.d(id).asked, self.d(id).cap);
        if asked == 0 && before != 0 {
            self.d(id).cap = 0;
            for v in vcpus {
                self.v(v).budget = None;
            }
            cx.stop_domain_timer(id);
            let parked = self.d(id).parked.drain(..).collect();
            self.unpark(cx, parked);
            return;
        }
        if asked == 0 || asked > 100 * vcpus.len() as i128 {
            return;
        }
        let period = self.param("cap_period_ms") * MS;
        let whole = period * asked / 100;
        let at = now(cx);
        let domain = self.d(id);
        domain.cap = asked;
        if before == 0 {
            (domain.pool, domain.next) = (whole, at + period);
        }
        for v in &vcpus {
            self.v(*v).quota = (whole / vcpus.len() as i128).max(500 * US);
            if self.get(*v).budget.is_some() {
                continue;
            }
            if cx.is_current(*v) {
                self.burn(cx, *v);
                let pcpu = cx.vcpu(*v).pcpu;
                let queue = self.queue_of(pcpu);
                self.queues[queue].tickled.insert(pcpu);
                cx.tickle(pcpu);
            }
            self.v(*v).budget = Some(0);
        }
        if before == 0 {
            cx.set_domain_timer(id, Instant::from_nanos((at + period) as u64));
        }
    }
}
