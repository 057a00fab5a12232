//! B-WF2Q+: each class has a virtual time, which sectors drive forward, divided by the weights of
//! its busy queues. A queue's turn starts where its last one finished, or now; it would finish a
//! budget later, divided by the queue's weight. Of the queues whose start has come, the one that
//! finishes first is next.

use super::super::request::{Jiffies, Requests};
use super::Bfq;
use super::queue::{CLASSES, IDLE_CLASS};

/// Bits behind the point of virtual times.
const SHIFT: u32 = 22;

/// Parts of a second after which the idle class gets a turn although others have requests.
const IDLE_CLASS_WAIT: i64 = 5;

/// Virtual time of a service.
pub fn virtual_time(sectors: u64, weight: u64) -> u64 {
    (sectors << SHIFT) / weight
}

impl Bfq {
    /// A queue without requests has got one.
    pub(super) fn becomes_busy(&mut self, requests: &Requests, at: u32) {
        let vtime = self.vtime[self.queues[at].class];
        let queue = &mut self.queues[at];
        queue.busy = true;
        queue.start = vtime.max(queue.finish);
        self.plan(requests, at);
    }

    /// Sets the budget of a queue's next turn, and where the turn would finish.
    pub(super) fn plan(&mut self, requests: &Requests, at: u32) {
        let charge = self.charge_of_next(requests, at);
        let queue = &mut self.queues[at];
        queue.budget = queue.max_budget.max(charge);
        queue.finish = queue.start + virtual_time(queue.budget, queue.weight);
    }

    /// Sectors were served, or are charged.
    pub(super) fn served(&mut self, at: u32, sectors: u64) {
        let class = self.queues[at].class;
        self.queues[at].service += sectors;
        let in_class = self.queues.busy().filter(|(_, q)| q.class == class);
        let weights: u64 = in_class.map(|(_, q)| q.weight).sum();
        self.vtime[class] += virtual_time(sectors, weights.max(1));
    }

    /// The queue whose turn is next; none is served now.
    pub(super) fn next_queue(&mut self, now: Jiffies) -> Option<u32> {
        let has = |class: usize| self.queues.busy().any(|(_, q)| q.class == class);
        let mut class = (0..CLASSES).find(|class| has(*class))?;
        if now > self.idle_class_seen + self.hz / IDLE_CLASS_WAIT {
            if has(IDLE_CLASS) {
                class = IDLE_CLASS;
            }
            self.idle_class_seen = now;
        }
        let of_class = || self.queues.busy().filter(|(_, q)| q.class == class);
        let earliest = of_class().map(|(_, q)| q.start).min()?;
        let vtime = self.vtime[class].max(earliest);
        let eligible = of_class().filter(|(_, q)| q.start <= vtime);
        let next = eligible.min_by_key(|(_, q)| q.finish).map(|(at, _)| at);
        self.vtime[class] = vtime;
        next
    }
}
