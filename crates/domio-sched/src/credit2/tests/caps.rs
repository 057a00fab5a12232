//! Budgets, parking, and changes of weights and caps.

use super::*;
use crate::credit2::state::NO_CAP;

fn capped(rig: &mut Rig, cap: i64, vcpus: usize) -> Vec<VcpuId> {
    let domain = rig.domain(256, cap);
    (0..vcpus)
        .map(|_| rig.vcpu_within(domain, CpuSet::ALL, CpuSet::ALL))
        .collect()
}

#[test]
fn a_cap_of_30_gives_3_ms_in_10() {
    let mut rig = Rig::new(1);
    let v = capped(&mut rig, 30, 1)[0];
    rig.wake(v);
    for period in 1..=3 {
        assert_eq!(rig.pass(P0).time_slice, us(3_000), "period {period}");
        rig.wait_us(3_000);
        assert_eq!(rig.pass(P0), Pick::IDLE);
        assert!(rig.tables.vcpus[v.index()].pause.has(Pause::PARKED));
        rig.refill();
        assert_eq!(rig.now, Instant::from_nanos(period * 10_000_000));
        assert_eq!(rig.queue(0), [v]);
    }
}

#[test]
fn what_was_run_too_long_is_taken_from_the_next_budget() {
    let mut rig = Rig::new(1);
    let v = capped(&mut rig, 30, 1)[0];
    rig.wake(v);
    rig.pass(P0);
    rig.wait_us(4_000);
    rig.pass(P0);
    assert_eq!(rig.policy.domains[0].budget, -MS);
    rig.refill();
    assert_eq!(rig.policy.domains[0].budget, 2 * MS);
    assert_eq!(rig.pass(P0).time_slice, us(2_000));
}

#[test]
fn a_late_timer_makes_up_for_every_period_and_no_more_than_one_is_kept() {
    let mut rig = Rig::new(1);
    let v = capped(&mut rig, 30, 1)[0];
    rig.wake(v);
    rig.pass(P0);
    rig.wait_us(8_000);
    rig.pass(P0);
    assert_eq!(rig.policy.domains[0].budget, -5 * MS);
    rig.refill = Some(Instant::from_nanos(35_000_000));
    rig.refill();
    // Three periods of 3 ms, and the fourth begins at 40 ms.
    assert_eq!(rig.policy.domains[0].budget, 3 * MS);
    assert_eq!(rig.refill, Some(Instant::from_nanos(40_000_000)));
}

#[test]
fn vcpus_take_quotas_and_bring_back_what_is_left() {
    let mut rig = Rig::new(2);
    let vcpus = capped(&mut rig, 40, 2);
    let (a, b) = (vcpus[0], vcpus[1]);
    rig.wake(a);
    let at = rig.tickled()[0];
    rig.pass(at);
    assert_eq!(
        (rig.budget(a), rig.policy.domains[0].budget),
        (2 * MS, 2 * MS)
    );
    rig.wait_us(500);
    rig.block(a);
    rig.pass(at);
    assert_eq!(
        (rig.budget(a), rig.policy.domains[0].budget),
        (0, 3_500 * US)
    );
    // A quota is half a millisecond at least.
    rig.adjust(DomainId(0), 256, 5);
    assert_eq!(rig.policy.vcpus[b.index()].quota, 500 * US);
}

#[test]
fn a_budget_that_comes_back_unparks_others_the_latest_first() {
    let mut rig = Rig::new(1);
    let vcpus = capped(&mut rig, 30, 3);
    rig.policy.domains[0].budget = 0;
    for v in &vcpus[..2] {
        rig.wake(*v);
    }
    assert_eq!(rig.pass(P0), Pick::IDLE);
    assert_eq!(rig.policy.domains[0].parked, vcpus[..2]);
    assert_eq!(rig.policy.runqs[0].load, 0);
    rig.policy.domains[0].budget = 2 * MS;
    rig.wake(vcpus[2]);
    rig.pass(P0);
    rig.wait_us(100);
    rig.block(vcpus[2]);
    rig.pass(P0);
    assert_eq!(rig.queue(0), [vcpus[1], vcpus[0]]);
}

#[test]
fn a_cap_that_the_vcpus_cannot_reach_is_refused() {
    let mut rig = Rig::new(1);
    let v = capped(&mut rig, 101, 1)[0];
    assert_eq!((rig.budget(v), rig.refill), (NO_CAP, None));
    rig.adjust(DomainId(0), 256, 50);
    rig.adjust(DomainId(0), 256, 150);
    assert_eq!(rig.policy.domains[0].cap, 50, "the one before stays");
    // With a second vcpu it can.
    rig.vcpu_within(DomainId(0), CpuSet::ALL, CpuSet::ALL);
    assert_eq!(rig.policy.domains[0].cap, 150);
}

#[test]
fn a_cap_in_a_run_makes_who_runs_ask_for_a_budget() {
    let mut rig = Rig::new(1);
    let v = rig.running_on(P0, 9 * MS);
    rig.wait_us(2_000);
    rig.adjust(DomainId(0), 256, 50);
    assert_eq!(rig.tickled(), [P0]);
    assert_eq!((rig.budget(v), rig.credit(v)), (0, 7 * MS));
    assert_eq!(rig.pass(P0).time_slice, us(5_000));
    // And the end of the cap unparks.
    rig.wait_us(5_000);
    rig.pass(P0);
    rig.adjust(DomainId(0), 256, 0);
    assert_eq!(
        (rig.queue(0), rig.budget(v), rig.refill),
        (alloc::vec![v], NO_CAP, None)
    );
}

#[test]
fn a_reset_stops_who_has_no_budget_left() {
    let mut rig = Rig::new(2);
    let v = capped(&mut rig, 50, 1)[0];
    rig.wake(v);
    let at = rig.tickled()[0];
    rig.pass(at);
    rig.wait_us(5_000);
    let next = rig.guest(256);
    rig.call(|c, cx| c.reset(cx, 0, next));
    assert_eq!(rig.tickled(), [at]);
}

#[test]
fn the_heaviest_weight_follows_changes() {
    let mut rig = Rig::new(1);
    let (a, _) = (rig.guest(512), rig.guest(256));
    let heaviest = |rig: &Rig| rig.policy.runqs[0].max_weight;
    assert_eq!(heaviest(&rig), 512);
    rig.adjust(DomainId(1), 1024, 0);
    assert_eq!(heaviest(&rig), 1024);
    rig.adjust(DomainId(1), 100, 0);
    assert_eq!(heaviest(&rig), 512);
    rig.call(|c, cx| c.remove(cx, a));
    assert_eq!(heaviest(&rig), 100);
}
