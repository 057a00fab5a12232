//! Every output of `--json` is as its schema says.

use crate::common::{domio, folder, json, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

const HOST: &str = "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
                    count = 2\nworkload = \"burn\"\n[[domain]]\nname = \"web\"\n\
                    workload = \"periodic\"\nperiod_ms = 20\nburst_us = 300\n";

/// What the program prints for `args`, whatever its status.
fn output(folder: &TempDir, args: &[&str]) -> Value {
    json(&domio(folder).args(args).assert().get_output().stdout)
}

fn schema(folder: &TempDir, name: &str) -> Value {
    json_of(folder, &["schema", name])
}

/// What `args` print has the schema `name`.
fn fits(folder: &TempDir, name: &str, args: &[&str]) -> Value {
    let schema = schema(folder, name);
    let value = output(folder, args);
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let errors = validator.iter_errors(&value);
    let errors: Vec<String> = errors
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0], "{args:?}");
    if !value.is_array() {
        assert_eq!(value["schema"], schema["$id"], "{args:?}");
    }
    // A schema that takes anything would take this.
    assert!(
        !validator.is_valid(&serde_json::json!({ "banana": 1 })),
        "{name}"
    );
    assert!(
        !validator.is_valid(&serde_json::json!([{ "banana": 1 }])),
        "{name}"
    );
    value
}

#[test]
fn outputs_of_simulations() {
    let folder = folder();
    std::fs::write(folder.path().join("host.toml"), HOST).unwrap();
    let run = ["run", "host.toml", "--json"];
    let plain = fits(&folder, "run", &run);
    assert_eq!(plain["overhead"], serde_json::json!([]));
    fits(
        &folder,
        "run",
        &[&run[..], &["--replications", "2"]].concat(),
    );
    // With a network, driver work and packets.
    let ping = ["ping-among-burners", "--json", "--set", "run.duration_s=1"];
    let network = fits(&folder, "run", &[&["run"], &ping[..]].concat());
    assert!(network["driver_work"].is_array());
    assert_eq!(network["overhead"][0]["memory_kib"]["pending"], 1024);
    let explained = fits(&folder, "explain", &[&["explain"], &ping[..]].concat());
    let mut items = explained["items"].as_array().unwrap().iter();
    assert!(items.any(|items| items["items"] == "packets"));
    let short = ["--json", "--set", "run.duration_s=0.05"];
    let calibrated = fits(&folder, "calibrate", &[&["calibrate"], &short[..]].concat());
    assert_eq!(calibrated["rates"].as_array().unwrap().len(), 10);
    let alert = ["alert", "--policy", "credit", "--policy", "sedf", "--json"];
    let short = ["--duration", "10", "--cap-range", "2,30"];
    let tested = fits(&folder, "alert", &[&alert[..], &short].concat());
    assert_eq!(
        tested["policies"][1]["points"][1]["windows"][0]["count"],
        10
    );
    assert!(
        !tested["policies"][0]["worst"]["excerpt"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let tried = ["dom0-share", "web-servers", "--policy", "credit", "--json"];
    let short = ["--cap", "50,90", "--set", "run.duration_s=0.3"];
    let tried = fits(&folder, "dom0-share", &[&tried[..], &short].concat());
    assert_eq!(tried["points"].as_array().unwrap().len(), 3);
    let short = [
        "--evaluations",
        "60",
        "--set",
        "run.duration_s=0.3",
        "--json",
    ];
    let advised = fits(
        &folder,
        "advise",
        &[&["advise", "noisy-neighbour"][..], &short].concat(),
    );
    assert!(!advised["settings"].as_array().unwrap().is_empty());
    let policies = ["--policy", "credit", "--policy", "null", "--json"];
    let compare = ["compare", "host.toml", "--replications", "2"];
    let compared = fits(&folder, "compare", &[&compare[..], &policies].concat());
    assert!(!compared["changes"].as_array().unwrap().is_empty());
    assert!(!compared["notices"].as_array().unwrap().is_empty());
    let swept = [
        "sweep",
        "host.toml",
        "--set",
        "domain.web.weight=64,256",
        "--json",
    ];
    let asks = [
        "--trade",
        "share(web),wake_p99(web)",
        "--find",
        "max share(web)",
    ];
    let rows = ["--output", "rows.csv", "--replications", "2"];
    let swept = fits(&folder, "sweep", &[&swept[..], &asks, &rows].concat());
    assert_eq!(swept["find"]["met"], true);
    let policies = &policies[..4];
    let network = [&["compare"], &ping[..], policies].concat();
    let compared = fits(&folder, "compare", &network);
    let mut measures = compared["measures"].as_array().unwrap().iter();
    assert!(measures.any(|row| row["driver"] == "Domain-0"));
}

#[test]
fn outputs_about_traces() {
    let folder = folder();
    let write = ["run", "ping-among-burners", "--trace", "t.domio", "--set"];
    let write = [&write[..], &["run.duration_s=1"]].concat();
    domio(&folder).args(write).assert().success();
    fits(
        &folder,
        "trace-summary",
        &["trace", "summary", "t.domio", "--json"],
    );
    fits(
        &folder,
        "trace-check",
        &["trace", "check", "t.domio", "--json"],
    );
    let explained = fits(&folder, "explain", &["explain", "t.domio", "--json"]);
    assert!(!explained["worst_wakeups"].as_array().unwrap().is_empty());
    assert!(explained["map"].is_object());
    let made = ["scenario", "from-trace", "t.domio", "--json"];
    fits(&folder, "scenario-show", &made);
    let list = "Name ID Mem VCPUs State Time(s)\nweb 3 512 1 -b---- 34.1\n";
    std::fs::write(folder.path().join("list.txt"), list).unwrap();
    let made = ["scenario", "from-lists", "list.txt", "--json"];
    fits(&folder, "scenario-show", &made);
    let write = [
        "compare",
        "ping-among-burners",
        "t.domio",
        "--json",
        "--set",
    ];
    let write = [&write[..], &["run.duration_s=1"]].concat();
    let compared = fits(&folder, "compare", &write);
    assert_eq!(compared["variants"][1]["recorded"], true);
    // One line a sample, and one sample.
    let mon = ["mon", "t.domio", "--json", "--interval", "60000"];
    let line = fits(&folder, "mon", &mon);
    assert!(line["longest_wait"]["behind"].is_object());
    assert!(!line["drivers"].as_array().unwrap().is_empty());
}

#[test]
fn outputs_about_claims() {
    let folder = folder();
    // One experiment's claims take little time.
    let list = ["claim", "list", "ongaro", "--json"];
    assert_eq!(
        fits(&folder, "claim-list", &list)["claims"]
            .as_array()
            .unwrap()
            .len(),
        44
    );
    fits(
        &folder,
        "claim-show",
        &["claim", "show", "zeng.fig5.p3", "--json"],
    );
    let survival = ["claim", "survival", "--json"];
    let survival = fits(&folder, "claim-survival", &survival);
    assert_eq!(survival["papers"].as_array().unwrap().len(), 5);
    let fig2 = ["reproduce", "ongaro.fig2", "--json", "--replications", "1"];
    let told = fits(
        &folder,
        "reproduce",
        &[&fig2[..], &["--machines", "2"]].concat(),
    );
    assert!(!told["claims"].as_array().unwrap().is_empty());
    assert_eq!(told["machines"][0]["claims"][0]["machines"], 2);
}

#[test]
fn outputs_about_what_is_kept() {
    let folder = folder();
    let kept = |seed: &str| {
        let args = [
            "run",
            "burn7",
            "--replications",
            "2",
            "--set",
            "run.duration_s=1",
        ];
        let args = [&args[..], &["--seed", seed, "--json"]].concat();
        fits(&folder, "run", &args);
    };
    kept("1");
    let here = folder.path();
    std::fs::copy(here.join("out/results.sqlite"), here.join("before.sqlite")).unwrap();
    kept("2");
    let list = fits(&folder, "results-list", &["results", "list", "--json"]);
    assert_eq!(list["results"].as_array().unwrap().len(), 2);
    fits(
        &folder,
        "results-show",
        &["results", "show", "burn7", "--json"],
    );
    let diff = [
        "results",
        "diff",
        "before.sqlite",
        "out/results.sqlite",
        "--json",
    ];
    let diff = fits(&folder, "results-diff", &diff);
    assert_eq!(diff["only_after"].as_array().unwrap().len(), 1);
    let merge = ["results", "merge", "before.sqlite", "--json"];
    fits(&folder, "results-merge", &merge);
    fits(&folder, "results-prune", &["results", "prune", "--json"]);
}

#[test]
fn outputs_about_recordings() {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/xen-traces/c1-weights-1-2-4"
    );
    fits(&folder(), "validate", &["validate", root, "--json"]);
}

#[test]
fn outputs_of_lists() {
    let folder = folder();
    fits(&folder, "policy-list", &["policy", "list", "--json"]);
    for policy in ["credit", "sedf", "sedf-dc", "round-robin", "null"] {
        fits(
            &folder,
            "policy-show",
            &["policy", "show", policy, "--json"],
        );
    }
    let check = ["policy", "check", "null", "--scripts", "1", "--json"];
    fits(&folder, "policy-check", &check);
    fits(
        &folder,
        "controller-list",
        &["controller", "list", "--json"],
    );
    let show = ["controller", "show", "cap-follows-demand", "--json"];
    fits(&folder, "controller-show", &show);
    fits(&folder, "elevator-list", &["elevator", "list", "--json"]);
    for elevator in ["noop", "deadline", "as"] {
        let show = ["elevator", "show", elevator, "--json"];
        fits(&folder, "elevator-show", &show);
    }
    fits(&folder, "scenario-list", &["scenario", "list", "--json"]);
    fits(
        &folder,
        "scenario-show",
        &["scenario", "show", "burn7", "--json"],
    );
    std::fs::write(folder.path().join("bad.toml"), "a = 1\n").unwrap();
    let check = [
        "scenario",
        "check",
        "burn7",
        "bad.toml",
        "missing.toml",
        "--json",
    ];
    let checked = fits(&folder, "scenario-check", &check);
    assert_eq!(checked["scenarios"].as_array().unwrap().len(), 3);
}

#[test]
fn outputs_about_block_traces() {
    let folder = folder();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/block-traces/");
    let [postmark, ffsb, msr] =
        ["postmark.csv", "ffsb.csv", "forms/msr.csv"].map(|name| format!("{root}{name}"));
    for file in [&postmark, &ffsb, &msr] {
        fits(
            &folder,
            "block-summary",
            &["trace", "summary", file, "--json"],
        );
        fits(&folder, "block-explain", &["explain", file, "--json"]);
        let drive = ["explain", file, "--drive", "hitachi-7k500", "--json"];
        fits(&folder, "block-explain", &drive);
        fits(
            &folder,
            "block-replay",
            &["trace", "replay", file, "--json"],
        );
    }
    for other in [&ffsb, &msr] {
        let compare = ["trace", "compare", &postmark, other, "--json"];
        fits(&folder, "block-compare", &compare);
    }
}

#[test]
fn every_schema_is_listed_and_is_one() {
    let folder = folder();
    let all = fits(&folder, "schema", &["schema", "--json"]);
    let all = all["schemas"].as_array().unwrap();
    assert!(all.len() >= 21);
    for entry in all {
        let name = entry["name"].as_str().unwrap();
        let schema = schema(&folder, name);
        assert_eq!(schema["$id"], entry["id"]);
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{name}");
        assert!(
            schema["description"].as_str().unwrap().contains("--json"),
            "{name}"
        );
    }
    domio(&folder)
        .args(["schema"])
        .assert()
        .success()
        .stdout(contains("domio/run/2"));
    domio(&folder)
        .args(["schema", "trace summary"])
        .assert()
        .success()
        .stdout(contains("domio/trace-summary/6"));
    domio(&folder)
        .args(["schema", "rnu"])
        .assert()
        .code(2)
        .stderr(contains("near matches: run").and(contains("`domio schema` lists them")));
}
