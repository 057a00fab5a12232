//! What an elevator is: the hooks that the request layer calls.

use super::cx::{ElevatorCx, QueueTimer};
use super::list::List;
use super::request::{Bio, IoWay, Jiffies, RequestId, Requests, Submitter};
use super::tunables::{Tunable, Tuning};
use alloc::boxed::Box;
use core::fmt;
use domio_core::keys::Key;

/// At which end of a request a bio was merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merge {
    /// In front: the request starts earlier now.
    Front,
    /// Behind.
    Back,
}

/// Whether a submitter may take a request when the queue has too many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MayQueue {
    /// If the queue's limits allow.
    May,
    /// Beyond the limits.
    Must,
}

/// The request layer that an elevator is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// The one of Linux 2.6.24: the queue is plugged, and each direction has its requests.
    Single,
    /// blk-mq: each process has a plug, and requests have tags.
    Multi,
}

/// Where the request that takes a bio is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeIn {
    /// In what the layer keeps: the last request, the table by end, then `front_merge`.
    Table,
    /// In this list of the elevator, the newest eight requests.
    List(List),
}

/// What an elevator promises of the longest wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Order of arrival: with `n` requests ahead, `n` services.
    Arrival,
    /// Once this many milliseconds have passed, a request is served as soon as older expired ones
    /// and a batch are.
    Expiry {
        /// Of a read.
        read_ms: i64,
        /// Of a write.
        write_ms: i64,
    },
    /// Queues take turns: of six processes, one of which wants more than a device can do that takes
    /// a millisecond a request, none waits longer, but for the idle class. No figure of the kernel
    /// but one of the conformance suite.
    Turns {
        /// Longest wait for the turn (ms).
        wait_ms: i64,
    },
}

/// Orders the requests of one disk.
///
/// The request layer owns all requests and the dispatch list; an elevator owns what it keeps of
/// each, from `insert` until it hands the request on to the dispatch list. It sees the clock and
/// the requests through [`ElevatorCx`] and asks for everything through the context.
///
/// Order of the calls for a request: `prepare`, `insert`; handed on in some `dispatch` (or in a
/// later `insert`, when another request takes its place); `activate` when the driver sees it;
/// `completed`; `release`. A request that was merged into another one goes from
/// `merged_requests` straight to `release`.
pub trait Elevator: Send {
    /// The request layer that calls.
    fn layer(&self) -> Layer {
        Layer::Single
    }

    /// Requests that there may be in the multi-queue layer (`nr_requests`), for a device that holds
    /// `depth`.
    fn tags(&self, depth: u32) -> u32 {
        2 * depth.min(128)
    }

    /// How many of `tags` all requests may have that are limited as those of this direction and
    /// flag are; `None` for requests without such a limit.
    fn async_depth(&self, way: IoWay, sync: bool, tags: u32) -> Option<u32> {
        let _ = (way, sync, tags);
        None
    }

    /// Where to look for a request that takes `bio`.
    fn merge_in(&self, bio: &Bio) -> MergeIn {
        let _ = bio;
        MergeIn::Table
    }

    /// The request that starts where `bio` ends, to merge in front of; the layer checks whether
    /// the two go together.
    fn front_merge(&mut self, requests: &Requests, bio: &Bio) -> Option<RequestId> {
        let _ = (requests, bio);
        None
    }

    /// Whether `bio` may be merged into `rq`, as far as the elevator is concerned.
    fn allow_merge(&self, requests: &Requests, rq: RequestId, bio: &Bio) -> bool {
        let _ = (requests, rq, bio);
        true
    }

    /// A bio has been merged into `rq`, and `rq` with no neighbour.
    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        let _ = (cx, rq, merge);
    }

    /// `rq` has taken over what was in `next`, which started where `rq` ended: forget `next`.
    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId);

    /// A request was made, for what will be inserted.
    fn prepare(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let _ = (cx, rq);
    }

    /// A request is given back.
    fn release(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let _ = (cx, rq);
    }

    /// A new request.
    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId);

    /// The dispatch list is empty: hand requests on, and say how many. 0 means that the driver
    /// gets none now.
    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize;

    /// The driver sees `rq` for the first time.
    fn activate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let _ = (cx, rq);
    }

    /// The driver has put `rq` back at the head of the dispatch list, and will see it anew.
    fn deactivate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let _ = (cx, rq);
    }

    /// The device has finished `rq`.
    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let _ = (cx, rq);
    }

    /// The neighbour before `rq`, to be merged with.
    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId>;

    /// The neighbour behind `rq`, to be merged with.
    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId>;

    /// Whether the elevator has nothing to hand on.
    fn is_empty(&self) -> bool;

    /// Whether `submitter` may take a request of this direction. `sync` is the flag of the bio,
    /// which reads don't carry.
    fn may_queue(&mut self, submitter: Submitter, way: IoWay, sync: bool) -> MayQueue {
        let _ = (submitter, way, sync);
        MayQueue::May
    }

    /// A timer of the elevator has fired.
    fn timer(&mut self, cx: &mut ElevatorCx<'_>, timer: QueueTimer) {
        let _ = (cx, timer);
    }

    /// The submitter is gone; its requests are still served.
    fn exit(&mut self, cx: &mut ElevatorCx<'_>, submitter: Submitter) {
        let _ = (cx, submitter);
    }
}

/// An elevator that can be asked for by name.
#[derive(Clone, Copy)]
pub struct ElevatorInfo {
    /// Name in `/sys/block/DISK/queue/scheduler` and on the command line.
    pub name: &'static str,
    /// A short form of the name, where there is one.
    pub alias: Option<&'static str>,
    /// One line.
    pub summary: &'static str,
    /// Where the rules come from.
    pub source: &'static str,
    /// What can be set, in the order of [`Tuning`].
    pub tunables: &'static [Tunable],
    /// The tunables as keys of scenarios, in the same order ([`super::tunables::keys`]).
    pub keys: &'static [Key],
    /// What it promises of the longest wait.
    pub promise: Promise,
    /// Makes one, for a queue that is empty at the given time.
    pub make: fn(&Tuning, Jiffies) -> Box<dyn Elevator>,
}

impl fmt::Debug for ElevatorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
