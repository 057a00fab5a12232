//! `sched_gran = "core"`: what does not go together with scheduling of whole cores.

use crate::common::parse;
use domio_scenario::{NoReplay, Scenario};

/// Two cores of two threads.
const BASE: &str = r#"
run.duration_s = 1
[host]
cores = 2
threads = 2
sched_gran = "core"
[scheduler]
policy = "credit"
[[domain]]
name = "Domain-0"
id = 0
[[domain]]
name = "a"
vcpus = 2
pin = "2-3"
workload = "burn"
"#;

fn with(more: &str) -> Result<Scenario, String> {
    parse(&format!("{BASE}{more}")).map_err(|e| e.to_string())
}

fn changed(from: &str, to: &str) -> Result<Scenario, String> {
    assert!(BASE.contains(from));
    parse(&BASE.replace(from, to)).map_err(|e| e.to_string())
}

#[track_caller]
fn refused(scenario: Result<Scenario, String>, words: &str) {
    let text = scenario.expect_err("refused");
    assert!(text.contains(words), "{text}");
    // The place is the value of `sched_gran`.
    assert!(text.contains(":14: "), "{text}");
}

#[test]
fn policies_decide_for_whole_cores() {
    let built = with("").unwrap().build(&NoReplay).unwrap();
    assert!(built.cores && built.scheduler().needs().together);
    let built = changed("\"core\"", "\"cpu\"").unwrap();
    let built = built.build(&NoReplay).unwrap();
    assert!(!built.cores && !built.scheduler().needs().together);
}

#[test]
fn one_thread_a_core_is_told_to_have_no_effect() {
    let scenario = changed("cores = 2\nthreads = 2", "cores = 4").unwrap();
    let told = format!("{:?}", scenario.notices());
    assert!(told.contains("has no effect"), "{told}");
    assert!(!scenario.build(&NoReplay).unwrap().cores);
}

#[test]
fn releases_before_4_13_do_not_have_it() {
    refused(
        changed("cores = 2", "cores = 2\nxen = \"4.12\""),
        "has no core scheduling",
    );
    assert!(changed("cores = 2", "cores = 2\nxen = \"4.13\"").is_ok());
}

#[test]
fn parts_of_cores_are_refused() {
    refused(changed("\"2-3\"", "\"3\""), "has a part of a core");
    refused(
        changed("\"2-3\"", "[\"0-1\", \"2-3\"]"),
        "have different pins",
    );
    let pool = "[[pool]]\nname = \"p\"\npcpus = \"0-2\"\n";
    refused(
        changed(
            "[[domain]]\nname = \"a\"",
            &format!("{pool}[[domain]]\nname = \"a\"\npool = \"p\""),
        ),
        "has a part of a core",
    );
}

#[test]
fn actions_without_a_model_are_refused() {
    let action = |what: &str| with(&format!("[[action]]\nat_ms = 1\n{what}\n"));
    refused(
        action("do = \"pin\"\ndomain = \"a\"\npin = \"0-1\""),
        "pins change",
    );
    refused(action("do = \"pcpu-offline\"\npcpu = 0"), "pcpus go off");
    assert!(action("do = \"pause\"\ndomain = \"a\"").is_ok());
}
