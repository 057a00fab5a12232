//! What an elevator is handed: the clock, the requests, the dispatch list, and what to ask for.

use super::list::List;
use super::request::{Jiffies, RequestId, Requests};
use alloc::vec::Vec;

/// A timer of a queue. Each is armed for one time at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueTimer {
    /// The request layer's: takes the plug out.
    Unplug,
    /// The elevator's first.
    First,
    /// The elevator's second.
    Second,
}

impl QueueTimer {
    /// All, in the order of their numbers.
    pub const ALL: [QueueTimer; 3] = [QueueTimer::Unplug, QueueTimer::First, QueueTimer::Second];
}

/// Work that runs as soon as what is being done is done (`kblockd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueWork {
    /// Takes the plug out and runs the queue.
    Unplug,
    /// The elevator's: runs the queue.
    Kick,
}

/// What a queue asks of its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueAction {
    /// Call `DiskQueue::timer` once this jiffy has begun.
    Arm(QueueTimer, Jiffies),
    /// Don't.
    Cancel(QueueTimer),
    /// Call `DiskQueue::work` next.
    Work(QueueWork),
    /// The device gets this request; call `DiskQueue::complete` when the device has finished.
    Start(RequestId),
    /// Call `DiskQueue::resume` for this submitter.
    Wake(super::request::Submitter),
}

/// Number of buckets of the table of requests by their end.
const BUCKETS: usize = 64;

/// What a queue keeps of its requests beside the elevator.
pub struct Core {
    /// All requests.
    pub requests: Requests,
    /// Those that the elevator has handed on, next one first.
    pub dispatch: List,
    /// The request that was found or made last.
    pub last_merge: Option<RequestId>,
    /// What the caller is to do, in order; the caller takes the actions out.
    pub actions: Vec<QueueAction>,
    /// Where the last request that the driver saw ends: the sweep of the dispatch list starts here.
    end_sector: u64,
    /// The request that will set `end_sector`, when the elevator gives the order itself.
    boundary: Option<RequestId>,
    by_end: [List; BUCKETS],
    timers: [Option<Jiffies>; 3],
    work: [bool; 2],
    run: bool,
    /// Time (ns) that the caller has told.
    ns: i64,
    hz: i64,
    rotational: bool,
}

/// Nanoseconds of a second.
pub const NS: i64 = 1_000_000_000;

impl Default for Core {
    fn default() -> Self {
        Core {
            requests: Requests::default(),
            dispatch: List::default(),
            last_merge: None,
            actions: Vec::new(),
            end_sector: 0,
            boundary: None,
            by_end: [List::default(); BUCKETS],
            timers: [None; 3],
            work: [false; 2],
            run: false,
            ns: 0,
            hz: 1000,
            rotational: true,
        }
    }
}

impl Core {
    /// Of a queue with `hz` ticks a second, in front of a disk that turns or not.
    pub fn new(hz: i64, rotational: bool) -> Self {
        Core {
            hz,
            rotational,
            ..Core::default()
        }
    }

    /// Notes the time in nanoseconds.
    pub fn tell(&mut self, ns: i64) {
        self.ns = ns;
    }

    /// The time in nanoseconds: what was told, or the begin of the jiffy if that is later.
    pub fn ns(&self, now: Jiffies) -> i64 {
        self.ns.max(now * (NS / self.hz))
    }

    /// A context at the time `now`.
    pub fn cx(&mut self, now: Jiffies) -> ElevatorCx<'_> {
        ElevatorCx { now, core: self }
    }

    /// Arms a timer, or moves it.
    pub fn arm(&mut self, timer: QueueTimer, at: Jiffies) {
        if self.timers[timer as usize] != Some(at) {
            self.timers[timer as usize] = Some(at);
            self.actions.push(QueueAction::Arm(timer, at));
        }
    }

    /// Stops a timer, if it is armed.
    pub fn cancel(&mut self, timer: QueueTimer) {
        if self.timers[timer as usize].take().is_some() {
            self.actions.push(QueueAction::Cancel(timer));
        }
    }

    /// Notes that a timer has fired. Says whether it was armed.
    pub fn fired(&mut self, timer: QueueTimer) -> bool {
        self.timers[timer as usize].take().is_some()
    }

    /// Asks for work, once until the work has begun.
    pub fn ask(&mut self, work: QueueWork) {
        if !core::mem::replace(&mut self.work[work as usize], true) {
            self.actions.push(QueueAction::Work(work));
        }
    }

    /// Notes that work has begun. Says whether it was asked for.
    pub fn began(&mut self, work: QueueWork) -> bool {
        core::mem::take(&mut self.work[work as usize])
    }

    /// Whether the elevator asked for the queue to be run immediately.
    pub fn take_run(&mut self) -> bool {
        core::mem::take(&mut self.run)
    }

    /// Puts a request in the table by its end, in front of others of the same end.
    pub fn hash(&mut self, id: RequestId) {
        let bucket = bucket(self.requests[id].end());
        self.requests[id].bucket = bucket as u8;
        self.by_end[bucket].push_front(&mut self.requests.hash, id);
    }

    /// Takes a request out of the table, if it is in.
    pub fn unhash(&mut self, id: RequestId) {
        if self.requests.hash.is_linked(id) {
            let bucket = usize::from(self.requests[id].bucket);
            self.by_end[bucket].remove(&mut self.requests.hash, id);
        }
    }

    /// The mergeable request that ends at `sector` and was put in last. Requests met on the way
    /// that take nothing any more leave the table.
    pub fn ends_at(&mut self, sector: u64) -> Option<RequestId> {
        let mut at = self.by_end[bucket(sector)].first();
        while let Some(id) = at {
            at = self.requests.hash.next(id);
            let rq = &self.requests[id];
            if !rq.is_mergeable() {
                self.unhash(id);
            } else if rq.end() == sector {
                return Some(id);
            }
        }
        None
    }

    /// Notes that the driver sees `id`, the first of the dispatch list.
    pub fn seen(&mut self, id: RequestId) {
        if self.boundary.is_none_or(|boundary| boundary == id) {
            self.end_sector = self.requests[id].end();
            self.boundary = None;
        }
    }

    fn leave(&mut self, id: RequestId) {
        if self.last_merge == Some(id) {
            self.last_merge = None;
        }
        self.unhash(id);
    }
}

fn bucket(sector: u64) -> usize {
    (sector >> 3) as usize % BUCKETS
}

/// What an elevator sees and may ask for in one call.
pub struct ElevatorCx<'a> {
    /// Ticks since the start.
    pub now: Jiffies,
    core: &'a mut Core,
}

impl ElevatorCx<'_> {
    /// The time in nanoseconds, for what the kernel measures with `ktime_get`.
    pub fn ns(&self) -> i64 {
        self.core.ns(self.now)
    }

    /// The jiffy that begins when a time in nanoseconds has come, or later.
    pub fn jiffy_at(&self, ns: i64) -> Jiffies {
        let tick = NS / self.core.hz;
        (ns + tick - 1) / tick
    }

    /// Whether the device has an arm and turns.
    pub fn is_rotational(&self) -> bool {
        self.core.rotational
    }

    /// All requests.
    pub fn requests(&mut self) -> &mut Requests {
        &mut self.core.requests
    }

    /// All requests, to read.
    pub fn view(&self) -> &Requests {
        &self.core.requests
    }

    /// Hands a request on at its place in a one-way sweep (`elv_dispatch_sort`): behind those of
    /// the other direction and those that the driver has seen; from the end of the last one seen
    /// upwards first, then from the lowest sector upwards.
    pub fn dispatch_sorted(&mut self, id: RequestId) {
        self.core.leave(id);
        let core = &mut *self.core;
        let rq = core.requests[id];
        let ahead = |sector: u64| sector >= core.end_sector;
        let mut place = core.dispatch.last();
        while let Some(at) = place {
            let other = &core.requests[at];
            let passes = match (ahead(rq.sector), ahead(other.sector)) {
                (true, false) => true,
                (false, true) => false,
                _ => rq.sector < other.sector,
            };
            if other.way != rq.way || other.started || !passes {
                break;
            }
            place = core.requests.queue.prev(at);
        }
        core.dispatch
            .insert_after(&mut core.requests.queue, place, id);
    }

    /// Hands a request on as the last one (`elv_dispatch_add_tail`).
    pub fn dispatch_last(&mut self, id: RequestId) {
        self.core.leave(id);
        let core = &mut *self.core;
        core.end_sector = core.requests[id].end();
        core.boundary = Some(id);
        core.dispatch.push_back(&mut core.requests.queue, id);
    }

    /// Arms one of the elevator's timers, or moves it.
    pub fn arm(&mut self, timer: QueueTimer, at: Jiffies) {
        self.core.arm(timer, at);
    }

    /// Stops one of the elevator's timers.
    pub fn cancel(&mut self, timer: QueueTimer) {
        self.core.cancel(timer);
    }

    /// Whether the timer is armed.
    pub fn is_armed(&self, timer: QueueTimer) -> bool {
        self.core.timers[timer as usize].is_some()
    }

    /// Asks that the queue be run right after this call, plugged or not (`blk_start_queueing`).
    pub fn run(&mut self) {
        self.core.run = true;
    }

    /// Asks that the queue be run soon (`kblockd_schedule_work`).
    pub fn kick(&mut self) {
        self.core.ask(QueueWork::Kick);
    }
}
