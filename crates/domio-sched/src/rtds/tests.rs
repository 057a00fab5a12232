//! Tests of RTDS, on scripts of the mini host and by hand.

use super::rules::Rules;
use super::{DESCRIPTOR, Rtds, validate};
use crate::conformance::host;
use crate::conformance::log::{Occurrence, PolicyCall, Run};
use crate::conformance::script::{Intervention, Script, ScriptStep};
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_contract::{Cx, Effect, Pick, Prev, Scheduler, Stop, Tables};
use domio_core::{CpuSet, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId, XenVersion};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at_ms(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn script(pcpus: u16, end_ms: u64) -> Script {
    Script::new("test", Topology::flat(pcpus).unwrap(), at_ms(end_ms))
}

/// A burning vcpu of a domain of its own.
fn hog(s: &mut Script, params: &[(&'static str, i64)]) -> VcpuId {
    let domain = s.domain(params);
    s.vcpu(domain, &[ScriptStep::Burn])
}

fn run(s: &Script) -> Run {
    let params = ParamValues::defaults(DESCRIPTOR.params);
    host::run(s, Box::new(Rtds::new(&params, &s.topology))).expect("a sound script")
}

/// When each switch to `vcpu`, or from it to idling, happened, in us.
fn runs_of(run: &Run, vcpu: VcpuId) -> Vec<(u64, u64)> {
    let us = |at: Instant| at.as_nanos() / 1_000;
    let turns = run.turns_of(vcpu).into_iter();
    turns.map(|(from, to)| (us(from), us(to))).collect()
}

/// Time that `vcpu` ran in all, in us.
fn time_of(run: &Run, vcpu: VcpuId) -> u64 {
    runs_of(run, vcpu).iter().map(|(from, to)| to - from).sum()
}

/// Test vector 17 of the specification.
#[test]
fn vector_17() {
    let mut s = script(1, 30);
    let v = hog(&mut s, &[("extratime", 0)]);
    let ran = run(&s);
    assert_eq!(
        runs_of(&ran, v),
        [(0, 4_000), (10_000, 14_000), (20_000, 24_000)]
    );

    let mut s = script(1, 30);
    let v = hog(&mut s, &[]);
    let ran = run(&s);
    assert_eq!(runs_of(&ran, v), [(0, 30_000)]);
    // A pass at the end of each budget: after 4 and 8 ms, when the level is 1 and 2, and the third
    // one ends 4 ms after the period has begun anew.
    let passes: Vec<u64> = ran
        .log
        .iter()
        .filter(|e| matches!(e.what, Occurrence::Call(PolicyCall::Schedule(..))))
        .map(|e| e.at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(passes, [0, 4, 8, 12, 14, 18, 22, 24, 28]);
}

#[test]
fn the_earliest_deadline_runs_first_and_preempts() {
    let mut s = script(1, 40);
    let slow = hog(
        &mut s,
        &[
            ("period_us", 20_000),
            ("budget_us", 10_000),
            ("extratime", 0),
        ],
    );
    let fast = hog(
        &mut s,
        &[("period_us", 5_000), ("budget_us", 1_000), ("extratime", 0)],
    );
    let ran = run(&s);
    // Both begin with 4 ms until 10 ms.
    let expected: Vec<(u64, u64)> = (2..8).map(|n| (5_000 * n, 5_000 * n + 1_000)).collect();
    assert_eq!(runs_of(&ran, fast)[1..], expected);
    assert_eq!(time_of(&ran, slow), 4_000 + 10_000 + 8_000);
}

#[test]
fn a_budget_is_kept_while_its_vcpu_sleeps_and_no_longer_than_its_period() {
    let mut s = script(1, 20);
    let domain = s.domain(&[("extratime", 0)]);
    let v = s.vcpu(
        domain,
        &[ScriptStep::Wait, ScriptStep::Run(ms(6)), ScriptStep::Wait],
    );
    s.at(ms(7), Intervention::Kick(v));
    let ran = run(&s);
    // 3 ms until the period ends, then the rest of 6 ms from a new budget.
    let last = runs_of(&ran, v).pop().expect("it ran");
    assert_eq!(last, (7_000, 13_000));
}

/// `rt_alloc_udata()` and `rt_unit_insert()`: the tools' reservation comes after the first
/// deadline.
#[test]
fn a_new_vcpu_has_the_default_reservation_until_its_first_deadline() {
    let mut s = script(1, 32);
    let v = hog(
        &mut s,
        &[("period_us", 7_000), ("budget_us", 1_000), ("extratime", 0)],
    );
    s.vcpus[v.index()].starts = at_ms(3);
    let ran = run(&s);
    // Deadlines are multiples of 10 ms after the host's start, until the first is over.
    let runs = [
        (3_000, 7_000),
        (10_000, 11_000),
        (17_000, 18_000),
        (24_000, 25_000),
        (31_000, 32_000),
    ];
    assert_eq!(runs_of(&ran, v), runs);
}

#[test]
fn extra_time_comes_after_every_reservation() {
    let mut s = script(1, 100);
    let reserved = hog(&mut s, &[("budget_us", 6_000), ("extratime", 0)]);
    let extra = hog(&mut s, &[("budget_us", 1_000)]);
    let ran = run(&s);
    // The first period is that of Xen's default.
    assert_eq!(time_of(&ran, reserved), 4_000 + 9 * 6_000);
    assert_eq!(time_of(&ran, extra), 42_000);
}

#[test]
fn whoever_waits_takes_any_idle_pcpu() {
    let mut s = script(2, 50);
    let vcpus: Vec<VcpuId> = (0..4)
        .map(|_| hog(&mut s, &[("budget_us", 5_000), ("extratime", 0)]))
        .collect();
    let ran = run(&s);
    // Two pcpus hold four halves, after a period with the default of 4 ms.
    assert!(vcpus.iter().all(|v| time_of(&ran, *v) == 24_000));
}

#[test]
fn affinity_is_kept() {
    let mut s = script(2, 50);
    let pinned = hog(&mut s, &[]);
    s.vcpus[pinned.index()].hard = CpuSet::of(PcpuId(1));
    let free = hog(&mut s, &[]);
    let ran = run(&s);
    assert_eq!(
        (time_of(&ran, pinned), time_of(&ran, free)),
        (50_000, 50_000)
    );
}

#[test]
fn a_new_reservation_begins_with_the_next_period() {
    let mut s = script(1, 40);
    let v = hog(&mut s, &[("extratime", 0)]);
    let id = s.domains[0].id;
    s.at(ms(12), Intervention::Set(id, "budget_us", 2_000));
    let ran = run(&s);
    let runs = [
        (0, 4_000),
        (10_000, 14_000),
        (20_000, 22_000),
        (30_000, 32_000),
    ];
    assert_eq!(runs_of(&ran, v), runs);
}

/// Those in the middle of many equals never run: each period turns the order round.
#[test]
fn too_many_reservations_starve_somebody() {
    let mut s = script(1, 500);
    let vcpus: Vec<VcpuId> = (0..7).map(|_| hog(&mut s, &[("extratime", 0)])).collect();
    let ran = run(&s);
    let times: Vec<u64> = vcpus.iter().map(|v| time_of(&ran, *v)).collect();
    let idle: Vec<usize> = (0..7).filter(|i| times[*i] == 0).collect();
    assert_eq!(idle, [3], "{times:?}");
}

#[test]
fn records_have_xens_numbers() {
    let topology = Topology::flat(1).unwrap();
    let mut tables = Tables::new(topology.clone());
    tables.online.insert(PcpuId(0));
    let mut effects = Vec::new();
    let params = ParamValues::defaults(DESCRIPTOR.params);
    let mut policy = Rtds::new(&params, &topology);
    let prev = Prev {
        vcpu: None,
        ran: Duration::ZERO,
        why: Stop::Tickled,
    };
    let mut cx = Cx::new(Instant::ZERO, &mut tables, &mut effects, true);
    policy.tickled.insert(PcpuId(0));
    assert_eq!(policy.schedule(&mut cx, PcpuId(0), prev), Pick::IDLE);
    let [Effect::Note { number, words, .. }] = effects[..] else {
        panic!("a record of the pass alone: {effects:?}");
    };
    // The pcpu, whether it was tickled, whether it idled.
    assert_eq!((number, words[0]), (6, 1 << 24 | 1 << 28));
}

#[test]
fn a_vcpu_has_a_reservation_of_its_own_until_its_domain_is_set() {
    let mut s = script(2, 60);
    let domain = s.domain(&[("extratime", 0)]);
    let own = s.vcpu(domain, &[ScriptStep::Burn]);
    let other = s.vcpu(domain, &[ScriptStep::Burn]);
    s.vcpus[own.index()].params = alloc::vec![("period_us", 5_000), ("budget_us", 1_000)];
    s.at(ms(22), Intervention::SetVcpu(own, "budget_us", 2_000));
    s.at(ms(38), Intervention::Set(domain, "budget_us", 3_000));
    let ran = run(&s);
    // The first period is the default's, as everybody's. Later ones count from where it ended.
    assert_eq!(
        runs_of(&ran, own),
        [
            (0, 4_000),
            (10_000, 11_000),
            (15_000, 16_000),
            (20_000, 21_000),
            (25_000, 27_000),
            (30_000, 32_000),
            (35_000, 37_000),
            (40_000, 43_000),
            (50_000, 53_000),
        ]
    );
    let others: Vec<u64> = runs_of(&ran, other).iter().map(|(f, t)| t - f).collect();
    assert_eq!(others, [4_000, 4_000, 4_000, 4_000, 3_000, 3_000]);
}

#[test]
fn a_budget_longer_than_its_period_is_refused() {
    let mut values = ParamValues::defaults(DESCRIPTOR.domain_params);
    assert_eq!(validate(&values), Ok(()));
    values.set("budget_us", 10_001).unwrap();
    let conflict = validate(&values).unwrap_err();
    assert_eq!((conflict.param, conflict.with), ("budget_us", "period_us"));
    // And cut where nobody asked.
    let reserved = super::Reservation::new(&values, &Rules::of(XenVersion::V4_17));
    assert_eq!(reserved.budget, 10_000_000);
}
