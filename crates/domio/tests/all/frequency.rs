//! Where `domio trace` takes the frequency of a xentrace file's clock from.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use tempfile::TempDir;

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/xen-traces/c1-burn7/trace.bin"
);

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn domio(folder: &TempDir) -> Command {
    let mut command = Command::cargo_bin("domio").expect("the program is built");
    command.current_dir(folder.path());
    command
}

#[test]
fn the_trace_or_a_file_beside_it_tells_the_frequency() {
    let folder = folder();
    std::fs::copy(TRACE, folder.path().join("trace.bin")).unwrap();
    let summary = || {
        let mut command = domio(&folder);
        command.args(["trace", "summary", "trace.bin"]);
        command
    };
    let own = summary().assert().success();
    let own = own.stderr(contains("note").not().and(contains("warning").not()));
    let log = "(XEN) Detected 2000.000 MHz processor.\n";
    std::fs::write(folder.path().join("xl-dmesg"), log).unwrap();
    let beside = summary().assert().success();
    let beside = beside.stderr(contains("counts 2 GHz, as xl-dmesg says"));
    let told = summary()
        .args(["--cpu-hz", "2000000000"])
        .assert()
        .success();
    let told = told.stderr(contains("note").not());
    let times = |assert: &assert_cmd::assert::Assert| assert.get_output().stdout.clone();
    assert_eq!(times(&beside), times(&told));
    assert_ne!(times(&own), times(&told), "the frequency counts");
}

/// The start of a trace has too few switches: what is assumed is told.
#[test]
fn what_is_assumed_is_told() {
    let folder = folder();
    let whole = std::fs::read(TRACE).unwrap();
    std::fs::write(folder.path().join("short.bin"), &whole[..2_000]).unwrap();
    domio(&folder)
        .args(["trace", "summary", "short.bin"])
        .assert()
        .stderr(contains("a counter of 1 GHz").and(contains("--cpu-hz")));
}
