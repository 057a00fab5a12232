//! `domio compare`: one thing changed, whatever the thing is.

use crate::common::{domio, folder, json_of};
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

const HOST: &str = "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"hog\"\n\
                    workload = \"burn\"\n[[domain]]\nname = \"web\"\nworkload = \"periodic\"\n\
                    period_ms = 20\nburst_us = 300\n[[domain]]\nname = \"hog2\"\n\
                    workload = \"burn\"\n";

fn host() -> TempDir {
    let folder = folder();
    std::fs::write(folder.path().join("host.toml"), HOST).unwrap();
    folder
}

fn labels(told: &Value) -> Vec<&str> {
    let variants = told["variants"].as_array().unwrap().iter();
    variants.map(|v| v["label"].as_str().unwrap()).collect()
}

#[test]
fn two_values_of_a_key_are_two_variants() {
    let folder = host();
    let args = [
        "compare",
        "host.toml",
        "--json",
        "--set",
        "scheduler.ratelimit_us=0",
    ];
    let more = [
        "--set",
        "domain.hog.weight=512",
        "--set",
        "scheduler.ratelimit_us=1000",
    ];
    let told = json_of(&folder, &[&args[..], &more].concat());
    assert_eq!(
        labels(&told),
        ["scheduler.ratelimit_us=0", "scheduler.ratelimit_us=1000"]
    );
    let changes = told["variants"][1]["changes"].to_string();
    assert!(changes.contains("weight = 512"), "{changes}");
    let rows = told["measures"][0]["table"]["rows"].as_array().unwrap();
    assert_eq!(rows[1]["name"], "scheduler.ratelimit_us=1000");
}

#[test]
fn a_policy_may_have_parameters() {
    let folder = host();
    let told = json_of(
        &folder,
        &[
            "compare",
            "host.toml",
            "--policy",
            "credit",
            "--policy",
            "credit:ratelimit_us=0,tslice_ms=5",
            "--json",
        ],
    );
    assert_eq!(
        labels(&told),
        ["credit", "credit:ratelimit_us=0,tslice_ms=5"]
    );
    assert_eq!(told["policies"], serde_json::json!(["credit", "credit"]));
    let run = json_of(
        &folder,
        &[
            "run",
            "host.toml",
            "--policy",
            "credit:tslice_ms=5",
            "--json",
        ],
    );
    assert!(
        run["overrides"].to_string().contains("tslice_ms = 5"),
        "{run}"
    );
}

#[test]
fn scenarios_and_recordings_stand_beside_each_other() {
    let folder = host();
    let other = HOST.replace("period_ms = 20", "period_ms = 10");
    std::fs::write(folder.path().join("after.toml"), other).unwrap();
    let write = ["run", "host.toml", "--trace", "t.domio"];
    domio(&folder).args(write).assert().success();
    let told = json_of(
        &folder,
        &["compare", "host.toml", "t.domio", "after.toml", "--json"],
    );
    assert_eq!(labels(&told), ["host", "t", "after"]);
    assert_eq!(told["variants"][1]["recorded"], true);
    assert_eq!(told["variants"][1]["policy"], Value::Null);
    // The recording was made of the first scenario: all its figures are the same.
    for measure in told["measures"].as_array().unwrap() {
        let cells = |row: usize| {
            let cells = measure["table"]["rows"][row]["cells"].as_array().unwrap();
            cells.iter().map(|c| c["mean"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(cells(0), cells(1), "{}", measure["measure"]);
    }
    let changed = told["changes"].as_array().unwrap();
    assert!(
        changed.iter().all(|c| c["variant"] == "after"),
        "{changed:?}"
    );
    assert!(!changed.is_empty());
}

#[test]
fn labels_name_the_variants() {
    let folder = host();
    let args = [
        "compare",
        "host.toml",
        "--policy",
        "credit",
        "--policy",
        "sedf",
    ];
    let labelled = [&args[..], &["--label", "old", "--label", "new", "--json"]].concat();
    assert_eq!(labels(&json_of(&folder, &labelled)), ["old", "new"]);
    domio(&folder)
        .args([&args[..], &["--label", "old"]].concat())
        .assert()
        .code(2)
        .stderr(contains(
            "2 variants are compared (credit, sedf), but --label is given 1 times",
        ));
    domio(&folder)
        .args(["compare", "host.toml"])
        .assert()
        .code(2)
        .stderr(contains("nothing to compare with; give a second --policy"));
}

#[test]
fn who_gains_and_who_pays_comes_first() {
    let folder = host();
    let args = ["compare", "host.toml", "--set", "domain.hog.weight=256"];
    let more = ["--set", "domain.hog.weight=1024"];
    let assert = domio(&folder).args([&args[..], &more].concat()).assert();
    let told = String::from_utf8(assert.success().get_output().stdout.clone()).unwrap();
    let head = "domain.hog.weight=1024 against domain.hog.weight=256";
    assert!(told.starts_with(head), "{told}");
    assert!(told.contains("  gains  hog: "), "{told}");
    assert!(told.contains("  pays   hog2: "), "{told}");
    let json = json_of(&folder, &[&args[..], &more, &["--json"]].concat());
    let share = |domain: &str| {
        let changes = json["changes"].as_array().unwrap().iter();
        let mut own = changes.filter(|c| c["domain"] == domain);
        let change = own.find(|c| c["measure"] == "share_pct");
        change.unwrap_or_else(|| panic!("{json}"))["gains"].clone()
    };
    assert_eq!((share("hog"), share("hog2")), (true.into(), false.into()));
}

#[test]
fn releases_that_differ_in_nothing_here_are_named() {
    let folder = host();
    let of = |values: [&str; 3]| {
        let mut args = vec!["compare", "host.toml", "--json", "--policy", "credit2"];
        let keys = values.map(|value| format!("scheduler.version={value}"));
        for key in &keys {
            args.extend(["--set", key]);
        }
        json_of(&folder, &args)["notices"].clone()
    };
    let same = "credit2 4.17 and 4.20 differ in nothing that this host has";
    assert_eq!(of(["4.17", "4.20", "4.13"]), serde_json::json!([same]));
    assert_eq!(of(["4.13", "4.17", "4.14"]), serde_json::json!([]));
}
