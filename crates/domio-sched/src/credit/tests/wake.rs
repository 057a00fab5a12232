//! Boost, and whom a wake-up tickles.

use super::*;

#[test]
fn only_under_is_boosted() {
    for version in crate::rig::versions(&super::super::DESCRIPTOR) {
        let mut rig = Rig::new(version, 1);
        let under = rig.guest_on(P0);
        let over = rig.guest_on(P0);
        rig.force(over, OVER);
        rig.wake(under);
        rig.wake(over);
        assert_eq!(rig.credit.priority(under), BOOST, "{version}");
        assert_eq!(rig.credit.priority(over), OVER, "{version}");
        assert_eq!(rig.queue(P0), [under, over]);
        assert_eq!(rig.notes_of(7), [[0, 0]], "one BOOST_START");
    }
}

#[test]
fn a_vcpu_that_runs_or_queues_already_is_left_alone() {
    let mut rig = Rig::new("4.17", 1);
    let running = rig.running_on(P0, UNDER);
    rig.wake(running);
    assert_eq!(rig.credit.priority(running), UNDER);
    let queued = rig.queued_on(P0, UNDER);
    rig.wake(queued);
    assert_eq!(rig.credit.priority(queued), UNDER);
    assert_eq!(rig.queue(P0), [queued]);
    assert!(rig.tickled().is_empty());
}

#[test]
fn the_boost_ends_at_a_tick_without_preemption() {
    let mut rig = Rig::new("4.17", 1);
    let hog = rig.running_on(P0, BOOST);
    let rival = rig.guest_on(P0);
    rig.wake(rival);
    assert!(rig.tickled().is_empty(), "equal priority does not preempt");
    rig.skip(ms(10));
    rig.tick(P0);
    assert_eq!(rig.credit.priority(hog), UNDER);
    assert_eq!(rig.notes_of(8), [[0, 0]], "one BOOST_END");
    assert!(rig.tickled().is_empty(), "the rival waits for the slice");
}

#[test]
fn the_boost_outlives_a_short_sleep() {
    let mut rig = Rig::new("4.17", 1);
    let v = rig.running_on(P0, BOOST);
    rig.skip(ms(1));
    rig.block(v);
    rig.pass(P0);
    assert_eq!(rig.credit.priority(v), BOOST);
    rig.notes.clear();
    rig.wake(v);
    assert_eq!(rig.credit.priority(v), BOOST);
    assert!(rig.notes_of(7).is_empty(), "it does not start again");
}

/// Priority of a vcpu with credit after it was sent to another pcpu.
fn after_migration(version: &str) -> Priority {
    let mut rig = Rig::new(version, 2);
    let v = rig.running_on(P0, UNDER);
    rig.tables.vcpus[v.index()].pause.set(Pause::MIGRATING);
    rig.pass(P0);
    rig.credit.priority(v)
}

#[test]
fn migration_boosts_until_4_6() {
    for version in [
        "3.1", "3.3", "3.4", "4.0", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6",
    ] {
        assert_eq!(after_migration(version), BOOST, "{version}");
    }
    for version in ["4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13", "4.17"] {
        assert_eq!(after_migration(version), UNDER, "{version}");
    }
}

#[test]
fn a_new_vcpu_is_not_boosted_where_its_placement_is_a_migration() {
    for (version, priority) in [
        ("3.1", BOOST),
        ("4.7", BOOST),
        ("4.8", UNDER),
        ("4.17", UNDER),
    ] {
        let mut rig = Rig::new(version, 1);
        let domain = rig.domain(256, 0);
        let v = rig.vcpu(domain);
        rig.wake(v);
        assert_eq!(rig.credit.priority(v), priority, "{version}");
        // Later wake-ups are like any other's.
        rig.pass(P0);
        rig.block(v);
        rig.skip(ms(1));
        rig.pass(P0);
        rig.wake(v);
        assert_eq!(rig.credit.priority(v), BOOST, "{version}");
    }
}

#[test]
fn boost_can_be_switched_off() {
    let mut rig = Rig::with("3.1", Topology::flat(1).unwrap(), &[("boost", 0)]);
    let hog = rig.running_on(P0, UNDER);
    let v = rig.guest_on(P0);
    rig.wake(v);
    assert_eq!(rig.credit.priority(v), UNDER);
    assert!(rig.tickled().is_empty());
    rig.force(hog, OVER);
    let w = rig.guest_on(P0);
    rig.wake(w);
    assert_eq!(rig.tickled(), set(&[0]), "it still preempts OVER");
}

#[test]
fn without_tickling_nobody_is_preempted_but_idle_pcpus_wake() {
    for version in ["3.1", "4.1", "4.17"] {
        let mut rig = Rig::with(version, Topology::flat(2).unwrap(), &[("tickle", 0)]);
        let first = rig.guest_on(P0);
        rig.wake(first);
        assert_eq!(rig.tickled(), set(&[0]), "{version}: its own idle pcpu");
        rig.pass(P0);
        rig.force(first, OVER);
        let second = rig.guest_on(P0);
        rig.wake(second);
        assert_eq!(rig.tickled(), set(&[1]), "{version}: another idle pcpu");
        rig.pass(P1);
        let third = rig.guest_on(P0);
        rig.wake(third);
        assert!(rig.tickled().is_empty(), "{version}: no preemption");
        assert_eq!(rig.queue(P0), [third]);
    }
}

#[test]
fn an_idle_pcpu_of_its_own_comes_first() {
    for version in ["3.1", "4.17"] {
        let mut rig = Rig::new(version, 4);
        let v = rig.guest_on(P2);
        rig.wake(v);
        assert_eq!(rig.tickled(), set(&[2]), "{version}");
        assert_eq!(rig.notes_of(6), [[2]]);
    }
}

#[test]
fn without_idle_pcpus_only_higher_priority_preempts() {
    for version in ["3.1", "4.1", "4.3", "4.17"] {
        for (current, preempts) in [(BOOST, false), (UNDER, true), (OVER, true)] {
            let mut rig = Rig::new(version, 1);
            rig.running_on(P0, current);
            let v = rig.guest_on(P0);
            rig.wake(v);
            assert_eq!(
                !rig.tickled().is_empty(),
                preempts,
                "{version}, {current:?}"
            );
        }
    }
}

#[test]
fn idle_pcpus_take_turns() {
    let mut rig = Rig::new("4.8", 4);
    rig.running_on(P0, BOOST);
    let mut tickled = Vec::new();
    for _ in 0..4 {
        let v = rig.guest_on(P0);
        rig.wake(v);
        tickled.push(rig.tickled());
        // Whoever was tickled still counts as idle until its pass (4.8).
        rig.call(|c, cx| c.sleep(cx, v));
    }
    assert_eq!(tickled, [set(&[1]), set(&[2]), set(&[3]), set(&[1])]);
}

#[test]
fn a_tickled_pcpu_no_longer_counts_as_idle_since_4_9() {
    for (version, idle) in [("4.8", true), ("4.9", false), ("4.17", false)] {
        let mut rig = Rig::new(version, 2);
        rig.running_on(P0, UNDER);
        let v = rig.guest_on(P0);
        rig.wake(v);
        assert_eq!(rig.tickled(), set(&[1]));
        assert_eq!(rig.credit.idlers.contains(P1), idle, "{version}");
    }
}

#[test]
fn only_idle_pcpus_that_suit_are_tickled() {
    for version in ["3.1", "4.1", "4.17"] {
        let mut rig = Rig::new(version, 4);
        rig.running_on(P0, BOOST);
        let v = rig.guest_on(P0);
        rig.set_hard(v, &[0, 3]);
        rig.wake(v);
        assert_eq!(rig.tickled(), set(&[3]), "{version}");
    }
}

#[test]
fn once_one_suits_any_idle_pcpu_is_tickled_in_4_6_and_4_7() {
    for (version, expected) in [
        ("4.3", 3),
        ("4.5", 3),
        ("4.6", 1),
        ("4.7", 1),
        ("4.8", 3),
        ("4.17", 3),
    ] {
        let mut rig = Rig::new(version, 4);
        rig.running_on(P0, UNDER);
        let v = rig.guest_on(P0);
        rig.set_hard(v, &[0, 3]);
        rig.wake(v);
        assert_eq!(rig.tickled(), set(&[expected]), "{version}");
        // None suits: not even one of those that idle.
        let w = rig.guest_on(P0);
        rig.set_hard(w, &[0]);
        rig.wake(w);
        assert_eq!(rig.tickled(), set(&[0]), "{version}");
    }
}

/// Idle pcpus take turns on each pcpu that wakes somebody, not on those whose vcpus are woken.
#[test]
fn whose_turn_it_is_the_waker_knows() {
    for version in ["4.1", "4.3", "4.17"] {
        let mut rig = Rig::new(version, 4);
        rig.running_on(P0, BOOST);
        rig.running_on(P1, BOOST);
        let mut wake = |here: PcpuId, home: PcpuId| {
            let v = rig.guest_on(home);
            rig.credit.idlers = set(&[2, 3]);
            rig.tables.here = here;
            rig.tables.vcpus[v.index()].pause.clear(Pause::BLOCKED);
            rig.call(|c, cx| c.wake(cx, v, Wake::Event));
            let pcpu = rig.tickled().first();
            // Nobody comes for it.
            rig.pending = CpuSet::EMPTY;
            pcpu
        };
        assert_eq!(wake(P0, P1), Some(P2), "{version}");
        assert_eq!(
            wake(P0, P0),
            Some(P3),
            "{version}: the second of this waker"
        );
        assert_eq!(wake(P1, P1), Some(P2), "{version}: the first of that one");
    }
}

#[test]
fn soft_affinity_is_tried_first_since_4_5() {
    for (version, expected) in [("4.3", 1), ("4.5", 3), ("4.17", 3)] {
        let mut rig = Rig::new(version, 4);
        rig.running_on(P0, UNDER);
        let v = rig.guest_on(P0);
        rig.set_soft(v, &[3]);
        rig.wake(v);
        assert_eq!(rig.tickled(), set(&[expected]), "{version}");
    }
    // No idle pcpu there: hard affinity decides.
    let mut rig = Rig::new("4.17", 4);
    rig.running_on(P0, UNDER);
    rig.running_on(P3, UNDER);
    let v = rig.guest_on(P0);
    rig.set_soft(v, &[3]);
    rig.wake(v);
    assert_eq!(rig.tickled(), set(&[1]));
}

/// A boosted vcpu bound to pcpu 0 wakes there, where another runs; pcpu 1 idles. Whether the
/// other, bound to `current_hard`, is sent away.
fn kicked(version: &str, current_hard: &[u16]) -> bool {
    let mut rig = Rig::new(version, 2);
    let current = rig.running_on(P0, UNDER);
    rig.set_hard(current, current_hard);
    let v = rig.guest_on(P0);
    rig.set_hard(v, &[0]);
    rig.wake(v);
    assert_eq!(rig.tickled(), set(&[0]), "{version}: preempted in any case");
    rig.tables.vcpus[current.index()]
        .pause
        .has(Pause::MIGRATING)
}

#[test]
fn the_preempted_is_kicked_away_from_4_3_to_4_12() {
    for (version, free, bound) in [
        ("4.2", false, false),
        ("4.3", true, true),
        ("4.5", true, true),
        ("4.6", true, true),
        ("4.7", true, false),
        ("4.12", true, false),
        ("4.13", false, false),
        ("4.17", false, false),
    ] {
        assert_eq!(kicked(version, &[0, 1]), free, "{version}");
        assert_eq!(kicked(version, &[0]), bound, "{version}");
    }
}

#[test]
fn sleep_leaves_the_queue_or_tickles() {
    let mut rig = Rig::new("4.17", 1);
    let running = rig.running_on(P0, UNDER);
    let queued = rig.queued_on(P0, UNDER);
    rig.call(|c, cx| c.sleep(cx, queued));
    assert!(rig.queue(P0).is_empty() && rig.tickled().is_empty());
    assert_eq!(rig.credit.pcpus[PcpuId(0)].runnable, 1);
    rig.call(|c, cx| c.sleep(cx, running));
    assert_eq!(rig.tickled(), set(&[0]));
}
