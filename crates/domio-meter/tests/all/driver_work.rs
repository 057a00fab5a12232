//! For whom driver domains work, from traces written by hand and by chance.

use std::collections::BTreeMap;

use crate::cast::{actor, fed, names};
use Runstate::{Blocked, Runnable, Running};
use domio_core::{ActorId, DomainId, Instant, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_meter::{DriverWork, Explainer, MapWindow, Meter, TraceChecker};
use proptest::prelude::*;

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// `index` is that of the vcpu and of its pcpu.
fn driver(index: u16) -> ActorId {
    actor(VcpuName::new(DomainId(0), index))
}

fn state(ns: u64, index: u16, old: Runstate, new: Runstate) -> Record {
    Record::runstate(at(ns), PcpuId(index), driver(index), old, new)
}

fn work(ns: u64, index: u16, owner: u16, took: u64) -> Record {
    Record::driver_work(at(ns), PcpuId(index), driver(index), DomainId(owner), took)
}

fn feed<S: Sink>(sink: S, records: &[Record]) -> S {
    fed(sink, &names(), records)
}

fn metered(records: &[Record]) -> Vec<DriverWork> {
    feed(Meter::new(), records).finish().driver_work
}

fn done(busy: u64, owners: &[(u16, u64)]) -> DriverWork {
    DriverWork {
        driver: DomainId(0),
        busy,
        done_for: owners.iter().map(|(d, ns)| (DomainId(*d), *ns)).collect(),
    }
}

/// Two runs, of 100 and 40; 70 of them for domain 1, 50 for domain 2.
fn two_runs() -> Vec<Record> {
    vec![
        // Flushed where the trace begins: done before.
        work(10, 0, 1, 5_000),
        state(10, 0, Running, Running),
        work(110, 0, 1, 60),
        work(110, 0, 2, 30),
        state(110, 0, Running, Blocked),
        state(150, 0, Blocked, Runnable),
        state(160, 0, Runnable, Running),
        work(200, 0, 1, 10),
        work(200, 0, 2, 20),
        state(200, 0, Running, Blocked),
    ]
}

#[test]
fn time_that_no_record_names_was_done_for_nobody() {
    let found = metered(&two_runs());
    assert_eq!(found, [done(140, &[(1, 70), (2, 50)])]);
    assert_eq!(found[0].nobody(), 20);
    let summary = feed(Meter::new(), &two_runs()).finish();
    assert_eq!(summary.domain(DomainId(0)).unwrap().total.running, 140);
    let json = serde_json::to_value(summary.answer(|_| None, 1_000_000_000, false)).unwrap();
    let work = &json["driver_work"][0];
    let done_for = serde_json::json!([{"domain": 1, "ns": 70}, {"domain": 2, "ns": 50}]);
    assert_eq!(work["for"], done_for);
    assert_eq!(work["nobody_ns"], 20);
}

#[test]
fn a_trace_without_such_records_says_nothing_of_them() {
    let mut records = two_runs();
    records.retain(|r| r.done_for().is_none());
    let summary = feed(Meter::new(), &records).finish();
    assert_eq!(summary.driver_work, []);
    let json = serde_json::to_value(summary.answer(|_| None, 1_000_000_000, false)).unwrap();
    assert_eq!(json["driver_work"], serde_json::json!([]));
}

#[test]
fn records_of_work_change_no_other_figure() {
    let mut without = two_runs();
    without.retain(|r| r.done_for().is_none());
    let with = feed(Meter::new(), &two_runs()).finish();
    let mut without = feed(Meter::new(), &without).finish();
    without.driver_work = with.driver_work.clone();
    without.records = with.records;
    assert_eq!(with, without);
}

#[test]
fn the_explainer_says_the_same() {
    let explained = feed(Explainer::new(MapWindow::Worst), &two_runs()).finish_at(at(300));
    assert_eq!(explained.driver_work, metered(&two_runs()));
}

/// The host writes down at the begin and at the end of the window what was done until then.
#[test]
fn a_window_has_the_work_that_is_told_within_it() {
    let records = [
        state(0, 0, Runnable, Running),
        work(50, 0, 1, 45),
        work(50, 0, 3, 5),
        work(80, 0, 1, 20),
        state(80, 0, Running, Blocked),
        state(90, 0, Blocked, Runnable),
        state(90, 0, Runnable, Running),
        work(120, 0, 1, 3),
        work(150, 0, 1, 30),
        state(150, 0, Running, Blocked),
    ];
    let expected = [done(60, &[(1, 23)])];
    let summary = feed(Meter::window(at(50), at(120)), &records).finish();
    assert_eq!(summary.driver_work, expected);
    let explained = feed(Explainer::window(at(50), at(120)), &records).finish_at(at(200));
    assert_eq!(explained.driver_work, expected);
}

#[test]
fn replications_add_up_and_one_without_work_counts_as_busy() {
    let explained =
        |records: &[Record]| feed(Explainer::new(MapWindow::Worst), records).finish_at(at(300));
    let mut idle = two_runs();
    idle.retain(|r| r.done_for().is_none());
    let mut sum = explained(&idle);
    sum.add(&explained(&two_runs()));
    sum.add(&explained(&idle));
    sum.add(&explained(&two_runs()));
    assert_eq!(sum.driver_work, [done(4 * 140, &[(1, 140), (2, 100)])]);
}

#[test]
fn damaged_records_count_for_no_more_than_there_is() {
    let records = [
        state(0, 0, Runnable, Running),
        work(100, 0, 1, 30),
        work(100, 0, 2, u64::MAX),
        state(100, 0, Running, Blocked),
        work(300, 0, 1, 7),
        // Of a vcpu that nobody has seen.
        work(300, 1, 1, 7),
    ];
    assert_eq!(metered(&records), [done(100, &[(1, 30), (2, 70)])]);
    assert_eq!(feed(TraceChecker::new(), &records).finish().total, 2);
}

/// What a driver domain of two vcpus does: stays off the pcpu and on it, and of each run, how much
/// is done for each of three domains, in parts of 256.
type Story = Vec<(u16, u64, u64, [u64; 3])>;

fn story() -> impl Strategy<Value = Story> {
    let one = (
        0..2u16,
        1..1_000u64,
        0..1_000u64,
        [0..=80u64, 0..=80, 0..=80],
    );
    proptest::collection::vec(one, 0..30)
}

/// The trace of `story`, where records of work stand before the runstate record of their run or
/// after it as `order` says, and the sums: busy, and for each domain.
fn told(story: &Story, order: &[bool]) -> (Vec<Record>, u64, BTreeMap<DomainId, u64>) {
    let mut records = Vec::new();
    let mut now = [5, 5];
    let (mut busy, mut sums) = (0, BTreeMap::new());
    for index in 0..2 {
        records.push(work(5, index, 1, 77));
        records.push(state(5, index, Blocked, Blocked));
    }
    let mut after = order.iter().copied().cycle();
    for &(index, off, on, parts) in story {
        let begin = now[usize::from(index)] + off;
        let end = begin + on;
        now[usize::from(index)] = end;
        busy += on;
        records.push(state(begin, index, Blocked, Runnable));
        records.push(state(begin, index, Runnable, Running));
        let mut ends = vec![state(end, index, Running, Blocked)];
        for (owner, part) in (1..).zip(parts) {
            let took = on * part / 256;
            *sums.entry(DomainId(owner)).or_default() += took;
            let place = if after.next() == Some(true) {
                ends.len()
            } else {
                0
            };
            ends.insert(place, work(end, index, owner, took));
        }
        records.extend(ends);
    }
    sums.retain(|_, ns| *ns > 0);
    // A file has its records in the order of time; a stable sort keeps that of each vcpu.
    records.sort_by_key(|r| r.at);
    (records, busy, sums)
}

proptest! {
    #[test]
    fn work_for_others_and_for_nobody_is_the_busy_time(
        story in story(),
        order in proptest::collection::vec(any::<bool>(), 1..9),
    ) {
        let (records, busy, sums) = told(&story, &order);
        let checked = feed(TraceChecker::new(), &records).finish();
        prop_assert!(checked.is_clean(), "{:?}", checked.findings);
        let found = metered(&records);
        let explained = feed(Explainer::new(MapWindow::Worst), &records).finish_at(at(1 << 20));
        prop_assert_eq!(&explained.driver_work, &found);
        match found.first() {
            None => prop_assert!(sums.is_empty()),
            Some(work) => {
                prop_assert_eq!(&work.done_for, &sums);
                prop_assert_eq!(work.busy, busy);
                prop_assert_eq!(work.nobody(), busy - sums.values().sum::<u64>());
            }
        }
    }

    /// Whatever the records say and wherever they stand.
    #[test]
    fn sums_are_exact_in_damaged_traces(
        story in story(),
        strange in proptest::collection::vec((0..60_000u64, 0..3u16, 0..4u16, any::<u64>()), 0..20),
        from in 0..20_000u64,
        length in 0..40_000u64,
    ) {
        let (mut records, ..) = told(&story, &[false]);
        for (i, (ns, index, owner, took)) in strange.into_iter().enumerate() {
            let place = (i * 7919) % (records.len() + 1);
            records.insert(place, work(ns, index, owner, took >> (owner * 16)));
        }
        let window = (at(from), at(from + length));
        let summary = feed(Meter::window(window.0, window.1), &records).finish();
        let busy = summary.domain(DomainId(0)).map_or(0, |d| d.total.running);
        for work in &summary.driver_work {
            prop_assert_eq!(work.busy, busy);
            prop_assert_eq!(work.nobody() + work.done_for.values().sum::<u64>(), busy);
        }
        let explained = feed(Explainer::window(window.0, window.1), &records).finish_at(window.1);
        for work in &explained.driver_work {
            prop_assert_eq!(work.nobody() + work.done_for.values().sum::<u64>(), work.busy);
        }
    }
}
