//! Debit, activity, grants, and when the timers come.

use super::*;

#[test]
fn before_4_0_whoever_runs_at_the_tick_pays_for_all_of_it() {
    for version in ["3.1", "3.4"] {
        let mut rig = Rig::new(version, 1);
        let dodger = rig.running_on(P0, UNDER);
        rig.skip(us(9_900));
        rig.block(dodger);
        rig.pass(P0);
        let victim = rig.guest_on(P0);
        rig.wake(victim);
        rig.pass(P0);
        rig.skip(us(100));
        rig.tick(P0);
        assert_eq!(rig.credit.credit(dodger), 0, "{version}: never charged");
        assert!(!rig.credit.is_active(dodger));
        assert_eq!(rig.credit.credit(victim), -100, "{version}");
        assert!(rig.credit.is_active(victim));
    }
}

#[test]
fn since_4_0_time_is_charged_to_whoever_used_it() {
    for version in ["4.0", "4.2", "4.3", "4.17"] {
        let mut rig = Rig::new(version, 1);
        let dodger = rig.running_on(P0, UNDER);
        rig.skip(us(9_900));
        rig.block(dodger);
        rig.pass(P0);
        assert_eq!(rig.credit.credit(dodger), -99, "{version}");
        assert!(!rig.credit.is_active(dodger), "no tick found it");
    }
}

#[test]
fn the_remainder_of_a_debit_survives_a_sleep() {
    for version in ["4.0", "4.17"] {
        let mut rig = Rig::new(version, 1);
        let v = rig.running_on(P0, UNDER);
        // A thousand turns of 30 us: 30 ms, 300 credits, though no turn reaches one credit.
        for _ in 0..1000 {
            rig.skip(us(30));
            rig.block(v);
            rig.pass(P0);
            rig.skip(us(70));
            rig.wake(v);
            rig.pass(P0);
        }
        let paid = -rig.credit.credit(v);
        assert!((299..=301).contains(&paid), "{version}: {paid} credits");
    }
}

#[test]
fn a_tick_activates_at_the_head() {
    let mut rig = Rig::new("4.17", 1);
    let a = rig.running_on(P0, UNDER);
    let b = rig.queued_on(P0, UNDER);
    rig.tick(P0);
    assert!(rig.credit.is_active(a));
    assert_eq!(rig.notes_of(2), [[0, 0, 1]], "ACCOUNT_START");
    assert!(
        rig.notes_of(5).len() == 2,
        "only the two placements picked a pcpu"
    );
    rig.block(a);
    rig.pass(P0);
    assert_eq!(rig.current(P0), Some(b));
    rig.tick(P0);
    let order: Vec<_> = rig.credit.active_domains().collect();
    assert_eq!(order, [DomainId(1), DomainId(0)]);
    // The next tick asks whether it should move.
    rig.tick(P0);
    assert_eq!(rig.notes_of(5).last(), Some(&alloc::vec![1, 0, 0]));
}

#[test]
fn who_has_too_much_stops_earning() {
    for (version, left) in [("3.1", 0), ("4.0", 0), ("4.1", 175), ("4.17", 175)] {
        let mut rig = Rig::new(version, 1);
        let v = rig.guest_on(P0);
        rig.credit.activate(v);
        rig.set_credit(v, 50);
        rig.force(v, BOOST);
        rig.account();
        assert_eq!(rig.credit.credit(v), left, "{version}");
        assert!(!rig.credit.is_active(v));
        assert_eq!(rig.credit.priority(v), UNDER, "and its boost ends");
        assert_eq!(rig.credit.weight, 0);
        assert_eq!(rig.credit.active_domains().count(), 0);
        assert_eq!(rig.notes_of(3), [[0, 0, 0]], "ACCOUNT_STOP");
        assert_eq!(rig.credit.balance, left);
    }
    // Exactly one slice is not too much.
    let mut rig = Rig::new("4.17", 1);
    let v = rig.guest_on(P0);
    rig.credit.activate(v);
    rig.account();
    assert_eq!((rig.credit.credit(v), rig.credit.is_active(v)), (300, true));
}

#[test]
fn a_debt_of_the_host_raises_what_one_domain_may_get() {
    for version in ["3.1", "4.17"] {
        let mut rig = Rig::new(version, 1);
        let v = rig.guest_on(P0);
        rig.credit.activate(v);
        rig.set_credit(v, -300);
        rig.credit.balance = -40;
        rig.account();
        assert_eq!(rig.credit.credit(v), 40, "{version}: 340 for a pcpu of 300");
    }
}

#[test]
fn without_active_domains_nothing_changes() {
    let mut rig = Rig::new("4.17", 1);
    rig.credit.balance = -500;
    let epoch = rig.credit.sort_epoch;
    rig.account();
    assert_eq!(rig.credit.balance, 0);
    assert_eq!(rig.credit.sort_epoch, epoch, "no queue needs a sort");
}

#[test]
fn weights_change_at_run_time() {
    for (version, before, after) in [("4.0", 256, 512), ("4.1", 512, 1024)] {
        let mut rig = Rig::new(version, 2);
        let domain = rig.domain(256, 0);
        for p in [P0, P1] {
            let v = rig.vcpu_on(domain, p);
            rig.credit.activate(v);
        }
        assert_eq!(rig.credit.weight, before, "{version}");
        rig.adjust(domain, 512, 0);
        assert_eq!(rig.credit.weight, after, "{version}");
        // An inactive domain counts when it becomes active, with its new weight.
        let idle = rig.domain(256, 0);
        rig.adjust(idle, 1000, 0);
        assert_eq!(rig.credit.weight, after, "{version}");
        let v = rig.vcpu_on(idle, P0);
        rig.credit.activate(v);
        assert_eq!(rig.credit.weight, after + 1000, "{version}");
        rig.credit.deactivate(v);
        assert_eq!(rig.credit.weight, after, "{version}");
    }
}

#[test]
fn until_3_1_every_third_tick_of_the_master_accounts() {
    let mut rig = Rig::new("3.1", 2);
    let v = rig.guest_on(P1);
    rig.credit.activate(v);
    rig.set_credit(v, -300);
    for tick in 1..=6 {
        rig.tick(P1);
        rig.tick(P0);
        // 600 credits for two pcpus, of which one vcpu gets at most 300.
        let expected = [-300, -300, 0, 0, 0, 300][tick - 1];
        assert_eq!(rig.credit.credit(v), expected, "tick {tick}");
    }
    assert!(
        rig.timers.iter().all(|t| t[1].is_none()),
        "no accounting timer"
    );
}

#[test]
fn timers_are_set_from_the_time_at_which_they_ran() {
    let mut rig = Rig::new("4.17", 2);
    assert_eq!(rig.timers[0], [Some(at_ms(10)), Some(at_ms(30))]);
    assert_eq!(rig.timers[1], [Some(at_ms(10)), None]);
    rig.running_on(P0, UNDER);
    // Late by 7 us, the next ones are late by as much.
    rig.now = at_ms(30) + us(7);
    rig.fire(P0, 0);
    rig.fire(P0, 1);
    assert_eq!(
        rig.timers[0],
        [Some(at_ms(40) + us(7)), Some(at_ms(60) + us(7))]
    );
}

#[test]
fn the_tick_stops_while_idle_and_resumes_at_a_multiple() {
    let mut rig = Rig::new("4.17", 1);
    let v = rig.running_on(P0, UNDER);
    rig.now = Instant::ZERO + us(12_345);
    rig.block(v);
    rig.pass(P0);
    assert_eq!(rig.timers[0][0], None);
    rig.now = Instant::ZERO + us(43_210);
    rig.wake(v);
    rig.pass(P0);
    assert_eq!(rig.timers[0][0], Some(at_ms(50)));
    // At a multiple itself, the next one.
    rig.block(v);
    rig.pass(P0);
    rig.now = at_ms(60);
    rig.wake(v);
    rig.pass(P0);
    assert_eq!(rig.timers[0][0], Some(at_ms(70)));
}

#[test]
fn the_multiple_is_by_xens_clock() {
    let mut rig = Rig::new("4.17", 1);
    rig.credit.clock_phase = us(4_979);
    let v = rig.guest_on(P0);
    rig.now = Instant::ZERO + us(43_210);
    rig.wake(v);
    rig.pass(P0);
    assert_eq!(rig.timers[0][0], Some(Instant::ZERO + us(50_000 - 4_979)));
}

#[test]
fn an_idle_tick_is_the_last_one_since_3_4() {
    for (version, goes_on) in [("3.1", true), ("3.4", false), ("4.17", false)] {
        let mut rig = Rig::new(version, 1);
        rig.now = at_ms(10);
        rig.tick(P0);
        assert_eq!(rig.timers[0][0].is_some(), goes_on, "{version}");
        // And in 3.1 idling does not stop it.
        let v = rig.running_on(P0, UNDER);
        rig.block(v);
        rig.pass(P0);
        assert_eq!(rig.timers[0][0].is_some(), goes_on, "{version}");
    }
}

#[test]
fn the_accounting_moves_with_its_master() {
    let mut rig = Rig::new("4.17", 2);
    rig.now = at_ms(5);
    rig.tables.online.remove(P0);
    rig.call(|c, cx| c.pcpu_offline(cx, P0));
    assert_eq!(rig.timers[0], [None, None]);
    assert_eq!(rig.timers[1][1], Some(at_ms(30)));
    assert!(!rig.credit.idlers.contains(P0));
    // One pcpu's credit is left to grant.
    let v = rig.guest_on(P1);
    let w = rig.guest_on(P1);
    rig.credit.activate(v);
    rig.credit.activate(w);
    rig.account();
    assert_eq!((rig.credit.credit(v), rig.credit.credit(w)), (150, 150));
    rig.plug(P0);
    rig.account();
    assert_eq!(rig.timers[0], [Some(at_ms(15)), None], "the master stays");
    assert_eq!((rig.credit.credit(v), rig.credit.credit(w)), (225, 225));
}
