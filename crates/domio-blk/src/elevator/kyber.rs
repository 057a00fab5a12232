//! Kyber: reads and writes have tokens of the device, as many as their latencies allow (Linux 6.1,
//! `block/kyber-iosched.c`).
//!
//! Requests of a direction go in order of arrival, in batches of 16 reads and 8 writes. Latencies
//! are counted in eight buckets, each a quarter of the target wide. A tenth of a second after a
//! completion the buckets are looked at: while some direction's device latencies are bad, tokens
//! are given by how near a direction is to its target.
//!
//! One list stands for the lists of all processors. What moves from there to the hardware queue
//! takes no bio any more.

use super::contract::{Elevator, ElevatorInfo, Layer, MergeIn, Promise};
use super::cx::{ElevatorCx, QueueTimer};
use super::list::List;
use super::request::{Bio, IoWay, Jiffies, RequestId, Requests};
use super::tunables::{Tuning, plain};
use alloc::boxed::Box;
use domio_core::params::int;

/// What this elevator is.
pub static INFO: ElevatorInfo = ElevatorInfo {
    name: "kyber",
    alias: None,
    summary: "tokens for reads and writes, by the latencies that the device has",
    source: "Linux 6.1, block/kyber-iosched.c",
    tunables: Tunables::ALL,
    keys: Tunables::KEYS,
    promise: Promise::Turns { wait_ms: 500 },
    make: |tuning, _| Box::new(Kyber::new(tuning)),
};

tunables! {
    struct Tunables {
        read_lat_nsec: i64 = plain(int("ns", (1, 1_000_000_000_000), 2_000_000)),
            "Latency that reads are to have";
        write_lat_nsec: i64 = plain(int("ns", (1, 1_000_000_000_000), 10_000_000)),
            "Latency that writes are to have";
    }
}

/// Tokens of a direction at most, and at first.
const DEPTH: [u32; 2] = [256, 128];

/// Requests of a direction in a row.
const BATCH: [u32; 2] = [16, 8];

const BUCKETS: usize = 8;

/// Buckets up to the target.
const GOOD: usize = 4;

/// Samples from which on a percentile is taken before a second has passed.
const ENOUGH: u32 = 500;

/// Looks at the latencies.
const LOOK: QueueTimer = QueueTimer::First;

/// Which latency: from the driver's start, or from the making of the request.
const DEVICE: usize = 0;
const TOTAL: usize = 1;

/// Reads or writes.
#[derive(Default)]
struct Domain {
    /// Arrived; takes bios.
    fresh: List,
    /// In the hardware queue.
    ready: List,
    depth: u32,
    tokens: u32,
    target_ns: i64,
    buckets: [[u32; BUCKETS]; 2],
    /// When a percentile is taken of fewer samples.
    patience: Option<Jiffies>,
    /// Bucket of the last 99th percentile of the whole latency.
    p99: Option<usize>,
}

impl Domain {
    fn sample(&mut self, sort: usize, ns: i64) {
        let width = (self.target_ns / 4).max(1);
        let bucket = ((ns - 1).max(0) / width).min(BUCKETS as i64 - 1);
        self.buckets[sort][bucket as usize] += 1;
    }

    /// Bucket of a percentile, and forgets the samples. The two sorts of latency share their
    /// patience, so that after one was taken of few samples, the other one waits anew.
    fn percentile(&mut self, sort: usize, percent: u32, now: Jiffies, hz: i64) -> Option<usize> {
        let samples: u32 = self.buckets[sort].iter().sum();
        if samples == 0 {
            return None;
        }
        let patience = *self.patience.get_or_insert(now + hz);
        if samples < ENOUGH && patience > now {
            return None;
        }
        self.patience = None;
        let mut left = (samples * percent).div_ceil(100);
        let counts = core::mem::take(&mut self.buckets[sort]);
        for (bucket, count) in counts.iter().enumerate().take(BUCKETS - 1) {
            if *count >= left {
                return Some(bucket);
            }
            left -= count;
        }
        Some(BUCKETS - 1)
    }
}

/// The elevator's state; arrays are indexed by direction.
struct Kyber {
    domains: [Domain; 2],
    current: usize,
    batching: u32,
    hz: i64,
}

impl Kyber {
    fn new(tuning: &Tuning) -> Self {
        let Tunables {
            read_lat_nsec,
            write_lat_nsec,
        } = tuning.into();
        let domain = |way: usize, target_ns| Domain {
            depth: DEPTH[way],
            target_ns,
            ..Domain::default()
        };
        Kyber {
            domains: [domain(0, read_lat_nsec), domain(1, write_lat_nsec)],
            current: 0,
            batching: 0,
            hz: tuning.hz(),
        }
    }

    /// Hands on the oldest request of the current direction, if there is a token.
    fn serve(&mut self, cx: &mut ElevatorCx<'_>) -> bool {
        let domain = &mut self.domains[self.current];
        if domain.tokens >= domain.depth {
            return false;
        }
        let links = &mut cx.requests().queue;
        if domain.ready.is_empty() {
            domain.ready = core::mem::take(&mut domain.fresh);
        }
        let Some(rq) = domain.ready.first() else {
            return false;
        };
        domain.ready.remove(links, rq);
        domain.tokens += 1;
        self.batching += 1;
        cx.requests()[rq].private = 1;
        cx.dispatch_last(rq);
        true
    }

    /// A request has no token any more.
    fn put(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = &mut cx.requests()[rq];
        let token = core::mem::take(&mut request.private);
        self.domains[request.way.index()].tokens -= token;
    }
}

impl Elevator for Kyber {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    /// Writes without the sync flag have three quarters of the tags.
    fn async_depth(&self, way: IoWay, sync: bool, tags: u32) -> Option<u32> {
        (way == IoWay::Write && !sync).then_some(tags * 3 / 4)
    }

    fn merge_in(&self, bio: &Bio) -> MergeIn {
        MergeIn::List(self.domains[bio.way.index()].fresh)
    }

    /// Requests are not merged with each other.
    fn merged_requests(&mut self, cx: &mut ElevatorCx<'_>, _rq: RequestId, next: RequestId) {
        let fresh = &mut self.domains[cx.view()[next].way.index()].fresh;
        fresh.remove(&mut cx.requests().queue, next);
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let fresh = &mut self.domains[cx.view()[rq].way.index()].fresh;
        fresh.push_back(&mut cx.requests().queue, rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        if self.batching < BATCH[self.current] && self.serve(cx) {
            return 1;
        }
        self.batching = 0;
        for _ in 0..2 {
            self.current = 1 - self.current;
            if self.serve(cx) {
                return 1;
            }
        }
        0
    }

    fn deactivate(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.put(cx, rq);
    }

    fn completed(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let (request, ns) = (cx.view()[rq], cx.ns());
        let domain = &mut self.domains[request.way.index()];
        domain.sample(TOTAL, ns - request.start_ns);
        domain.sample(DEVICE, ns - request.issue_ns);
        if !cx.is_armed(LOOK) {
            cx.arm(LOOK, cx.now + self.hz / 10);
        }
    }

    fn release(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.put(cx, rq);
    }

    fn former(&self, _requests: &Requests, _rq: RequestId) -> Option<RequestId> {
        None
    }

    fn latter(&self, _requests: &Requests, _rq: RequestId) -> Option<RequestId> {
        None
    }

    fn is_empty(&self) -> bool {
        let none = |d: &Domain| d.fresh.is_empty() && d.ready.is_empty();
        self.domains.iter().all(none)
    }

    /// Looks at the latencies and gives tokens anew.
    fn timer(&mut self, cx: &mut ElevatorCx<'_>, _timer: QueueTimer) {
        let mut bad = false;
        for domain in &mut self.domains {
            let p90 = domain.percentile(DEVICE, 90, cx.now, self.hz);
            bad |= p90.is_some_and(|p90| p90 >= GOOD);
        }
        for (domain, most) in self.domains.iter_mut().zip(DEPTH) {
            let p99 = domain.percentile(TOTAL, 99, cx.now, self.hz);
            // One from a look at which all was well counts once, when things are bad.
            let p99 = if bad {
                p99.or(domain.p99.take())
            } else {
                domain.p99 = p99.or(domain.p99);
                p99
            };
            if bad {
                domain.p99 = None;
            }
            let Some(p99) = p99 else { continue };
            if bad || p99 >= GOOD {
                domain.depth = (domain.depth * (p99 as u32 + 1) / 4).clamp(1, most);
            }
        }
        cx.kick();
    }
}
