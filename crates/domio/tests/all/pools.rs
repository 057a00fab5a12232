//! Hosts with pools and several pcpus: what figures and reports say of policies and of places.

use crate::common::{domio, folder};
use serde_json::{Value, json};
use std::fs;

/// What `domio run SCENARIO` prints as JSON, and its report.
fn run(scenario: &str) -> (Value, String) {
    let folder = folder();
    let short = ["--set", "run.duration_ms=200", "--set", "run.warmup_s=0"];
    let assert = domio(&folder)
        .args(["run", scenario, "--json", "--report", "r.html"])
        .args(short)
        .assert()
        .success();
    let json = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    (
        json,
        fs::read_to_string(folder.path().join("r.html")).unwrap(),
    )
}

#[test]
fn each_pool_has_its_policy_and_each_vcpu_its_pcpus() {
    let (json, report) = run("pools-on-a-server");
    let pools = json!([
        { "name": "Pool-0", "policy": "credit2" },
        { "name": "calls", "policy": "rtds" },
    ]);
    assert_eq!(json["pools"], pools);
    assert!(report.contains("credit2 in Pool-0, rtds in calls"));
    let (_, places) = report.split_once("Where vcpus ran").expect("a section");
    for part in ["pcpu: % of its time", "batch1.0", "exchange.0"] {
        assert!(places.contains(part), "{part}");
    }
}

#[test]
fn one_pool_and_one_pcpu_need_no_words() {
    let (json, report) = run("burn7");
    assert_eq!(
        (&json["pools"], &json["policy"]),
        (&json!([]), &json!("credit"))
    );
    assert!(!report.contains("Pool-0") && !report.contains("Where vcpus ran"));
}
