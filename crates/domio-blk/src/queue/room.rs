//! How many requests there may be: counts, congestion, batching, and who sleeps.
//!
//! Each direction has `nr_requests`. The submitter that takes the last one is a *batcher*: for
//! 20 ms it may take 32 more. Others sleep, and each request that is given back wakes one of them,
//! as a batcher. Half as many again as `nr_requests` is the limit for all.

use super::DiskQueue;
use crate::elevator::{Bio, Jiffies, MayQueue, QueueAction, Submitter};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Requests that a batcher may take.
const BATCH: i64 = 32;

/// A batcher's time, as a part of a second.
const BATCH_TIME: i64 = 50;

/// What the layer knows of a submitter.
#[derive(Clone, Copy, Default)]
struct Batcher {
    left: i64,
    since: Jiffies,
}

/// Counts of requests, by direction, and those who wait for one.
#[derive(Default)]
pub(super) struct Room {
    counts: [u32; 2],
    full: [bool; 2],
    congested: [bool; 2],
    asleep: [VecDeque<Bio>; 2],
    /// Woken, not yet resumed.
    awake: Vec<Bio>,
    batchers: Vec<Batcher>,
}

impl Room {
    /// Requests of both directions.
    pub fn total(&self) -> u32 {
        self.counts[0] + self.counts[1]
    }

    /// Lets the submitter of `bio` sleep, as the last one of its direction.
    pub fn sleep(&mut self, bio: &Bio) {
        self.asleep[bio.way.index()].push_back(*bio);
    }

    /// The bio with which `submitter` slept.
    pub fn woken(&mut self, submitter: Submitter) -> Bio {
        let at = self.awake.iter().position(|b| b.submitter == submitter);
        self.awake
            .remove(at.expect("only a woken process continues"))
    }

    fn batcher(&mut self, submitter: Submitter) -> &mut Batcher {
        if self.batchers.len() <= submitter.index() {
            self.batchers
                .resize(submitter.index() + 1, Batcher::default());
        }
        &mut self.batchers[submitter.index()]
    }
}

impl Batcher {
    fn is_on(&self, now: Jiffies, hz: i64) -> bool {
        self.left == BATCH || (self.left > 0 && now < self.since + hz / BATCH_TIME)
    }

    fn begin(&mut self, now: Jiffies, hz: i64) {
        if !self.is_on(now, hz) {
            *self = Batcher {
                left: BATCH,
                since: now,
            };
        }
    }
}

impl DiskQueue {
    /// Whether a direction is congested: writers that care wait before they submit more.
    pub fn is_congested(&self, way: crate::elevator::IoWay) -> bool {
        self.room.congested[way.index()]
    }

    /// From this count on, a direction is congested.
    fn congestion_on(&self) -> u32 {
        let n = self.limits.requests;
        (n - n / 8 + 1).min(n)
    }

    /// Below this count, a direction is congested no more.
    fn congestion_off(&self) -> u32 {
        let n = self.limits.requests;
        (n - n / 8 - n / 16).saturating_sub(1).max(1)
    }

    /// Counts a request for `bio`, if there is room for one. `slept` makes the submitter a batcher.
    pub(super) fn try_room(&mut self, now: Jiffies, bio: &Bio, slept: bool) -> bool {
        let hz = self.limits.hz;
        if slept {
            self.room.batcher(bio.submitter).begin(now, hz);
        }
        let may = self.elevator.may_queue(bio.submitter, bio.way, bio.sync);
        let way = bio.way.index();
        let limit = self.limits.requests;
        let one_more = self.room.counts[way] + 1;
        if one_more >= self.congestion_on() {
            if one_more >= limit {
                if !self.room.full[way] {
                    self.room.batcher(bio.submitter).begin(now, hz);
                    self.room.full[way] = true;
                } else if may != MayQueue::Must && !self.room.batcher(bio.submitter).is_on(now, hz)
                {
                    return false;
                }
            }
            self.room.congested[way] = true;
        }
        if self.room.counts[way] >= limit * 3 / 2 {
            return false;
        }
        self.room.counts[way] = one_more;
        if one_more >= limit {
            let batcher = self.room.batcher(bio.submitter);
            if batcher.is_on(now, hz) {
                batcher.left -= 1;
            }
        }
        true
    }

    /// A request of a direction is given back: wakes who has slept longest, if the count allows.
    pub(super) fn freed(&mut self, way: usize) {
        self.room.counts[way] -= 1;
        let count = self.room.counts[way];
        if count < self.congestion_off() {
            self.room.congested[way] = false;
        }
        if count < self.limits.requests {
            if let Some(bio) = self.room.asleep[way].pop_front() {
                self.room.awake.push(bio);
                self.core.actions.push(QueueAction::Wake(bio.submitter));
            }
            self.room.full[way] = false;
        }
    }
}
