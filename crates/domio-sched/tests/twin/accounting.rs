//! Ticks and accounting.

use super::{ACCOUNTING, BOOST, OVER, TICK, TwinCredit, UNDER};
use domio_core::{PcpuId, VcpuId, XenVersion};
use domio_sched::Cx;

/// xen-spec 0.1.
fn ceil(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

impl TwinCredit {
    /// Credits of one time slice and of one accounting: 300 for 30 ms.
    fn credits_per_tslice(&self) -> i64 {
        10 * self.tslice_ms
    }

    /// What counts as the weight of a domain: times its active vcpus since 4.1.
    fn weight_of(&self, domain: usize) -> i64 {
        let d = &self.domains[domain];
        if self.since(XenVersion::V4_1) {
            d.weight * d.active.len() as i64
        } else {
            d.weight
        }
    }

    pub(super) fn arm_accounting(&mut self, cx: &mut Cx<'_>) {
        if let Some(master) = self.master
            && self.since(XenVersion::V3_4)
        {
            self.next_accounting = cx.now() + self.tslice();
            cx.set_timer(master, ACCOUNTING, self.next_accounting);
        }
    }

    pub(super) fn tick(&mut self, cx: &mut Cx<'_>, p: PcpuId) {
        self.pcpus[p.index()].ticks += 1;
        if let Some(curr) = cx.current(p) {
            self.account_vcpu(cx, p, curr);
        }
        let third = self.pcpus[p.index()].ticks.is_multiple_of(3);
        if !self.since(XenVersion::V3_4) && self.master == Some(p) && third {
            self.account(cx, p);
        }
        if self.pcpus[p.index()].sorted != self.epoch {
            self.pcpus[p.index()].sorted = self.epoch;
            self.sort(p);
        }
        cx.set_timer_in(p, TICK, self.tick_length());
    }

    fn account_vcpu(&mut self, cx: &mut Cx<'_>, p: PcpuId, v: VcpuId) {
        if self.v(v).pri == BOOST {
            self.v_mut(v).pri = UNDER;
        }
        if self.since(XenVersion::V4_0) {
            self.burn(v, cx.now());
        } else {
            self.v_mut(v).credit -= 100;
        }
        if !self.is_active(v) {
            self.activate(v);
        } else if self.cpu_pick(cx, v, p, false) != p {
            cx.migrate(v);
            cx.tickle(p);
        }
    }

    fn is_active(&self, v: VcpuId) -> bool {
        self.domains.iter().any(|d| d.active.contains(&v))
    }

    fn activate(&mut self, v: VcpuId) {
        let id = self.v(v).domain;
        let domain = self.domain_mut(id);
        domain.active.insert(0, v);
        if domain.active.len() == 1 {
            self.active.insert(0, id);
        }
    }

    pub(super) fn deactivate(&mut self, v: VcpuId) {
        let id = self.v(v).domain;
        let domain = self.domain_mut(id);
        domain.active.retain(|a| *a != v);
        if domain.active.is_empty() {
            self.active.retain(|a| *a != id);
        }
    }

    /// Every entry of UNDER or BOOST in front of the others, each in the order it had.
    fn sort(&mut self, p: PcpuId) {
        let queue = self.pcpus[p.index()].queue.clone();
        let (mut first, last): (Vec<_>, Vec<_>) =
            queue.into_iter().partition(|v| self.v(*v).pri >= UNDER);
        first.extend(last);
        self.pcpus[p.index()].queue = first;
    }

    pub(super) fn account(&mut self, cx: &mut Cx<'_>, here: PcpuId) {
        let per_slice = self.credits_per_tslice();
        let order: Vec<usize> = self
            .active
            .iter()
            .map(|id| self.domains.iter().position(|d| d.id == *id).unwrap())
            .collect();
        let weight: i64 = order.iter().map(|d| self.weight_of(*d)).sum();
        if weight == 0 {
            self.balance = 0;
            return;
        }
        let debt = if self.balance < 0 { -self.balance } else { 0 };
        let mut credit = per_slice * self.joined.len() as i64 + debt;
        let mut left = weight;
        let mut balance = 0;
        let mut xtra = false;
        for d in order {
            let n = self.domains[d].active.len() as i64;
            let w = self.weight_of(d);
            let cap = self.domains[d].cap;
            left -= w;
            let mut peak = per_slice * n;
            if self.balance < 0 {
                peak += ceil(-self.balance * w, weight);
            }
            let mut cap_each = 0;
            if cap != 0 {
                let allowed = ceil(cap * per_slice, 100);
                peak = peak.min(allowed);
                cap_each = ceil(allowed, n);
            }
            let mut fair = ceil(credit * w, weight);
            if fair < peak {
                xtra = true;
            } else {
                if left != 0 {
                    credit += ceil((fair - peak) * weight, left);
                }
                if xtra {
                    let id = self.domains[d].id;
                    self.active.retain(|a| *a != id);
                    self.active.insert(0, id);
                }
                fair = peak;
            }
            let grant = ceil(fair, n);
            for v in self.domains[d].active.clone() {
                self.v_mut(v).credit += grant;
                if self.v(v).credit < 0 {
                    self.goes_over(cx, v, cap != 0, cap_each);
                } else {
                    self.goes_under(cx, here, v);
                }
                balance += self.v(v).credit;
            }
        }
        self.balance = balance;
        self.epoch += 1;
    }

    fn goes_over(&mut self, cx: &mut Cx<'_>, v: VcpuId, capped: bool, cap_each: i64) {
        self.v_mut(v).pri = OVER;
        if capped && self.v(v).credit < -cap_each && !self.v(v).parked {
            cx.park(v);
            self.v_mut(v).parked = true;
            // Pausing is an ordinary sleep: off the pcpu or off the queue.
            if cx.is_current(v) {
                cx.tickle(cx.vcpu(v).pcpu);
            } else {
                self.unqueue(v);
            }
        }
        let floor = -self.credits_per_tslice();
        self.v_mut(v).credit = self.v(v).credit.max(floor);
    }

    fn goes_under(&mut self, cx: &mut Cx<'_>, here: PcpuId, v: VcpuId) {
        self.v_mut(v).pri = UNDER;
        if self.v(v).parked {
            // From 4.3 to 4.11 in the wrong order, so that the wake-up boosts.
            let too_early = self.since(XenVersion::V4_3) && !self.since(XenVersion::V4_13);
            self.v_mut(v).parked = !too_early;
            if cx.unpark(v) {
                self.wake_on(cx, here, v);
            }
            self.v_mut(v).parked = false;
        }
        if self.v(v).credit > self.credits_per_tslice() {
            self.deactivate(v);
            let halves = self.since(XenVersion::V4_1);
            self.v_mut(v).credit = if halves { self.v(v).credit / 2 } else { 0 };
        }
    }
}
