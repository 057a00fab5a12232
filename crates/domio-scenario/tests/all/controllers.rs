//! `[[controller]]` and what domains have for controllers: what they become, what is refused.

use crate::common::{good, only, says};
use domio_core::{DomainId, Duration};
use domio_scenario::Code;
use domio_vmm::config::{ControllerCosts, TaskConfig};
use domio_vmm::hardware::OPTERON_242;

/// A controller, a domain for it, and two guests of which one has a ceiling.
const BASE: &str = r#"
run.duration_s = 2
[host]
cores = 2
[scheduler]
policy = "credit"
[[controller]]
name = "cap-follows-demand"
[[domain]]
name = "Domain-0"
vcpus = 2
[[domain]]
name = "g"
count = 2
workload = "burn"
ceiling_percent = 40
[[domain]]
name = "h"
workload = "burn"
"#;

fn change(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

#[test]
fn a_controller_is_a_process_of_domain_0() {
    let scenario = good(BASE);
    assert_eq!(scenario.notices(), [""; 0]);
    let host = &scenario.plan().host;
    let [controller] = &host.controllers[..] else {
        panic!("{:?}", host.controllers);
    };
    assert_eq!(controller.entry.descriptor.name, "cap-follows-demand");
    assert_eq!(controller.interval, Duration::from_millis(500));
    assert_eq!((controller.domain, controller.vcpu), (DomainId(0), 0));
    assert_eq!(controller.costs, ControllerCosts::FREE);
    let ceilings = controller.domain_params.iter();
    let ceilings: Vec<_> = ceilings
        .map(|(id, params)| (id.0, params.by_name("ceiling_percent")))
        .collect();
    assert_eq!(ceilings, [(1, Some(40)), (2, Some(40))]);
    let tasks = &host.domains[0].vcpus[0].tasks;
    assert_eq!((tasks.len(), tasks[0].priority), (1, TaskConfig::IO_BOUND));
}

#[test]
fn it_runs_where_and_as_often_as_it_is_told() {
    let keys = "demand\"\ninterval_ms = 50\nheadroom_percent = 10\ndomain = \"h\"\nvcpu = 0\n\
                [[controller]]\nname = \"cap-follows-demand\"\nvcpu = 1\ndrivers = true";
    let text = change("demand\"", keys).replacen("cores = 2", "profile = \"opteron-242\"", 1);
    let scenario = good(&text);
    let host = &scenario.plan().host;
    let [one, two] = &host.controllers[..] else {
        panic!("{:?}", host.controllers);
    };
    assert_eq!(
        (one.domain, one.interval),
        (DomainId(3), Duration::from_millis(50))
    );
    assert_eq!(one.params.by_name("headroom_percent"), Some(10));
    assert_eq!((two.domain, two.vcpu), (DomainId(0), 1));
    assert_eq!(two.params.by_name("drivers"), Some(1));
    assert_eq!(one.costs, ControllerCosts::on(&OPTERON_242));
    // Both have the ceilings of the domains.
    assert_eq!((one.domain_params.len(), two.domain_params.len()), (2, 2));
}

#[test]
fn it_runs_in_the_first_driver_domain_unless_it_is_told_where() {
    let text = "\"h\"\nvif = {}";
    let network = "[network]\ndriver = \"driver\"\n[[controller]]";
    let text = change("name = \"h\"", &format!("name = {text}"));
    let text = text.replacen("[[controller]]", network, 1);
    let driver = "[[domain]]\nname = \"driver\"\n[[domain]]\nname = \"g\"";
    let scenario = good(&text.replacen("[[domain]]\nname = \"g\"", driver, 1));
    let host = &scenario.plan().host;
    assert_eq!(host.controllers[0].domain, host.domains[1].id);
    assert_eq!(host.domains[1].name, "driver");
}

#[test]
fn what_a_profile_or_a_policy_cannot_tell_is_a_notice() {
    let unknown = good(&change("cores = 2", "profile = \"xen-4.17-emulated\""));
    let notices = unknown.notices();
    assert!(
        notices[0].contains("what a controller costs"),
        "{notices:?}"
    );
    let without = good(BASE).with(&[("scheduler.policy", "round-robin")]);
    let without = without.unwrap_or_else(|e| panic!("{}", e.render(false)));
    let notices = without.notices().join(" ");
    assert!(notices.contains("round-robin has nothing"), "{notices}");
    assert_eq!(without.plan().host.controllers[0].domain_params.len(), 2);
}

#[test]
fn overrides_name_a_controller_by_its_place_or_name() {
    let changed = good(BASE).with(&[
        ("controller.0.interval_ms", "70"),
        ("controller.cap-follows-demand.floor_percent", "9"),
        ("domain.g2.ceiling_percent", "33"),
    ]);
    let changed = changed.unwrap_or_else(|e| panic!("{}", e.render(false)));
    let controller = &changed.plan().host.controllers[0];
    assert_eq!(controller.interval, Duration::from_millis(70));
    assert_eq!(controller.params.by_name("floor_percent"), Some(9));
    assert_eq!(
        controller.domain_params[1].1.by_name("ceiling_percent"),
        Some(33)
    );
}

/// A change to the base, then code, and words that the message, what was expected or the hint must
/// hold.
type Case = (&'static str, &'static str, Code, &'static [&'static str]);

static MISTAKES: &[Case] = &[
    (
        "cap-follows-demand",
        "cap-folows-demand",
        Code::UnknownName,
        &[
            "no controller `cap-folows-demand`",
            "did you mean `cap-follows-demand`",
        ],
    ),
    (
        "name = \"cap-follows-demand\"",
        "domain = \"h\"\nheadroom_percent = 3",
        Code::MissingKey,
        &["`name` is missing", "one of: cap-follows-demand"],
    ),
    (
        "demand\"",
        "demand\"\ninterval_ms = 5",
        Code::OutOfRange,
        &["`interval_ms` is out of range", "10 to 60000"],
    ),
    (
        "demand\"",
        "demand\"\nhedroom_percent = 5",
        Code::UnknownKey,
        &["in [[controller]]", "did you mean `headroom_percent`"],
    ),
    (
        "demand\"",
        "demand\"\nfloor_percent = 50\nceiling_percent = 40",
        Code::Conflict,
        &["the smallest cap, 50 %", "lower the floor"],
    ),
    (
        "demand\"",
        "demand\"\ndomain = \"j\"",
        Code::UnknownName,
        &["no domain `j`"],
    ),
    (
        "demand\"",
        "demand\"\ndomain = \"g\"",
        Code::OutOfRange,
        &["`g` is a group", "name a member"],
    ),
    (
        "demand\"",
        "demand\"\nvcpu = 2",
        Code::OutOfRange,
        &["domain Domain-0 has no vcpu 2", "0 to 1"],
    ),
    (
        "\"Domain-0\"",
        "\"control\"",
        Code::MissingKey,
        &[
            "no domain for the controller",
            "named by `domain`",
            "Domain-0",
        ],
    ),
    (
        "[[controller]]\nname = \"cap-follows-demand\"\n",
        "",
        Code::UnknownKey,
        &["add [[controller]] with `name = \"cap-follows-demand\"`"],
    ),
    (
        "ceiling_percent = 40",
        "ceiling_percent = -1",
        Code::OutOfRange,
        &["`ceiling_percent` is out of range"],
    ),
    (
        "[[controller]]\nname = \"cap-follows-demand\"\n",
        "[[controller]]\nname = \"x\"\n",
        Code::UnknownName,
        &["one of: cap-follows-demand", "`domio controller list`"],
    ),
];

#[test]
fn each_mistake_is_told_with_what_to_do() {
    for (from, to, code, words) in MISTAKES {
        let problem = only(&change(from, to));
        assert_eq!(problem.code, *code, "{to}: {problem:?}");
        says(&problem, words, to);
        assert!(problem.line > 1, "{to}: {problem:?}");
    }
}
