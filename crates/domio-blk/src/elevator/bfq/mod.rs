//! BFQ: processes take turns by budgets of sectors, and share the disk by weight (Linux 6.1,
//! `block/bfq-iosched.c`, `bfq-wf2q.c`).
//!
//! A process has a queue of its own for what it waits for; other writes of all processes of a class
//! and level share one queue. One queue is served at a time, until its budget is used up, its time
//! is over, or it has no requests and is not waited for. Which one comes next follows from virtual
//! times (B-WF2Q+), in which a budget counts by weight.
//!
//! Left out, so that only `low_latency` 0 can be set: raised weights of interactive and soft
//! real-time processes, requests of others while the disk waits, merging of queues, groups.
//!
//! | module | holds |
//! |---|---|
//! | `queue` | queues of processes, and what is known of each |
//! | `fair` | virtual times: which queue is next |
//! | `serve` | turns: budgets, when a turn ends, when the disk waits |
//! | `rate` | sectors that the device does in a turn |

mod fair;
mod queue;
mod rate;
mod serve;

use super::choice::{BackSeek, better};
use super::contract::{Elevator, ElevatorInfo, Layer, Merge, Promise};
use super::cx::{ElevatorCx, QueueTimer};
use super::request::{Bio, IoWay, Jiffies, RequestId, Requests, Submitter};
use super::tunables::{Tuning, plain, time};
use alloc::boxed::Box;
use domio_core::params::{flag, int};
use queue::Queues;
use rate::DeviceRate;

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "bfq",
    alias: None,
    summary: "turns by budgets of sectors, shares by weight",
    source: "Linux 6.1, block/bfq-iosched.c",
    tunables: Tunables::ALL,
    keys: Tunables::KEYS,
    promise: Promise::Turns { wait_ms: 4000 },
    make: |tuning, _| Box::new(Bfq::new(tuning)),
};

tunables! {
    struct Tunables {
        fifo_expire_sync: Jiffies = time(1, (1, 8)),
            "Age of a request at which its sync queue serves this one first, once in a turn";
        fifo_expire_async: Jiffies = time(1, (1, 4)), "Like `fifo_expire_sync`, for async queues";
        back_seek_max: u64 = plain(int("KiB", (0, 1 << 30), 16 * 1024)),
            "Furthest way back that counts as a short one";
        back_seek_penalty: u64 = plain(int("", (1, 1_000_000), 2)), "How often a way back counts";
        slice_idle_us: i64 = plain(int("us", (0, 1_000_000), 8000)),
            "How long the disk is kept waiting for a process; 0 for never";
        max_budget: u64 = plain(int("sectors", (0, 1_000_000), 0)),
            "Largest budget; 0 for what the device does in a turn";
        timeout_sync: Jiffies = time(1, (1, 8)), "Longest turn";
        strict_guarantees: bool = plain(flag(false)),
            "Whether the device gets one request at a time, and always waits";
        "low_latency" = plain(int::<i64>("", (0, 0), 0)),
            "Raised weights of interactive processes, which are not modelled";
    }
}

/// Fires when the disk was kept waiting long enough.
const IDLE: QueueTimer = QueueTimer::First;

/// The elevator's state.
struct Bfq {
    back: BackSeek,
    /// Ages of requests that are served first: of async queues, of sync ones.
    fifo_expire: [Jiffies; 2],
    idle_ns: i64,
    /// The largest budget that was set, or 0.
    user_budget: u64,
    timeout_ns: i64,
    strict: bool,
    hz: i64,
    queues: Queues,
    /// Virtual time of each class.
    vtime: [u64; queue::CLASSES],
    /// When the idle class was last looked at although others have requests.
    idle_class_seen: Jiffies,
    active: Option<u32>,
    turn: serve::Turn,
    budgets_assigned: u32,
    rate: DeviceRate,
    /// Requests that the driver has seen and not completed.
    in_driver: u32,
    depth: serve::Depth,
    /// Where the last request that the driver saw ends.
    last_position: u64,
    /// Requests that wait.
    waiting: u32,
}

impl Bfq {
    fn new(tuning: &Tuning) -> Self {
        let set = Tunables::from(tuning);
        let timeout_ns = set.timeout_sync * (super::cx::NS / tuning.hz());
        Bfq {
            back: BackSeek {
                most: 2 * set.back_seek_max,
                penalty: set.back_seek_penalty,
            },
            fifo_expire: [set.fifo_expire_async, set.fifo_expire_sync],
            idle_ns: set.slice_idle_us * 1000,
            user_budget: set.max_budget,
            timeout_ns,
            strict: set.strict_guarantees,
            hz: tuning.hz(),
            queues: Queues::default(),
            vtime: [0; queue::CLASSES],
            idle_class_seen: 0,
            active: None,
            turn: serve::Turn::default(),
            budgets_assigned: 0,
            rate: DeviceRate::new(timeout_ns),
            in_driver: 0,
            depth: serve::Depth::default(),
            last_position: 0,
            waiting: 0,
        }
    }

    fn better(
        &self,
        requests: &Requests,
        a: Option<RequestId>,
        b: Option<RequestId>,
    ) -> Option<RequestId> {
        better(requests, self.last_position, self.back, a, b)
    }

    /// Sorts a request into its queue.
    fn sort(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let at = cx.view()[rq].private;
        self.queues[at].sorted.insert_behind(cx.requests(), rq);
        let next = self.better(cx.view(), self.queues[at].next, Some(rq));
        self.queues[at].next = next;
    }

    /// Takes a request out of its queue. What was waiting longest is next when it has expired, once
    /// in a turn; else what is best from where the device is.
    fn forget(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let at = cx.view()[rq].private;
        self.waiting -= 1;
        let was_next = self.queues[at].next == Some(rq);
        let around = self.queues[at].sorted.around(cx.view(), rq);
        let queue = &mut self.queues[at];
        queue.sorted.remove(cx.view(), rq);
        queue.fifo.remove(&mut cx.requests().queue, rq);
        if was_next {
            let oldest = self.expired(cx, at);
            let next = oldest.or_else(|| self.better(cx.view(), around.0, around.1));
            self.queues[at].next = next;
        }
    }

    /// The oldest request of a queue, if it is too old and the turn has not looked yet.
    fn expired(&mut self, cx: &ElevatorCx<'_>, at: u32) -> Option<RequestId> {
        let queue = &mut self.queues[at];
        if core::mem::replace(&mut queue.fifo_seen, true) {
            return None;
        }
        let oldest = queue.fifo.first()?;
        (cx.now >= cx.view()[oldest].expires).then_some(oldest)
    }
}

impl Elevator for Bfq {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    /// Writes: half of the tags, three quarters for those with the sync flag.
    fn async_depth(&self, way: IoWay, sync: bool, tags: u32) -> Option<u32> {
        match (way, sync) {
            (IoWay::Read, _) => None,
            (IoWay::Write, true) => Some(tags * 3 / 4),
            (IoWay::Write, false) => Some(tags / 2),
        }
    }

    fn front_merge(&mut self, _requests: &Requests, bio: &Bio) -> Option<RequestId> {
        let at = self.queues.of_bio(bio)?;
        self.queues[at].sorted.find(bio.end())
    }

    fn allow_merge(&self, requests: &Requests, rq: RequestId, bio: &Bio) -> bool {
        let rq = &requests[rq];
        (rq.is_sync() || !bio.is_sync()) && self.queues.of_bio(bio) == Some(rq.private)
    }

    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        let at = cx.view()[rq].private;
        if merge == Merge::Front {
            self.queues[at].sorted.remove(cx.view(), rq);
            self.sort(cx, rq);
        }
        self.next_changed(cx, at);
    }

    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let at = cx.view()[next].private;
        let expires = cx.view()[next].expires;
        if cx.view()[rq].private == at && expires < cx.view()[rq].expires {
            let requests = cx.requests();
            let fifo = &mut self.queues[at].fifo;
            fifo.remove(&mut requests.queue, rq);
            fifo.insert_after(&mut requests.queue, Some(next), rq);
            requests[rq].expires = expires;
        }
        self.forget(cx, next);
        self.next_changed(cx, at);
    }

    fn prepare(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let budget = self.max_budget();
        let at = self.queues.get(&cx.view()[rq].as_bio(), budget);
        self.queues[at].refs += 1;
        cx.requests()[rq].private = at;
    }

    fn release(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let at = cx.view()[rq].private;
        self.queues[at].refs -= 1;
        self.queues.tidy(at);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let at = request.private;
        let sync = self.queues[at].sync;
        self.queues[at].arrived(&request, cx.ns(), self.idle_ns);
        cx.requests()[rq].expires = cx.now + self.fifo_expire[usize::from(sync)];
        self.sort(cx, rq);
        self.waiting += 1;
        let queue = &mut self.queues[at];
        queue.fifo.push_back(&mut cx.requests().queue, rq);
        if queue.busy {
            self.next_changed(cx, at);
            self.awaited(cx, at);
        } else {
            self.becomes_busy(cx.view(), at);
        }
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        self.serve(cx)
    }

    fn activate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.in_driver += 1;
        self.last_position = cx.view()[rq].end();
    }

    fn deactivate(&mut self, _cx: &mut ElevatorCx<'_>, _rq: RequestId) {
        self.in_driver -= 1;
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.ended(cx, rq);
    }

    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        self.queues[requests[rq].private].sorted.prev(requests, rq)
    }

    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        self.queues[requests[rq].private].sorted.next(requests, rq)
    }

    fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    fn timer(&mut self, cx: &mut ElevatorCx<'_>, _timer: QueueTimer) {
        self.waited_enough(cx);
    }

    fn exit(&mut self, cx: &mut ElevatorCx<'_>, submitter: Submitter) {
        let Some(at) = self.queues.leave(submitter) else {
            return;
        };
        if self.active == Some(at) && self.queues[at].next.is_none() {
            self.expire(cx, serve::Reason::NoMore);
            cx.kick();
        }
        self.queues.tidy(at);
    }
}
