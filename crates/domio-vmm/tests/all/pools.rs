//! Cpupools: each has its own policy, and nobody runs outside of his pool.

use crate::common::*;
use crate::random::{self, Case};
use domio_contract::{Pool, Pools, Scheduler};
use domio_core::{CpuSet, DomainId, Instant, Kind, ParamValues, PcpuId, VcpuName, XenVersion};
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::config::{Action, HostConfig, PoolConfig, Workload};
use proptest::prelude::*;

fn pcpus(numbers: impl IntoIterator<Item = u16>) -> CpuSet {
    numbers.into_iter().map(PcpuId).collect()
}

/// Pool-0 and another one with `domains`.
fn two_pools(first: CpuSet, second: CpuSet, domains: Vec<DomainId>) -> Vec<PoolConfig> {
    let pool = |name: &str, pcpus, domains| PoolConfig {
        name: name.to_owned(),
        pcpus,
        domains,
    };
    vec![
        pool("Pool-0", first, Vec::new()),
        pool("second", second, domains),
    ]
}

/// The policies `schedulers` for the pools of `host`.
fn pooled(host: &HostConfig, schedulers: Vec<Box<dyn Scheduler>>) -> Box<dyn Scheduler> {
    let pools = host.pools.iter().zip(schedulers);
    let pools = pools.map(|(pool, scheduler)| Pool {
        scheduler,
        pcpus: pool.pcpus,
        domains: pool.domains.clone(),
    });
    Box::new(Pools::new(pools.collect()))
}

/// A policy with its defaults.
fn plain(name: &str, host: &HostConfig) -> Box<dyn Scheduler> {
    let policy = domio_sched::find(name).unwrap();
    let params = ParamValues::defaults(policy.descriptor.params);
    (policy.make)(&params, &host.topology)
}

fn run(host: &HostConfig, scheduler: Box<dyn Scheduler>, end: Instant) -> (Outcome, Trace) {
    let mut simulation = Simulation::new(host, scheduler, Trace::default(), 1, 0);
    let outcome = simulation.run(end);
    simulation.host_mut().mark(end);
    (outcome, std::mem::take(simulation.host_mut().sink_mut()))
}

/// Every pcpu on which a vcpu was ever switched in.
fn where_it_ran(trace: &Trace) -> impl Iterator<Item = (VcpuName, PcpuId)> {
    let switches = trace.iter().filter(|r| r.kind() == Some(Kind::Switch));
    let next = switches.filter_map(|r| Some((r.changes()[1]?.0, r.pcpu)));
    let named = next.map(|(actor, pcpu)| (trace.vcpu(actor), pcpu));
    named.filter(|(vcpu, _)| !vcpu.is_idle())
}

/// Time that the domain ran, in ms.
fn ran_ms(trace: &Trace, domain: u16) -> u64 {
    let mut runs: Vec<(u64, bool)> = Vec::new();
    for record in trace.iter() {
        for (actor, _, new) in record.changes().into_iter().flatten() {
            if trace.vcpu(actor) == vcpu(domain) {
                let runs_now = new == domio_core::Runstate::Running;
                runs.push((record.at.as_nanos(), runs_now));
            }
        }
    }
    let pieces = runs.windows(2).filter(|pair| pair[0].1);
    pieces.map(|pair| pair[1].0 - pair[0].0).sum::<u64>() / 1_000_000
}

/// Two burners share the one pcpu of Pool-0 by weight; the third has the second pool to itself.
#[test]
fn each_pool_shares_its_own_pcpus() {
    let mut domains: Vec<_> = (1..=3).map(|id| domain(id, Workload::Burn)).collect();
    for (domain, weight) in domains.iter_mut().zip([512, 256, 1]) {
        domain.params = random::domain_params("credit", weight, 0);
    }
    let mut host = host(2, XenVersion::V4_17, domains);
    host.pools = two_pools(pcpus([0]), pcpus([1]), vec![DomainId(3)]);
    let schedulers = vec![plain("credit", &host), plain("credit", &host)];
    let (outcome, trace) = run(&host, pooled(&host, schedulers), at_ms(3_000));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
    assert_eq!(ran_ms(&trace, 3), 3_000);
    let shares = [1, 2].map(|domain| ran_ms(&trace, domain));
    assert!(shares[0].abs_diff(2_000) < 60, "{shares:?}");
}

/// A pcpu in no pool runs nobody, and an operator who brings it online changes nothing.
#[test]
fn a_pcpu_in_no_pool_idles() {
    let mut domains: Vec<_> = (1..=4).map(|id| domain(id, Workload::Burn)).collect();
    for domain in &mut domains {
        let policy = if domain.id == DomainId(3) {
            "round-robin"
        } else {
            "credit2"
        };
        domain.params = random::domain_params(policy, 256, 0);
    }
    let mut host = host(3, XenVersion::V4_17, domains);
    host.pools = two_pools(pcpus([0]), pcpus([1]), vec![DomainId(3)]);
    host.actions = vec![(at_ms(5), Action::PcpuOnline(PcpuId(2)))];
    let schedulers = vec![plain("credit2", &host), plain("round-robin", &host)];
    let (_, trace) = run(&host, pooled(&host, schedulers), at_ms(100));
    assert!(trace.iter().all(|record| record.pcpu != PcpuId(2)));
}

/// Each policy's notes are records of its own class.
#[test]
fn records_are_of_the_policy_that_wrote_them() {
    let domains = vec![
        domain(1, on_off(us(300), us(700))),
        domain(2, on_off(us(300), us(700))),
    ];
    let mut host = host(2, XenVersion::V4_17, domains);
    host.pools = two_pools(pcpus([0]), pcpus([1]), vec![DomainId(2)]);
    for (domain, policy) in host.domains.iter_mut().zip(["credit", "rtds"]) {
        domain.params = random::domain_params(policy, 1, 0);
    }
    let schedulers = vec![plain("credit", &host), plain("rtds", &host)];
    let (_, trace) = run(&host, pooled(&host, schedulers), at_ms(50));
    let of = |class: &str| {
        let lines = trace.iter().filter(|r| r.kind().is_none());
        let lines = lines.map(|r| trace.line(r));
        lines
            .filter(|line| line.contains(&format!(" {class} ")))
            .count()
    };
    assert!(of("credit") > 0 && of("rtds") > 0);
}

/// The case with its upper pcpus and its odd domains in a second pool.
fn parted(mut case: Case) -> Option<Case> {
    let count = case.host.topology.pcpus() as u16;
    let half = count / 2;
    if half == 0 {
        return None;
    }
    let odd = |id: DomainId| id.0 % 2 == 1;
    let (first, second) = (pcpus(0..half), pcpus(half..count));
    let ids = case.host.domains.iter().map(|d| d.id);
    case.host.pools = two_pools(first, second, ids.filter(|id| odd(*id)).collect());
    for domain in &mut case.host.domains {
        // The first pcpu of a pool stays, so that every affinity has one online.
        let stays = if odd(domain.id) { half } else { 0 };
        for vcpu in &mut domain.vcpus {
            vcpu.hard.insert(PcpuId(stays));
        }
    }
    // A pin to pcpus that all leave is for whoever makes a host to refuse.
    case.host.actions.retain(|(_, action)| match action {
        Action::Pin { .. } => false,
        Action::PcpuOffline(pcpu) => pcpu.0 != half,
        _ => true,
    });
    Some(case)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nobody_runs_outside_of_his_pool(case in random::case()) {
        let Some(case) = parted(case) else { return Ok(()) };
        let schedulers = vec![case.scheduler(), case.scheduler()];
        let scheduler = pooled(&case.host, schedulers);
        let (outcome, trace) = run(&case.host, scheduler, case.end);
        prop_assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
        for (vcpu, pcpu) in where_it_ran(&trace) {
            let own = case.host.pools.iter().find(|p| p.domains.contains(&vcpu.domain));
            let own = own.unwrap_or(&case.host.pools[0]);
            prop_assert!(own.pcpus.contains(pcpu), "{vcpu} on {pcpu}");
        }
    }
}
