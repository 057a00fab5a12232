//! `domio scenario from-lists`: from what `xl` printed to an answer, as its users see it.

use crate::common::{domio, folder, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_empty};
use std::fs;
use std::path::Path;

/// What `xl` printed, in `testdata/xl`.
fn printed(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xl");
    let path = folder.join(name).canonicalize().unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn lists_lead_to_an_answer() {
    let folder = folder();
    domio(&folder)
        .args(["scenario", "from-lists", &printed("host.txt")])
        .args(["--interval", "10", "-o", "host.toml"])
        .assert()
        .success()
        .stdout(is_empty())
        .stderr(contains("notice: not known: how long a stretch of work is").count(1))
        .stderr(contains("wrote host.toml"));
    let text = fs::read_to_string(folder.path().join("host.toml")).unwrap();
    for part in [
        "# It used 20.0 % of one pcpu in the 10.0 s between the lists.\n",
        "name = \"web\"\nid = 4\nvcpus = 1\nweight = 256\npin = \"0-1\"\n",
        "policy = \"credit2\"\nversion = \"4.17\"\nratelimit_us = 1000\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let check = ["scenario", "check", "host.toml"];
    domio(&folder).args(check).assert().success();
    let told = json_of(&folder, &["run", "host.toml", "--json"]);
    let domains = told["domains"].as_array().unwrap();
    let share = |name: &str| {
        let domain = domains.iter().find(|d| d["name"] == name).unwrap();
        domain["share_pct"]["mean"]
            .as_f64()
            .or_else(|| domain["share_pct"].as_f64())
            .unwrap_or_else(|| panic!("{domain}"))
    };
    assert!((share("web") - 20.0).abs() < 2.0, "{domains:?}");
    assert!((share("batch") - 295.0).abs() < 15.0, "{domains:?}");
    let explain = ["explain", "host.toml"];
    let explain = domio(&folder).args(explain).assert().success();
    explain.stdout(contains("web"));
    let weights = [
        "--set",
        "domain.web.weight=256",
        "--set",
        "domain.web.weight=1024",
    ];
    domio(&folder)
        .args(["compare", "host.toml"])
        .args(weights)
        .assert()
        .success()
        .stdout(contains("web").and(contains("batch")));
}

/// Columns of Xen 3, through standard input.
#[test]
fn old_lists_are_read_and_nothing_is_claimed_that_they_do_not_tell() {
    let folder = folder();
    let text = fs::read(printed("xm-vcpu-list.txt")).unwrap();
    domio(&folder)
        .args(["--quiet", "scenario", "from-lists", "-", "--pcpus", "8"])
        .write_stdin(text)
        .assert()
        .success()
        .stdout(contains("pin = [\"0\", \"2,4-6\", \"2,4-6\", \"2,4-6\"]\n"))
        .stdout(contains(
            "# Assumed: each vcpu takes all the time that it can get.\n",
        ))
        .stdout(contains("Time(s)").not().and(contains("weights:").not()))
        .stderr(is_empty());
}

#[test]
fn what_cannot_be_used_is_told() {
    let folder = folder();
    let host = printed("host.txt");
    for (text, args, part) in [
        ("web 3\n", &["bad.txt"][..], "bad.txt: line 1"),
        (
            "Name ID Weight Cap\nweb 1 0 0\n",
            &["bad.txt"],
            "bad.txt: line 2",
        ),
        ("", &["none.txt"], "cannot read none.txt"),
        (
            "",
            &[&host, "--interval", "1"],
            "used 2.0 s between the lists, more than 1 vcpu can in 1.0 s",
        ),
        ("", &[&host, "--interval", "no"], "expected seconds"),
        ("", &[&host, "--pcpus", "2"], "a list names pcpu 3"),
    ] {
        fs::write(folder.path().join("bad.txt"), text).unwrap();
        domio(&folder)
            .args(["scenario", "from-lists"])
            .args(args)
            .assert()
            .code(2)
            .stderr(contains(part));
    }
}
