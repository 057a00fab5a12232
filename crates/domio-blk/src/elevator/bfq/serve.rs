//! Turns: budgets, when a turn ends, and when the disk is kept waiting.

use super::super::cx::ElevatorCx;
use super::super::request::{RequestId, Requests};
use super::fair::virtual_time;
use super::queue::IDLE_CLASS;
use super::{Bfq, IDLE};

/// How often an async sector counts.
const ASYNC_FACTOR: u64 = 3;

/// Turns after which the device's rate is trusted.
const TURNS: u32 = 194;

/// Sectors of the largest budget before.
const DEFAULT_BUDGET: u64 = 16 * 1024;

/// How long the disk waits for a random process (ns).
const SHORT_IDLE_NS: i64 = 2_000_000;

/// A turn that has lasted as long may be a slow one (ns).
const SLOW_NS: i64 = 20_000_000;

/// Why a turn ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The disk was kept waiting for nothing.
    TooIdle,
    Timeout,
    Exhausted,
    /// The queue is empty, and not waited for.
    NoMore,
}

/// The turn that continues.
#[derive(Default)]
pub struct Turn {
    start_ns: i64,
    /// Since when the disk has waited.
    idle_since: Option<i64>,
}

/// Whether the device holds several requests, from 32 samples.
#[derive(Default)]
pub struct Depth {
    most: u32,
    samples: u32,
    pub deep: bool,
}

impl Depth {
    /// Requests in the driver that are no proof of a queue, and samples.
    const SHALLOW: u32 = 3;
    const SAMPLES: u32 = 32;

    fn sample(&mut self, in_driver: u32, waiting: u32) {
        self.most = self.most.max(in_driver);
        if in_driver + waiting <= Self::SHALLOW {
            return;
        }
        self.samples += 1;
        if self.samples >= Self::SAMPLES {
            self.deep = self.most > Self::SHALLOW;
            (self.most, self.samples) = (0, 0);
        }
    }
}

impl Bfq {
    /// Sectors of the largest budget.
    pub(super) fn max_budget(&self) -> u64 {
        match self.user_budget {
            0 if self.budgets_assigned < TURNS => DEFAULT_BUDGET,
            0 => self.rate.sectors(),
            set => set,
        }
    }

    /// Whether busy queues differ in weight or class.
    fn is_asymmetric(&self) -> bool {
        let mut busy = self.queues.busy().map(|(_, q)| (q.weight, q.class));
        let first = busy.next();
        busy.any(|other| Some(other) != first)
    }

    /// Sectors that a queue's next request is charged.
    pub(super) fn charge_of_next(&self, requests: &Requests, at: u32) -> u64 {
        let queue = &self.queues[at];
        let sectors = queue.next.map_or(0, |rq| u64::from(requests[rq].sectors));
        if queue.sync || self.is_asymmetric() {
            sectors
        } else {
            sectors * ASYNC_FACTOR
        }
    }

    /// A queue's next request is another one, or a longer one. A turn that continues keeps its
    /// budget.
    pub(super) fn next_changed(&mut self, cx: &ElevatorCx<'_>, at: u32) {
        if self.queues[at].busy && self.active != Some(at) {
            self.plan(cx.view(), at);
        }
    }

    /// Whether the disk is better kept waiting for a queue than given to another one.
    fn is_worth_waiting(&self, rotational: bool, at: u32) -> bool {
        let queue = &self.queues[at];
        if self.strict {
            return true;
        }
        if self.idle_ns == 0 || !queue.sync || !queue.alive || queue.class == IDLE_CLASS {
            return false;
        }
        let near = !queue.is_seeky() && queue.thinks_shortly(self.idle_ns);
        let faster = rotational && (!self.depth.deep || near);
        faster || self.is_asymmetric() || self.queues.busy().count() == 1
    }

    fn is_over(&self, ns: i64, at: u32) -> bool {
        let queue = &self.queues[at];
        let left = queue.budget.saturating_sub(queue.service);
        (self.turn.idle_since.is_none() || left >= queue.budget / 3)
            && ns >= self.turn.start_ns + self.timeout_ns
    }

    /// The queue that is served now.
    fn select(&mut self, cx: &mut ElevatorCx<'_>) -> Option<u32> {
        if let Some(at) = self.active {
            let queue = &self.queues[at];
            let waits = self.is_worth_waiting(cx.is_rotational(), at);
            let reason = if self.is_over(cx.ns(), at) && !(queue.next.is_none() && waits) {
                Reason::Timeout
            } else if queue.next.is_some() {
                let charge = self.charge_of_next(cx.view(), at);
                if queue.service + charge <= queue.budget {
                    self.stop_waiting(cx);
                    return Some(at);
                }
                Reason::Exhausted
            } else if self.turn.idle_since.is_some() || (queue.dispatched > 0 && waits) {
                return None;
            } else {
                Reason::NoMore
            };
            self.expire(cx, reason);
        }
        let at = self.next_queue(cx.now)?;
        self.active = Some(at);
        self.turn.start_ns = cx.ns();
        self.budgets_assigned = self.budgets_assigned.saturating_add(1);
        let queue = &mut self.queues[at];
        queue.service = 0;
        queue.fifo_seen = false;
        Some(at)
    }

    pub(super) fn serve(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        if self.strict && self.in_driver > 0 {
            return 0;
        }
        let Some(at) = self.select(cx) else { return 0 };
        let Some(rq) = self.queues[at].next else {
            return 0;
        };
        let charge = self.charge_of_next(cx.view(), at);
        self.forget(cx, rq);
        self.queues[at].dispatched += 1;
        self.served(at, charge);
        cx.dispatch_last(rq);
        let several = self.queues.busy().count() > 1;
        if several && self.queues[at].class == IDLE_CLASS {
            self.expire(cx, Reason::Exhausted);
        }
        1
    }

    fn stop_waiting(&mut self, cx: &mut ElevatorCx<'_>) {
        if self.turn.idle_since.take().is_some() {
            cx.cancel(IDLE);
        }
    }

    /// The active queue has got what the disk was kept waiting for.
    pub(super) fn awaited(&mut self, cx: &mut ElevatorCx<'_>, at: u32) {
        if self.active != Some(at) || self.turn.idle_since.is_none() {
            return;
        }
        self.stop_waiting(cx);
        if self.is_over(cx.ns(), at) {
            self.expire(cx, Reason::Timeout);
        }
    }

    /// Ends the turn. A slow queue is charged the time that it had, as if it had been fast.
    pub(super) fn expire(&mut self, cx: &mut ElevatorCx<'_>, reason: Reason) {
        let Some(at) = self.active else { return };
        let until = self.turn.idle_since.unwrap_or_else(|| cx.ns());
        let elapsed = until - self.turn.start_ns;
        self.stop_waiting(cx);
        let max = self.max_budget();
        let queue = &self.queues[at];
        let slow = queue.sync && elapsed > SLOW_NS && queue.service < max / 2;
        let left = queue.budget.saturating_sub(queue.service);
        if slow || (reason == Reason::Timeout && left >= queue.budget / 3) {
            let part = elapsed.clamp(0, self.timeout_ns);
            let by_time = i128::from(max) * i128::from(part) / i128::from(self.timeout_ns);
            let more = (by_time as u64).saturating_sub(queue.service);
            self.served(at, more);
        }
        self.active = None;
        self.adapt(at, reason);
        let queue = &mut self.queues[at];
        queue.finish = queue.start + virtual_time(queue.service, queue.weight);
        if queue.next.is_some() {
            queue.start = queue.finish;
            self.plan(cx.view(), at);
        } else {
            queue.busy = false;
            self.queues.tidy(at);
        }
    }

    /// Sets the budget of a queue's next turns by how this turn went.
    fn adapt(&mut self, at: u32, reason: Reason) {
        let max = self.max_budget();
        let min = max / 32;
        let queue = &mut self.queues[at];
        let budget = queue.max_budget;
        let budget = match reason {
            _ if !queue.sync => max,
            Reason::TooIdle if queue.dispatched > 0 => (budget * 2).min(max),
            Reason::TooIdle if budget > 5 * min => budget - 4 * min,
            Reason::TooIdle => min,
            Reason::Timeout => (budget * 2).min(max),
            Reason::Exhausted => (budget * 4).min(max),
            Reason::NoMore => queue.service.max(min),
        };
        queue.max_budget = if self.budgets_assigned >= TURNS && self.user_budget == 0 {
            budget.min(max)
        } else {
            budget
        };
    }

    /// The device has finished a request.
    pub(super) fn ended(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let (request, ns) = (cx.view()[rq], cx.ns());
        let at = request.private;
        self.depth.sample(self.in_driver, self.waiting);
        self.in_driver -= 1;
        self.rate
            .completed(ns, request.sector, u64::from(request.sectors));
        let queue = &mut self.queues[at];
        queue.dispatched -= 1;
        queue.last_done_ns = Some(ns);
        let (empty, dispatched) = (queue.next.is_none(), queue.dispatched);
        if self.active == Some(at) {
            let waits = self.is_worth_waiting(cx.is_rotational(), at);
            if empty && waits {
                if dispatched == 0 {
                    self.wait(cx, at);
                }
            } else if self.is_over(ns, at) {
                self.expire(cx, Reason::Timeout);
            } else if empty && (dispatched == 0 || !waits) {
                self.expire(cx, Reason::NoMore);
            }
        }
        if self.in_driver == 0 && self.waiting > 0 {
            cx.kick();
        }
    }

    /// Keeps the disk waiting: shortly for a random process among equals.
    fn wait(&mut self, cx: &mut ElevatorCx<'_>, at: u32) {
        let ns = if self.queues[at].is_seeky() && !self.is_asymmetric() {
            self.idle_ns.min(SHORT_IDLE_NS)
        } else {
            self.idle_ns
        };
        self.turn.idle_since = Some(cx.ns());
        cx.arm(IDLE, cx.jiffy_at(cx.ns() + ns));
    }

    /// The disk was kept waiting long enough.
    pub(super) fn waited_enough(&mut self, cx: &mut ElevatorCx<'_>) {
        if let Some(at) = self.active {
            let over = self.is_over(cx.ns(), at);
            if over {
                self.expire(cx, Reason::Timeout);
            } else if self.queues[at].next.is_none() {
                self.expire(cx, Reason::TooIdle);
            }
        }
        cx.kick();
    }
}
