//! Two processes write the same trace of a scenario, and the trace tells what the run told.

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

fn domio(folder: &TempDir, args: &[&str]) -> Vec<u8> {
    let mut command = Command::cargo_bin("domio").expect("the program is built");
    let assert = command
        .current_dir(folder.path())
        .args(args)
        .assert()
        .success();
    assert.get_output().stdout.clone()
}

fn json(folder: &TempDir, args: &[&str]) -> Value {
    serde_json::from_slice(&domio(folder, args)).expect("standard output is one JSON value")
}

/// Whether an operator or a guest does something at a time of its own: such a scenario is not
/// shortened.
fn is_timed(text: &str) -> bool {
    let keys = ["[[action]]", "start_ms", "stop_ms"];
    keys.iter().any(|key| text.contains(key))
}

/// Runs a shipped scenario twice and asserts that the traces are the same.
fn repeats(scenario: &str, set: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [one, two] = ["one.trace", "two.trace"].map(|file| {
        let mut args = vec!["run", scenario, "--trace", file];
        for set in set {
            args.extend(["--set", set]);
        }
        domio(&folder, &args);
        std::fs::read(Path::new(folder.path()).join(file)).expect("the trace was written")
    });
    assert!(one == two, "{scenario}");
    assert!(one.len() > 200, "{scenario}: {} bytes", one.len());
}

#[test]
fn two_processes_write_the_same_trace_of_every_shipped_scenario() {
    for (scenario, text) in domio_scenario::examples() {
        if !is_timed(text) {
            repeats(scenario, &["run.warmup_s=0.3", "run.duration_s=0.2"]);
        }
    }
}

#[test]
#[ignore = "takes a minute; `cargo xtask nightly long` runs it"]
fn two_processes_write_the_same_trace_of_longer_runs() {
    for (scenario, text) in domio_scenario::examples() {
        match is_timed(text) {
            true => repeats(scenario, &[]),
            false => repeats(scenario, &["run.warmup_s=0.5", "run.duration_s=0.7"]),
        }
    }
}

#[test]
fn the_trace_of_a_run_is_clean_and_gives_the_figures_of_the_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut networks = 0;
    // In the second nobody leaves his pcpu for the whole time: only marks tell of the vcpus.
    for (scenario, set) in [
        ("burn7", "run.duration_s=0.7"),
        ("smp-balance", "host.cores=8"),
        ("latency-guest", "run.duration_s=1"),
        ("driver-domain-streams", "run.duration_s=0.5"),
        ("ping-among-burners", "run.duration_s=2"),
        ("udp-rate-limit", "run.duration_s=0.5"),
        ("web-servers", "run.duration_s=0.5"),
    ] {
        let args = ["run", scenario, "--set", "run.warmup_s=0.5", "--set", set];
        let mut args = args.to_vec();
        args.extend(["--trace", "run.trace", "--json"]);
        let run = json(&folder, &args);
        let check = json(&folder, &["trace", "check", "run.trace", "--json"]);
        assert_eq!(check["total"], 0, "{scenario}: {check}");
        let summary = json(&folder, &["trace", "summary", "run.trace", "--json"]);
        let of_run = run["domains"].as_array().expect("domains");
        assert!(!of_run.is_empty());
        for domain in of_run {
            let id = &domain["id"];
            let of_trace = summary["domains"].as_array().expect("domains");
            let same = of_trace.iter().find(|d| d["id"] == *id);
            let same = same.unwrap_or_else(|| panic!("{scenario}: no domain {id} in the trace"));
            for (figure, pointer) in [
                ("share_pct", "/share_percent"),
                ("runs_per_s", "/executions_per_second"),
                ("run_p50_us", "/run_us/p50"),
                ("wake_p50_us", "/wake_to_run_us/p50"),
                ("wake_p99_us", "/wake_to_run_us/p99"),
            ] {
                let told = &domain[figure]["mean"];
                let read = same.pointer(pointer).expect("a figure of the summary");
                assert_eq!(told, read, "{scenario}, domain {id}: {figure}");
            }
            networks += u32::from(network_agrees(domain, same));
        }
    }
    assert_eq!(networks, 3 + 2 + 2 + 2, "domains with a network");
}

/// Whether the domain has a network; a run and the summary of its trace say the same of it.
fn network_agrees(run: &Value, summary: &Value) -> bool {
    let own = |value: &Value| -> Vec<String> {
        let all = value.as_object().expect("a domain").iter();
        let own = all.filter(|(key, _)| key.starts_with("net_") || key.starts_with("ping_"));
        // A figure that other domains have is null here.
        let own = own.filter(|(_, figure)| !figure.is_null());
        own.map(|(key, _)| key.clone()).collect()
    };
    let (figures, keys) = (&summary["figures"], own(run));
    assert_eq!(own(figures), keys);
    for key in &keys {
        assert_eq!(run[key]["mean"], figures[key], "{key}");
    }
    !keys.is_empty()
}
