//! Order in a run queue: insertion, sort, yield, and the experiment switch `runq_sort`.

use super::*;

#[test]
fn first_in_first_out_inside_a_priority() {
    let mut rig = Rig::new("4.17", 1);
    let under = rig.queued_on(P0, UNDER);
    let over = rig.queued_on(P0, OVER);
    let boost = rig.queued_on(P0, BOOST);
    let under_2 = rig.queued_on(P0, UNDER);
    let over_2 = rig.queued_on(P0, OVER);
    let boost_2 = rig.queued_on(P0, BOOST);
    let order = [boost, boost_2, under, under_2, over, over_2];
    assert_eq!(rig.queue(P0), order);
}

#[test]
fn insertion_stops_at_the_first_lower_one_of_an_unsorted_queue() {
    let mut rig = Rig::new("4.17", 1);
    let a = rig.queued_on(P0, UNDER);
    let b = rig.queued_on(P0, UNDER);
    // As accounting does while they queue.
    rig.force(a, OVER);
    let new = rig.queued_on(P0, UNDER);
    assert_eq!(rig.queue(P0), [new, a, b]);
}

#[test]
fn the_sort_moves_credit_in_front_and_knows_two_classes_only() {
    for version in ["3.1", "4.17"] {
        let mut rig = Rig::new(version, 1);
        let v: Vec<_> = (0..5).map(|_| rig.queued_on(P0, UNDER)).collect();
        for (i, priority) in [OVER, UNDER, BOOST, OVER, UNDER].into_iter().enumerate() {
            rig.force(v[i], priority);
        }
        rig.credit.pcpus[P0].sorted = rig.credit.sort_epoch;
        rig.credit.sort(P0);
        assert_eq!(rig.queue(P0), v, "no accounting since the last sort");
        rig.credit.sort_epoch += 1;
        rig.credit.sort(P0);
        // UNDER before BOOST: the order in which they came.
        assert_eq!(rig.queue(P0), [v[1], v[2], v[4], v[0], v[3]]);
    }
}

#[test]
fn the_sort_is_a_stable_partition() {
    // Every queue of up to five vcpus, each of one of three priorities.
    for length in 0..=5 {
        for code in 0..3_usize.pow(length) {
            let mut rig = Rig::new("4.17", 1);
            let v: Vec<_> = (0..length).map(|_| rig.queued_on(P0, UNDER)).collect();
            let mut rest = code;
            for &v in &v {
                rig.force(v, [OVER, UNDER, BOOST][rest % 3]);
                rest /= 3;
            }
            let (mut expected, over): (Vec<_>, Vec<_>) =
                v.iter().partition(|&&v| rig.credit.priority(v) >= UNDER);
            expected.extend(over);
            rig.credit.sort_epoch += 1;
            rig.credit.sort(P0);
            assert_eq!(rig.queue(P0), expected, "queue {code} of {length}");
        }
    }
}

#[test]
fn a_tick_sorts_after_accounting_and_not_before() {
    let mut rig = Rig::new("4.17", 1);
    let hog = rig.running_on(P0, UNDER);
    let a = rig.queued_on(P0, UNDER);
    let b = rig.queued_on(P0, UNDER);
    for (v, credit) in [(hog, 0), (a, -300), (b, 0)] {
        rig.set_credit(v, credit);
        rig.credit.activate(v);
    }
    rig.account();
    assert_eq!(rig.credit.priority(a), OVER);
    assert_eq!(rig.queue(P0), [a, b]);
    rig.tick(P0);
    assert_eq!(rig.queue(P0), [b, a]);
}

/// The queue after the current vcpu of priority UNDER yielded to these.
fn after_yield(version: &str, others: &[Priority]) -> (Vec<VcpuId>, VcpuId, Vec<VcpuId>) {
    let mut rig = Rig::new(version, 1);
    let yielder = rig.running_on(P0, UNDER);
    let others: Vec<_> = others.iter().map(|&p| rig.queued_on(P0, p)).collect();
    rig.skip(ms(5));
    rig.yielded(yielder);
    rig.pass(P0);
    let mut order: Vec<_> = rig.current(P0).into_iter().collect();
    order.extend(rig.queue(P0));
    (order, yielder, others)
}

#[test]
fn a_yield_lets_one_lower_vcpu_pass_since_4_1() {
    let (order, y, o) = after_yield("4.0", &[UNDER, OVER, OVER]);
    assert_eq!(order, [o[0], y, o[1], o[2]]);
    for version in ["4.1", "4.17"] {
        let (order, y, o) = after_yield(version, &[UNDER, OVER, OVER]);
        assert_eq!(order, [o[0], o[1], y, o[2]], "{version}");
    }
}

#[test]
fn a_yield_never_lets_idling_pass() {
    for version in ["4.1", "4.17"] {
        let (order, y, o) = after_yield(version, &[UNDER]);
        assert_eq!(order, [o[0], y]);
        let (order, y, _) = after_yield(version, &[]);
        assert_eq!(order, [y]);
    }
}

#[test]
fn a_yield_counts_once() {
    let mut rig = Rig::new("4.17", 1);
    let y = rig.running_on(P0, UNDER);
    let over = rig.queued_on(P0, OVER);
    rig.yielded(y);
    rig.skip(ms(2));
    assert_eq!(rig.pass(P0).next, Some(over));
    rig.skip(ms(2));
    assert_eq!(rig.pass(P0).next, Some(y));
    rig.skip(ms(2));
    assert_eq!(rig.pass(P0).next, Some(y), "it does not yield again");
}

fn sorting(pcpus: u16) -> Rig {
    Rig::with("3.1", Topology::flat(pcpus).unwrap(), &[("runq_sort", 1)])
}

fn queued_with(rig: &mut Rig, priority: Priority, credit: i64) -> VcpuId {
    let v = rig.guest_on(P0);
    rig.force(v, priority);
    rig.set_credit(v, credit);
    rig.enqueue(v);
    v
}

#[test]
fn runq_sort_orders_by_credit_inside_a_priority() {
    let mut rig = sorting(1);
    let a = queued_with(&mut rig, UNDER, 50);
    let b = queued_with(&mut rig, UNDER, 200);
    let equal = queued_with(&mut rig, UNDER, 50);
    let over = queued_with(&mut rig, OVER, -10);
    let deeper = queued_with(&mut rig, OVER, -200);
    let over_2 = queued_with(&mut rig, OVER, -5);
    let boost = queued_with(&mut rig, BOOST, 10);
    let order = [boost, b, a, equal, over_2, over, deeper];
    assert_eq!(rig.queue(P0), order);
}

/// What accounting gives moves nobody: the sort that follows it is the same with the experiment.
#[test]
fn runq_sort_leaves_the_periodic_sort_as_it_is() {
    let mut rig = sorting(1);
    let v: Vec<_> = (0..4).map(|_| queued_with(&mut rig, UNDER, 100)).collect();
    for (i, (priority, credit)) in [(OVER, -50), (UNDER, 10), (UNDER, 200), (OVER, -20)]
        .into_iter()
        .enumerate()
    {
        rig.force(v[i], priority);
        rig.set_credit(v[i], credit);
    }
    rig.credit.sort_epoch += 1;
    rig.credit.sort(P0);
    assert_eq!(rig.queue(P0), [v[1], v[2], v[0], v[3]]);
}

#[test]
fn runq_sort_off_ignores_credit() {
    let mut rig = Rig::new("3.1", 1);
    let poor = queued_with(&mut rig, UNDER, 1);
    let rich = queued_with(&mut rig, UNDER, 299);
    assert_eq!(rig.queue(P0), [poor, rich]);
}

#[test]
fn a_yield_stands_back_behind_its_class_even_with_runq_sort() {
    let params = [("runq_sort", 1)];
    let mut rig = Rig::with("4.1", Topology::flat(1).unwrap(), &params);
    let rich = rig.running_on(P0, UNDER);
    rig.set_credit(rich, 290);
    let poor = queued_with(&mut rig, UNDER, 1);
    rig.yielded(rich);
    assert_eq!(rig.pass(P0).next, Some(poor));
}
