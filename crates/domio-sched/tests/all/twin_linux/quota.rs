//! Section 4: quotas.

use super::{CPU, MS, Mistake, Owner, TwinLinux, instant};
use domio_contract::{Cx, Pause};
use domio_core::{DomainId, Instant};

impl TwinLinux {
    fn lot(&self) -> i128 {
        self.param("bandwidth_slice_us") * 1000
    }

    /// Whether all of `q` is held back from the pcpu.
    pub(super) fn cut_off(&self, q: usize) -> bool {
        self.rq[q].throttled && !self.since("6.18")
    }

    /// 4.4.
    pub(super) fn charge(&mut self, cx: &mut Cx<'_>, q: usize, delta: i128) {
        if !self.rq[q].limited {
            return;
        }
        self.rq[q].remaining -= delta;
        if self.rq[q].remaining > 0 || self.rq[q].throttled {
            return;
        }
        if self.since("7.2") {
            self.throttle(cx, q);
            return;
        }
        if !self.assign(cx, q, self.lot()) && self.rq[q].curr.is_some() {
            self.resched(cx);
        }
    }

    fn assign(&mut self, cx: &mut Cx<'_>, q: usize, target: i128) -> bool {
        if self.wrong(Mistake::DebtForgiven) {
            self.rq[q].remaining = self.rq[q].remaining.max(0);
        }
        let need = target - self.rq[q].remaining;
        if self.rq[q].period_at.is_none() {
            self.start_period(cx, q, self.clock);
        }
        let amount = need.min(self.rq[q].pool);
        if amount > 0 {
            self.rq[q].pool -= amount;
            self.rq[q].remaining += amount;
            self.rq[q].unused = false;
        }
        self.rq[q].remaining > 0
    }

    /// 4.5: whether `q` is throttled, now or already.
    pub(super) fn check_quota(&mut self, cx: &mut Cx<'_>, q: usize) -> bool {
        if !self.rq[q].limited || self.rq[q].remaining > 0 {
            return false;
        }
        self.rq[q].throttled || self.throttle(cx, q)
    }

    pub(super) fn first_came(&mut self, cx: &mut Cx<'_>, q: usize) {
        if !self.rq[q].limited || self.rq[q].curr.is_some() || self.rq[q].throttled {
            return;
        }
        self.charge(cx, q, 0);
        if self.rq[q].remaining <= 0 && !self.rq[q].throttled {
            self.throttle(cx, q);
        }
    }

    /// 4.9: the thread that runs leaves if a group around it has no time.
    pub(super) fn return_to_user(&mut self, cx: &mut Cx<'_>) {
        let Some(e) = self.curr.filter(|_| self.since("7.2")) else {
            return;
        };
        let vcpu = self.se[e].vcpu.expect("a thread");
        let runs = self.se[e].on && cx.vcpu(vcpu).pause == Pause::NONE;
        if runs && self.held(self.se[e].group) {
            self.dequeue(cx, e, "sleep special");
            self.park(cx, e);
        }
    }

    /// 4.6, 4.9.
    fn throttle(&mut self, cx: &mut Cx<'_>, q: usize) -> bool {
        let on = |e: Option<usize>| e.is_some_and(|e| self.se[e].on);
        let runs = self.since("7.2") && on(self.rq[q].curr);
        let target = if runs { self.lot() } else { 1 };
        if self.assign(cx, q, target) {
            return false;
        }
        if self.since("6.18") {
            self.rq[q].throttled = true;
            if runs {
                self.resched_lazily(cx);
            }
            return true;
        }
        self.rq[q].throttled = true;
        self.leave(cx, q);
        self.park_all(cx, q);
        true
    }

    /// The group of `q` leaves the queues above, and so do groups that empty by that.
    fn leave(&mut self, cx: &mut Cx<'_>, q: usize) {
        let mut how = "sleep special";
        for x in self.chain(self.rq[q].entity) {
            if !self.se[x].on {
                return;
            }
            let how = match self.se[x].delayed {
                true => "sleep special delayed",
                false => std::mem::replace(
                    &mut how,
                    match self.wrong(Mistake::SleepsAtQuota) {
                        true => "sleep",
                        false => "sleep special",
                    },
                ),
            };
            self.dequeue_entity(cx, x, how);
            if self.load(self.q(x)) > 0 {
                return;
            }
        }
    }

    /// The group of `q` comes back.
    fn come(&mut self, cx: &mut Cx<'_>, q: usize) {
        for x in self.chain(self.rq[q].entity) {
            if self.se[x].delayed {
                self.dequeue_entity(cx, x, "sleep delayed");
            }
            if self.se[x].on {
                return;
            }
            self.enqueue_entity(cx, x, "sleep");
            if self.cut_off(self.q(x)) {
                return;
            }
        }
    }

    fn park_all(&mut self, cx: &mut Cx<'_>, q: usize) {
        for m in self.rq[q].members.clone() {
            if self.se[m].on && !self.se[m].delayed {
                self.park(cx, m);
            }
        }
        if self.wrong(Mistake::HeldShallow) {
            return;
        }
        for c in self.rq[q].children.clone() {
            self.park_all(cx, c);
        }
    }

    pub(super) fn park(&mut self, cx: &mut Cx<'_>, e: usize) {
        if !self.se[e].parked {
            self.se[e].parked = true;
            cx.park(self.se[e].vcpu.expect("a thread"));
        }
    }

    /// 4.8.
    fn unthrottle(&mut self, cx: &mut Cx<'_>, q: usize) {
        self.read_clock(cx);
        if self.since("7.2") {
            self.update_curr(cx, q);
            if self.rq[q].limited && self.rq[q].remaining <= 0 {
                return;
            }
        }
        if self.since("6.18") {
            self.rq[q].throttled = false;
        }
        let others = usize::from(self.rq[q].throttled);
        self.release(cx, q, others);
        self.rq[q].throttled = false;
        if !self.since("6.18") && self.nr(q) > 0 {
            self.come(cx, q);
        }
        self.resched_if_idle(cx);
    }

    pub(super) fn resched_if_idle(&mut self, cx: &mut Cx<'_>) {
        if self.curr.is_none() && self.nr(0) > 0 {
            self.resched(cx);
        }
    }

    /// Threads of `q` and below, where no more than `throttles` groups around are throttled.
    pub(super) fn release(&mut self, cx: &mut Cx<'_>, q: usize, throttles: usize) {
        if self.throttles(q) > throttles {
            return;
        }
        for m in self.rq[q].members.clone() {
            if !self.se[m].parked {
                continue;
            }
            self.se[m].parked = false;
            let runnable = cx.unpark(self.se[m].vcpu.expect("a thread"));
            if runnable && !self.se[m].on {
                self.enqueue(cx, m, "sleep");
            } else if !runnable && self.se[m].on {
                self.dequeue(cx, m, "sleep special");
            }
            if self.throttles(q) > throttles {
                return;
            }
        }
        for c in self.rq[q].children.clone() {
            self.release(cx, c, throttles);
        }
    }

    fn distribute(&mut self, cx: &mut Cx<'_>, q: usize) {
        if self.rq[q].throttled && self.rq[q].pool > 0 {
            if self.since("7.2") && self.rq[q].curr.is_some() {
                self.read_clock(cx);
                self.update_curr(cx, q);
            }
            let want = 1 - self.rq[q].remaining;
            let amount = want.min(self.rq[q].pool);
            self.rq[q].pool -= amount;
            self.rq[q].remaining += amount;
            if self.rq[q].remaining > 0 {
                self.unthrottle(cx, q);
            }
        }
    }

    pub(super) fn give_back(&mut self, cx: &mut Cx<'_>, q: usize) {
        if !self.rq[q].limited || self.nr(q) > 0 || self.rq[q].remaining <= MS {
            return;
        }
        self.rq[q].pool += self.rq[q].remaining - MS;
        self.rq[q].remaining = MS;
        let lot = self.lot();
        let clock = self.clock;
        let group = &mut self.rq[q];
        let soon = group.grid - clock < 7 * MS;
        if group.pool > lot && group.throttled && group.slack_at.is_none() && !soon {
            group.slack_at = Some(clock + 5 * MS);
            self.arm(cx, q);
        }
    }

    /// 4.7.
    pub(super) fn quota_timer(&mut self, cx: &mut Cx<'_>, q: usize) {
        let now = Self::now(cx);
        if self.rq[q].period_at.is_some_and(|at| at <= now) {
            let group = &mut self.rq[q];
            while group.grid <= now {
                group.grid += group.period;
            }
            if group.quota == 0 {
                group.period_at = None;
                return self.slack_timer(cx, q);
            }
            group.pool = (group.pool + group.quota).min(group.quota + group.burst);
            let waits = group.throttled;
            if group.unused && !waits {
                group.period_at = None;
            } else {
                group.period_at = Some(group.grid);
                group.unused = !waits;
                if waits {
                    self.distribute(cx, q);
                    self.rq[q].unused = false;
                }
            }
        }
        self.slack_timer(cx, q)
    }

    fn slack_timer(&mut self, cx: &mut Cx<'_>, q: usize) {
        let now = Self::now(cx);
        if self.rq[q].slack_at.is_some_and(|at| at <= now) {
            self.rq[q].slack_at = None;
            let near = self.rq[q].grid - now < 2 * MS;
            if !near && self.rq[q].quota > 0 && self.rq[q].pool > self.lot() {
                self.distribute(cx, q);
            }
        }
    }

    /// Timers of a domain's group, and then of those inside.
    pub(super) fn domain_timers(&mut self, cx: &mut Cx<'_>, q: usize) {
        self.quota_timer(cx, q);
        for inner in self.rq[q].children.clone() {
            self.domain_timers(cx, inner);
        }
    }

    pub(super) fn due_of_domain(&self, q: usize) -> Option<i128> {
        let all = self.groups_below(q).into_iter();
        all.filter_map(|q| self.due(q)).min()
    }

    fn due(&self, q: usize) -> Option<i128> {
        let both = [self.rq[q].period_at, self.rq[q].slack_at];
        both.into_iter().flatten().min()
    }

    fn arm(&mut self, cx: &mut Cx<'_>, q: usize) {
        let (Owner::Domain(domain) | Owner::Inside(domain, _)) = self.rq[q].owner else {
            match self.due_of_groups() {
                Some(at) => cx.set_timer(CPU, 1, instant(at.max(Self::now(cx)))),
                None => cx.stop_timer(CPU, 1),
            }
            return;
        };
        let domain = DomainId(domain);
        let of_domain = self.group_of(domain);
        match self.due_of_domain(of_domain) {
            Some(at) => cx.set_domain_timer(domain, instant(at.max(Self::now(cx)))),
            None => cx.stop_domain_timer(domain),
        }
    }

    /// Groups of domains, in the order of their ids.
    fn named(&self) -> Vec<usize> {
        let id = |q: &usize| match self.rq[*q].owner {
            Owner::Group(id) => Some(id),
            _ => None,
        };
        let mut all: Vec<usize> = (0..self.rq.len()).filter(|q| id(q).is_some()).collect();
        all.sort_by_key(id);
        all
    }

    fn due_of_groups(&self) -> Option<i128> {
        self.named().into_iter().filter_map(|q| self.due(q)).min()
    }

    pub(super) fn groups_timer(&mut self, cx: &mut Cx<'_>) -> Option<Instant> {
        for q in self.named() {
            self.quota_timer(cx, q);
        }
        self.due_of_groups().map(instant)
    }

    fn start_period(&mut self, cx: &mut Cx<'_>, q: usize, clock: i128) {
        let group = &mut self.rq[q];
        while group.grid <= clock {
            group.grid += group.period;
        }
        group.period_at = Some(group.grid);
        self.arm(cx, q);
    }

    /// 4.7: where the grid of periods begins.
    pub(super) fn phase(&self, owner: Owner) -> i128 {
        let number = match owner {
            Owner::Root => 0,
            Owner::Domain(domain) => u64::from(domain),
            Owner::Group(name) => u64::from(name) + 65_536,
            Owner::Inside(domain, name) => u64::from(domain) + 65_536 * (2 + name.number()),
        };
        match self.cfs() {
            true => 0,
            false => i128::from(phase(number) % 100_000_000),
        }
    }

    pub(super) fn forget_quota(&mut self, cx: &mut Cx<'_>, q: usize) {
        self.rq[q].limited = false;
        if self.rq[q].throttled {
            self.unthrottle(cx, q);
        }
        let group = &self.rq[q];
        let had = group.quota > 0 || group.period_at.is_some() || group.slack_at.is_some();
        let group = &mut self.rq[q];
        if had {
            (group.quota, group.period, group.burst) = (0, 0, 0);
            (group.pool, group.unused) = (0, false);
            (group.period_at, group.slack_at) = (None, None);
            self.arm(cx, q);
        }
    }

    /// 4.3.
    pub(super) fn set_quota(
        &mut self,
        cx: &mut Cx<'_>,
        q: usize,
        quota: i128,
        period: i128,
        burst: i128,
    ) {
        let group = &self.rq[q];
        if (group.quota, group.period, group.burst) == (quota, period, burst) {
            return;
        }
        let group = &mut self.rq[q];
        (group.quota, group.period, group.burst) = (quota, period, burst);
        if quota > 0 {
            group.pool = (group.pool + quota).min(quota + burst);
            if group.period_at.is_none() {
                self.start_period(cx, q, Self::now(cx));
            }
        }
        self.rq[q].limited = quota > 0;
        self.rq[q].remaining = i128::from(self.since("7.0"));
        if self.rq[q].throttled {
            self.unthrottle(cx, q);
        }
    }
}

/// The page of the policies says how a phase follows from the number of a domain.
fn phase(domain: u64) -> u64 {
    let mut x = domain.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
