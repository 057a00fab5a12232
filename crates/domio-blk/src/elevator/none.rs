//! None: no elevator. What leaves a process's plug goes to the driver in order of arrival (Linux
//! 6.1, `block/blk-mq.c`, `blk-mq-sched.c`).
//!
//! A request takes a tag of the driver when it is made, so that there are never more than the
//! device holds. One list stands for the lists of all processors.

use super::contract::{Elevator, ElevatorInfo, Layer, MergeIn, Promise};
use super::cx::ElevatorCx;
use super::list::List;
use super::request::{Bio, RequestId, Requests};
use alloc::boxed::Box;

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "none",
    alias: None,
    summary: "no elevator: straight to the driver, merging among the newest",
    source: "Linux 6.1, block/blk-mq-sched.c",
    tunables: &[],
    keys: &[],
    promise: Promise::Arrival,
    make: |_, _| Box::new(Straight::default()),
};

/// Requests that the driver has not taken.
#[derive(Default)]
struct Straight {
    waiting: List,
}

impl Elevator for Straight {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    fn tags(&self, depth: u32) -> u32 {
        depth
    }

    fn merge_in(&self, _bio: &Bio) -> MergeIn {
        MergeIn::List(self.waiting)
    }

    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, _rq: RequestId, next: RequestId) {
        self.waiting.remove(&mut cx.requests().queue, next);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.waiting.push_back(&mut cx.requests().queue, rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let Some(rq) = self.waiting.first() else {
            return 0;
        };
        self.waiting.remove(&mut cx.requests().queue, rq);
        cx.dispatch_last(rq);
        1
    }

    fn former(&self, _requests: &Requests, _rq: RequestId) -> Option<RequestId> {
        None
    }

    fn latter(&self, _requests: &Requests, _rq: RequestId) -> Option<RequestId> {
        None
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
