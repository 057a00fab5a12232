//! The class deadline: earliest deadlines first, each with a constant bandwidth server (linux-spec
//! 7.3).

use super::Linux;
use super::cbs::Cbs;
use super::entity::how;
use super::params::Level;
use domio_contract::Cx;

impl Linux {
    #[inline]
    pub(super) fn cbs_mut(&mut self, e: u32) -> &mut Cbs {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        &mut self.threads[vcpu.index()].cbs
    }

    #[inline]
    pub(super) fn cbs(&self, e: u32) -> &Cbs {
        let vcpu = self.entities[e as usize].vcpu.expect("a thread");
        &self.threads[vcpu.index()].cbs
    }

    /// The thread `e` of the class deadline comes to its queue, unless it has no runtime.
    pub(super) fn enqueue_deadline(&mut self, cx: &mut Cx<'_>, e: u32, flags: u8) {
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let clock = self.cpus[usize::from(cpu)].clock;
        let cbs = *self.cbs(e);
        let constrained = cbs.reserves.deadline != cbs.reserves.period;
        let between = cbs.deadline < clock && clock < cbs.next_period();
        if !cbs.throttled && constrained && between && self.start_timer(cx, e) {
            let cbs = self.cbs_mut(e);
            cbs.throttled = true;
            cbs.runtime = cbs.runtime.min(0);
        }
        if self.cbs(e).throttled {
            return self.park(cx, e);
        }
        let cbs = self.cbs_mut(e);
        if flags & (how::SLEEP | how::NEW) != 0 {
            cbs.wake(clock);
        } else if flags & how::REPLENISHED == 0 && cbs.deadline < clock {
            cbs.begin(clock);
        }
        self.link_deadline(cpu, e);
    }

    fn link_deadline(&mut self, cpu: u16, e: u32) {
        let deadline = self.cbs(e).deadline;
        let queue = &self.high[usize::from(cpu)].deadline;
        let at = queue.partition_point(|other| self.cbs(*other).deadline <= deadline);
        self.high[usize::from(cpu)].deadline.insert(at, e);
        self.entities[e as usize].on_queue = true;
    }

    fn unlink_deadline(&mut self, cpu: u16, e: u32) {
        self.high[usize::from(cpu)]
            .deadline
            .retain(|other| *other != e);
        self.entities[e as usize].on_queue = false;
    }

    /// The thread `e` of the class deadline leaves its queue.
    pub(super) fn dequeue_deadline(&mut self, cx: &mut Cx<'_>, e: u32) {
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        self.charge_high(cx, cpu);
        self.unlink_deadline(cpu, e);
    }

    /// The timer of the next period of `e` is set. Returns false where that has begun.
    fn start_timer(&mut self, cx: &mut Cx<'_>, e: u32) -> bool {
        let now = self.now(cx);
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let cbs = self.cbs_mut(e);
        let is_set = cbs.set_timer(cbs.next_period(), now);
        if is_set {
            self.arm_high(cx, cpu);
        }
        is_set
    }

    /// The thread `e` of the class deadline, current on `cpu`, ran for `delta`.
    pub(super) fn charge_deadline(&mut self, cx: &mut Cx<'_>, cpu: u16, e: u32, delta: i64) {
        let cbs = self.cbs_mut(e);
        cbs.runtime -= delta;
        if cbs.runtime > 0 && !cbs.yielded {
            return;
        }
        if !self.entities[e as usize].on_queue {
            // It leaves anyway.
            return;
        }
        self.cbs_mut(e).throttled = true;
        self.unlink_deadline(cpu, e);
        if self.start_timer(cx, e) {
            self.park(cx, e);
        } else {
            let clock = self.cpus[usize::from(cpu)].clock;
            self.cbs_mut(e).replenish(clock);
            self.link_deadline(cpu, e);
        }
        if self.high[usize::from(cpu)].deadline.first() != Some(&e) {
            self.resched(cx, cpu);
        }
    }

    /// The timer of `e` fires: its next period begins.
    pub(super) fn deadline_timer(&mut self, cx: &mut Cx<'_>, e: u32) {
        let cpu = self.queues[self.queue_of(e) as usize].cpu;
        let clock = self.cpus[usize::from(cpu)].clock;
        let cbs = self.cbs_mut(e);
        cbs.timer = None;
        if !cbs.throttled {
            return;
        }
        cbs.replenish(clock);
        if !self.unhold(cx, e) {
            return;
        }
        self.enqueue_deadline(cx, e, how::REPLENISHED);
        self.preempt(cx, e, false);
        self.push(cx, cpu);
    }

    /// The deadline of the first on `cpu`, if some thread has one.
    pub(super) fn first_deadline(&self, cpu: u16) -> Option<i64> {
        let first = self.high[usize::from(cpu)].deadline.first();
        first.map(|e| self.cbs(*e).deadline)
    }

    /// `e` is of the class deadline.
    #[inline]
    pub(super) fn has_deadline(&self, e: u32) -> bool {
        self.entities[e as usize].level == Level::Deadline
    }
}
