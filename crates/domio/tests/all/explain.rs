//! `domio explain` as its users see it.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// `domio explain` with these arguments, in an empty folder.
fn explain(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("domio").expect("the program is built");
    command.current_dir(folder.path()).arg("explain");
    command.args(arguments);
    command
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for files that tests write")
}

const PINGS: [&str; 3] = ["ping-among-burners", "--set", "run.duration_s=3"];

#[test]
fn sums_in_json_are_those_of_their_parts() {
    let out = explain(&folder(), &PINGS)
        .args(["--json", "--replications", "2"])
        .output();
    let json: Value = serde_json::from_slice(&out.unwrap().stdout).unwrap();
    assert_eq!(json["elapsed_ns"], 6_000_000_000_u64);
    let sum = |list: &Value| -> u64 {
        let list = list.as_array().unwrap().iter();
        list.map(|entry| entry["ns"].as_u64().unwrap()).sum()
    };
    let domains = json["domains"].as_array().unwrap();
    assert_eq!(domains.len(), 6);
    for domain in domains {
        let ns = |key: &str| domain[key].as_u64().unwrap();
        let all = ns("running_ns") + ns("runnable_ns") + ns("at_rest_ns");
        assert!(all <= 6_000_000_000, "{domain}");
        assert_eq!(sum(&domain["run_queue"]), ns("runnable_ns"));
    }
    let pinged = domains.iter().find(|d| d["name"] == "answering").unwrap();
    let items = json["items"].as_array().unwrap();
    let packets = items.iter().find(|i| i["domain"] == pinged["id"]).unwrap();
    assert_eq!(packets["items"], "packets");
    assert!(packets["begun"].as_u64() > Some(0));
    assert_eq!(
        sum(&packets["waits"]),
        packets["total_ns"].as_u64().unwrap()
    );
    let total = packets["total_ns"].as_u64().unwrap();
    assert_eq!(sum(&packets["queues"]), total);
}

#[test]
fn the_scan_and_the_run_queue_are_told_apart() {
    explain(&folder(), &PINGS)
        .assert()
        .success()
        .stdout(contains(
            "answering waited most for the driver domain in the run queue",
        ));
    explain(&folder(), &PINGS)
        .args(["--set", "network.scan=restart"])
        .assert()
        .success()
        .stdout(contains("answering waited most for the event-channel scan"));
}

#[test]
fn what_waits_for_a_rate_waits_for_nobody_else() {
    let folder = folder();
    let how = ["udp-rate-limit", "--set", "run.duration_s=2"];
    let out = explain(&folder, &how).arg("--json").output();
    let json: Value = serde_json::from_slice(&out.unwrap().stdout).unwrap();
    let queues = |name: &str| {
        let mut domains = json["domains"].as_array().unwrap().iter();
        let domain = domains.find(|d| d["name"] == name).unwrap();
        let mut items = json["items"].as_array().unwrap().iter();
        let items = items.find(|i| i["domain"] == domain["id"]).unwrap();
        let queues = items["queues"].as_array().unwrap().iter();
        let time = |q: &Value| {
            (
                q["queue"].as_str().unwrap().to_owned(),
                q["ns"].as_u64().unwrap(),
            )
        };
        queues.map(time).collect::<BTreeMap<String, u64>>()
    };
    let (limited, free) = (queues("limited"), queues("free"));
    // A host whose work takes no time: what is not the limit's is the card's, which is slow to
    // interrupt, and a timer's slop.
    let sum: u64 = limited.values().sum();
    assert!(limited["rate_limit"] > sum / 1_000 * 995, "{limited:?}");
    assert_eq!(free["rate_limit"], 0);
    assert_eq!(free["ring"], limited["ring"], "{free:?} {limited:?}");
    explain(&folder, &how)
        .args(["--report", "waits.html"])
        .assert()
        .success()
        .stdout(contains("rate limit").and(contains(
            "Packets of limited waited most for their rate limit",
        )));
    let page = std::fs::read_to_string(folder.path().join("waits.html")).unwrap();
    assert!(page.contains("limited, rate limit: 99."), "in a bar's text");
    assert!(page.contains(">rate limit</text>"), "in the legend");
}

#[test]
fn a_report_has_stacked_bars_and_a_host_without_network_its_run_queues() {
    let folder = folder();
    explain(
        &folder,
        &[
            "burn7",
            "--set",
            "run.duration_s=1",
            "--report",
            "waits.html",
        ],
    )
    .assert()
    .success()
    .stdout(contains("Time that each vcpu was runnable").and(contains("Packets").not()))
    .stderr(contains("wrote waits.html"));
    let page = std::fs::read_to_string(folder.path().join("waits.html")).unwrap();
    assert!(page.contains("Stacked bar chart of time"));
}

#[test]
fn the_same_seed_explains_the_same() {
    let run = || {
        explain(&folder(), &PINGS)
            .arg("--json")
            .output()
            .unwrap()
            .stdout
    };
    assert_eq!(run(), run());
}

#[test]
fn a_cell_of_an_experiment_is_explained_by_its_name() {
    let folder = folder();
    let orig = "papers/ongaro2008/test3-orig";
    explain(
        &folder,
        &[
            orig,
            "--set",
            "run.duration_s=30",
            "--report",
            "out/waits.html",
        ],
    )
    .assert()
    .success()
    .stdout(contains(
        "guest8 waited most for the event-channel scan of the driver domain",
    ));
    let report = std::fs::read_to_string(folder.path().join("out/waits.html")).unwrap();
    assert!(report.contains("test3-orig") && report.contains("<svg"));
    let all_off = "papers/ongaro2008/test3-all-off";
    explain(&folder, &[all_off, "--seed", "3", "--replications", "2"])
        .assert()
        .success()
        .stdout(contains("guest8 waited most for").and(contains("in the run queue")));
    explain(&folder, &["papers/ongaro2008/test3-none"])
        .assert()
        .code(2)
        .stderr(contains("no file and no shipped scenario"));
}
