//! What changed from release to release, rule by rule, by the same scripts under each of them.

use super::*;
use crate::conformance::host;
use crate::conformance::log::{Occurrence, Run};
use crate::conformance::script::{Script, ScriptStep};
use crate::credit2::rules::{QueueLimit, RELEASES, Rules};
use crate::credit2::{DESCRIPTOR, validate, validate_domain};
use crate::rig::versions;
use domio_core::XenVersion;

/// Releases without soft affinity and caps.
const BEFORE: [&str; 2] = ["4.8", "4.9"];

fn params(version: &str) -> ParamValues {
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    params.choose("version", version).unwrap();
    params
}

/// The place of `version` among the words of the parameter.
fn release(version: &str) -> i64 {
    versions(&DESCRIPTOR)
        .iter()
        .position(|v| *v == version)
        .unwrap() as i64
}

fn run(script: &Script, version: &str) -> Run {
    let policy = Credit2::new(&params(version), &script.topology);
    host::run(script, alloc::boxed::Box::new(policy)).expect("a sound script")
}

fn script(pcpus: u16) -> Script {
    let end = Instant::from_nanos(500_000_000);
    Script::new("test", Topology::flat(pcpus).unwrap(), end)
}

/// A host under `version`, with further settings.
fn rig(version: &str, topology: (u16, u16, u16), settings: &[(&str, i64)]) -> Rig {
    let (sockets, cores, threads) = topology;
    let mut all = alloc::vec![("version", release(version))];
    all.extend(settings);
    Rig::with(Topology::new(sockets, cores, threads).unwrap(), &all)
}

#[test]
fn releases_from_4_8_on_are_known_and_4_17_is_the_default() {
    let all = versions(&DESCRIPTOR);
    assert_eq!((all[0], all[all.len() - 1]), ("4.8", "4.20"));
    assert_eq!(params("4.17"), ParamValues::defaults(DESCRIPTOR.params));
}

#[test]
fn each_rule_begins_with_its_release() {
    type Has = fn(&Rules) -> bool;
    let rules: [(Has, &str); 10] = [
        (|r| r.soft_affinity, "4.10"),
        (|r| r.caps, "4.10"),
        (|r| r.busy_first, "4.11"),
        (|r| r.threads_of_the_queue, "4.13"),
        (|r| r.credit_ends, "4.14"),
        (|r| r.reset_by_queue, "4.14"),
        (|r| r.queue_limit != QueueLimit::None, "4.14"),
        (|r| r.load_of_who_goes_on, "4.15"),
        (|r| r.looks_on, "4.16"),
        (|r| r.queue_limit == QueueLimit::Whole, "4.17"),
    ];
    let changes = RELEASES.changes.unwrap();
    assert_eq!(changes.len(), rules.len(), "each rule is declared");
    for ((has, since), change) in rules.into_iter().zip(changes) {
        assert_eq!(change.since.name(), since, "{}", change.rule);
        for version in XenVersion::ALL {
            let expected = version >= change.since;
            assert_eq!(has(&Rules::of(version)), expected, "{version}, {since}");
        }
    }
}

#[test]
fn caps_came_with_4_10() {
    let mut s = script(1);
    let d = s.domain(&[("cap", 30)]);
    s.vcpu(d, &[ScriptStep::Burn]);
    let mut domain = ParamValues::defaults(DESCRIPTOR.domain_params);
    domain.set("cap", 30).unwrap();
    for version in versions(&DESCRIPTOR) {
        let idles = |run: Run| {
            let mut log = run.log.iter();
            log.any(|e| matches!(e.what, Occurrence::Switch(_, Some(_), None)))
        };
        let old = BEFORE.contains(version);
        assert_eq!(idles(run(&s, version)), !old, "{version}");
        let checked = validate_domain(&params(version), &domain);
        assert_eq!(
            checked.map_err(|c| c.param),
            if old { Err("cap") } else { Ok(()) }
        );
    }
    domain.set("cap", 0).unwrap();
    assert_eq!(validate_domain(&params("4.8"), &domain), Ok(()));
}

#[test]
fn soft_affinity_came_with_4_10() {
    // All prefer the second pcpu.
    let mut s = script(2);
    let wish = CpuSet::of(P1);
    for _ in 0..4 {
        let d = s.domain(&[]);
        let v = s.vcpu(d, &[ScriptStep::Burn]);
        s.vcpus[v.index()].soft = wish;
    }
    let mut without = s.clone();
    for v in &mut without.vcpus {
        v.soft = CpuSet::ALL;
    }
    for version in versions(&DESCRIPTOR) {
        let decisions = |script: &Script| {
            let log = run(script, version).log;
            let mut calls = Vec::new();
            for entry in log {
                if let Occurrence::Switch(..) = entry.what {
                    calls.push((entry.at, entry.what));
                }
            }
            calls
        };
        let same = decisions(&s) == decisions(&without);
        assert_eq!(same, BEFORE.contains(version), "{version}");
    }
}

/// Pcpus in each run queue of a host under `version`.
fn queues(version: &str, topology: (u16, u16, u16), settings: &[(&str, i64)]) -> Vec<usize> {
    let rig = rig(version, topology, settings);
    let policy = &rig.policy;
    let pcpus = |r: usize| policy.runqs[r].active.len();
    policy.existing().map(pcpus).collect()
}

#[test]
fn run_queues_have_a_limit_since_4_14() {
    let large = (2, 16, 1);
    assert_eq!(queues("4.13", (1, 32, 1), &[]), [32]);
    assert_eq!(queues("4.13", large, &[("runqueue", 4)]), [32]);
    for version in ["4.14", "4.16", "4.17", "4.20"] {
        assert_eq!(queues(version, (1, 32, 1), &[]), [16, 16], "{version}");
        assert_eq!(
            queues(version, large, &[("runqueue", 4)]),
            [16, 16],
            "{version}"
        );
    }
    let mut limited = params("4.13");
    limited.set("max_cpus_runqueue", 8).unwrap();
    let refused = validate(&limited).map_err(|c| (c.param, c.expected));
    assert_eq!(
        refused,
        Err(("max_cpus_runqueue", "version 4.14 or later".into()))
    );
    limited.choose("version", "4.14").unwrap();
    assert_eq!(validate(&limited), Ok(()));
}

/// Six threads, three in a queue at most. A second core does not fit beside the first; a single
/// thread of it would.
#[test]
fn one_queue_for_all_took_whole_cores_until_4_16() {
    let settings = [("runqueue", 4), ("max_cpus_runqueue", 3)];
    for (version, expected) in [
        ("4.14", &[2, 2, 2][..]),
        ("4.16", &[2, 2, 2]),
        ("4.17", &[4, 2]),
        ("4.20", &[4, 2]),
    ] {
        assert_eq!(queues(version, (1, 3, 2), &settings), expected, "{version}");
    }
    // With as many pcpus as there may be, all releases have one queue on two sockets.
    for version in ["4.13", "4.14", "4.16", "4.17"] {
        assert_eq!(queues(version, (2, 2, 1), &settings[..1]), [4], "{version}");
    }
}

#[test]
fn before_4_14_a_pcpu_takes_an_unused_number_before_the_queue_that_fits() {
    for (version, comes_to) in [("4.13", 0), ("4.14", 1)] {
        let mut rig = rig(version, (2, 2, 1), &[("runqueue", 2)]);
        rig.unplug(P0);
        rig.unplug(P1);
        rig.unplug(P3);
        rig.plug(P3);
        assert_eq!(rig.policy.runq_of(P3), comes_to, "{version}");
    }
}

#[test]
fn before_4_13_a_lone_thread_counts_as_an_idle_core_for_ever() {
    for (version, idle) in [("4.12", set(&[0])), ("4.13", CpuSet::EMPTY)] {
        let mut rig = rig(version, (1, 1, 2), &[("runqueue", 0)]);
        rig.running_on(P0, 9 * MS);
        assert_eq!(rig.policy.runqs[0].smt_idle, idle, "{version}");
    }
}

#[test]
fn credit_has_an_end_since_4_14() {
    // After 30 ms with 5 ms of credit: 25 ms under zero need three times 10 ms.
    for (version, credit) in [("4.13", 5 * MS), ("4.14", 10 * MS)] {
        let mut rig = rig(version, (1, 1, 1), &[]);
        let v = rig.running_on(P0, 5 * MS);
        rig.wait_us(30_000);
        assert_eq!(rig.pass(P0).next, Some(v), "{version}");
        assert_eq!(rig.credit(v), credit, "{version}");
    }
}

#[test]
fn before_4_14_nobody_runs_with_less_credit_than_idling() {
    let lowest = -(1 << 30);
    for (credit, runs) in [(lowest, false), (lowest + 1, true)] {
        let mut rig = rig("4.13", (1, 1, 1), &[]);
        rig.waiting_on(P0, credit);
        assert_eq!(rig.pass(P0).next.is_some(), runs, "{credit}");
    }
}

/// The lowest of 32 bits and a nanosecond less is the highest.
#[test]
fn before_4_14_credit_wraps_round() {
    let mut rig = rig("4.13", (1, 1, 1), &[]);
    let v = rig.running_on(P0, -(1 << 31));
    rig.now += Duration::from_nanos(1);
    rig.waiting_on(P0, -MS);
    rig.pass(P0);
    assert_eq!(rig.credit(v), (1 << 31) - 1);
}

#[test]
fn before_4_14_whoever_is_passed_over_holds_the_reset_up() {
    for (version, resets) in [("4.13", false), ("4.14", true)] {
        let mut rig = rig(version, (1, 2, 1), &[]);
        rig.running_on(P1, 10_500 * US);
        let v = rig.running_on(P0, MS);
        // It ran on the other pcpu and has too little credit for a move.
        rig.waiting_on(P1, -MS);
        rig.wait_us(2_000);
        assert_eq!(rig.pass(P0).next, Some(v), "{version}");
        let credit = if resets { 9 * MS } else { -MS };
        assert_eq!(rig.credit(v), credit, "{version}");
    }
}

#[test]
fn before_4_14_credit_is_reset_beside_somebody_who_has_some() {
    for (version, credit) in [("4.13", 9_500 * US), ("4.14", -500 * US)] {
        let mut rig = rig(version, (1, 1, 1), &[]);
        let v = rig.running_on(P0, 0);
        rig.waiting_on(P0, 3 * MS);
        // Within the rate limit nobody is looked at.
        rig.wait_us(500);
        assert_eq!(rig.pass(P0).next, Some(v), "{version}");
        assert_eq!(rig.credit(v), credit, "{version}");
    }
}

#[test]
fn the_load_of_who_goes_on_is_worked_out_since_4_15() {
    for (version, micros) in [("4.14", 0), ("4.15", 2_000)] {
        let mut rig = rig(version, (1, 1, 1), &[]);
        let v = rig.running_on(P0, 9 * MS);
        let before = rig.policy.vcpus[v.index()].averaged;
        rig.wait_us(2_000);
        rig.pass(P0);
        let worked_out = rig.policy.vcpus[v.index()].averaged - before;
        assert_eq!(worked_out, micros * US / 1_024, "{version}");
    }
}

#[test]
fn before_4_16_a_pcpu_idles_behind_a_vcpu_without_a_budget() {
    for (version, idles) in [("4.15", true), ("4.16", false)] {
        let mut rig = rig(version, (1, 1, 1), &[]);
        let capped = rig.domain(256, 50);
        let first = rig.vcpu_within(capped, CpuSet::ALL, CpuSet::ALL);
        rig.wake(first);
        let second = rig.waiting_on(P0, 9 * MS);
        let domain = rig.policy.vcpus[first.index()].domain as usize;
        rig.policy.domains[domain].budget = 0;
        let expected = if idles { None } else { Some(second) };
        assert_eq!(rig.pass(P0).next, expected, "{version}");
        assert_eq!(rig.queue(0).len(), usize::from(idles), "{version}");
    }
}

/// Who is brought by the balancing of a pass that ends an idle time.
#[test]
fn before_4_11_a_pcpu_counts_as_idle_while_its_pass_balances() {
    for (version, tickled) in [("4.10", &[P0][..]), ("4.11", &[])] {
        let mut rig = rig(version, (2, 1, 1), &[]);
        let woken = rig.guest_on(P0);
        let others = [(); 3].map(|()| {
            let v = rig.guest(256);
            rig.tables.affinity[v.index()].hard = set(&[1]);
            rig.place(v);
            rig.wake(v);
            v
        });
        rig.pass(P1);
        for v in others {
            rig.tables.affinity[v.index()].hard = CpuSet::ALL;
            rig.policy.vcpus[v.index()].average = 1 << 18;
            rig.set_credit(v, -MS);
        }
        // Whoever runs would be flagged and not moved.
        rig.policy.vcpus[others[0].index()].average = 0;
        rig.policy.runqs[1].balanced = 3 << 18;
        rig.policy.runqs[0].balanced = 0;
        rig.set_credit(woken, -MS);
        rig.wake(woken);
        rig.tickled.clear();
        assert_eq!(rig.pass(P0).next, Some(woken), "{version}");
        assert_eq!(rig.queue(0).len(), 1, "one is brought");
        assert_eq!(rig.tickled(), tickled, "{version}");
    }
}
