//! Passes: reservations, deadlines and how the queues are kept.

use super::*;

#[test]
fn the_earliest_deadline_runs_first() {
    let mut rig = Rig::new("3.1", 1);
    let slow = rig.guest(&capped(50_000, 5_000));
    let quick = rig.guest(&capped(20_000, 5_000));
    rig.wake(slow);
    rig.wake(quick);
    rig.run_to(at_ms(54));
    // Both first periods begin at 5 ms; the deadlines are 25, 45, 65 and 55 ms.
    let expected = [
        (5_000, Some(quick)),
        (10_000, Some(slow)),
        (15_000, None),
        (25_000, Some(quick)),
        (30_000, None),
        (45_000, Some(quick)),
        (50_000, None),
    ];
    assert_eq!(rig.switches, expected);
}

#[test]
fn who_has_slice_left_keeps_its_place_and_its_deadline() {
    let mut rig = Rig::new("3.1", 1);
    let slow = rig.guest(&capped(100_000, 30_000));
    let quick = rig.guest(&capped(10_000, 2_000));
    rig.wake(slow);
    rig.wake(quick);
    rig.run_to(at_ms(43));
    assert_eq!(rig.current(P0), Some(quick), "from 42 ms on");
    assert_eq!(rig.state(slow).deadline, 130 * MS);
    assert_eq!(
        rig.state(slow).cputime,
        10 * MS,
        "from 30 to 32 and 34 to 42"
    );
    assert_eq!(rig.queue(Queue::Run), [quick, slow]);
    rig.run_to(at_ms(120));
    assert_eq!(rig.ran(slow), us(30_000));
}

#[test]
fn a_slice_ends_when_a_period_begins() {
    let mut rig = Rig::new("3.1", 1);
    let slow = rig.guest(&capped(100_000, 30_000));
    let quick = rig.guest(&capped(10_000, 2_000));
    rig.wake(quick);
    rig.wake(slow);
    rig.run_to(at_ms(30));
    assert_eq!(rig.current(P0), Some(slow));
    assert_eq!(rig.slices[0], Some(at_ms(32)), "not 60 ms");
}

#[test]
fn what_was_used_too_much_counts_against_the_next_slice() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(5));
    rig.skip(us(5_700));
    rig.pass(P0);
    assert_eq!(rig.current(P0), None);
    assert_eq!(rig.state(v).cputime, 700 * US);
    assert_eq!(rig.state(v).deadline, 45 * MS);
    rig.run_to(at_ms(26));
    assert_eq!(rig.slices[0], Some(at_us(29_300)));
}

#[test]
fn a_missed_deadline_gives_a_fresh_slice_on_the_old_grid() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    let other = rig.guest(&capped(30_000, 5_000));
    rig.wake(v);
    rig.wake(other);
    rig.run_to(at_ms(6));
    assert_eq!(rig.current(P0), Some(v));
    assert_eq!(rig.state(other).deadline, 35 * MS);
    // Nothing is scheduled until long after.
    rig.skip(us(100_000));
    rig.pass(P0);
    // `v` used 101 ms of its slice of 5 ms; its new deadline is in the past as well.
    let missed = rig.notes_of(8);
    assert_eq!(
        missed.iter().map(|n| n[1]).collect::<Vec<_>>(),
        [71_000_000, 61_000_000]
    );
    assert_eq!((rig.state(v).deadline, rig.state(v).cputime), (125 * MS, 0));
    assert_eq!(
        (rig.state(other).deadline, rig.state(other).cputime),
        (125 * MS, 0)
    );
    assert_eq!(
        rig.queue(Queue::Run),
        [other, v],
        "in the order in which they were put right"
    );
    assert_eq!(rig.current(P0), Some(other));
}

#[test]
fn the_deadline_itself_is_not_missed() {
    for (now, missed) in [(25_000_000, 0), (25_000_001, 1)] {
        let mut rig = Rig::new("3.1", 1);
        let v = rig.guest(&capped(20_000, 5_000));
        rig.wake(v);
        rig.now = Instant::from_nanos(now);
        assert_eq!(rig.pass(P0).next, Some(v));
        assert_eq!(rig.notes_of(8).len(), missed);
        assert_eq!(rig.state(v).deadline, (25 + 20 * missed as i64) * MS);
    }
}

#[test]
fn the_walk_goes_on_behind_whoever_was_put_in_order() {
    let mut rig = Rig::new("3.1", 1);
    let late = rig.guest(&capped(5_000, 1_000));
    let guest = rig.guest(&[]);
    rig.wake(late);
    rig.wake(guest);
    rig.skip(us(50_000));
    rig.pass(P0);
    // `late` is in order again in front of the other one, which has no business there either.
    assert_eq!(rig.state(late).deadline, 51 * MS);
    assert_eq!(rig.queue(Queue::Run), [late]);
    assert_eq!(rig.queue(Queue::Wait), [guest]);
}

#[test]
fn the_walk_ends_at_the_first_vcpu_that_is_in_order() {
    let mut rig = Rig::new("3.1", 1);
    let first = rig.guest(&capped(20_000, 5_000));
    let guest = rig.guest(&[]);
    rig.wake(first);
    rig.run_to(at_ms(6));
    rig.wake_now(guest);
    assert_eq!(rig.current(P0), Some(first));
    assert_eq!(
        rig.queue(Queue::Run),
        [first, guest],
        "it stays for a while"
    );
    rig.run_to(at_ms(10));
    assert_eq!(rig.queue(Queue::Wait), [first, guest]);
    assert_eq!(rig.state(guest).begin(), 106 * MS);
}

#[test]
fn a_late_vcpu_whose_next_period_is_ahead_waits_for_it() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(6));
    // An operator cuts the slice below what was used; the deadline of 25 ms is still ahead.
    rig.adjust(DomainId(1), &capped(20_000, 500));
    assert_eq!(
        rig.state(v).cputime,
        0,
        "nothing is known of it before the pass"
    );
    rig.pass(P0);
    // Used 1 ms of 0.5 ms: the overrun is carried over, and is more than the new slice once more.
    assert_eq!(
        (rig.state(v).deadline, rig.state(v).cputime),
        (45 * MS, 500 * US)
    );
    rig.run_to(at_ms(25));
    assert_eq!(rig.current(P0), Some(v), "none of the slice is left");
    assert_eq!(rig.slices[0], Some(at_ms(25) + Duration::from_nanos(1)));
    rig.run_to(at_ms(26));
    assert_eq!(rig.current(P0), None);
    assert_eq!((rig.state(v).deadline, rig.state(v).cputime), (65 * MS, 1));
}

#[test]
fn more_used_than_the_slice_skips_a_period() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(5));
    rig.skip(us(12_000));
    rig.pass(P0);
    assert_eq!(rig.state(v).cputime, 7 * MS);
    rig.run_to(at_ms(25));
    assert_eq!(
        rig.current(P0),
        None,
        "7 ms used of 5 ms: not in this period"
    );
    assert_eq!((rig.state(v).deadline, rig.state(v).cputime), (65 * MS, 0));
}

#[test]
fn a_vcpu_without_a_slice_never_stays_in_the_run_queue() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[("weight", 1)]);
    rig.wake_now(v);
    assert_eq!(rig.queue(Queue::Wait), [v]);
    assert_eq!(rig.state(v).begin(), 100 * MS);
    // Late by more than two periods: the next period begins in the future, on the same grid.
    rig.skip(us(350_000));
    rig.pass(P0);
    assert_eq!(rig.state(v).begin(), 400 * MS);
    // Late by whole periods: its next one begins now. It is not looked at twice in a pass.
    rig.skip(us(250_000));
    let pick = rig.pass(P0);
    assert_eq!(rig.state(v).begin(), 600 * MS);
    assert_eq!(
        (pick.next, pick.time_slice),
        (None, Some(Duration::from_nanos(1)))
    );
    rig.run_to(rig.now + us(1));
    assert_eq!(rig.state(v).begin(), 700 * MS);
    assert_eq!(rig.current(P0), Some(v));
}

#[test]
fn equal_deadlines_are_first_in_first_out() {
    let mut rig = Rig::new("3.1", 1);
    let vcpus = [0; 3].map(|_| rig.guest(&capped(20_000, 2_000)));
    for v in [2, 0, 1] {
        rig.wake(vcpus[v]);
    }
    rig.run_to(at_ms(8));
    let order: Vec<_> = rig.switches.iter().map(|(_, v)| *v).collect();
    assert_eq!(
        order,
        [Some(vcpus[2]), Some(vcpus[0]), Some(vcpus[1]), None]
    );
}

#[test]
fn an_empty_pcpu_idles_for_a_second() {
    let mut rig = Rig::new("3.1", 1);
    let pick = rig.pass(P0);
    assert_eq!((pick.next, pick.time_slice), (None, Some(us(1_000_000))));
}

#[test]
fn a_yield_changes_nothing_for_a_reservation() {
    let mut rig = Rig::new("4.5", 1);
    let quick = rig.guest(&capped(20_000, 5_000));
    let slow = rig.guest(&capped(50_000, 5_000));
    rig.wake(quick);
    rig.wake(slow);
    rig.run_to(at_ms(6));
    rig.call(|s, cx| s.yielded(cx, quick));
    assert_eq!(rig.pass(P0).next, Some(quick));
}
