//! A xentrace file tells of a scenario what its own trace tells, in the same order, and Xen's own
//! `xenalyze` reads it, where it is installed.

#[path = "../../../domio-trace/tests/common/program.rs"]
mod program;

use std::path::Path;
use std::process::Command;

use assert_cmd::Command as Domio;
use domio_core::{Instant, Record, Sink};
use domio_meter::{CheckReport, TraceChecker};
use domio_trace::{ReadOptions, TraceReader, XentraceWriter};
use tempfile::TempDir;

/// Furthest in ns that a record is moved to keep its place among those of its instant.
const MOVED_MAX: u64 = 20;

fn domio(folder: &TempDir, args: &[&str]) {
    let mut command = Domio::cargo_bin("domio").expect("the program is built");
    command.current_dir(folder.path()).args(args);
    command.assert().success();
}

fn read(bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut reader = TraceReader::new(bytes, &ReadOptions::default()).expect("a trace");
    reader.copy_to(&mut records).expect("a whole trace");
    assert_eq!(reader.merge_stats().late, 0);
    records
}

/// What a xentrace file has of `records`. For the way through the file each record gets an instant
/// of its own, so that nothing but time is needed to keep their order.
fn as_xen_tells(records: &[Record]) -> Vec<Record> {
    const APART: u64 = 1000;
    let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).expect("a frequency");
    for (i, record) in (1..).zip(records) {
        let mut record = *record;
        record.at = Instant::from_nanos(i * APART);
        writer.record(&record);
    }
    let mut found = read(&writer.finish().expect("memory"));
    for record in &mut found {
        let i = record.at.as_nanos() / APART - 1;
        record.at = records[i as usize].at;
    }
    found
}

fn check(records: &[Record]) -> CheckReport {
    let mut checker = TraceChecker::new();
    for record in records {
        checker.record(record);
    }
    checker.finish()
}

/// Runs a shipped scenario and returns its own trace and that of the xentrace file made of it,
/// which is `run.bin` in the folder.
fn traces(folder: &TempDir, scenario: &str, set: &[&str]) -> (Vec<Record>, Vec<Record>) {
    let mut run = vec!["run", scenario, "--trace", "run.domio"];
    for set in set {
        run.extend(["--set", *set]);
    }
    domio(folder, &run);
    let convert = ["trace", "convert", "run.domio", "--to", "xentrace"];
    domio(folder, &[&convert[..], &["--output", "run.bin"]].concat());
    let file = |name| std::fs::read(folder.path().join(name)).expect("it was written");
    (read(&file("run.domio")), read(&file("run.bin")))
}

/// Asserts that a file's records are those of the own trace, and that neither has a fault.
fn assert_the_same(scenario: &str, own: &[Record], found: &[Record]) {
    let expected = as_xen_tells(own);
    assert_eq!(found.len(), expected.len(), "{scenario}");
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let moved = found.at.as_nanos().checked_sub(expected.at.as_nanos());
        assert!(
            moved.is_some_and(|ns| ns <= MOVED_MAX),
            "{scenario}: record {i} is {found:?}, expected {expected:?}"
        );
        let mut in_time = *found;
        in_time.at = expected.at;
        assert_eq!(in_time, *expected, "{scenario}: record {i}");
    }
    for records in [own, found] {
        let report = check(records);
        assert!(report.is_clean(), "{scenario}: {:?}", report.findings[0]);
    }
}

/// Asserts that `xenalyze` reads a file to its end.
fn assert_xenalyze_reads(program: &Path, scenario: &str, file: &Path) {
    let output = Command::new(program)
        .args(["--cpu-hz", "1G", "--summary"])
        .arg(file)
        .output()
        .expect("xenalyze starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenario}: {errors}");
    let summary = String::from_utf8_lossy(&output.stdout);
    assert!(
        summary.contains("|-- Domain 1 --|"),
        "{scenario}: {summary}"
    );
}

#[test]
fn xentrace_files_of_every_shipped_scenario_are_in_order() {
    let program = program::xenalyze_or_say("xentrace files as xenalyze reads them");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut ties = 0;
    for &(scenario, _) in domio_scenario::examples() {
        // Guests that come and go and operators at work do so in the first 12 s.
        let set: &[&str] = match scenario {
            "hot-add" | "maintenance" => &[],
            _ => &["run.warmup_s=0.5", "run.duration_s=2"],
        };
        let (own, found) = traces(&folder, scenario, set);
        assert_the_same(scenario, &own, &found);
        ties += own
            .windows(2)
            .filter(|w| w[0].at == w[1].at && w[0].pcpu != w[1].pcpu)
            .count();
        if let Some(program) = &program {
            assert_xenalyze_reads(program, scenario, &folder.path().join("run.bin"));
        }
    }
    assert!(ties > 1000, "no scenario tests what this is about: {ties}");
}
