//! Merging of bios into requests, and of requests that have become contiguous.
//!
//! Looked at in this order: the request that was made or found last, behind and in front; the
//! requests that end where the bio starts; the elevator's, that start where the bio ends. A request
//! that comes up against a limit is not merged into any more.

use super::DiskQueue;
use crate::elevator::{Bio, Jiffies, Merge, RequestId};

impl DiskQueue {
    /// Merges `bio` into a request, if one takes it.
    pub(super) fn merge(&mut self, now: Jiffies, bio: &Bio) -> bool {
        let Some((rq, merge)) = self.find_merge(bio) else {
            return false;
        };
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
        if let Some(last) = self.core.last_merge
            && self.goes_with(last, bio)
        {
            let rq = &self.core.requests[last];
            if rq.end() == bio.sector {
                return Some((last, Merge::Back));
            }
            if bio.end() == rq.sector {
                return Some((last, Merge::Front));
            }
        }
        let behind = self.core.ends_at(bio.sector);
        if let Some(rq) = behind.filter(|rq| self.goes_with(*rq, bio)) {
            return Some((rq, Merge::Back));
        }
        let in_front = self.elevator.front_merge(&self.core.requests, bio)?;
        self.goes_with(in_front, bio)
            .then_some((in_front, Merge::Front))
    }

    fn goes_with(&self, id: RequestId, bio: &Bio) -> bool {
        let rq = &self.core.requests[id];
        rq.is_mergeable()
            && rq.way == bio.way
            && self.elevator.allow_merge(&self.core.requests, id, bio)
    }

    fn has_room(&self, id: RequestId, bio: &Bio) -> bool {
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
