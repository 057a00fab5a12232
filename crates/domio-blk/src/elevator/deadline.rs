//! Deadline: sweeps within a direction, and no request waits for ever (Linux 2.6.24,
//! `block/deadline-iosched.c`).
//!
//! Each direction has its requests twice: by sector, and in order of arrival with a deadline. A
//! batch continues along the sectors only while requests are contiguous; then the direction is
//! chosen anew, reads first, but writes after `writes_starved` times. A direction starts where its
//! sweep was, or with the oldest request when there is no such place or its deadline has passed.
//! Whatever is handed on clears the place of the *other* direction's sweep.

use super::contract::{Elevator, ElevatorInfo, Merge, Promise};
use super::cx::ElevatorCx;
use super::list::List;
use super::request::{Bio, IoWay, Jiffies, RequestId, Requests};
use super::sorted::Sorted;
use super::tunables::{Tuning, plain, time};
use alloc::boxed::Box;
use domio_core::params::{flag, int};

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "deadline",
    alias: None,
    summary: "sweeps, reads before writes, and a deadline for each request",
    source: "Linux 2.6.24, block/deadline-iosched.c",
    tunables: Tunables::ALL,
    keys: Tunables::KEYS,
    promise: Promise::Expiry {
        read_ms: 500,
        write_ms: 5000,
    },
    make: |tuning, _| Box::new(Deadline::new(tuning)),
};

tunables! {
    struct Tunables {
        read_expire: Jiffies = time(0, (1, 2)), "Deadline of a read after it was queued";
        write_expire: Jiffies = time(0, (5, 1)), "Deadline of a write after it was queued";
        writes_starved: i64 = plain(int("", (0, 1_000_000), 2)),
            "How often reads are chosen while writes wait";
        front_merges: bool = plain(flag(true)),
            "Whether a bio is merged in front of a request that is not the last one found";
        fifo_batch: i64 = plain(int("", (0, 1_000_000), 16)),
            "Most contiguous requests of a batch";
    }
}

/// The elevator's state; pairs are indexed by direction, reads first.
struct Deadline {
    sorted: [Sorted; 2],
    fifo: [List; 2],
    /// Where each sweep continues.
    next: [Option<RequestId>; 2],
    /// Requests of the batch so far.
    batching: i64,
    /// How often reads were chosen while writes waited.
    starved: i64,
    /// Where the last request handed on ends.
    last_sector: u64,
    tunables: Tunables,
}

impl Deadline {
    fn new(tuning: &Tuning) -> Self {
        Deadline {
            sorted: Default::default(),
            fifo: Default::default(),
            next: [None; 2],
            batching: 0,
            starved: 0,
            last_sector: 0,
            tunables: tuning.into(),
        }
    }

    /// The deadline of a direction after it was queued.
    fn expire(&self, way: usize) -> Jiffies {
        [self.tunables.read_expire, self.tunables.write_expire][way]
    }

    /// Sorts a request in. One that starts at the same sector is handed on to make room.
    fn sort(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let way = cx.view()[rq].way.index();
        while let Err(alias) = self.sorted[way].insert(cx.requests(), rq) {
            self.hand_on(cx, alias);
        }
    }

    fn forget(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let way = cx.view()[rq].way.index();
        if self.next[way] == Some(rq) {
            self.next[way] = self.sorted[way].next(cx.view(), rq);
        }
        self.sorted[way].remove(cx.view(), rq);
        self.fifo[way].remove(&mut cx.requests().queue, rq);
    }

    /// Hands a request on; the sweep continues behind this one, and in this direction alone.
    fn hand_on(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let way = cx.view()[rq].way.index();
        self.next = [None; 2];
        self.next[way] = self.sorted[way].next(cx.view(), rq);
        self.last_sector = cx.view()[rq].end();
        self.forget(cx, rq);
        cx.dispatch_last(rq);
    }

    /// Chooses the direction of a new batch.
    fn choose(&mut self) -> Option<IoWay> {
        let [reads, writes] = self.fifo.map(|list| !list.is_empty());
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

    /// The first request of a batch of this direction.
    fn start(&self, cx: &ElevatorCx<'_>, way: IoWay) -> Option<RequestId> {
        let oldest = self.fifo[way.index()].first()?;
        let expired = cx.now > cx.view()[oldest].expires;
        let next = self.next[way.index()].filter(|_| !expired);
        Some(next.unwrap_or(oldest))
    }
}

impl Elevator for Deadline {
    fn front_merge(&mut self, _requests: &Requests, bio: &Bio) -> Option<RequestId> {
        if !self.tunables.front_merges {
            return None;
        }
        self.sorted[bio.way.index()].find(bio.end())
    }

    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        if merge == Merge::Front {
            let way = cx.view()[rq].way.index();
            self.sorted[way].remove(cx.view(), rq);
            self.sort(cx, rq);
        }
    }

    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let expires = cx.view()[next].expires;
        if expires < cx.view()[rq].expires {
            let fifo = &mut self.fifo[cx.view()[rq].way.index()];
            let requests = cx.requests();
            fifo.remove(&mut requests.queue, rq);
            fifo.insert_after(&mut requests.queue, Some(next), rq);
            requests[rq].expires = expires;
        }
        self.forget(cx, next);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.sort(cx, rq);
        let way = cx.view()[rq].way.index();
        cx.requests()[rq].expires = cx.now + self.expire(way);
        self.fifo[way].push_back(&mut cx.requests().queue, rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let going_on = self.next[IoWay::Write.index()].or(self.next[IoWay::Read.index()]);
        if let Some(rq) = going_on {
            if self.last_sector != cx.view()[rq].sector {
                self.batching += self.tunables.fifo_batch;
            }
            if self.batching < self.tunables.fifo_batch {
                self.batching += 1;
                self.hand_on(cx, rq);
                return 1;
            }
        }
        let Some(rq) = self.choose().and_then(|way| self.start(cx, way)) else {
            return 0;
        };
        self.batching = 1;
        self.hand_on(cx, rq);
        1
    }

    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        self.sorted[requests[rq].way.index()].prev(requests, rq)
    }

    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        self.sorted[requests[rq].way.index()].next(requests, rq)
    }

    fn is_empty(&self) -> bool {
        self.fifo.iter().all(List::is_empty)
    }
}
