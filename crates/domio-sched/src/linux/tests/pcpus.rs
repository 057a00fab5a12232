//! Several pcpus: where wake-ups go, balancing, weights of groups (linux-spec 1.6, 5, 6; 12,
//! vectors 11 and 25).

use super::*;

/// New threads spread over idle pcpus.
#[test]
fn new_threads_spread() {
    let mut rig = cfs_with(4, &[]);
    for _ in 0..4 {
        hog(&mut rig, &[]);
    }
    for p in 0..4 {
        assert!(rig.current(PcpuId(p)).is_some(), "p{p} idles");
    }
}

/// Vector 11: the weight of a group on each pcpu follows the load that it has there.
#[test]
fn weights_of_groups_follow_the_load_on_each_pcpu() {
    let mut rig = cfs_with(2, &[]);
    let domain = rig.domain(&[]);
    let on = |p: u16| [PcpuId(p)].into_iter().collect();
    let first = rig.vcpu_within(domain, on(0));
    rig.wake(first);
    rig.run_to(at(100));
    let weight = |rig: &Rig<Linux>, v| {
        rig.policy.entities[entity(rig, v, true) as usize]
            .load
            .weight
    };
    assert_eq!(weight(&rig, first), 1_048_576);
    let second = rig.vcpu_within(domain, on(1));
    rig.wake(second);
    rig.run_to(at(2_000));
    for v in [first, second] {
        let share = weight(&rig, v) as f64 / 524_288.0;
        assert!((share - 1.0).abs() < 0.03, "{share}");
    }
    for _ in 0..2 {
        let more = rig.vcpu_within(domain, on(0));
        rig.wake(more);
    }
    rig.run_to(at(4_000));
    let share = weight(&rig, first) as f64 / 786_432.0;
    assert!((share - 1.0).abs() < 0.03, "{share}");
    let share = weight(&rig, second) as f64 / 262_144.0;
    assert!((share - 1.0).abs() < 0.03, "{share}");
}

/// Vector 25: the waker runs on 0, the woken was on 1, which idles.
#[test]
fn who_wakes_goes_back_to_its_idle_pcpu() {
    let mut rig = cfs_with(2, &[]);
    let domain = rig.domain(&[]);
    let waker = rig.vcpu_within(domain, [P0].into_iter().collect());
    rig.wake(waker);
    rig.settle();
    let woken = hog(&mut rig, &[]);
    assert_eq!(rig.home(woken), PcpuId(1));
    rig.run_to(at(10));
    rig.block_now(woken);
    rig.tables.here = P0;
    rig.wake(woken);
    rig.settle();
    assert_eq!(rig.home(woken), PcpuId(1));
}

/// A busy pcpu's waiting thread is pulled to one that idles.
#[test]
fn a_waiting_thread_is_pulled() {
    for release in ["6.1", "6.12", "6.18"] {
        let mut rig = match release {
            "6.1" => cfs_with(2, &[]),
            release => eevdf_with(2, release, &[]),
        };
        let vcpus = [(); 4].map(|()| hog(&mut rig, &[]));
        rig.run_to(at(100));
        for p in [P0, PcpuId(1)] {
            assert!(rig.current(p).is_some(), "{release}: {p} idles");
        }
        // Two of one pcpu stop: those of the other one are shared.
        let home = rig.home(vcpus[0]);
        let stay: Vec<VcpuId> = vcpus.into_iter().filter(|v| rig.home(*v) == home).collect();
        for v in vcpus.into_iter().filter(|v| !stay.contains(v)) {
            rig.stop(v, domio_contract::Pause::PAUSED);
        }
        rig.run_to(at(200));
        for p in [P0, PcpuId(1)] {
            assert!(rig.current(p).is_some(), "{release}: {p} idles");
        }
    }
}

/// Three hogs on two pcpus take turns in pairs.
#[test]
fn three_hogs_share_two_pcpus() {
    for release in ["6.1", "6.12", "6.18"] {
        let mut rig = match release {
            "6.1" => cfs_with(2, &[]),
            release => eevdf_with(2, release, &[]),
        };
        let vcpus = [(); 3].map(|()| hog(&mut rig, &[]));
        rig.run_to(at(60_000));
        let ran = vcpus.map(|v| rig.ran(v).as_nanos() as f64 / 6e10);
        let even = ran.iter().all(|share| (share - 2.0 / 3.0).abs() < 0.03);
        assert!(even, "{release} {ran:?}");
    }
}
