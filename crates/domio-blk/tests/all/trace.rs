//! What a rig does with the requests of a trace.

use domio_blk::elevator::{IoWay, Submitter, Tuning, elevators, find_elevator};
use domio_blk::queue::QueueLimits;
use domio_blk::trace::{
    FixedDrive, Happened, LoopKind, RigConfig, TraceAct, TraceIo, TraceRig, WINDOW,
};
use domio_core::{Duration, Instant};

/// A drive that serves each command in 1 ms.
fn steady() -> FixedDrive {
    FixedDrive::new(
        1_000_000,
        Duration::from_millis(1),
        Duration::ZERO,
        Duration::ZERO,
    )
}

fn rig(elevator: &str, kind: LoopKind) -> TraceRig {
    let elevator = find_elevator(elevators(), elevator).unwrap();
    TraceRig::new(RigConfig {
        limits: QueueLimits::disk(250, 31),
        elevator,
        tuning: Tuning::defaults(elevator.tunables, 250),
        drive: Box::new(steady()),
        kind,
    })
}

fn read(at_us: u64, submitter: u32, sector: u64) -> TraceIo {
    TraceIo {
        at: Instant::from_nanos(at_us * 1000),
        gap: Duration::from_micros(100),
        way: IoWay::Read,
        sync: false,
        meta: false,
        awaited: true,
        sector,
        sectors: 8,
        submitter: Submitter(submitter),
        word: 0,
    }
}

fn run(mut rig: TraceRig, ios: impl IntoIterator<Item = TraceIo>) -> Vec<Happened> {
    ios.into_iter().for_each(|io| rig.offer(io));
    rig.finish();
    std::iter::from_fn(|| rig.take()).collect()
}

/// Times (µs) at which something happened.
fn times(happened: &[Happened], is: impl Fn(&TraceAct) -> bool) -> Vec<u64> {
    let those = happened.iter().filter(|h| is(&h.act));
    those.map(|h| h.at.as_nanos() / 1000).collect()
}

fn is_queued(act: &TraceAct) -> bool {
    *act == TraceAct::Queued
}

fn is_completed(act: &TraceAct) -> bool {
    matches!(act, TraceAct::Completed { .. })
}

#[test]
fn an_open_loop_keeps_the_times_of_the_trace_and_a_closed_one_the_gaps() {
    let ios = || [read(0, 0, 0), read(10, 0, 5000), read(20, 0, 9000)];
    let open = run(rig("noop", LoopKind::Open), ios());
    assert_eq!(times(&open, is_queued), [0, 10, 20]);
    assert_eq!(times(&open, is_completed), [1000, 2000, 3000]);
    let closed = run(rig("noop", LoopKind::Closed), ios());
    assert_eq!(times(&closed, is_queued), [0, 1100, 2200]);
    assert_eq!(times(&closed, is_completed), [1000, 2100, 3200]);
}

#[test]
fn who_does_not_wait_goes_on_in_a_closed_loop() {
    let write = |at, sector| TraceIo {
        way: IoWay::Write,
        awaited: false,
        ..read(at, 0, sector)
    };
    let closed = run(
        rig("noop", LoopKind::Closed),
        [write(0, 0), write(10, 5000)],
    );
    assert_eq!(times(&closed, is_queued), [0, 100]);
}

/// Every request is finished once, with every elevator, however many there are at once.
#[test]
fn every_sector_that_was_asked_for_is_served_once() {
    for name in elevators().iter().map(|e| e.name) {
        for kind in [LoopKind::Open, LoopKind::Closed] {
            let ios = (0..3000u64).map(|i| TraceIo {
                way: if i % 3 == 0 {
                    IoWay::Write
                } else {
                    IoWay::Read
                },
                sync: i % 2 == 0,
                awaited: i % 3 != 0,
                ..read(i * 10, (i % 7) as u32, (i * 7919 % 100_000) * 8)
            });
            let happened = run(rig(name, kind), ios);
            let sectors = |is: &dyn Fn(&TraceAct) -> bool| -> u64 {
                let those = happened.iter().filter(|h| is(&h.act));
                those.map(|h| u64::from(h.sectors)).sum()
            };
            assert_eq!(sectors(&is_queued), 24_000, "{name}");
            assert_eq!(sectors(&|a| *a == TraceAct::Issued), 24_000, "{name}");
            assert_eq!(sectors(&is_completed), 24_000, "{name}");
            assert!(happened.is_sorted_by_key(|h| h.at));
            // More came in the open loop than a queue has requests for.
            let slept = happened.iter().any(|h| h.act == TraceAct::Asleep);
            assert!(slept || kind == LoopKind::Closed, "{name}");
        }
    }
}

#[test]
fn what_is_too_large_is_cut_and_what_lies_beyond_the_end_is_laid_down_from_the_start() {
    let mut rig = rig("noop", LoopKind::Closed);
    rig.offer(TraceIo {
        sectors: 2500,
        ..read(0, 0, 10)
    });
    rig.offer(read(1, 0, 999_999));
    rig.finish();
    assert_eq!(rig.wrapped(), 1);
    let happened: Vec<Happened> = std::iter::from_fn(|| rig.take()).collect();
    let queued = happened.iter().filter(|h| is_queued(&h.act));
    let queued: Vec<(u64, u32)> = queued.map(|h| (h.sector, h.sectors)).collect();
    assert_eq!(queued, [(10, 1024), (1034, 1024), (2058, 452), (6, 8)]);
}

#[test]
fn requests_that_come_faster_than_they_are_served_do_not_pile_up() {
    let mut rig = rig("noop", LoopKind::Open);
    let mut most = 0;
    for i in 0..2 * WINDOW as u64 {
        rig.offer(read(0, (i % 3) as u32, i * 16 % 900_000));
        most = most.max(rig.waiting());
        while rig.take().is_some() {}
    }
    assert!(most <= WINDOW, "{most}");
    assert!(rig.late() > 0);
}
