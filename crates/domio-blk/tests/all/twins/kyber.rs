//! `kyber`: every latency is kept, and a percentile is looked up in the sorted list.

use domio_blk::elevator::list::List;
use domio_blk::elevator::{
    Bio, Elevator, ElevatorCx, IoWay, Jiffies, Layer, MergeIn, QueueTimer, RequestId, Requests,
    Tuning,
};

pub fn make(tuning: &Tuning, _: Jiffies) -> Box<dyn Elevator> {
    Box::new(Twin {
        sides: [side(256, 16, 2_000_000), side(128, 8, 10_000_000)],
        side: 0,
        row: 0,
        second: tuning.hz(),
    })
}

struct Side {
    fresh: List,
    ready: Vec<RequestId>,
    /// Requests with a token.
    tokens: Vec<RequestId>,
    depth: usize,
    most: usize,
    row: u32,
    target: i64,
    device: Vec<i64>,
    total: Vec<i64>,
    patience: Option<Jiffies>,
    kept: Option<i64>,
}

fn side(depth: usize, row: u32, target: i64) -> Side {
    Side {
        fresh: List::default(),
        ready: Vec::new(),
        tokens: Vec::new(),
        depth,
        most: depth,
        row,
        target,
        device: Vec::new(),
        total: Vec::new(),
        patience: None,
        kept: None,
    }
}

struct Twin {
    sides: [Side; 2],
    side: usize,
    row: u32,
    second: i64,
}

/// Quarter of the target in which the latency at `percent` of 100 lies, from 0, at most 7.
fn quarter(
    samples: &mut Vec<i64>,
    percent: usize,
    target: i64,
    patience: &mut Option<Jiffies>,
    (now, second): (Jiffies, i64),
) -> Option<i64> {
    if samples.is_empty() {
        return None;
    }
    if patience.is_none() {
        *patience = Some(now + second);
    }
    if samples.len() < 500 && patience.unwrap() > now {
        return None;
    }
    *patience = None;
    samples.sort_unstable();
    let rank = (samples.len() * percent).div_ceil(100);
    let latency = samples[rank - 1];
    samples.clear();
    Some(((latency - 1).max(0) / (target / 4)).min(7))
}

impl Twin {
    fn try_side(&mut self, cx: &mut ElevatorCx<'_>) -> bool {
        let side = &mut self.sides[self.side];
        if side.tokens.len() >= side.depth {
            return false;
        }
        if side.ready.is_empty() {
            while let Some(rq) = side.fresh.first() {
                side.fresh.remove(&mut cx.requests().queue, rq);
                side.ready.push(rq);
            }
        }
        if side.ready.is_empty() {
            return false;
        }
        let rq = side.ready.remove(0);
        side.tokens.push(rq);
        self.row += 1;
        cx.dispatch_last(rq);
        true
    }

    fn without_token(&mut self, rq: RequestId) {
        for side in &mut self.sides {
            side.tokens.retain(|one| *one != rq);
        }
    }
}

impl Elevator for Twin {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    fn async_depth(&self, way: IoWay, sync: bool, tags: u32) -> Option<u32> {
        match (way, sync) {
            (IoWay::Write, false) => Some(tags * 75 / 100),
            _ => None,
        }
    }

    fn merge_in(&self, bio: &Bio) -> MergeIn {
        MergeIn::List(self.sides[bio.way as usize].fresh)
    }

    fn merged_requests(&mut self, _: &mut ElevatorCx<'_>, _: RequestId, _: RequestId) {
        unreachable!("requests are not merged with each other");
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let way = cx.view()[rq].way as usize;
        self.sides[way]
            .fresh
            .push_back(&mut cx.requests().queue, rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        if self.row < self.sides[self.side].row && self.try_side(cx) {
            return 1;
        }
        self.row = 0;
        for _ in 0..2 {
            self.side = (self.side + 1) % 2;
            if self.try_side(cx) {
                return 1;
            }
        }
        0
    }

    fn deactivate(&mut self, _: &mut ElevatorCx<'_>, rq: RequestId) {
        self.without_token(rq);
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let side = &mut self.sides[request.way as usize];
        side.total.push(cx.ns() - request.start_ns);
        side.device.push(cx.ns() - request.issue_ns);
        if !cx.is_armed(QueueTimer::First) {
            cx.arm(QueueTimer::First, cx.now + self.second / 10);
        }
    }

    fn release(&mut self, _: &mut ElevatorCx<'_>, rq: RequestId) {
        self.without_token(rq);
    }

    fn former(&self, _: &Requests, _: RequestId) -> Option<RequestId> {
        None
    }

    fn latter(&self, _: &Requests, _: RequestId) -> Option<RequestId> {
        None
    }

    fn is_empty(&self) -> bool {
        self.sides
            .iter()
            .all(|s| s.fresh.is_empty() && s.ready.is_empty())
    }

    fn timer(&mut self, cx: &mut ElevatorCx<'_>, _: QueueTimer) {
        let when = (cx.now, self.second);
        let mut bad = false;
        for Side {
            device,
            target,
            patience,
            ..
        } in &mut self.sides
        {
            bad |= quarter(device, 90, *target, patience, when).is_some_and(|q| q >= 4);
        }
        for side in &mut self.sides {
            let fresh = quarter(&mut side.total, 99, side.target, &mut side.patience, when);
            let last = fresh.or(if bad { side.kept } else { None });
            side.kept = match bad {
                true => None,
                false => fresh.or(side.kept),
            };
            match last {
                Some(q) if bad || q >= 4 => {
                    side.depth = (side.depth * (q as usize + 1) / 4).max(1).min(side.most);
                }
                _ => {}
            }
        }
        cx.kick();
    }
}
