//! Choosing a pcpu.

use super::*;

fn set(pcpus: &[u16]) -> CpuSet {
    pcpus.iter().map(|&p| PcpuId(p)).collect()
}

#[test]
fn new_domains_go_to_the_emptiest_pcpu_and_their_vcpus_side_by_side() {
    for version in EPOCHS {
        let mut rig = Rig::new(version, 4);
        let domain = rig.domain(&[]);
        let homes = [domain; 6].map(|d| rig.vcpu(d)).map(|v| rig.home(v).0);
        assert_eq!(homes, [3, 0, 1, 2, 3, 0], "{version}");
        let next = rig.guest(&[]);
        assert_eq!(rig.home(next).0, 2, "one vcpu each on 1 and 2");
    }
}

#[test]
fn dom0_boots_with_each_vcpu_on_the_pcpu_of_its_number() {
    for version in EPOCHS {
        let mut rig = Rig::new(version, 4);
        let first = rig.dom0();
        let [second, third] = [DomainId(0); 2].map(|d| rig.vcpu(d));
        let homes = [first, second, third].map(|v| rig.home(v).0);
        assert_eq!(homes, [0, 1, 2], "{version}");
    }
}

#[test]
fn vcpus_that_are_down_do_not_count() {
    let mut rig = Rig::new("3.1", 2);
    let first = rig.guest(&[]);
    assert_eq!(rig.home(first), P1);
    rig.tables.vcpus[first.index()].pause.set(Pause::DOWN);
    let second = rig.guest(&[]);
    assert_eq!(rig.home(second), P1);
    let third = rig.guest(&[]);
    assert_eq!(rig.home(third), P0);
    let fourth = rig.guest(&[]);
    assert_eq!(rig.home(fourth), P1, "the higher of equals");
}

#[test]
fn first_threads_and_the_lowest_core_come_last() {
    let mut rig = Rig::with("3.1", "extra-support", Topology::new(1, 3, 2).unwrap());
    let homes = [0; 6].map(|_| rig.guest(&[])).map(|v| rig.home(v).0);
    assert_eq!(homes, [5, 3, 1, 5, 3, 1]);
}

#[test]
fn a_new_vcpu_stays_within_its_affinity() {
    let mut rig = Rig::new("3.1", 4);
    let domain = rig.domain(&[]);
    let first = rig.vcpu_within(domain, set(&[1, 2]));
    assert_eq!(rig.home(first).0, 1, "the first one after the emptiest");
}

/// Where the five vcpus of a domain go when they have to move on a host with four pcpus.
fn moved(version: &str, hard: &[u16]) -> Vec<u16> {
    let mut rig = Rig::new(version, 4);
    let domain = rig.domain(&[]);
    let vcpus: Vec<_> = (0..5).map(|_| rig.vcpu(domain)).collect();
    let mut homes = Vec::new();
    for v in vcpus {
        rig.tables.affinity[v.index()].hard = set(hard);
        rig.ask_for_pcpu(v);
        homes.push(rig.home(v).0);
    }
    homes
}

#[test]
fn whoever_has_to_move_gathers_on_the_lowest_pcpu_until_4_2() {
    for version in ["3.0", "3.1", "4.2"] {
        assert_eq!(moved(version, &[0, 1, 2, 3]), [0; 5], "{version}");
        assert_eq!(moved(version, &[2, 3]), [2; 5], "{version}");
    }
}

#[test]
fn whoever_has_to_move_goes_by_its_index_since_4_3() {
    for version in ["4.3", "4.5"] {
        assert_eq!(moved(version, &[0, 1, 2, 3]), [0, 1, 2, 3, 0]);
        assert_eq!(moved(version, &[0, 3]), [0, 3, 0, 3, 0]);
        // Not the first and the second of the two: the first from 0 on and the first from 1 on.
        assert_eq!(moved(version, &[2, 3]), [2; 5]);
    }
}

#[test]
fn a_pcpu_that_comes_back_starts_empty() {
    let mut rig = Rig::new("3.1", 2);
    let v = rig.guest(&[]);
    rig.wake_now(v);
    assert_eq!(rig.current(P1), Some(v));
    rig.tables.online.remove(P1);
    rig.stop(v, Pause::MIGRATING);
    rig.settle();
    assert_eq!(rig.home(v), P0);
    rig.call(|s, cx| s.pcpu_offline(cx, P1));
    rig.plug(P1);
    assert_eq!(rig.pass(P1).next, None);
    assert_eq!(rig.current(P0), Some(v));
}

#[test]
#[should_panic(expected = "p1 left with vcpus queued")]
fn a_pcpu_does_not_leave_with_vcpus() {
    let mut rig = Rig::new("3.1", 2);
    let v = rig.guest(&[]);
    rig.wake(v);
    rig.call(|s, cx| s.pcpu_offline(cx, P1));
}
