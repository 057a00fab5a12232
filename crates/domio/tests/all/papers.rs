//! Papers that are not built in: folders that `reproduce` and `claim` take.

use crate::common::{domio, folder, json_of};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Copies the files of a paper's folder to `mine` below `folder`.
fn copy(from: &str, folder: &TempDir) -> PathBuf {
    let to = folder.path().join("mine");
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(root().join(from)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
    to
}

/// Writes `to` for `from` in the file at `path`.
fn change(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

const MADE_UP: &str = "testdata/papers/made-up";

#[test]
fn a_paper_of_ones_own_is_reproduced_from_its_folder() {
    let folder = folder();
    let mine = copy(MADE_UP, &folder);
    let few = ["--replications", "3", "--json"];
    let args = [&["reproduce", "mine", "--check"][..], &few].concat();
    let decided = json_of(&folder, &args);
    let claims = decided["claims"].as_array().unwrap();
    let ids: Vec<&str> = claims.iter().filter_map(|c| c["id"].as_str()).collect();
    assert_eq!(ids, ["made-up.fig1.boost-helps"]);
    assert_eq!(claims[0]["verdict"], "holds");
    assert!(folder.path().join("out").is_dir());

    // The samples are kept as those of shipped papers are, and the contrary is no longer on record.
    change(&mine.join("claims.toml"), "under =", "over =");
    domio(&folder)
        .args(["reproduce", "./mine", "made-up.fig1", "--check"])
        .args(few)
        .assert()
        .code(1)
        .stderr(contains("took 6 replications from").and(contains("fails, on record is holds")));

    // Another figure in its cells is another sample.
    change(&mine.join("cells.toml"), "burst_us = 300", "burst_us = 301");
    domio(&folder)
        .args(["reproduce", "mine"])
        .args(few)
        .assert()
        .success()
        .stderr(contains("took").not());
}

#[test]
fn a_claim_of_a_shipped_paper_is_changed_in_a_copy() {
    let folder = folder();
    let mine = copy("papers/ongaro2008", &folder);
    let shipped = json_of(&folder, &["claim", "list", "ongaro", "--json"]);
    assert_eq!(
        json_of(&folder, &["claim", "list", "papers/ongaro2008", "--json"]),
        shipped
    );
    change(&mine.join("claims.toml"), "each of the 7", "none of the 7");
    let listed = json_of(&folder, &["claim", "list", "mine", "--json"]);
    let listed = listed["claims"].as_array().unwrap();
    assert_eq!(listed.len(), shipped["claims"].as_array().unwrap().len());
    let id = "ongaro.fig2.cpu-fairness";
    let claim = listed.iter().find(|c| c["id"] == id).unwrap();
    assert!(
        claim["expect"]
            .as_str()
            .unwrap()
            .starts_with("none of the 7")
    );
    let shown = json_of(&folder, &["claim", "show", "mine", id, "--json"]);
    assert_eq!(shown["expect"], claim["expect"]);
    let commands = shown["commands"].as_array().unwrap();
    assert_eq!(
        commands[0],
        format!("domio reproduce mine {id} --report out/cpu-fairness.html")
    );
    assert_eq!(commands[2], "domio explain mine/fig2-burn7");
}

#[test]
fn what_is_wrong_with_a_folder_is_told_with_what_to_do() {
    let folder = folder();
    let mine = copy(MADE_UP, &folder);
    let told = |args: &[&str], parts: &[&str]| {
        let assert = domio(&folder).args(args).assert().code(2);
        let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        for part in parts {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!folder.path().join("out").exists(), "nothing was begun");
    };
    told(
        &["claim", "list", "./none"],
        &["there is no folder ./none", "has a paper.toml"],
    );
    told(
        &["reproduce", "papers/none"],
        &["there is no folder papers/none"],
    );
    fs::create_dir(folder.path().join("empty")).unwrap();
    told(
        &["reproduce", "./empty"],
        &["./empty is no paper", "docs/PAPERS.md"],
    );
    told(&["claim", "show", "mine"], &["0 ids of claims", "give one"]);
    told(
        &["reproduce", "mine", "mine"],
        &["made-up.web.credit is there twice", "cells.toml"],
    );

    change(&mine.join("claims.toml"), "web/turns", "web/urns");
    let wrong = [
        "mine/claims.toml:14",
        "web/urns",
        "did you mean \"web/turns\"?",
    ];
    told(&["reproduce", "mine"], &wrong);
    change(
        &mine.join("claims.toml"),
        "kind = \"order\"",
        "kind = \"ordre\"",
    );
    told(
        &["claim", "list", "mine"],
        &["mine/claims.toml:12", "value, bound, order, shape"],
    );
    change(
        &mine.join("claims.toml"),
        "kind = \"ordre\"",
        "kind = \"order\"",
    );
    change(&mine.join("claims.toml"), "web/urns", "web/turns");
    change(
        &mine.join("cells.toml"),
        "replications = 4",
        "replications = ",
    );
    told(
        &["reproduce", "mine"],
        &["mine/cells.toml:8:", "string values must be quoted"],
    );
    change(
        &mine.join("cells.toml"),
        "replications = ",
        "replications = 0",
    );
    told(
        &["reproduce", "mine"],
        &["mine/cells.toml:8:", "replications", "expected 1 to "],
    );
    fs::remove_file(mine.join("claims.toml")).unwrap();
    told(
        &["claim", "list", "mine"],
        &["mine has no claims", "claims.toml"],
    );
}
