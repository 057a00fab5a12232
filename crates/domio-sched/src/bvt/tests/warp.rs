//! Warping and its limits.

use super::*;

fn warping(value: i64, warpl_ms: i64, warpu_ms: i64) -> Vec<(&'static str, i64)> {
    let mut params = warps(value).to_vec();
    params.extend([("warpl_ms", warpl_ms), ("warpu_ms", warpu_ms)]);
    params
}

#[test]
fn whoever_warps_comes_first_for_as_long_as_its_warp_is_worth() {
    let mut rig = Rig::new("3.0", 1);
    let hog = rig.hog(10);
    rig.run_to(at_ms(1_000));
    let v = rig.guest(&warps(2_000));
    rig.wake(v);
    rig.settle();
    // 2000 units of virtual time are 20 ms.
    rig.run_to(at_ms(1_019));
    assert_eq!(rig.current(P0), Some(v));
    rig.run_to(at_ms(1_200));
    let ran = rig.ran(v).as_nanos() / 1_000_000;
    assert!(
        ran.abs_diff(110) <= 5,
        "{ran} ms, not half of 180 and 20 more"
    );
    assert!(rig.ran(hog) > ms(1_080));
}

#[test]
fn a_warp_begins_when_it_is_set() {
    let mut rig = Rig::new("3.0", 1);
    let [a, b] = [rig.hog(10), rig.hog(10)];
    rig.run_to(at_ms(501));
    let id = rig.tables.vcpus[a.index()].name.domain;
    rig.adjust(id, &warps(1_000));
    assert!(rig.domain_of(a).warp);
    let before = rig.ran(a);
    rig.run_for(ms(40));
    assert!(rig.ran(a) - before > ms(22), "10 ms ahead of {b:?}");
}

#[test]
fn more_than_the_own_time_is_the_worst_priority() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warps(1));
    let hog = rig.hog(10);
    rig.wake(v);
    assert_eq!(rig.state(v).evt, u32::MAX);
    rig.run_to(at_ms(1_000));
    assert_eq!(rig.ran(hog), ms(1_000));
    // And no worse than idling.
    rig.block_now(hog);
    assert_eq!(rig.current(P0), Some(v));
}

#[test]
fn a_limit_ends_one_dispatch_and_the_other_brings_the_warp_back() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warping(1_000_000, 20, 100));
    rig.policy.pcpus[0].svt = 2_000_000;
    rig.wake(v);
    // Alone, it has a pass every 50 ms.
    rig.run_to(at_ms(19));
    assert!(rig.domain_of(v).warp);
    rig.run_to(at_ms(21));
    assert!(!rig.domain_of(v).warp && rig.domain_of(v).warpback);
    assert_eq!(rig.passes, [0], "the end of a warp asks for no pass");
    rig.run_to(at_ms(119));
    assert!(!rig.domain_of(v).warp);
    rig.run_to(at_ms(121));
    assert!(rig.domain_of(v).warp);
    assert_eq!(rig.passes, [0, 50_000, 100_000, 120_000]);
    let name = rig.tables.vcpus[0].name.word();
    assert_eq!(rig.notes_of(4), [[name, 0], [name, 1]]);
}

#[test]
fn each_pass_begins_the_limit_anew() {
    let mut rig = Rig::new("3.0", 1);
    // Longer than the 50 ms between passes, so that it never expires.
    let v = rig.guest(&warping(1_000, 51, 100));
    rig.policy.pcpus[0].svt = 2_000;
    rig.wake(v);
    rig.run_to(at_ms(5_000));
    assert!(rig.domain_of(v).warp);
    assert_eq!(rig.notes_of(4), [[0_u32; 2]; 0]);
}

#[test]
fn without_a_way_back_a_warp_is_over_and_a_pass_follows() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warping(1_000, 20, 0));
    rig.policy.pcpus[0].svt = 2_000;
    rig.wake(v);
    rig.run_to(at_ms(1_000));
    let d = rig.domain_of(v);
    assert!(!d.warp && !d.warpback);
    assert_eq!(rig.passes[..3], [0, 20_000, 70_000]);
    assert_eq!(rig.state(v).evt, rig.state(v).avt);
}

#[test]
fn without_a_limit_there_is_no_timer() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warping(1_000, 0, 0));
    rig.policy.pcpus[0].svt = 2_000;
    rig.wake(v);
    rig.run_to(at_ms(1_000));
    assert!(rig.domain_of(v).warp);
    assert_eq!(rig.timers[0][1], None);
}

#[test]
fn who_waits_keeps_its_place_when_its_warp_flips() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&[]);
    rig.hog(10);
    rig.run_to(at_ms(101));
    // Behind the hog by 20 ms.
    rig.state_mut(v).avt = 12_000;
    rig.wake(v);
    let id = rig.tables.vcpus[v.index()].name.domain;
    rig.adjust(id, &warps(10_000));
    assert_eq!(rig.state(v).evt, 12_000);
    rig.run_to(at_ms(115));
    assert_eq!(rig.ran(v), Duration::ZERO, "it is not looked at anew");
    rig.run_to(at_ms(140));
    assert!(rig.ran(v) > ms(15));
}

#[test]
fn setting_parameters_ends_timers() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warping(1_000, 20, 100));
    let id = rig.tables.vcpus[v.index()].name.domain;
    rig.policy.pcpus[0].svt = 2_000;
    rig.wake(v);
    rig.run_to(at_ms(10));
    rig.adjust(id, &warping(1_000, 30, 100));
    assert_eq!(rig.timers[0][1], Some(at_ms(20)), "the warp timer stays");
    rig.run_to(at_ms(25));
    assert!(!rig.domain_of(v).warp);
    assert_eq!(rig.timers[0][1], Some(at_ms(120)));
    rig.adjust(id, &warping(1_000, 30, 100));
    assert!(rig.domain_of(v).warp);
    assert_eq!(rig.timers[0][1], None, "the unwarp timer does not");
    rig.run_to(at_ms(60));
    assert_eq!(
        rig.timers[0][1],
        Some(at_ms(80)),
        "armed by the pass at 50 ms"
    );
    rig.adjust(id, &[]);
    assert_eq!(rig.timers[0][1], None, "it does not warp any more");
}

#[test]
fn one_timer_of_a_pcpu_serves_all_its_domains() {
    let mut rig = Rig::new("3.0", 1);
    let first = rig.guest(&warping(1_000, 20, 10));
    let second = rig.guest(&warping(1_000, 5, 5));
    rig.policy.pcpus[0].svt = 2_000;
    rig.wake(first);
    rig.settle();
    assert_eq!(rig.timers[0][1], Some(at_ms(20)));
    rig.block_now(first);
    assert_eq!(rig.timers[0][1], None);
    rig.wake(second);
    rig.run_to(at_ms(6));
    assert_eq!(rig.timers[0][1], Some(at_ms(10)), "to warp again");
    rig.wake(first);
    rig.run_to(at_ms(7));
    let [a, b] = [first, second].map(|v| rig.domain_of(v).first_timer());
    let timer = rig.timers[0][1].map(|at| at.as_nanos() as i64);
    assert_eq!(timer, a.into_iter().chain(b).min());
}

#[test]
fn a_host_may_be_a_little_early() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warping(1_000, 20, 10));
    rig.policy.pcpus[0].svt = 2_000;
    rig.wake(v);
    rig.run_to(at_ms(19));
    let next = rig.call(|s, cx| s.timer(cx, P0, 1));
    assert!(!rig.domain_of(v).warp);
    assert_eq!(next, Some(at_ms(29)), "10 ms from now on");
}

#[test]
fn timers_are_at_home_where_the_domain_began() {
    let mut rig = Rig::new("3.0", 2);
    let v = rig.guest(&warping(1_000, 20, 10));
    assert_eq!(rig.home(v), P1);
    rig.policy.pcpus[0].svt = 2_000;
    rig.pin(v, P0);
    rig.wake(v);
    rig.settle();
    assert_eq!(
        [rig.timers[0][1], rig.timers[1][1]],
        [None, Some(at_ms(20))]
    );
    // They move when that pcpu leaves.
    rig.call(|s, cx| s.pcpu_offline(cx, P1));
    rig.tables.online.remove(P1);
    rig.slices[1] = None;
    assert_eq!(
        [rig.timers[0][1], rig.timers[1][1]],
        [Some(at_ms(20)), None]
    );
    rig.run_to(at_ms(21));
    assert!(!rig.domain_of(v).warp);
}

#[test]
fn a_domain_that_goes_takes_its_timers_along() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warping(1_000, 20, 10));
    rig.policy.pcpus[0].svt = 2_000;
    rig.wake(v);
    rig.run_to(at_ms(21));
    assert!(rig.timers[0][1].is_some());
    rig.block_now(v);
    rig.call(|s, cx| s.remove(cx, v));
    assert_eq!(rig.timers[0][1], None);
    assert!(rig.policy.domains[1].warp, "as it was set");
}

#[test]
fn vcpus_of_a_domain_share_one_warp() {
    let mut rig = Rig::new("3.0", 2);
    let domain = rig.domain(&warping(1_000, 60, 100));
    let [a, b] = [P0, P1].map(|p| rig.vcpu_within(domain, CpuSet::of(p)));
    for p in [0, 1] {
        rig.policy.pcpus[p].svt = 2_000;
    }
    rig.wake(a);
    rig.settle();
    assert_eq!(rig.domain_of(a).unwarps, Some(60_000_000));
    rig.run_to(at_ms(30));
    rig.wake(b);
    rig.settle();
    assert_eq!(rig.domain_of(a).unwarps, Some(90_000_000));
    rig.block_now(b);
    assert_eq!(rig.domain_of(a).unwarps, None, "although the other runs on");
}
