//! Debit and grant of credit (xen-spec 3.1 "Tick" and "acct", 3.2, 3.4).
//!
//! Sums are in `i64`. Xen's are in 32 bits and overflow when the host's credit times the weight of
//! a domain's active vcpus passes 2^32 (28 pcpus, 8 vcpus of the highest weight); that is not
//! reproduced.

use super::params::{CREDITS_PER_MS, CREDITS_PER_TICK};
use super::rules::Debit;
use super::state::{NIL, Priority, Vcpu, flag};
use super::{Credit, event};
use crate::contract::Wake;
use crate::cx::Cx;
use alloc::vec::Vec;
use domio_core::{DomainId, Instant, PcpuId, VcpuId};

// Work in steps of [`Cx::work`], of 2 ns where it was measured.

/// What each vcpu that earns adds to accounting: 0.16 us between accountings of three and of seven.
const GIVE_STEPS: u32 = 80;
/// What a vcpu that ceases to earn adds to accounting, its record included: an accounting in which
/// dom0 does takes 0.5 us more.
const STOP_STEPS: u32 = 250;
/// What pausing or waking a vcpu at its cap adds to accounting: measured on the recording
/// `c1-cap30`, where such accountings are 1.3 and 3.3 us longer.
const PARK_STEPS: u32 = 646;
const UNPARK_STEPS: u32 = 1_653;

/// What sorting the run queue adds to a tick: 0.1 us and 19 ns for each in it.
const fn sort_steps(runnable: u32) -> u32 {
    48 + 19 * runnable / 2
}
/// What looking for a better pcpu adds to a tick, its record included: a tick that activates a vcpu
/// instead is 0.73 us shorter on every recording.
pub const LOOK_STEPS: u32 = 361;
/// What ending a boost, its record included, adds to a tick: 0.77 us.
pub const UNBOOST_STEPS: u32 = 380;

const NS_PER_MS: i64 = 1_000_000;
pub(super) const NS_PER_CREDIT: i64 = NS_PER_MS / CREDITS_PER_MS;

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

impl Vcpu {
    /// Debits it, which is current, for its time since the last debit.
    #[inline]
    pub(super) fn burn(&mut self, rule: Debit, now: Instant) {
        let delta = now.as_nanos() as i64 - self.start;
        if delta <= 0 {
            return;
        }
        let credits = match rule {
            Debit::Residual => {
                // The start moves by whole credits only, so that the remainder counts again next
                // time; the start then gets ahead of time, and the loop evens out (test vector 6).
                // Unsigned division by a constant is the cheaper one.
                let value = (delta * CREDITS_PER_MS) as u64 + u64::from(self.residual);
                let credits = value / NS_PER_MS as u64;
                self.residual = (value - credits * NS_PER_MS as u64) as u32;
                credits as i64
            }
            Debit::Rounded => (delta * CREDITS_PER_MS + NS_PER_MS / 2) / NS_PER_MS,
            Debit::Sampled => return,
        };
        self.credit -= credits;
        self.start += credits * NS_PER_CREDIT;
    }
}

impl Credit {
    /// The tick of `pcpu`. Returns the time of the next one.
    #[inline]
    pub(super) fn tick(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> Option<Instant> {
        let Some(vcpu) = cx.current(pcpu) else {
            return self.end_tick(cx, pcpu);
        };
        let v = &mut self.vcpus[vcpu.index()];
        match self.rules.debit {
            Debit::Sampled => v.credit -= CREDITS_PER_TICK,
            rule => v.burn(rule, cx.now()),
        }
        // The usual case on a busy host: it earns already, and there is nowhere to go.
        let quiet = v.priority != Priority::Boost && v.has(flag::ACTIVE);
        if !quiet || !self.nowhere_else(cx, vcpu, pcpu) {
            return self.tick_current(cx, pcpu, vcpu);
        }
        cx.work(LOOK_STEPS);
        event::picked(cx, pcpu, vcpu, pcpu);
        let p = &mut self.pcpus[pcpu];
        if p.sorted != self.sort_epoch || !self.rules.accounting_timer {
            return self.end_tick(cx, pcpu);
        }
        p.ticking = true;
        Some(cx.now() + self.settings.tick)
    }

    /// What a tick of `pcpu` does besides what its vcpu is subject to.
    #[inline(never)]
    fn end_tick(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) -> Option<Instant> {
        if !self.rules.accounting_timer {
            self.count_tick(cx, pcpu);
        }
        // An idle pcpu of 3.4 and later goes back to its idle loop, which stops the tick.
        let on = cx.current(pcpu).is_some() || !self.rules.idle_stops_tick;
        let p = &mut self.pcpus[pcpu];
        p.ticking = on;
        if p.sorted != self.sort_epoch {
            cx.work(sort_steps(p.runnable));
            self.sort(pcpu);
        }
        on.then(|| cx.now() + self.settings.tick)
    }

    /// Until 3.3 the master accounts at every so many ticks.
    #[inline(never)]
    fn count_tick(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let p = &mut self.pcpus[pcpu];
        p.ticks = p.ticks.wrapping_add(1);
        if self.master == Some(pcpu) && p.ticks.is_multiple_of(self.settings.ticks_per_tslice) {
            self.account(cx, pcpu);
        }
    }

    /// Xen's `csched_vcpu_acct` after the debit, and the end of the tick: `vcpu` was found running
    /// at the tick of `pcpu`.
    #[inline(never)]
    fn tick_current(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, vcpu: VcpuId) -> Option<Instant> {
        self.look_at_current(cx, pcpu, vcpu);
        self.end_tick(cx, pcpu)
    }

    fn look_at_current(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, vcpu: VcpuId) {
        let v = &mut self.vcpus[vcpu.index()];
        if v.priority == Priority::Boost {
            v.priority = Priority::Under;
            cx.work(UNBOOST_STEPS);
            event::boost_end(cx, pcpu, vcpu);
        }
        if !v.has(flag::ACTIVE) {
            self.activate(vcpu);
            let count = self.domain_of(vcpu).active_count;
            event::account_start(cx, pcpu, vcpu, count);
            return;
        }
        cx.work(LOOK_STEPS);
        if self.choose_pcpu(cx, pcpu, vcpu, pcpu, false) != pcpu {
            cx.migrate(vcpu);
            cx.tickle(pcpu);
        }
    }

    fn domain_of(&self, vcpu: VcpuId) -> &super::state::Domain {
        &self.domains[self.vcpus[vcpu.index()].domain as usize]
    }

    /// Share of `domain` in [`Credit::weight`] while it has `count` active vcpus.
    pub(super) fn weight_in_sum(&self, domain: usize, count: u32) -> i64 {
        self.domains[domain].weight_in_sum(self.rules.weight_per_vcpu, count)
    }

    /// Puts `vcpu` at the head of its domain's active list and, if it is the first there, the
    /// domain at the head of the list of active domains.
    pub(super) fn activate(&mut self, vcpu: VcpuId) {
        self.grants.expire();
        let domain = self.vcpus[vcpu.index()].domain;
        let d = &mut self.domains[domain as usize];
        let next = core::mem::replace(&mut d.active_head, vcpu.0);
        d.active_count += 1;
        let count = d.active_count;
        let v = &mut self.vcpus[vcpu.index()];
        v.set(flag::ACTIVE);
        v.active_prev = NIL;
        v.active_next = next;
        if next != NIL {
            self.vcpus[next as usize].active_prev = vcpu.0;
        }
        self.weight += self.weight_in_sum(domain as usize, count)
            - self.weight_in_sum(domain as usize, count - 1);
        if count == 1 {
            self.link_domain(domain);
        }
    }

    /// Undoes [`Credit::activate`].
    pub(super) fn deactivate(&mut self, vcpu: VcpuId) {
        self.grants.expire();
        let v = &mut self.vcpus[vcpu.index()];
        v.clear(flag::ACTIVE);
        let (domain, prev, next) = (v.domain, v.active_prev, v.active_next);
        match prev {
            NIL => self.domains[domain as usize].active_head = next,
            p => self.vcpus[p as usize].active_next = next,
        }
        if next != NIL {
            self.vcpus[next as usize].active_prev = prev;
        }
        let d = &mut self.domains[domain as usize];
        d.active_count -= 1;
        let count = d.active_count;
        self.weight += self.weight_in_sum(domain as usize, count)
            - self.weight_in_sum(domain as usize, count + 1);
        if count == 0 {
            self.unlink_domain(domain);
        }
    }

    fn link_domain(&mut self, domain: u16) {
        let next = core::mem::replace(&mut self.active_domains, u32::from(domain));
        let d = &mut self.domains[domain as usize];
        d.prev = NIL;
        d.next = next;
        if next != NIL {
            self.domains[next as usize].prev = u32::from(domain);
        }
    }

    fn unlink_domain(&mut self, domain: u16) {
        let d = &self.domains[domain as usize];
        let (prev, next) = (d.prev, d.next);
        match prev {
            NIL => self.active_domains = next,
            p => self.domains[p as usize].next = next,
        }
        if next != NIL {
            self.domains[next as usize].prev = prev;
        }
    }

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
        cx.work(GIVE_STEPS * grants.len() as u32);
        // From now on queues may be out of order: some of those woken below have to know.
        self.sort_epoch = self.sort_epoch.wrapping_add(1);
        self.balance = self.give(cx, pcpu, &grants);
        self.grants.list = grants;
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
        let mut credit = self.credit_per_period() + debt;
        let mut weight_left = total_weight;
        let mut someone_short = false;
        // What a weight is worth; the last one again, as most domains have the same.
        let (mut of_weight, mut of_credit, mut owed, mut share) = (0, 0, 0, 0);

        let mut at = self.active_domains;
        while let Some(d) = self.domains.get(at as usize) {
            let domain = at as u16;
            // Read before anything moves: the domain may go to the head.
            at = d.next;
            let count = i64::from(d.active_count);
            let weight = d.weight_in_sum(self.rules.weight_per_vcpu, d.active_count);
            weight_left -= weight;

            if of_weight != weight || of_credit != credit {
                (of_weight, of_credit) = (weight, credit);
                owed = div_up(debt * weight, total_weight);
                share = div_up(credit * weight, total_weight);
            }
            let mut peak = count * self.settings.credits_per_tslice + owed;
            let mut floor = i64::MIN;
            if d.cap != 0 {
                let most = div_up(d.cap * self.settings.credits_per_tslice, 100);
                peak = peak.min(most);
                floor = -div_up(most, count);
            }
            let credits = div_up(share.min(peak), count);
            let mut vcpu = d.active_head;
            while let Some(v) = self.vcpus.get(vcpu as usize) {
                grants.push(Grant {
                    vcpu: VcpuId(vcpu),
                    credits,
                    floor,
                });
                vcpu = v.active_next;
            }
            if share < peak {
                someone_short = true;
                continue;
            }
            if weight_left != 0 {
                // Others get what this one cannot use.
                credit += div_up((share - peak) * total_weight, weight_left);
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

    /// Credit of the pcpus online for one accounting period.
    fn credit_per_period(&self) -> i64 {
        i64::from(self.online) * self.settings.credits_per_tslice
    }

    /// Gives the active vcpus their `grants` and a new priority; parks those that are too far over
    /// a cap. Returns the sum of their credits.
    #[inline]
    fn give(&mut self, cx: &mut Cx<'_>, here: PcpuId, grants: &[Grant]) -> i64 {
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
            let odd = v.has(flag::PARKED) || earned > bound || earned < grant.floor;
            if let Some(pcpu) = v.heads_queue() {
                self.judge_head(pcpu, priority);
            }
            sum += if odd {
                self.grant_odd(cx, here, grant, earned)
            } else {
                rest
            };
        }
        sum
    }

    /// What `grant` means for its vcpu, which has `earned` so many credits by now, besides them.
    /// Returns the credits that it keeps.
    #[inline(never)]
    fn grant_odd(&mut self, cx: &mut Cx<'_>, here: PcpuId, grant: &Grant, earned: i64) -> i64 {
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
            cx.work(STOP_STEPS);
            event::account_stop(cx, here, vcpu, count);
        }
        self.vcpus[vcpu.index()].credit
    }

    /// Pauses `vcpu`: its domain is over its cap.
    fn park(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.vcpus[vcpu.index()].set(flag::PARKED);
        cx.work(PARK_STEPS);
        cx.park(vcpu);
        self.take_off(cx, vcpu);
    }

    /// Ends the pause of `vcpu`. The mark shows the wake-up that it deserves no boost, if the
    /// release clears it in the right order.
    fn unpark(&mut self, cx: &mut Cx<'_>, here: PcpuId, vcpu: VcpuId) {
        if self.rules.boost_unparked {
            self.vcpus[vcpu.index()].clear(flag::PARKED);
        }
        cx.work(UNPARK_STEPS);
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
