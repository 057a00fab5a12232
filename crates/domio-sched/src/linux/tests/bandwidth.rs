//! Quotas (linux-spec 4; 12, vectors 12 to 14).

use super::*;

/// When the only vcpu of a host runs: starts and ends in milliseconds.
fn runs(rig: &Rig<Linux>) -> Vec<(f64, f64)> {
    let pairs = rig.switches.windows(2);
    let running = pairs.filter(|w| w[0].1.is_some());
    running
        .map(|w| (w[0].0 as f64 / 1_000.0, w[1].0 as f64 / 1_000.0))
        .collect()
}

/// Vector 12: one hog, from a start on the grid of periods.
fn one_hog(quota_ms: i64, ms: u64) -> Vec<(f64, f64)> {
    let mut rig = cfs_with(1, &[]);
    hog(&mut rig, &[("quota_us", quota_ms * 1_000)]);
    rig.run_to(at(ms));
    runs(&rig)
}

#[test]
fn a_quota_is_used_in_whole_ticks_and_the_debt_is_paid() {
    let twenty = one_hog(20, 330);
    assert_eq!(
        twenty,
        [(0.0, 20.0), (100.0, 120.0), (200.0, 220.0), (300.0, 320.0)]
    );
    let lengths = |quota| -> Vec<f64> { one_hog(quota, 550).iter().map(|r| r.1 - r.0).collect() };
    assert_eq!(lengths(10), [12.0, 8.0, 12.0, 8.0, 12.0, 8.0]);
    assert_eq!(lengths(30), [32.0, 28.0, 32.0, 28.0, 32.0, 28.0]);
}

/// The cap is a quota of so many percent.
#[test]
fn a_cap_is_a_quota() {
    let mut rig = cfs_with(1, &[]);
    let v = hog(&mut rig, &[("cap", 25)]);
    rig.run_to(at(10_000));
    assert_eq!(rig.ran(v), Duration::from_millis(2_500));
}

/// Vector 13: two hogs of one group on two pcpus.
#[test]
fn pcpus_share_a_pool() {
    let mut rig = cfs_with(2, &[]);
    let domain = rig.domain(&[("quota_us", 20_000)]);
    let vcpus = [0, 1].map(|p| rig.vcpu_within(domain, [PcpuId(p)].into_iter().collect()));
    for v in vcpus {
        rig.wake(v);
    }
    rig.run_to(at(99));
    let ran = |rig: &Rig<Linux>| vcpus.map(|v| rig.ran(v).as_nanos() / 1_000_000);
    assert_eq!(ran(&rig), [16, 8]);
    rig.run_to(at(199));
    assert_eq!(ran(&rig), [16 + 12, 8 + 8]);
    rig.run_to(at(299));
    assert_eq!(ran(&rig), [16 + 24, 8 + 16]);
}

/// Vector 14: what a group saves is limited by its burst.
#[test]
fn a_burst_is_saved_up() {
    let mut rig = cfs_with(1, &[]);
    let v = rig.guest(&[("quota_us", 20_000), ("burst_us", 10_000)]);
    // A little now and then keeps the timer going.
    for period in 0..3_u64 {
        rig.run_to(at(period * 100 + 50));
        rig.wake(v);
        rig.settle();
        rig.run_to(at_us(period * 100_000 + 50_100));
        rig.block_now(v);
    }
    rig.run_to(at(310));
    let group = rig.policy.entities[entity(&rig, v, false) as usize].group;
    assert_eq!(rig.policy.groups[group as usize].bandwidth.pool, 30 * MS);
    rig.wake(v);
    rig.run_to(at(399));
    let ran = rig.ran(v).as_nanos() as i64 - 300_000;
    // The pcpu had kept some time as well, with which it runs to the next tick.
    assert_eq!(ran, 34 * MS);
}

/// Whoever wakes in a group without time waits for the period, and so does whoever was stopped.
#[test]
fn who_wakes_in_a_group_without_time_waits() {
    for release in ["6.12", "6.18", "7.0", "7.2", "7.3"] {
        let mut rig = eevdf_with(1, release, &[]);
        let domain = rig.domain(&[("quota_us", 10_000)]);
        let [a, b] = [(); 2].map(|()| rig.vcpu(domain));
        rig.wake(a);
        rig.run_to(at(30));
        assert_eq!(rig.current(P0), None, "{release}");
        rig.wake(b);
        rig.settle();
        assert_eq!(rig.current(P0), None, "{release}");
        let parked = |rig: &Rig<Linux>, v: VcpuId| {
            let pause = rig.tables.vcpus[v.index()].pause;
            pause.has(domio_contract::Pause::PARKED)
        };
        assert!(parked(&rig, a) && parked(&rig, b), "{release}");
        rig.stop(b, domio_contract::Pause::PAUSED);
        rig.run_to(at(130));
        assert!(!parked(&rig, b), "{release}");
        assert!(rig.ran(a) > Duration::from_millis(15), "{release}");
        assert_eq!(rig.ran(b), Duration::ZERO, "{release}");
    }
}

/// Since 6.18 a thread whose group is out of time is picked once more, and its group's load stays
/// on the queue until then.
#[test]
fn since_6_18_threads_are_put_aside_where_they_are_picked() {
    let mut rig = eevdf_with(1, "6.18", &[]);
    let domain = rig.domain(&[("quota_us", 20_000)]);
    let [a, b] = [(); 2].map(|()| rig.vcpu(domain));
    rig.wake(a);
    rig.wake(b);
    rig.run_to(at(1_000));
    let ran = rig.ran(a) + rig.ran(b);
    let whole = ran.as_nanos() as i64;
    assert!((190 * MS..=224 * MS).contains(&whole), "{whole}");
}
