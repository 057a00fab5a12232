//! Claims on the machines that papers allow: parts, what is kept, and what is on record.

use crate::common::{domio, folder, json_of};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A copy of the paper that nobody wrote, as `mine` below `folder`.
fn copied(folder: &TempDir) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/papers/made-up");
    let to = folder.path().join("mine");
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
    to
}

const DECIDE: [&str; 7] = [
    "reproduce",
    "mine",
    "--replications",
    "2",
    "--machines",
    "4",
    "--json",
];

/// Two cells with two replications each.
const A_MACHINE: usize = 4;

#[test]
fn parts_are_decided_anywhere_and_put_together() {
    let folder = folder();
    copied(&folder);
    let with = |more: &[&str]| json_of(&folder, &[&DECIDE[..], more].concat());
    let whole = with(&["--results", "whole.sqlite"]);
    let drawn =
        |value: &serde_json::Value| value["machines"][0]["drawn"].as_array().unwrap().clone();
    let one = with(&["--part", "1/2", "--results", "one.sqlite"]);
    let two = with(&["--part", "2/2", "--results", "two.sqlite"]);
    assert_eq!(one["machines"][0]["machines"], 2);
    let mut parts = [drawn(&one), drawn(&two)].concat();
    parts.sort_by_key(|machine| machine["machine"].as_u64());
    assert_eq!(parts, drawn(&whole));

    // The central machine is in both files.
    let merge = [
        "results",
        "merge",
        "one.sqlite",
        "two.sqlite",
        "--results",
        "all.sqlite",
    ];
    let merged = json_of(&folder, &[&merge[..], &["--json"]].concat());
    assert_eq!(merged["added"], 5 * A_MACHINE);
    domio(&folder)
        .args(merge)
        .assert()
        .success()
        .stdout(contains("took over 0 replications into all.sqlite"));
    // Nothing is left to simulate.
    let again = domio(&folder)
        .args(DECIDE)
        .args(["--results", "all.sqlite"])
        .assert()
        .success();
    let output = again.get_output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let took = format!("took {} replications from all.sqlite", 5 * A_MACHINE);
    assert!(stderr.contains(&took), "{stderr}");
    let again: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(again["machines"], whole["machines"]);
}

/// As after an interruption: what some machines have left is taken, and the rest is simulated.
#[test]
fn a_search_goes_on_where_it_was() {
    let folder = folder();
    copied(&folder);
    let part = ["--part", "1/4"];
    json_of(&folder, &[&DECIDE[..], &part].concat());
    let took = format!("took {} replications from", 2 * A_MACHINE);
    domio(&folder)
        .args(DECIDE)
        .assert()
        .success()
        .stderr(contains(took));
}

#[test]
fn a_part_needs_machines_and_is_one_of_them() {
    let folder = folder();
    let refused = |args: &[&str], why: &str| {
        domio(&folder)
            .args([&["reproduce", "zeng.fig4"], args].concat())
            .assert()
            .code(2)
            .stderr(contains(why));
    };
    refused(&["--part", "1/2"], "--machines");
    refused(&["--machines", "4", "--part", "3/2"], "as 3/8");
}

const RECORD: &str = r#"machines = 64
seed = 1
effort = "quick"
[[claim]]
id = "made-up.fig1.boost-helps"
holds = 41
fails = 20
undecided = 3
[[claim.depends]]
unknown = "cache refill"
holds_with = "up to 9 us"
fails_with = "from 10 us on"
holds_there = 39
decided_there = 40
holds_elsewhere = 2
decided_elsewhere = 21
score = 0.9
by_chance = 0.3
"#;

#[test]
fn what_is_on_record_stands_beside_the_verdict() {
    let folder = folder();
    let mine = copied(&folder);
    let record = mine.join("survival.toml");
    fs::write(&record, RECORD).unwrap();
    let id = "made-up.fig1.boost-helps";
    let counts = "holds on 41 of 64 machines (64 %, 52 to 75 %), fails on 20, undecided on 3";
    let split = "cache refill: holds on 39 of 40 machines with up to 9 us, on 2 of 21 with from";
    domio(&folder)
        .args(["claim", "show", "./mine", id])
        .assert()
        .success()
        .stdout(contains("on record   holds").and(contains(format!("machines    {counts}"))))
        .stdout(contains(format!("depends on  {split}")));
    let shown = json_of(&folder, &["claim", "show", "./mine", id, "--json"]);
    assert_eq!(shown["survival"]["standing"], "depends");
    assert_eq!(shown["survival"]["holds"]["machines"], 41);
    // The central verdict stays.
    domio(&folder)
        .args(["reproduce", "mine", "--replications", "3", "--check"])
        .assert()
        .success()
        .stdout(contains("1 hold,").and(contains("Depends on what the paper leaves open")))
        .stdout(contains("holds on 41 of 64 machines"));
    domio(&folder)
        .args(["claim", "survival", "./mine"])
        .assert()
        .success()
        .stdout(contains("1 of 1 claims on 64 machines").and(contains("depends")));
    let all = json_of(&folder, &["claim", "survival", "./mine", "--json"]);
    assert_eq!(all["papers"][0]["claims"][0]["fails"]["machines"], 20);
    fs::write(&record, RECORD.replace("fails = 20", "fails = 21")).unwrap();
    domio(&folder)
        .args(["claim", "show", "./mine", id])
        .assert()
        .code(2)
        .stderr(contains("survival.toml:4").and(contains("65 machines together")));
}
