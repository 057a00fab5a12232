//! `domio compare`: one thing changed, whatever the thing is.

use crate::common::{domio, folder, json_of};
use assert_cmd::assert::Assert;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

/// Two policies on the host.
const TWO_POLICIES: [&str; 6] = [
    "compare",
    "host.toml",
    "--policy",
    "credit",
    "--policy",
    "round-robin",
];

const HOST: &str = "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"hog\"\n\
                    workload = \"burn\"\n[[domain]]\nname = \"web\"\nworkload = \"periodic\"\n\
                    period_ms = 20\nburst_us = 300\n[[domain]]\nname = \"hog2\"\n\
                    workload = \"burn\"\n";

fn host() -> TempDir {
    let folder = folder();
    std::fs::write(folder.path().join("host.toml"), HOST).unwrap();
    folder
}

/// What a command printed.
fn text(assert: Assert) -> String {
    String::from_utf8(assert.success().get_output().stdout.clone()).unwrap()
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
    assert_eq!(
        told["measures"][1]["variant"],
        "scheduler.ratelimit_us=1000"
    );
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
    let means = |variant: &str| -> Vec<Value> {
        let all = told["measures"].as_array().unwrap().iter();
        let own = all.filter(|row| row["variant"] == variant);
        own.map(|row| serde_json::json!([row["domain"], row["measure"], row["mean"]]))
            .collect()
    };
    assert_eq!(means("host"), means("t"));
    assert!(!means("t").is_empty());
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
    let told = text(assert);
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

/// A guest that works every millisecond, on any pcpu or on two that it shares with others.
const REAL_TIME: &str = r#"
run.warmup_s = 1
run.duration_s = 10
host.cores = 8
scheduler.policy = "credit"
scheduler.version = "4.13"
[[domain]]
name = "Domain-0"
vcpus = 4
  [[domain.task]]
  name = "drivers"
  workload = "on-off"
  vcpu = "all"
  on = { distribution = "exponential", mean_ms = 2 }
  off = { distribution = "exponential", mean_ms = 6 }
[[domain]]
name = "rt"
vcpus = 2
  [[domain.task]]
  name = "loop"
  workload = "periodic"
  vcpu = "all"
  period_ms = 1
  burst_us = 20
[[domain]]
name = "other"
count = 5
vcpus = 2
  [[domain.task]]
  name = "load"
  workload = "on-off"
  vcpu = "all"
  on = { distribution = "exponential", mean_ms = 20 }
  off = { distribution = "exponential", mean_ms = 20 }
"#;

/// The median of the waits goes from 0 to 20 us, which nobody feels; of their tail somebody does.
#[test]
fn the_first_line_is_what_somebody_feels() {
    let folder = folder();
    std::fs::write(folder.path().join("rt.toml"), REAL_TIME).unwrap();
    let args = ["compare", "rt.toml", "--set", "domain.rt.pin=all"];
    let args = [&args[..], &["--set", "domain.rt.pin=4-5"]].concat();
    for replications in ["1", "3"] {
        let args = [&args[..], &["--replications", replications]].concat();
        let told = text(domio(&folder).args(&args).assert());
        let first = told.lines().nth(1).unwrap();
        let begin = "  pays   rt: wake to run, p99 ";
        assert!(
            first.starts_with(begin) && first.contains(" ms (+5."),
            "{told}"
        );
        assert!(first.ends_with(" times as much)"), "{told}");
        let json = json_of(&folder, &[&args[..], &["--json"]].concat());
        let changes = json["changes"].as_array().unwrap();
        let [tail, median] = ["wake_p99_us", "wake_p50_us"].map(|measure| {
            let found = changes
                .iter()
                .position(|c| c["measure"] == measure && c["domain"] == "rt");
            found.unwrap_or_else(|| panic!("{measure}: {changes:?}"))
        });
        assert_eq!((tail, changes[tail]["felt"].as_bool()), (0, Some(true)));
        assert_eq!(changes[median]["felt"], false);
        assert_eq!(changes[median]["times"], Value::Null);
    }
}

/// Domains are rows: 51 of them stay at any width, and so do many variants.
#[test]
fn no_domain_and_no_variant_is_left_out() {
    let folder = folder();
    let host = "run.duration_s = 1\nrun.warmup_s = 0\n\
                host.cores = 4\nscheduler.policy = \"credit\"\n\
                [[domain]]\nname = \"guest\"\n\
                count = 51\nworkload = \"burn\"\n";
    std::fs::write(folder.path().join("many.toml"), host).unwrap();
    let mut args = vec!["compare".to_owned(), "many.toml".to_owned()];
    for ms in 1..=6 {
        args.extend(["--set".to_owned(), format!("scheduler.tslice_ms={ms}")]);
    }
    let mut command = domio(&folder);
    let told = text(command.args(&args).env("COLUMNS", "80").assert());
    let (_, tables) = told.split_once("share [% of one pcpu]\n").unwrap();
    let (shares, _) = tables.split_once("\nwaiting").unwrap();
    for i in 1..=51 {
        assert!(shares.contains(&format!("\nguest{i} ")), "guest{i}: {told}");
    }
    for ms in 1..=6 {
        assert!(
            shares.contains(&format!("scheduler.tslice_ms={ms}")),
            "{told}"
        );
    }
    assert!(
        shares.lines().all(|line| line.chars().count() <= 80),
        "{told}"
    );
    assert!(!told.contains("no room"), "{told}");
}

#[test]
fn tables_are_chosen_by_figures_and_domains_are_sorted_by_them() {
    let folder = host();
    let args = TWO_POLICIES;
    let asked = [
        &args[..],
        &["--columns", "share,wake 99", "--sort", "share:asc"],
    ]
    .concat();
    let told = text(domio(&folder).args(&asked).assert());
    assert!(told.contains("\nshare [% of one pcpu]\n"), "{told}");
    assert!(
        told.contains("\nwake to run, p99\n") && !told.contains("p95\n"),
        "{told}"
    );
    let place = |name: &str| told.find(&format!("\n{name} ")).unwrap();
    assert!(place("web") < place("hog"), "{told}");
    let one = [&args[..], &["--columns", "robin"]].concat();
    let told = text(domio(&folder).args(&one).assert());
    let head = told
        .lines()
        .find(|line| line.starts_with("domain "))
        .unwrap();
    assert!(
        head.contains("round-robin") && !head.contains("credit"),
        "{told}"
    );
}

#[test]
fn tables_are_csv_on_request() {
    let folder = host();
    let args = [&TWO_POLICIES[..], &["--csv"]].concat();
    let told = text(domio(&folder).args(args).assert());
    let mut lines = told.lines();
    let heads = "variant,domain,measure,title,unit,better,driver,mean,ci95_low,ci95_high,\
                 replications,better_than_first";
    assert_eq!(lines.next(), Some(heads));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let share = |variant: &str| {
        let row = rows
            .iter()
            .find(|r| r[..3] == [variant, "hog", "share_pct"]);
        row.unwrap_or_else(|| panic!("{told}"))[7]
            .parse::<f64>()
            .unwrap()
    };
    assert!(
        share("credit") > 30.0 && share("round-robin") > 30.0,
        "{told}"
    );
    assert!(rows.iter().any(|row| row[1] == "web"), "{told}");
}

/// Four variants, two of a policy without weights: each domain's notice is told once.
#[test]
fn notices_are_merged_over_variants() {
    let folder = folder();
    let weighed = HOST.replace("[[domain]]\nname", "[[domain]]\nweight = 512\nname");
    std::fs::write(folder.path().join("host.toml"), weighed).unwrap();
    let args = TWO_POLICIES;
    let two = ["--set", "seed=1", "--set", "seed=2"];
    let args = [&args[..], &two].concat();
    let notice = "notice: round-robin seed=1, round-robin seed=2: domain web: `weight` is \
                  left out";
    let merged = domio(&folder).args(&args).assert().success();
    merged.stderr(contains(notice).and(contains("domain web").count(1)));
    let json = json_of(&folder, &[&args[..], &["--json"]].concat());
    assert_eq!(json["notices"].as_array().map(Vec::len), Some(3), "{json}");
    let both = ["compare", "host.toml", "--policy", "round-robin"];
    let both = [&both[..], &two].concat();
    domio(&folder)
        .args(&both)
        .assert()
        .success()
        .stderr(contains("notice: domain web: `weight` is left out").count(1));
    let quiet = [&args[..], &["--quiet"]].concat();
    domio(&folder).args(quiet).assert().success().stderr("");
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
