//! What the policy is told of single vcpus and of groups of domains.

use crate::common::*;
use domio_broken::policies::groups::{DESCRIPTOR, Tree};
use domio_contract::{GroupId, Scheduler};
use domio_core::{DomainId, Duration, NullSink, ParamValues, XenVersion};
use domio_sched::find;
use domio_sim::Outcome;
use domio_vmm::Simulation;
use domio_vmm::config::{Action, GroupConfig, HostConfig, VcpuConfig, Workload};

const V: XenVersion = XenVersion::V4_17;

/// How long each vcpu ran until `until`.
fn run(host: &HostConfig, policy: Box<dyn Scheduler>, until: u64) -> Vec<Duration> {
    let mut simulation = Simulation::new(host, policy, NullSink, 1, 0);
    let outcome = simulation.run(at_ms(until));
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
    let host = simulation.host();
    let vcpus = 0..host.vcpu_count();
    vcpus.map(|v| host.vcpu_times(v).running).collect()
}

#[test]
fn vcpus_of_one_domain_have_reservations_of_their_own() {
    let rtds = find("rtds").expect("registered");
    let values = |values: &[(&str, i64)]| {
        let mut params = ParamValues::defaults(rtds.descriptor.vcpu_params);
        params.set("extratime", 0).expect("a flag");
        for (name, value) in values {
            params.set(name, *value).expect("in range");
        }
        params
    };
    let mut guest = domain(1, Workload::Burn);
    guest.params = values(&[("budget_us", 1_000)]);
    guest.vcpus = vec![VcpuConfig::anywhere([Workload::Burn]); 3];
    guest.vcpus[1].params = Some(values(&[("budget_us", 3_000)]));
    let make = |host: &HostConfig| {
        let params = ParamValues::defaults(rtds.descriptor.params);
        (rtds.make)(&params, &host.topology)
    };
    let mut host = host(1, V, vec![guest]);
    // In the first period each has 4 ms if it can, by default; the third one gets 2 of them until
    // it ends, and 2 more, since nobody with an earlier deadline comes. That was the second one's.
    let ran = run(&host, make(&host), 110);
    assert_eq!(ran, [ms(14), ms(34), ms(13)]);
    let change = |vcpu, budget| Action::SetVcpu {
        domain: DomainId(1),
        vcpu,
        params: values(&[("budget_us", budget)]),
    };
    host.actions = vec![
        (at_ms(55), change(0, 2_000)),
        // A vcpu that does not exist.
        (at_ms(55), change(3, 9_000)),
        (
            at_ms(85),
            Action::SetParams(DomainId(1), values(&[("budget_us", 3_000)])),
        ),
    ];
    let ran = run(&host, make(&host), 130);
    // Budgets change with the periods from 60 ms, and from 90 ms all have what the domain has.
    let by_then = [ms(4 + 5 + 3 * 2), ms(4 + 8 * 3), ms(4 + 7)];
    assert_eq!(ran, by_then.map(|time| time + ms(4 * 3)));
}

#[test]
fn domains_are_in_groups_from_their_creation() {
    let values = |weight| {
        let mut params = ParamValues::defaults(DESCRIPTOR.group_params);
        params.set("weight", weight).expect("in range");
        params
    };
    let group = |parent, weight, domains: &[u16]| GroupConfig {
        parent,
        params: values(weight),
        domains: domains.iter().map(|d| DomainId(*d)).collect(),
    };
    let burners = (1..=4).map(|id| domain(id, Workload::Burn)).collect();
    let mut host = host(1, V, burners);
    // Half of the host for 4, a quarter for 1, and an eighth for each of 2 and 3.
    host.groups = vec![
        group(None, 256, &[1]),
        group(Some(GroupId(0)), 256, &[2, 3]),
    ];
    // To a slice and a pass or two.
    let shares = |host: &HostConfig, until, expected: [u64; 4]| {
        let ran = run(host, Box::new(Tree::new(&host.topology)), until);
        for (got, due) in ran.iter().zip(expected) {
            assert!(
                got.as_nanos().abs_diff(due * 1_000_000) <= 20_000_000,
                "{ran:?}"
            );
        }
    };
    shares(&host, 8_000, [2_000, 1_000, 1_000, 4_000]);
    host.actions = vec![
        (at_ms(8_000), Action::SetGroup(GroupId(0), values(768))),
        (at_ms(8_000), Action::Join(DomainId(2), None)),
    ];
    // 768 of 1,280 for 1 and 3, half of that each, and 256 for each of 2 and 4.
    shares(&host, 9_000, [2_300, 1_200, 1_300, 4_200]);
}

#[test]
#[should_panic(expected = "credit has no groups of domains")]
fn groups_are_refused_for_a_policy_that_has_none() {
    let credit = find("credit").expect("registered");
    let mut host = host(1, V, vec![domain(1, Workload::Burn)]);
    host.domains[0].params = ParamValues::defaults(credit.descriptor.domain_params);
    host.groups = vec![GroupConfig {
        parent: None,
        params: ParamValues::defaults(&[]),
        domains: Vec::new(),
    }];
    let params = ParamValues::defaults(credit.descriptor.params);
    run(&host, (credit.make)(&params, &host.topology), 1);
}
