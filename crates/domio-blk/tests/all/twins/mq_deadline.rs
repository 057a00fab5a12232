//! `mq-deadline`: each request with its class, direction, deadline, and its places in two orders.

use domio_blk::elevator::{
    Bio, Elevator, ElevatorCx, IoPrio, IoWay, Jiffies, Layer, Merge, RequestId, Requests, Tuning,
};

pub fn make(tuning: &Tuning, _: Jiffies) -> Box<dyn Elevator> {
    Box::new(Twin {
        waiting: Vec::new(),
        under_way: Vec::new(),
        stamp: 0,
        next: [[None; 2]; 3],
        way: 0,
        batch: 0,
        starved: 0,
        tick: tuning.hz(),
    })
}

#[derive(Clone, Copy)]
struct Waiting {
    rq: RequestId,
    class: usize,
    way: usize,
    /// Order by sector.
    place: (u64, u64),
    /// Order by arrival.
    turn: u64,
    queued: Jiffies,
}

struct Twin {
    waiting: Vec<Waiting>,
    /// Classes of all that was inserted and not released.
    under_way: Vec<(RequestId, usize)>,
    stamp: u64,
    next: [[Option<RequestId>; 2]; 3],
    way: usize,
    batch: u32,
    starved: u32,
    tick: i64,
}

fn class(prio: IoPrio) -> usize {
    match prio {
        IoPrio::RealTime(_) => 0,
        IoPrio::Idle => 2,
        _ => 1,
    }
}

impl Twin {
    fn stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    fn entry(&self, rq: RequestId) -> Waiting {
        *self.waiting.iter().find(|w| w.rq == rq).unwrap()
    }

    fn after(&self, rq: RequestId) -> Option<RequestId> {
        let one = self.entry(rq);
        let alike = self
            .waiting
            .iter()
            .filter(|w| (w.class, w.way) == (one.class, one.way));
        let behind = alike.filter(|w| w.place > one.place);
        behind.min_by_key(|w| w.place).map(|w| w.rq)
    }

    fn before(&self, rq: RequestId) -> Option<RequestId> {
        let one = self.entry(rq);
        let alike = self
            .waiting
            .iter()
            .filter(|w| (w.class, w.way) == (one.class, one.way));
        let ahead = alike.filter(|w| w.place < one.place);
        ahead.max_by_key(|w| w.place).map(|w| w.rq)
    }

    fn oldest(&self, class: usize, way: usize) -> Option<Waiting> {
        let alike = self
            .waiting
            .iter()
            .filter(|w| (w.class, w.way) == (class, way));
        alike.min_by_key(|w| w.turn).copied()
    }

    fn take_out(&mut self, rq: RequestId) {
        let one = self.entry(rq);
        if self.next[one.class][one.way] == Some(rq) {
            self.next[one.class][one.way] = self.after(rq);
        }
        self.waiting.retain(|w| w.rq != rq);
    }

    fn try_class(&mut self, cx: &mut ElevatorCx<'_>, class: usize, not_after: Jiffies) -> bool {
        let mut chosen = self.next[class][self.way].filter(|_| self.batch < 16);
        if chosen.is_none() {
            let (read, write) = (self.oldest(class, 0), self.oldest(class, 1));
            let way = match (read, write) {
                (None, None) => return false,
                (Some(_), None) => 0,
                (None, Some(_)) => 1,
                (Some(_), Some(_)) => {
                    self.starved += 1;
                    usize::from(self.starved > 2)
                }
            };
            if way == 1 {
                self.starved = 0;
            }
            let expire = [self.tick / 2, 5 * self.tick][way];
            let oldest = [read, write][way].unwrap();
            let late = oldest.queued + expire <= cx.now;
            self.way = way;
            self.batch = 0;
            chosen = self.next[class][way].filter(|_| !late).or(Some(oldest.rq));
        }
        let one = self.entry(chosen.unwrap());
        if one.queued > not_after {
            return false;
        }
        self.batch += 1;
        self.next[class][one.way] = self.after(one.rq);
        self.waiting.retain(|w| w.rq != one.rq);
        cx.dispatch_last(one.rq);
        true
    }
}

impl Elevator for Twin {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    fn async_depth(&self, way: IoWay, _sync: bool, tags: u32) -> Option<u32> {
        (way == IoWay::Write).then_some(tags)
    }

    fn front_merge(&mut self, _: &Requests, bio: &Bio) -> Option<RequestId> {
        let here = |w: &&Waiting| {
            (w.class, w.way, w.place.0) == (class(bio.prio), bio.way as usize, bio.end())
        };
        let found = self.waiting.iter().filter(here).min_by_key(|w| w.place);
        found.map(|w| w.rq)
    }

    fn merged(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId, merge: Merge) {
        if merge == Merge::Front {
            let place = (cx.view()[rq].sector, self.stamp());
            self.waiting.iter_mut().find(|w| w.rq == rq).unwrap().place = place;
        }
    }

    fn merged_requests(&mut self, _: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let gone = self.entry(next);
        let stays = self.waiting.iter_mut().find(|w| w.rq == rq).unwrap();
        if gone.queued < stays.queued {
            (stays.queued, stays.turn) = (gone.queued, gone.turn);
        }
        self.take_out(next);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let stamp = self.stamp();
        self.under_way.push((rq, class(request.prio)));
        self.waiting.push(Waiting {
            rq,
            class: class(request.prio),
            way: request.way as usize,
            place: (request.sector, stamp),
            turn: stamp,
            queued: cx.now,
        });
    }

    fn release(&mut self, _: &mut ElevatorCx<'_>, rq: RequestId) {
        self.under_way.retain(|(one, _)| *one != rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let (now, aged) = (cx.now, cx.now - 10 * self.tick);
        let has = |twin: &Self, class: usize| twin.under_way.iter().any(|(_, c)| *c == class);
        if (0..3).filter(|c| has(self, *c)).count() >= 2
            && (self.try_class(cx, 1, aged) || self.try_class(cx, 2, aged))
        {
            return 1;
        }
        let Some(highest) = (0..3).find(|c| has(self, *c)) else {
            return 0;
        };
        usize::from(self.try_class(cx, highest, now))
    }

    fn former(&self, _: &Requests, rq: RequestId) -> Option<RequestId> {
        self.before(rq)
    }

    fn latter(&self, _: &Requests, rq: RequestId) -> Option<RequestId> {
        self.after(rq)
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
