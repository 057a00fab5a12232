//! `domio reproduce` as its users see it.

use crate::common::{domio, folder, json, json_of};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

#[test]
fn reproduce_prints_the_ledger_and_writes_the_report() {
    let folder = folder();
    domio(&folder)
        .args(["reproduce", "ongaro.fig2", "ongaro.debit"])
        .assert()
        .success()
        .stdout(contains("ongaro.fig2.cpu-fairness"))
        .stdout(contains("2 hold, 0 fail"))
        .stderr("wrote out/reproduce-ongaro.fig2+ongaro.debit.html\n");
    let page = folder
        .path()
        .join("out/reproduce-ongaro.fig2+ongaro.debit.html");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("ongaro.fig2.cpu-fairness") && page.ends_with("</html>"));
    assert!(page.contains("guest7"), "the shares are drawn");
}

/// The record comes before anything is simulated, and the rows are those of the headlines.
#[test]
fn without_a_selection_the_record_and_the_headlines_are_shown() {
    let folder = folder();
    domio(&folder)
        .args(["reproduce", "--replications", "1", "--seconds", "1"])
        .env("COLUMNS", "100")
        .assert()
        .success()
        .stdout(starts_with("Verdicts on record:\n"))
        .stdout(contains("boutcher").and(contains("seven equal streams get")))
        .stdout(contains("; all 98: domio reproduce --all, about"))
        .stderr(contains("deciding 25 headline claims: about"));
}

#[test]
fn a_cell_is_a_scenario() {
    let folder = folder();
    let cell = "papers/ongaro2008/test3-sedf";
    domio(&folder)
        .args([
            "run",
            cell,
            "--set",
            "run.warmup_s=1",
            "--set",
            "run.duration_s=2",
        ])
        .args(["--perfetto", "cell.pftrace"])
        .assert()
        .success()
        .stdout(contains("guest8"))
        .stderr("wrote cell.pftrace; open it at ui.perfetto.dev\n");
    let trace = std::fs::read(folder.path().join("cell.pftrace")).unwrap();
    let names_guest = trace.windows(6).any(|w| w == b"guest8");
    assert!(trace.len() > 100_000 && names_guest, "{}", trace.len());
    let short = [
        "--set",
        "run.warmup_ms=100",
        "--set",
        "run.duration_s=1",
        "--json",
    ];
    let mut three = domio(&folder);
    three.args(["run", cell, "--replications", "3"]).args(short);
    let three = json(&three.output().unwrap().stdout);
    let deviation = three["domains"][1]["share_pct"]["deviation"].as_f64();
    assert!(deviation > Some(0.0), "replications start at other times");
    let shown = domio(&folder)
        .args(["scenario", "show", cell])
        .output()
        .unwrap();
    std::fs::write(folder.path().join("cell.toml"), shown.stdout).unwrap();
    domio(&folder)
        .args(["scenario", "check", "cell.toml"])
        .assert()
        .success();
    domio(&folder)
        .args(["run", "papers/ongaro2008/test3-sdef"])
        .assert()
        .code(2)
        .stderr(contains("near matches: papers/ongaro2008/test3-sedf"));
    domio(&folder)
        .args(["scenario", "list", "--papers"])
        .assert()
        .success()
        .stdout(contains("papers/ongaro2008/test8-tbs").and(contains("papers/zeng2015/table4-x8")));
    domio(&folder)
        .args(["scenario", "list"])
        .assert()
        .success()
        .stderr(contains("96 of ongaro2008"));
}

#[test]
fn cells_are_measured_for_as_long_as_asked() {
    let folder = folder();
    let shares = |seconds: &str| {
        let args = [
            "reproduce",
            "ongaro.test3.burn-share",
            "--replications",
            "2",
            "--json",
        ];
        let mut command = domio(&folder);
        command.args(args).args(["--seconds", seconds]);
        // A share of two seconds proves little.
        let output = command.output().unwrap();
        json(&output.stdout)["claims"][0].clone()
    };
    assert_ne!(shares("2")["ci95"], shares("4")["ci95"]);
    // The second command is another one, whose report has a place of its own.
    let page = "out/reproduce-ongaro.test3.burn-share-2.html";
    let page = std::fs::read_to_string(folder.path().join(page)).unwrap();
    assert!(page.contains("--seconds 4"), "the command repeats the run");
    domio(&folder)
        .args(["reproduce", "ongaro", "--seconds", "0"])
        .assert()
        .code(2)
        .stderr(contains("1..=3600"));
}

#[test]
fn reproduce_as_json_has_the_promised_form() {
    let folder = folder();
    let value = json_of(&folder, &["reproduce", "ongaro.debit", "--json"]);
    let claims = value["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 1);
    let keys = |value: &serde_json::Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(
        keys(&claims[0]),
        [
            "checks",
            "ci95",
            "expected",
            "headline",
            "id",
            "measured",
            "note",
            "recorded",
            "replications",
            "unit",
            "verdict",
        ]
    );
    assert_eq!(keys(&claims[0]["checks"]), ["fails", "holds", "undecided"]);
    assert_eq!(
        claims[0]["checks"]["holds"], 15,
        "five for each of three cells"
    );
    let summary = &value["summary"];
    assert_eq!(
        keys(summary),
        ["fails", "holds", "not_implemented", "undecided"]
    );
    let counts = summary.as_object().unwrap().values();
    assert_eq!(counts.map(|count| count.as_u64().unwrap()).sum::<u64>(), 1);
}

#[test]
fn a_wrong_expectation_fails() {
    let folder = folder();
    let claim = "[[claim]]\nid = \"ongaro.fig2.cpu-fairness\"\nwhere = \"1\"\n\
                 experiment = \"e\"\nkind = \"value\"\nexpect = \"a fifth each\"\n\
                 tolerance = \"19 to 21\"\n";
    std::fs::write(folder.path().join("wrong.toml"), claim).unwrap();
    domio(&folder)
        .args(["reproduce", "--claims", "wrong.toml"])
        .assert()
        .success()
        .stdout(contains("fails").and(contains("0 hold, 1 fail")));
    let as_json = domio(&folder)
        .args(["reproduce", "--claims", "wrong.toml", "--json"])
        .assert()
        .success();
    let value = json(&as_json.get_output().stdout);
    assert_eq!(value["claims"][0]["verdict"], "fails");
}

#[test]
fn claims_of_ones_own_are_checked_in_full() {
    let folder = folder();
    let good = "[[claim]]\nid = \"mine.a\"\nwhere = \"1\"\nexperiment = \"e\"\n\
                kind = \"order\"\nexpect = \"x\"\n";
    std::fs::write(folder.path().join("good.toml"), good).unwrap();
    domio(&folder)
        .args(["reproduce", "--list", "--claims", "good.toml"])
        .args(["--report", "r.html"])
        .assert()
        .success()
        .stdout(contains("mine.a"))
        .stdout(contains("1 not implemented"));
    let bad = "[[claim]]\nid = \"mine.a\"\nkind = \"odd\"\n";
    std::fs::write(folder.path().join("bad.toml"), bad).unwrap();
    domio(&folder)
        .args(["reproduce", "--claims", "bad.toml"])
        .assert()
        .code(2)
        .stderr(contains(
            "bad.toml:3:8: there is no kind `odd`; expected one of",
        ))
        .stderr(contains("bad.toml:1:1: `expect` is missing"));
    let out = std::fs::read_dir(folder.path().join("out")).unwrap();
    let out: Vec<_> = out.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(out, ["results.sqlite"], "no report of nothing");
}
