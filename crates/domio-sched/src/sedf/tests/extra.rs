//! Extra time: turns, scores and gaps.

use super::*;

#[test]
fn a_gap_under_500_us_stays_idle() {
    for (begins, idles) in [(500_u64, false), (499, true)] {
        let mut rig = Rig::new("3.1", 1);
        let hog = rig.guest(&[]);
        let v = rig.guest(&capped(10_000, 1_000));
        rig.wake(hog);
        rig.wake(v);
        // The next period of `v` begins at 11 ms.
        rig.run_to(at_ms(3));
        rig.now = at_us(11_000 - begins);
        let pick = rig.pass(P0);
        let expected = if idles { None } else { Some(hog) };
        assert_eq!(pick.next, expected, "{begins} us");
        assert_eq!(pick.time_slice, Some(us(begins)));
        assert_eq!(rig.notes_of(9).len(), usize::from(idles));
    }
}

#[test]
fn a_turn_lasts_500_us_however_much_time_there_is() {
    let mut rig = Rig::new("3.1", 1);
    let hog = rig.guest(&[]);
    rig.wake(hog);
    let pick = rig.pass(P0);
    assert_eq!((pick.next, pick.time_slice), (Some(hog), Some(us(500))));
}

#[test]
fn without_extra_time_the_slice_is_all() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(1005));
    assert_eq!(rig.ran(v), us(250_000), "a quarter of a second");
}

#[test]
fn with_extra_time_nothing_but_gaps_is_left_over() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(1005));
    assert_eq!(rig.ran(v), us(1_005_000));
}

#[test]
fn turns_go_to_the_lowest_score_and_cost_it() {
    let mut rig = Rig::new("3.1", 1);
    let heavy = rig.guest(&[("weight", 4)]);
    let light = rig.guest(&[("weight", 1)]);
    rig.wake(heavy);
    rig.wake(light);
    rig.settle();
    let mut order = Vec::new();
    for turn in 0..10 {
        order.push(rig.current(P0).unwrap());
        rig.run_to(at_us(500 * (turn + 1)));
    }
    let (h, l) = (heavy, light);
    // The first turns cost nothing beyond the price, since nobody has a score yet.
    assert_eq!(order, [h, l, h, h, h, l, h, h, h, h]);
}

#[test]
fn the_others_get_nearer_by_the_score_of_who_had_the_turn() {
    let mut rig = Rig::new("3.1", 1);
    let vcpus = [0; 3].map(|_| rig.guest(&[]));
    for (v, score) in vcpus.iter().zip([100, 300, 700]) {
        rig.state_mut(*v).score[1] = score;
        rig.wake(*v);
    }
    rig.settle();
    assert_eq!(rig.current(P0), Some(vcpus[0]));
    rig.run_to(at_us(500));
    let scores = vcpus.map(|v| rig.state(v).score[1]);
    assert_eq!(scores, [131_072, 200, 600]);
    assert_eq!(rig.current(P0), Some(vcpus[1]));
    assert_eq!(
        rig.queue(Queue::Utilisation),
        [vcpus[1], vcpus[2], vcpus[0]]
    );
}

#[test]
fn those_behind_its_new_place_get_nearer_as_well() {
    let mut rig = Rig::new("3.1", 1);
    let heavy = rig.guest(&[("weight", 131)]);
    let others = [0; 3].map(|_| rig.guest(&[]));
    let all = [heavy, others[0], others[1], others[2]];
    for (v, score) in all.iter().zip([100, 300, 5_000, 6_000]) {
        rig.state_mut(*v).score[1] = score;
        rig.wake(*v);
    }
    rig.run_to(at_us(500));
    let queue = rig.queue(Queue::Utilisation);
    let scores: Vec<_> = queue.iter().map(|v| rig.state(*v).score[1]).collect();
    assert_eq!(queue, [others[0], heavy, others[1], others[2]]);
    assert_eq!(scores, [200, 1_000, 4_900, 5_900]);
}

#[test]
fn who_blocks_in_a_turn_leaves_with_the_price_and_charges_nobody() {
    let mut rig = Rig::new("3.1", 1);
    let vcpus = [0; 2].map(|_| rig.guest(&[]));
    for (v, score) in vcpus.iter().zip([100, 300]) {
        rig.state_mut(*v).score[1] = score;
        rig.wake(*v);
    }
    rig.settle();
    rig.run_to(at_us(200));
    rig.block_now(vcpus[0]);
    assert_eq!(vcpus.map(|v| rig.state(v).score[1]), [131_072, 300]);
    assert_eq!(rig.queue(Queue::Utilisation), [vcpus[1]]);
    assert!(!rig.state(vcpus[0]).linked());
}

#[test]
fn an_interrupted_turn_costs_as_much_as_a_whole_one() {
    let mut rig = Rig::new("3.1", 1);
    let hog = rig.guest(&[]);
    rig.wake_now(hog);
    rig.run_to(at_us(200));
    rig.pass(P0);
    assert_eq!(rig.state(hog).score[1], 131_072);
}

/// A vcpu with 20/5 ms that runs 2 ms of its slice, blocks for 1 ms and has lost 3 ms, with a
/// best-effort guest beside it.
fn after_a_short_block(version: &str) -> (Rig, VcpuId, VcpuId) {
    let mut rig = Rig::new(version, 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    let hog = rig.guest(&[]);
    rig.wake(v);
    rig.wake(hog);
    rig.run_to(at_ms(7));
    assert_eq!(rig.current(P0), Some(v));
    rig.block_now(v);
    rig.run_to(at_ms(8));
    rig.wake_now(v);
    assert_eq!(rig.current(P0), Some(v), "it preempts the other's turn");
    assert!(rig.state(v).has(flag::RUN_PENALTY));
    (rig, v, hog)
}

#[test]
fn one_turn_makes_up_for_a_short_block_since_3_1() {
    let (mut rig, v, _) = after_a_short_block("3.1");
    rig.run_to(at_us(8_500));
    assert!(!rig.state(v).has(flag::WANT_PENALTY));
    assert_eq!(rig.state(v).lost, 0);
    assert_eq!(rig.queue(Queue::Penalty), []);
}

#[test]
fn turns_follow_until_the_loss_is_made_up_in_3_0() {
    let (mut rig, v, hog) = after_a_short_block("3.0");
    for turn in 1..6 {
        rig.run_to(at_us(8_000 + 500 * turn));
        let left = 3 * MS - 500 * US * turn as i64;
        assert_eq!(rig.state(v).lost, left);
        assert_eq!(rig.state(v).score[0], ((20 * MS) << 10) / left);
        assert_eq!(rig.current(P0), Some(v), "turn {turn}");
        assert!(rig.state(v).has(flag::RUN_PENALTY), "turn {turn}");
    }
    rig.run_to(at_ms(11));
    assert!(!rig.state(v).has(flag::WANT_PENALTY));
    assert_eq!(rig.queue(Queue::Penalty), []);
    assert_eq!(rig.queue(Queue::Utilisation).len(), 2);
    rig.run_to(at_ms(12));
    assert_eq!(
        rig.ran(hog) + rig.ran(v),
        us(12_000),
        "neither waits for nothing"
    );
}

#[test]
fn a_block_in_the_turn_that_makes_up_takes_it_off_every_queue() {
    let (mut rig, v, _) = after_a_short_block("3.0");
    rig.run_to(at_us(8_200));
    rig.block_now(v);
    assert!(
        rig.state(v).has(flag::WANT_PENALTY),
        "2.8 ms are still owed"
    );
    for queue in Queue::ALL {
        assert!(!rig.state(v).is_in(queue));
    }
    // Its period begins at the old deadline of 25 ms: until then it wakes in extra time.
    rig.run_to(at_ms(9));
    rig.wake_now(v);
    assert_eq!(rig.queue(Queue::Penalty), [v]);
    assert_eq!(rig.current(P0), Some(v));
}

#[test]
fn who_lost_the_larger_part_of_its_period_comes_first() {
    let mut rig = Rig::new("3.1", 1);
    let little = rig.guest(&reserves(20_000, 2_000));
    let much = rig.guest(&reserves(20_000, 5_000));
    for v in [little, much] {
        rig.wake(v);
    }
    rig.run_to(at_us(2_500));
    assert_eq!(rig.current(P0), Some(little));
    rig.block_now(little);
    rig.run_to(at_us(6_000));
    assert_eq!(rig.current(P0), Some(much));
    rig.block_now(much);
    rig.wake(little);
    rig.wake(much);
    // 1.5 of 20 ms and 4 of 20 ms.
    let scores = [little, much].map(|v| rig.state(v).score[0]);
    assert_eq!(scores, [13_653, 5_120]);
    assert_eq!(rig.queue(Queue::Penalty), [much, little]);
}

#[test]
fn by_its_reservation_a_vcpu_shares_better_than_any_guest() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_us(11_600));
    // 20 over 5, with ten binary places.
    assert_eq!(rig.state(v).score[1], 4_096);
}

#[test]
fn a_slice_of_nothing_does_not_divide_by_zero() {
    let mut rig = Rig::new("3.0", 1);
    let dom0 = rig.dom0();
    let all = rig.guest(&capped(20_000, 19_000));
    rig.adjust(DomainId(0), &[("weight", 1), ("period_us", 20_000)]);
    assert_eq!(
        rig.state(dom0).slice,
        0,
        "the other one reserves all that there is for weights"
    );
    assert_eq!(rig.state(dom0).extraweight, 0);
    rig.wake(dom0);
    rig.run_to(at_ms(3));
    assert_eq!(rig.state(dom0).score[1], (100 * MS) << 10);
    assert_eq!(rig.ran(all), Duration::ZERO);
    // Reservations of 100 ms in 100 leave -5 ms; the turn that follows costs 100 over that.
    rig.adjust(DomainId(1), &capped(20_000, 20_000));
    rig.adjust(DomainId(0), &[("weight", 1), ("period_us", 20_000)]);
    rig.run_to(at_ms(6));
    assert_eq!(rig.state(dom0).score[1], -20_480);
}
