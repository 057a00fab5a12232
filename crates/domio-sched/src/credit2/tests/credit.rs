//! Burning, the reset, slices, and averages of load.

use super::*;
use crate::credit2::load::Change;

/// Test vector 16 of the specification.
#[test]
fn vector_16() {
    let mut rig = Rig::new(1);
    let heavy = rig.guest(512);
    let light = rig.guest(256);
    for (vcpu, lasts_us) in [(heavy, 10_000), (light, 5_000)] {
        rig.wake(vcpu);
        rig.pass(P0);
        assert_eq!(rig.current(P0), Some(vcpu));
        rig.wait_us(lasts_us);
        rig.call(|c, cx| c.burn(cx, vcpu));
        assert_eq!(rig.credit(vcpu), 0, "10 ms of credit last {lasts_us} us");
        rig.block(vcpu);
        rig.pass(P0);
    }
    // Alone at equal weight: 10 ms.
    let mut rig = Rig::new(1);
    let v = rig.guest(256);
    rig.wake(v);
    assert_eq!(rig.pass(P0).time_slice, us(10_000));
    // With somebody who has a millisecond less: that millisecond, which is the rate limit as well.
    rig.block(v);
    rig.pass(P0);
    let w = rig.guest(256);
    rig.wake(w);
    rig.wake(v);
    rig.set_credit(w, 9 * MS);
    rig.set_credit(v, 10 * MS);
    assert_eq!(
        rig.queue(0),
        [w, v],
        "the one that woke first is first among equals"
    );
    rig.policy.dequeue(w);
    rig.call(|c, cx| c.enqueue(cx, w));
    let pick = rig.pass(P0);
    assert_eq!((pick.next, pick.time_slice), (Some(v), us(1000)));
}

#[test]
fn the_remainder_of_a_debit_is_kept() {
    let mut rig = Rig::new(1);
    rig.guest(1000);
    let light = rig.guest(300);
    rig.wake(light);
    rig.pass(P0);
    for _ in 0..3 {
        rig.now += Duration::from_nanos(1);
        rig.call(|c, cx| c.burn(cx, light));
    }
    // Three times 10/3 of a credit.
    assert_eq!(rig.credit(light), 10 * MS - 10);
    assert_eq!(rig.policy.vcpus[light.index()].residual, 0);
}

#[test]
fn credit_has_a_floor() {
    let mut rig = Rig::new(1);
    rig.guest(65_535);
    let light = rig.guest(1);
    rig.wake(light);
    rig.pass(P0);
    rig.wait_us(5);
    rig.call(|c, cx| c.burn(cx, light));
    assert_eq!(rig.credit(light), -10 * MS);
}

#[test]
fn a_reset_gives_all_the_same_and_clips_what_is_left_over() {
    let mut rig = Rig::new(2);
    let runs = rig.running_on(P0, 3 * MS);
    let waits = rig.guest_on(P0);
    let sleeps = rig.guest_on(P0);
    rig.set_credit(sleeps, 600 * US);
    rig.set_credit(waits, -MS);
    rig.wait_us(1_000);
    rig.call(|c, cx| c.reset(cx, 0, waits));
    assert_eq!(rig.credit(runs), 10_500 * US, "of 12 ms");
    assert_eq!(rig.credit(waits), 9 * MS);
    assert_eq!(rig.credit(sleeps), 10_500 * US);
    assert_eq!(
        rig.policy.vcpus[runs.index()].start,
        MS,
        "what it ran is paid"
    );
}

#[test]
fn a_reset_is_doubled_for_whoever_is_at_the_floor() {
    let mut rig = Rig::new(1);
    let (next, other) = (rig.guest(256), rig.guest(256));
    rig.set_credit(next, -10 * MS);
    rig.set_credit(other, -9 * MS);
    rig.call(|c, cx| c.reset(cx, 0, next));
    assert_eq!(
        (rig.credit(next), rig.credit(other)),
        (10 * MS, 10_500 * US)
    );
}

#[test]
fn a_pass_resets_when_nobody_has_credit() {
    let mut rig = Rig::new(1);
    let runs = rig.running_on(P0, 2 * MS);
    let waits = rig.waiting_on(P0, MS);
    rig.wait_us(2_000);
    // The one that waits has some left.
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(waits));
    assert_eq!(rig.credit(runs), 0);
    rig.wait_us(1_000);
    rig.pass(P0);
    assert_eq!(rig.credit(waits), 10 * MS);
    assert_eq!(rig.credit(runs), 10 * MS);
}

#[test]
fn a_slice_ends_at_the_credit_of_the_first_that_waits() {
    let mut rig = Rig::new(1);
    let runs = rig.running_on(P0, 9 * MS);
    rig.waiting_on(P0, 4 * MS);
    let slice = |rig: &mut Rig, runs| rig.call(|c, cx| c.slice(cx, P0, runs, false));
    assert_eq!(Some(slice(&mut rig, runs)), us(5_000));
    // Its own end counts when the other has none.
    let waits = rig.queue(0)[0];
    rig.set_credit(waits, 0);
    assert_eq!(Some(slice(&mut rig, runs)), us(9_000));
    // Never under the rate limit, nor over 10 ms.
    rig.set_credit(runs, -MS);
    assert_eq!(Some(slice(&mut rig, runs)), us(1_000));
    rig.set_credit(runs, 10_500 * US);
    assert_eq!(Some(slice(&mut rig, runs)), us(10_000));
    // Who goes on has part of the rate limit behind it.
    rig.set_credit(runs, 0);
    rig.wait_us(300);
    let goes_on = rig.call(|c, cx| c.slice(cx, P0, runs, true));
    assert_eq!(Some(goes_on), us(700));
    rig.wait_us(600);
    let goes_on = rig.call(|c, cx| c.slice(cx, P0, runs, true));
    assert_eq!(Some(goes_on), us(500), "and half a millisecond at least");
}

#[test]
fn load_decays_over_the_window() {
    let mut rig = Rig::new(1);
    let one = 1 << 18;
    let v = rig.guest(256);
    let of = |rig: &Rig| rig.policy.vcpus[v.index()].average;
    assert_eq!(of(&rig), one / 2, "a new one counts for half");
    assert_eq!(rig.policy.runqs[0].balanced, one / 2);
    // A quarter of the window of 2^30 ns asleep.
    rig.now = Instant::from_nanos(1 << 28);
    rig.call(|c, cx| c.update_vcpu_load(cx, v, Change::Begins));
    assert_eq!(of(&rig), one / 2 - one / 8);
    // Half a window at work.
    rig.now = Instant::from_nanos((1 << 28) + (1 << 29));
    rig.call(|c, cx| c.update_vcpu_load(cx, v, Change::Ceases));
    assert_eq!(of(&rig), one * 3 / 8 + one / 2 - one * 3 / 16);
    // What lies behind the window counts for nothing.
    rig.now = Instant::from_nanos(1 << 33);
    rig.call(|c, cx| c.update_vcpu_load(cx, v, Change::Begins));
    assert_eq!(of(&rig), 0);
    rig.policy.runqs[0].load = 3;
    rig.call(|c, cx| c.update_runq_load(cx, 0, Change::None));
    assert_eq!(rig.policy.runqs[0].average, 3 * one);
}
