//! CFQ: each process gets slices of the disk's time (Linux 2.6.24, `block/cfq-iosched.c`).
//!
//! A process has a queue of its own for what it waits for (reads, writes past the page cache); the
//! other writes of all processes of a class and level share one queue. One queue is active at a
//! time and hands on up to `quantum` requests in a round. At the end of its requests the disk is
//! kept waiting for a moment, when the process is known to come back soon. The clock of a slice
//! starts with the first completion in it.
//!
//! | module | holds |
//! |---|---|
//! | `state` | queues, contexts of processes, the tree of queues that wait |
//! | `serve` | slices: which queue is served, for how long, and what it hands on |

mod serve;
mod state;

use super::choice::{BackSeek, better};
use super::contract::{Elevator, ElevatorInfo, MayQueue, Merge, Promise};
use super::cx::{ElevatorCx, QueueTimer};
use super::request::{Bio, IoWay, Jiffies, RequestId, Requests, Submitter};
use super::tunables::{Tuning, plain, time};
use alloc::boxed::Box;
use domio_core::params::int;
use state::{Class, Lines};

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "cfq",
    alias: None,
    summary: "slices of the disk's time for each process",
    source: "Linux 2.6.24, block/cfq-iosched.c",
    tunables: Tunables::ALL,
    keys: Tunables::KEYS,
    promise: Promise::Turns { wait_ms: 4000 },
    make: |tuning, now| Box::new(Cfq::new(tuning, now)),
};

const MANY: i64 = 1_000_000;

tunables! {
    struct Tunables {
        quantum: i64 = plain(int("requests", (1, MANY), 4)),
            "Most requests that a queue hands on in one round";
        fifo_expire_sync: Jiffies = time(1, (1, 8)),
            "Age of a request at which its sync queue serves this one first, once in a slice";
        fifo_expire_async: Jiffies = time(1, (1, 4)), "Like `fifo_expire_sync`, for async queues";
        back_seek_max: u64 = plain(int("KiB", (0, 1 << 30), 16 * 1024)),
            "Furthest way back that counts as a short one";
        back_seek_penalty: u64 = plain(int("", (1, MANY), 2)), "How often a way back counts";
        slice_sync: Jiffies = time(1, (1, 10)), "Slice of a sync queue of level 4";
        slice_async: Jiffies = time(1, (1, 25)).at_least_a_tick(),
            "Slice of an async queue of level 4";
        slice_async_rq: i64 = plain(int("requests", (1, MANY), 2)),
            "Requests in one round that end an async queue's slice: twice this at level 7, sixteen \
             times at level 0";
        slice_idle: Jiffies = time(0, (1, 125)).at_least_a_tick(),
            "How long the disk is kept waiting for a process; 0 for never";
    }
}

/// Fires when the disk was kept waiting long enough.
const IDLE_SLICE: QueueTimer = QueueTimer::First;

/// Fires when the idle class may be served.
const IDLE_CLASS: QueueTimer = QueueTimer::Second;

/// Mean distance (sectors) beyond which a process is taken for a random one.
const SEEKY: u64 = 8 * 1024;

/// Requests in the driver from which on the device is taken for one with a queue. The driver looks
/// at one request more than the device holds, so a few are no proof.
const DEEP: i64 = 4;

/// Slice (ticks) of a queue by its type and level.
fn slice(tunables: &Tunables, sync: bool, level: u8) -> Jiffies {
    let base = match sync {
        true => tunables.slice_sync,
        false => tunables.slice_async,
    };
    base + base / 5 * (4 - i64::from(level))
}

/// The elevator's state.
struct Cfq {
    tunables: Tunables,
    hz: i64,
    all: Lines,
    active: Option<u32>,
    /// Whose request was handed on first in this slice.
    active_context: Option<Submitter>,
    /// Requests that the driver has seen and not completed.
    in_driver: i64,
    /// Requests of sync queues handed on and not completed.
    sync_flight: i64,
    /// The device has been seen to hold several requests; stays so.
    deep: bool,
    /// Where the last request that the driver saw ends.
    last_position: u64,
    /// When a request of another class than idle was completed last.
    last_end: Jiffies,
}

impl Cfq {
    fn new(tuning: &Tuning, now: Jiffies) -> Self {
        Cfq {
            tunables: tuning.into(),
            hz: tuning.hz(),
            all: Lines::default(),
            active: None,
            active_context: None,
            in_driver: 0,
            sync_flight: 0,
            deep: false,
            last_position: 0,
            last_end: now,
        }
    }

    fn line(&mut self, at: u32) -> &mut state::Line {
        &mut self.all.lines[at as usize]
    }

    /// Runs the queue soon, if anything waits.
    fn kick(&self, cx: &mut ElevatorCx<'_>) {
        if self.all.busy() > 0 {
            cx.kick();
        }
    }

    /// Sorts a request into its queue, and the queue into the tree. One that starts at the same
    /// sector is handed on to make room.
    fn sort(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let at = cx.view()[rq].private;
        while let Err(alias) = self.line(at).sorted.insert(cx.requests(), rq) {
            self.hand_on(cx, alias);
        }
        if !self.line(at).busy {
            self.all.add(at, &self.tunables, cx.now);
        }
        let next = self.better(cx.view(), self.all.lines[at as usize].next, Some(rq));
        self.line(at).next = next;
    }

    /// Takes a request out of its queue.
    fn forget(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let at = cx.view()[rq].private;
        if self.line(at).next == Some(rq) {
            let (next, prev) = self.line(at).sorted.around(cx.view(), rq);
            self.line(at).next = self.better(cx.view(), next, prev);
        }
        let meta = cx.view()[rq].meta;
        let line = self.line(at);
        line.fifo.remove(&mut cx.requests().queue, rq);
        line.sorted.remove(cx.view(), rq);
        line.meta -= u32::from(meta);
        if line.sorted.is_empty() {
            self.all.remove(at);
        }
    }

    fn hand_on(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.forget(cx, rq);
        let line = self.line(cx.view()[rq].private);
        line.dispatched += 1;
        self.sync_flight += i64::from(line.sync);
        cx.dispatch_sorted(rq);
    }

    /// The better one of two requests of a queue, from where the device is.
    fn better(
        &self,
        requests: &Requests,
        a: Option<RequestId>,
        b: Option<RequestId>,
    ) -> Option<RequestId> {
        let back = BackSeek {
            most: 2 * self.tunables.back_seek_max,
            penalty: self.tunables.back_seek_penalty,
        };
        better(requests, self.last_position, back, a, b)
    }
}

impl Elevator for Cfq {
    fn front_merge(&mut self, _requests: &Requests, bio: &Bio) -> Option<RequestId> {
        let at = self.all.of_bio(bio)?;
        self.line(at).sorted.find(bio.end())
    }

    fn allow_merge(&self, requests: &Requests, rq: RequestId, bio: &Bio) -> bool {
        let rq = &requests[rq];
        (rq.is_sync() || !bio.is_sync()) && self.all.of_bio(bio) == Some(rq.private)
    }

    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        if merge == Merge::Front {
            let at = cx.view()[rq].private;
            self.line(at).sorted.remove(cx.view(), rq);
            self.sort(cx, rq);
        }
    }

    /// The kernel would give `rq` the place of `next` in the FIFO if `next` were older; but by then
    /// the layer has given `rq` the earlier start, so that it never does.
    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, _rq: RequestId, next: RequestId) {
        self.forget(cx, next);
    }

    fn prepare(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let sync = request.is_sync();
        let at = self.all.get(request.submitter, request.prio, sync, cx.now);
        self.line(at).refs += 1;
        cx.requests()[rq].private = at;
    }

    fn release(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let at = cx.view()[rq].private;
        self.put(cx, at);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.sort(cx, rq);
        let line = &mut self.all.lines[cx.view()[rq].private as usize];
        line.fifo.push_back(&mut cx.requests().queue, rq);
        self.enqueued(cx, rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        self.serve(cx)
    }

    fn activate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.in_driver += 1;
        self.deep |= self.in_driver > DEEP;
        self.last_position = cx.view()[rq].end();
    }

    fn deactivate(&mut self, _cx: &mut ElevatorCx<'_>, _rq: RequestId) {
        self.in_driver -= 1;
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let (at, sync) = (request.private, request.is_sync());
        self.in_driver -= 1;
        let line = self.line(at);
        line.dispatched -= 1;
        let (of_sync, class) = (line.sync, line.class);
        self.sync_flight -= i64::from(of_sync);
        if class != Some(Class::Idle) {
            self.last_end = cx.now;
        }
        if sync {
            self.all.known(request.submitter).last_end = cx.now;
        }
        if self.active == Some(at) {
            self.completed_in_slice(cx, at, sync);
        }
        if self.in_driver == 0 {
            self.kick(cx);
        }
    }

    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        let line = &self.all.lines[requests[rq].private as usize];
        line.sorted.prev(requests, rq)
    }

    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        let line = &self.all.lines[requests[rq].private as usize];
        line.sorted.next(requests, rq)
    }

    fn is_empty(&self) -> bool {
        self.all.busy() == 0
    }

    /// Once in a slice, a queue that the disk is kept waiting for gets a request beyond the limits.
    /// Looks by the flag alone, which reads don't carry: a read asks about the async queue.
    fn may_queue(&mut self, submitter: Submitter, _way: IoWay, sync: bool) -> MayQueue {
        let Some(at) = self.all.of(submitter, sync) else {
            return MayQueue::May;
        };
        let line = self.line(at);
        if line.waiting && !line.granted {
            line.granted = true;
            return MayQueue::Must;
        }
        MayQueue::May
    }

    fn timer(&mut self, cx: &mut ElevatorCx<'_>, timer: QueueTimer) {
        if timer == IDLE_SLICE {
            self.waited_enough(cx);
        } else {
            self.idle_class_due(cx);
        }
    }

    fn exit(&mut self, cx: &mut ElevatorCx<'_>, submitter: Submitter) {
        if self.all.context(submitter).is_none() {
            return;
        }
        let context = self.all.known(submitter);
        context.alive = false;
        for at in core::mem::take(&mut context.lines).into_iter().flatten() {
            if self.active == Some(at) {
                self.expire(cx, false);
                self.kick(cx);
            }
            self.put(cx, at);
        }
    }
}
