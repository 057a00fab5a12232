//! Policies that break the contract end the run with a message that says what they did; they never
//! hang it, and nothing panics.

use crate::common::*;
use crate::probe::{Habits, Mistake, run};
use crate::random;
use domio_broken::policies::{Broken, placement, promises, queueing};
use domio_contract::Scheduler;
use domio_core::{DomainId, NullSink, Topology, XenVersion};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::config::{Action, HostConfig, Workload};
use proptest::prelude::*;

const V: XenVersion = XenVersion::V4_17;

fn burners(pcpus: u16, count: u16) -> HostConfig {
    let domains = (1..=count).map(|id| domain(id, Workload::Burn));
    host(pcpus, V, domains.collect())
}

/// The message of a policy fault.
fn fault(host: &HostConfig, habits: Habits) -> String {
    match run(host, habits, ms(10)).outcome {
        Outcome::PolicyFault { fault, .. } => fault,
        other => panic!("{other:?}"),
    }
}

fn with(mistake: Mistake) -> Habits {
    Habits {
        slice: Some(ms(1)),
        mistake: Some(mistake),
        ..Habits::default()
    }
}

#[test]
fn a_blocked_vcpu_is_picked() {
    let host = host(1, V, vec![domain(1, on_off(us(300), ms(1)))]);
    let fault = fault(&host, with(Mistake::PicksFirst(P0)));
    assert_eq!(
        fault,
        "the policy picked d1v0 on p0, but it is not runnable"
    );
}

#[test]
fn a_vcpu_is_picked_that_another_pcpu_holds() {
    let habits = Habits {
        timers: vec![(P1, 0, at_ms(1))],
        timer_tickles: Some(P1),
        ..with(Mistake::PicksFirst(P1))
    };
    let fault = fault(&burners(2, 1), habits);
    assert_eq!(
        fault,
        "the policy picked d1v0 on p1, but it is still held by another pcpu"
    );
}

#[test]
fn a_vcpu_is_picked_where_its_affinity_forbids() {
    let mut host = burners(2, 2);
    // The first waits on pcpu 0 while the second runs there.
    host.domains[0] = pinned(domain(1, Workload::Burn), P0);
    let habits = Habits {
        timers: vec![(P1, 0, at_us(1_500))],
        timer_tickles: Some(P1),
        ..with(Mistake::PicksFirst(P1))
    };
    let fault = fault(&host, habits);
    assert_eq!(
        fault,
        "the policy picked d1v0 on p1, but it may not run there by its hard affinity"
    );
}

#[test]
fn a_vcpu_is_picked_that_does_not_exist() {
    let fault = fault(&burners(1, 1), with(Mistake::PicksNobody));
    assert!(fault.contains("on p0, which never existed"), "{fault}");
}

#[test]
fn a_slice_of_zero() {
    let fault = fault(&burners(1, 1), with(Mistake::ZeroSlice));
    assert_eq!(fault, "the policy gave a slice of zero on p0");
}

#[test]
fn a_vcpu_is_placed_where_its_affinity_forbids() {
    let mut host = burners(2, 1);
    host.domains[0] = pinned(domain(1, Workload::Burn), P0);
    let fault = fault(&host, with(Mistake::Places(P1)));
    assert!(
        fault.starts_with("the policy placed d1v0 on p1; allowed are"),
        "{fault}"
    );
}

#[test]
fn a_pcpu_that_is_offline_is_tickled() {
    let mut host = burners(2, 1);
    host.actions = vec![(at_ms(1), Action::PcpuOffline(P1))];
    let habits = Habits {
        timers: vec![(P0, 0, at_ms(2))],
        timer_tickles: Some(P1),
        ..Habits::default()
    };
    let fault = fault(&host, habits);
    assert!(
        fault.starts_with("the policy tickled p1, which is not online"),
        "{fault}"
    );
}

#[test]
fn a_pcpu_that_tickles_itself_for_ever_stalls() {
    for mut host in [burners(1, 1), burners(4, 2)] {
        let outcome = run(&host, with(Mistake::TicklesItself), ms(10)).outcome;
        let Outcome::Stalled { what, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(what.contains("the policy keeps tickling it"), "{what}");
        // Where passes cost time, time goes on.
        host.profile.keep = us(1);
        host.profile.switch = us(1);
        let outcome = run(&host, with(Mistake::TicklesItself), ms(10)).outcome;
        assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
    }
}

#[test]
fn a_guest_that_wakes_and_blocks_without_end_stalls() {
    let host = host(1, V, vec![domain(1, on_off(us(0), us(0)))]);
    let outcome = run(&host, Habits::default(), ms(10)).outcome;
    assert!(matches!(outcome, Outcome::Stalled { .. }), "{outcome:?}");
}

/// The conformance suite's broken policies.
fn broken(topology: &Topology) -> Vec<Box<dyn Scheduler>> {
    vec![
        Box::new(Broken::new(placement::IgnoresAffinity, topology)),
        Box::new(Broken::new(placement::PicksBlocked, topology)),
        Box::new(Broken::new(placement::RunsTwice, topology)),
        Box::new(Broken::new(placement::IgnoresHotplug::default(), topology)),
        Box::new(Broken::new(
            placement::RemembersTheDead::default(),
            topology,
        )),
        Box::new(Broken::new(promises::NeverBalances, topology)),
        Box::new(Broken::new(queueing::LosesWakeUps::default(), topology)),
        Box::new(Broken::new(queueing::IdlesOverWork, topology)),
        Box::new(Broken::new(queueing::Starves, topology)),
        Box::new(Broken::new(queueing::TicklesForEver, topology)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn broken_policies_neither_hang_nor_panic(case in random::case()) {
        let mut case = case;
        for domain in &mut case.host.domains {
            domain.params = domio_core::ParamValues::defaults(&[]);
        }
        case.host.actions.retain(|(_, a)| !matches!(a, Action::SetParams(..)));
        for policy in broken(&case.host.topology) {
            let mut simulation = Simulation::new(&case.host, policy, NullSink, case.seed, 0);
            match simulation.run(case.end) {
                Outcome::PolicyFault { fault, .. } => prop_assert!(fault.contains("policy")),
                Outcome::Stalled { what, .. } => prop_assert!(!what.is_empty()),
                _ => {}
            }
        }
    }
}

#[test]
fn the_broken_policies_that_break_the_contract_are_refused() {
    let mut domains: Vec<_> = (1..=4).map(|id| domain(id, on_off(ms(2), ms(1)))).collect();
    domains[0] = pinned(domains[0].clone(), P0);
    let mut host = host(2, V, domains);
    host.actions = vec![
        (at_ms(5), Action::Pause(DomainId(2))),
        (at_ms(9), Action::Unpause(DomainId(2))),
    ];
    let refused = |policy: Box<dyn Scheduler>| {
        let mut simulation = Simulation::new(&host, policy, NullSink, 1, 0);
        simulation.run(at_ms(500))
    };
    let t = &host.topology;
    let blocked = refused(Box::new(Broken::new(placement::PicksBlocked, t)));
    assert!(
        matches!(blocked, Outcome::PolicyFault { .. }),
        "{blocked:?}"
    );
    let twice = refused(Box::new(Broken::new(placement::RunsTwice, t)));
    assert!(matches!(twice, Outcome::PolicyFault { .. }), "{twice:?}");
    let tickles = refused(Box::new(Broken::new(queueing::TicklesForEver, t)));
    assert!(matches!(tickles, Outcome::Stalled { .. }), "{tickles:?}");
}
