//! Deadline of the multi-queue layer: sweeps in batches, deadlines, and three classes (Linux 6.1,
//! `block/mq-deadline.c`).
//!
//! Unlike its ancestor, a batch continues along the sectors whether or not requests are contiguous,
//! and each direction keeps the place of its sweep while the other one is served. A class is served
//! only when those above have neither waiting requests nor requests in the device; of the lower
//! classes, what has waited for `prio_aging_expire` goes first. Batch and direction are the
//! device's, not the class's.

use super::contract::{Elevator, ElevatorInfo, Layer, Merge, Promise};
use super::cx::ElevatorCx;
use super::list::List;
use super::request::{Bio, IoPrio, IoWay, Jiffies, Request, RequestId, Requests};
use super::sorted::Sorted;
use super::tunables::{Tuning, plain, time};
use alloc::boxed::Box;
use domio_core::params::{flag, int};

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "mq-deadline",
    alias: None,
    summary: "sweeps in batches, deadlines, three classes",
    source: "Linux 6.1, block/mq-deadline.c",
    tunables: Tunables::ALL,
    keys: Tunables::KEYS,
    promise: Promise::Expiry {
        read_ms: 500,
        write_ms: 5000,
    },
    make: |tuning, _| Box::new(MqDeadline::new(tuning)),
};

const MANY: i64 = 1_000_000;

tunables! {
    struct Tunables {
        read_expire: Jiffies = time(0, (1, 2)), "Deadline of a read after it was queued";
        write_expire: Jiffies = time(0, (5, 1)), "Deadline of a write after it was queued";
        prio_aging_expire: Jiffies = time(0, (10, 1)),
            "Age at which a request of a lower class goes before higher classes";
        writes_starved: i64 = plain(int("", (0, MANY), 2)),
            "How often reads are chosen while writes wait";
        front_merges: bool = plain(flag(true)),
            "Whether a bio is merged in front of a request that is not the last one found";
        async_depth: u32 = plain(int("requests", (1, MANY), 256)),
            "Requests that are no reads; the default is nr_requests of a deep device, no limit";
        fifo_batch: i64 = plain(int("", (0, MANY), 16)), "Most requests of a batch";
    }
}

const CLASSES: usize = 3;

/// Place of a class: real time, best effort, idle.
fn class(prio: IoPrio) -> usize {
    match prio {
        IoPrio::RealTime(_) => 0,
        IoPrio::None { .. } | IoPrio::BestEffort(_) => 1,
        IoPrio::Idle => 2,
    }
}

/// Requests of a class; pairs are indexed by direction, reads first.
#[derive(Default)]
struct PerClass {
    sorted: [Sorted; 2],
    fifo: [List; 2],
    /// Where each sweep continues.
    next: [Option<RequestId>; 2],
    /// Requests inserted and not given back, also those in the device.
    queued: u32,
}

/// The elevator's state.
struct MqDeadline {
    classes: [PerClass; CLASSES],
    last_way: IoWay,
    batching: i64,
    starved: i64,
    tunables: Tunables,
}

impl MqDeadline {
    fn new(tuning: &Tuning) -> Self {
        MqDeadline {
            classes: Default::default(),
            last_way: IoWay::Read,
            batching: 0,
            starved: 0,
            tunables: tuning.into(),
        }
    }

    /// The deadline of a direction after it was queued.
    fn expire(&self, way: usize) -> Jiffies {
        [self.tunables.read_expire, self.tunables.write_expire][way]
    }

    fn of(&self, rq: &Request) -> &PerClass {
        &self.classes[class(rq.prio)]
    }

    /// Takes a request out of what waits.
    fn forget(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let way = request.way.index();
        let all = &mut self.classes[class(request.prio)];
        if all.next[way] == Some(rq) {
            all.next[way] = all.sorted[way].next(cx.view(), rq);
        }
        all.sorted[way].remove(cx.view(), rq);
        all.fifo[way].remove(&mut cx.requests().queue, rq);
    }

    /// The direction of a new batch of a class.
    fn choose(&mut self, at: usize) -> Option<IoWay> {
        let [reads, writes] = self.classes[at].fifo.map(|list| !list.is_empty());
        if reads {
            if !writes {
                return Some(IoWay::Read);
            }
            let starved = self.starved >= self.tunables.writes_starved;
            self.starved += 1;
            if !starved {
                return Some(IoWay::Read);
            }
        }
        if !writes {
            return None;
        }
        self.starved = 0;
        Some(IoWay::Write)
    }

    /// Hands a request of a class on, if there is one that was queued at `latest` or before. The
    /// batch is over even when the request found is too young.
    fn serve(&mut self, cx: &mut ElevatorCx<'_>, at: usize, latest: Jiffies) -> bool {
        let going_on = self.classes[at].next[self.last_way.index()];
        let rq = match going_on {
            Some(rq) if self.batching < self.tunables.fifo_batch => rq,
            _ => {
                let Some(way) = self.choose(at) else {
                    return false;
                };
                let Some(oldest) = self.classes[at].fifo[way.index()].first() else {
                    return false;
                };
                let expired = cx.now >= cx.view()[oldest].expires;
                let next = self.classes[at].next[way.index()].filter(|_| !expired);
                self.last_way = way;
                self.batching = 0;
                next.unwrap_or(oldest)
            }
        };
        let request = cx.view()[rq];
        let way = request.way.index();
        if request.expires - self.expire(way) > latest {
            return false;
        }
        self.batching += 1;
        let all = &mut self.classes[at];
        all.next[way] = all.sorted[way].next(cx.view(), rq);
        self.forget(cx, rq);
        cx.dispatch_last(rq);
        true
    }

    /// Serves what has waited too long in the classes below real time. With one class there is
    /// nobody to be starved by.
    fn serve_aged(&mut self, cx: &mut ElevatorCx<'_>) -> bool {
        let latest = cx.now - self.tunables.prio_aging_expire;
        let several = self.classes.iter().filter(|c| c.queued > 0).count() > 1;
        several && (1..CLASSES).any(|at| self.serve(cx, at, latest))
    }
}

impl Elevator for MqDeadline {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    /// Reads alone are not limited.
    fn async_depth(&self, way: IoWay, _sync: bool, tags: u32) -> Option<u32> {
        (way == IoWay::Write).then_some(self.tunables.async_depth.min(tags))
    }

    fn front_merge(&mut self, _requests: &Requests, bio: &Bio) -> Option<RequestId> {
        if !self.tunables.front_merges {
            return None;
        }
        self.classes[class(bio.prio)].sorted[bio.way.index()].find(bio.end())
    }

    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        if merge == Merge::Front {
            let request = cx.view()[rq];
            let sorted = &mut self.classes[class(request.prio)].sorted[request.way.index()];
            sorted.remove(cx.view(), rq);
            sorted.insert_behind(cx.requests(), rq);
        }
    }

    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let expires = cx.view()[next].expires;
        let request = cx.view()[rq];
        if expires < request.expires {
            let fifo = &mut self.classes[class(request.prio)].fifo[request.way.index()];
            let requests = cx.requests();
            fifo.remove(&mut requests.queue, rq);
            fifo.insert_after(&mut requests.queue, Some(next), rq);
            requests[rq].expires = expires;
        }
        self.forget(cx, next);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let way = request.way.index();
        let expires = cx.now + self.expire(way);
        let all = &mut self.classes[class(request.prio)];
        all.sorted[way].insert_behind(cx.requests(), rq);
        all.queued += 1;
        let requests = cx.requests();
        requests[rq].expires = expires;
        requests[rq].private = 1;
        all.fifo[way].push_back(&mut requests.queue, rq);
    }

    /// What was merged on the way from the plug was never counted.
    fn release(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        self.classes[class(request.prio)].queued -= request.private;
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        if self.serve_aged(cx) {
            return 1;
        }
        let now = cx.now;
        for at in 0..CLASSES {
            if self.serve(cx, at, now) {
                return 1;
            }
            if self.classes[at].queued > 0 {
                return 0;
            }
        }
        0
    }

    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        let request = &requests[rq];
        self.of(request).sorted[request.way.index()].prev(requests, rq)
    }

    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        let request = &requests[rq];
        self.of(request).sorted[request.way.index()].next(requests, rq)
    }

    fn is_empty(&self) -> bool {
        self.classes
            .iter()
            .all(|c| c.fifo.iter().all(List::is_empty))
    }
}
