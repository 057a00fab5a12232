//! CFS of 6.1 (linux-spec 2; 12, vectors 2 to 10).

use super::*;

/// Two hogs in groups of their own.
fn two_hogs(pcpus: u16, params: &[(&str, &str)], path_us: u64, ms: u64) -> Vec<f64> {
    let mut rig = cfs_with(pcpus, params);
    rig.path = Duration::from_micros(path_us);
    for _ in 0..2 {
        let domain = rig.domain(&[]);
        let vcpu = rig.vcpu_within(domain, [P0].into_iter().collect());
        rig.wake(vcpu);
    }
    rig.run_to(at(ms));
    lengths(&rig)
}

/// Vectors 2 and 3, without costs of a switch.
#[test]
fn equal_hogs_take_turns_of_whole_ticks() {
    assert_eq!(two_hogs(1, &[], 0, 33), [4.0; 8]);
    assert_eq!(two_hogs(1, &[("hz", "1000")], 0, 31), [3.0; 10]);
    assert_eq!(two_hogs(8, &[], 0, 62), [12.0; 5]);
}

/// Vectors 2 and 3, with some us between a tick and the switch: the slice is not quite over at the
/// tick at which it is without them. Nothing delays the first switch.
#[test]
fn a_late_switch_costs_another_tick() {
    let fast = two_hogs(1, &[("hz", "1000")], 5, 40);
    assert_eq!((fast[0], &fast[1..]), (3.005, &[4.0; 9][..]));
    let eight = two_hogs(8, &[], 5, 100);
    assert_eq!((eight[0], &eight[1..]), (12.005, &[16.0; 5][..]));
}

/// Vector 4: in one group, so that the nice values decide.
fn nice_0_and_5(pcpus: u16, hz: &str, ms: u64) -> Vec<(VcpuId, f64)> {
    let mut rig = cfs_with(pcpus, &[("hz", hz), ("start_debit", "0")]);
    let domain = rig.domain(&[]);
    let within = [P0].into_iter().collect();
    let [a, b] = [(); 2].map(|()| rig.vcpu_within(domain, within));
    let mut values = ParamValues::defaults(CFS.vcpu_params);
    values.set("nice", 5).unwrap();
    rig.call(|s, cx| domio_contract::Scheduler::set_vcpu(s, cx, b, &values));
    rig.wake(a);
    rig.settle();
    rig.wake(b);
    rig.run_to(at(ms));
    turns(&rig)
}

#[test]
fn nice_values_share_by_their_weights() {
    let long = nice_0_and_5(1, "250", 20_000);
    let of = |v: u32| -> f64 { long.iter().filter(|t| t.0.0 == v).map(|t| t.1).sum() };
    let share = of(0) / (of(0) + of(1));
    assert!((share - 0.7535).abs() < 0.002, "{share}");
    let lengths: Vec<f64> = long[..10].iter().map(|t| t.1).collect();
    assert_eq!(
        lengths,
        [8.0, 4.0, 8.0, 4.0, 12.0, 4.0, 12.0, 4.0, 12.0, 4.0]
    );
    let fast = nice_0_and_5(1, "1000", 5_000);
    let usual = |v: u32, ms: f64| {
        let mut of = fast.iter().filter(|t| t.0.0 == v);
        of.clone().count() / 2 < of.by_ref().filter(|t| t.1 == ms).count()
    };
    assert!(usual(0, 5.0) && usual(1, 2.0), "{fast:?}");
}

/// Vector 5.
#[test]
fn nine_hogs_have_turns_of_a_tick() {
    let mut rig = cfs_with(1, &[]);
    for _ in 0..9 {
        hog(&mut rig, &[]);
    }
    rig.run_to(at(160));
    let turns = turns(&rig);
    assert!(turns.iter().all(|t| t.1 == 4.0), "{turns:?}");
    let mut second: Vec<u32> = turns[9..18].iter().map(|t| t.0.0).collect();
    second.sort_unstable();
    assert_eq!(second, (0..9).collect::<Vec<u32>>());
}

/// A hog, and a sleeper that blocks at once and wakes after `us`; who runs then.
fn after_sleep(us: u64, group: &[(&str, i64)]) -> bool {
    let mut rig = cfs_with(1, &[]);
    let sleeper = rig.guest(group);
    let other = hog(&mut rig, &[]);
    // Virtual times of both are the same when the sleeper blocks.
    rig.run_to(at(40));
    rig.wake(sleeper);
    rig.run_to(at(200));
    while rig.current(P0) != Some(sleeper) {
        let next = rig.now + Duration::from_micros(10);
        rig.run_to(next);
    }
    rig.run_to(rig.now + Duration::from_millis(1));
    rig.block_now(sleeper);
    let (e, o) = (entity(&rig, sleeper, true), entity(&rig, other, true));
    rig.policy.entities[e as usize].v = rig.policy.entities[o as usize].v;
    assert_eq!(rig.current(P0), Some(other));
    rig.run_to(rig.now + Duration::from_micros(us));
    rig.wake(sleeper);
    rig.settle();
    rig.current(P0) == Some(sleeper)
}

/// Vectors 7 to 9.
#[test]
fn who_slept_for_long_preempts_by_its_credit() {
    assert!(after_sleep(50_000, &[]));
    assert!(!after_sleep(800, &[]));
    assert!(!after_sleep(50_000, &[("weight", 33)]));
    assert!(after_sleep(50_000, &[("weight", 34)]));
    assert!(after_sleep(50_000, &[("weight", 400)]));
}

/// Vector 10, with groups one level less deep: slices of weights 100, 200 and 400, beside a fourth
/// of 100.
#[test]
fn slices_of_groups_go_by_their_weights() {
    let mut rig = cfs_with(1, &[]);
    let vms = [100, 200, 400].map(|w| hog(&mut rig, &[("weight", w)]));
    let slices = |rig: &Rig<Linux>| vms.map(|v| rig.policy.cfs_slice(entity(rig, v, true)));
    assert_eq!(slices(&rig), [857_142, 1_714_284, 3_428_569]);
    hog(&mut rig, &[]);
    assert_eq!(slices(&rig), [750_000, 1_499_997, 2_999_994]);
    rig.run_to(at(20_000));
    let ran = vms.map(|v| rig.ran(v).as_nanos() as f64 / 1e9);
    for (ran, weight) in ran.into_iter().zip([1.0, 2.0, 4.0]) {
        assert!((ran - 20.0 * weight / 8.0).abs() < 0.03, "{ran}");
    }
}

/// A thread of the idle class yields to any other, and does not preempt.
#[test]
fn the_idle_class_gives_way() {
    let mut rig = cfs_with(1, &[]);
    let domain = rig.domain(&[]);
    let [busy, idle] = [(); 2].map(|()| rig.vcpu(domain));
    let mut values = ParamValues::defaults(CFS.vcpu_params);
    values.choose("class", "idle").unwrap();
    rig.call(|s, cx| domio_contract::Scheduler::set_vcpu(s, cx, idle, &values));
    not_new(&mut rig, busy);
    rig.wake(idle);
    rig.run_to(at(10));
    assert_eq!(rig.current(P0), Some(idle));
    rig.wake(busy);
    rig.settle();
    assert_eq!(rig.current(P0), Some(busy));
    rig.run_to(at(5_010));
    let share = rig.ran(idle).as_nanos() as f64 / 5.01e9;
    assert!(share < 0.007, "{share}");
}

/// Who yields is passed over once, if another one is near.
#[test]
fn who_yields_is_skipped() {
    let mut rig = cfs_with(1, &[]);
    let domain = rig.domain(&[]);
    let [a, b] = [(); 2].map(|()| rig.vcpu(domain));
    not_new(&mut rig, a);
    not_new(&mut rig, b);
    rig.wake(a);
    rig.settle();
    rig.wake(b);
    rig.run_to(at_us(500));
    assert_eq!(rig.current(P0), Some(a));
    rig.call(|s, cx| domio_contract::Scheduler::yielded(s, cx, a));
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(b));
}

/// A tick stops with the last thread, and comes again on its grid.
#[test]
fn the_tick_keeps_its_grid() {
    let mut rig = cfs_with(1, &[]);
    let v = hog(&mut rig, &[]);
    assert_eq!(rig.timers[0][0], Some(at(4)));
    rig.run_to(at_us(5_100));
    rig.block_now(v);
    assert_eq!(rig.timers[0][0], None);
    rig.run_to(at_us(13_300));
    rig.wake(v);
    rig.settle();
    assert_eq!(rig.timers[0][0], Some(at(16)));
}

/// linux-spec 0.3: who is preempted by a wake-up is charged up to the wake-up, and who comes pays
/// for the time up to the pass.
#[test]
fn a_preempting_wake_up_stops_the_clock() {
    let mut rig = cfs_with(1, &[]);
    let sleeper = rig.guest(&[]);
    not_new(&mut rig, sleeper);
    let other = hog(&mut rig, &[]);
    rig.run_to(at(30));
    rig.wake(sleeper);
    rig.now += Duration::from_micros(7);
    rig.settle();
    assert_eq!(rig.current(P0), Some(sleeper));
    let sum = |v| rig.policy.entities[entity(&rig, v, false) as usize].sum;
    assert_eq!(sum(other), 30 * MS);
    let exec_start = |v| rig.policy.entities[entity(&rig, v, false) as usize].exec_start;
    assert_eq!(exec_start(sleeper), 30 * MS);
}
