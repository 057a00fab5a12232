//! Caps: parking and unparking.

use super::*;

/// A hog in a domain of its own with this cap, from credit 0, active.
fn capped(version: &str, cap: i64) -> (Rig, VcpuId) {
    let mut rig = Rig::new(version, 1);
    let domain = rig.domain(256, cap);
    let hog = rig.vcpu_on(domain, P0);
    rig.credit.activate(hog);
    rig.wake(hog);
    (rig, hog)
}

/// Time that `hog` runs in `periods` accounting periods.
fn ran(rig: &mut Rig, periods: u64) -> u64 {
    let mut run = 0;
    for period in 0..periods {
        // State changes with accounting only.
        rig.run_to(at_ms(30 * period + 15));
        run += u64::from(rig.current(P0).is_some());
    }
    run
}

#[test]
fn a_cap_holds_in_every_release() {
    for version in crate::rig::versions(&super::super::DESCRIPTOR) {
        for cap in [10, 30, 50, 80] {
            let (mut rig, _) = capped(version, cap);
            let run = ran(&mut rig, 1000);
            let share = run / 10;
            assert!(
                share.abs_diff(cap as u64) <= 1,
                "{version}: {share} % of {cap}"
            );
        }
    }
}

#[test]
fn a_parked_vcpu_is_not_boosted_when_it_returns_except_from_4_3_to_4_12() {
    for version in crate::rig::versions(&super::super::DESCRIPTOR) {
        let (mut rig, hog) = capped(version, 50);
        rig.run_to(at_ms(89));
        assert!(rig.credit.is_parked(hog) && rig.current(P0).is_none());
        rig.tickled();
        rig.run_to(at_ms(119));
        rig.account();
        assert!(!rig.credit.is_parked(hog), "{version}");
        let version = XenVersion::from_name(version).unwrap();
        let boosts = (XenVersion::V4_3..=XenVersion::V4_12).contains(&version);
        let expected = if boosts { BOOST } else { UNDER };
        assert_eq!(rig.credit.priority(hog), expected, "{version}");
        assert_eq!(rig.tickled(), set(&[0]));
    }
}

#[test]
fn a_queued_vcpu_leaves_the_queue_when_it_is_parked() {
    let mut rig = Rig::new("4.17", 1);
    rig.running_on(P0, UNDER);
    let domain = rig.domain(256, 10);
    let v = rig.vcpu_on(domain, P0);
    rig.enqueue(v);
    rig.credit.activate(v);
    rig.set_credit(v, -200);
    rig.account();
    assert!(rig.credit.is_parked(v) && rig.queue(P0).is_empty());
    assert!(!rig.tables.vcpus[v.index()].runnable());
    assert_eq!(rig.credit.pcpus[PcpuId(0)].runnable, 1);
    assert!(rig.tickled().is_empty());
}

#[test]
fn the_limit_is_shared_by_the_vcpus_of_a_domain() {
    // K = 150 for the domain, 75 for each of two: parked under -75.
    for (credit, parked) in [(-75 - 75, false), (-76 - 75, true)] {
        let mut rig = Rig::new("4.17", 2);
        let domain = rig.domain(256, 50);
        let v = [rig.vcpu_on(domain, P0), rig.vcpu_on(domain, P1)];
        for v in v {
            rig.credit.activate(v);
            rig.set_credit(v, credit);
        }
        rig.account();
        for v in v {
            assert_eq!(rig.credit.is_parked(v), parked, "grant of 75 each");
        }
    }
}

#[test]
fn a_parked_vcpu_that_blocked_stays_off_when_it_is_unparked() {
    let (mut rig, hog) = capped("4.17", 50);
    rig.run_to(at_ms(89));
    assert!(rig.credit.is_parked(hog));
    rig.tables.vcpus[hog.index()].pause.set(Pause::BLOCKED);
    rig.set_credit(hog, 0);
    rig.account();
    assert!(!rig.credit.is_parked(hog) && rig.queue(P0).is_empty());
    rig.wake(hog);
    assert_eq!(rig.credit.priority(hog), BOOST);
}

#[test]
fn lifting_a_cap_waits_for_credit() {
    let (mut rig, hog) = capped("4.17", 50);
    rig.run_to(at_ms(89));
    assert!(rig.credit.is_parked(hog));
    rig.adjust(DomainId(0), 256, 0);
    assert!(rig.credit.is_parked(hog));
    rig.set_credit(hog, -300);
    rig.account();
    assert!(
        !rig.credit.is_parked(hog),
        "a whole pcpu's credit pays the debt"
    );
}

#[test]
fn a_parked_vcpu_may_leave() {
    let (mut rig, hog) = capped("4.17", 50);
    rig.run_to(at_ms(89));
    assert!(rig.credit.is_parked(hog));
    rig.call(|c, cx| c.remove(cx, hog));
    assert!(!rig.tables.vcpus[hog.index()].pause.has(Pause::PARKED));
    assert_eq!(rig.credit.weight, 0);
    assert_eq!(rig.credit.active_domains().count(), 0);
}
