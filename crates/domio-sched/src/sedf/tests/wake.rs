//! Wake-ups: what becomes of the period, and whom they interrupt.

use super::*;

#[test]
fn the_first_period_begins_after_one_slice() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    rig.skip(us(3_000));
    rig.wake(v);
    assert_eq!(rig.state(v).deadline, 28 * MS);
    assert_eq!(rig.queue(Queue::Wait), [v]);
    assert!(!rig.state(v).has(flag::WANT_PENALTY), "nothing was lost");
}

#[test]
fn a_best_effort_guest_begins_at_once() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&[]);
    rig.skip(us(3_000));
    rig.wake(v);
    assert_eq!(rig.state(v).deadline, 103 * MS);
    assert_eq!(rig.queue(Queue::Run), [v]);
    assert_eq!(rig.queue(Queue::Utilisation), [v]);
}

#[test]
fn a_long_block_begins_a_period_at_the_wake_up() {
    for version in EPOCHS {
        let mut rig = Rig::new(version, 1);
        let v = rig.guest(&capped(20_000, 5_000));
        rig.wake(v);
        rig.run_to(at_ms(6));
        rig.block_now(v);
        // The deadline itself is late enough.
        rig.run_to(at_ms(25));
        rig.wake_now(v);
        assert_eq!(
            (rig.state(v).deadline, rig.state(v).cputime),
            (45 * MS, 0),
            "{version}"
        );
        assert_eq!(rig.current(P0), Some(v));
        assert!(
            !rig.state(v).has(flag::WANT_PENALTY),
            "{version}: it is owed nothing"
        );
    }
}

#[test]
fn a_wake_up_before_the_next_period_changes_no_deadline() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    rig.wake(v);
    // Its slice is used from 5 to 10 ms; then it has extra time.
    rig.run_to(at_ms(11));
    rig.block_now(v);
    rig.run_to(at_ms(12));
    rig.wake(v);
    assert_eq!(rig.state(v).deadline, 45 * MS);
    assert_eq!(rig.queue(Queue::Wait), [v]);
    assert_eq!(rig.queue(Queue::Utilisation), [v]);
    assert_eq!(rig.queue(Queue::Penalty), []);
}

#[test]
fn without_anything_lost_there_is_no_turn_for_it() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(6));
    rig.state_mut(v).cputime = 4 * MS;
    // Used exactly 5 ms of 5 ms, so that its next period is one later and waking is in extra time.
    rig.block_now(v);
    assert_eq!(rig.state(v).deadline, 45 * MS);
    rig.wake(v);
    assert!(!rig.state(v).has(flag::WANT_PENALTY));
    // A cut slice: it sleeps in its period, having used more than there is now.
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(8));
    rig.block_now(v);
    rig.adjust(DomainId(1), &reserves(20_000, 2_000));
    rig.wake(v);
    assert_eq!((rig.state(v).deadline, rig.state(v).lost), (45 * MS, 0));
    assert!(!rig.state(v).has(flag::WANT_PENALTY));
}

#[test]
fn who_shares_no_extra_time_still_gets_the_turn_for_a_short_block() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(7));
    rig.block_now(v);
    rig.run_to(at_ms(8));
    rig.wake_now(v);
    assert_eq!(rig.current(P0), Some(v));
    assert_eq!(rig.queue(Queue::Utilisation), []);
    rig.run_to(at_us(8_500));
    assert_eq!(rig.current(P0), None);
}

#[test]
fn whoever_is_queued_or_current_is_not_woken_again() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake_now(v);
    rig.tickled();
    rig.skip(us(30_000));
    rig.wake(v);
    assert_eq!(rig.state(v).deadline, 25 * MS, "queued");
    assert_eq!(rig.tickled(), CpuSet::EMPTY);
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(6));
    // It blocks, and its event comes before the pass.
    rig.block(v);
    rig.wake(v);
    assert_eq!(rig.pass(P0).next, Some(v));
    assert_eq!((rig.state(v).deadline, rig.state(v).cputime), (25 * MS, MS));
}

#[test]
fn a_pause_that_ends_before_the_pass_is_no_sleep() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&reserves(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(6));
    rig.stop(v, Pause::PAUSED);
    assert!(
        rig.pending.contains(P0),
        "the pause of a current vcpu asks for a pass"
    );
    rig.tables.vcpus[v.index()].pause = Pause::NONE;
    rig.wake(v);
    assert_eq!(rig.pass(P0).next, Some(v));
}

#[test]
fn a_queued_vcpu_that_is_paused_leaves_every_queue() {
    let mut rig = Rig::new("3.1", 1);
    let hog = rig.guest(&capped(20_000, 15_000));
    let v = rig.guest(&reserves(40_000, 16_000));
    rig.wake(hog);
    rig.wake(v);
    rig.run_to(at_ms(17));
    assert_eq!(rig.current(P0), Some(hog));
    assert_eq!(rig.queue(Queue::Run), [hog, v]);
    rig.tickled();
    rig.stop(v, Pause::PAUSED);
    for queue in Queue::ALL {
        assert!(!rig.state(v).is_in(queue), "{queue:?}");
    }
    assert_eq!(rig.tickled(), CpuSet::EMPTY, "nobody has to know");
}

/// Whether a vcpu that wakes is let in while another one runs. `running` and `woken` have their
/// state as given; the slice that runs ends at 1 ms, now is 0.
fn preempts(running: impl Fn(&mut Vcpu), woken: impl Fn(&mut Vcpu)) -> bool {
    let mut rig = Rig::new("3.1", 1);
    let [current, other] = [0; 2].map(|_| rig.guest(&[]));
    rig.tables.pcpus[P0].current = Some(current);
    rig.policy.pcpus[0].expires = MS;
    let v = rig.state_mut(other);
    v.deadline = v.period + 2 * MS;
    woken(v);
    running(rig.state_mut(current));
    rig.call(|s, cx| s.preempts(cx, other))
}

#[test]
fn a_period_that_begins_within_the_slice_interrupts_anybody() {
    for (begin, expected) in [(MS - 1, true), (MS, false)] {
        let woken = |v: &mut Vcpu| v.deadline = v.period + begin;
        assert_eq!(preempts(|_| (), woken), expected);
        assert_eq!(preempts(|v| v.set(flag::RUN_UTILISATION), woken), expected);
    }
}

#[test]
fn a_turn_that_is_owed_interrupts_sharing_and_worse_turns_only() {
    let owed = |score: i64| {
        move |v: &mut Vcpu| {
            v.set(flag::WANT_PENALTY);
            v.score[0] = score;
        }
    };
    let in_turn = |v: &mut Vcpu| {
        v.set(flag::RUN_PENALTY);
        v.score[0] = 1000;
    };
    let sharing = |v: &mut Vcpu| v.set(flag::RUN_UTILISATION);
    assert!(!preempts(|_| (), owed(1)), "a reservation");
    assert!(preempts(sharing, owed(9_999)));
    assert!(!preempts(sharing, |v| v.score[0] = 1), "nothing is owed");
    assert!(preempts(in_turn, owed(999)));
    assert!(!preempts(in_turn, owed(1000)));
    assert!(!preempts(in_turn, |v| v.score[0] = 1));
}

#[test]
fn an_idle_pcpu_is_always_told() {
    let mut rig = Rig::new("3.1", 1);
    let v = rig.guest(&capped(20_000, 5_000));
    rig.policy.pcpus[0].expires = 0;
    rig.wake(v);
    assert_eq!(rig.tickled(), CpuSet::of(P0));
}

#[test]
fn a_guest_that_wakes_in_a_skipped_period_waits_for_the_end_of_the_turn() {
    let mut rig = Rig::new("3.1", 1);
    let [hog, v] = [0; 2].map(|_| rig.guest(&[]));
    rig.wake_now(v);
    rig.run_to(at_us(100));
    rig.block_now(v);
    rig.wake_now(hog);
    rig.run_to(at_us(250));
    rig.tickled();
    rig.wake_now(v);
    assert_eq!(rig.tickled(), CpuSet::EMPTY);
    assert_eq!(rig.current(P0), Some(hog));
}

#[test]
fn a_move_looks_like_a_wake_up() {
    let mut rig = Rig::new("3.1", 2);
    let domain = rig.domain(&capped(20_000, 5_000));
    let v = rig.vcpu_within(domain, CpuSet::of(P0));
    rig.wake(v);
    rig.run_to(at_ms(7));
    assert_eq!(rig.current(P0), Some(v));
    rig.tables.affinity[v.index()].hard = CpuSet::of(P1);
    rig.stop(v, Pause::MIGRATING);
    rig.settle();
    assert_eq!(rig.home(v), P1);
    assert_eq!(
        (rig.state(v).deadline, rig.state(v).lost),
        (45 * MS, 3 * MS)
    );
    assert_eq!(rig.current(P1), Some(v), "in the turn for its loss");
    assert_eq!(rig.queue(Queue::Wait), []);
}

/// The state of a vcpu with 20/5 ms under `unblock` that used `used` and slept from then until
/// `wakes`, in microseconds; its period lasts from 5 to 25 ms.
fn slept(unblock: &str, used: u64, wakes: u64) -> Vcpu {
    let mut rig = Rig::unblocking(unblock);
    let v = rig.guest(&[
        ("period_us", 20_000),
        ("slice_us", 5_000),
        ("extratime", 0),
        ("latency_us", 4_000),
    ]);
    rig.wake(v);
    rig.run_to(at_us(5_000 + used));
    rig.block_now(v);
    rig.run_to(at_us(wakes));
    rig.wake(v);
    assert!(!rig.state(v).has(flag::WANT_PENALTY) || unblock == "extra-support");
    *rig.state(v)
}

#[test]
fn the_other_ways_to_wake_skip_a_period_after_a_short_block() {
    for unblock in ["isochronous-edf", "edf", "atropos"] {
        let v = slept(unblock, 2_000, 8_000);
        assert_eq!(
            (v.deadline, v.cputime, v.lost),
            (45 * MS, 0, 0),
            "{unblock}"
        );
    }
}

#[test]
fn short_resume_counts_sleep_as_use_and_goes_on_if_a_turn_is_left() {
    // 2 ms used, 2.5 ms asleep: 0.5 ms are left.
    let v = slept("short-resume", 2_000, 9_500);
    assert_eq!((v.deadline, v.cputime), (25 * MS, 4_500 * US));
    assert!(v.is_in(Queue::Run));
    let v = slept("short-resume", 2_000, 9_501);
    assert_eq!((v.deadline, v.cputime), (45 * MS, 0));
    assert!(v.is_in(Queue::Wait));
}

#[test]
fn after_a_long_block_only_isochronous_edf_keeps_the_grid() {
    for unblock in ["extra-support", "edf", "short-resume"] {
        let v = slept(unblock, 2_000, 32_000);
        assert_eq!(
            (v.deadline, v.cputime, v.period),
            (52 * MS, 0, 20 * MS),
            "{unblock}"
        );
    }
    // Its periods end at 25, 45, 65 ms; the first whole one after 32 ms is from 45 ms on.
    let v = slept("isochronous-edf", 2_000, 32_000);
    assert_eq!((v.deadline, v.cputime), (65 * MS, 0));
    let v = slept("isochronous-edf", 2_000, 45_000);
    assert_eq!(v.deadline, 65 * MS, "it begins right now");
}

#[test]
fn atropos_begins_with_the_latency_and_doubles_back() {
    let mut rig = Rig::unblocking("atropos");
    let v = rig.guest(&[
        ("period_us", 20_000),
        ("slice_us", 5_000),
        ("extratime", 0),
        ("latency_us", 6_000),
    ]);
    rig.wake(v);
    rig.run_to(at_ms(7));
    rig.block_now(v);
    rig.run_to(at_ms(30));
    rig.wake_now(v);
    let reservation = |rig: &Rig| {
        let v = rig.state(v);
        (v.period / US, v.slice / US, v.deadline / US)
    };
    assert_eq!(reservation(&rig), (6_000, 1_500, 36_000));
    rig.run_to(at_us(31_500));
    assert_eq!(reservation(&rig), (12_000, 3_000, 48_000));
    // Its next slice is from 36 to 39 ms; 24 ms would be more than the period that was given.
    rig.run_to(at_ms(39));
    assert_eq!(reservation(&rig), (20_000, 5_000, 68_000));
}

#[test]
fn without_a_latency_atropos_begins_a_whole_period() {
    let mut rig = Rig::unblocking("atropos");
    let v = rig.guest(&capped(20_000, 5_000));
    rig.wake(v);
    rig.run_to(at_ms(7));
    rig.block_now(v);
    rig.run_to(at_ms(30));
    rig.wake(v);
    assert_eq!(
        (rig.state(v).deadline, rig.state(v).period),
        (50 * MS, 20 * MS)
    );
}
