//! xen-spec 0.2, 0.3 and 0.5: the order of softirqs, the slop of timers, the pass.

use crate::common::*;
use crate::probe::{Habits, Probe, run};
use domio_core::{Kind, Runstate, XenVersion};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::bus::NoDevices;
use domio_vmm::config::Workload;
use domio_vmm::host::{PcpuSnapshot, Snapshot, TimerHold, VcpuSnapshot};

/// A burner whose slice of 1 ms ends while a policy timer is set to `timer` (microseconds).
fn slice_and_timer(version: XenVersion, slop: u64, timer: u64) -> Vec<String> {
    let mut host = host(1, version, vec![domain(1, Workload::Burn)]);
    host.profile.timer_slop = us(slop);
    let habits = Habits {
        slice: Some(ms(1)),
        timers: vec![(P0, 0, at_us(timer))],
        ..Habits::default()
    };
    let told = run(&host, habits, us(1_500));
    told.calls(&["timer", "pass"])[1..]
        .iter()
        .map(|c| c.to_string())
        .collect()
}

#[test]
fn s0_2_a_tick_comes_before_a_schedule_of_the_same_instant() {
    for version in [XenVersion::V3_1, XenVersion::V4_17] {
        assert_eq!(
            slice_and_timer(version, 0, 1_000),
            ["1000 timer p0 0", "1000 pass p0 d1v0 Slice 1000"],
            "{version}"
        );
    }
}

#[test]
fn s0_2_a_tick_comes_before_the_schedule_that_a_wake_up_asked_for() {
    let sleeper = domain(1, periodic(ms(10), ms(1), us(100)));
    let host = host(1, XenVersion::V4_17, vec![sleeper]);
    let habits = Habits {
        timers: vec![(P0, 0, at_ms(1))],
        ..Habits::default()
    };
    let told = run(&host, habits, us(1_050));
    let last = told.calls(&["timer", "pass", "wake"]);
    let at_one: Vec<_> = last.iter().filter(|c| c.starts_with("1000 ")).collect();
    assert_eq!(at_one.len(), 3, "{last:?}");
    assert_eq!(*at_one[2], "1000 pass p0 idle Tickled 0");
}

#[test]
fn s0_3_in_3_1_timers_run_up_to_the_slop_early() {
    assert_eq!(
        slice_and_timer(XenVersion::V3_1, 50, 1_049),
        ["1000 timer p0 0", "1000 pass p0 d1v0 Slice 1000"]
    );
    assert_eq!(
        slice_and_timer(XenVersion::V3_1, 50, 1_050),
        ["1000 pass p0 d1v0 Slice 1000", "1050 timer p0 0"],
        "a timer 50 us away is not within 50 us"
    );
    assert_eq!(
        slice_and_timer(XenVersion::V3_1, 50, 951),
        ["951 timer p0 0", "951 pass p0 d1v0 Slice 951"],
        "the slice timer is early likewise"
    );
}

#[test]
fn s0_3_in_4_17_timers_run_up_to_the_slop_late() {
    assert_eq!(
        slice_and_timer(XenVersion::V4_17, 50, 1_020),
        ["1000 pass p0 d1v0 Slice 1000", "1050 timer p0 0"]
    );
    assert_eq!(
        slice_and_timer(XenVersion::V4_17, 50, 1_060),
        ["1000 pass p0 d1v0 Slice 1000", "1060 timer p0 0"],
        "further away the hardware is set to the time itself"
    );
    assert_eq!(
        slice_and_timer(XenVersion::V4_17, 50, 980),
        ["980 timer p0 0", "1030 pass p0 d1v0 Slice 1030"],
        "the slice timer is late likewise"
    );
}

#[test]
fn s0_3_the_slop_counts_from_the_end_of_the_softirq() {
    // The slice would end at 1,000; the softirq of the timer at 980 is done 12 us later.
    let mut host = host(1, XenVersion::V4_17, vec![domain(1, Workload::Burn)]);
    host.profile.timer_slop = us(50);
    host.profile.timer_to_handler[0] = us(1);
    host.profile.softirq.again = us(10);
    host.profile.softirq.exit = us(2);
    let habits = Habits {
        slice: Some(ms(1)),
        timers: vec![(P0, 0, at_us(980))],
        ..Habits::default()
    };
    let told = run(&host, habits, us(1_500));
    assert_eq!(
        told.calls(&["timer", "pass"])[1..],
        ["981 timer p0 0", "1043 pass p0 d1v0 Slice 1043"]
    );
}

#[test]
fn s0_2_a_slice_that_ends_during_a_handler_waits_for_it() {
    // The handler is done 30 us after its timer, and takes 5 us from then to the pass.
    let calls = |version, timer| {
        let mut host = host(1, version, vec![domain(1, Workload::Burn)]);
        host.profile.timer_to_pass = us(2);
        host.profile.timer_to_handler[0] = us(30);
        host.profile.handler = us(5);
        host.profile.softirq.entry = us(10);
        let habits = Habits {
            slice: Some(ms(1)),
            timers: vec![(P0, 0, at_us(timer))],
            ..Habits::default()
        };
        let told = run(&host, habits, us(1_100));
        let calls = told.calls(&["timer", "pass"])[1..].to_vec();
        calls.into_iter().map(String::from).collect::<Vec<_>>()
    };
    for version in [XenVersion::V3_1, XenVersion::V4_17] {
        assert_eq!(
            calls(version, 995),
            ["1025 timer p0 0", "1030 pass p0 d1v0 Slice 1030"],
            "{version}: the slice ends while the handler runs"
        );
        assert_eq!(
            calls(version, 1_001),
            ["1031 timer p0 0", "1036 pass p0 d1v0 Slice 1036"],
            "{version}: the timer expires while the pass is under way"
        );
        assert_eq!(
            calls(version, 1_003)[0],
            "1002 pass p0 d1v0 Slice 1002",
            "{version}: the pass was there first"
        );
    }
}

/// When the passes of a burner with slices of 20 us come, with a policy timer set to `timer`.
fn short_slices(version: XenVersion, timer: u64) -> Vec<String> {
    let mut host = host(1, version, vec![domain(1, Workload::Burn)]);
    host.profile.timer_slop = us(50);
    host.profile.softirq.after_pass = us(1);
    let habits = Habits {
        slice: Some(us(20)),
        timers: vec![(P0, 0, at_us(timer))],
        ..Habits::default()
    };
    let told = run(&host, habits, us(110));
    let calls = told.calls(&["timer", "pass"]);
    calls[1..].iter().map(|c| c.to_string()).collect()
}

#[test]
fn s0_3_in_4_17_a_slice_shorter_than_the_slop_lasts_the_slop() {
    assert_eq!(
        short_slices(XenVersion::V4_17, 500),
        ["51 pass p0 d1v0 Slice 51", "102 pass p0 d1v0 Slice 102"]
    );
    assert_eq!(
        short_slices(XenVersion::V4_17, 10),
        ["10 timer p0 0", "60 pass p0 d1v0 Slice 60"],
        "the timer that comes first is programmed already"
    );
    assert_eq!(
        short_slices(XenVersion::V3_1, 500)[..2],
        ["20 pass p0 d1v0 Slice 20", "40 pass p0 d1v0 Slice 40"]
    );
}

#[test]
fn s0_3_a_second_sleeper_makes_handlers_longer() {
    for (sleepers, at) in [(1, 1_000), (2, 1_005)] {
        let sleepers = (1..=sleepers).map(|id| domain(id, Workload::Idle));
        let domains = sleepers.chain([domain(9, Workload::Burn)]).collect();
        let mut host = host(1, XenVersion::V4_17, domains);
        host.profile.softirq.heap = us(5);
        let habits = Habits {
            timers: vec![(P0, 0, at_us(1_000))],
            ..Habits::default()
        };
        let told = run(&host, habits, us(1_500));
        assert_eq!(told.calls(&["timer"]), [format!("{at} timer p0 0")]);
    }
}

#[test]
fn s0_5_a_pass_that_keeps_the_vcpu_leaves_no_runstate_change() {
    let host = host(1, XenVersion::V4_17, vec![domain(1, Workload::Burn)]);
    let habits = Habits {
        slice: Some(ms(1)),
        ..Habits::default()
    };
    let told = run(&host, habits, us(2_500));
    let after_start: Vec<_> = told.records.iter().filter(|r| r.at >= at_us(1)).collect();
    assert_eq!(
        after_start
            .iter()
            .map(|r| told.records.line(r))
            .collect::<Vec<_>>(),
        ["1000 p0 d1v0 continue", "2000 p0 d1v0 continue"]
    );
    assert_eq!(
        after_start[1].words[..2],
        [2_000_000, 1_000_000],
        "ran, slice"
    );
}

#[test]
fn s0_5_the_slice_timer_is_armed_anew_by_every_pass() {
    // The sleeper's wake-up at 0.4 ms makes a pass that keeps the burner: its slice starts again.
    let domains = vec![
        domain(2, periodic(ms(10), us(400), us(100))),
        domain(1, Workload::Burn),
    ];
    let habits = Habits {
        slice: Some(ms(1)),
        sticky: true,
        ..Habits::default()
    };
    let told = run(&host(1, XenVersion::V4_17, domains), habits, us(1_600));
    let passes = told.calls(&["pass"]);
    assert_eq!(
        passes[passes.len() - 3..],
        [
            "400 pass p0 d1v0 Tickled 400",
            "1400 pass p0 d1v0 Slice 1400",
            "1500 pass p0 d2v0 NotRunnable 100",
        ]
    );
}

#[test]
fn s0_5_an_idle_pick_without_a_slice_ends_only_by_an_event() {
    let host = host(1, XenVersion::V4_17, vec![domain(1, Workload::Idle)]);
    let habits = Habits {
        slice: Some(ms(1)),
        ..Habits::default()
    };
    let told = run(&host, habits, ms(50));
    assert!(told.calls(&["pass"]).iter().all(|c| c.starts_with("0 ")));
}

#[test]
fn s0_5_prev_is_held_until_the_switch_is_complete() {
    let domains = vec![domain(1, Workload::Burn), domain(2, Workload::Burn)];
    let mut host = host(1, XenVersion::V4_17, domains);
    host.profile.switch = us(7);
    let habits = Habits {
        slice: Some(ms(1)),
        ..Habits::default()
    };
    let told = run(&host, habits, us(1_500));
    let calls = told.calls(&["pass", "saved"]);
    assert_eq!(
        calls[calls.len() - 2..],
        ["1000 pass p0 d1v0 Slice 1000", "1007 saved d1v0"]
    );
    let switches = lines(&told.records, &[Kind::Switch]);
    assert_eq!(
        switches.last().unwrap(),
        "1007 p0 d1v0 runnable, d2v0 running"
    );
}

/// A burner found at 0.5 ms, whose slice ends at 1 ms, with holds from and until these times
/// in microseconds: when it goes on.
fn slice_end_with_holds(version: XenVersion, holds: &[(u64, u64)]) -> Vec<String> {
    let mut host = host(1, version, vec![domain(1, Workload::Burn)]);
    host.profile.timer_slop = us(50);
    let burner = VcpuSnapshot {
        name: vcpu(1),
        state: Runstate::Running,
        since: at_us(500),
        pcpu: P0,
        parked: false,
    };
    let pcpu = PcpuSnapshot {
        current: Some(vcpu(1)),
        entered: at_us(500),
        slice_end: Some(at_ms(1)),
    };
    let hold = |&(from, until): &(u64, u64)| TimerHold {
        pcpu: P0,
        from: at_us(from),
        until: at_us(until),
    };
    let snapshot = Snapshot {
        at: at_us(500),
        vcpus: vec![burner],
        pcpus: vec![pcpu],
        holds: holds.iter().map(hold).collect(),
        ..Snapshot::default()
    };
    let probe = Box::new(Probe::new(&host.topology, Habits::default()));
    let mut simulation =
        Simulation::<_, NoDevices>::from_snapshot(&host, probe, Trace::default(), 0, &snapshot);
    let outcome = simulation.run(at_ms(2));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    lines(&simulation.into_sink(), &[Kind::Continue])
}

#[test]
fn timers_that_are_held_come_when_that_ends() {
    let at = |holds: &[(u64, u64)]| {
        let all = slice_end_with_holds(XenVersion::V4_17, holds);
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].split(' ').next().unwrap().to_owned()
    };
    assert_eq!(at(&[]), "1000");
    assert_eq!(at(&[(990, 1_020)]), "1020");
    assert_eq!(at(&[(1_001, 1_020)]), "1000", "it begins too late");
    assert_eq!(at(&[(980, 1_000)]), "1000", "it is over by then");
    assert_eq!(at(&[(1_010, 1_030), (990, 1_020)]), "1030", "in any order");
}
