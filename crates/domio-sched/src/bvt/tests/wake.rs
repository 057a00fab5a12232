//! Wake-ups.

use super::*;

#[test]
fn there_is_no_credit_for_sleeping() {
    let mut rig = Rig::new("3.0", 1);
    let sleeper = rig.guest(&[]);
    let hogs = [rig.hog(10), rig.hog(10)];
    rig.run_to(at_ms(1_002));
    let svt = rig.svt(P0);
    assert!(svt > 40_000);
    rig.wake(sleeper);
    assert_eq!(rig.state(sleeper).avt, svt);
    let before = hogs.map(|v| rig.ran(v));
    rig.run_for(ms(600));
    let [a, b] = [0, 1].map(|i| rig.ran(hogs[i]) - before[i]);
    for ran in [rig.ran(sleeper), a, b] {
        assert!(ran.as_nanos().abs_diff(200_000_000) < 11_000_000, "{ran}");
    }
}

#[test]
fn who_is_ahead_keeps_its_time_over_a_sleep() {
    let mut rig = Rig::new("3.0", 1);
    let [a, _] = [rig.hog(1_000), rig.hog(10)];
    rig.run_to(at_ms(8));
    assert_eq!(rig.current(P0), Some(a));
    rig.block_now(a);
    let avt = rig.state(a).avt;
    rig.run_for(ms(20));
    assert!(avt > rig.svt(P0));
    rig.wake(a);
    assert_eq!(rig.state(a).avt, avt);
}

#[test]
fn a_long_sleeper_interrupts_at_once() {
    let mut rig = Rig::new("3.0", 1);
    let sleeper = rig.guest(&[]);
    let hog = rig.hog(10);
    rig.run_to(at_ms(52));
    rig.wake(sleeper);
    assert!(rig.pending.contains(P0));
    rig.settle();
    assert_eq!(rig.current(P0), Some(sleeper), "{hog:?} has run 2 ms only");
}

#[test]
fn equal_times_interrupt_and_later_ones_wait_for_the_allowance() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&[]);
    let hog = rig.hog(10);
    rig.run_to(at_ms(51));
    // 51 ms of 100 a millisecond.
    for (avt, at_once) in [(5_100, true), (5_101, false)] {
        rig.state_mut(v).avt = avt;
        rig.wake(v);
        assert_eq!(rig.pending.contains(P0), at_once, "{avt}");
        rig.stop(v, Pause::BLOCKED);
        rig.pending = CpuSet::EMPTY;
    }
    assert_eq!(rig.current(P0), Some(hog));
}

#[test]
fn the_pass_of_who_runs_alone_is_brought_forward() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&[]);
    let hog = rig.hog(10);
    rig.run_to(at_ms(2));
    rig.state_mut(v).avt = 200 + 1_000;
    rig.wake(v);
    // It would have been after 50 ms: now 5 ms after the last pass, and 1000 / 10 ns.
    let due = at_ms(5) + Duration::from_nanos(100);
    assert_eq!(rig.timers[0][0], Some(due));
    rig.run_to(at_ms(6));
    assert_eq!(rig.passes, [0, 5_000]);
    assert_eq!(rig.current(P0), Some(hog), "{v:?} is still further");
    assert_eq!(rig.timers[0][0], None);
}

#[test]
fn a_pass_that_is_due_already_comes_at_once() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&[]);
    rig.hog(10);
    rig.run_to(at_ms(30));
    rig.state_mut(v).avt = 10_000;
    rig.wake(v);
    assert_eq!(rig.timers[0][0], Some(at_ms(30)));
}

#[test]
fn a_pass_that_comes_first_stops_the_other() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&[]);
    let hog = rig.hog(10);
    rig.run_to(at_ms(2));
    rig.state_mut(v).avt = 5_000;
    rig.wake(v);
    assert!(rig.timers[0][0].is_some());
    rig.block_now(hog);
    assert_eq!(rig.timers[0][0], None);
    assert_eq!(rig.current(P0), Some(v));
}

#[test]
fn the_next_pass_is_not_put_off() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&[]);
    rig.hog(10);
    rig.hog(10);
    rig.run_to(at_ms(1));
    rig.state_mut(v).avt = 1_000_000;
    rig.wake(v);
    assert_eq!(
        rig.timers[0][0], None,
        "5 ms and some ns is later than 5 ms"
    );
}

#[test]
fn in_3_0_2_all_counts_from_the_switch() {
    // A hog that goes on after its pass at 50 ms; a wake-up 2 ms later.
    for (version, due) in [("3.0", at_ms(55)), ("3.0.2", at_ms(52))] {
        let mut rig = Rig::new(version, 1);
        let v = rig.guest(&[]);
        rig.hog(10);
        rig.run_to(at_ms(52));
        rig.state_mut(v).avt = 20_000;
        rig.wake(v);
        let at = rig.timers[0][0].expect("it is brought forward");
        assert!(at.since(due) < us(10), "{version}: {at}");
    }
}

#[test]
fn whoever_is_queued_is_woken_once() {
    let mut rig = Rig::new("3.0", 1);
    let [a, b] = [rig.hog(10), rig.hog(10)];
    rig.settle();
    for v in [a, b] {
        rig.wake(v);
    }
    assert_eq!(rig.policy.pcpus[0].list.len(), 2);
}

#[test]
fn a_wake_up_leaves_its_record() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warps(40));
    rig.policy.pcpus[0].svt = 100;
    rig.wake(v);
    let name = rig.tables.vcpus[0].name.word();
    assert_eq!(rig.notes_of(3), [[name, 100, 60]]);
}
