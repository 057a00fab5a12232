//! The request layer for one disk, as in Linux 2.6.24: merging, allocation, plugging, the dispatch
//! list and the driver's loop (`block/ll_rw_blk.c`, `block/elevator.c`, `drivers/scsi/scsi_lib.c`).
//!
//! ```text
//!  submit ─▶ merge? ─▶ request? ─▶ plug ─▶ elevator ─▶ dispatch list ─▶ driver ─▶ Start
//!               │          │ none: the submitter sleeps                           │
//!               ▼          ▼                                                      ▼
//!             Merged     Asleep ──▶ Wake, resume ◀── a request is given back ◀─ complete
//! ```
//!
//! The queue knows no clock and no device: the caller gives the time (in jiffies) with each call
//! and carries out the [`QueueAction`]s that the call has left in [`DiskQueue::take_action`].
//!
//! Inserting into a queue that is neither empty nor plugged does not run the driver: the request
//! waits for a completion, or for the elevator to ask.
//!
//! | module | holds |
//! |---|---|
//! | `merge` | merging of bios into requests, and of requests |
//! | `room` | how many requests there may be, congestion, batching, who sleeps |
//! | `drive` | plug, dispatch list, the driver's loop, completions |
//! | `multi` | what the multi-queue layer does instead: plugs of processes, tags |
//! | `timers` | ticks of a clock, and timers that fire at ticks |
//! | `rig` | the queue on a clock of its own, for traces and scripts: what happens in which order |
//!
//! An elevator of Linux 6.1 gets the multi-queue layer, with the same calls and actions.

mod drive;
mod merge;
mod multi;
mod rig;
mod room;
mod timers;

use crate::elevator::{Bio, Core, Elevator, Jiffies, Layer, QueueAction, Requests, Submitter};
use alloc::boxed::Box;
use multi::Multi;
use room::Room;

pub(crate) use rig::{ClockedQueue, QueueRig};
pub(crate) use timers::Ticks;

/// Limits of a disk's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimits {
    /// Requests of each direction before submitters sleep (`nr_requests`), at least 4. In the
    /// multi-queue layer the number follows from `depth`.
    pub requests: u32,
    /// Most sectors of a request that was merged (`max_sectors`).
    pub sectors: u32,
    /// Most segments of a request that was merged.
    pub segments: u32,
    /// Requests that the device holds at a time.
    pub depth: u32,
    /// Requests that are queued when the plug goes out (`unplug_thresh`).
    pub plug: u32,
    /// Ticks a second of the kernel's clock.
    pub hz: i64,
    /// Whether the device has an arm and turns (`queue/rotational`).
    pub rotational: bool,
}

impl QueueLimits {
    /// What a SATA disk has that holds `depth` commands.
    pub const fn disk(hz: i64, depth: u32) -> Self {
        QueueLimits {
            requests: 128,
            sectors: 1024,
            segments: 128,
            depth,
            plug: 4,
            hz,
            rotational: true,
        }
    }
}

/// What became of a bio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submitted {
    /// Went into a request that was there.
    Merged,
    /// Got a request.
    Queued,
    /// There is no request to be had: the submitter sleeps until [`QueueAction::Wake`].
    Asleep,
}

/// A disk's queue.
pub struct DiskQueue {
    limits: QueueLimits,
    elevator: Box<dyn Elevator>,
    core: Core,
    room: Room,
    /// Of the multi-queue layer; `None` for the one of 2.6.24.
    multi: Option<Multi>,
    plugged: bool,
    /// Requests that the device holds.
    busy: u32,
    /// Requests that the driver has taken.
    in_flight: u32,
    /// The next action to be taken out.
    taken: usize,
}

impl DiskQueue {
    /// An empty queue in front of an idle device.
    pub fn new(limits: QueueLimits, elevator: Box<dyn Elevator>) -> Self {
        let multi = elevator.layer() == Layer::Multi;
        DiskQueue {
            multi: multi.then(|| Multi::new(elevator.tags(limits.depth))),
            limits,
            elevator,
            core: Core::new(limits.hz, limits.rotational),
            room: Room::default(),
            plugged: false,
            busy: 0,
            in_flight: 0,
            taken: 0,
        }
    }

    /// Gives the time in nanoseconds, which goes with the jiffies of the calls that follow:
    /// nanosecond 0 is the begin of jiffy 0. Elevators of 2.6.24 have no use for nanoseconds, and
    /// without the call those of 6.1 measure in jiffies.
    pub fn tell_ns(&mut self, ns: i64) {
        self.core.tell(ns);
    }

    /// Which request layer this is.
    pub fn layer(&self) -> Layer {
        self.elevator.layer()
    }

    /// All requests.
    pub fn requests(&self) -> &Requests {
        &self.core.requests
    }

    /// The next thing that the caller is to do.
    pub fn take_action(&mut self) -> Option<QueueAction> {
        let action = self.core.actions.get(self.taken).copied();
        if action.is_some() {
            self.taken += 1;
        } else {
            self.core.actions.clear();
            self.taken = 0;
        }
        action
    }

    /// A bio is submitted. For a reader that goes to sleep for the data, call
    /// [`DiskQueue::unplug`] next.
    pub fn submit(&mut self, now: Jiffies, bio: &Bio) -> Submitted {
        if self.multi.is_some() {
            return self.submit_multi(now, bio);
        }
        if !self.is_empty() && self.merge(now, bio) {
            if bio.sync {
                self.unplug(now);
            }
            return Submitted::Merged;
        }
        let room = self.try_room(now, bio, false) || self.try_room(now, bio, false);
        self.queued(now, bio, room)
    }

    /// A submitter that slept continues. Says what became of the bio that it slept with.
    ///
    /// # Panics
    /// When this submitter was not woken.
    pub fn resume(&mut self, now: Jiffies, submitter: Submitter) -> Submitted {
        if self.multi.is_some() {
            return self.resume_multi(now, submitter);
        }
        let bio = self.room.woken(submitter);
        let room = self.try_room(now, &bio, true);
        self.queued(now, &bio, room)
    }

    /// The submitter is gone.
    pub fn exit(&mut self, now: Jiffies, submitter: Submitter) {
        self.elevator.exit(&mut self.core.cx(now), submitter);
    }

    /// Inserts `bio` if there is room for a request, or lets its submitter sleep.
    fn queued(&mut self, now: Jiffies, bio: &Bio, room: bool) -> Submitted {
        if !room {
            self.room.sleep(bio);
            self.unplug(now);
            return Submitted::Asleep;
        }
        let rq = self.core.requests.make(bio, now);
        self.elevator.prepare(&mut self.core.cx(now), rq);
        if self.is_empty() {
            self.plug(now);
        }
        self.insert(now, rq);
        if bio.sync {
            self.unplug(now);
        }
        Submitted::Queued
    }
}
