//! The pass: who is taken out of the queue, and who is left there.

use super::*;

#[test]
fn most_credit_runs_first_and_equals_in_turn() {
    let mut rig = Rig::new(1);
    let (a, b, c) = (rig.guest(256), rig.guest(256), rig.guest(256));
    rig.set_credit(b, 11 * MS);
    for v in [a, b, c] {
        rig.wake(v);
    }
    assert_eq!(rig.queue(0), [b, a, c]);
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(b));
    // Who runs stays on equal credit.
    rig.wait_us(1_000);
    rig.set_credit(b, 11 * MS);
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(b));
    rig.wait_us(1_001);
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(a));
    assert_eq!(rig.queue(0), [c, b]);
}

#[test]
fn the_rate_limit_protects_who_runs_and_leaves_its_record() {
    let mut rig = Rig::new(1);
    let runs = rig.running_on(P0, 2 * MS);
    rig.waiting_on(P0, 9 * MS);
    rig.wait_us(999);
    let pick = rig.pass(P0);
    assert_eq!((pick.next, pick.time_slice), (Some(runs), us(500)));
    let name = rig.tables.vcpus[runs.index()].name.word();
    assert_eq!(rig.notes_of(22), [[name, 999_000]]);
    rig.wait_us(1);
    assert_ne!(rig.pass(P0).next, Some(runs));
}

#[test]
fn a_yield_lets_anyone_pass_and_counts_once() {
    let mut rig = Rig::new(1);
    let runs = rig.running_on(P0, 9 * MS);
    let waits = rig.waiting_on(P0, MS);
    rig.call(|c, cx| c.yielded(cx, runs));
    rig.wait_us(10);
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(waits), "in spite of the rate limit");
    rig.wait_us(1_000);
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(runs));
    assert!(!rig.has(runs, flag::YIELD));
}

#[test]
fn a_move_takes_500_us_of_credit_and_is_paid_with_50() {
    let mut rig = Rig::new(2);
    rig.running_on(P1, 10_500 * US);
    let runs = rig.running_on(P0, 5 * MS);
    let waits = rig.waiting_on(P1, 5_499 * US);
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(runs));
    rig.wait_us(1_000);
    // Now it has 1499 us more.
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(waits));
    assert_eq!(rig.credit(waits), 5_549 * US);
}

#[test]
fn who_was_promised_another_pcpu_is_left_for_it() {
    let mut rig = Rig::new(2);
    let v = rig.guest_on(P0);
    rig.wake(v);
    assert_eq!(rig.tickled(), [P0]);
    assert_eq!(rig.pass(P1), Pick::IDLE);
    assert_eq!(rig.pass(P0).next, Some(v));
    // A pcpu that has made its pass is not waited for.
    let w = rig.guest_on(P0);
    rig.policy.vcpus[w.index()].tickled = P0.0;
    rig.wake(w);
    rig.policy.vcpus[w.index()].tickled = P0.0;
    assert_eq!(rig.pass(P1).next, Some(w));
}

#[test]
fn idling_takes_nobody_who_is_near_the_floor_from_another_pcpu() {
    let mut rig = Rig::new(2);
    rig.running_on(P0, 10 * MS);
    let v = rig.guest_on(P0);
    rig.set_credit(v, -9_501 * US);
    rig.wake(v);
    // It tickles the idle pcpu, which resists.
    assert_eq!(rig.tickled(), [P1]);
    assert_eq!(rig.pass(P1), Pick::IDLE);
    rig.set_credit(v, -9_500 * US);
    assert_eq!(rig.pass(P1).next, Some(v));
}

#[test]
fn who_runs_against_its_liking_goes_where_a_pcpu_idles() {
    let mut rig = Rig::new(2);
    let v = rig.running_on(P0, 9 * MS);
    rig.tables.affinity[v.index()].soft = set(&[1]);
    rig.wait_us(1_000);
    assert_eq!(rig.pass(P0), Pick::IDLE);
    assert_eq!(rig.tickled(), [P1]);
    assert_eq!(rig.pass(P1).next, Some(v));
}

#[test]
fn who_wakes_before_its_state_is_saved_queues_up_then() {
    let mut rig = Rig::new(1);
    let v = rig.running_on(P0, 9 * MS);
    rig.block(v);
    let prev = Prev {
        vcpu: Some(v),
        ran: Duration::ZERO,
        why: Stop::NotRunnable,
    };
    assert_eq!(rig.call(|c, cx| c.schedule(cx, P0, prev)), Pick::IDLE);
    rig.tables.pcpus[P0].current = None;
    rig.wake(v);
    assert_eq!(rig.queue(0), []);
    rig.tables.vcpus[v.index()].on_pcpu = false;
    rig.call(|c, cx| c.context_saved(cx, v));
    assert_eq!(rig.queue(0), [v]);
    assert_eq!(rig.policy.runqs[0].load, 1);
}

#[test]
fn records_have_xens_numbers_and_words() {
    let mut rig = Rig::with(Topology::new(1, 2, 1).unwrap(), &[]);
    rig.guest(256);
    let v = rig.guest_on(P1);
    rig.wake(v);
    rig.pass(P1);
    let name = 1 << 16;
    assert_eq!(rig.notes_of(14).last().unwrap()[..], [256 << 16]);
    assert_eq!(rig.notes_of(10).last().unwrap()[..], [name, 0]);
    assert_eq!(rig.notes_of(13), [[name, 1, 10_000_000]]);
    assert_eq!(rig.notes_of(6), [[1]]);
    assert_eq!(rig.notes_of(2), [[name, 0]]);
    // Tickled, idle, in an idle core.
    assert_eq!(rig.notes_of(21), [[1, 0x0101_0100]]);
    assert_eq!(rig.notes_of(23), [[name]]);
    assert_eq!(rig.notes_of(20), [[name, 1, 10_000_000]]);
}
