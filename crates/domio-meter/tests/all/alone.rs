//! A vcpu that has a pcpu to itself: its trace is nothing but records that it goes on.

use crate::cast::{fed, first, names};
use domio_core::{ActorId, DomainId, Duration, Instant, Kind, PcpuId, Record, Runstate};
use domio_meter::{Meter, Sampler};

fn alone() -> ActorId {
    first(1)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// One goes on every 30 ms from 10 ms to 100 ms, another on another pcpu runs for 95 ms. Both have
/// run since the trace began, at 5 ms.
fn records() -> Vec<Record> {
    let goes_on = |ms| Record::new(at(ms), PcpuId(0), Kind::Continue, alone());
    let other = |ms, old, new| Record::runstate(at(ms), PcpuId(1), first(2), old, new);
    vec![
        other(5, Runstate::Runnable, Runstate::Running),
        goes_on(10),
        goes_on(40),
        goes_on(70),
        goes_on(100),
        other(100, Runstate::Running, Runstate::Blocked),
    ]
}

#[test]
fn it_runs_as_long_as_the_trace_lasts() {
    let summary = fed(Meter::new(), &names(), &records()).finish();
    let alone = &summary.domain(DomainId(1)).unwrap().total;
    assert_eq!(alone.running, 95_000_000);
    // No stay on the pcpu has begun or ended.
    assert_eq!((alone.executions, alone.runs.count), (0, 0));
    assert_eq!(summary.pcpus[0].busy, 95_000_000);
}

#[test]
fn samples_show_it_too() {
    let got = |d: DomainId| -> u64 {
        let sampler = Sampler::new(Duration::from_millis(50));
        let sampler = fed(sampler, &names(), &records());
        let samples = sampler.finish().flat_map(|s| s.domains);
        samples
            .filter(|x| x.id == d)
            .map(|x| x.figures.gotten)
            .sum()
    };
    assert_eq!(got(DomainId(1)), 95_000_000);
    assert_eq!(got(DomainId(2)), 95_000_000);
}

#[test]
fn a_change_ends_it() {
    let mut records = records();
    let wait = (Runstate::Running, Runstate::Runnable);
    records.insert(
        4,
        Record::runstate(at(80), PcpuId(0), alone(), wait.0, wait.1),
    );
    // The record at 100 ms contradicts that, and is no runstate record.
    let meter = fed(Meter::new(), &names(), &records);
    let summary = meter.finish_at(at(100));
    let alone = &summary.domain(DomainId(1)).unwrap().total;
    assert_eq!((alone.running, alone.runnable), (75_000_000, 20_000_000));
}
