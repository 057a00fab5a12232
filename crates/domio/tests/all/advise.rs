//! `domio advise`: from a host to commands, as its users see it.

use crate::common::{domio, folder, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::path::Path;

const SHORT: [&str; 4] = ["--set", "run.duration_s=1", "--replications", "3"];

#[test]
fn a_scenario_leads_to_commands() {
    let folder = folder();
    domio(&folder)
        .args(["advise", "noisy-neighbour", "--evaluations", "100"])
        .args(SHORT)
        .assert()
        .success()
        .stdout(contains("web is worst off"))
        .stdout(contains("Best: "))
        .stdout(contains("  apply  xl "))
        .stdout(contains("  undo   xl "))
        .stderr(contains("after "));
}

#[test]
fn json_has_settings_with_commands_and_gains() {
    let folder = folder();
    let args = ["advise", "linux-groups", "--evaluations", "100", "--json"];
    let told = json_of(&folder, &[&args[..], &SHORT].concat());
    assert_eq!(told["schema"], "domio/advise/1");
    assert_eq!(told["figure"], "waited_pct");
    assert!(told["evaluations"].as_u64().unwrap() <= 100);
    let best = &told["settings"][0];
    assert_eq!(best["advised"], true, "{best}");
    let keys = best["changes"].as_array().unwrap();
    assert!(
        keys.iter().all(|change| change["from"] != change["to"]),
        "{best}"
    );
    assert!(
        best["difference"]["ci95"][1].as_f64().unwrap() < 0.0,
        "{best}"
    );
    assert!(!best["apply"].as_array().unwrap().is_empty(), "{best}");
    assert!(
        best["gains"]
            .as_array()
            .unwrap()
            .iter()
            .any(|gain| gain["domain"] == "waker")
    );
    // What was kept is taken from the results, and changes nothing.
    let again = json_of(&folder, &[&args[..], &SHORT].concat());
    assert_eq!(told, again);
}

#[test]
fn a_trace_leads_to_commands_for_its_guests() {
    let folder = folder();
    let trace = "../../testdata/xen-traces/c1-burn7-periodic/trace.bin";
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join(trace);
    let trace = trace.canonicalize().unwrap();
    domio(&folder)
        .arg("advise")
        .arg(&trace)
        .args(["--evaluations", "60", "--replications", "2", "--show", "2"])
        .assert()
        .success()
        .stdout(contains("is worst off"))
        .stdout(contains("settings were tried in"));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let folder = folder();
    let refused = |args: &[&str], told: &str| {
        let command = domio(&folder).arg("advise").args(args).assert();
        command
            .code(2)
            .stderr(contains(told.to_owned()).and(contains("panic").not()));
    };
    let hz = ["noisy-neighbour", "--cpu-hz", "2GHz"];
    refused(&hz, "--cpu-hz is of xentrace files");
    let guest = ["noisy-neighbour", "--for", "wbe"];
    refused(&guest, "there is no guest `wbe`; the host has web, batch");
    refused(
        &["noisy-neighbour", "--figure", "speed"],
        "there is no figure `speed`",
    );
    refused(&["pools-on-a-server"], "the host has pools of pcpus");
}
