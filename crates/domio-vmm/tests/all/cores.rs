//! Core scheduling: no two domains on one core, units, and threads that wait for each other.

use crate::common::*;
use crate::random::{self, Case};
use domio_contract::{Cores, Scheduler};
use domio_core::{CpuSet, Instant, Kind, ParamValues, PcpuId, Runstate, Topology};
use domio_core::{VcpuName, XenVersion};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::config::{Action, DomainConfig, HostConfig, Workload};
use domio_vmm::profile::Profile;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn run(host: &HostConfig, scheduler: Box<dyn Scheduler>, end: Instant, seed: u64) -> Run {
    let mut simulation = Simulation::new(host, scheduler, Trace::default(), seed, 0);
    let outcome = simulation.run(end);
    simulation.host_mut().mark(end);
    let trace = std::mem::take(simulation.host_mut().sink_mut());
    Run { outcome, trace }
}

struct Run {
    outcome: Outcome,
    trace: Trace,
}

impl Run {
    fn completed(&self) -> bool {
        matches!(self.outcome, Outcome::Completed { .. })
    }
}

/// The policy called `name` with its defaults, for units.
fn for_cores(name: &str, host: &HostConfig) -> Box<dyn Scheduler> {
    let policy = domio_sched::find(name).unwrap();
    let params = ParamValues::defaults(policy.descriptor.params);
    let inner = (policy.make)(&params, &host.topology);
    Box::new(Cores::new(inner, &host.topology))
}

/// Who runs where and who waits, between two instants.
#[derive(Default)]
struct Scene {
    on: BTreeMap<PcpuId, VcpuName>,
    states: BTreeMap<VcpuName, Runstate>,
}

impl Scene {
    /// Calls `look` with the scene of each time that is not empty.
    fn each(trace: &Trace, mut look: impl FnMut(&Scene, Instant)) {
        let mut scene = Scene::default();
        let mut at = Instant::ZERO;
        for record in trace.iter() {
            if record.at > at {
                look(&scene, at);
                at = record.at;
            }
            for (actor, _, new) in record.changes().into_iter().flatten() {
                let name = trace.vcpu(actor);
                if name.is_idle() {
                    continue;
                }
                scene.states.insert(name, new);
                match new {
                    Runstate::Running => drop(scene.on.insert(record.pcpu, name)),
                    _ if scene.on.get(&record.pcpu) == Some(&name) => {
                        scene.on.remove(&record.pcpu);
                    }
                    _ => {}
                }
            }
        }
    }

    fn unit(&self, topology: &Topology, core: usize) -> Vec<VcpuName> {
        let on = self.on.iter();
        let on = on.filter(|(pcpu, _)| topology.core_of(**pcpu) == core);
        on.map(|(_, name)| *name).collect()
    }
}

fn unit_of(name: VcpuName, threads: u16) -> (u16, u16) {
    (name.domain.0, name.index / threads)
}

/// The case with whole cores for everybody, and pcpus that stay.
fn whole(mut case: Case) -> Case {
    for vcpu in case.host.domains.iter_mut().flat_map(|d| &mut d.vcpus) {
        (vcpu.hard, vcpu.soft) = (CpuSet::ALL, CpuSet::ALL);
    }
    case.host.actions.retain(|(_, action)| {
        !matches!(
            action,
            Action::Pin { .. } | Action::PcpuOffline(_) | Action::PcpuOnline(_)
        )
    });
    case
}

fn burners(id: u16, vcpus: usize) -> DomainConfig {
    let mut domain = domain(id, Workload::Burn);
    let one = domain.vcpus[0].clone();
    domain.vcpus = vec![one; vcpus];
    domain.params = random::domain_params("credit", 256, 0);
    domain
}

/// A host of so many cores with two threads each.
fn smt(cores: u16, domains: Vec<DomainConfig>) -> HostConfig {
    let mut host = host(cores * 2, XenVersion::V4_17, domains);
    host.topology = Topology::new(1, cores, 2).unwrap();
    host
}

/// Time in ms that each vcpu ran.
fn ran_ms(trace: &Trace) -> BTreeMap<VcpuName, u64> {
    let mut ran = BTreeMap::new();
    let mut last: Option<(Instant, Vec<VcpuName>)> = None;
    Scene::each(trace, |scene, at| {
        if let Some((from, names)) = last.take() {
            for name in names {
                *ran.entry(name).or_insert(0) += at.since(from).as_nanos();
            }
        }
        last = Some((at, scene.on.values().copied().collect()));
    });
    ran.into_iter().map(|(n, ns)| (n, ns / 1_000_000)).collect()
}

/// Two units of one core have half of it each; the vcpu that is alone in its unit leaves the other
/// thread idle.
#[test]
fn units_share_a_core() {
    let host = smt(1, vec![burners(1, 2), burners(2, 1)]);
    let run = run(&host, for_cores("credit", &host), at_ms(3_000), 1);
    assert!(run.completed());
    let ran: Vec<u64> = ran_ms(&run.trace).into_values().collect();
    assert!(ran.iter().all(|ms| ms.abs_diff(1_500) < 60), "{ran:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_two_domains_are_on_one_core(case in random::case()) {
        let case = whole(case);
        let topology = &case.host.topology;
        let threads = topology.threads_per_core() as u16;
        let scheduler = Box::new(Cores::new(case.scheduler(), topology));
        let run = run(&case.host, scheduler, case.end, case.seed);
        prop_assert!(run.completed(), "{:?}", run.outcome);
        let mut wrong = None;
        Scene::each(&run.trace, |scene, at| {
            for core in 0..topology.pcpus() / topology.threads_per_core() {
                let on = scene.unit(topology, core);
                if on.iter().any(|v| unit_of(*v, threads) != unit_of(on[0], threads)) {
                    wrong = wrong.take().or(Some((at, on)));
                }
            }
        });
        prop_assert!(wrong.is_none(), "{} {:?}", case.policy, wrong);
    }

    /// Where nothing takes time, a vcpu whose unit runs does not wait.
    #[test]
    fn who_wakes_joins_his_unit(case in random::case()) {
        let case = whole(case);
        if !case.is_ideal() {
            return Ok(());
        }
        let threads = case.host.topology.threads_per_core() as u16;
        let scheduler = Box::new(Cores::new(case.scheduler(), &case.host.topology));
        let run = run(&case.host, scheduler, case.end, case.seed);
        let mut wrong = None;
        Scene::each(&run.trace, |scene, at| {
            let running = scene.on.values().map(|v| unit_of(*v, threads));
            let running: Vec<_> = running.collect();
            let waits = scene.states.iter().filter(|(_, s)| **s == Runstate::Runnable);
            let mut waits = waits.map(|(v, _)| *v);
            if let Some(late) = waits.find(|v| running.contains(&unit_of(*v, threads))) {
                wrong = wrong.take().or(Some((at, late)));
            }
        });
        prop_assert!(wrong.is_none(), "{} {:?}", case.policy, wrong);
    }

    /// With one thread a core everything is as without core scheduling.
    #[test]
    fn one_thread_a_core_changes_nothing(case in random::case()) {
        let mut case = whole(case);
        let pcpus = case.host.topology.pcpus() as u16;
        case.host.topology = Topology::flat(pcpus).unwrap();
        let cores = Box::new(Cores::new(case.scheduler(), &case.host.topology));
        let own = run(&case.host, cores, case.end, case.seed);
        let plain = run(&case.host, case.scheduler(), case.end, case.seed);
        let all = |run: &Run| -> Vec<String> {
            run.trace.iter().map(|r| run.trace.line(r)).collect()
        };
        prop_assert!(all(&own) == all(&plain), "{}", case.policy);
    }
}

/// The thread that decides waits for the other one, and both go on together.
#[test]
fn threads_wait_for_each_other() {
    let mut waker = domain(2, periodic(ms(40), ms(5), us(100)));
    waker.params = random::domain_params("credit", 256, 0);
    let mut host = smt(1, vec![burners(1, 2), waker]);
    host.profile = Profile {
        ipi: us(5),
        ipi_to_pass: us(2),
        wake_to_pass: us(1),
        switch: us(3),
        idle_switch: us(1),
        ..Profile::IDEAL
    };
    let run = run(&host, for_cores("credit", &host), at_ms(31), 1);
    assert!(run.completed());
    // From cause to pass 1 and 0 us on pcpu 0, 5 + 2 until pcpu 1 is there, 3 for the slower
    // switch.
    let expected = [
        "11 p0 idlev0 runnable, d1v0 running",
        "11 p1 idlev1 runnable, d1v1 running",
        "30018 p0 d1v0 runnable, d2v0 running",
        "30018 p1 d1v1 runnable, idlev1 running",
    ];
    assert_eq!(lines(&run.trace, &[Kind::Switch])[..4], expected);
}
