//! A trace as Xen 3.1 wrote it gives figures too, although it holds no runstates.

use domio_core::{DomainId, Sink};
use domio_meter::{Meter, TraceChecker};
use domio_trace::{Format, ReadOptions, TraceReader};

/// An old record of a 64-bit host: cpu, cycles, event and five words.
fn record(out: &mut Vec<u8>, cycles: u64, event: u32, words: &[u64]) {
    out.extend(0u32.to_le_bytes());
    out.extend(cycles.to_le_bytes());
    out.extend(u64::from(event).to_le_bytes());
    for i in 0..5 {
        out.extend(words.get(i).copied().unwrap_or(0).to_le_bytes());
    }
}

/// Domain 1 wakes every 10 ms, waits 100 us, runs 1 ms and blocks; domain 2 takes the rest.
fn file() -> Vec<u8> {
    let mut out = Vec::new();
    for i in 1..=100u64 {
        let wake = i * 10_000_000;
        let start = wake + 100_000;
        let end = start + 1_000_000;
        record(&mut out, wake, 0x2f004, &[1, 0]);
        record(&mut out, start, 0x2f00e, &[2, 8_900_000]);
        record(&mut out, start, 0x2f00f, &[1, 100_000, 30_000_000]);
        record(&mut out, start, 0x2f00a, &[2, 0, 1, 0]);
        record(&mut out, end, 0x2f006, &[1, 0]);
        record(&mut out, end, 0x2f00a, &[1, 0, 2, 0]);
    }
    out
}

#[test]
fn figures_of_an_old_trace() {
    let bytes = file();
    let mut reader = TraceReader::new(&bytes[..], &ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), Format::Xentrace3Lp64);
    let mut meter = Meter::new();
    let mut checker = TraceChecker::new();
    while let Some(r) = reader.next_record().unwrap() {
        meter.record(reader.names(), &r);
        checker.record(reader.names(), &r);
    }
    let report = checker.finish();
    assert!(report.is_clean(), "{:?}", report.findings);
    let summary = meter.finish();
    let sleeper = &summary.domain(DomainId(1)).unwrap().total;
    assert_eq!(sleeper.runs.count, 100);
    assert_eq!(sleeper.runs.p50, Some(1_000_000));
    // Nothing is known of the domain at its first wake-up.
    assert_eq!(sleeper.wake_to_run.count, 99);
    assert_eq!(sleeper.wake_to_run.max, Some(100_000));
    let hog = &summary.domain(DomainId(2)).unwrap().total;
    assert_eq!(hog.runs.p50, Some(9_000_000));
    assert_eq!(hog.waited_after_preempt, hog.runnable);
}
