//! The test vectors of xen-spec section 10 that concern SEDF: 10 to 12.

use super::*;

/// Turns of extra time in the utilisation queue that each of `vcpus` began.
fn turns(rig: &Rig, vcpus: &[VcpuId]) -> Vec<usize> {
    let turns = rig.notes_of(3);
    let of = |v: &VcpuId| {
        let name = rig.tables.vcpus[v.index()].name.word();
        turns.iter().filter(|t| t[0] == name && t[1] == 1).count()
    };
    vcpus.iter().map(of).collect()
}

/// The score of a vcpu after its first turn.
fn score(version: &str, make: impl Fn(&mut Rig) -> VcpuId) -> i64 {
    let mut rig = Rig::new(version, 1);
    let vcpu = make(&mut rig);
    rig.wake(vcpu);
    while turns(&rig, &[vcpu]) != [2] {
        let next = rig.now + us(500);
        rig.run_to(next);
        assert!(rig.now < at_ms(1000), "no turns");
    }
    rig.state(vcpu).score[1]
}

#[test]
fn vector_10_scores() {
    assert_eq!(score("3.1", |rig| rig.guest(&[])), 131_072);
    assert_eq!(score("3.1", |rig| rig.guest(&[("weight", 2)])), 65_536);
    assert_eq!(score("3.0", Rig::dom0), 1365);
    assert_eq!(score("3.1", Rig::dom0), 131_072);
    let reserved = |rig: &mut Rig| rig.guest(&reserves(20_000, 15_000));
    assert_eq!(score("3.1", reserved), 1365);
}

/// Runs dom0 as created and a guest, both without end, until they have had 4850 turns.
fn dom0_against_guest(version: &str) -> [usize; 2] {
    let mut rig = Rig::new(version, 1);
    let vcpus = [rig.dom0(), rig.guest(&[])];
    for v in vcpus {
        rig.wake(v);
    }
    let mut got = [0, 0];
    while got.iter().sum::<usize>() < 4850 {
        let next = rig.now + us(500);
        rig.run_to(next);
        for (sum, turns) in got.iter_mut().zip(turns(&rig, &vcpus)) {
            *sum += turns;
        }
        rig.notes.clear();
    }
    got
}

#[test]
fn vector_10_dom0_takes_the_extra_time_in_3_0() {
    assert_eq!(dom0_against_guest("3.0"), [4800, 50]);
}

#[test]
fn vector_10_dom0_shares_the_extra_time_since_3_1() {
    assert_eq!(dom0_against_guest("3.1"), [2425, 2425]);
}

#[test]
fn vector_10_extra_weights_share_extra_time() {
    for version in EPOCHS {
        let mut rig = Rig::new(version, 1);
        let vcpus = [1, 2, 1].map(|w| rig.guest(&[("weight", w)]));
        for v in vcpus {
            rig.wake(v);
        }
        rig.run_to(at_ms(2000));
        let got = turns(&rig, &vcpus);
        assert_eq!(got.iter().sum::<usize>(), 4001, "every 500 us");
        for (got, expected) in got.into_iter().zip([1000_usize, 2000, 1000]) {
            assert!(got.abs_diff(expected) <= 2, "{version}: {got}");
        }
    }
}

#[test]
fn vector_11_a_short_block_loses_the_rest_of_the_slice() {
    for version in EPOCHS {
        let mut rig = Rig::new(version, 1);
        let v = rig.guest(&reserves(20_000, 5_000));
        rig.wake(v);
        // The first period begins when a slice has passed.
        rig.run_to(at_ms(5));
        assert_eq!(rig.state(v).deadline, 25 * MS);
        rig.run_to(at_ms(7));
        rig.block_now(v);
        rig.run_to(at_ms(8));
        rig.wake_now(v);
        let state = rig.state(v);
        assert_eq!(state.deadline, 45 * MS, "{version}");
        assert_eq!(state.score[0], 6826, "{version}");
        assert!(state.has(flag::WANT_PENALTY) && state.has(flag::RUN_PENALTY));
        // It may have extra time, but runs by its reservation from the old deadline on only.
        let picked_before = rig.notes_of(2).len();
        rig.run_to(Instant::from_nanos(24_999_999));
        assert_eq!(rig.notes_of(2).len(), picked_before);
        rig.run_to(at_ms(25));
        let picked = rig.notes_of(2);
        assert_eq!(picked.len(), picked_before + 1);
        assert_eq!(picked.last().unwrap()[1..], [5_000_000, 20_000_000]);
    }
}

#[test]
fn vector_12_slices_follow_from_weights() {
    let mut rig = Rig::new("3.1", 1);
    let weighted = |w| [("weight", w), ("extratime", 0)];
    let vcpus = [2, 3, 4, 2].map(|w| rig.guest(&weighted(w)));
    let slices = vcpus.map(|v| rig.state(v).slice);
    assert_eq!(slices, [17_272_727, 25_909_090, 34_545_454, 17_272_727]);
    for v in vcpus {
        assert_eq!(rig.state(v).period, 100 * MS);
    }
}
