//! Whom a vcpu that has come to wait tickles.

use super::*;

fn two_threads(params: &[(&str, i64)]) -> Rig {
    Rig::with(Topology::new(1, 2, 2).unwrap(), params)
}

#[test]
fn the_own_pcpu_comes_first_if_its_core_idles() {
    let mut rig = two_threads(&[]);
    let v = rig.guest_on(P3);
    rig.wake(v);
    assert_eq!(rig.tickled(), [P3]);
    // Its core is no idle one any more: the next one goes to the other core.
    let w = rig.guest_on(P2);
    rig.wake(w);
    assert_eq!(rig.tickled(), [P0]);
    // No core idles: any thread, from the own one on.
    let x = rig.guest_on(P3);
    rig.wake(x);
    assert_eq!(rig.tickled(), [P1]);
}

#[test]
fn to_save_power_busy_cores_come_first() {
    let mut rig = two_threads(&[("smt_power_savings", 1)]);
    rig.running_on(P0, 10 * MS);
    let v = rig.guest_on(P2);
    rig.wake(v);
    assert_eq!(rig.tickled(), [P1]);
}

#[test]
fn who_is_pinned_takes_its_own_idle_pcpu() {
    let mut rig = two_threads(&[]);
    rig.running_on(P0, 10 * MS);
    let domain = rig.domain(256, 0);
    let v = rig.vcpu_within(domain, set(&[1]), CpuSet::ALL);
    rig.wake(v);
    assert_eq!(rig.tickled(), [P1], "though the other core idles");
}

#[test]
fn preferred_pcpus_come_before_idle_cores() {
    let mut rig = two_threads(&[]);
    rig.running_on(P0, 10 * MS);
    let domain = rig.domain(256, 0);
    let v = rig.vcpu_within(domain, CpuSet::ALL, set(&[0, 1]));
    rig.wake(v);
    assert_eq!(rig.tickled(), [P1]);
    // None of them is left.
    let w = rig.vcpu_within(domain, CpuSet::ALL, set(&[0, 1]));
    rig.wake(w);
    assert_eq!(rig.tickled(), [P2]);
}

#[test]
fn a_busy_pcpu_is_preempted_by_credit() {
    let mut rig = Rig::new(3);
    rig.running_on(P0, 8 * MS);
    rig.running_on(P1, 5 * MS);
    rig.running_on(P2, 4 * MS);
    rig.wait_us(1_000);
    // 10 ms against 7, 4 and 3 ms, 500 us less on a foreign one; the own one suffices.
    let v = rig.guest_on(P0);
    rig.wake(v);
    assert_eq!(rig.tickled(), [P0]);
    let scores = rig.notes_of(5);
    assert_eq!(
        scores.last().unwrap()[1..],
        [7_000_000, 23_000_000 - 10_000_000]
    );
}

#[test]
fn the_best_victim_is_taken_when_the_own_one_has_more_credit() {
    let mut rig = Rig::new(3);
    rig.running_on(P0, 10_500 * US);
    rig.running_on(P1, 5 * MS);
    rig.running_on(P2, 4 * MS);
    rig.wait_us(960);
    let v = rig.guest_on(P0);
    rig.set_credit(v, 9 * MS);
    rig.wake(v);
    assert_eq!(rig.tickled(), [P2]);
}

#[test]
fn another_pcpu_must_be_better_by_the_resistance() {
    let mut rig = Rig::new(2);
    rig.running_on(P0, 10_500 * US);
    rig.running_on(P1, 5 * MS);
    rig.wait_us(1_000);
    for (credit, tickled) in [(4_500 * US, &[][..]), (4_501 * US, &[P1])] {
        let v = rig.guest_on(P0);
        rig.set_credit(v, credit);
        rig.wake(v);
        assert_eq!(rig.tickled(), tickled, "{credit}");
    }
}

#[test]
fn who_runs_is_protected_until_50_us_before_the_rate_limit() {
    for (ran_us, preempted) in [(949, false), (950, false), (951, true)] {
        let mut rig = Rig::new(1);
        rig.running_on(P0, 2 * MS);
        rig.wait_us(ran_us);
        let v = rig.guest_on(P0);
        rig.wake(v);
        assert_eq!(!rig.tickled().is_empty(), preempted, "{ran_us}");
    }
}

#[test]
fn who_runs_against_its_liking_is_the_first_to_go() {
    let mut rig = Rig::new(3);
    rig.running_on(P0, 10_500 * US);
    let away = rig.running_on(P1, 5 * MS);
    rig.running_on(P2, MS);
    rig.tables.affinity[away.index()].soft = set(&[0]);
    rig.wait_us(1_000);
    let v = rig.guest_on(P0);
    rig.set_credit(v, 9 * MS);
    rig.wake(v);
    assert_eq!(rig.tickled(), [P1]);
}

#[test]
fn a_tickled_pcpu_is_not_tickled_again() {
    let mut rig = Rig::new(2);
    let (v, w, x) = (rig.guest_on(P0), rig.guest_on(P0), rig.guest_on(P0));
    rig.wake(v);
    rig.wake(w);
    rig.wake(x);
    assert_eq!(rig.tickled(), [P0, P1]);
}
