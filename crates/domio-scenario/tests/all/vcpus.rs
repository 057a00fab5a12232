//! Vcpus that differ from the others of their domain.

use crate::common::{only, parse, says};
use domio_core::{CpuSet, PcpuId};
use domio_scenario::Code;
use domio_vmm::config::Action;

const RTDS: &str = r#"
[run]
duration_s = 10
[host]
cores = 4
[scheduler]
policy = "rtds"
[[domain]]
name = "a"
vcpus = 3
pin = [0, 1]
budget_us = 2000
[[domain.task]]
workload = "burn"
[[domain.vcpu]]
vcpu = 1
pin = [2]
[[domain.vcpu]]
vcpu = 2
soft = [1]
period_us = 5000
extratime = false
"#;

fn with(more: &str) -> String {
    format!("{RTDS}{more}")
}

#[test]
fn a_vcpu_has_its_own_values_and_the_domains() {
    let scenario = parse(RTDS).expect("a good scenario");
    let vcpus = &scenario.plan().host.domains[0].vcpus;
    let pcpus = |pcpus: &[u16]| pcpus.iter().map(|p| PcpuId(*p)).collect::<CpuSet>();
    assert_eq!(
        vcpus.iter().map(|v| (v.hard, v.soft)).collect::<Vec<_>>(),
        [
            (pcpus(&[0, 1]), CpuSet::ALL),
            (pcpus(&[2]), CpuSet::ALL),
            (pcpus(&[0, 1]), pcpus(&[1])),
        ]
    );
    let own = vcpus.iter().map(|v| {
        let values = v.params?;
        let value = |name| values.by_name(name);
        Some((
            value("period_us")?,
            value("budget_us")?,
            value("extratime")?,
        ))
    });
    // The budget is the domain's.
    assert_eq!(
        own.collect::<Vec<_>>(),
        [None, None, Some((5_000, 2_000, 0))]
    );
}

#[test]
fn actions_go_on_from_what_a_vcpu_has_and_domains_end_that() {
    let text = with(
        "[[action]]\nat_ms = 1\ndo = \"set-vcpu\"\ndomain = \"a\"\nvcpu = 2\nbudget_us = 1000\n\
         [[action]]\nat_ms = 2\ndo = \"set\"\ndomain = \"a\"\nbudget_us = 3000\n\
         [[action]]\nat_ms = 3\ndo = \"set-vcpu\"\ndomain = \"a\"\nextratime = true\n",
    );
    let scenario = parse(&text).expect("a good scenario");
    let told = scenario.plan().host.actions.iter().map(|(_, action)| {
        let (vcpu, params) = match action {
            Action::SetVcpu { vcpu, params, .. } => (Some(*vcpu), params),
            Action::SetParams(_, params) => (None, params),
            other => panic!("{other:?}"),
        };
        let value = |name| params.by_name(name).expect("declared");
        (
            vcpu,
            value("period_us"),
            value("budget_us"),
            value("extratime"),
        )
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (Some(2), 5_000, 1_000, 0),
            (None, 10_000, 3_000, 1),
            (Some(0), 10_000, 3_000, 1),
            (Some(1), 10_000, 3_000, 1),
            (Some(2), 10_000, 3_000, 1),
        ]
    );
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    let set =
        |keys: &str| format!("[[action]]\nat_ms = 1\ndo = \"set-vcpu\"\ndomain = \"a\"\n{keys}\n");
    let own = |keys: &str| format!("[[domain.vcpu]]\n{keys}\n");
    let cases: [(String, Code, &[&str]); 9] = [
        (own("vcpu = 3"), Code::OutOfRange, &["no vcpu 3", "0 to 2"]),
        (
            own("vcpu = 1"),
            Code::Duplicate,
            &["vcpu 1 is described twice"],
        ),
        (own("pin = [1]"), Code::MissingKey, &["`vcpu` is missing"]),
        (own("vcpu = 0\npin = [4]"), Code::OutOfRange, &["no pcpu 4"]),
        (
            own("vcpu = 0\ncap = 10"),
            Code::UnknownKey,
            &["unknown key `cap` in [[domain.vcpu]]", "extratime"],
        ),
        (
            own("vcpu = 0\nbudget_us = 10001"),
            Code::Conflict,
            &["10001 us is longer than the period of 10000 us"],
        ),
        (
            set("vcpu = 2\nbudget_us = 6000"),
            Code::Conflict,
            &["6000 us is longer than the period of 5000 us"],
        ),
        (
            set("vcpu = 3\nbudget_us = 600"),
            Code::OutOfRange,
            &["a has no vcpu 3"],
        ),
        (
            set("vcpu = 1"),
            Code::MissingKey,
            &["nothing is set", "for vcpus"],
        ),
    ];
    for (more, code, words) in cases {
        let p = only(&with(&more));
        assert_eq!(p.code, code, "{more}: {p:?}");
        says(&p, words, &more);
    }
}

#[test]
fn a_policy_without_parameters_of_vcpus_takes_pins_alone() {
    let text = RTDS
        .replace("rtds", "credit")
        .replace("budget_us = 2000\n", "");
    let text = text.replace("period_us = 5000\nextratime = false\n", "");
    assert!(parse(&text).is_ok());
    let p = only(&format!("{text}weight = 300\n"));
    assert_eq!(p.code, Code::UnknownKey, "{p:?}");
}

#[test]
fn a_list_of_texts_pins_each_vcpu() {
    let text = |pin: &str| {
        format!(
            "[run]\nduration_s = 1\n[host]\ncores = 8\n[scheduler]\npolicy = \"credit\"\n\
             [[domain]]\nname = \"rt\"\nvcpus = 2\n{pin}\nworkload = \"burn\"\n"
        )
    };
    let pcpus = |pcpus: &[u16]| pcpus.iter().map(|p| PcpuId(*p)).collect::<CpuSet>();
    let scenario = parse(&text("pin = [\"4\", \"5\"]\nsoft = [\"all\", \"0-1\"]")).unwrap();
    let vcpus = &scenario.plan().host.domains[0].vcpus;
    assert_eq!((vcpus[0].hard, vcpus[1].hard), (pcpus(&[4]), pcpus(&[5])));
    assert_eq!(
        (vcpus[0].soft, vcpus[1].soft),
        (CpuSet::ALL, pcpus(&[0, 1]))
    );
    let set = scenario
        .with(&[("domain.rt.pin", "[\"1\", \"2-3\"]")])
        .unwrap();
    let vcpus = &set.plan().host.domains[0].vcpus;
    assert_eq!(
        (vcpus[0].hard, vcpus[1].hard),
        (pcpus(&[1]), pcpus(&[2, 3]))
    );
    for (pin, code, words) in [
        (
            "pin = [\"4\"]",
            Code::Conflict,
            "`pin` has 1 text for a domain with 2 vcpus",
        ),
        (
            "soft = [\"4\", \"5\", \"6\"]",
            Code::Conflict,
            "`soft` has 3 texts",
        ),
        (
            "pin = [\"4\", \"8\"]",
            Code::OutOfRange,
            "the host has no pcpu 8",
        ),
    ] {
        let p = only(&text(pin));
        assert_eq!(p.code, code, "{pin}: {p:?}");
        says(&p, &[words], pin);
    }
}

#[test]
fn a_task_without_a_name_is_set_by_that_of_its_workload() {
    let text = "[run]\nduration_s = 1\n[scheduler]\npolicy = \"credit\"\n\
                [[domain]]\nname = \"g\"\n[[domain.task]]\nworkload = \"burn\"\n\
                [[domain.task]]\nworkload = \"burn\"\n";
    let scenario = parse(text).unwrap();
    let keys = [
        ("domain.g.task.burn.priority", "1"),
        ("domain.g.task.burn-2.priority", "2"),
    ];
    let set = scenario.with(&keys).unwrap();
    let tasks = &set.plan().host.domains[0].vcpus[0].tasks;
    let priorities: Vec<_> = tasks.iter().map(|t| (&*t.name, t.priority)).collect();
    assert_eq!(priorities, [("burn", 1), ("burn-2", 2)]);
}
