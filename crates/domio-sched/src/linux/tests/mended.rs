//! What the comparison with the kernel's own code found (`oracle/linux`), each by its own case.

use super::*;
use domio_contract::Scheduler as _;

fn set(rig: &mut Rig<Linux>, vcpu: VcpuId, params: &[(&str, i64)]) {
    let mut values = ParamValues::defaults(CFS.vcpu_params);
    for (name, value) in params {
        values.set(name, *value).unwrap();
    }
    rig.call(|s, cx| s.set_vcpu(cx, vcpu, &values));
}

fn two_of_one_domain(rig: &mut Rig<Linux>, params: &[(&str, i64)]) -> [VcpuId; 2] {
    let domain = rig.domain(params);
    let vcpus = [(); 2].map(|()| rig.vcpu(domain));
    for v in vcpus {
        rig.wake(v);
        rig.settle();
    }
    vcpus
}

/// What the group of `vcpu` was charged.
fn charged(rig: &Rig<Linux>, vcpu: VcpuId) -> i64 {
    rig.policy.entities[entity(rig, vcpu, true) as usize].sum
}

/// In 6.1 whoever wakes charges the groups around, of 6.12 only what changes its weight does.
#[test]
fn a_weight_that_stays_is_set_in_6_1_all_the_same() {
    let after_a_wake_up = |mut rig: Rig<Linux>| {
        let [a, b] = two_of_one_domain(&mut rig, &[]);
        let sleeper = if rig.current(P0) == Some(a) { a } else { b };
        rig.run_to(at(1));
        rig.block_now(sleeper);
        rig.run_to(at(2));
        rig.wake(sleeper);
        charged(&rig, sleeper)
    };
    assert_eq!(after_a_wake_up(cfs_with(1, &[])), 2 * MS);
    assert_eq!(after_a_wake_up(eevdf_with(1, "6.12", &[])), MS);
}

/// The same weight once more is no change.
#[test]
fn shares_that_stay_charge_nobody() {
    let mut rig = cfs_with(1, &[]);
    let v = hog(&mut rig, &[("weight", 50)]);
    let domain = rig.tables.vcpus[v.index()].name.domain;
    rig.run_to(at(1));
    rig.adjust(domain, &[("weight", 50)]);
    assert_eq!(charged(&rig, v), 0);
    rig.adjust(domain, &[("weight", 60)]);
    assert_eq!(charged(&rig, v), MS);
}

/// A new thread in an empty group is placed by the weight that the group is to have.
#[test]
fn a_new_thread_in_an_empty_group_knows_the_weight() {
    let mut rig = cfs_with(1, &[]);
    hog(&mut rig, &[]);
    let v = rig.guest(&[("weight", 1_000)]);
    rig.wake(v);
    // 10 parts of 11 of 6 ms, and the start of virtual time.
    let slice = v_of(&rig, v) + (1 << 20);
    assert!((5_454_000..5_454_600).contains(&slice), "{slice}");
}

/// A renice leaves the least virtual time of the queue, and so that of the thread.
#[test]
fn a_renice_keeps_the_virtual_time() {
    let mut rig = cfs_with(1, &[]);
    let [a, b] = two_of_one_domain(&mut rig, &[]);
    rig.run_to(at(9));
    let waits = if rig.current(P0) == Some(a) { b } else { a };
    let before = v_of(&rig, waits);
    set(&mut rig, waits, &[("nice", 5)]);
    assert_eq!(v_of(&rig, waits), before);
}

/// A class alone preempts nobody; a nice value does not where one thing is on the pcpu.
#[test]
fn only_nice_values_ask_for_a_pass() {
    let mut rig = cfs_with(1, &[]);
    let [a, b] = two_of_one_domain(&mut rig, &[]);
    rig.run_to(at(1));
    let runs = if rig.current(P0) == Some(a) { a } else { b };
    rig.tickled();
    set(&mut rig, runs, &[("class", 2)]);
    set(&mut rig, runs, &[("class", 2), ("nice", 10)]);
    assert!(rig.tickled().is_empty());
    hog(&mut rig, &[]);
    rig.run_to(at(9));
    let runs = rig.current(P0).unwrap();
    rig.tickled();
    set(&mut rig, runs, &[("nice", 15)]);
    assert!(!rig.tickled().is_empty());
}

/// Who sleeps on the queue goes on to do so with another nice value.
#[test]
fn a_renice_wakes_nobody() {
    let mut rig = eevdf_with(1, "6.12", &[]);
    let [a, b] = two_of_one_domain(&mut rig, &[]);
    rig.run_to(at(1));
    let sleeper = if rig.current(P0) == Some(a) { a } else { b };
    rig.block_now(sleeper);
    let delayed = |rig: &Rig<Linux>| {
        let e = &rig.policy.entities[entity(rig, sleeper, false) as usize];
        let q = &rig.policy.queues[e.queue as usize];
        (e.on_queue, e.delayed, q.threads, q.delayed)
    };
    assert_eq!(delayed(&rig), (true, true, 2, 1));
    set(&mut rig, sleeper, &[("nice", 5)]);
    assert_eq!(delayed(&rig), (true, true, 2, 1));
}

/// Periods that begin anew stay on the grid of those before, whatever their length.
#[test]
fn periods_stay_on_their_grid() {
    let mut rig = cfs_with(1, &[]);
    let v = hog(&mut rig, &[("quota_us", 5_000), ("period_us", 30_000)]);
    let domain = rig.tables.vcpus[v.index()].name.domain;
    let group = rig.policy.entities[entity(&rig, v, false) as usize].group as usize;
    rig.run_to(at(35));
    let expires = |rig: &Rig<Linux>| rig.policy.groups[group].bandwidth.expires / MS;
    assert_eq!(expires(&rig), 60);
    // The timer goes on to its end without a quota, and with the next one.
    rig.adjust(domain, &[]);
    rig.run_to(at(40));
    rig.adjust(domain, &[("quota_us", 5_000), ("period_us", 7_000)]);
    assert_eq!(expires(&rig), 60);
    rig.run_to(at(61));
    assert_eq!(expires(&rig), 67);
}

/// A pcpu that idles looks for work when somebody wakes in a group without time.
#[test]
fn a_wake_up_without_time_makes_an_idle_pcpu_look() {
    let mut rig = cfs_with(1, &[]);
    let domain = rig.domain(&[("quota_us", 4_000)]);
    let (hog, other) = (rig.vcpu(domain), rig.vcpu(domain));
    rig.wake(hog);
    rig.settle();
    rig.run_to(at(20));
    assert_eq!(rig.current(P0), None);
    rig.tickled();
    rig.wake(other);
    assert!(rig.tickled().contains(P0));
    rig.settle();
    assert_eq!(rig.current(P0), None);
}

/// A throttled group keeps its lag when its weight is written.
#[test]
fn a_throttled_group_keeps_its_lag() {
    let mut rig = eevdf_with(1, "6.12", &[]);
    let limits = [("quota_us", 4_000), ("period_us", 100_000)];
    let v = hog(&mut rig, &limits);
    let domain = rig.tables.vcpus[v.index()].name.domain;
    hog(&mut rig, &[]);
    rig.run_to(at(50));
    let e = entity(&rig, v, true) as usize;
    assert!(!rig.policy.entities[e].on_queue);
    rig.policy.entities[e].lag = 1_000;
    rig.adjust(domain, &[limits[0], limits[1], ("weight", 1_000)]);
    assert_eq!(rig.policy.entities[e].lag, 1_000);
}

/// Of those who yield only the batch class is not charged at once.
#[test]
fn an_idle_thread_that_yields_is_charged() {
    for (class, sum) in [(1, 0), (2, MS)] {
        let mut rig = cfs_with(1, &[]);
        let [a, b] = two_of_one_domain(&mut rig, &[("class", class)]);
        rig.run_to(at(1));
        let runs = if rig.current(P0) == Some(a) { a } else { b };
        rig.call(|s, cx| s.yielded(cx, runs));
        let e = entity(&rig, runs, false) as usize;
        assert_eq!(rig.policy.entities[e].sum, sum, "class {class}");
    }
}

/// A weight that changes by so little that the deadline stays does not end the protection (6.12).
#[test]
fn protection_lasts_as_long_as_the_deadline() {
    let protected_after = |less: u64| {
        let mut rig = eevdf_with(1, "6.12", &[]);
        let v = hog(&mut rig, &[("weight", 10_000)]);
        hog(&mut rig, &[]);
        let e = entity(&rig, v, true);
        assert!(rig.policy.is_protected(e));
        let weight = rig.policy.entities[e as usize].load.weight - less;
        let load = crate::linux::weights::Load::of(weight);
        rig.call(|s, cx| s.reweight(cx, e, load));
        rig.policy.is_protected(e)
    };
    assert_eq!([0, 1, 1 << 20].map(protected_after), [true, true, false]);
}

/// The averages of a group stand still while it has no time.
#[test]
fn throttled_time_is_not_in_the_averages() {
    let mut rig = cfs_with(2, &[]);
    let v = hog(&mut rig, &[("quota_us", 20_000), ("period_us", 100_000)]);
    let q = rig.policy.queue_of(entity(&rig, v, false));
    // Runs for 20 ms, and is throttled until 100 ms.
    rig.run_to(at(21));
    assert!(rig.policy.queues[q as usize].throttled);
    let at_first = rig.policy.pelt_clock(q);
    rig.run_to(at(99));
    assert_eq!(rig.policy.pelt_clock(q), at_first);
    rig.run_to(at(104));
    assert!((20 * MS..26 * MS).contains(&rig.policy.pelt_clock(q)));
    let load = rig.policy.queues[q as usize].average.load;
    // A new thread counts in full. In 80 ms of sleep its load would fade to less than a fifth.
    assert!(load > 1_000, "{load}");
}
