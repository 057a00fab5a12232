//! Elevators with one mistake each, of a kind that elevators really had. None is in the registry.

use domio_blk::elevator::list::List;
use domio_blk::elevator::{
    Elevator, ElevatorCx, ElevatorInfo, IoWay, Promise, QueueTimer, RequestId, Requests, Submitter,
};

/// A broken elevator and the checker that catches its mistake.
pub struct BrokenElevator {
    /// The elevator.
    pub info: ElevatorInfo,
    /// Name of the checker.
    pub caught_by: &'static str,
}

/// A FIFO without a mistake.
pub const SOUND: ElevatorInfo = info("sound", "order of arrival", |_, _| fifo(Mistake::None));

const fn info(
    name: &'static str,
    summary: &'static str,
    make: fn(&domio_blk::elevator::Tuning, i64) -> Box<dyn Elevator>,
) -> ElevatorInfo {
    ElevatorInfo {
        name,
        alias: None,
        summary,
        source: "the conformance suite",
        tunables: &[],
        keys: &[],
        promise: Promise::Arrival,
        make,
    }
}

macro_rules! broken {
    ($name:literal, $caught:literal, $mistake:ident, $summary:literal) => {
        BrokenElevator {
            info: info($name, $summary, |_, _| fifo(Mistake::$mistake)),
            caught_by: $caught,
        }
    };
}

/// All of them.
pub const ALL: &[BrokenElevator] = &[
    broken!("loses", "alive", Loses, "forgets every 50th request"),
    broken!(
        "waits-for-more",
        "alive",
        WaitsForMore,
        "holds a last request back without a timer"
    ),
    broken!(
        "exits-lose",
        "alive",
        ExitsLose,
        "forgets what a process that exits has left"
    ),
    broken!("last-in", "order", LastIn, "serves the newest first"),
    broken!(
        "reads-only",
        "waits",
        ReadsOnly,
        "serves a write when there is no read"
    ),
    broken!(
        "grows",
        "data",
        Grows,
        "lets a request that was merged grow by a sector"
    ),
    broken!(
        "ticks",
        "rest",
        Ticks,
        "arms its timer again whenever it fires"
    ),
    broken!(
        "sleeps",
        "all",
        Sleeps,
        "after 200 requests, waits for its timer for ever"
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    Loses,
    WaitsForMore,
    ExitsLose,
    LastIn,
    ReadsOnly,
    Grows,
    Ticks,
    Sleeps,
}

fn fifo(mistake: Mistake) -> Box<dyn Elevator> {
    Box::new(Fifo {
        mistake,
        list: List::default(),
        inserted: 0,
        dispatched: 0,
    })
}

struct Fifo {
    mistake: Mistake,
    list: List,
    inserted: u32,
    dispatched: u32,
}

impl Fifo {
    /// The request that the first one satisfying `is` in the list.
    fn find(&self, requests: &Requests, is: impl Fn(RequestId) -> bool) -> Option<RequestId> {
        let links = &requests.queue;
        std::iter::successors(self.list.first(), |rq| links.next(*rq)).find(|rq| is(*rq))
    }

    fn choose(&self, requests: &Requests) -> Option<RequestId> {
        match self.mistake {
            Mistake::LastIn => self.list.last(),
            Mistake::WaitsForMore if self.list.first() == self.list.last() => None,
            Mistake::ReadsOnly => {
                let read = self.find(requests, |rq| requests[rq].way == IoWay::Read);
                read.or(self.list.first())
            }
            _ => self.list.first(),
        }
    }
}

impl Elevator for Fifo {
    fn merged(
        &mut self,
        cx: &mut ElevatorCx<'_>,
        rq: RequestId,
        _merge: domio_blk::elevator::Merge,
    ) {
        if self.mistake == Mistake::Grows {
            cx.requests()[rq].sectors += 1;
        }
    }

    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, _rq: RequestId, next: RequestId) {
        self.list.remove(&mut cx.requests().queue, next);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.inserted += 1;
        if self.mistake == Mistake::Ticks {
            cx.arm(QueueTimer::First, cx.now + 10);
        }
        if self.mistake != Mistake::Loses || !self.inserted.is_multiple_of(50) {
            self.list.push_back(&mut cx.requests().queue, rq);
        }
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        if self.mistake == Mistake::Sleeps && self.dispatched >= 200 {
            cx.arm(QueueTimer::First, cx.now + 10);
            return 0;
        }
        let Some(rq) = self.choose(cx.view()) else {
            return 0;
        };
        self.dispatched += 1;
        self.list.remove(&mut cx.requests().queue, rq);
        cx.dispatch_last(rq);
        1
    }

    fn former(&self, _requests: &Requests, _rq: RequestId) -> Option<RequestId> {
        None
    }

    fn latter(&self, _requests: &Requests, _rq: RequestId) -> Option<RequestId> {
        None
    }

    fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn timer(&mut self, cx: &mut ElevatorCx<'_>, timer: QueueTimer) {
        if self.mistake == Mistake::Ticks || self.mistake == Mistake::Sleeps {
            cx.arm(timer, cx.now + 10);
        }
    }

    fn exit(&mut self, cx: &mut ElevatorCx<'_>, submitter: Submitter) {
        if self.mistake == Mistake::ExitsLose {
            let of = self.find(cx.view(), |rq| cx.view()[rq].submitter == submitter);
            if let Some(rq) = of {
                self.list.remove(&mut cx.requests().queue, rq);
            }
        }
    }
}
