//! Benchmark workloads: how fast is the queue?
//!
//! The *hold model* keeps `n` events waiting: it takes the earliest and posts one that is later by
//! a random, exponentially distributed increment, over and over. It is the customary measure of
//! event queues. [`engine`] runs it on an [`EventQueue`], [`binary_heap`] on the standard
//! library's `BinaryHeap` of times and sequence numbers without any payload, which is what one
//! would write instead of using the crate. Both do the same work on the same times and return the
//! same checksum, so that their times can be compared, and only in one run on one machine.
//!
//! The increments come from a table of the exponential distribution's quantiles and one cheap
//! random number, so that the queue is measured and not a logarithm.
#![cfg_attr(
    not(test),
    expect(
        clippy::float_arithmetic,
        reason = "the made-up load of a benchmark, part of no run"
    )
)]

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use domio_core::Instant;

use crate::EventQueue;

/// Mean increment in nanoseconds.
const MEAN: f64 = 1e6;
/// Quantiles in the table.
const QUANTILES: usize = 1024;

/// What an event carries in [`Engine`]: 16 bytes, a realistic size.
type Payload = [u64; 2];

/// `ops` times take the earliest of `n` events and post a later one, on an [`EventQueue`]. Returns
/// a checksum of all times taken. Filling the queue is part of the work.
pub fn engine(n: u64, ops: u64, seed: u64) -> u64 {
    Engine::new(n, seed).run(ops)
}

/// The same as [`engine`] on a binary heap, with the same result.
pub fn binary_heap(n: u64, ops: u64, seed: u64) -> u64 {
    Heap::new(n, seed).run(ops)
}

/// A filled [`EventQueue`], for timing [`run`](Self::run) without the filling.
pub struct Engine {
    queue: EventQueue<Payload>,
    increments: Increments,
    checksum: u64,
}

impl Engine {
    /// Posts `n` events.
    pub fn new(n: u64, seed: u64) -> Self {
        let mut increments = Increments::new(seed);
        let mut queue = EventQueue::new();
        for i in 0..n {
            queue.post(Instant::from_nanos(increments.draw()), [i, i]);
        }
        Engine {
            queue,
            increments,
            checksum: 0,
        }
    }

    /// `ops` times takes an event and posts another; returns the checksum of all times so far.
    #[inline(never)]
    pub fn run(&mut self, ops: u64) -> u64 {
        for _ in 0..ops {
            let Some((at, event)) = self.queue.pop(Instant::MAX) else {
                break;
            };
            self.checksum = mix(self.checksum, at.as_nanos());
            let next = at.as_nanos() + self.increments.draw();
            self.queue.post(Instant::from_nanos(next), event);
        }
        self.checksum
    }
}

/// A filled binary heap, for timing [`run`](Self::run) without the filling.
pub struct Heap {
    /// Time and sequence number, smallest first.
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    seq: u64,
    increments: Increments,
    checksum: u64,
}

impl Heap {
    /// Pushes `n` events.
    pub fn new(n: u64, seed: u64) -> Self {
        let mut increments = Increments::new(seed);
        let mut heap = BinaryHeap::new();
        for seq in 0..n {
            heap.push(Reverse((increments.draw(), seq)));
        }
        Heap {
            heap,
            seq: n,
            increments,
            checksum: 0,
        }
    }

    /// `ops` times takes an event and pushes another; returns the checksum of all times so far.
    #[inline(never)]
    pub fn run(&mut self, ops: u64) -> u64 {
        for _ in 0..ops {
            let Some(Reverse((at, _))) = self.heap.pop() else {
                break;
            };
            self.checksum = mix(self.checksum, at);
            let next = at + self.increments.draw();
            self.heap.push(Reverse((next, self.seq)));
            self.seq += 1;
        }
        self.checksum
    }
}

/// Depends on the order of the times, too.
#[inline]
fn mix(checksum: u64, time: u64) -> u64 {
    checksum.rotate_left(5) ^ time
}

/// Exponentially distributed increments.
struct Increments {
    quantiles: Vec<u64>,
    state: u64,
}

impl Increments {
    fn new(seed: u64) -> Self {
        let quantile = |i: usize| {
            let above = 1.0 - i as f64 / (QUANTILES as f64 + 0.5);
            (-libm::log(above) * MEAN) as u64
        };
        Increments {
            quantiles: (0..=QUANTILES).map(quantile).collect(),
            // Anything but zero, which xorshift never leaves.
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// A point between two neighbouring quantiles.
    #[inline]
    fn draw(&mut self) -> u64 {
        // Marsaglia's xorshift (2003) is good enough for a benchmark, and as cheap as it gets.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let index = (self.state >> 54) as usize;
        let fraction = self.state >> 20 & 0xffff;
        let (low, high) = (self.quantiles[index], self.quantiles[index + 1]);
        low + (((high - low) * fraction) >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_loops_take_the_same_times() {
        for n in [0, 1, 12, 65, 1_000, 5_000] {
            assert_eq!(
                engine(n, 20_000, n),
                binary_heap(n, 20_000, n),
                "{n} events"
            );
        }
        assert_ne!(
            engine(12, 1_000, 1),
            engine(12, 1_000, 2),
            "the seed counts"
        );
        assert_ne!(
            engine(12, 1_000, 1),
            engine(12, 1_001, 1),
            "every time counts"
        );
    }

    #[test]
    fn increments_have_the_mean_that_they_claim() {
        let mut increments = Increments::new(1);
        let sum: u64 = (0..100_000).map(|_| increments.draw()).sum();
        let mean = sum as f64 / 100_000.0;
        assert!((mean / MEAN - 1.0).abs() < 0.02, "mean {mean} ns");
    }
}
