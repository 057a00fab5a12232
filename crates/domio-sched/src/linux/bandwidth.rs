//! Quotas of groups (linux-spec 4).

use super::entity::how;
use super::event::Owner;
use super::given::GroupSetting;
use super::params::Level;
use super::state::NIL;
use super::task::Crowd;
use super::{Linux, QUOTAS, event};
use domio_contract::{Cx, Work};
use domio_core::{Instant, PcpuId};

const MS: i64 = 1_000_000;

/// Default period, over which the grids of groups are spread.
const SPREAD: u64 = 100 * MS as u64;

/// What a queue keeps when it becomes empty.
const KEPT: i64 = MS;
/// How long surplus waits until it is given to others.
const SLACK: i64 = 5 * MS;
/// The slack timer is not started when the period ends within this.
const PERIOD_NEAR: i64 = 7 * MS;
/// What it gives is not given when the period ends within this.
const PERIOD_NOW: i64 = 2 * MS;
impl Linux {
    /// The group of `q` used `delta` of its time.
    pub(super) fn charge_quota(&mut self, cx: &mut Cx<'_>, q: u32, delta: i64) {
        let queue = &mut self.queues[q as usize];
        if !queue.limited {
            return;
        }
        queue.remaining -= delta;
        if queue.remaining > 0 || queue.throttled {
            return;
        }
        if self.rules.release.throttles_at_charge() {
            self.throttle(cx, q);
            return;
        }
        let (cpu, runs) = (queue.cpu, queue.current != NIL);
        if !self.fetch(cx, q, self.rules.bandwidth_slice) && runs {
            self.resched(cx, cpu);
        }
    }

    /// Fetches time for `q` from the pool of its group, up to `target`. Returns whether there is
    /// some.
    fn fetch(&mut self, cx: &mut Cx<'_>, q: u32, target: i64) -> bool {
        let now = self.cpus[usize::from(self.queues[q as usize].cpu)].clock;
        let queue = &mut self.queues[q as usize];
        let need = target - queue.remaining;
        let group = queue.group;
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        if !bandwidth.periods {
            self.start_period(cx, group, now);
        }
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        let amount = need.min(bandwidth.pool).max(0);
        if amount > 0 {
            bandwidth.pool -= amount;
            bandwidth.unused = false;
        }
        let queue = &mut self.queues[q as usize];
        queue.remaining += amount;
        queue.remaining > 0
    }

    /// Throttles `q` when its time is out. Returns whether it is throttled.
    pub(super) fn throttle_if_due(&mut self, cx: &mut Cx<'_>, q: u32) -> bool {
        let queue = &self.queues[q as usize];
        if !queue.limited || queue.remaining > 0 {
            return false;
        }
        queue.throttled || self.throttle(cx, q)
    }

    /// The first entity came to `q`.
    pub(super) fn check_quota_of_first(&mut self, cx: &mut Cx<'_>, q: u32) {
        let queue = &self.queues[q as usize];
        if !queue.limited || queue.current != NIL || queue.throttled {
            return;
        }
        self.charge_quota(cx, q, 0);
        let queue = &self.queues[q as usize];
        if queue.remaining <= 0 && !queue.throttled {
            self.throttle(cx, q);
        }
    }

    /// Throttles `q`, unless there is time left for it after all.
    fn throttle(&mut self, cx: &mut Cx<'_>, q: u32) -> bool {
        let runs = self.rules.release.throttles_at_charge() && self.runner(q) != NIL;
        let target = match runs {
            true => self.rules.bandwidth_slice,
            false => 1,
        };
        if self.fetch(cx, q, target) {
            return false;
        }
        let group = self.queues[q as usize].group;
        self.groups[group as usize].bandwidth.throttled.push(q);
        let whole = !self.rules.release.throttles_threads();
        self.count_throttles(q, 1);
        if whole {
            self.leave_above(cx, q);
        }
        self.queues[q as usize].throttled = true;
        let owner = self.groups[group as usize].owner;
        event::throttled(cx, PcpuId(self.queues[q as usize].cpu), owner);
        if whole {
            self.park_all(cx, q);
        }
        if runs {
            // Its thread leaves on its way to user mode.
            self.resched_lazily(cx, self.queues[q as usize].cpu);
        }
        true
    }

    /// Whether a group around the thread `e`, which has become current, has no time (7.2).
    #[inline]
    pub(super) fn has_no_time(&mut self, cx: &mut Cx<'_>, e: u32) -> bool {
        self.rules.release.throttles_at_charge() && self.is_out_of_time(cx, e)
    }

    fn is_out_of_time(&mut self, cx: &mut Cx<'_>, e: u32) -> bool {
        let mut x = e;
        while x != NIL {
            let q = self.queue_of(x);
            self.throttle_if_due(cx, q);
            x = self.above(x);
        }
        self.queues[self.queue_of(e) as usize].throttles > 0
    }

    /// The thread that runs on `cpu` returns to user mode: where a group around it has been
    /// throttled as its time was charged, it leaves (7.2).
    #[inline]
    pub(super) fn leave_at_return(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        if self.rules.release.throttles_at_charge() {
            self.leave_if_throttled(cx, cpu);
        }
    }

    fn leave_if_throttled(&mut self, cx: &mut Cx<'_>, cpu: u16) {
        let e = self.cpus[usize::from(cpu)].current;
        if e == NIL || self.is_high(e) {
            return;
        }
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        if self.entities[e as usize].on_queue && cx.vcpu(vcpu).runnable() {
            self.put_aside(cx, e);
        }
    }

    /// One group more or less around `q` and all below is throttled.
    fn count_throttles(&mut self, q: u32, more: i32) {
        let queue = &mut self.queues[q as usize];
        let before = queue.throttles;
        queue.throttles = before.wrapping_add_signed(more);
        let (group, cpu) = (queue.group, queue.cpu);
        match (before, queue.throttles) {
            // Where threads are put aside one by one, time goes on while some are there.
            (0, 1) if !self.rules.release.throttles_threads() || queue.count == 0 => {
                self.stop_pelt(q)
            }
            (1, 0) => self.resume_pelt(q),
            _ => {}
        }
        for i in 0..self.groups[group as usize].children.len() {
            let below = self.groups[group as usize].children[i];
            self.count_throttles(self.queue_on(below, cpu), more);
        }
    }

    /// All that is in `q` and below.
    fn crowd_of(&self, q: u32) -> Crowd {
        let queue = &self.queues[q as usize];
        Crowd {
            threads: queue.threads as i32,
            idlers: queue.idlers as i32,
            delayed: queue.delayed as i32,
        }
    }

    /// All of `q` leaves the queues above, as the group has no time.
    fn leave_above(&mut self, cx: &mut Cx<'_>, q: u32) {
        let mut crowd = self.crowd_of(q).less();
        let mut x = self.queues[q as usize].entity;
        let mut empties = true;
        while x != NIL && self.entities[x as usize].on_queue {
            let above = self.queue_of(x);
            if empties {
                let slept = match self.entities[x as usize].delayed {
                    true => how::DELAYED,
                    false => 0,
                };
                // Nobody stays asleep on a queue here.
                self.dequeue_entity(cx, above, x, how::SLEEP | how::AT_ONCE | slept);
                empties = self.queues[above as usize].load == 0;
            } else {
                self.update_load_quietly(above, x);
                self.note_runnable(x);
            }
            self.pass_level(cx, above, x, &mut crowd);
            x = self.above(x);
        }
    }

    /// All of `q`, whose group has time again, comes back to the queues above, up to the next one
    /// that has none.
    fn come_above(&mut self, cx: &mut Cx<'_>, q: u32) {
        let mut crowd = self.crowd_of(q);
        let mut x = self.queues[q as usize].entity;
        let mut comes = true;
        while x != NIL {
            let above = self.queue_of(x);
            if self.entities[x as usize].delayed && comes {
                // It slept there.
                self.dequeue_entity(cx, above, x, how::SLEEP | how::DELAYED);
            }
            comes &= !self.entities[x as usize].on_queue;
            match comes {
                true => self.enqueue_entity(cx, above, x, how::SLEEP),
                false => {
                    self.update_load(above, x);
                    self.note_runnable(x);
                }
            }
            if !self.pass_level(cx, above, x, &mut crowd) {
                return;
            }
            x = self.above(x);
        }
    }

    /// The threads on `q` and below may not run.
    fn park_all(&mut self, cx: &mut Cx<'_>, q: u32) {
        let (group, cpu) = (self.queues[q as usize].group, self.queues[q as usize].cpu);
        for i in 0..self.groups[group as usize].members.len() {
            let vcpu = self.groups[group as usize].members[i];
            let t = self.threads[vcpu.index()].entity;
            let entity = &self.entities[t as usize];
            let fair = entity.level == Level::Fair;
            if fair && entity.queue == q && entity.on_queue && !entity.delayed {
                self.park(cx, t);
            }
        }
        for i in 0..self.groups[group as usize].children.len() {
            let below = self.groups[group as usize].children[i];
            self.park_all(cx, self.queue_on(below, cpu));
        }
    }

    /// The thread `e` may not run, as its group has no time.
    pub(super) fn park(&mut self, cx: &mut Cx<'_>, e: u32) {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        let thread = &mut self.threads[vcpu.index()];
        if !core::mem::replace(&mut thread.parked, true) {
            cx.park(vcpu);
            cx.did(Work::Park, 1);
            let queue = &self.queues[self.queue_of(e) as usize];
            let owner = self.groups[queue.group as usize].owner;
            if queue.throttled && matches!(owner, Owner::Part(..)) {
                event::held_inside(cx, vcpu);
            }
        }
    }

    /// The thread `e`, which has been picked although its group has no time, leaves on its way to
    /// user mode (6.18). Returns whether it does.
    pub(super) fn put_aside(&mut self, cx: &mut Cx<'_>, e: u32) -> bool {
        let q = self.queue_of(e);
        if self.queues[q as usize].throttles == 0 {
            return false;
        }
        self.dequeue_thread(cx, e, how::SLEEP | how::AT_ONCE);
        self.park(cx, e);
        true
    }

    /// Ends the throttling of `q`, whose group has time again.
    fn unthrottle(&mut self, cx: &mut Cx<'_>, q: u32) {
        let cpu = self.queues[q as usize].cpu;
        self.read_clock(cx, cpu);
        if self.rules.release.throttles_at_charge() {
            self.update_current(cx, q);
            let queue = &self.queues[q as usize];
            if queue.limited && queue.remaining <= 0 {
                return;
            }
        }
        let group = self.queues[q as usize].group;
        let whole = !self.rules.release.throttles_threads();
        if whole {
            // Nothing goes further up yet.
            self.release(cx, q, 1);
        }
        self.queues[q as usize].throttled = false;
        self.count_throttles(q, -1);
        let list = &mut self.groups[group as usize].bandwidth.throttled;
        list.retain(|other| *other != q);
        event::unthrottled(cx, PcpuId(cpu), self.groups[group as usize].owner);
        if !whole {
            self.release(cx, q, 0);
        } else if self.queues[q as usize].count > 0 {
            self.come_above(cx, q);
        }
        self.resched_if_idle(cx, cpu);
    }

    /// The threads on `q` and below are not parked any more where no more than `throttles` groups
    /// around them are throttled: some run again, and some have been stopped meanwhile.
    pub(super) fn release(&mut self, cx: &mut Cx<'_>, q: u32, throttles: u32) {
        if self.queues[q as usize].throttles > throttles {
            return;
        }
        let (group, cpu) = (self.queues[q as usize].group, self.queues[q as usize].cpu);
        for i in 0..self.groups[group as usize].members.len() {
            let vcpu = self.groups[group as usize].members[i];
            let t = self.threads[vcpu.index()].entity;
            // Quotas are of the fair class alone.
            let here = self.entities[t as usize].queue == q && !self.is_high(t);
            if !here || !core::mem::take(&mut self.threads[vcpu.index()].parked) {
                continue;
            }
            cx.did(Work::Unpark, 1);
            match (cx.unpark(vcpu), self.entities[t as usize].on_queue) {
                (false, true) => self.dequeue_thread(cx, t, how::SLEEP | how::AT_ONCE),
                (true, false) => self.enqueue_thread(cx, t, how::SLEEP),
                _ => {}
            }
            if self.queues[q as usize].throttles > throttles {
                // The first that came found no time.
                return;
            }
        }
        for i in 0..self.groups[group as usize].children.len() {
            let below = self.groups[group as usize].children[i];
            self.release(cx, self.queue_on(below, cpu), throttles);
        }
    }

    /// Gives the pool of `group` to those who are out of time, a nanosecond more than they owe.
    fn distribute(&mut self, cx: &mut Cx<'_>, group: u32) {
        let in_turn = self.rules.release.unthrottles_in_turn();
        let mut i = 0;
        while let Some(&q) = self.groups[group as usize].bandwidth.throttled.get(i) {
            let bandwidth = &mut self.groups[group as usize].bandwidth;
            if bandwidth.pool <= 0 {
                break;
            }
            if self.rules.release.throttles_at_charge() && self.queues[q as usize].current != NIL {
                self.read_clock(cx, self.queues[q as usize].cpu);
                self.update_current(cx, q);
            }
            let bandwidth = &mut self.groups[group as usize].bandwidth;
            let want = 1 - self.queues[q as usize].remaining;
            let amount = want.min(bandwidth.pool);
            bandwidth.pool -= amount;
            self.queues[q as usize].remaining += amount;
            match in_turn && self.queues[q as usize].remaining > 0 {
                true => self.unthrottle(cx, q),
                false => i += 1,
            }
        }
        if !in_turn {
            let here = self.queue_on(group, cx.here().0);
            self.unthrottle_those(cx, group, |q| q == here);
            self.unthrottle_those(cx, group, |_| true);
        }
    }

    /// Ends the throttling of the queues of `group` that have time again and that `which` takes.
    fn unthrottle_those(&mut self, cx: &mut Cx<'_>, group: u32, which: impl Fn(u32) -> bool) {
        let mut i = 0;
        while let Some(&q) = self.groups[group as usize].bandwidth.throttled.get(i) {
            match which(q) && self.queues[q as usize].remaining > 0 {
                true => self.unthrottle(cx, q),
                false => i += 1,
            }
        }
    }

    /// `q` may have become empty: what it does not need goes back.
    pub(super) fn return_slack(&mut self, cx: &mut Cx<'_>, q: u32) {
        let queue = &mut self.queues[q as usize];
        if !queue.limited || queue.count > 0 {
            return;
        }
        let surplus = queue.remaining - KEPT;
        if surplus <= 0 {
            return;
        }
        let (group, now) = (queue.group, self.cpus[usize::from(queue.cpu)].clock);
        queue.remaining -= surplus;
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        bandwidth.pool += surplus;
        let period_near = bandwidth.expires - now < PERIOD_NEAR;
        if bandwidth.pool > self.rules.bandwidth_slice
            && !bandwidth.throttled.is_empty()
            && bandwidth.slack_at.is_none()
            && !period_near
        {
            bandwidth.slack_at = Some(now + SLACK);
            self.arm(cx, group);
        }
    }

    /// The timer of `group` expired.
    fn quota_timer(&mut self, cx: &mut Cx<'_>, group: u32) {
        let now = self.now(cx);
        let bandwidth = &self.groups[group as usize].bandwidth;
        if bandwidth.periods && bandwidth.expires <= now {
            self.period(cx, group, now);
        }
        let slack_at = self.groups[group as usize].bandwidth.slack_at;
        if slack_at.is_some_and(|at| at <= now) {
            let slice = self.rules.bandwidth_slice;
            let bandwidth = &mut self.groups[group as usize].bandwidth;
            bandwidth.slack_at = None;
            let near = bandwidth.expires - now < PERIOD_NOW;
            if !near && bandwidth.quota > 0 && bandwidth.pool > slice {
                self.distribute(cx, group);
            }
        }
    }

    /// A period of `group` ends at `now`.
    fn period(&mut self, cx: &mut Cx<'_>, group: u32, now: i64) {
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        let overruns = (now - bandwidth.expires) / bandwidth.period + 1;
        bandwidth.expires += overruns * bandwidth.period;
        if bandwidth.quota == 0 {
            bandwidth.periods = false;
            return;
        }
        let waiting = !bandwidth.throttled.is_empty();
        bandwidth.pool = (bandwidth.pool + bandwidth.quota).min(bandwidth.quota + bandwidth.burst);
        if bandwidth.unused && !waiting {
            bandwidth.periods = false;
            return;
        }
        bandwidth.unused = !waiting;
        if waiting {
            self.distribute(cx, group);
            self.groups[group as usize].bandwidth.unused = false;
        }
    }

    /// Starts the periods of `group` on their grid.
    fn start_period(&mut self, cx: &mut Cx<'_>, group: u32, now: i64) {
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        let late = now - bandwidth.expires;
        if late >= 0 {
            bandwidth.expires += (late / bandwidth.period + 1) * bandwidth.period;
        }
        bandwidth.periods = true;
        self.arm(cx, group);
    }

    /// When the first of the timers of `group` expires.
    fn timer_of(&self, group: u32) -> Option<Instant> {
        let bandwidth = &self.groups[group as usize].bandwidth;
        let period_at = bandwidth.periods.then_some(bandwidth.expires);
        let first = match (period_at, bandwidth.slack_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        first.map(|at| Instant::from_nanos(at as u64))
    }

    fn arm(&mut self, cx: &mut Cx<'_>, group: u32) {
        let domain = match self.groups[group as usize].owner {
            Owner::Domain(domain) | Owner::Part(domain, _) => domain,
            Owner::Root | Owner::Group(_) => return self.arm_named(cx),
        };
        match self.timer_of_domain(self.domain(domain).group) {
            Some(at) => cx.set_domain_timer(domain, at.max(cx.now())),
            None => cx.stop_domain_timer(domain),
        }
    }

    /// When the first of the timers of `group`, a domain's, and of the groups in it expires.
    pub(super) fn timer_of_domain(&self, group: u32) -> Option<Instant> {
        let below = self.groups[group as usize].children.iter();
        let below = below.filter_map(|g| self.timer_of_domain(*g));
        self.timer_of(group).into_iter().chain(below).min()
    }

    /// The timer of `group`, a domain's, and of the groups in it expired: those around others come
    /// first.
    pub(super) fn domain_quotas_timer(&mut self, cx: &mut Cx<'_>, group: u32) {
        self.quota_timer(cx, group);
        for i in 0..self.groups[group as usize].children.len() {
            let below = self.groups[group as usize].children[i];
            self.domain_quotas_timer(cx, below);
        }
    }

    /// When the first of the timers of groups of domains expires.
    fn first_of_named(&self) -> Option<Instant> {
        let named = self.named.iter().filter(|g| **g != NIL);
        named.filter_map(|g| self.timer_of(*g)).min()
    }

    /// Sets the timer of groups of domains, on the first pcpu.
    pub(super) fn arm_named(&mut self, cx: &mut Cx<'_>) {
        let online = self.cpus.iter().position(|c| c.online);
        let on = online.map_or(self.quotas_on, |c| c as u16);
        if core::mem::replace(&mut self.quotas_on, on) != on {
            cx.stop_timer(PcpuId(self.quotas_on), QUOTAS);
        }
        match self.first_of_named() {
            Some(at) => cx.set_timer(PcpuId(on), QUOTAS, at.max(cx.now())),
            None => cx.stop_timer(PcpuId(on), QUOTAS),
        }
    }

    /// The timer of groups of domains expired.
    pub(super) fn quotas_timer(&mut self, cx: &mut Cx<'_>) -> Option<Instant> {
        for i in 0..self.named.len() {
            if self.named[i] != NIL {
                self.quota_timer(cx, self.named[i]);
            }
        }
        self.first_of_named()
    }

    /// The last thread of `group` is gone, and so is the group.
    pub(super) fn forget_quota(&mut self, cx: &mut Cx<'_>, group: u32) {
        for cpu in 0..self.cpus.len() as u16 {
            let q = self.queue_on(group, cpu);
            self.queues[q as usize].limited = false;
            if self.queues[q as usize].throttled {
                self.unthrottle(cx, q);
            }
        }
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        if bandwidth.quota > 0 || bandwidth.periods || bandwidth.slack_at.is_some() {
            let throttled = core::mem::take(&mut bandwidth.throttled);
            *bandwidth = super::state::Bandwidth {
                throttled,
                expires: bandwidth.expires,
                ..super::state::Bandwidth::default()
            };
            self.arm(cx, group);
        }
    }

    /// Where the grid of periods of `group` begins.
    pub(super) fn phase(&self, group: u32) -> i64 {
        // Linux draws the phase when the group is created.
        let number = match self.groups[group as usize].owner {
            Owner::Root => 0,
            Owner::Domain(domain) => u64::from(domain.0),
            Owner::Group(name) => u64::from(name.0) + (1 << 16),
            Owner::Part(domain, part) => u64::from(domain.0) | (part.number() + 2) << 16,
        };
        match self.rules.eevdf {
            true => (domio_core::mixed(number) % SPREAD) as i64,
            false => 0,
        }
    }

    /// Puts the quota of `setting` into force for `group`.
    pub(super) fn set_quota(&mut self, cx: &mut Cx<'_>, group: u32, setting: &GroupSetting) {
        let now = self.now(cx);
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        let is = setting.quota;
        if (bandwidth.quota, bandwidth.period, bandwidth.burst)
            == (is, setting.period, setting.burst)
        {
            return;
        }
        bandwidth.quota = is;
        bandwidth.period = setting.period;
        bandwidth.burst = setting.burst;
        if is > 0 {
            bandwidth.pool = (bandwidth.pool + is).min(is + setting.burst);
            if !bandwidth.periods {
                self.start_period(cx, group, now);
            }
        }
        for cpu in 0..self.cpus.len() as u16 {
            let q = self.queue_on(group, cpu);
            let queue = &mut self.queues[q as usize];
            queue.limited = is > 0;
            queue.remaining = i64::from(self.rules.release.keeps_a_nanosecond());
            if queue.throttled {
                self.unthrottle(cx, q);
            }
        }
    }
}
