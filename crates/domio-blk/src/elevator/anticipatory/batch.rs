//! Batches of reads and of writes, and what is handed on next.
//!
//! While requests of both kinds wait, batches of both take turns. The device is drained of one kind
//! before a batch of the other begins. A batch of reads has its time from the first completion on.
//! A batch of writes has its time and a number of requests, which adapts so that the writes are
//! through in about that time; the time counts only where the device was idle at the change.

use super::super::cx::{ElevatorCx, QueueTimer};
use super::super::request::{Jiffies, RequestId};
use super::{ASYNC, Anticipatory, SYNC, Status};

/// Where the batches are.
pub(super) struct Batch {
    /// Kind of the batch: [`ASYNC`] or [`SYNC`].
    kind: usize,
    expires: Jiffies,
    /// The kind has changed, and the device is not drained yet.
    changed: bool,
    /// The batch is one of reads, and none was completed yet.
    new: bool,
    /// Requests of a batch of writes; adapts.
    writes: u32,
    /// Requests that this batch of writes has left.
    pub writes_left: u32,
    /// No read waited at the end of this batch of writes, so its time says nothing.
    idled: bool,
}

impl Batch {
    /// Before the first request. The defaults count here, whatever is set later.
    pub fn new(hz: i64, now: Jiffies) -> Self {
        Batch {
            kind: ASYNC,
            expires: now + hz / 2,
            changed: false,
            new: false,
            writes: ((hz / 8 / 10) as u32).max(2),
            writes_left: 0,
            idled: false,
        }
    }

    /// Kind of the batch.
    pub fn kind(&self) -> usize {
        self.kind
    }

    fn expired(&self, now: Jiffies) -> bool {
        if self.changed || self.new {
            return false;
        }
        now > self.expires || (self.kind == ASYNC && self.writes_left == 0)
    }

    /// Adapts the number of requests of a batch of writes of `planned` ticks to what the last one
    /// took.
    fn adapt(&mut self, now: Jiffies, planned: Jiffies) {
        let took = (now - self.expires + planned).max(0);
        if took > planned && !self.idled {
            if took > 3 * planned {
                self.writes /= 2;
            } else {
                self.writes -= 1;
            }
        } else if took < planned && self.writes_left == 0 {
            if planned > 3 * took {
                self.writes = self.writes.saturating_mul(2);
            } else {
                self.writes = self.writes.saturating_add(1);
            }
        }
        self.writes = self.writes.max(1);
    }
}

impl Anticipatory {
    /// Hands at most one request on.
    pub(super) fn serve(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let [writes, reads] = [ASYNC, SYNC].map(|kind| !self.fifo[kind].is_empty());
        if self.batch.kind == ASYNC && !reads && (self.batch.writes_left == 0 || !writes) {
            self.batch.idled = true;
        }
        if !(reads || writes) || self.wait.is_on() || self.batch.changed {
            return 0;
        }
        let mut rq = None;
        if !(reads && writes && self.batch.expired(cx.now)) {
            rq = self.next[self.batch.kind];
            if self.batch.kind == SYNC && self.tunables.antic_expire > 0 {
                if self.oldest_is_due(cx, SYNC) {
                    return self.begin(cx, self.fifo[SYNC].first());
                }
                if self.may_wait(cx, rq) {
                    self.start_waiting(cx);
                    return 0;
                }
            }
            if rq.is_some() && reads && !writes {
                self.batch.expires = cx.now + self.tunables.read_batch_expire;
            }
        }
        if rq.is_none() {
            self.change(cx, reads, writes);
            rq = self.fifo[self.batch.kind].first();
        }
        if self.oldest_is_due(cx, self.batch.kind) {
            rq = self.fifo[self.batch.kind].first();
        }
        self.begin(cx, rq)
    }

    /// Ends the batch. Reads and writes take turns when both wait.
    fn change(&mut self, cx: &ElevatorCx<'_>, reads: bool, writes: bool) {
        let batch = &mut self.batch;
        let before = batch.kind;
        batch.kind = if reads && !(writes && before == SYNC) {
            SYNC
        } else {
            ASYNC
        };
        batch.changed |= batch.kind != before;
        if batch.kind == ASYNC {
            if before == SYNC {
                // The reads may have run out before one was completed.
                batch.new = false;
            }
            batch.writes_left = batch.writes;
            batch.idled = false;
        }
        self.fifo_checked[batch.kind] = cx.now;
    }

    /// Hands `rq` on, unless the device is to be drained first.
    fn begin(&mut self, cx: &mut ElevatorCx<'_>, rq: Option<RequestId>) -> usize {
        if self.batch.changed {
            if self.in_flight > 0 {
                return 0;
            }
            if self.batch.kind == ASYNC {
                self.batch.expires = cx.now + self.tunables.write_batch_expire;
            } else {
                self.batch.new = true;
            }
            self.batch.changed = false;
        }
        let rq = rq.expect("a kind with requests knows its next one");
        self.hand_on(cx, rq);
        1
    }

    /// Whether the oldest request of a kind is past its deadline. Looks once in the time of a
    /// deadline only.
    fn oldest_is_due(&mut self, cx: &ElevatorCx<'_>, kind: usize) -> bool {
        let expire = self.expire(kind);
        if cx.now - self.fifo_checked[kind] < expire {
            return false;
        }
        self.fifo_checked[kind] = cx.now;
        let oldest = self.fifo[kind].first();
        oldest.is_some_and(|rq| cx.now > cx.view()[rq].expires)
    }

    /// What a completion of a kind means for the batches.
    pub(super) fn completed_in_batch(&mut self, cx: &mut ElevatorCx<'_>, kind: usize) {
        let tunables = self.tunables;
        let batch = &mut self.batch;
        if batch.changed && self.in_flight == 1 {
            // A batch of writes that had to wait for this keeps the expiry of the reads before:
            // the kernel sets another one only where a batch begins with the device idle.
            batch.changed = false;
            batch.new |= batch.kind == SYNC;
            cx.kick();
        }
        self.in_flight -= 1;
        if batch.new && batch.kind == kind {
            batch.adapt(cx.now, tunables.write_batch_expire);
            batch.expires = cx.now + tunables.read_batch_expire;
            batch.new = false;
        }
    }

    /// Stops waiting; the queue is run soon.
    pub(super) fn break_off(&mut self, cx: &mut ElevatorCx<'_>) {
        if self.wait.is_on() {
            if self.wait.status == Status::ForNext {
                cx.cancel(QueueTimer::First);
            }
            self.wait.status = Status::Over;
            cx.kick();
        }
    }
}
