//! xen-spec 0.6 to 0.8: wake-ups, blocking, pauses, yields, migrations; then creation and removal
//! of domains and of pcpus.

use crate::common::*;
use crate::probe::{Habits, run};
use domio_core::{CpuSet, DomainId, Kind, ParamValues, Record, XenVersion};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::config::{Action, Distribution, HostConfig, Workload};

const LIFE: [Kind; 6] = [
    Kind::RunstateChange,
    Kind::Wake,
    Kind::Block,
    Kind::Sleep,
    Kind::Yield,
    Kind::Switch,
];

/// Those records, and what the policy notes.
fn life(trace: &Trace) -> Vec<String> {
    let of_life = |r: &&Record| r.kind().is_none_or(|kind| LIFE.contains(&kind));
    let records = trace.iter().filter(of_life);
    records.map(|r| trace.line(r)).collect()
}

fn acted(mut host: HostConfig, actions: Vec<(u64, Action)>) -> HostConfig {
    host.actions = actions.into_iter().map(|(t, a)| (at_us(t), a)).collect();
    host
}

fn slices() -> Habits {
    Habits {
        slice: Some(ms(1)),
        ..Habits::default()
    }
}

/// What happens at 1 ms, when a sleeper is woken.
fn wake_up(version: XenVersion) -> Vec<String> {
    let host = host(
        1,
        version,
        vec![domain(1, periodic(ms(10), ms(1), us(100)))],
    );
    let told = run(&host, Habits::default(), us(1_000));
    let lines = life(&told.records);
    lines
        .into_iter()
        .filter(|l| l.starts_with("1000 "))
        .collect()
}

#[test]
fn s0_6_in_3_1_the_wake_record_comes_after_the_policy() {
    assert_eq!(
        wake_up(XenVersion::V3_1),
        [
            "1000 p0 d1v0 blocked -> runnable",
            "1000 p0 d1v0 probe woke []",
            "1000 p0 d1v0 wake",
            "1000 p0 idlev0 runnable, d1v0 running",
        ]
    );
}

#[test]
fn s0_6_in_4_17_the_wake_record_comes_first() {
    assert_eq!(
        wake_up(XenVersion::V4_17),
        [
            "1000 p0 d1v0 wake",
            "1000 p0 d1v0 blocked -> runnable",
            "1000 p0 d1v0 probe woke []",
            "1000 p0 idlev0 runnable, d1v0 running",
        ]
    );
}

#[test]
fn s0_7_an_event_that_is_pending_keeps_a_vcpu_from_blocking() {
    // Each job ends just when the next is released.
    let host = host(
        1,
        XenVersion::V4_17,
        vec![domain(1, periodic(ms(1), ms(1), ms(1)))],
    );
    let told = run(&host, Habits::default(), ms(10));
    assert_eq!(turnarounds(&told.records, vcpu(1)), [1_000; 9]);
    let after_start: Vec<_> = told.records.iter().filter(|r| r.at > at_ms(1)).collect();
    assert!(
        after_start.iter().all(|r| r.is(Kind::JobDone)),
        "{after_start:?}"
    );
}

#[test]
fn s0_7_a_wake_up_between_block_and_pass_keeps_the_vcpu_running() {
    let mut host = host(1, XenVersion::V4_17, vec![domain(1, on_off(ms(1), us(5)))]);
    host.profile.block_to_pass = us(10);
    let told = run(&host, Habits::default(), us(1_900));
    let kinds = [
        Kind::Block,
        Kind::Wake,
        Kind::RunstateChange,
        Kind::Continue,
        Kind::Switch,
    ];
    let after_start: Vec<_> = lines(&told.records, &kinds);
    assert_eq!(
        after_start[after_start.len() - 3..],
        [
            "1000 p0 d1v0 block",
            "1005 p0 d1v0 wake",
            "1010 p0 d1v0 continue",
        ]
    );
}

#[test]
fn s0_7_a_pause_takes_a_running_vcpu_off_and_an_unpause_wakes_it() {
    let host = acted(
        host(1, XenVersion::V4_17, vec![domain(1, Workload::Burn)]),
        vec![
            (2_000, Action::Pause(DomainId(1))),
            (5_000, Action::Unpause(DomainId(1))),
        ],
    );
    let told = run(&host, Habits::default(), ms(7));
    let after_start = life(&told.records).split_off(4);
    assert_eq!(
        after_start,
        [
            "2000 p0 d1v0 sleep",
            "2000 p0 d1v0 offline, idlev0 running",
            "5000 p0 d1v0 wake",
            "5000 p0 d1v0 offline -> runnable",
            "5000 p0 d1v0 probe woke []",
            "5000 p0 idlev0 runnable, d1v0 running",
        ]
    );
    assert_eq!(
        told.calls(&["sleep", "wake"]),
        [
            "0 wake d1v0 Event",
            "2000 sleep d1v0",
            "5000 wake d1v0 Unpause"
        ]
    );
    let times = told.simulation.host().vcpu_times(0);
    assert_eq!((times.running, times.offline), (ms(4), ms(3)));
}

#[test]
fn s0_7_a_paused_vcpu_that_queues_goes_offline_at_once() {
    let domains = vec![domain(1, Workload::Burn), domain(2, Workload::Burn)];
    let host = acted(
        host(1, XenVersion::V4_17, domains),
        vec![(500, Action::Pause(DomainId(2)))],
    );
    let told = run(&host, slices(), ms(3));
    assert_eq!(
        lines(&told.records, &[Kind::RunstateChange])
            .last()
            .unwrap(),
        "500 p0 d2v0 runnable -> offline"
    );
    assert_eq!(told.simulation.host().vcpu_times(0).running, ms(3));
}

#[test]
fn s0_7_an_event_during_a_pause_does_not_wake_and_is_not_lost() {
    let host = acted(
        host(
            1,
            XenVersion::V4_17,
            vec![domain(1, periodic(ms(10), ms(3), us(100)))],
        ),
        vec![
            (2_000, Action::Pause(DomainId(1))),
            (5_000, Action::Unpause(DomainId(1))),
        ],
    );
    let told = run(&host, Habits::default(), ms(7));
    assert_eq!(
        turnarounds(&told.records, vcpu(1)),
        [2_100],
        "released at 3, runs from 5 ms"
    );
    assert_eq!(
        lines(&told.records, &[Kind::RunstateChange])[1..],
        [
            "3000 p0 d1v0 blocked -> offline",
            "5000 p0 d1v0 offline -> runnable"
        ]
    );
}

#[test]
fn s0_7_a_yield_makes_a_pass_after_the_policy_was_told() {
    let spinner = Workload::Yielding {
        burst: Distribution::Constant(us(300)),
    };
    let domains = vec![domain(1, spinner), domain(2, Workload::Burn)];
    let told = run(&host(1, XenVersion::V4_17, domains), slices(), us(1_400));
    assert_eq!(
        told.calls(&["pass", "yielded"])[1..],
        [
            "300 yielded d1v0",
            "300 pass p0 d1v0 Yielded 300",
            "1300 pass p0 d2v0 Slice 1000",
        ]
    );
    assert_eq!(lines(&told.records, &[Kind::Yield]), ["300 p0 d1v0 yield"]);
    assert_eq!(
        lines(&told.records, &[Kind::Switch])[1],
        "300 p0 d1v0 runnable, d2v0 running",
        "it did not block"
    );
}

#[test]
fn s0_8_a_queued_vcpu_that_is_pinned_elsewhere_moves_at_once_and_looks_woken() {
    let domains = vec![domain(1, Workload::Burn), domain(2, Workload::Burn)];
    let host = acted(host(2, XenVersion::V4_17, domains), vec![(500, pin(2, P1))]);
    let told = run(&host, slices(), ms(3));
    let calls = told.calls(&["sleep", "pick", "wake"]);
    assert_eq!(
        calls[calls.len() - 3..],
        [
            "500 sleep d2v0",
            "500 pick d2v0 p1",
            "500 wake d2v0 Migrate"
        ]
    );
    let times = told.simulation.host().vcpu_times(1);
    assert_eq!((times.running, times.runnable), (us(2_500), us(500)));
}

#[test]
fn s0_8_a_running_vcpu_that_is_pinned_elsewhere_moves_when_its_state_is_saved() {
    let mut host = host(2, XenVersion::V4_17, vec![domain(1, Workload::Burn)]);
    (host.profile.switch, host.profile.idle_switch) = (us(5), us(5));
    let host = acted(host, vec![(500, pin(1, P1))]);
    let told = run(&host, Habits::default(), ms(3));
    let calls = told.calls(&["sleep", "pass", "pick", "wake", "saved"]);
    let from = calls.iter().position(|c| c.starts_with("500 ")).unwrap();
    assert_eq!(
        calls[from..],
        [
            "500 sleep d1v0",
            "500 pass p0 d1v0 NotRunnable 500",
            "505 saved d1v0",
            "505 pick d1v0 p1",
            "505 wake d1v0 Migrate",
            "505 pass p1 idle Tickled 0",
        ]
    );
    assert_eq!(
        lines(&told.records, &[Kind::Switch])[1..],
        [
            "505 p0 d1v0 offline, idlev0 running",
            "510 p1 idlev1 runnable, d1v0 running"
        ]
    );
}

#[test]
fn a_pin_that_allows_the_pcpu_moves_nobody_until_4_2() {
    let moves = |version| {
        let host = acted(
            host(2, version, vec![domain(1, Workload::Burn)]),
            vec![(500, pin(1, P0))],
        );
        let told = run(&host, Habits::default(), ms(3));
        let calls = told.calls(&["sleep", "pick", "wake"])[2..].to_vec();
        calls.into_iter().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(moves(XenVersion::V4_2), [""; 0]);
    for version in [XenVersion::V4_3, XenVersion::V4_17] {
        let asked = [
            "500 sleep d1v0",
            "500 pick d1v0 p0",
            "500 wake d1v0 Migrate",
        ];
        assert_eq!(moves(version), asked, "{version}");
    }
}

#[test]
fn adjusting_a_domain_pauses_its_vcpus_from_3_1_to_4_1() {
    let set = Action::SetParams(DomainId(1), ParamValues::defaults(&[]));
    for version in XenVersion::ALL {
        let domains = vec![domain(1, Workload::Burn), domain(2, Workload::Burn)];
        let host = acted(host(1, version, domains), vec![(500, set.clone())]);
        let told = run(&host, slices(), ms(3));
        let calls = told.calls(&["set", "sleep", "wake"]);
        let from = calls.iter().position(|c| c.starts_with("500 "));
        let pauses = (XenVersion::V3_1..=XenVersion::V4_1).contains(&version);
        let expected = match pauses {
            true => &["500 sleep d1v0", "500 set d1", "500 wake d1v0 Unpause"][..],
            false => &["500 set d1"],
        };
        assert_eq!(&calls[from.unwrap()..], expected, "{version}");
    }
}

#[test]
fn who_is_paused_stays_so_when_its_domain_is_adjusted() {
    let set = Action::SetParams(DomainId(1), ParamValues::defaults(&[]));
    let actions = vec![(500, Action::Pause(DomainId(1))), (700, set)];
    let host = host(1, XenVersion::V4_0, vec![domain(1, Workload::Burn)]);
    let told = run(&acted(host, actions), Habits::default(), ms(3));
    let calls = told.calls(&["set", "sleep", "wake"]);
    assert_eq!(calls[2..], ["500 sleep d1v0", "700 set d1"]);
}

#[test]
fn pauses_by_the_toolstack_are_counted_since_4_5() {
    let [pause, unpause] = [Action::Pause, Action::Unpause].map(|a| a(DomainId(1)));
    for (version, ends) in [(XenVersion::V4_3, 700), (XenVersion::V4_5, 800)] {
        let actions = vec![
            (400, unpause.clone()),
            (500, pause.clone()),
            (600, pause.clone()),
            (700, unpause.clone()),
            (800, unpause.clone()),
            (900, unpause.clone()),
        ];
        let host = host(1, version, vec![domain(1, Workload::Burn)]);
        let told = run(&acted(host, actions), Habits::default(), ms(3));
        let calls = told.calls(&["sleep", "wake"]);
        let woken = format!("{ends} wake d1v0 Unpause");
        assert_eq!(calls[1..], ["500 sleep d1v0", &woken], "{version}");
    }
}

#[test]
fn a_domain_comes_and_goes_while_others_run() {
    let mut guest = domain(2, Workload::Burn);
    guest.start = at_ms(3);
    guest.stop = Some(at_ms(7));
    let domains = vec![domain(1, Workload::Burn), guest];
    let told = run(&host(1, XenVersion::V4_17, domains), slices(), ms(10));
    assert_eq!(
        told.calls(&["set", "insert", "pick", "wake", "sleep", "remove"])[4..],
        [
            "3000 set d2",
            "3000 insert d2v0",
            "3000 pick d2v0 p0",
            "3000 wake d2v0 Event",
            "7000 sleep d2v0",
            "7000 remove d2v0",
        ]
    );
    assert_eq!(
        lines(&told.records, &[Kind::DomainAdd, Kind::DomainRemove]),
        [
            "0 p0 d1v0 domainadd",
            "3000 p0 d2v0 domainadd",
            "7000 p0 d2v0 domainremove"
        ]
    );
    let host = told.simulation.host();
    assert_eq!(host.vcpu_age(1), ms(4));
    let times = host.vcpu_times(1);
    assert_eq!(times.running + times.runnable, ms(4));
    assert_eq!(times.running + host.vcpu_times(0).running, ms(10));
}

#[test]
fn a_domain_that_runs_is_removed_only_when_it_was_switched_out() {
    let mut guest = domain(1, Workload::Burn);
    guest.stop = Some(at_ms(1));
    let mut host = host(1, XenVersion::V4_17, vec![guest]);
    host.profile.wake_to_pass = us(3);
    (host.profile.switch, host.profile.idle_switch) = (us(5), us(5));
    let told = run(&host, slices(), ms(2));
    let calls = told.calls(&["sleep", "saved", "remove"]);
    assert_eq!(calls[..2], ["1000 sleep d1v0", "1008 saved d1v0"]);
    assert!(
        calls[2].ends_with("remove d1v0") && calls.len() == 3,
        "{calls:?}"
    );
}

#[test]
fn a_pcpu_that_goes_offline_gives_its_vcpus_away_and_may_come_back() {
    let domains = vec![
        domain(1, Workload::Burn),
        pinned(domain(2, Workload::Burn), P1),
    ];
    let host = acted(
        host(2, XenVersion::V4_17, domains),
        vec![
            (2_000, Action::PcpuOffline(P1)),
            (4_000, Action::PcpuOnline(P1)),
            (5_000, pin(2, P1)),
        ],
    );
    let told = run(&host, slices(), ms(8));
    let calls = told.calls(&["pick", "wake", "offline", "online"]);
    assert_eq!(
        calls[6..],
        [
            "2000 pick d2v0 p0",
            "2000 wake d2v0 Migrate",
            "2000 offline p1",
            "4000 online p1",
            "5000 pick d2v0 p1",
            "5000 wake d2v0 Migrate",
        ],
        "its affinity had nothing left and was broken; coming back repairs nothing"
    );
    let host = told.simulation.host();
    assert_eq!(
        host.vcpu_times(0).running + host.vcpu_times(1).running,
        ms(8 + 2 + 3)
    );
    assert_eq!(host.tables().online, CpuSet::first_n(2));
}

#[test]
fn the_last_pcpu_stays() {
    let host = acted(
        host(1, XenVersion::V4_17, vec![domain(1, Workload::Burn)]),
        vec![(500, Action::PcpuOffline(P0))],
    );
    let told = run(&host, Habits::default(), ms(2));
    assert!(told.calls(&["offline"]).is_empty());
    assert_eq!(told.simulation.host().vcpu_times(0).running, ms(2));
}

#[test]
fn new_parameters_of_the_policy_hold_from_the_next_slice_on() {
    let policy = domio_sched::find("round-robin").unwrap();
    let params = ParamValues::defaults(policy.descriptor.params);
    let mut shorter = params;
    shorter.set("tslice_ms", 10).unwrap();
    let burners = vec![domain(1, Workload::Burn), domain(2, Workload::Burn)];
    let host = acted(
        host(1, XenVersion::V4_17, burners),
        vec![(35_000, Action::SetPolicy(shorter))],
    );
    let scheduler = (policy.make)(&params, &host.topology);
    let mut simulation = Simulation::new(&host, scheduler, Trace::default(), 1, 0);
    let outcome = simulation.run(at_ms(85));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    let switches = lines(&simulation.into_sink(), &[Kind::Switch]);
    let times: Vec<&str> = switches
        .iter()
        .filter_map(|l| l.split(' ').next())
        .collect();
    assert_eq!(times, ["0", "30000", "60000", "70000", "80000"]);
}

#[test]
fn timers_of_a_pcpu_that_left_do_not_expire() {
    let host = acted(
        host(2, XenVersion::V4_17, vec![domain(1, Workload::Burn)]),
        vec![(2_000, Action::PcpuOffline(P1))],
    );
    let habits = Habits {
        timers: vec![(P1, 0, at_ms(1)), (P1, 1, at_ms(3))],
        ..Habits::default()
    };
    let told = run(&host, habits, ms(5));
    assert_eq!(
        told.calls(&["timer", "offline"]),
        ["1000 timer p1 0", "2000 offline p1"]
    );
}
