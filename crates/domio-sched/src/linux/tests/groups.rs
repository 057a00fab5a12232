//! Groups in groups (linux-spec 8.1; 12, vector 10).

use super::*;
use domio_contract::{GroupId, Scheduler as _};
use domio_core::DomainId;

const MACHINE: GroupId = GroupId(0);

/// The group `name`, in `parent`, with these parameters.
fn set_group(rig: &mut Rig<Linux>, name: u16, parent: Option<GroupId>, params: &[(&str, i64)]) {
    let mut values = ParamValues::defaults(rig.policy.descriptor.group_params);
    for (name, value) in params {
        values.set(name, *value).unwrap();
    }
    rig.call(|s, cx| s.set_group(cx, GroupId(name), parent, &values));
}

fn join(rig: &mut Rig<Linux>, domain: DomainId, group: Option<GroupId>) {
    rig.call(|s, cx| s.join(cx, domain, group));
}

/// The blocked vcpu of a domain in `group`.
fn guest_in(rig: &mut Rig<Linux>, group: GroupId, params: &[(&str, i64)]) -> VcpuId {
    let domain = rig.domain(params);
    join(rig, domain, Some(group));
    rig.vcpu(domain)
}

fn hog_in(rig: &mut Rig<Linux>, group: GroupId, params: &[(&str, i64)]) -> VcpuId {
    let vcpu = guest_in(rig, group, params);
    rig.wake(vcpu);
    rig.settle();
    vcpu
}

/// The weight of `vcpu`'s group on the pcpu of `vcpu`, `levels` above the thread.
fn weight_above(rig: &Rig<Linux>, vcpu: VcpuId, levels: usize) -> u64 {
    let mut e = entity(rig, vcpu, false);
    for _ in 0..levels {
        e = rig.policy.above(e);
    }
    rig.policy.entities[e as usize].load.weight
}

/// Vector 10: a group that is alone in the root rounds once more.
#[test]
fn slices_are_divided_at_each_level() {
    let mut rig = cfs_with(1, &[]);
    set_group(&mut rig, 0, None, &[]);
    let hogs = [100, 200, 400].map(|w| hog_in(&mut rig, MACHINE, &[("weight", w)]));
    let slice = |rig: &Rig<Linux>, v| rig.policy.cfs_slice(entity(rig, v, true));
    assert_eq!(
        hogs.map(|v| slice(&rig, v)),
        [857_141, 1_714_283, 3_428_568]
    );
    let periodic = hog_in(&mut rig, MACHINE, &[]);
    assert_eq!(
        hogs.map(|v| slice(&rig, v)),
        [750_000, 1_499_996, 2_999_993]
    );
    assert_eq!(slice(&rig, periodic), 750_000);
}

/// Vector 10, the shares: the part of the machine divides as if there were nothing around it.
#[test]
fn weights_divide_a_groups_part() {
    for mut rig in [
        cfs_with(1, &[]),
        eevdf_with(1, "6.12", &[]),
        eevdf_with(1, "6.18", &[]),
        eevdf_with(1, "7.2", &[]),
        eevdf_with(1, "7.3", &[]),
    ] {
        set_group(&mut rig, 0, None, &[("weight", 700)]);
        let hogs = [100, 200, 400].map(|w| hog_in(&mut rig, MACHINE, &[("weight", w)]));
        let beside = hog(&mut rig, &[("weight", 300)]);
        rig.run_to(at(20_000));
        let ms = |v| rig.ran(v).as_nanos() as i64 / MS;
        let near = |v, due: i64| assert!((ms(v) - due).abs() < 60, "{} for {due}", ms(v));
        for (v, due) in hogs.into_iter().zip([2_000, 4_000, 8_000]) {
            near(v, due);
        }
        near(beside, 6_000);
    }
}

/// All that is below a group without time leaves the pcpu, and comes back together.
#[test]
fn a_groups_quota_holds_all_below() {
    for mut rig in [
        cfs_with(1, &[]),
        eevdf_with(1, "6.12", &[]),
        eevdf_with(1, "6.18", &[]),
        eevdf_with(1, "7.2", &[]),
        eevdf_with(1, "7.3", &[]),
    ] {
        set_group(&mut rig, 0, None, &[("cap", 30)]);
        set_group(&mut rig, 1, Some(MACHINE), &[]);
        let outer = hog_in(&mut rig, MACHINE, &[]);
        let inner = hog_in(&mut rig, GroupId(1), &[]);
        let beside = hog(&mut rig, &[]);
        let mut parked = 0;
        for ms in (4..4_000).step_by(4) {
            rig.run_to(at(ms));
            let of = |v: VcpuId| rig.policy.threads[v.index()].parked;
            assert!(rig.policy.rules.release.throttles_threads() || of(outer) == of(inner));
            parked += usize::from(of(outer) && of(inner));
        }
        let ms = |v| rig.ran(v).as_nanos() as i64 / MS;
        let both = ms(outer) + ms(inner);
        assert!((both - 1_200).abs() < 40, "{both}");
        assert!((ms(outer) - ms(inner)).abs() < 40);
        assert!((ms(beside) - 2_800).abs() < 40);
        assert!(parked > 300, "{parked}");
    }
}

/// Quotas of a group and of one in it hold both.
#[test]
fn quotas_hold_at_any_level() {
    for mut rig in [
        cfs_with(1, &[]),
        eevdf_with(1, "6.18", &[]),
        eevdf_with(1, "7.2", &[]),
        eevdf_with(1, "7.3", &[]),
    ] {
        set_group(&mut rig, 0, None, &[("cap", 50)]);
        let limited = hog_in(&mut rig, MACHINE, &[("cap", 10)]);
        let free = hog_in(&mut rig, MACHINE, &[]);
        rig.run_to(at(4_000));
        let ms = |v| rig.ran(v).as_nanos() as i64 / MS;
        assert!((ms(limited) - 400).abs() < 40, "{}", ms(limited));
        assert!((ms(free) - 1_600).abs() < 60, "{}", ms(free));
    }
}

/// A group on two pcpus has half of its weight on each, and so has the one around it.
#[test]
fn weights_are_split_over_pcpus_at_each_level() {
    let mut rig = cfs_with(2, &[]);
    set_group(&mut rig, 0, None, &[]);
    let domain = rig.domain(&[]);
    join(&mut rig, domain, Some(MACHINE));
    let vcpus = [0, 1].map(|p| rig.vcpu_within(domain, [PcpuId(p)].into_iter().collect()));
    for v in vcpus {
        rig.wake(v);
    }
    rig.settle();
    rig.run_to(at(2_000));
    for level in [1, 2] {
        for v in vcpus {
            let weight = weight_above(&rig, v, level);
            assert!(weight.abs_diff(524_288) < 6_000, "level {level}: {weight}");
        }
    }
}

/// A group takes the shortest slice of what is in it, at each level.
#[test]
fn the_shortest_slice_goes_up_all_levels() {
    let mut rig = eevdf_with(1, "6.12", &[]);
    set_group(&mut rig, 0, None, &[]);
    let v = hog_in(&mut rig, MACHINE, &[("slice_us", 200)]);
    hog_in(&mut rig, MACHINE, &[]);
    let group = rig.policy.above(entity(&rig, v, true));
    assert_eq!(rig.policy.entities[group as usize].slice, 200_000);
}

/// A domain that goes elsewhere shares there from then on, also out of a group without time.
#[test]
fn a_domain_goes_into_another_group() {
    for mut rig in [
        cfs_with(1, &[]),
        eevdf_with(1, "6.12", &[]),
        eevdf_with(1, "6.18", &[]),
        eevdf_with(1, "7.2", &[]),
        eevdf_with(1, "7.3", &[]),
    ] {
        set_group(&mut rig, 0, None, &[("cap", 10)]);
        let v = hog_in(&mut rig, MACHINE, &[]);
        rig.run_to(at(50));
        assert!(rig.policy.threads[v.index()].parked);
        let domain = rig.tables.vcpus[v.index()].name.domain;
        join(&mut rig, domain, None);
        rig.run_to(at(1_050));
        let ran = rig.ran(v).as_nanos() as i64 / MS;
        assert!((ran - 1_010).abs() < 8, "{ran}");
        join(&mut rig, domain, Some(MACHINE));
        rig.run_to(at(2_050));
        let ran = rig.ran(v).as_nanos() as i64 / MS - ran;
        assert!((ran - 100).abs() < 16, "{ran}");
    }
}
