//! Choosing a pcpu.

use super::*;

#[test]
fn new_domains_go_to_the_emptiest_pcpu_and_their_vcpus_side_by_side() {
    let mut rig = Rig::new("3.0", 4);
    let domain = rig.domain(&[]);
    let homes = [domain; 6].map(|d| rig.vcpu_within(d, CpuSet::ALL));
    let homes = homes.map(|v| rig.home(v).0);
    assert_eq!(homes, [3, 0, 1, 2, 3, 0]);
    let next = rig.guest(&[]);
    assert_eq!(rig.home(next).0, 2, "one vcpu each on 1 and 2");
}

#[test]
fn dom0_boots_with_each_vcpu_on_the_pcpu_of_its_number() {
    let mut rig = Rig::new("3.0", 4);
    rig.adjust(DomainId(0), &[]);
    let homes = [DomainId(0); 3].map(|d| rig.vcpu_within(d, CpuSet::ALL));
    assert_eq!(homes.map(|v| rig.home(v).0), [0, 1, 2]);
    let guest = rig.guest(&[]);
    assert_eq!(rig.home(guest).0, 3, "the emptiest");
}

#[test]
fn nobody_is_moved_for_the_sake_of_balance() {
    let mut rig = Rig::new("3.0", 2);
    let [a, alone, b] = [0; 3].map(|_| rig.hog(10));
    assert_eq!([a, alone, b].map(|v| rig.home(v)), [P1, P0, P1]);
    rig.run_to(at_ms(500));
    rig.block_now(alone);
    rig.run_to(at_ms(900));
    assert_eq!(rig.current(P0), None);
    for v in [a, b] {
        let ran = rig.ran(v).as_nanos() / 1_000_000;
        assert!(ran.abs_diff(450) <= 5, "{ran} ms");
    }
}

#[test]
fn another_pcpu_has_another_time() {
    let mut rig = Rig::new("3.0", 2);
    let domain = rig.domain(&[]);
    let v = rig.vcpu_within(domain, CpuSet::of(P0));
    rig.wake(v);
    rig.run_to(at_ms(501));
    let local = rig.domain(&[]);
    let local = rig.vcpu_within(local, CpuSet::of(P1));
    rig.wake(local);
    rig.run_to(at_ms(602));
    // Its own time is far ahead of that of the other pcpu.
    let svt = rig.svt(P1);
    assert!(rig.state(v).avt > svt);
    rig.pin(v, P1);
    assert_eq!(rig.home(v), P1);
    assert_eq!(rig.state(v).avt, svt);
    // Pinned to where it is already, it keeps its time.
    rig.run_to(at_ms(630));
    rig.state_mut(v).avt += 10_000;
    let avt = rig.state(v).avt;
    rig.stop(v, Pause::BLOCKED);
    rig.pin(v, P1);
    rig.wake(v);
    assert_eq!(rig.state(v).avt, avt);
}

#[test]
fn a_new_vcpu_begins_with_the_time_of_its_pcpu() {
    let mut rig = Rig::new("3.0", 1);
    rig.hog(10);
    rig.run_to(at_ms(201));
    let v = rig.guest(&[]);
    assert_eq!(
        (rig.state(v).avt, rig.state(v).evt),
        (rig.svt(P0), rig.svt(P0))
    );
}

#[test]
fn whoever_has_to_move_goes_to_the_lowest_pcpu_that_it_may_use() {
    let mut rig = Rig::new("3.0", 4);
    let v = rig.guest(&[]);
    assert_eq!(rig.home(v).0, 3);
    rig.tables.affinity[v.index()].hard = [PcpuId(2), PcpuId(1)].into_iter().collect();
    rig.ask_for_pcpu(v);
    assert_eq!(rig.home(v).0, 1);
}
