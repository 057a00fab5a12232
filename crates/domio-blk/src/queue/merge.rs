//! Merging of bios into requests, and of requests that have become contiguous.
//!
//! Looked at in this order: the request that was made or found last, behind and in front; the
//! requests that end where the bio starts; the elevator's, that start where the bio ends. A request
//! that comes up against a limit is not merged into any more.

use super::DiskQueue;
use crate::elevator::{Bio, Jiffies, Merge, MergeIn, RequestId};

/// Requests of an elevator's list that are tried.
const NEWEST: usize = 8;

impl DiskQueue {
    /// Merges `bio` into a request, if one takes it.
    pub(super) fn merge(&mut self, now: Jiffies, bio: &Bio) -> bool {
        let Some((rq, merge)) = self.find_merge(bio) else {
            return false;
        };
        self.merge_with(now, bio, rq, merge)
    }

    /// Merges `bio` into `rq`, if there is room in that request.
    fn merge_with(&mut self, now: Jiffies, bio: &Bio, rq: RequestId, merge: Merge) -> bool {
        if !self.has_room(rq, bio) {
            self.core.requests[rq].no_merge = true;
            if self.core.last_merge == Some(rq) {
                self.core.last_merge = None;
            }
            return false;
        }
        let requests = &mut self.core.requests;
        let joined = match merge {
            Merge::Back => {
                requests.append(rq, bio);
                let latter = self.elevator.latter(requests, rq);
                latter.is_some_and(|next| self.join(now, rq, next))
            }
            Merge::Front => {
                requests.prepend(rq, bio);
                let former = self.elevator.former(requests, rq);
                former.is_some_and(|prev| self.join(now, prev, rq))
            }
        };
        if !joined {
            self.elevator.merged(&mut self.core.cx(now), rq, merge);
            if merge == Merge::Back {
                self.core.unhash(rq);
                self.core.hash(rq);
            }
            self.core.last_merge = Some(rq);
        }
        true
    }

    fn find_merge(&mut self, bio: &Bio) -> Option<(RequestId, Merge)> {
        if let MergeIn::List(list) = self.elevator.merge_in(bio) {
            let links = &self.core.requests.queue;
            let mut newest = core::iter::successors(list.last(), |rq| links.prev(*rq)).take(NEWEST);
            return newest.find_map(|rq| Some((rq, self.end_for(rq, bio)?)));
        }
        if let Some(last) = self.core.last_merge
            && let Some(merge) = self.end_for(last, bio)
        {
            return Some((last, merge));
        }
        let behind = self.core.ends_at(bio.sector);
        if let Some(rq) = behind.filter(|rq| self.goes_with(*rq, bio)) {
            return Some((rq, Merge::Back));
        }
        let in_front = self.elevator.front_merge(&self.core.requests, bio)?;
        self.goes_with(in_front, bio)
            .then_some((in_front, Merge::Front))
    }

    /// The end of a request at which `bio` can be merged.
    pub(super) fn end_for(&self, id: RequestId, bio: &Bio) -> Option<Merge> {
        if !self.goes_with(id, bio) {
            return None;
        }
        let rq = &self.core.requests[id];
        if rq.end() == bio.sector {
            return Some(Merge::Back);
        }
        (bio.end() == rq.sector).then_some(Merge::Front)
    }

    fn goes_with(&self, id: RequestId, bio: &Bio) -> bool {
        let rq = &self.core.requests[id];
        rq.is_mergeable()
            && rq.way == bio.way
            && (self.multi.is_none() || rq.prio.is_set_as(bio.prio))
            && self.elevator.allow_merge(&self.core.requests, id, bio)
    }

    pub(super) fn has_room(&self, id: RequestId, bio: &Bio) -> bool {
        let rq = &self.core.requests[id];
        self.fits(rq.sectors + bio.sectors, rq.segments + bio.segments)
    }

    fn fits(&self, sectors: u32, segments: u32) -> bool {
        sectors <= self.limits.sectors && segments <= self.limits.segments
    }

    /// Makes one request of two neighbours, if they are contiguous and small enough.
    fn join(&mut self, now: Jiffies, id: RequestId, next: RequestId) -> bool {
        let (rq, other) = (self.core.requests[id], self.core.requests[next]);
        let one = rq.is_mergeable()
            && other.is_mergeable()
            && rq.end() == other.sector
            && rq.way == other.way
            && (self.multi.is_none() || rq.prio.is_set_as(other.prio))
            && self.fits(rq.sectors + other.sectors, rq.segments + other.segments);
        if !one {
            return false;
        }
        self.core.requests.absorb(id, next);
        self.elevator
            .merged_requests(&mut self.core.cx(now), id, next);
        self.core.unhash(id);
        self.core.hash(id);
        self.core.unhash(next);
        self.core.last_merge = Some(id);
        self.give_back(now, next);
        true
    }
}
