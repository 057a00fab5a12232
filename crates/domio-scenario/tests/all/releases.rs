//! Releases: what a release does not have is told, and so is where two of them do the same.

use domio_scenario::{Scenario, ScenarioErrors};

fn parse(text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("host.toml", text.as_bytes(), domio_sched::policies())
}

/// A host under `scheduler`, with two pcpus and two burning domains that have `domain` each.
fn host(scheduler: &str, domain: &str) -> String {
    format!(
        "run.duration_s = 1\nhost.cores = 2\n{scheduler}\n[[domain]]\nname = \"g\"\ncount = 2\n\
         workload = \"burn\"\n{domain}\n"
    )
}

fn notices(scheduler: &str, domain: &str) -> Vec<String> {
    let scenario = parse(&host(scheduler, domain)).expect("a valid host");
    scenario.notices().to_vec()
}

#[test]
fn a_policy_that_the_release_does_not_have_is_an_error() {
    for (policy, xen, expected) in [
        ("sedf", "4.17", "Xen 3.0 to 4.5"),
        ("sedf", "4.6", "Xen 3.0 to 4.5"),
        ("rtds", "4.4", "Xen 4.5 or later"),
        ("credit", "3.0", "Xen 3.0.3 or later"),
        ("bvt", "3.1", "Xen 2.0 to 3.0.3"),
        ("null", "4.8", "Xen 4.9 or later"),
    ] {
        let scheduler = format!("host.xen = \"{xen}\"\nscheduler.policy = \"{policy}\"");
        let errors = parse(&host(&scheduler, "")).expect_err("another release");
        let [problem] = errors.problems() else {
            panic!("{policy}: {errors:?}");
        };
        assert_eq!(
            problem.message,
            format!("{policy} is no scheduler of Xen {xen}")
        );
        assert_eq!(problem.expected, expected);
        assert_eq!(problem.key, "host.xen");
    }
}

#[test]
fn the_release_matters_only_where_it_is_given() {
    assert_eq!(notices("scheduler.policy = \"sedf\"", ""), [""; 0]);
    let good = "host.xen = \"4.5\"\nscheduler.policy = \"sedf\"";
    assert_eq!(notices(good, ""), [""; 0]);
    // No release has these.
    let own = "host.xen = \"4.17\"\nscheduler.policy = \"round-robin\"";
    assert_eq!(notices(own, ""), [""; 0]);
}

#[test]
fn a_host_can_be_compared_under_a_policy_that_its_release_does_not_have() {
    let text = host("host.xen = \"4.17\"\nscheduler.policy = \"credit\"", "");
    let scenario = parse(&text).expect("a valid host");
    let other = scenario.with(&[("scheduler.policy", "sedf")]);
    let other = other.expect("a comparison");
    assert_eq!(
        other.notices(),
        [
            "sedf is no scheduler of Xen 4.17: Xen 3.0 to 4.5 has it, and the host's own rules are \
             of 4.17"
        ]
    );
}

#[test]
fn a_parameter_that_the_release_does_not_have_is_told() {
    for (scheduler, domain, expected) in [
        (
            "[scheduler]\npolicy = \"credit\"\nversion = \"3.2\"\nratelimit_us = 1000",
            "",
            "`ratelimit_us` has no effect under credit of Xen 3.2: it came with 4.2",
        ),
        (
            "[scheduler]\npolicy = \"credit2\"\nversion = \"4.13\"\nmax_cpus_runqueue = 16",
            "",
            "`max_cpus_runqueue` has no effect under credit2 of Xen 4.13: it came with 4.14",
        ),
        (
            "[scheduler]\npolicy = \"rtds\"\nversion = \"4.9\"",
            "extratime = true",
            "`extratime` has no effect under rtds of Xen 4.9: it came with 4.10",
        ),
        (
            "[scheduler]\npolicy = \"rtds\"\nversion = \"4.7\"",
            "vcpus = 1\n[[domain.vcpu]]\nvcpu = 0\nextratime = false",
            "`extratime` has no effect under rtds of Xen 4.7: it came with 4.10",
        ),
    ] {
        assert_eq!(notices(scheduler, domain), [expected], "{scheduler}");
    }
    let has = "[scheduler]\npolicy = \"credit\"\nversion = \"4.2\"\nratelimit_us = 1000";
    assert_eq!(notices(has, ""), [""; 0]);
}

#[test]
fn a_limit_of_run_queues_before_4_14_is_an_error() {
    let scheduler = "[scheduler]\npolicy = \"credit2\"\nversion = \"4.13\"\nmax_cpus_runqueue = 8";
    let errors = parse(&host(scheduler, "")).expect_err("no such limit");
    let [problem] = errors.problems() else {
        panic!("{errors:?}");
    };
    assert_eq!(
        problem.message,
        "credit2 of Xen 4.13 has no `max_cpus_runqueue`"
    );
}

/// What is said of the releases `one` and `other` of `policy` on a host with these keys.
fn alike(policy: &str, one: &str, other: &str, domain: &str) -> Option<String> {
    let scheduler = format!("[scheduler]\npolicy = \"{policy}\"\nversion = \"{one}\"");
    let one = parse(&host(&scheduler, domain)).expect("a valid host");
    let other = one
        .with(&[("scheduler.version", other)])
        .expect("a release");
    one.plan().alike(other.plan())
}

#[test]
fn releases_that_differ_in_nothing_that_a_host_has_are_named() {
    let said = |policy, one, other, domain| alike(policy, one, other, domain).is_some();
    assert_eq!(
        alike("credit2", "4.16", "4.17", "").as_deref(),
        Some("credit2 4.16 and 4.17 differ in nothing that this host has")
    );
    // There are caps and soft affinity in 4.10, and nothing else is different from 4.9.
    assert!(said("credit2", "4.9", "4.10", ""));
    assert!(!said("credit2", "4.9", "4.10", "soft = [0]"));
    assert!(!said("credit2", "4.15", "4.16", "cap = 50"));
    assert!(said("credit2", "4.15", "4.16", ""));
    // Credit is reset otherwise, on any host.
    assert!(!said("credit2", "4.13", "4.14", ""));
    assert!(!said("credit2", "4.17", "4.13", ""));
    // The order of the two says nothing.
    assert!(said("credit2", "4.17", "4.15", ""));
    assert!(said("credit", "4.14", "4.20", ""));
    assert!(!said("credit", "4.12", "4.13", ""));
    assert!(said("rtds", "4.10", "4.20", ""));
    assert!(!said("rtds", "4.9", "4.10", ""));
    assert!(!said("rtds", "4.8", "4.9", ""), "the host has two pcpus");
    // Nobody declares what releases of SEDF differ in.
    assert!(!said("sedf", "3.1", "3.2", ""));
    // The same release says nothing.
    assert!(!said("credit2", "4.17", "4.17", ""));
}
