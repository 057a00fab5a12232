//! The test vectors of xen-spec section 10 that concern credit, 1 to 8, and what follows when their
//! parameters change.

use super::*;

/// Domains of these weights and numbers of vcpus, all active, the first one first in the list.
fn active(rig: &mut Rig, domains: &[(i64, usize)]) -> Vec<Vec<VcpuId>> {
    let mut all = Vec::new();
    for &(weight, vcpus) in domains {
        let domain = rig.domain(weight, 0);
        let vcpus: Vec<_> = (0..vcpus).map(|_| rig.vcpu_on(domain, P0)).collect();
        all.push(vcpus);
    }
    for vcpus in all.iter().rev() {
        for &v in vcpus {
            rig.credit.activate(v);
        }
    }
    all
}

/// What one accounting adds to the credit of each vcpu.
fn grants(rig: &mut Rig, vcpus: &[Vec<VcpuId>]) -> Vec<i64> {
    for &v in vcpus.iter().flatten() {
        // Far from both bounds, and a balance that is not negative.
        rig.set_credit(v, 0);
    }
    rig.account();
    let grants = vcpus
        .iter()
        .flatten()
        .map(|&v| rig.credit.credit(v))
        .collect();
    rig.credit.balance = 0;
    grants
}

#[test]
fn vector_1_weights_share_one_pcpu() {
    let mut rig = Rig::new("3.1", 1);
    let v = active(&mut rig, &[(256, 1), (256, 1)]);
    assert_eq!(grants(&mut rig, &v), [150, 150]);
    let mut rig = Rig::new("3.1", 1);
    let v = active(&mut rig, &[(256, 1), (512, 1)]);
    assert_eq!(grants(&mut rig, &v), [100, 200]);
}

/// Of vector 1 with what does not divide: 300 / 7 is 42.86, 300 / 3 of 1 and 2 and 4 parts 42.86,
/// 85.7 and 171.4, and 300 for a domain of seven vcpus again 42.86 each.
#[test]
fn shares_are_rounded_up() {
    for version in ["3.1", "3.4", "4.17"] {
        let mut rig = Rig::new(version, 1);
        let v = active(&mut rig, &[(256, 1); 7]);
        assert_eq!(grants(&mut rig, &v), [43; 7], "{version}");
        let mut rig = Rig::new(version, 1);
        let v = active(&mut rig, &[(256, 1), (512, 1), (1024, 1)]);
        assert_eq!(grants(&mut rig, &v), [43, 86, 172], "{version}");
        let mut rig = Rig::new(version, 1);
        let v = active(&mut rig, &[(256, 7)]);
        assert_eq!(grants(&mut rig, &v), [43; 7], "{version}");
    }
}

#[test]
fn vector_2_what_one_domain_cannot_use_goes_to_the_next() {
    let mut rig = Rig::new("3.1", 2);
    let v = active(&mut rig, &[(512, 1), (256, 2)]);
    assert_eq!(grants(&mut rig, &v), [300, 150, 150]);
    assert_eq!(grants(&mut rig, &v), [300, 150, 150], "the order stays");
}

#[test]
fn vector_2_a_domain_with_surplus_moves_to_the_head() {
    let mut rig = Rig::new("3.1", 2);
    let v = active(&mut rig, &[(256, 2), (512, 1)]);
    assert_eq!(grants(&mut rig, &v), [100, 100, 300]);
    let order: Vec<_> = rig.credit.active_domains().collect();
    assert_eq!(order, [DomainId(1), DomainId(0)]);
    assert_eq!(grants(&mut rig, &v), [150, 150, 300]);
}

#[test]
fn vector_2_since_4_1_weights_count_per_vcpu() {
    for order in [[(512, 1), (256, 2)], [(256, 2), (512, 1)]] {
        for version in ["4.1", "4.17"] {
            let mut rig = Rig::new(version, 2);
            let v = active(&mut rig, &order);
            let per_vcpu = grants(&mut rig, &v);
            let expected = if order[0].1 == 1 {
                [300, 150, 150]
            } else {
                [150, 150, 300]
            };
            assert_eq!(per_vcpu, expected);
        }
    }
}

#[test]
fn vector_3_a_negative_balance_is_granted_again() {
    for version in ["3.1", "4.17"] {
        let mut rig = Rig::new(version, 1);
        let v = active(&mut rig, &[(256, 1), (256, 1)]);
        rig.credit.balance = -40;
        assert_eq!(grants(&mut rig, &v), [170, 170]);
    }
}

#[test]
fn vector_4_cap_50_alternates_60_ms() {
    for version in ["3.1", "3.4"] {
        let mut rig = Rig::new(version, 1);
        let domain = rig.domain(256, 50);
        let hog = rig.vcpu_on(domain, P0);
        rig.credit.activate(hog);
        rig.wake(hog);
        let mut seen = Vec::new();
        for period in 1..=8 {
            rig.run_to(at_ms(30 * period));
            seen.push((rig.credit.credit(hog), rig.current(P0).is_some()));
        }
        let cycle = [(-150, true), (-300, false), (-150, false), (0, true)];
        assert_eq!(seen[..4], cycle, "{version}");
        assert_eq!(seen[4..], cycle, "{version}");
    }
}

#[test]
fn vector_5_no_debt_beyond_one_slice() {
    for version in ["3.1", "4.17"] {
        let mut rig = Rig::new(version, 1);
        let v = active(&mut rig, &[(256, 1), (256, 1)]);
        let hog = v[0][0];
        rig.set_credit(hog, -300 - 300);
        rig.account();
        assert_eq!(rig.credit.credit(hog), -300);
        assert_eq!(rig.credit.priority(hog), OVER);
    }
}

/// Runs a vcpu from a fresh start and debits it after each of these times since then.
fn burned(version: &str, after_us: &[u64]) -> Vec<(i64, u32, i64)> {
    let mut rig = Rig::new(version, 1);
    let v = rig.running_on(P0, UNDER);
    after_us
        .iter()
        .map(|&t| {
            let now = Instant::ZERO + us(t);
            rig.credit.vcpus[v.index()].burn(rig.credit.rules.debit, now);
            let state = &rig.credit.vcpus[v.index()];
            (-state.credit, state.residual, state.start)
        })
        .collect()
}

#[test]
fn vector_6_debit_rounds_in_4_0() {
    assert_eq!(burned("4.0", &[40]), [(0, 0, 0)]);
    assert_eq!(
        burned("4.0", &[60, 100]),
        [(1, 0, 100_000), (1, 0, 100_000)]
    );
}

#[test]
fn vector_6_debit_keeps_a_residual_in_4_17() {
    assert_eq!(
        burned("4.17", &[60, 120]),
        [(0, 600_000, 0), (1, 800_000, 100_000)]
    );
}

/// The vector says that 50 us of running give a slice of 100 us. Recordings of Xen 4.17 say
/// otherwise: its least slice is 100 of the units in which it counts, and those are nanoseconds.
/// The times here include recorded ones (70.460 us, 778.660 us).
#[test]
fn vector_7_ratelimit_leaves_the_rest_of_itself() {
    for (ran, slice) in [
        (99, 100),
        (100, 999_900),
        (50_000, 950_000),
        (70_460, 929_540),
        (300_000, 700_000),
        (778_660, 221_340),
    ] {
        let mut rig = Rig::new("4.17", 1);
        let hog = rig.running_on(P0, UNDER);
        let rival = rig.guest_on(P0);
        rig.skip(Duration::from_nanos(ran));
        rig.wake(rival);
        assert_eq!(rig.tickled(), set(&[0]));
        let pick = rig.pass(P0);
        assert_eq!(pick.next, Some(hog), "after {ran} ns");
        assert_eq!(
            pick.time_slice,
            Some(Duration::from_nanos(slice)),
            "after {ran} ns"
        );
    }
    let mut rig = Rig::new("4.17", 1);
    rig.running_on(P0, UNDER);
    let rival = rig.guest_on(P0);
    rig.skip(us(1000));
    rig.wake(rival);
    assert_eq!(rig.pass(P0).next, Some(rival), "the limit itself is enough");
}

/// Four pcpus, 2 and 3 idle, an OVER vcpu on pcpu 0 and one with credit woken there.
fn wake_with_idlers(version: &str) -> CpuSet {
    let mut rig = Rig::new(version, 4);
    rig.running_on(P0, OVER);
    rig.running_on(P1, UNDER);
    let new = rig.guest_on(P0);
    rig.wake(new);
    assert_eq!(rig.credit.priority(new), BOOST);
    rig.tickled()
}

#[test]
fn vector_8_a_wake_up_tickles_by_release() {
    assert_eq!(wake_with_idlers("3.1"), set(&[0, 2, 3]));
    // Preempts and wakes one idle pcpu.
    let since_4_1 = wake_with_idlers("4.1");
    assert!(since_4_1 == set(&[0, 2]) || since_4_1 == set(&[0, 3]));
    let since_4_3 = wake_with_idlers("4.17");
    assert!(since_4_3 == set(&[2]) || since_4_3 == set(&[3]));
}

#[test]
fn a_new_weight_or_cap_or_debt_counts_from_the_next_accounting() {
    let mut rig = Rig::new("4.17", 1);
    let v = active(&mut rig, &[(256, 1), (256, 1)]);
    assert_eq!(grants(&mut rig, &v), [150, 150]);
    let domain = rig.tables.vcpus[v[1][0].index()].name.domain;
    rig.adjust(domain, 512, 0);
    assert_eq!(grants(&mut rig, &v), [100, 200]);
    rig.adjust(domain, 512, 20);
    assert_eq!(grants(&mut rig, &v)[1], 60);
    rig.adjust(domain, 256, 0);
    rig.credit.balance = -60;
    assert_eq!(grants(&mut rig, &v), [180, 180]);
    assert_eq!(grants(&mut rig, &v), [150, 150]);
}
