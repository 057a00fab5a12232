//! Anticipatory: sweeps in batches of reads and of writes, and a moment's wait after a read for the
//! next one of the same process (Linux 2.6.24, `block/as-iosched.c`).
//!
//! | module | holds |
//! |---|---|
//! | `batch` | batches of reads and of writes, and what is handed on next |
//! | `wait` | the wait: when to begin, when to break it off, what is learnt from it |
//!
//! "Reads" are the synchronous requests here and below, direct writes among them.

mod batch;
mod wait;

use super::contract::{Elevator, ElevatorInfo, MayQueue, Merge, Promise};
use super::cx::{ElevatorCx, QueueTimer};
use super::history::Average;
use super::list::List;
use super::request::{Bio, IoWay, Jiffies, Request, RequestId, Requests, Submitter};
use super::sorted::Sorted;
use super::tunables::{Tuning, time};
use alloc::boxed::Box;
use alloc::vec::Vec;
use batch::Batch;
use wait::{Status, Wait};

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "anticipatory",
    alias: Some("as"),
    summary: "sweeps, and a moment's wait for the next read of the same process",
    source: "Linux 2.6.24, block/as-iosched.c",
    tunables: Tunables::ALL,
    keys: Tunables::KEYS,
    promise: Promise::Turns { wait_ms: 5000 },
    make: |tuning, now| Box::new(Anticipatory::new(tuning, now)),
};

tunables! {
    struct Tunables {
        read_expire: Jiffies = time(0, (1, 8)), "Deadline of a read after it was queued";
        write_expire: Jiffies = time(0, (1, 4)), "Deadline of a write after it was queued";
        antic_expire: Jiffies = time(0, (1, 150)).at_least_a_tick(),
            "How long the disk is kept waiting for a process; 0 for never";
        read_batch_expire: Jiffies = time(0, (1, 2)), "Longest batch of reads while writes wait";
        write_batch_expire: Jiffies = time(0, (1, 8)), "Longest batch of writes while reads wait";
    }
}

/// Index of async requests in pairs.
const ASYNC: usize = 0;
/// Index of sync requests in pairs.
const SYNC: usize = 1;

/// Furthest way back (sectors) that counts as a short one.
const BACK_MAX: u64 = 1024 * 1024;
/// How often a way back counts.
const BACK_PENALTY: u64 = 2;

/// A process's I/O context on this disk.
#[derive(Clone, Copy, Debug)]
struct Context {
    alive: bool,
    /// A sync request was queued once.
    started: bool,
    /// A sync request was completed once.
    completed: bool,
    last_end: Jiffies,
    last_pos: u64,
    queued: u32,
    /// Requests on the dispatch list that the driver has not seen.
    dispatched: u32,
    think: Average,
    seek: Average,
}

const NEW: Context = Context {
    alive: true,
    started: false,
    completed: false,
    last_end: 0,
    last_pos: 0,
    queued: 0,
    dispatched: 0,
    think: Average::NONE,
    seek: Average::NONE,
};

/// The elevator's state; pairs are indexed by [`ASYNC`] and [`SYNC`].
struct Anticipatory {
    tunables: Tunables,
    hz: i64,
    sorted: [Sorted; 2],
    fifo: [List; 2],
    /// The best request to continue with.
    next: [Option<RequestId>; 2],
    /// Where the last request handed on ends.
    last_sector: [u64; 2],
    /// When the oldest request was looked at last.
    fifo_checked: [Jiffies; 2],
    batch: Batch,
    wait: Wait,
    /// Requests handed on and not completed.
    in_flight: u32,
    contexts: Vec<Context>,
}

/// Index in pairs of a request.
fn kind(rq: &Request) -> usize {
    usize::from(rq.is_sync())
}

impl Anticipatory {
    /// The deadline of a kind after it was queued.
    fn expire(&self, kind: usize) -> Jiffies {
        [self.tunables.write_expire, self.tunables.read_expire][kind]
    }

    fn new(tuning: &Tuning, now: Jiffies) -> Self {
        Anticipatory {
            tunables: tuning.into(),
            hz: tuning.hz(),
            sorted: Default::default(),
            fifo: Default::default(),
            next: [None; 2],
            last_sector: [0; 2],
            fifo_checked: [0; 2],
            batch: Batch::new(tuning.hz(), now),
            wait: Wait::default(),
            in_flight: 0,
            contexts: Vec::new(),
        }
    }

    fn context(&mut self, who: Submitter) -> &mut Context {
        if self.contexts.len() <= who.index() {
            self.contexts.resize(who.index() + 1, NEW);
        }
        &mut self.contexts[who.index()]
    }

    /// Sorts a request in. One that starts at the same sector is handed on to make room.
    fn sort(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let kind = kind(&cx.view()[rq]);
        while let Err(alias) = self.sorted[kind].insert(cx.requests(), rq) {
            self.hand_on(cx, alias);
        }
    }

    fn forget(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let kind = kind(&request);
        self.context(request.submitter).queued -= 1;
        if self.next[kind] == Some(rq) {
            self.next[kind] = self.after(cx.view(), rq);
        }
        self.fifo[kind].remove(&mut cx.requests().queue, rq);
        self.sorted[kind].remove(cx.view(), rq);
    }

    /// What to continue with once `rq` is gone.
    fn after(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        let (next, prev) = self.sorted[kind(&requests[rq])].around(requests, rq);
        self.better(requests, next, prev)
    }

    fn hand_on(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let kind = kind(&request);
        self.break_off(cx);
        self.wait.status = Status::Off;
        self.last_sector[kind] = request.end();
        if kind == SYNC {
            self.wait.on = Some(request.submitter);
        } else {
            self.wait.on = None;
            self.batch.writes_left = self.batch.writes_left.saturating_sub(1);
        }
        self.wait.finished = false;
        self.next[kind] = self.after(cx.view(), rq);
        self.forget(cx, rq);
        cx.dispatch_sorted(rq);
        self.context(request.submitter).dispatched += 1;
        self.in_flight += 1;
    }

    /// The better one of two requests of a kind, by the way from the last one handed on; backward
    /// ways count double.
    fn better(
        &self,
        requests: &Requests,
        a: Option<RequestId>,
        b: Option<RequestId>,
    ) -> Option<RequestId> {
        let (Some(first), Some(second)) = (a, b) else {
            return a.or(b);
        };
        let last = self.last_sector[kind(&requests[first])];
        let way = |sector: u64| match sector.checked_sub(last) {
            Some(ahead) => Some(ahead),
            None if sector + BACK_MAX >= last => Some((last - sector) * BACK_PENALTY),
            None => None,
        };
        let (x, y) = (requests[first].sector, requests[second].sector);
        let first_wins = match (way(x), way(y)) {
            (Some(x_way), Some(y_way)) if x_way != y_way => x_way < y_way,
            (Some(_), Some(_)) => x >= y,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => x <= y,
        };
        Some(if first_wins { first } else { second })
    }

    /// A sync request of the process is through.
    fn ended(&mut self, request: &Request, now: Jiffies) {
        if request.is_sync() {
            let context = self.context(request.submitter);
            context.completed = true;
            context.last_end = now;
        }
    }
}

impl Elevator for Anticipatory {
    /// Looks among the async requests for a read and among the sync ones for a write: the kernel
    /// takes the direction for the index of the pair. Only direct writes are ever found.
    fn front_merge(&mut self, _requests: &Requests, bio: &Bio) -> Option<RequestId> {
        self.sorted[bio.way.index()].find(bio.end())
    }

    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        if merge == Merge::Front {
            self.sorted[kind(&cx.view()[rq])].remove(cx.view(), rq);
            self.sort(cx, rq);
        }
    }

    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let request = cx.view()[next];
        if request.expires < cx.view()[rq].expires {
            let fifo = &mut self.fifo[kind(&cx.view()[rq])];
            let requests = cx.requests();
            fifo.remove(&mut requests.queue, rq);
            fifo.insert_after(&mut requests.queue, Some(next), rq);
            requests[rq].expires = request.expires;
        }
        self.forget(cx, next);
        self.ended(&request, cx.now);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let kind = kind(&request);
        self.learn(cx.now, request.submitter, &request);
        self.context(request.submitter).queued += 1;
        self.sort(cx, rq);
        cx.requests()[rq].expires = cx.now + self.expire(kind);
        self.fifo[kind].push_back(&mut cx.requests().queue, rq);
        self.next[kind] = self.better(cx.view(), Some(rq), self.next[kind]);
        if self.wait.is_on() && self.breaks(cx.now, Some(&request)) {
            self.break_off(cx);
        }
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        self.serve(cx)
    }

    fn activate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let submitter = cx.view()[rq].submitter;
        self.context(submitter).dispatched -= 1;
    }

    fn deactivate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let submitter = cx.view()[rq].submitter;
        self.context(submitter).dispatched += 1;
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        self.completed_in_batch(cx, kind(&request));
        if self.wait.on == Some(request.submitter) {
            self.wait.since = cx.now;
            self.wait.finished = true;
            if self.wait.status == Status::ForEnd {
                self.wait_for_next(cx);
            }
        }
        self.ended(&request, cx.now);
    }

    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        self.sorted[kind(&requests[rq])].prev(requests, rq)
    }

    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        self.sorted[kind(&requests[rq])].next(requests, rq)
    }

    fn is_empty(&self) -> bool {
        self.fifo.iter().all(List::is_empty)
    }

    fn may_queue(&mut self, submitter: Submitter, _way: IoWay, _sync: bool) -> MayQueue {
        if self.wait.is_on() && self.wait.on == Some(submitter) {
            MayQueue::Must
        } else {
            MayQueue::May
        }
    }

    fn timer(&mut self, cx: &mut ElevatorCx<'_>, _timer: QueueTimer) {
        self.waited_enough(cx);
    }

    fn exit(&mut self, _cx: &mut ElevatorCx<'_>, submitter: Submitter) {
        self.context(submitter).alive = false;
    }
}
