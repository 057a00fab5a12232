//! Scheduler passes on one pcpu: slices, the rate limit, who goes on.

use super::*;
use domio_contract::{Work, WorkReport};

#[test]
fn idling_has_a_slice_in_3_1_only() {
    for (version, slice) in [("3.1", Some(ms(30))), ("3.4", None), ("4.17", None)] {
        let mut rig = Rig::new(version, 1);
        let pick = rig.pass(P0);
        assert_eq!((pick.next, pick.time_slice), (None, slice), "{version}");
    }
}

#[test]
fn a_pass_gives_a_whole_slice_and_alternates_equals() {
    let mut rig = Rig::with("4.17", Topology::flat(1).unwrap(), &[("tslice_ms", 7)]);
    let a = rig.running_on(P0, UNDER);
    let b = rig.queued_on(P0, UNDER);
    for expected in [b, a, b] {
        rig.skip(ms(7));
        let pick = rig.pass(P0);
        assert_eq!((pick.next, pick.time_slice), (Some(expected), Some(ms(7))));
    }
}

#[test]
fn who_turns_over_goes_on_to_the_end_of_the_slice() {
    let mut rig = Rig::new("4.17", 1);
    let hog = rig.running_on(P0, UNDER);
    let rival = rig.queued_on(P0, UNDER);
    rig.credit.activate(hog);
    rig.set_credit(hog, -400);
    rig.account();
    assert_eq!(rig.credit.priority(hog), OVER);
    assert!(rig.tickled().is_empty());
    rig.skip(ms(30));
    assert_eq!(rig.pass(P0).next, Some(rival));
}

/// The answer to a wake-up of higher priority after `ran`, and the slice.
fn answer(version: &str, params: &[(&str, i64)], ran: Duration) -> (bool, Option<Duration>) {
    let mut rig = Rig::with(version, Topology::flat(1).unwrap(), params);
    let hog = rig.running_on(P0, UNDER);
    let rival = rig.guest_on(P0);
    rig.wake(rival);
    rig.skip(ran);
    let pick = rig.pass(P0);
    (pick.next == Some(hog), pick.time_slice)
}

#[test]
fn the_rate_limit_by_release() {
    for version in ["3.1", "4.0", "4.1"] {
        assert_eq!(
            answer(version, &[], us(300)),
            (false, Some(ms(30))),
            "{version}"
        );
    }
    for version in ["4.2", "4.3", "4.7"] {
        assert_eq!(
            answer(version, &[], us(300)),
            (true, Some(ms(1))),
            "{version}"
        );
    }
    for version in ["4.8", "4.17"] {
        assert_eq!(
            answer(version, &[], us(300)),
            (true, Some(us(700))),
            "{version}"
        );
        assert_eq!(
            answer(version, &[], ms(1)),
            (false, Some(ms(30))),
            "{version}"
        );
    }
    let off = [("ratelimit_us", 0)];
    assert_eq!(answer("4.17", &off, us(1)), (false, Some(ms(30))));
    let long = [("ratelimit_us", 5000)];
    assert_eq!(answer("4.17", &long, us(4999)), (true, Some(us(1))));
}

#[test]
fn the_rate_limit_keeps_no_one_who_cannot_run() {
    let mut rig = Rig::new("4.17", 1);
    let v = rig.running_on(P0, UNDER);
    rig.skip(us(10));
    rig.block(v);
    assert_eq!(rig.pass(P0).next, None);
}

#[test]
fn the_rate_limit_leaves_its_record() {
    let mut rig = Rig::new("4.17", 1);
    let _first = rig.domain(256, 0);
    let v = rig.running_on(P0, UNDER);
    rig.notes.clear();
    rig.skip(us(60));
    rig.pass(P0);
    assert_eq!(rig.notes_of(9), [[0]], "SCHEDULE, busy");
    assert_eq!(rig.notes_of(10), [[1 << 16, 60_000]]);
    rig.block(v);
    rig.pass(P0);
    rig.pass(P0);
    assert_eq!(
        rig.notes_of(9).last(),
        Some(&alloc::vec![1 << 24]),
        "SCHEDULE, idle"
    );
}

#[test]
fn a_kept_vcpu_is_charged_for_what_it_ran() {
    let mut rig = Rig::new("4.17", 1);
    let v = rig.running_on(P0, UNDER);
    for _ in 0..9 {
        rig.skip(us(100));
        rig.pass(P0);
    }
    assert_eq!(rig.credit.credit(v), -9);
}

#[test]
fn a_yield_beats_the_rate_limit_since_4_8() {
    for (version, beats) in [
        ("4.2", false),
        ("4.7", false),
        ("4.8", true),
        ("4.17", true),
    ] {
        let mut rig = Rig::new(version, 1);
        let v = rig.running_on(P0, UNDER);
        let other = rig.queued_on(P0, UNDER);
        rig.skip(us(200));
        rig.yielded(v);
        let next = rig.pass(P0).next;
        assert_eq!(next == Some(other), beats, "{version}");
        if !beats {
            // The yield is not forgotten meanwhile: it also lets one of lower priority pass.
            let over = rig.queued_on(P0, OVER);
            rig.skip(ms(1));
            assert_eq!(rig.pass(P0).next, Some(other));
            assert_eq!(rig.queue(P0), [over, v], "{version}");
        }
    }
}

#[test]
fn who_is_over_is_dispatched_after_a_search() {
    for (priority, searches) in [(BOOST, 0), (UNDER, 0), (OVER, 1)] {
        let mut rig = Rig::new("4.17", 1);
        let running = rig.running_on(P0, OVER);
        let next = rig.queued_on(P0, priority);
        rig.block(running);
        rig.tables.work = WorkReport::NOTHING;
        assert_eq!(rig.pass(P0).next, Some(next));
        assert_eq!(
            rig.tables.work.count(Work::Search),
            searches,
            "{priority:?}"
        );
    }
}

#[test]
fn without_a_rate_limit_nothing_is_spent_on_it() {
    for (limit, looks) in [(0, 0), (1_000, 1)] {
        let topology = Topology::flat(1).unwrap();
        let mut rig = Rig::with("4.17", topology, &[("ratelimit_us", limit)]);
        rig.running_on(P0, UNDER);
        rig.queued_on(P0, UNDER);
        rig.skip(ms(2));
        rig.tables.work = WorkReport::NOTHING;
        rig.pass(P0);
        assert_eq!(rig.tables.work.count(Work::RateLimit), looks, "{limit} us");
    }
}

#[test]
fn runnable_vcpus_are_counted() {
    let mut rig = Rig::new("4.17", 1);
    let a = rig.running_on(P0, UNDER);
    let b = rig.guest_on(P0);
    rig.wake(b);
    assert_eq!(rig.credit.pcpus[PcpuId(0)].runnable, 2);
    rig.skip(ms(2));
    rig.pass(P0);
    assert_eq!(rig.credit.pcpus[PcpuId(0)].runnable, 2);
    rig.block(b);
    rig.pass(P0);
    assert_eq!(
        (rig.current(P0), rig.credit.pcpus[PcpuId(0)].runnable),
        (Some(a), 1)
    );
    rig.block(a);
    rig.pass(P0);
    assert_eq!(
        (rig.current(P0), rig.credit.pcpus[PcpuId(0)].runnable),
        (None, 0)
    );
}
