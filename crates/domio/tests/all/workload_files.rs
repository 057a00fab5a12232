//! Workloads that files describe: jobs of fio, and block traces that guests replay.

use crate::common::{domio, folder, json_of};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::fs;
use tempfile::TempDir;

/// A guest with `keys` on a disk of its own.
fn scenario(folder: &TempDir, keys: &str) {
    let text = format!(
        "run.duration_s = 2\nhost.profile = \"opteron-242\"\nscheduler.policy = \"credit\"\n\
         [[disk]]\nname = \"sda\"\nprofile = \"ssd-sata\"\n[[domain]]\nname = \"Domain-0\"\n\
         [[domain]]\nname = \"g\"\ndisk = {{ kind = \"vbd\", size = \"8G\" }}\n{keys}"
    );
    fs::write(folder.path().join("s.toml"), text).unwrap();
}

#[test]
fn a_job_file_lies_beside_the_scenario() {
    let folder = folder();
    scenario(&folder, "workload = \"fio\"\njob_file = \"jobs.fio\"\n");
    domio(&folder)
        .args(["run", "s.toml"])
        .assert()
        .code(2)
        .stderr(contains("there is no file").and(contains("jobs.fio")));
    let jobs = "[reads]\nrw=randread\ndirect=1\nsize=1g\nioengine=libaio\niodepth=8\nbanana=1\n";
    fs::write(folder.path().join("jobs.fio"), jobs).unwrap();
    let ran = domio(&folder).args(["run", "s.toml"]).assert().success();
    ran.stderr(contains(
        "jobs.fio, line 7: banana is no key that domio knows, and changes nothing",
    ))
    .stdout(contains("pieces of"));
    let told = json_of(&folder, &["run", "s.toml", "--json"]);
    assert_eq!(told["notices"].as_array().unwrap().len(), 1, "{told}");
    let checked = json_of(&folder, &["scenario", "check", "s.toml", "--json"]);
    assert_eq!(checked["scenarios"][0]["notices"], told["notices"]);
}

#[test]
fn a_guest_replays_a_recorded_trace() {
    let folder = folder();
    let root = env!("CARGO_MANIFEST_DIR");
    let trace = format!("{root}/../../testdata/block-traces/postmark.csv");
    scenario(
        &folder,
        &format!("workload = \"io-replay\"\ntrace = \"{trace}\"\npace = \"closed\"\n"),
    );
    let ran = domio(&folder).args(["run", "s.toml"]).assert().success();
    ran.stdout(contains("pieces of"));
    scenario(
        &folder,
        &format!("workload = \"io-replay\"\ntrace = \"{trace}\"\nvolume = \"sdz\"\n"),
    );
    domio(&folder)
        .args(["run", "s.toml"])
        .assert()
        .code(2)
        .stderr(contains("no request of `sdz`"));
}

#[test]
fn sweeps_and_comparisons_read_job_files_too() {
    let folder = folder();
    scenario(&folder, "workload = \"fio\"\njob_file = \"jobs.fio\"\n");
    let jobs = |kib: u32| {
        let text = format!("[r]\nrw=randread\ndirect=1\nsize=1g\nbs={kib}k\nbanana=1\n");
        fs::write(folder.path().join("jobs.fio"), text).unwrap();
    };
    let notice = "jobs.fio, line 6: banana is no key that domio knows";
    let rows = || {
        let args = [
            "sweep",
            "s.toml",
            "--set",
            "run.duration_s=1",
            "--output",
            "-",
        ];
        let ran = domio(&folder).args(args).assert().success();
        let ran = ran.stderr(contains(notice));
        String::from_utf8_lossy(&ran.get_output().stdout).into_owned()
    };
    jobs(4);
    let before = rows();
    assert_eq!(rows(), before);
    jobs(16);
    assert_ne!(rows(), before, "what was kept is of another job file");
    let compare = [
        "compare",
        "s.toml",
        "--set",
        "run.duration_s=1",
        "--set",
        "run.duration_s=2",
    ];
    domio(&folder)
        .args(compare)
        .assert()
        .success()
        .stderr(contains(notice));
    let explain = ["explain", "s.toml", "--set", "run.duration_s=1"];
    domio(&folder)
        .args(explain)
        .assert()
        .success()
        .stderr(contains(notice));
}
