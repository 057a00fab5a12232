//! Lease: one virtual disk has the arm at a time, the drive's queue stays full, and the time of the
//! drive is charged to whom it was spent for. An elevator for the layer below virtual disks, ours.
//!
//! Boutcher and Chandra end with a guess (section 3): a scheduler that is made for the VMM's layer
//! should beat noop in throughput and in fairness, because virtual disks are large contiguous
//! regions with few reasons to seek between them. This elevator takes the guess at its word.
//!
//! - Whoever submits (a thread of the back-end, and so a virtual disk) has a queue. Order within a
//!   queue is order of arrival: the guest's own elevator has chosen, and the drive reorders.
//! - One queue holds the *lease*: its requests go to the drive until the lease's time is used up.
//!   A drive that reorders on its own has short ways, as all that it holds is in one region.
//! - Nobody idles. When the holder has nothing queued, others fill the drive's queue.
//! - The time from one completion to the next is charged to whose request was completed. The next
//!   lease goes to whoever was charged least. Who comes back from a pause has saved up one lease at
//!   most.
//! - A request that has waited for `expire` goes next, whoever holds the lease.

use super::contract::{Elevator, ElevatorInfo, Merge, Promise};
use super::cx::ElevatorCx;
use super::list::List;
use super::request::{Jiffies, RequestId, Requests, Submitter};
use super::tunables::{Tuning, time};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "lease",
    alias: None,
    summary: "one virtual disk has the arm at a time; time of the drive is charged to its user",
    source: "domio; after the guess in section 3 of Boutcher and Chandra 2009",
    tunables: Tunables::ALL,
    keys: Tunables::KEYS,
    promise: Promise::Expiry {
        read_ms: 2000,
        write_ms: 2000,
    },
    make: |tuning, now| Box::new(Lease::new(tuning, now)),
};

tunables! {
    struct Tunables {
        lease: Jiffies = time(1, (1, 5)).at_least_a_tick(),
            "Time of the drive after which another virtual disk has the arm";
        expire: Jiffies = time(1, (2, 1)), "After waiting so long a request goes next";
    }
}

/// Requests of one submitter.
#[derive(Default)]
struct Queue {
    fifo: List,
    /// Ticks of the drive that were spent for it.
    charged: Jiffies,
}

/// The elevator's state.
struct Lease {
    /// By number of the submitter.
    queues: Vec<Queue>,
    /// Requests in all queues.
    queued: usize,
    /// Who has the arm.
    holder: Option<usize>,
    /// What the holder was charged when the lease began.
    since: Jiffies,
    /// Requests that were handed on and are not completed.
    handed_on: u32,
    /// When the drive last finished a request, or began to be busy.
    charged_until: Jiffies,
    tunables: Tunables,
}

impl Lease {
    fn new(tuning: &Tuning, now: Jiffies) -> Self {
        Lease {
            queues: Vec::new(),
            queued: 0,
            holder: None,
            since: 0,
            handed_on: 0,
            charged_until: now,
            tunables: tuning.into(),
        }
    }

    fn queue(&mut self, submitter: Submitter) -> &mut Queue {
        let at = submitter.index();
        if self.queues.len() <= at {
            self.queues.resize_with(at + 1, Queue::default);
        }
        &mut self.queues[at]
    }

    /// Takes a request out of its queue.
    fn forget(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let submitter = cx.view()[rq].submitter;
        self.queue(submitter)
            .fifo
            .remove(&mut cx.requests().queue, rq);
        self.queued -= 1;
    }

    /// Those who have something queued, with what they were charged.
    fn waiting(&self) -> impl Iterator<Item = (Jiffies, usize)> + '_ {
        let all = self.queues.iter().enumerate();
        let waiting = all.filter(|(_, queue)| !queue.fifo.is_empty());
        waiting.map(|(at, queue)| (queue.charged, at))
    }

    /// The oldest request that has waited for too long.
    fn expired(&self, cx: &ElevatorCx<'_>) -> Option<RequestId> {
        let heads = self.queues.iter().filter_map(|queue| queue.fifo.first());
        let oldest = heads.min_by_key(|rq| (cx.view()[*rq].expires, rq.index()))?;
        (cx.view()[oldest].expires < cx.now).then_some(oldest)
    }

    /// Who is served next. A lease that is used up continues to whoever was charged least.
    fn next(&mut self) -> Option<usize> {
        let (_, poorest) = self.waiting().min()?;
        let Some(holder) = self.holder else {
            return Some(self.give(poorest));
        };
        let used_up = self.queues[holder].charged - self.since >= self.tunables.lease;
        match (used_up, self.queues[holder].fifo.is_empty()) {
            (true, _) => Some(self.give(poorest)),
            (false, false) => Some(holder),
            // The drive's queue is filled by others, and the lease continues.
            (false, true) => Some(poorest),
        }
    }

    /// Gives the lease to `at`.
    fn give(&mut self, at: usize) -> usize {
        self.holder = Some(at);
        self.since = self.queues[at].charged;
        at
    }
}

impl Elevator for Lease {
    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let expires = cx.view()[next].expires.min(cx.view()[rq].expires);
        cx.requests()[rq].expires = expires;
        self.forget(cx, next);
    }

    fn merged(&mut self, _: &mut ElevatorCx<'_>, _: RequestId, _: Merge) {}

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        cx.requests()[rq].expires = cx.now + self.tunables.expire;
        let submitter = cx.view()[rq].submitter;
        if self.queue(submitter).fifo.is_empty() {
            // Who was away has not saved up more than a lease.
            let poorest = self.waiting().map(|(charged, _)| charged).min();
            let holder = self.holder.map(|at| self.queues[at].charged);
            if let Some(others) = poorest.into_iter().chain(holder).min() {
                let least = others - self.tunables.lease;
                let queue = self.queue(submitter);
                queue.charged = queue.charged.max(least);
            }
        }
        let queue = self.queue(submitter);
        queue.fifo.push_back(&mut cx.requests().queue, rq);
        self.queued += 1;
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let expired = self.expired(cx);
        let rq = expired.or_else(|| {
            let at = self.next()?;
            self.queues[at].fifo.first()
        });
        let Some(rq) = rq else {
            return 0;
        };
        self.forget(cx, rq);
        if self.handed_on == 0 {
            self.charged_until = cx.now;
        }
        self.handed_on += 1;
        cx.dispatch_last(rq);
        1
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.handed_on -= 1;
        let spent = cx.now - self.charged_until;
        self.charged_until = cx.now;
        let submitter = cx.view()[rq].submitter;
        self.queue(submitter).charged += spent;
    }

    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        requests.queue.prev(rq)
    }

    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        requests.queue.next(rq)
    }

    fn is_empty(&self) -> bool {
        self.queued == 0
    }

    fn exit(&mut self, _: &mut ElevatorCx<'_>, submitter: Submitter) {
        if self.holder == Some(submitter.index()) {
            self.holder = None;
        }
    }
}
