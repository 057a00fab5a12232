//! What a scenario declares and nothing uses is told, and nothing else is.

use crate::common::parse;

const BEGIN: &str = r#"
[run]
duration_s = 1
[scheduler]
policy = "credit"
[[domain]]
name = "Domain-0"
"#;

/// Notices of a host with domain 0 on a machine with costs, and `more`.
fn told(more: &str) -> String {
    let host = "[host]\nprofile = \"opteron-242\"\n";
    notices(&format!("{host}{BEGIN}{more}"))
}

fn notices(text: &str) -> String {
    let scenario = parse(text).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    scenario.notices().join("\n")
}

const GUEST: &str = "[[domain]]\nname = \"g\"\nworkload = \"stream\"\n";

#[test]
fn what_is_used_is_not_told_of() {
    assert_eq!(told(GUEST), "");
    assert_eq!(told(&format!("{GUEST}[network]\nrate = \"10G\"\n")), "");
}

#[test]
fn a_network_without_traffic() {
    let idle =
        "[network]\nrate = \"10G\"\n[[domain]]\nname = \"g\"\nworkload = \"burn\"\nvif = {}\n";
    let expected = "no workload sends anything through the card of Domain-0";
    assert!(told(idle).starts_with(expected), "{}", told(idle));
    let driver = "[[network]]\ndriver = \"d\"\n[[domain]]\nname = \"d\"\n";
    let none = told(driver);
    assert!(none.contains("so [network] does nothing"), "{none}");
    assert!(none.contains("domain d has nothing to do"), "{none}");
}

#[test]
fn a_vif_that_is_described_and_not_used() {
    let vif = |vif: &str| {
        let domain = format!("[[domain]]\nname = \"h\"\nworkload = \"burn\"\nvif = {vif}\n");
        told(&format!("{GUEST}{domain}"))
    };
    assert_eq!(
        vif("{ rate = \"10Mb/s\" }"),
        "domain h has a vif that no workload uses"
    );
    assert_eq!(vif("{}"), "", "an empty table asks for just that");
}

#[test]
fn a_disk_without_a_task() {
    let disk = "[[domain]]\nname = \"h\"\ncount = 5\nworkload = \"burn\"\n\
                disk = { kind = \"loopback\", size = \"1G\" }\n";
    assert_eq!(
        told(disk),
        "domains h1, h2 and 3 others have disks that no task uses"
    );
}

#[test]
fn a_domain_without_anything_to_do() {
    let idle = "[[domain]]\nname = \"h\"\n[[domain]]\nname = \"b\"\nworkload = \"burn\"\n";
    let expected = "domain h has nothing to do: no task, and nobody that it works for";
    assert_eq!(told(idle), expected);
    assert_eq!(
        told("[[domain]]\nname = \"b\"\nworkload = \"burn\"\n"),
        "",
        "Domain-0 may be idle"
    );
}

#[test]
fn keys_for_what_does_not_happen() {
    for (key, why) in [
        (
            "remote_tick_ms = 4",
            "`remote_tick` of [network] does nothing: no guest is pinged",
        ),
        (
            "netback_threads = 4",
            "`netback_threads` of [network] does nothing: the driver domain has one vcpu",
        ),
    ] {
        let text = format!("{GUEST}[network]\n{key}\n");
        assert!(told(&text).contains(why), "{}", told(&text));
    }
    let pinged = "[network]\nremote_tick_ms = 4\n[[domain]]\nname = \"g\"\nworkload = \"ping\"\n";
    assert_eq!(told(pinged), "");
}

#[test]
fn traffic_and_disks_that_cost_nothing() {
    let free = |more: &str| notices(&format!("{BEGIN}{more}"));
    let begin = "traffic takes no processor time";
    assert!(free(GUEST).starts_with(begin), "{}", free(GUEST));
    let copy = "[[domain]]\nname = \"h\"\nworkload = \"dd\"\n\
                disk = { kind = \"loopback\", size = \"1G\" }\n";
    assert!(
        free(copy).starts_with("disks take no processor time"),
        "{}",
        free(copy)
    );
    assert!(free(&format!("{GUEST}{copy}")).starts_with("traffic and disks take"));
    let priced = format!("{GUEST}[network]\ncosts = {{ bridge_us = 3 }}\n");
    assert_eq!(free(&priced), "", "somebody has given a cost");
}
