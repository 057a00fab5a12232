//! What the hypervisor's work costs, by the hardware profile. A computation is late by all of it.

use crate::common::*;
use crate::probe::{Habits, run};
use domio_contract::{Work, WorkReport};
use domio_core::{Duration, Kind, Topology, XenVersion};
use domio_vmm::config::Workload;
use domio_vmm::process::NewJob;
use domio_vmm::{PolicyCosts, Profile};

const V: XenVersion = XenVersion::V4_17;

#[test]
fn an_ipi_takes_its_time_to_another_pcpu_and_none_to_the_own() {
    for (to, at) in [(P0, 1_000), (P1, 1_004)] {
        let mut host = host(2, V, vec![]);
        host.profile.ipi = us(4);
        let habits = Habits {
            timers: vec![(P0, 0, at_ms(1))],
            timer_tickles: Some(to),
            ..Habits::default()
        };
        let told = run(&host, habits, ms(2));
        assert_eq!(
            told.calls(&["pass"]),
            [format!("{at} pass {to} idle Tickled 0")]
        );
    }
}

#[test]
fn a_switch_delays_the_next_vcpu_and_is_charged_to_the_one_before() {
    let mut host = host(
        1,
        V,
        vec![domain(1, compute(ms(3))), domain(2, Workload::Burn)],
    );
    host.profile.switch = us(5);
    let habits = Habits {
        slice: Some(ms(1)),
        ..Habits::default()
    };
    let told = run(&host, habits, ms(8));
    assert_eq!(
        lines(&told.records, &[Kind::Switch])[..3],
        [
            "5 p0 idlev0 runnable, d1v0 running",
            "1005 p0 d1v0 runnable, d2v0 running",
            "2005 p0 d2v0 runnable, d1v0 running",
        ]
    );
    // Slices count from the decision: 995 us of each are the guest's. 2985 us after three turns.
    assert_eq!(turnarounds(&told.records, vcpu(1)), [6_005 + 15]);
}

/// Xen leaves the context of the last vcpu loaded while a pcpu idles: another one is switched to,
/// the same one is not.
#[test]
fn the_context_of_the_last_vcpu_stays_loaded_while_a_pcpu_idles() {
    for (second, expected) in [
        (false, "2002 p0 idlev0 runnable, d1v0 running"),
        (true, "2009 p0 idlev0 runnable, d1v0 running"),
    ] {
        let mut domains = vec![domain(1, periodic(ms(1), ms(1), us(100)))];
        if second {
            domains.push(domain(2, periodic(ms(1), us(1_500), us(100))));
        }
        let mut host = host(1, V, domains);
        (host.profile.switch, host.profile.idle_switch) = (us(9), us(2));
        let told = run(&host, Habits::default(), us(2_600));
        let switches = lines(&told.records, &[Kind::Switch]);
        assert!(switches.iter().any(|line| line == expected), "{switches:?}");
        // Into idle no context is switched: 2 us after the block.
        let idles = switches
            .iter()
            .filter(|line| line.ends_with("idlev0 running"));
        assert!(idles.clone().count() > 1, "{switches:?}");
    }
}

#[test]
fn leaving_idle_takes_time_and_going_idle_does_not() {
    let mut host = host(1, V, vec![domain(1, periodic(ms(1), ms(1), us(100)))]);
    host.profile.idle_exit = us(13);
    let told = run(&host, Habits::default(), us(2_600));
    assert_eq!(
        lines(&told.records, &[Kind::Switch])[1..4],
        [
            "13 p0 d1v0 blocked, idlev0 running",
            "1013 p0 idlev0 runnable, d1v0 running",
            "1113 p0 d1v0 blocked, idlev0 running",
        ]
    );
}

#[test]
fn a_vcpu_that_goes_on_pays_for_the_pass_only() {
    let mut host = host(1, V, vec![domain(1, compute(us(2_500)))]);
    host.profile.keep = us(3);
    host.profile.timer_to_pass = us(2);
    host.profile.resume = us(1);
    let habits = Habits {
        slice: Some(ms(1)),
        ..Habits::default()
    };
    let told = run(&host, habits, ms(4));
    let passes = told.calls(&["pass"]);
    assert_eq!(
        passes[1..3],
        [
            "1002 pass p0 d1v0 Slice 1002",
            "2004 pass p0 d1v0 Slice 2004"
        ]
    );
    // Once 1 us to resume, then twice 2 us, 3 us and 1 us.
    assert_eq!(turnarounds(&told.records, vcpu(1)), [2_500 + 1 + 2 * 6]);
}

#[test]
fn a_cache_is_refilled_after_another_vcpu_and_after_a_move() {
    let profile = Profile {
        cache_refill: us(20),
        migration_refill: us(70),
        ..Profile::IDEAL
    };
    // Alone: filled once, at the first run; a sleep does not spoil it.
    let mut alone = host(1, V, vec![domain(1, periodic(ms(2), ms(1), us(100)))]);
    alone.profile = profile;
    let told = run(&alone, Habits::default(), ms(8));
    // The vcpu first ran at time 0, when it was created.
    assert_eq!(turnarounds(&told.records, vcpu(1))[1..], [100, 100, 100]);
    // With another one that runs in between, every time.
    let mut shared = alone.clone();
    shared
        .domains
        .push(domain(2, periodic(ms(2), ms(2), us(100))));
    let told = run(&shared, Habits::default(), ms(8));
    assert_eq!(turnarounds(&told.records, vcpu(1))[1..], [120, 120, 120]);
    // Another pcpu costs both.
    let mut moved = host(2, V, vec![domain(1, compute(ms(3)))]);
    moved.profile = profile;
    moved.actions = vec![(at_ms(1), pin(1, P1))];
    let told = run(&moved, Habits::default(), ms(8));
    assert_eq!(turnarounds(&told.records, vcpu(1)), [3_000 + 20 + 20 + 70]);
    // From one socket to another more so, and once only.
    moved.profile.socket_refill = us(300);
    let told = run(&moved, Habits::default(), ms(8));
    assert_eq!(turnarounds(&told.records, vcpu(1)), [3_000 + 20 + 20 + 70]);
    moved.topology = Topology::new(2, 1, 1).unwrap();
    let told = run(&moved, Habits::default(), ms(8));
    let apart = 3_000 + 20 + 20 + 70 + 300;
    assert_eq!(turnarounds(&told.records, vcpu(1)), [apart]);
    // So it is within a socket whose cores have a cache each.
    moved.topology = Topology::new(1, 2, 1).unwrap();
    moved.profile.cache_cores = 1;
    let told = run(&moved, Habits::default(), ms(8));
    assert_eq!(turnarounds(&told.records, vcpu(1)), [apart]);
}

/// What a move has a vcpu fetch is paid as the vcpu executes: all of it after the span, a part
/// before.
#[test]
fn a_vcpu_that_moved_pays_for_what_it_executes() {
    let profile = Profile {
        migration_refill: us(70),
        socket_refill: us(300),
        refill_span: us(370),
        ..Profile::IDEAL
    };
    // 3 ms, of which 2 come after the move, pay all of a near move.
    let mut moved = host(2, V, vec![domain(1, compute(ms(3)))]);
    moved.profile = profile;
    moved.actions = vec![(at_ms(1), pin(1, P1))];
    let told = run(&moved, Habits::default(), ms(8));
    assert_eq!(turnarounds(&told.records, vcpu(1)), [3_000 + 70]);
    // 50 us after the move, as much goes to what they touch; the rest is paid by the jobs that
    // follow, after sleeps.
    let mut naps = host(2, V, vec![domain(1, periodic(ms(1), ms(1), us(50)))]);
    naps.profile = profile;
    naps.profile.migration_refill = us(120);
    naps.profile.socket_refill = us(250);
    naps.actions = vec![(at_us(1_500), pin(1, P1))];
    let told = run(&naps, Habits::default(), ms(7));
    assert_eq!(
        turnarounds(&told.records, vcpu(1)),
        [50, 100, 100, 70, 50, 50]
    );
}

#[test]
fn an_interrupt_that_wakes_nobody_takes_time_from_whoever_runs() {
    // The second task's timer expires at 1 ms while the first one computes.
    let mut guest = domain(1, compute(ms(2)));
    guest.vcpus[0]
        .tasks
        .push(periodic(ms(10), ms(1), us(100)).into());
    let mut host = host(1, V, vec![guest]);
    host.profile.interrupt = us(6);
    let told = run(&host, Habits::default(), ms(4));
    let busy = 2_000 + 100;
    let last = told.records.iter().rfind(|r| r.is(Kind::JobDone)).unwrap();
    assert_eq!(last.at, at_us(busy + 6));
}

#[test]
fn a_wake_up_leads_to_a_pass_after_its_cost() {
    let mut host = host(1, V, vec![domain(1, periodic(ms(10), ms(1), us(100)))]);
    host.profile.wake_to_pass = us(4);
    host.profile.block_to_pass = us(2);
    let told = run(&host, Habits::default(), ms(4));
    let passes = told.calls(&["pass"]);
    assert_eq!(
        passes[passes.len() - 2..],
        [
            "1004 pass p0 idle Tickled 0",
            "1106 pass p0 d1v0 NotRunnable 102"
        ]
    );
}

#[test]
fn a_switch_takes_longer_by_the_work_of_its_decision() {
    for (work, at) in [(0, 1_005), (3, 1_011)] {
        let mut host = host(1, V, vec![domain(1, periodic(ms(10), ms(1), us(100)))]);
        (host.profile.idle_switch, host.profile.policy.search) = (us(5), us(2));
        let habits = Habits {
            work,
            ..Habits::default()
        };
        let told = run(&host, habits, ms(2));
        let switches = lines(&told.records, &[Kind::Switch]);
        assert!(
            switches.contains(&format!("{at} p0 idlev0 runnable, d1v0 running")),
            "{switches:?}"
        );
    }
}

/// A search for a better pcpu puts the pass off that the wake-up asks for, and is of no other work.
#[test]
fn a_search_puts_off_what_it_decides() {
    let mut host = host(1, V, vec![domain(1, periodic(ms(10), ms(1), us(100)))]);
    host.profile.wake_to_pass = us(4);
    host.profile.block_to_pass = us(2);
    host.profile.policy.balance = us(2);
    let habits = Habits {
        looks: 3,
        ..Habits::default()
    };
    let told = run(&host, habits, ms(4));
    let passes = told.calls(&["pass"]);
    assert_eq!(
        passes[passes.len() - 2..],
        [
            "1010 pass p0 idle Tickled 0",
            "1112 pass p0 d1v0 NotRunnable 102"
        ]
    );
}

#[test]
fn a_report_costs_the_price_of_each_kind_in_whole_instructions() {
    let ns = Duration::from_nanos;
    let mut prices = Profile::XEN_4_17_EMULATED.policy;
    let once = |prices: &PolicyCosts, work| {
        let mut report = WorkReport::NOTHING;
        report.add(work, 1);
        prices.price(&report).as_nanos()
    };
    let each = Work::ALL.map(|work| once(&prices, work));
    assert_eq!(
        each,
        [722, 56, 722, 760, 96, 18, 160, 500, 1_292, 3_306, 870, 100]
    );
    let mut report = WorkReport::NOTHING;
    report.add(Work::Sort, 1);
    report.add(Work::Sorted, 3);
    assert_eq!(prices.price(&report), ns(96 + 3 * 19 - 1));
    prices.instruction = Duration::ZERO;
    assert_eq!(prices.price(&report), ns(96 + 3 * 19));
    assert_eq!(once(&prices, Work::Sorted), 19);
}

/// A guest that an interrupt wakes once, in microseconds.
fn woken_at(id: u16, at: u64, work: u64) -> domio_vmm::config::DomainConfig {
    let job = NewJob {
        released: at_us(at),
        spin: Duration::ZERO,
        work: us(work),
    };
    domain(id, planned([job]))
}

#[test]
fn a_wake_up_whose_interrupt_came_before_a_pass_goes_first() {
    // The first guest blocks at 1106 us, and the pass is due at 1108; the second wakes then.
    for (wake, passes) in [
        (
            1_107,
            [
                "1004 pass p0 idle Tickled 0",
                "1111 pass p0 d1v0 NotRunnable 107",
            ],
        ),
        (
            1_109,
            [
                "1004 pass p0 idle Tickled 0",
                "1113 pass p0 d1v0 NotRunnable 109",
            ],
        ),
        // Too late: the pass is under way, and another one follows it.
        (
            1_112,
            [
                "1108 pass p0 d1v0 NotRunnable 104",
                "1116 pass p0 idle Tickled 0",
            ],
        ),
    ] {
        let mut host = host(1, V, vec![woken_at(1, 1_000, 102), woken_at(2, wake, 50)]);
        host.profile.wake_to_pass = us(4);
        host.profile.block_to_pass = us(2);
        host.profile.wake_first = us(2);
        let told = run(&host, Habits::default(), ms(2));
        let all = told.calls(&["pass"]);
        let place = all.iter().position(|p| *p == passes[0]);
        let place = place.unwrap_or_else(|| panic!("wake-up at {wake}: {all:?}"));
        assert_eq!(all[place..place + 2], passes, "wake-up at {wake}: {all:?}");
    }
}

#[test]
fn a_pass_that_a_policy_timer_asks_for_comes_once_its_handler_is_done() {
    // The handler reads the clock 2 us after the timer expired, asks for a pass, and is done 3 us
    // later; nothing of that is paid twice.
    let mut host = host(1, V, vec![domain(1, Workload::Burn)]);
    host.profile.timer_to_handler[0] = us(2);
    host.profile.handler = us(3);
    let habits = Habits {
        timers: vec![(P0, 0, at_ms(1))],
        timer_tickles: Some(P0),
        ..Habits::default()
    };
    let told = run(&host, habits, ms(2));
    let calls = told.calls(&["timer", "pass"]);
    assert_eq!(
        calls[calls.len() - 2..],
        ["1002 timer p0 0", "1005 pass p0 d1v0 Tickled 1005"]
    );
}
