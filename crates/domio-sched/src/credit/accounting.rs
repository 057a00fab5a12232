//! Accounting, Xen's `csched_acct` (xen-spec 3.1 "acct", 3.2, 3.4): from top to bottom.
//!
//! | step | what | Xen's |
//! |---|---|---|
//! | [`Credit::account`] | once a period, on the master | `csched_acct` |
//! | `share_out` | what each active domain gets, and each of its active vcpus | `credit_fair` |
//! | `give` | credit and priority of each active vcpu | `credit`, `pri` |
//! | `beyond_bounds` | over its cap, within it again, or too rich to earn on | flags, caps |
//!
//! The first two steps of Xen's are one loop; here the shares are kept, because they seldom change.
//! Debit is in `tick`, the lists of those that earn are in `active`.
//!
//! Sums are in `i64`. Xen's are in 32 bits and overflow when the host's credit times the weight of
//! a domain's active vcpus passes 2^32 (28 pcpus, 8 vcpus of the highest weight); that is not
//! reproduced.

use super::state::{Priority, flag};
use super::{Credit, event};
use alloc::vec::Vec;
use domio_contract::{Cx, Wake, Work};
use domio_core::{DomainId, Instant, PcpuId, VcpuId};

/// What an active vcpu gets at an accounting.
#[derive(Clone, Copy, Debug)]
struct Grant {
    vcpu: VcpuId,
    credits: i64,
    /// It is paused when it has less than this in spite of the grant: a negative number, the lowest
    /// there is without a cap.
    floor: i64,
}

/// What each active vcpu gets at an accounting, in the order of the lists. Worked out anew only
/// when something that it follows from has changed, which on a steady host is seldom.
#[derive(Debug, Default)]
pub(super) struct Grants {
    list: Vec<Grant>,
    /// What was owed to the host then.
    debt: i64,
    /// Whether the active vcpus and domains, their parameters and the number of pcpus are those of
    /// then.
    hold: bool,
}

impl Grants {
    /// Something that they follow from has changed.
    #[inline]
    pub(super) fn expire(&mut self) {
        self.hold = false;
    }
}

impl Credit {
    /// The accounting timer, on the master `pcpu`. Returns the time of the next accounting.
    #[inline(never)]
    pub(super) fn accounting_timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> Option<Instant> {
        self.account(cx, pcpu);
        self.accounting_at = cx.now() + self.settings.tslice;
        Some(self.accounting_at)
    }

    /// Accounting, on the master `pcpu`: every active domain gets its share of the host's credit
    /// for one period, every active vcpu its part of that and a new priority.
    pub(super) fn account(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        if self.weight == 0 {
            self.balance = 0;
            return;
        }
        // What is owed to the host comes on top, so that the balance gets back to zero.
        let debt = (-self.balance).max(0);
        if !self.grants.hold || self.grants.debt != debt {
            self.share_out(debt);
        }
        // The list is taken out, so that giving can change everything else.
        let grants = core::mem::take(&mut self.grants.list);
        // From now on queues may be out of order: some of those woken below have to know.
        self.sort_epoch = self.sort_epoch.wrapping_add(1);
        self.balance = self.give(cx, pcpu, &grants);
        self.grants.list = grants;
        if self.settings.boost_balance {
            self.reorder_all(cx);
        }
    }

    /// Works out what each active vcpu gets when the host is owed `debt`.
    #[inline(never)]
    fn share_out(&mut self, debt: i64) {
        let mut grants = core::mem::take(&mut self.grants.list);
        grants.clear();
        self.grants.debt = debt;
        // A change of order below ends that.
        self.grants.hold = true;
        let total_weight = self.weight;
        let mut credit = i64::from(self.online) * self.settings.credits_per_tslice + debt;
        let mut weight_left = total_weight;
        let mut someone_short = false;
        // What a weight is worth; the last one again, as most domains have the same.
        let (mut of_weight, mut of_credit, mut owed, mut fair) = (0, 0, 0, 0);

        let mut at = self.active_domains;
        while let Some(d) = self.domains.get(at as usize) {
            let domain = at as u16;
            // Read before anything moves: the domain may go to the head.
            at = d.next;
            let count = i64::from(d.active_count);
            let weight = d.weight_in_sum(self.rules.weight_per_vcpu, d.active_count);
            weight_left -= weight;

            // The fair share is by weight; the peak is what the domain can use of it.
            if of_weight != weight || of_credit != credit {
                (of_weight, of_credit) = (weight, credit);
                owed = div_up(debt * weight, total_weight);
                fair = div_up(credit * weight, total_weight);
            }
            let mut peak = count * self.settings.credits_per_tslice + owed;
            let mut floor = i64::MIN;
            if d.cap != 0 {
                let cap = div_up(d.cap * self.settings.credits_per_tslice, 100);
                peak = peak.min(cap);
                floor = -div_up(cap, count);
            }

            // Its vcpus get the same each.
            let credits = div_up(fair.min(peak), count);
            let mut vcpu = d.active_head;
            while let Some(v) = self.vcpus.get(vcpu as usize) {
                grants.push(Grant {
                    vcpu: VcpuId(vcpu),
                    credits,
                    floor,
                });
                vcpu = v.active_next;
            }

            // What it cannot use is for the domains after it.
            if fair < peak {
                someone_short = true;
                continue;
            }
            if weight_left != 0 {
                credit += div_up((fair - peak) * total_weight, weight_left);
            }
            if someone_short {
                // It comes first next time, so that those before it get its surplus too.
                self.unlink_domain(domain);
                self.link_domain(domain);
                self.grants.expire();
            }
        }
        self.grants.list = grants;
    }

    /// Gives the active vcpus their `grants` and a new priority; parks those that are too far over
    /// a cap. Returns the sum of their credits.
    #[inline]
    fn give(&mut self, cx: &mut Cx<'_>, here: PcpuId, grants: &[Grant]) -> i64 {
        cx.did(Work::Grant, grants.len() as u32);
        let bound = self.settings.credits_per_tslice;
        let mut sum = 0;
        for grant in grants {
            let v = &mut self.vcpus[grant.vcpu.index()];
            let earned = v.credit + grant.credits;
            // This ends a boost as well.
            let priority = if earned < 0 {
                Priority::Over
            } else {
                Priority::Under
            };
            let rest = earned.max(-bound);
            v.priority = priority;
            v.credit = rest;
            let within = !v.has(flag::PARKED) && grant.floor <= earned && earned <= bound;
            if let Some(pcpu) = v.heads_queue() {
                self.judge_head(pcpu, priority);
            }
            sum += if within {
                rest
            } else {
                self.beyond_bounds(cx, here, grant, earned)
            };
        }
        sum
    }

    /// The vcpu of `grant` has `earned` so many credits by now. That may be too few for its cap, or
    /// enough to run again, or so many that it has no use for them and stops earning. Returns the
    /// credits that it keeps.
    #[inline(never)]
    fn beyond_bounds(&mut self, cx: &mut Cx<'_>, here: PcpuId, grant: &Grant, earned: i64) -> i64 {
        let vcpu = grant.vcpu;
        let parked = self.vcpus[vcpu.index()].has(flag::PARKED);
        if earned < 0 {
            if !parked && earned < grant.floor {
                self.park(cx, vcpu);
            }
            return self.vcpus[vcpu.index()].credit;
        }
        if parked {
            self.unpark(cx, here, vcpu);
        }
        if earned > self.settings.credits_per_tslice {
            let rest = if self.rules.keep_half { earned / 2 } else { 0 };
            self.vcpus[vcpu.index()].credit = rest;
            self.deactivate(vcpu);
            let count = self.domain_of(vcpu).active_count;
            cx.did(Work::Stop, 1);
            event::account_stop(cx, here, vcpu, count);
        }
        self.vcpus[vcpu.index()].credit
    }

    /// Pauses `vcpu`: its domain is over its cap.
    fn park(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.vcpus[vcpu.index()].set(flag::PARKED);
        cx.did(Work::Park, 1);
        cx.park(vcpu);
        self.take_off(cx, vcpu);
    }

    /// Ends the pause of `vcpu`. The mark shows the wake-up that it deserves no boost, if the
    /// release clears it in the right order.
    fn unpark(&mut self, cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId) {
        if self.rules.boost_unparked {
            self.vcpus[vcpu.index()].clear(flag::PARKED);
        }
        cx.did(Work::Unpark, 1);
        if cx.unpark(vcpu) {
            self.wake_unparked(cx, here, vcpu);
        }
        self.vcpus[vcpu.index()].clear(flag::PARKED);
    }

    #[inline(never)]
    fn wake_unparked(&mut self, cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId) {
        self.wake_up(cx, here, vcpu, Wake::Unpause);
    }

    /// Changes the parameters of `domain`; those that are active count with the new weight from
    /// now on.
    pub(super) fn adjust(&mut self, domain: DomainId, weight: i64, cap: i64) {
        self.grants.expire();
        let d = domain.index();
        let count = self.domains[d].active_count;
        self.weight -= self.weight_in_sum(d, count);
        self.domains[d].weight = weight;
        self.domains[d].cap = cap;
        self.weight += self.weight_in_sum(d, count);
    }
}

/// `ceil(a / b)` of numbers that are not negative.
#[inline]
fn div_up(a: i64, b: i64) -> i64 {
    // Divisors of one are common and division is slow.
    if b == 1 {
        a
    } else {
        ((a + b - 1) as u64 / b as u64) as i64
    }
}
