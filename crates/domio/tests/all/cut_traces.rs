//! What commands tell of traces that end too early.

use crate::common::{domio, folder, json, json_of};
use crate::recorded::{own_trace, recording};
use domio_trace::{ReadOptions, TraceReader};
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use std::fs;

#[test]
fn a_trace_that_ends_too_early_is_not_clean() {
    let folder = folder();
    let own = own_trace(&folder);
    let recorded = fs::read(recording()).unwrap();
    let whole = json_of(&folder, &["trace", "check", "t.domio", "--json"]);
    assert_eq!(
        (&whole["clean"], &whole["truncated"]),
        (&true.into(), &false.into())
    );
    for (name, bytes) in [("cut.domio", own), ("cut.bin", recorded)] {
        fs::write(folder.path().join(name), &bytes[..bytes.len() - 20]).unwrap();
        domio(&folder)
            .args(["trace", "check", name])
            .assert()
            .code(1)
            .stdout(contains("the file is damaged: at byte"))
            .stdout(contains("findings in what could be read"));
        let report = domio(&folder)
            .args(["trace", "check", name, "--json"])
            .assert()
            .code(1);
        let report = json(&report.get_output().stdout);
        assert_eq!(report["clean"], false, "{report}");
        assert_eq!(report["truncated"], true, "{report}");
    }
}

#[test]
fn a_summary_tells_that_its_trace_ends_too_early() {
    let folder = folder();
    let own = own_trace(&folder);
    let recorded = fs::read(recording()).unwrap();
    for (name, bytes) in [("cut.domio", own), ("cut.bin", recorded)] {
        for (cut, truncated) in [(0, false), (20, true)] {
            fs::write(folder.path().join(name), &bytes[..bytes.len() - cut]).unwrap();
            let summary = json_of(&folder, &["trace", "summary", name, "--json"]);
            assert_eq!(
                summary["truncated"], truncated,
                "{name} without {cut} bytes"
            );
        }
    }
}

#[test]
fn a_trace_without_one_whole_record_is_not_used() {
    let folder = folder();
    domio(&folder)
        .args(["run", "burn7", "--trace", "t.domio"])
        .args(["--set", "run.duration_s=1", "--set", "run.warmup_s=0"])
        .assert()
        .success();
    let bytes = fs::read(folder.path().join("t.domio")).unwrap();
    // A little behind the shortest head that is whole: before the first record is.
    let is_head = |n: &usize| TraceReader::new(&bytes[..*n], &ReadOptions::default()).is_ok();
    let head = (1..bytes.len()).find(is_head).unwrap();
    fs::write(folder.path().join("cut.domio"), &bytes[..head + 20]).unwrap();
    domio(&folder)
        .args(["trace", "check", "cut.domio"])
        .assert()
        .code(1)
        .stdout(contains("the file is damaged"));
    for args in [
        vec!["summary", "cut.domio"],
        vec!["convert", "cut.domio", "--to", "csv", "--output", "new"],
    ] {
        domio(&folder)
            .arg("trace")
            .args(args)
            .assert()
            .code(2)
            .stdout(is_empty())
            .stderr(contains("no record was read before").and(contains("using").not()));
        assert!(!folder.path().join("new").exists());
    }
}

#[test]
fn a_trace_without_a_whole_start_cannot_be_read() {
    let folder = folder();
    let own = own_trace(&folder);
    let recorded = fs::read(recording()).unwrap();
    for (name, bytes) in [("cut.domio", own), ("cut.bin", recorded)] {
        fs::write(folder.path().join(name), &bytes[..3]).unwrap();
        for args in [
            vec!["summary", name],
            vec!["summary", name, "--json"],
            vec!["check", name],
            vec!["convert", name, "--to", "csv", "--output", "new"],
        ] {
            domio(&folder)
                .arg("trace")
                .args(args)
                .assert()
                .code(2)
                .stdout(is_empty())
                .stderr(contains("bytes were expected, 3 are there"));
            assert!(!folder.path().join("new").exists());
        }
    }
}
