//! The multi-queue layer (blk-mq of Linux 6.1) with one hardware queue: plugs of processes, tags.
//!
//! A process collects its requests in a plug of its own, which is emptied when the process sleeps,
//! when it gives the processor back (the work [`QueueWork::Unplug`]), or with the 32nd request. A
//! request has a tag from the time at which it is made. Without a free tag the process sleeps, and
//! a tag that is given back goes straight to who has slept longest of those that may take it.
//!
//! An insertion runs the queue, unlike in Linux 2.6.24; the elevator is asked for a request only
//! while the device has room.

use super::{DiskQueue, Submitted};
use crate::elevator::{
    Bio, IoWay, Jiffies, Merge, MergeIn, QueueAction, QueueWork, RequestId, Submitter,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Requests of a process that empty its plug.
const PLUG: usize = 32;

/// What the layer keeps beside the elevator.
pub(super) struct Multi {
    /// Requests that there may be.
    tags: u32,
    used: u32,
    /// Tags of requests that the elevator limits.
    limited: u32,
    asleep: VecDeque<Bio>,
    /// Woken with a tag, not yet resumed.
    awake: Vec<Bio>,
    /// Requests in plugs, in order of arrival.
    plugs: Vec<RequestId>,
    /// Room for the plug that is being emptied.
    out: Vec<RequestId>,
}

impl Multi {
    pub fn new(tags: u32) -> Self {
        Multi {
            tags,
            used: 0,
            limited: 0,
            asleep: VecDeque::new(),
            awake: Vec::new(),
            plugs: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Whether there is a tag, given the limit of the request's sort.
    fn has_tag(&self, limit: Option<u32>) -> bool {
        self.used < self.tags && limit.is_none_or(|limit| self.limited < limit.max(1))
    }

    fn take_tag(&mut self, limit: Option<u32>) {
        self.used += 1;
        self.limited += u32::from(limit.is_some());
    }
}

impl DiskQueue {
    /// Whether the layer is the multi-queue one.
    pub fn is_multi(&self) -> bool {
        self.multi.is_some()
    }

    fn multi(&mut self) -> &mut Multi {
        self.multi
            .as_mut()
            .expect("the layer is the multi-queue one")
    }

    fn tag_limit(&self, way: IoWay, sync: bool) -> Option<u32> {
        let tags = self.multi.as_ref()?.tags;
        self.elevator.async_depth(way, sync, tags)
    }

    pub(super) fn submit_multi(&mut self, now: Jiffies, bio: &Bio) -> Submitted {
        if self.merge_in_plug(bio) || self.merge(now, bio) {
            return Submitted::Merged;
        }
        let limit = self.tag_limit(bio.way, bio.sync);
        if !self.multi().has_tag(limit) {
            self.multi().asleep.push_back(*bio);
            self.flush(now, Some(bio.submitter));
            return Submitted::Asleep;
        }
        self.multi().take_tag(limit);
        self.plug_in(now, bio);
        Submitted::Queued
    }

    /// Who was woken has a tag already.
    pub(super) fn resume_multi(&mut self, now: Jiffies, submitter: Submitter) -> Submitted {
        let awake = &mut self.multi().awake;
        let at = awake.iter().position(|b| b.submitter == submitter);
        let bio = awake.remove(at.expect("only a woken process continues"));
        self.plug_in(now, &bio);
        Submitted::Queued
    }

    fn plug_in(&mut self, now: Jiffies, bio: &Bio) {
        let rq = self.core.requests.make(bio, now);
        self.core.requests[rq].start_ns = self.core.ns(now);
        self.elevator.prepare(&mut self.core.cx(now), rq);
        self.multi().plugs.push(rq);
        if self.plug_of(bio.submitter).count() >= PLUG {
            self.flush(now, Some(bio.submitter));
        } else {
            self.core.ask(QueueWork::Unplug);
        }
    }

    /// Requests in a process's plug, newest first.
    fn plug_of(&self, submitter: Submitter) -> impl Iterator<Item = RequestId> + '_ {
        let plugs = self.multi.iter().flat_map(|multi| multi.plugs.iter().rev());
        let requests = &self.core.requests;
        plugs
            .copied()
            .filter(move |rq| requests[*rq].submitter == submitter)
    }

    /// The newest request of the process's plug takes `bio`, if the two are contiguous.
    fn merge_in_plug(&mut self, bio: &Bio) -> bool {
        let Some(rq) = self.plug_of(bio.submitter).next() else {
            return false;
        };
        let Some(merge) = self.end_for(rq, bio) else {
            return false;
        };
        if !self.has_room(rq, bio) {
            self.core.requests[rq].no_merge = true;
            return false;
        }
        match merge {
            Merge::Back => self.core.requests.append(rq, bio),
            Merge::Front => self.core.requests.prepend(rq, bio),
        }
        true
    }

    /// Empties the plug of a process, or of all, and runs the queue.
    pub(super) fn flush(&mut self, now: Jiffies, submitter: Option<Submitter>) {
        let requests = &self.core.requests;
        let Some(multi) = &mut self.multi else { return };
        let mut out = core::mem::take(&mut multi.out);
        multi.plugs.retain(|rq| {
            let stays = submitter.is_some_and(|one| requests[*rq].submitter != one);
            if !stays {
                out.push(*rq);
            }
            stays
        });
        let any = !out.is_empty();
        for rq in out.drain(..) {
            if !self.join_behind(now, rq) {
                self.insert(now, rq);
            }
        }
        self.multi().out = out;
        if any {
            self.drive(now);
        }
    }

    /// What comes from a plug is merged behind a request of the elevator, if the two are
    /// contiguous: the one found or made last, or one of the table.
    fn join_behind(&mut self, now: Jiffies, rq: RequestId) -> bool {
        let request = self.core.requests[rq];
        let bio = request.as_bio();
        if request.no_merge || self.elevator.merge_in(&bio) != MergeIn::Table {
            return false;
        }
        let last = self.core.last_merge;
        let found = last.filter(|last| self.end_for(*last, &bio) == Some(Merge::Back));
        let found = found.or_else(|| self.core.ends_at(request.sector));
        let Some(target) = found else { return false };
        if self.end_for(target, &bio) != Some(Merge::Back) || !self.has_room(target, &bio) {
            return false;
        }
        self.core.requests.absorb(target, rq);
        self.elevator
            .merged(&mut self.core.cx(now), target, Merge::Back);
        self.core.unhash(target);
        self.core.hash(target);
        self.core.last_merge = Some(target);
        self.give_back(now, rq);
        true
    }

    /// A tag is given back: who has slept longest of those that may have one gets the tag.
    pub(super) fn tag_freed(&mut self, way: IoWay, sync: bool) {
        let limited = self.tag_limit(way, sync).is_some();
        let multi = self.multi();
        multi.used -= 1;
        multi.limited -= u32::from(limited);
        let asleep = core::mem::take(&mut self.multi().asleep);
        for bio in asleep {
            let limit = self.tag_limit(bio.way, bio.sync);
            if self.multi().has_tag(limit) {
                self.multi().take_tag(limit);
                self.multi().awake.push(bio);
                self.core.actions.push(QueueAction::Wake(bio.submitter));
            } else {
                self.multi().asleep.push_back(bio);
            }
        }
    }
}
