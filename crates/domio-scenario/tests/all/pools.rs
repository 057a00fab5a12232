//! `[[pool]]`: what hosts are made of it, and what does not go together.

use crate::common::{good, replaced, wrong};
use domio_core::{CpuSet, DomainId, PcpuId};
use domio_scenario::NoReplay;

/// Four pcpus, of which the second pool has two.
const BASE: &str = r#"
run.duration_s = 1
[host]
cores = 4
[scheduler]
policy = "credit"
tslice_ms = 5
[[pool]]
name = "rt"
pcpus = "2-3"
policy = "rtds"
[[domain]]
name = "Domain-0"
id = 0
[[domain]]
name = "a"
weight = 512
workload = "burn"
[[domain]]
name = "b"
pool = "rt"
budget_us = 2000
vcpus = 2
task = [{ workload = "burn", vcpu = "all" }]
"#;

fn text(from: &str, to: &str) -> String {
    replaced(BASE, from, to)
}

fn pcpus(numbers: impl IntoIterator<Item = u16>) -> CpuSet {
    numbers.into_iter().map(PcpuId).collect()
}

#[test]
fn each_pool_has_its_pcpus_its_policy_and_its_domains() {
    let scenario = good(BASE);
    let plan = scenario.plan();
    let pools = &plan.host.pools;
    assert_eq!([&pools[0].name, &pools[1].name], ["Pool-0", "rt"]);
    assert_eq!([pools[0].pcpus, pools[1].pcpus], [pcpus(0..2), pcpus(2..4)]);
    assert!(pools[0].domains.is_empty());
    assert_eq!(pools[1].domains, [DomainId(2)]);
    let names = plan.pools.iter().map(|(policy, _)| policy.descriptor.name);
    assert_eq!(names.collect::<Vec<_>>(), ["credit", "rtds"]);
    let domains = &plan.host.domains;
    assert_eq!(domains[1].params.by_name("weight"), Some(512));
    assert_eq!(domains[2].params.by_name("budget_us"), Some(2_000));
    assert!(domains[1].vcpus.iter().all(|v| v.hard == pcpus(0..2)));
    assert!(domains[2].vcpus.iter().all(|v| v.hard == pcpus(2..4)));
    // It can be built, and says whose records it writes.
    let built = scenario.build(&NoReplay).expect("no recordings");
    let classes = built.scheduler().classes();
    let names = classes.iter().map(|class| class.expect("both write").name);
    assert_eq!(names.collect::<Vec<_>>(), ["credit", "rtds"]);
}

#[test]
fn a_pool_without_a_policy_has_that_of_the_host_with_its_parameters() {
    let plain = text("policy = \"rtds\"\n", "");
    let scenario = good(&plain.replace("budget_us = 2000", "weight = 2"));
    let (policy, params) = &scenario.plan().pools[1];
    assert_eq!(policy.descriptor.name, "credit");
    assert_eq!(params.by_name("tslice_ms"), Some(5));
    let own = text("policy = \"rtds\"\n", "tslice_ms = 9\n");
    let scenario = good(&own.replace("budget_us = 2000", "weight = 2"));
    assert_eq!(scenario.plan().pools[1].1.by_name("tslice_ms"), Some(9));
    assert_eq!(scenario.plan().params.by_name("tslice_ms"), Some(5));
}

#[test]
fn what_pool_0_leaves_is_free() {
    let table = "[[pool]]\nname = \"Pool-0\"\npcpus = \"0\"\n[[pool]]\nname = \"rt\"";
    let scenario = good(&text("[[pool]]\nname = \"rt\"", table));
    assert_eq!(scenario.plan().host.pools[0].pcpus, pcpus([0]));
    let free = "pcpus in no pool are free, and nobody runs there: 1";
    assert_eq!(scenario.notices(), [free]);
    // Behind another pool it is the first all the same.
    let behind = format!("{BASE}\n[[pool]]\nname = \"Pool-0\"\npcpus = \"1\"\n");
    let scenario = good(&behind);
    let names = scenario.plan().host.pools.iter().map(|p| p.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["Pool-0", "rt"]);
    assert_eq!(scenario.plan().host.pools[1].domains, [DomainId(2)]);
}

#[test]
fn what_does_not_go_together_is_told_with_place_and_advice() {
    let pool = "[[pool]]\nname = \"x\"\npcpus = \"3\"\n[[domain]]\nname = \"Domain-0\"";
    let domain_0 = "[[domain]]\nname = \"Domain-0\"";
    let cases = [
        (
            domain_0,
            pool,
            [
                "pcpu 3 is in the pool `rt` already",
                "a pcpu is in one pool",
            ],
        ),
        (
            "pool = \"rt\"",
            "pool = \"tr\"",
            ["there is no pool `tr`", "expected one of: Pool-0, rt"],
        ),
        (
            "vcpus = 2",
            "pin = \"0-1\"",
            ["has no pcpu of the pool `rt`", "pin within the pool"],
        ),
        (
            "pcpus = \"2-3\"",
            "pcpus = \"0-3\"",
            ["no pcpu is left for Pool-0", "take a pcpu out"],
        ),
        (
            "pcpus = \"2-3\"",
            "pcpus = \"4\"",
            ["the host has no pcpu 4", "counted from 0"],
        ),
        (
            "name = \"rt\"",
            "name = \"Pool-0\"",
            ["Pool-0 has its scheduler", "[scheduler]"],
        ),
        (
            "id = 0",
            "id = 0\npool = \"rt\"",
            ["is in Pool-0", "give Pool-0 the pcpus"],
        ),
        (
            "cores = 4",
            "cores = 4\nxen = \"3.4\"",
            ["Xen 3.4 has no cpupools", "take such a release"],
        ),
        ("budget_us = 2000", "weight = 5", ["weight", "rtds"]),
    ];
    for (from, to, expected) in cases {
        let told = wrong(&text(from, to));
        for part in expected {
            assert!(
                told.contains(part),
                "{from} -> {to}: no {part:?} in\n{told}"
            );
        }
    }
}

#[test]
fn operators_stay_within_pools() {
    let action = |keys: &str| format!("{BASE}\n[[action]]\nat_ms = 5\n{keys}\n");
    let pin = action("do = \"pin\"\ndomain = \"b\"\npin = \"1\"");
    assert!(wrong(&pin).contains("has no pcpu of the pool `rt`"));
    let set = action("do = \"set\"\ndomain = \"b\"\nweight = 3");
    assert!(wrong(&set).contains("b is in the pool `rt`"));
    let offline = |pcpu| format!("\n[[action]]\nat_ms = 6\ndo = \"pcpu-offline\"\npcpu = {pcpu}\n");
    let both = format!("{BASE}{}{}", offline(2), offline(3));
    assert!(wrong(&both).contains("pcpu 3 is the last one of the pool `rt`"));
    good(&format!("{BASE}{}{}", offline(2), offline(1)));
}

/// Another policy for the host is none for a pool that has its own.
#[test]
fn pools_keep_their_policy_when_the_host_gets_another() {
    let mut other = good(BASE);
    other
        .set("scheduler.policy", "credit2")
        .expect("it is there");
    let plan = other.plan();
    let names = plan.pools.iter().map(|(policy, _)| policy.descriptor.name);
    assert_eq!(names.collect::<Vec<_>>(), ["credit2", "rtds"]);
    let budget = plan.host.domains[2].params.by_name("budget_us");
    assert_eq!(budget, Some(2_000));
}

#[test]
fn threads_of_single_cores_have_no_siblings() {
    let plain = "run.duration_s = 1\nscheduler.policy = \"credit\"\n\
                 [[domain]]\nname = \"g\"\nworkload = \"burn\"\n";
    let scenario = good(&format!("{plain}[host]\nsibling_percent = 70\n"));
    let notice = "`sibling_percent` has no effect: the cores of the host have one thread each";
    assert_eq!(scenario.notices(), [notice]);
    let threads = good(&format!(
        "{plain}[host]\nsibling_percent = 70\nthreads = 2\n"
    ));
    assert!(threads.notices().is_empty());
    assert_eq!(threads.plan().host.profile.sibling_percent, 70);
    // The profile has a figure of its own.
    let xeon = good(&format!(
        "{plain}[host]\nprofile = \"xeon-e5\"\nthreads = 2\n"
    ));
    assert_eq!(xeon.plan().host.profile.sibling_percent, 65);
}
