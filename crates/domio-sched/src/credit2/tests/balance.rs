//! Moves between run queues, and choosing a pcpu.

use super::*;

const ONE: i64 = 1 << 18;

/// Two sockets of two pcpus.
fn two_sockets() -> Rig {
    Rig::with(Topology::new(2, 2, 1).unwrap(), &[])
}

fn runq(rig: &Rig, vcpu: VcpuId) -> u16 {
    rig.policy.vcpus[vcpu.index()].runq
}

/// Guests that sleep, in the run queue that the word says.
fn guests(rig: &mut Rig, runqs: &[u16]) -> Vec<VcpuId> {
    let mut all = Vec::new();
    for &wanted in runqs {
        let domain = rig.domain(256, 0);
        let pcpus = set(&[2 * wanted, 2 * wanted + 1]);
        let v = rig.vcpu_within(domain, pcpus, CpuSet::ALL);
        rig.tables.affinity[v.index()].hard = CpuSet::ALL;
        assert_eq!(runq(rig, v), wanted);
        all.push(v);
    }
    all
}

/// Loads of the guests, from which those of the run queues follow; all worked out now.
fn loads(rig: &mut Rig, loads: &[(VcpuId, i64)]) {
    rig.policy.runqs[0].balanced = 0;
    rig.policy.runqs[1].balanced = 0;
    for (vcpu, load) in loads {
        rig.policy.vcpus[vcpu.index()].average = *load;
        let of = runq(rig, *vcpu) as usize;
        rig.policy.runqs[of].balanced += load;
    }
}

#[test]
fn newcomers_go_where_there_is_least_load_in_turn() {
    let mut rig = two_sockets();
    let homes: Vec<PcpuId> = (0..5)
        .map(|_| {
            let v = rig.guest(256);
            rig.home(v)
        })
        .collect();
    // Half a vcpu each: the first run queue, the second, and so on.
    assert_eq!(homes, [P1, P3, P0, P2, P1]);
}

#[test]
fn its_own_load_is_not_held_against_a_run_queue() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[0, 1]);
    loads(&mut rig, &[(all[0], ONE), (all[1], ONE / 2)]);
    rig.place(all[0]);
    assert_eq!(runq(&rig, all[0]), 0);
}

#[test]
fn a_change_of_run_queue_takes_the_turn_after_the_one_chosen() {
    let mut rig = Rig::with(Topology::new(2, 3, 1).unwrap(), &[]);
    let v = rig.guest(256);
    rig.policy.runqs[0].balanced = 5 * ONE;
    assert_eq!(rig.policy.runqs[1].pick_bias, P3);
    // P4 is chosen, and then the move takes the next one.
    assert_eq!(rig.place(v), PcpuId(5));
    assert_eq!(rig.policy.runqs[1].pick_bias, PcpuId(5));
    assert_eq!(rig.policy.runqs[1].balanced, ONE / 2);
}

#[test]
fn a_preferred_run_queue_is_found_by_the_bias_of_the_lightest() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[1]);
    loads(&mut rig, &[(all[0], ONE)]);
    rig.policy.runqs[0].pick_bias = P0;
    let domain = rig.domain(256, 0);
    let v = rig.vcpu_within(domain, CpuSet::ALL, set(&[2, 3]));
    assert_eq!((rig.home(v), runq(&rig, v)), (P2, 1));
    // The bias of the first run queue points into the second one.
    assert_eq!(rig.policy.runqs[0].pick_bias, P2);
}

#[test]
fn a_sleeper_is_pushed_at_once() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[0, 0, 0]);
    loads(&mut rig, &[(all[0], ONE), (all[1], ONE), (all[2], ONE / 2)]);
    rig.call(|c, cx| c.balance(cx, 0, all[2]));
    // Loads are worked out anew: all sleep, for no time. One and one against a half.
    assert_eq!(runq(&rig, all[0]), 1);
    assert_eq!(rig.policy.runqs[0].balanced, ONE * 3 / 2);
    assert_eq!(rig.policy.runqs[1].balanced, ONE);
    assert_eq!(
        rig.home(all[0]),
        P3,
        "after the first, where the bias began"
    );
}

#[test]
fn who_waits_is_pushed_and_tickles_there() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[0, 0, 0, 0]);
    for v in &all {
        rig.wake(*v);
    }
    loads(
        &mut rig,
        &[(all[0], ONE), (all[1], 0), (all[2], 0), (all[3], 0)],
    );
    rig.tickled();
    rig.call(|c, cx| c.balance(cx, 0, all[1]));
    // A whole one moved would leave as much difference as there was, so nobody goes.
    assert_eq!(runq(&rig, all[0]), 0);
    loads(
        &mut rig,
        &[(all[0], ONE), (all[1], ONE / 2), (all[2], 0), (all[3], 0)],
    );
    rig.call(|c, cx| c.balance(cx, 0, all[3]));
    assert_eq!(runq(&rig, all[0]), 1);
    assert_eq!(rig.queue(1), [all[0]]);
    assert_eq!(rig.tickled(), [rig.home(all[0])]);
    assert_eq!((rig.policy.runqs[0].load, rig.policy.runqs[1].load), (3, 1));
}

#[test]
fn who_runs_is_flagged_and_goes_with_its_next_pass() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[0, 0]);
    rig.tables.vcpus[all[0].index()].pcpu = P0;
    rig.wake(all[0]);
    rig.pass(P0);
    loads(&mut rig, &[(all[0], ONE), (all[1], ONE / 4)]);
    rig.tickled();
    rig.call(|c, cx| c.balance(cx, 0, all[1]));
    assert_eq!(
        (rig.flagged.clone(), rig.tickled()),
        (alloc::vec![all[0]], alloc::vec![P0])
    );
    rig.pass(P0);
    assert_eq!(runq(&rig, all[0]), 1);
    assert_eq!(rig.queue(1), [all[0]]);
}

#[test]
fn who_is_about_to_run_runs_first() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[0, 0]);
    rig.tables.vcpus[all[0].index()].pcpu = P0;
    rig.wake(all[0]);
    rig.set_credit(all[0], -MS);
    loads(&mut rig, &[(all[0], ONE), (all[1], ONE / 4)]);
    rig.tickled();
    // The pass resets and balances.
    assert_eq!(rig.pass(P0).next, Some(all[0]));
    assert!(rig.has(all[0], flag::MARKED) && rig.flagged.is_empty());
    assert_eq!(rig.tickled(), [P0]);
    assert_eq!(rig.pass(P0), Pick::IDLE);
    assert_eq!(rig.flagged, [all[0]]);
    assert_eq!(runq(&rig, all[0]), 1);
}

#[test]
fn a_pair_is_swapped_if_that_is_best() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[0, 0, 1]);
    let of = [ONE * 3 / 2, ONE * 3 / 2, ONE / 2];
    loads(
        &mut rig,
        &[(all[0], of[0]), (all[1], of[1]), (all[2], of[2])],
    );
    rig.call(|c, cx| c.balance(cx, 0, all[1]));
    // Two and a half apart: a push leaves a half, a swap as well; the first that was seen counts.
    assert_eq!((runq(&rig, all[0]), runq(&rig, all[2])), (1, 0));
}

#[test]
fn small_differences_are_put_up_with_unless_the_host_is_full() {
    // Three eighths of a vcpu apart: under one, and over an eighth.
    for (base, moves) in [(ONE / 4, false), (2 * ONE, true)] {
        let mut rig = two_sockets();
        let all = guests(&mut rig, &[0, 0, 0, 1]);
        let (eighth, quarter) = (ONE / 8, ONE / 4);
        let of = [
            (all[0], base),
            (all[1], eighth),
            (all[2], quarter),
            (all[3], base),
        ];
        loads(&mut rig, &of);
        rig.call(|c, cx| c.balance(cx, 0, all[0]));
        assert_eq!(runq(&rig, all[1]) == 1, moves);
        assert_eq!((runq(&rig, all[0]), runq(&rig, all[2])), (0, 0));
    }
}

#[test]
fn affinity_keeps_a_vcpu_from_moving() {
    let mut rig = two_sockets();
    let all = guests(&mut rig, &[0, 0]);
    rig.tables.affinity[all[0].index()].hard = set(&[0, 1]);
    loads(&mut rig, &[(all[0], ONE), (all[1], ONE / 4)]);
    rig.call(|c, cx| c.balance(cx, 0, all[1]));
    assert_eq!((runq(&rig, all[0]), runq(&rig, all[1])), (0, 1));
}
