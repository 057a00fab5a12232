//! The calls of the request layer.

use super::{End, IDLE, Owner, Queue, Twin, Waiting, level, owner};
use domio_blk::elevator::{
    Bio, Elevator, ElevatorCx, IoWay, Layer, Merge, QueueTimer, RequestId, Requests, Submitter,
};

impl Elevator for Twin {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    fn async_depth(&self, way: IoWay, sync: bool, tags: u32) -> Option<u32> {
        match (way, sync) {
            (IoWay::Read, _) => None,
            (IoWay::Write, false) => Some(tags / 2),
            (IoWay::Write, true) => Some(3 * tags / 4),
        }
    }

    fn front_merge(&mut self, _: &Requests, bio: &Bio) -> Option<RequestId> {
        let at = self.find(owner(bio))?;
        let there = self.in_queue(at).filter(|w| w.place.0 == bio.end());
        there.min_by_key(|w| w.place).map(|w| w.rq)
    }

    fn allow_merge(&self, requests: &Requests, rq: RequestId, bio: &Bio) -> bool {
        let sync = |way, sync| way == IoWay::Read || sync;
        let kind = |s: bool, b: bool| s || !b;
        kind(
            sync(requests[rq].way, requests[rq].sync),
            sync(bio.way, bio.sync),
        ) && self.find(owner(bio)) == Some(self.of(rq))
    }

    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        let at = self.of(rq);
        if merge == Merge::Front {
            let place = self.place(cx.view()[rq].sector);
            for one in self.waiting.iter_mut().filter(|w| w.rq == rq) {
                one.place = place;
            }
            let next = self.queues[at].next;
            self.queues[at].next = match next == Some(rq) {
                true => next,
                false => self.better(cx.view(), next, Some(rq)),
            };
        }
        self.changed(cx.view(), at);
    }

    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let (mut one, other) = (self.entry(rq), self.entry(next));
        if one.queue == other.queue && other.expires < one.expires {
            one.expires = other.expires;
            self.waiting.retain(|w| w.rq != rq);
            let at = self.waiting.iter().position(|w| w.rq == next).unwrap();
            self.waiting.insert(at + 1, one);
        }
        self.take(cx, next);
        self.changed(cx.view(), other.queue);
    }

    fn prepare(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let bio = cx.view()[rq].as_bio();
        let at = self.find(owner(&bio)).unwrap_or_else(|| {
            let (class, level) = level(bio.prio);
            let sync = matches!(owner(&bio), Owner::Process(_));
            let largest = self.largest();
            let queue = Queue {
                sync,
                class,
                weight: 10 * (8 - u64::from(level)),
                next_budget: if sync { largest * 2 / 3 } else { largest },
                ..Queue::default()
            };
            let at = self.free.pop().unwrap_or(self.queues.len());
            if at == self.queues.len() {
                self.queues.push(queue);
            } else {
                self.queues[at] = queue;
            }
            self.owners.push((owner(&bio), at));
            at
        });
        self.belongs.push((rq, at));
    }

    fn release(&mut self, _: &mut ElevatorCx<'_>, rq: RequestId) {
        let at = self.of(rq);
        self.belongs.retain(|(one, _)| *one != rq);
        self.reuse(at);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let (at, request) = (self.of(rq), cx.view()[rq]);
        let has_none = self.in_queue(at).next().is_none();
        let queue = &mut self.queues[at];
        if queue.sync && has_none && queue.under_way == 0 {
            let think = queue.last_done.map(|done| cx.ns() - done);
            queue.thinks.extend(think.map(|t| t.clamp(0, 2 * IDLE)));
        }
        let before = queue.last_end.replace(request.end());
        queue
            .distances
            .push(before.map_or(0, |last| last.abs_diff(request.sector)));
        let expires = cx.now + if queue.sync { self.hz / 8 } else { self.hz / 4 };
        let next = queue.next;
        self.queues[at].next = self.better(cx.view(), next, Some(rq));
        let place = self.place(request.sector);
        self.waiting.push(Waiting {
            rq,
            queue: at,
            place,
            expires,
        });
        if !self.queues[at].busy {
            let queue = &mut self.queues[at];
            queue.busy = true;
            queue.start = queue.finish.max(self.vtime[queue.class]);
            self.plan(cx.view(), at);
            return;
        }
        self.changed(cx.view(), at);
        if self.active == Some(at) && self.idle_since.is_some() {
            self.no_more_idling(cx);
            if self.over(cx.ns(), at) {
                self.end_turn(cx, End::Timeout);
            }
        }
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let Some(at) = self.turn(cx) else { return 0 };
        let Some(rq) = self.queues[at].next else {
            return 0;
        };
        let charge = self.charge(cx.view(), at);
        self.take(cx, rq);
        self.queues[at].under_way += 1;
        self.pay(at, charge);
        cx.dispatch_last(rq);
        if self.queues[at].class == 2 && self.busy().len() > 1 {
            self.end_turn(cx, End::Exhausted);
        }
        1
    }

    fn activate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.driver.push(rq);
        self.last_end = cx.view()[rq].end();
    }

    fn deactivate(&mut self, _: &mut ElevatorCx<'_>, rq: RequestId) {
        self.driver.retain(|one| *one != rq);
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.sample_depth();
        self.driver.retain(|one| *one != rq);
        let (request, ns, at) = (cx.view()[rq], cx.ns(), self.of(rq));
        self.observe(ns, request.sector, request.sectors.into());
        self.queues[at].under_way -= 1;
        self.queues[at].last_done = Some(ns);
        let (empty, more) = (
            self.queues[at].next.is_none(),
            self.queues[at].under_way > 0,
        );
        if self.active == Some(at) {
            let waits = self.worth_waiting(cx.is_rotational(), at);
            if empty && waits && !more {
                let short = self.queues[at].is_random() && !self.differ();
                let ns = if short { 2_000_000 } else { IDLE };
                self.idle_since = Some(cx.ns());
                cx.arm(QueueTimer::First, cx.jiffy_at(cx.ns() + ns));
            } else if empty && waits {
                // The turn goes on with what is under way.
            } else if self.over(ns, at) {
                self.end_turn(cx, End::Timeout);
            } else if empty {
                self.end_turn(cx, End::Empty);
            }
        }
        if self.driver.is_empty() && !self.waiting.is_empty() {
            cx.kick();
        }
    }

    fn former(&self, _: &Requests, rq: RequestId) -> Option<RequestId> {
        self.before(rq)
    }

    fn latter(&self, _: &Requests, rq: RequestId) -> Option<RequestId> {
        self.behind(rq)
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn timer(&mut self, cx: &mut ElevatorCx<'_>, _: QueueTimer) {
        if let Some(at) = self.active {
            if self.over(cx.ns(), at) {
                self.end_turn(cx, End::Timeout);
            } else if self.queues[at].next.is_none() {
                self.end_turn(cx, End::TooIdle);
            }
        }
        cx.kick();
    }

    fn exit(&mut self, cx: &mut ElevatorCx<'_>, submitter: Submitter) {
        let own = Owner::Process(submitter.0);
        let Some(at) = self.find(own) else { return };
        self.owners.retain(|(one, _)| *one != own);
        self.queues[at].gone = true;
        if self.active == Some(at) && self.queues[at].next.is_none() {
            self.end_turn(cx, End::Empty);
            cx.kick();
        }
        self.reuse(at);
    }
}
