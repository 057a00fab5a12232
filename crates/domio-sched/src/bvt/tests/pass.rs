//! Charging, picking and slices.

use super::*;
use domio_contract::Pick;

fn slice_of(rig: &mut Rig) -> Pick {
    rig.settle();
    rig.pass(P0)
}

#[test]
fn a_started_unit_counts_as_a_whole_one() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.hog(7);
    rig.settle();
    for (ran, avt) in [(1, 7), (100_000, 14), (100_001, 28), (0, 28)] {
        rig.now += Duration::from_nanos(ran);
        rig.pass(P0);
        assert_eq!(rig.state(v).avt, avt, "after {ran} ns");
        assert_eq!(rig.state(v).evt, avt);
    }
}

#[test]
fn only_3_0_2_charges_a_whole_run_again() {
    for (version, avts) in [
        ("2.0", [100, 200, 300]),
        ("3.0", [100, 200, 300]),
        ("3.0.2", [100, 300, 600]),
    ] {
        let mut rig = Rig::new(version, 1);
        let v = rig.hog(10);
        rig.settle();
        for avt in avts {
            rig.now += ms(1);
            rig.pass(P0);
            assert_eq!(rig.state(v).avt, avt, "{version}");
        }
        // Whoever comes anew is charged from there.
        rig.now += ms(1);
        rig.block_now(v);
        rig.now += ms(1);
        let before = rig.state(v).avt;
        rig.wake(v);
        rig.settle();
        rig.now += ms(1);
        rig.pass(P0);
        assert_eq!(rig.state(v).avt, before + 100, "{version}");
    }
}

#[test]
fn a_whole_run_of_3_0_2_is_counted_in_32_bits() {
    let mut rig = Rig::new("3.0.2", 1);
    let v = rig.hog(10);
    rig.settle();
    // 2^32 ns and 1 ms.
    rig.now = Instant::from_nanos(4_295_967_296);
    rig.pass(P0);
    assert_eq!(rig.state(v).avt, 100);
}

#[test]
fn slices_idle_alone_and_with_others() {
    let mut rig = Rig::new("3.0", 1);
    assert_eq!(slice_of(&mut rig).time_slice, Some(ms(5)), "idle");
    let a = rig.hog(10);
    assert_eq!(slice_of(&mut rig).time_slice, Some(ms(50)), "alone");
    let b = rig.hog(10);
    rig.settle();
    rig.state_mut(a).evt = 1_000;
    rig.state_mut(b).evt = 4_005;
    // Neither is current for longer than no time, so that nobody is charged.
    rig.tables.pcpus[P0].current = None;
    let pick = rig.pass(P0);
    assert_eq!(pick.next, Some(a));
    // 3005 / 10 units of 100 us are added as nanoseconds.
    assert_eq!(pick.time_slice, Some(ms(5) + Duration::from_nanos(300)));
}

#[test]
fn the_nearest_to_the_head_of_equals_runs() {
    let mut rig = Rig::new("3.0", 1);
    let vcpus = [0; 3].map(|_| rig.hog(10));
    rig.run_to(at_ms(14));
    // Woken ones are put at the head, those that ran at the tail.
    let order: Vec<_> = rig.switches.iter().map(|s| s.1.unwrap()).collect();
    assert_eq!(order, [vcpus[2], vcpus[1], vcpus[0]]);
}

#[test]
fn the_system_virtual_time_is_the_least_that_waits_or_runs() {
    let mut rig = Rig::new("3.0", 1);
    let [a, b] = [rig.hog(10), rig.hog(10)];
    rig.run_to(at_ms(7));
    assert_eq!(rig.svt(P0), 0, "{a:?} began with nothing");
    rig.run_to(at_ms(11));
    assert_eq!(rig.svt(P0), 500);
    rig.block_now(b);
    rig.block_now(a);
    let idle = rig.svt(P0);
    rig.run_to(at_ms(40));
    assert_eq!(rig.svt(P0), idle, "nobody is there");
}

#[test]
fn times_are_set_back_before_32_bits_end() {
    let mut rig = Rig::new("3.0", 2);
    let [a, sleeper] = [P0, P0].map(|p| {
        let domain = rig.domain(&[]);
        rig.vcpu_within(domain, CpuSet::of(p))
    });
    let elsewhere = rig.domain(&[]);
    let elsewhere = rig.vcpu_within(elsewhere, CpuSet::of(P1));
    rig.wake(a);
    rig.settle();
    rig.state_mut(a).avt = 0xf000_0000 - 5;
    rig.state_mut(elsewhere).avt = 0xf000_0100;
    rig.state_mut(sleeper).avt = 16;
    rig.now += ms(1);
    rig.pass(P0);
    assert_eq!(rig.svt(P0), 0x1000_0000 + 95);
    assert_eq!(rig.state(a).avt, 0x1000_0000 + 95);
    assert_eq!(rig.state(a).evt, 0x1000_0000 + 95);
    // Below zero, which is a large number, so that it is far behind when it wakes.
    assert_eq!(rig.state(sleeper).avt, 0x2000_0010);
    assert_eq!(rig.state(elsewhere).avt, 0xf000_0100);
    assert_eq!(rig.notes_of(5), [[0x1000_0000 + 95]]);
}

#[test]
fn one_alone_gets_all_of_its_pcpu() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.hog(1_000_000);
    rig.run_to(at_ms(1_000));
    assert_eq!(rig.ran(v), ms(1_000));
    // Every 50 ms, and one at the wake-up.
    assert_eq!(rig.passes.len(), 21);
}

#[test]
fn shares_follow_any_advances() {
    let mut rig = Rig::new("3.0", 1);
    let vcpus = [10, 20, 30, 60].map(|advance| rig.hog(advance));
    rig.run_to(at_ms(10_000));
    // 1/10 : 1/20 : 1/30 : 1/60 = 6 : 3 : 2 : 1.
    for (vcpu, twelfths) in vcpus.into_iter().zip([6, 3, 2, 1]) {
        let expected = 10_000 * twelfths / 12;
        let ran = rig.ran(vcpu).as_nanos() / 1_000_000;
        assert!(ran.abs_diff(expected) <= 10, "{ran} of {expected} ms");
    }
}
