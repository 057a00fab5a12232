//! Plug, dispatch list, the driver's loop, completions.

use super::DiskQueue;
use crate::elevator::{Jiffies, QueueAction, QueueTimer, QueueWork, Request, RequestId};

/// Longest time of a plug, in thousandths of a second.
const PLUG_MS: i64 = 3;

impl DiskQueue {
    /// Whether neither the dispatch list nor the elevator has a request.
    pub(super) fn is_empty(&self) -> bool {
        self.core.dispatch.is_empty() && self.elevator.is_empty()
    }

    /// Holds requests back for a moment, so that more come and are merged: what a driver does that
    /// cannot take a request now (`blk_plug_device`).
    pub fn plug(&mut self, now: Jiffies) {
        if !self.plugged {
            self.plugged = true;
            let delay = (PLUG_MS * self.limits.hz / 1000).max(1);
            self.core.arm(QueueTimer::Unplug, now + delay);
        }
    }

    fn pull_plug(&mut self) -> bool {
        let was = core::mem::take(&mut self.plugged);
        if was {
            self.core.cancel(QueueTimer::Unplug);
        }
        was
    }

    /// Takes the plug out and runs the driver. Without a plug nothing happens. In the multi-queue
    /// layer the plugs of all processes are emptied.
    pub fn unplug(&mut self, now: Jiffies) {
        if self.multi.is_some() {
            self.flush(now, None);
            return;
        }
        if self.pull_plug() {
            self.drive(now);
        }
    }

    /// Hands a new request to the elevator.
    pub(super) fn insert(&mut self, now: Jiffies, rq: RequestId) {
        self.core.hash(rq);
        self.core.last_merge.get_or_insert(rq);
        self.elevator.insert(&mut self.core.cx(now), rq);
        if self.core.take_run() {
            self.start(now);
        }
        if self.plugged && self.room.total() - self.in_flight >= self.limits.plug {
            self.unplug(now);
        }
    }

    /// Runs the driver, plugged or not (`blk_start_queueing`).
    fn start(&mut self, now: Jiffies) {
        self.pull_plug();
        self.drive(now);
    }

    /// The driver's loop. The multi-queue layer asks for a request when there is a tag of the
    /// driver for it. Linux 2.6.24: while there is no plug, looks at the next request, and takes
    /// it if the device has room. What was looked at stays first in any case.
    pub(super) fn drive(&mut self, now: Jiffies) {
        let chosen_ahead = self.multi.is_none();
        while !self.plugged && (chosen_ahead || self.busy < self.limits.depth) {
            let Some(rq) = self.next_request(now) else {
                return;
            };
            if self.busy >= self.limits.depth {
                return;
            }
            let core = &mut self.core;
            core.dispatch.remove(&mut core.requests.queue, rq);
            core.requests[rq].issue_ns = core.ns(now);
            core.actions.push(QueueAction::Start(rq));
            self.in_flight += 1;
            self.busy += 1;
        }
    }

    fn next_request(&mut self, now: Jiffies) -> Option<RequestId> {
        while self.core.dispatch.is_empty() {
            if self.elevator.dispatch(&mut self.core.cx(now)) == 0 {
                return None;
            }
        }
        let rq = self.core.dispatch.first()?;
        if !self.core.requests[rq].started {
            self.elevator.activate(&mut self.core.cx(now), rq);
            self.core.requests[rq].started = true;
        }
        self.core.seen(rq);
        Some(rq)
    }

    /// The device has finished `rq`. The queue is run, whether or not it was plugged.
    pub fn complete(&mut self, now: Jiffies, rq: RequestId) {
        self.finish(now, rq);
        self.pull_plug();
        if !self.is_empty() {
            self.drive(now);
        }
    }

    /// The device has finished `rq`, and the queue is not run: for drivers that end several
    /// requests
    /// and call [`DiskQueue::restart`] then.
    pub fn finish(&mut self, now: Jiffies, rq: RequestId) {
        self.busy -= 1;
        self.in_flight -= 1;
        self.elevator.completed(&mut self.core.cx(now), rq);
        self.give_back(now, rq);
    }

    /// Runs the driver, as a driver does that knows no plug (blkfront): a plug stays in.
    pub fn restart(&mut self, now: Jiffies) {
        let plugged = core::mem::take(&mut self.plugged);
        if !self.is_empty() {
            self.drive(now);
        }
        self.plugged |= plugged;
    }

    /// The device has not taken `rq`, or has given it back unfinished: the driver tries again with
    /// the next run of the queue, with this request first. That is after a completion, or, when the
    /// device holds nothing, when the plug goes out that is put in now.
    pub fn requeue(&mut self, now: Jiffies, rq: RequestId) {
        self.busy -= 1;
        self.in_flight -= 1;
        self.elevator.deactivate(&mut self.core.cx(now), rq);
        let core = &mut self.core;
        core.requests[rq].started = false;
        core.dispatch.push_front(&mut core.requests.queue, rq);
        if self.multi.is_some() {
            core.ask(QueueWork::Kick);
        } else if self.busy == 0 {
            self.plug(now);
        }
    }

    /// Releases a request that is in no list.
    pub(super) fn give_back(&mut self, now: Jiffies, rq: RequestId) {
        self.elevator.release(&mut self.core.cx(now), rq);
        let Request { way, sync, .. } = self.core.requests[rq];
        self.core.requests.release(rq);
        if self.multi.is_some() {
            self.tag_freed(way, sync);
        } else {
            self.freed(way.index());
        }
    }

    /// A timer's jiffy has begun. A timer that was cancelled meanwhile does nothing.
    pub fn timer(&mut self, now: Jiffies, timer: QueueTimer) {
        if !self.core.fired(timer) {
            return;
        }
        if timer == QueueTimer::Unplug {
            self.core.ask(QueueWork::Unplug);
        } else {
            self.elevator.timer(&mut self.core.cx(now), timer);
        }
    }

    /// Nobody will run [`QueueWork::Unplug`], which was asked for: who submits takes the plug out.
    pub fn needs_no_unplug(&mut self) {
        self.core.began(QueueWork::Unplug);
    }

    /// Work that was asked for runs.
    pub fn work(&mut self, now: Jiffies, work: QueueWork) {
        if !self.core.began(work) {
            return;
        }
        match work {
            QueueWork::Unplug => self.unplug(now),
            QueueWork::Kick => self.start(now),
        }
    }
}
