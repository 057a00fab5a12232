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
    // Of the time of its packets the old scan takes over a fifth, and the new one nothing.
    let scan = |form: &str| {
        let out = explain(&folder(), &PINGS)
            .args(["--set", &format!("network.scan={form}"), "--json"])
            .output();
        let json: Value = serde_json::from_slice(&out.unwrap().stdout).unwrap();
        let mut domains = json["domains"].as_array().unwrap().iter();
        let pinged = domains.find(|d| d["name"] == "answering").unwrap();
        let mut items = json["items"].as_array().unwrap().iter();
        let packets = items.find(|i| i["domain"] == pinged["id"]).unwrap();
        let mut queues = packets["queues"].as_array().unwrap().iter();
        let scan = queues
            .find(|q| q["queue"] == "event_channel_scan")
            .and_then(|q| q["ns"].as_f64());
        scan.unwrap() / packets["total_ns"].as_f64().unwrap()
    };
    let [old, new] = ["restart", "resume-mainline"].map(scan);
    assert!(old > 0.2 && new < 0.01, "{old} and {new}");
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
    .stdout(contains("over its credit").and(contains("Packets").not()))
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
            "--long",
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
    explain(
        &folder,
        &[all_off, "--long", "--seed", "3", "--replications", "2"],
    )
    .assert()
    .success()
    .stdout(contains("guest8 waited most for").and(contains("in the run queue")));
    explain(&folder, &["papers/ongaro2008/test3-none"])
        .assert()
        .code(2)
        .stderr(contains("no file and no shipped scenario"));
}

/// A host of 51 domains: dom0, thirty that compute, and twenty that sleep and wake.
const LARGE: &str = "\
run.duration_s = 2
host.cores = 8
scheduler.policy = \"credit\"
[[domain]]
name = \"Domain-0\"
[[domain]]
name = \"busy\"
count = 30
workload = \"burn\"
[[domain]]
name = \"web\"
count = 20
[[domain.task]]
workload = \"periodic\"
period_ms = 10
burst_us = 500
";

/// What is printed in a terminal of so many columns.
fn wide(folder: &TempDir, columns: &str, arguments: &[&str]) -> String {
    let out = explain(folder, arguments).env("COLUMNS", columns).output();
    String::from_utf8(out.expect("it runs").stdout).expect("it is text")
}

/// The cause that a table has in the row of `vcpu`.
fn cause_of(text: &str, vcpu: &str) -> String {
    let rows = text.lines().skip_while(|line| !line.starts_with("vcpu "));
    let mut own = rows.filter(|line| line.starts_with(&format!("{vcpu} ")));
    let row = own.next();
    let row = row.unwrap_or_else(|| panic!("{vcpu}: {text}"));
    let cells = row
        .split("   ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty());
    let cause = cells.skip(1).find(|cell| cell.ends_with('%'));
    cause.expect("a cause").to_owned()
}

#[test]
fn a_large_host_is_one_screen_and_those_who_wake_come_first() {
    let folder = folder();
    std::fs::write(folder.path().join("large.toml"), LARGE).unwrap();
    let [narrow, wide] = ["80", "300"].map(|columns| wide(&folder, columns, &["large.toml"]));
    for text in [&narrow, &wide] {
        assert!(text.lines().count() <= 45, "{text}");
        assert!(text.starts_with("web"), "{text}");
        // Those that are alike are one line.
        for alike in [
            "\nweb1 to web20",
            "\nbusy1 to busy30",
            "Lines of several domains",
        ] {
            assert!(text.contains(alike), "{text}");
        }
        assert!(!text.contains("no room for"), "{text}");
    }
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 80),
        "{narrow}"
    );
    assert_eq!(cause_of(&narrow, "web1"), cause_of(&wide, "web1"));
}

#[test]
fn one_vcpu_or_one_domain_is_explained_alone() {
    let folder = folder();
    let of = |more: &[&str]| -> Value {
        let out = explain(&folder, &PINGS).arg("--json").args(more).output();
        serde_json::from_slice(&out.unwrap().stdout).unwrap()
    };
    let both = of(&["--vcpu", "mixed.0", "--domain", "answering"]);
    assert_eq!(both["vcpus"].as_array().map(Vec::len), Some(2));
    assert_eq!(both["items"].as_array().map(Vec::len), Some(2));
    let one = of(&["--vcpu", "burner1.0"]);
    assert_eq!(one["vcpus"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["items"].as_array().map(Vec::len), Some(0));
    let said = one["findings"].to_string();
    assert!(
        said.contains("burner1.0 waited") && !said.contains("mixed.0 waited"),
        "{said}"
    );
    explain(&folder, &PINGS)
        .args(["--vcpu", "burner1.1"])
        .assert()
        .code(2)
        .stderr(contains("--vcpu burner1.1: there is no such vcpu").and(contains("burner1.0")));
}

#[test]
fn a_report_begins_as_the_terminal_does() {
    let folder = folder();
    let text = wide(&folder, "200", &["burn7", "--report", "waits.html"]);
    let page = std::fs::read_to_string(folder.path().join("waits.html")).unwrap();
    let first = text.split(" (").next().expect("a sentence");
    assert!(first.contains("waited"), "{text}");
    let section = page.split("<h2>").nth(1).expect("a section");
    assert!(section.starts_with("The worst waits</h2>"), "{section}");
    assert!(section.contains(first), "{first}: {section}");
}

/// A guest alone on two pcpus, held back by nothing but what is set for itself.
fn alone(policy: &str, setting: &str) -> String {
    format!(
        "run.duration_s = 5\nhost.cores = 2\nscheduler.policy = \"{policy}\"\n\
         [[domain]]\nname = \"web\"\n{setting}\nworkload = \"burn\"\n"
    )
}

#[test]
fn a_guest_is_slow_because_of_its_own_cap_or_budget() {
    let folder = folder();
    let reserved = "period_us = 10000\nbudget_us = 4000\nextratime = false";
    for (policy, setting, cause, cure) in [
        ("credit", "cap = 40", "parked", "a larger `cap`"),
        ("credit2", "cap = 40", "parked", "a larger `cap`"),
        (
            "rtds",
            reserved,
            "own budget used up",
            "a larger `budget_us`",
        ),
    ] {
        std::fs::write(folder.path().join("alone.toml"), alone(policy, setting)).unwrap();
        let text = wide(&folder, "80", &["alone.toml"]);
        assert!(
            cause_of(&text, "web.0").starts_with(cause),
            "{policy}: {text}"
        );
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(cure), "{policy}: {text}");
        let out = explain(&folder, &["alone.toml", "--json"])
            .output()
            .unwrap();
        let json: Value = serde_json::from_slice(&out.stdout).unwrap();
        let first = &json["causes"][0];
        assert_eq!(first["title"], cause);
        assert!(
            first["cure"]
                .as_str()
                .is_some_and(|text| text.contains(cure))
        );
        // 40 % of one pcpu is left to it.
        let lost = first["ns"].as_f64().unwrap() / json["elapsed_ns"].as_f64().unwrap();
        assert!((lost - 0.6).abs() < 0.01, "{policy}: {lost}");
    }
}
