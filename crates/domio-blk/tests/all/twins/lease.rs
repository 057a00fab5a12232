//! `lease`: one list of what waits, one of what was charged.

use domio_blk::elevator::{Elevator, ElevatorCx, Jiffies, RequestId, Requests, Submitter, Tuning};
use std::collections::BTreeMap;

pub fn make(tuning: &Tuning, now: Jiffies) -> Box<dyn Elevator> {
    twin(tuning, now, true)
}

/// The twin with a mistake: who comes back from a pause has saved up all of it.
pub fn broken(tuning: &Tuning, now: Jiffies) -> Box<dyn Elevator> {
    twin(tuning, now, false)
}

fn twin(tuning: &Tuning, now: Jiffies, forgets_pauses: bool) -> Box<dyn Elevator> {
    Box::new(Twin {
        second: tuning.hz(),
        forgets_pauses,
        waiting: Vec::new(),
        charged: BTreeMap::new(),
        lease: None,
        under_way: 0,
        until: now,
    })
}

/// A request that waits; in order of arrival.
#[derive(Clone, Copy)]
struct Waiting {
    rq: RequestId,
    guest: u32,
    expires: Jiffies,
}

struct Twin {
    second: i64,
    forgets_pauses: bool,
    waiting: Vec<Waiting>,
    charged: BTreeMap<u32, Jiffies>,
    /// Who has the lease, and what that one was charged at its begin.
    lease: Option<(u32, Jiffies)>,
    under_way: u32,
    until: Jiffies,
}

impl Twin {
    fn charged(&self, guest: u32) -> Jiffies {
        self.charged.get(&guest).copied().unwrap_or(0)
    }

    fn first_of(&self, guest: u32) -> Option<Waiting> {
        self.waiting.iter().find(|w| w.guest == guest).copied()
    }

    fn poorest(&self) -> Option<u32> {
        let all = self.waiting.iter().map(|w| w.guest);
        all.min_by_key(|guest| (self.charged(*guest), *guest))
    }

    /// The first request of each guest, of which the one that expires first.
    fn expired(&self, now: Jiffies) -> Option<RequestId> {
        let first = self
            .waiting
            .iter()
            .filter(|w| self.first_of(w.guest).is_some_and(|f| f.rq == w.rq));
        let oldest = first.min_by_key(|w| (w.expires, w.rq.index()))?;
        (now > oldest.expires).then_some(oldest.rq)
    }

    fn place(&self, rq: RequestId) -> usize {
        let mut all = self.waiting.iter();
        all.position(|w| w.rq == rq).expect("the request waits")
    }
}

impl Elevator for Twin {
    fn merged_requests(&mut self, _: &mut ElevatorCx<'_>, rq: RequestId, next: RequestId) {
        let (to, from) = (self.place(rq), self.place(next));
        let sooner = self.waiting[to].expires.min(self.waiting[from].expires);
        self.waiting[to].expires = sooner;
        self.waiting.remove(from);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let guest = cx.view()[rq].submitter.0;
        if self.first_of(guest).is_none() && self.forgets_pauses {
            let others = self.waiting.iter().map(|w| w.guest);
            let others = others.chain(self.lease.map(|(holder, _)| holder));
            if let Some(least) = others.map(|other| self.charged(other)).min() {
                let floor = least - self.second / 5;
                let own = self.charged(guest).max(floor);
                self.charged.insert(guest, own);
            }
        }
        self.waiting.push(Waiting {
            rq,
            guest,
            expires: cx.now + 2 * self.second,
        });
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let rq = self.expired(cx.now).or_else(|| {
            let poorest = self.poorest()?;
            let goes_on = self
                .lease
                .filter(|(holder, begun)| self.charged(*holder) - begun < self.second / 5);
            let guest = match goes_on {
                // Somebody else fills the gap, without the lease.
                Some((holder, _)) => self.first_of(holder).map_or(poorest, |_| holder),
                None => {
                    self.lease = Some((poorest, self.charged(poorest)));
                    poorest
                }
            };
            self.first_of(guest).map(|first| first.rq)
        });
        let Some(rq) = rq else { return 0 };
        let place = self.place(rq);
        self.waiting.remove(place);
        if self.under_way == 0 {
            self.until = cx.now;
        }
        self.under_way += 1;
        cx.dispatch_last(rq);
        1
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let guest = cx.view()[rq].submitter.0;
        *self.charged.entry(guest).or_insert(0) += cx.now - self.until;
        self.until = cx.now;
        self.under_way -= 1;
    }

    fn former(&self, _: &Requests, rq: RequestId) -> Option<RequestId> {
        let place = self.place(rq);
        let guest = self.waiting[place].guest;
        let before = self.waiting[..place].iter().rev();
        before.clone().find(|w| w.guest == guest).map(|w| w.rq)
    }

    fn latter(&self, _: &Requests, rq: RequestId) -> Option<RequestId> {
        let place = self.place(rq);
        let guest = self.waiting[place].guest;
        let mut behind = self.waiting[place + 1..].iter();
        behind.find(|w| w.guest == guest).map(|w| w.rq)
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn exit(&mut self, _: &mut ElevatorCx<'_>, submitter: Submitter) {
        if self.lease.is_some_and(|(holder, _)| holder == submitter.0) {
            self.lease = None;
        }
    }
}
