//! `domio alert`.

use crate::common::{domio, folder, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};

const SHORT: [&str; 5] = ["alert", "--duration", "10", "--cap-range", "5,24"];

#[test]
fn a_policy_is_tested_drawn_and_traced() {
    let folder = folder();
    let told = contains("Why credit errs at")
        .and(contains("credits of 30 ms"))
        .and(contains("parked"))
        .and(starts_with("credit; set by cap"));
    domio(&folder)
        .args(SHORT)
        .args([
            "--policy", "credit", "--plot", "a.svg", "--trace", "w.domio",
        ])
        .assert()
        .success()
        .stdout(told)
        .stderr(contains("wrote a.svg").and(contains("wrote w.domio: dom1 at")));
    let picture = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(picture.contains("windows of 10 s") && picture.contains("allocated to dom1"));
    domio(&folder)
        .args(["trace", "check", "w.domio"])
        .assert()
        .success();
}

#[test]
fn figures_hang_on_the_seed_alone() {
    let folder = folder();
    let figures = |seed: &str| {
        let args = ["--policy", "credit", "--json", "--seed", seed];
        json_of(&folder, &[&SHORT[..], &args].concat())
    };
    let (once, again, other) = (figures("1"), figures("1"), figures("2"));
    assert_eq!(once, again);
    assert_ne!(once["policies"], other["policies"]);
}

#[test]
fn a_parameter_needs_no_table() {
    let folder = folder();
    let way = |set: &str| {
        let args = ["--policy", "credit", "--json", "--set", set];
        let all = json_of(&folder, &[&SHORT[..], &args].concat());
        all["policies"][0]["points"].clone()
    };
    assert_eq!(way("tslice_ms=10"), way("scheduler.tslice_ms=10"));
    assert_ne!(way("tslice_ms=10"), way("tslice_ms=30"));
}

#[test]
fn what_cannot_be_tested_says_why() {
    let folder = folder();
    for (args, told) in [
        (&["--policy", "null"][..], "keeps no allocations"),
        (&["--policy", "credit3"], "no policy is called"),
        (
            &["--policy", "credit", "--windows", "60"],
            "does not fit into the 10 s",
        ),
        (
            &["--policy", "credit", "--dom0-cap", "80"],
            "too much for 1 pcpu",
        ),
        (&["--policy", "credit", "--set", "banana=1"], "banana"),
        (
            &["--policy", "credit", "--policy", "sedf", "--trace", "t"],
            "name one --policy",
        ),
    ] {
        let refused = domio(&folder).args(SHORT).args(args).assert().code(2);
        refused.stderr(contains(told));
    }
    domio(&folder)
        .args(["alert", "--policy", "credit", "--cap-range", "5..1"])
        .assert()
        .code(2)
        .stderr(contains("ends before it begins"));
}
