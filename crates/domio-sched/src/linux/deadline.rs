//! The class deadline: earliest deadlines first, each with a constant bandwidth server (linux-spec
//! 7.3).

use super::Linux;
use super::entity::how;
use super::given::Reservation;
use super::params::Level;
use domio_contract::Cx;

/// Bits that the kernel drops before it multiplies times.
const SCALE: u32 = 10;
/// Bits of the fraction of a density.
const DENSITY: u32 = 20;
/// A timer that is late by this much is not started.
const LATE: i64 = 1_000;

/// A constant bandwidth server: that of a thread, or the fair server of a pcpu.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cbs {
    pub reserves: Reservation,
    /// What is left until the deadline; less than nothing where it ran on to a tick.
    pub runtime: i64,
    pub deadline: i64,
    /// Out of runtime until the timer fires; or, of the fair server, deferred until then.
    pub throttled: bool,
    /// Gave up the rest of its runtime.
    pub yielded: bool,
    /// The timer is for the end of the laxity (fair server).
    pub deferred: bool,
    /// It had to run, and so does not wait for the end of the laxity again (fair server).
    pub needed: bool,
    /// When its timer fires.
    pub timer: Option<i64>,
}

impl Cbs {
    /// Of whoever reserves nothing.
    pub const NONE: Cbs = Cbs {
        reserves: Reservation {
            runtime: 0,
            deadline: 0,
            period: 0,
        },
        runtime: 0,
        // Before all time.
        deadline: i64::MIN / 4,
        throttled: false,
        yielded: false,
        deferred: false,
        needed: false,
        timer: None,
    };

    /// When the period after that of the deadline begins.
    pub fn next_period(&self) -> i64 {
        self.deadline - self.reserves.deadline + self.reserves.period
    }

    /// All of the runtime, for a deadline that counts from `clock`.
    pub fn begin(&mut self, clock: i64) {
        self.deadline = clock + self.reserves.deadline;
        self.runtime = self.reserves.runtime;
    }

    /// Whether the runtime that is left is more, until the deadline, than was reserved.
    fn overflows(&self, clock: i64) -> bool {
        let r = &self.reserves;
        let left = i128::from(r.deadline >> SCALE) * i128::from(self.runtime >> SCALE);
        let right = i128::from((self.deadline - clock) >> SCALE) * i128::from(r.runtime >> SCALE);
        right < left
    }

    /// The rule of wake-ups. Returns whether a new deadline counts from `clock`.
    pub fn wake(&mut self, clock: i64) -> bool {
        let over = self.deadline < clock;
        if !over && !self.overflows(clock) {
            return false;
        }
        let r = &self.reserves;
        if !over && r.deadline != r.period {
            // The revised rule: what fits before the deadline that is.
            let density = (i128::from(r.runtime) << DENSITY) / i128::from(r.deadline);
            let laxity = i128::from(self.deadline - clock);
            self.runtime = ((density * laxity) >> DENSITY) as i64;
            return false;
        }
        self.begin(clock);
        true
    }

    /// Another runtime, or as many as pay the debt. Returns whether the deadline counts from
    /// `clock`, as all else would be over.
    pub fn replenish(&mut self, clock: i64) -> bool {
        if core::mem::take(&mut self.yielded) {
            self.runtime = self.runtime.min(0);
        }
        if self.runtime <= 0 {
            let times = 1 - self.runtime / self.reserves.runtime;
            self.deadline += times * self.reserves.period;
            self.runtime += times * self.reserves.runtime;
        }
        self.throttled = false;
        let over = self.deadline < clock;
        if over {
            self.begin(clock);
        }
        over
    }
}

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
        let at = cbs.next_period();
        if at - now <= -LATE {
            return false;
        }
        cbs.timer = Some(at.max(now));
        self.arm_high(cx, cpu);
        true
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
        self.preempt(cx, e);
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
