//! Noop: first come, first served, with merging (Linux 2.6.24, `block/noop-iosched.c`).
//!
//! The dispatch list is empty when the layer asks, and gets one request at a time, so its sweep
//! never changes the order.

use super::contract::{Elevator, ElevatorInfo, Promise};
use super::cx::ElevatorCx;
use super::list::List;
use super::request::{RequestId, Requests};
use alloc::boxed::Box;

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "noop",
    alias: None,
    summary: "first come, first served, with merging",
    source: "Linux 2.6.24, block/noop-iosched.c",
    tunables: &[],
    keys: &[],
    promise: Promise::Arrival,
    make: |_, _| Box::new(Noop::default()),
};

/// The elevator's state.
#[derive(Default)]
struct Noop {
    fifo: List,
}

impl Elevator for Noop {
    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, _rq: RequestId, next: RequestId) {
        self.fifo.remove(&mut cx.requests().queue, next);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.fifo.push_back(&mut cx.requests().queue, rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let Some(rq) = self.fifo.first() else {
            return 0;
        };
        self.fifo.remove(&mut cx.requests().queue, rq);
        cx.dispatch_sorted(rq);
        1
    }

    fn former(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        requests.queue.prev(rq)
    }

    fn latter(&self, requests: &Requests, rq: RequestId) -> Option<RequestId> {
        requests.queue.next(rq)
    }

    fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }
}
