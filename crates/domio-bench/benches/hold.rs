//! The hold model on the engine and on a plain binary heap, and the timers of a host.
//!
//! Compare within one run only; `ratio` is what counts, not nanoseconds.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use domio_core::{Duration, Instant};
use domio_sim::hold::{Engine, Heap};
use domio_sim::{EventQueue, RandomStream, TimerId};

const OPS: u64 = 10_000;

fn hold(c: &mut Criterion) {
    let mut group = c.benchmark_group("hold");
    group.throughput(Throughput::Elements(OPS));
    for n in [12, 64, 1_000, 10_000, 100_000] {
        let mut engine = Engine::new(n, 1);
        group.bench_function(BenchmarkId::new("engine", n), |b| {
            b.iter(|| black_box(engine.run(OPS)));
        });
        let mut heap = Heap::new(n, 1);
        group.bench_function(BenchmarkId::new("binary_heap", n), |b| {
            b.iter(|| black_box(heap.run(OPS)));
        });
    }
    group.finish();
}

/// A host's timers, all armed.
struct Host {
    queue: EventQueue<u64>,
    timers: Vec<TimerId>,
    /// Delays drawn beforehand, so that drawing them is not measured.
    delays: Vec<Duration>,
    drawn: usize,
}

impl Host {
    fn new(timers: u64) -> Self {
        let mut random = RandomStream::new(1, 0, "bench");
        let mut queue = EventQueue::new();
        let timers: Vec<TimerId> = (0..timers).map(|event| queue.timer(event)).collect();
        let delay = |_| random.duration_uniform(Duration::ZERO, Duration::from_millis(30));
        let delays: Vec<Duration> = (0..4_096).map(delay).collect();
        for (timer, delay) in timers.iter().zip(delays.iter().cycle()) {
            queue.arm(*timer, Instant::ZERO + *delay);
        }
        Host {
            queue,
            timers,
            delays,
            drawn: 0,
        }
    }

    fn delay(&mut self) -> Duration {
        self.drawn += 1;
        self.delays[self.drawn % 4_096]
    }

    /// The earliest timer fires and is armed again.
    fn fire(&mut self) {
        if let Some((at, timer)) = self.queue.pop(Instant::MAX) {
            let delay = self.delay();
            self.queue.arm(self.timers[timer as usize], at + delay);
        }
    }

    /// Ten timers are armed again before the next one fires.
    fn rearm(&mut self) {
        for _ in 0..10 {
            let delay = self.delay();
            let timer = delay.as_nanos() as usize % self.timers.len();
            self.queue.arm(self.timers[timer], self.queue.now() + delay);
        }
        self.fire();
    }
}

fn timers(c: &mut Criterion) {
    let mut group = c.benchmark_group("timers");
    group.throughput(Throughput::Elements(OPS));
    for n in [12, 5_000, 10_000] {
        let mut host = Host::new(n);
        group.bench_function(BenchmarkId::new("fire", n), |b| {
            b.iter(|| (0..OPS).for_each(|_| host.fire()));
        });
        group.bench_function(BenchmarkId::new("rearm_ten_then_fire", n), |b| {
            b.iter(|| (0..OPS).for_each(|_| host.rearm()));
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    hold(&mut criterion);
    timers(&mut criterion);
    criterion.final_summary();
}
