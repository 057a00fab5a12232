//! `[[group]]`: groups of domains, one in another.

use crate::common::{good, replaced, wrong};
use domio_contract::GroupId;
use domio_core::DomainId;

/// Two levels of groups.
const BASE: &str = r#"
run.duration_s = 1
[scheduler]
policy = "eevdf"
[[group]]
name = "machine"
weight = 200
[[group]]
name = "gold"
parent = "machine"
cap = 50
[[domain]]
name = "a"
group = "gold"
workload = "burn"
[[domain]]
name = "b"
count = 2
group = "machine"
workload = "burn"
[[domain]]
name = "c"
workload = "burn"
"#;

fn text(from: &str, to: &str) -> String {
    replaced(BASE, from, to)
}

#[test]
fn groups_have_parents_parameters_and_domains() {
    let scenario = good(BASE);
    let groups = &scenario.plan().host.groups;
    assert_eq!(groups.len(), 2);
    assert_eq!(
        [groups[0].parent, groups[1].parent],
        [None, Some(GroupId(0))]
    );
    assert_eq!(groups[0].params.by_name("weight"), Some(200));
    assert_eq!(groups[1].params.by_name("cap"), Some(50));
    assert_eq!(groups[0].domains, [DomainId(2), DomainId(3)]);
    assert_eq!(groups[1].domains, [DomainId(1)]);
}

#[test]
fn keys_of_groups_can_be_set() {
    let scenario = good(BASE);
    let scenario = scenario.with(&[("group.machine.weight", "700")]).unwrap();
    let groups = &scenario.plan().host.groups;
    assert_eq!(groups[0].params.by_name("weight"), Some(700));
}

#[test]
fn a_group_comes_after_the_one_that_it_is_in() {
    let text = wrong(&text(
        "name = \"machine\"\n",
        "name = \"machine\"\nparent = \"gold\"\n",
    ));
    assert!(text.contains("there is no group `gold` before"), "{text}");
}

#[test]
fn names_are_known_and_unique() {
    let unknown = wrong(&text("group = \"gold\"", "group = \"golt\""));
    assert!(unknown.contains("there is no group `golt`"), "{unknown}");
    assert!(unknown.contains("`gold`"), "{unknown}");
    let twice = wrong(&text("name = \"gold\"", "name = \"machine\""));
    assert!(twice.contains("there are two groups `machine`"), "{twice}");
}

#[test]
fn what_linux_refuses_is_refused() {
    let both = wrong(&text("cap = 50", "cap = 50\nquota_us = 20000"));
    assert!(
        both.contains("a cap of 50 % and a quota of 20000 us"),
        "{both}"
    );
    let burst = wrong(&text("cap = 50", "burst_us = 1"));
    assert!(burst.contains("burst_us"), "{burst}");
}

#[test]
fn a_policy_without_groups_takes_none() {
    let text = wrong(&text("policy = \"eevdf\"", "policy = \"round-robin\""));
    assert!(
        text.contains("round-robin has no groups of domains"),
        "{text}"
    );
}

#[test]
fn another_policy_without_groups_drops_them_and_says_so() {
    let text = text(
        "[[group]]\nname = \"machine\"",
        "[host]\nhypervisor = \"kvm\"\nprofile = \"kvm-2020\"\ncores = 2\n\
         [[kthread]]\nname = \"kworker/0:1\"\nnice = 5\nworkload = \"idle\"\n\
         [[group]]\nname = \"machine\"",
    );
    let text = text
        + "[[domain]]\nname = \"d\"\nworkload = \"burn\"\n  [[domain.vcpu]]\n  vcpu = 0\n  \
           nice = 3\n  [[domain.thread]]\n  name = \"IO io1\"\n  nice = -4\n  \
           workload = \"idle\"\n";
    let scenario = good(&text);
    let credit = scenario.with(&[("scheduler.policy", "credit")]).unwrap();
    assert_eq!(credit.plan().host.groups.len(), 0);
    let told = credit.notices().join("\n");
    for part in [
        "the groups machine, gold are left out, credit has no groups of domains: each domain",
        "domain d, vcpu 0: `nice` is left out, credit has no such parameter",
        "domain d, thread IO io1: `nice` is left out",
        "kthread kworker/0:1: `nice` is left out",
    ] {
        assert!(told.contains(part), "{told}");
    }
    // Another policy with groups has them all.
    let cfs = scenario.with(&[("scheduler.policy", "cfs")]).unwrap();
    assert_eq!(cfs.plan().host.groups.len(), 2);
    assert_eq!(
        cfs.plan().host.groups[1].domains,
        scenario.plan().host.groups[1].domains
    );
}
