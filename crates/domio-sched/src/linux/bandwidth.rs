//! Quotas of groups (linux-spec 4).

use super::entity::how;
use super::params::GroupSetting;
use super::state::NIL;
use super::{Linux, event};
use domio_contract::{Cx, Work};
use domio_core::{Instant, PcpuId};

const MS: i64 = 1_000_000;

/// What a queue keeps when it becomes empty.
const KEPT: i64 = MS;
/// How long surplus waits until it is given to others.
const SLACK: i64 = 5 * MS;
/// The slack timer is not started when the period ends within this.
const PERIOD_NEAR: i64 = 7 * MS;
/// What it gives is not given when the period ends within this.
const PERIOD_NOW: i64 = 2 * MS;
/// Default period, over which the grids of groups are spread.
const SPREAD: u64 = 100 * MS as u64;

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
        if bandwidth.period_at.is_none() {
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
        if self.queues[q as usize].remaining <= 0 {
            self.throttle(cx, q);
        }
    }

    /// Throttles `q`, unless there is time left for it after all.
    fn throttle(&mut self, cx: &mut Cx<'_>, q: u32) -> bool {
        if self.fetch(cx, q, 1) {
            return false;
        }
        let (group, e) = (
            self.queues[q as usize].group,
            self.queues[q as usize].entity,
        );
        self.groups[group as usize].bandwidth.throttled.push(q);
        let whole = !self.rules.throttles_threads;
        self.queues[q as usize].throttles += 1;
        if whole {
            let threads = self.queues[q as usize].threads as i32;
            let idlers = self.queues[q as usize].idlers as i32;
            let delayed = self.queues[q as usize].delayed as i32;
            if self.entities[e as usize].on_queue {
                if delayed > 0 {
                    self.count_delayed(e, -delayed);
                }
                let slept = match self.entities[e as usize].delayed {
                    true => how::DELAYED,
                    false => 0,
                };
                let flags = how::SLEEP | how::AT_ONCE | slept;
                self.dequeue_from(cx, e, flags, threads, idlers);
            }
        }
        self.queues[q as usize].throttled = true;
        let domain = self.domain_of(group);
        event::throttled(cx, PcpuId(self.queues[q as usize].cpu), domain);
        if whole {
            for i in 0..self.groups[group as usize].members.len() {
                let vcpu = self.groups[group as usize].members[i];
                let t = self.threads[vcpu.index()].entity;
                let entity = &self.entities[t as usize];
                if entity.queue == q && entity.on_queue && !entity.delayed {
                    self.park(cx, t);
                }
            }
        }
        true
    }

    /// The thread `e` may not run, as its group has no time.
    pub(super) fn park(&mut self, cx: &mut Cx<'_>, e: u32) {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        let thread = &mut self.threads[vcpu.index()];
        if !core::mem::replace(&mut thread.parked, true) {
            cx.park(vcpu);
            cx.did(Work::Park, 1);
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
        let (group, e) = (
            self.queues[q as usize].group,
            self.queues[q as usize].entity,
        );
        let whole = !self.rules.throttles_threads;
        if whole {
            // Nothing goes further up yet.
            self.release(cx, q, group);
        }
        self.queues[q as usize].throttled = false;
        self.queues[q as usize].throttles -= 1;
        let list = &mut self.groups[group as usize].bandwidth.throttled;
        list.retain(|other| *other != q);
        event::unthrottled(cx, PcpuId(cpu), self.domain_of(group));
        if !whole {
            self.release(cx, q, group);
        }
        if whole && self.queues[q as usize].count > 0 {
            if self.entities[e as usize].on_queue {
                // It slept on the queue when the group ran out of time.
                self.dequeue_from(cx, e, how::SLEEP | how::DELAYED, 0, 0);
            }
            let threads = self.queues[q as usize].threads as i32;
            let idlers = self.queues[q as usize].idlers as i32;
            self.enqueue_from(cx, e, how::SLEEP, threads, idlers);
            let delayed = self.queues[q as usize].delayed as i32;
            if delayed > 0 {
                self.count_delayed(e, delayed);
            }
        }
        let root = &self.queues[usize::from(cpu)];
        if self.cpus[usize::from(cpu)].current == NIL && root.count > 0 {
            self.resched(cx, cpu);
        }
    }

    /// The threads of `q`, whose group has time again, are not parked any more: some run again, and
    /// some have been stopped meanwhile.
    fn release(&mut self, cx: &mut Cx<'_>, q: u32, group: u32) {
        let members = core::mem::take(&mut self.groups[group as usize].members);
        for &vcpu in &members {
            let t = self.threads[vcpu.index()].entity;
            let here = self.entities[t as usize].queue == q;
            if !here || !core::mem::take(&mut self.threads[vcpu.index()].parked) {
                continue;
            }
            cx.did(Work::Unpark, 1);
            match (cx.unpark(vcpu), self.entities[t as usize].on_queue) {
                (false, true) => self.dequeue_thread(cx, t, how::SLEEP | how::AT_ONCE),
                (true, false) => self.enqueue_thread(cx, t, how::SLEEP),
                _ => {}
            }
        }
        self.groups[group as usize].members = members;
    }

    /// Gives the pool of `group` to those who are out of time, a nanosecond more than they owe.
    fn distribute(&mut self, cx: &mut Cx<'_>, group: u32) {
        let mut i = 0;
        while let Some(&q) = self.groups[group as usize].bandwidth.throttled.get(i) {
            let bandwidth = &mut self.groups[group as usize].bandwidth;
            if bandwidth.pool <= 0 {
                return;
            }
            let want = 1 - self.queues[q as usize].remaining;
            let amount = want.min(bandwidth.pool);
            bandwidth.pool -= amount;
            self.queues[q as usize].remaining += amount;
            match self.queues[q as usize].remaining > 0 {
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
        let period_near = bandwidth.period_at.is_none_or(|at| at - now < PERIOD_NEAR);
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
    pub(super) fn quota_timer(&mut self, cx: &mut Cx<'_>, group: u32) -> Option<Instant> {
        let now = self.now(cx);
        let due = |at: Option<i64>| at.is_some_and(|at| at <= now);
        if due(self.groups[group as usize].bandwidth.period_at) {
            self.period(cx, group, now);
        }
        if due(self.groups[group as usize].bandwidth.slack_at) {
            let slice = self.rules.bandwidth_slice;
            let bandwidth = &mut self.groups[group as usize].bandwidth;
            bandwidth.slack_at = None;
            let near = bandwidth.period_at.is_some_and(|at| at - now < PERIOD_NOW);
            if !near && bandwidth.pool > slice {
                self.distribute(cx, group);
            }
        }
        self.timer_of(group)
    }

    /// A period of `group` ends at `now`.
    fn period(&mut self, cx: &mut Cx<'_>, group: u32, now: i64) {
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        let at = bandwidth.period_at.expect("a period runs");
        let overruns = (now - at) / bandwidth.period + 1;
        let waiting = !bandwidth.throttled.is_empty();
        bandwidth.pool = (bandwidth.pool + bandwidth.quota).min(bandwidth.quota + bandwidth.burst);
        if bandwidth.quota == 0 || (bandwidth.unused && !waiting) {
            bandwidth.period_at = None;
            return;
        }
        bandwidth.period_at = Some(at + overruns * bandwidth.period);
        bandwidth.unused = !waiting;
        if waiting {
            self.distribute(cx, group);
            self.groups[group as usize].bandwidth.unused = false;
        }
    }

    /// Starts the periods of `group` on their grid.
    fn start_period(&mut self, cx: &mut Cx<'_>, group: u32, now: i64) {
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        let since = (now - bandwidth.phase).rem_euclid(bandwidth.period);
        bandwidth.period_at = Some(now - since + bandwidth.period);
        self.arm(cx, group);
    }

    /// When the first of the timers of `group` expires.
    fn timer_of(&self, group: u32) -> Option<Instant> {
        let bandwidth = &self.groups[group as usize].bandwidth;
        let first = match (bandwidth.period_at, bandwidth.slack_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        first.map(|at| Instant::from_nanos(at as u64))
    }

    fn arm(&mut self, cx: &mut Cx<'_>, group: u32) {
        let domain = self.domain_of(group);
        match self.timer_of(group) {
            Some(at) => cx.set_domain_timer(domain, at.max(cx.now())),
            None => cx.stop_domain_timer(domain),
        }
    }

    /// The last thread of `group` is gone, and so is the group.
    pub(super) fn forget_quota(&mut self, cx: &mut Cx<'_>, group: u32) {
        let cpus = self.cpus.len() as u32;
        for q in group * cpus..(group + 1) * cpus {
            if self.queues[q as usize].throttled {
                self.unthrottle(cx, q);
            }
            self.queues[q as usize].limited = false;
        }
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        if bandwidth.quota > 0 {
            let throttled = core::mem::take(&mut bandwidth.throttled);
            *bandwidth = super::state::Bandwidth {
                throttled,
                ..super::state::Bandwidth::default()
            };
            self.arm(cx, group);
        }
    }

    /// Puts the quota of `setting` into force for `group`.
    pub(super) fn set_quota(&mut self, cx: &mut Cx<'_>, group: u32, setting: &GroupSetting) {
        let now = self.now(cx);
        let phase = match self.rules.eevdf {
            // Linux draws the phase when the group is created.
            true => (domio_core::mixed(u64::from(self.domain_of(group).0)) % SPREAD) as i64,
            false => 0,
        };
        let cpus = self.cpus.len() as u32;
        let bandwidth = &mut self.groups[group as usize].bandwidth;
        let (was, is) = (bandwidth.quota, setting.quota);
        if (was, bandwidth.period, bandwidth.burst) == (is, setting.period, setting.burst) {
            return;
        }
        bandwidth.quota = is;
        bandwidth.period = setting.period;
        bandwidth.burst = setting.burst;
        bandwidth.phase = phase;
        if is > 0 {
            bandwidth.pool = (bandwidth.pool + is).min(is + setting.burst);
            if bandwidth.period_at.is_none() {
                self.start_period(cx, group, now);
            }
        } else {
            bandwidth.period_at = None;
            bandwidth.slack_at = None;
            bandwidth.pool = 0;
            if was > 0 {
                self.arm(cx, group);
            }
        }
        for cpu in 0..cpus {
            let q = group * cpus + cpu;
            let queue = &mut self.queues[q as usize];
            queue.limited = is > 0;
            queue.remaining = 0;
            if queue.throttled {
                self.unthrottle(cx, q);
            }
        }
    }
}
