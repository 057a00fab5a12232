//! What commands tell of traces that are whole and yet of little use.

use crate::common::{domio, folder, json, json_of};
use crate::recorded::{own_trace, recording};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use std::fs;

/// Events of Xen, without the bits that differ from release to release.
const RUNSTATES: u32 = 0x0002_1000;
const SWITCHES: u32 = 0x0002_8000;
const POLICY: u32 = 0x0002_2000;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The recording as it were with another `-e`: the records of which `edit` makes another event id.
fn recorded_with(edit: impl Fn(u32) -> Option<u32>) -> Vec<u8> {
    let file = fs::read(recording()).unwrap();
    let mut out = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let window = out.len();
        out.extend(&file[at..at + 12]);
        let end = at + 12 + word(&file, at + 8) as usize;
        at += 12;
        while at < end {
            let header = word(&file, at);
            let length = 4 + 8 * (header >> 31) + 4 * (header >> 28 & 7);
            let record = &file[at..at + length as usize];
            if let Some(event) = edit(header & 0x0fff_ffff) {
                out.extend((header & 0xf000_0000 | event).to_le_bytes());
                out.extend(&record[4..]);
            }
            at += record.len();
        }
        let size = (out.len() - window - 12) as u32;
        out[window + 8..window + 12].copy_from_slice(&size.to_le_bytes());
    }
    out
}

#[test]
fn a_trace_without_runstates_has_no_figures_and_says_so() {
    let folder = folder();
    let of = |class| recorded_with(move |event| (event & 0xffff_f000 == class).then_some(event));
    // Before 3.4 the same records had other ids.
    let old = recorded_with(|event| {
        let is_switch = event & 0xffff_f000 == SWITCHES && event != 0x28011;
        is_switch.then_some(event | 0xf000)
    });
    for (name, bytes) in [
        ("28.bin", of(SWITCHES)),
        ("22.bin", of(POLICY)),
        ("2f.bin", old),
    ] {
        fs::write(folder.path().join(name), &bytes).unwrap();
        let summary = json_of(&folder, &["trace", "summary", name, "--json"]);
        assert_eq!(summary["runstates"], false, "{name}");
        assert_eq!(summary["domains"], serde_json::json!([]), "{name}");
        assert_eq!(summary["pcpus"], serde_json::json!([]), "{name}");
        let seconds = summary["seconds"].as_f64().unwrap();
        assert!(seconds > 0.0, "{name}: {seconds} s");
        let records = summary["records"].as_u64().unwrap();
        domio(&folder)
            .args(["trace", "summary", name])
            .assert()
            .success()
            .stdout(contains(format!("{records} records in ")).and(contains("p0").not()))
            .stderr(contains(format!(
                "warning: {name}: {records} records, but none of runstates"
            )))
            .stderr(contains("xentrace -e 0x0002f000"));
        domio(&folder)
            .args(["trace", "convert", name, "--to", "csv"])
            .args(["--cpu-hz", "1000000000"])
            .assert()
            .success()
            .stdout(starts_with("start_ns,").and(contains("\n").count(1)))
            .stderr(format!(
                "warning: {name}: {records} records, but none of runstates, so there are no rows; \
                 record with `xentrace -e 0x0002f000`\n"
            ));
        let report = domio(&folder)
            .args(["trace", "check", name, "--json"])
            .assert()
            .code(1);
        let report = json(&report.get_output().stdout);
        assert_eq!(
            (&report["clean"], &report["total"]),
            (&false.into(), &1.into()),
            "{name}"
        );
        domio(&folder)
            .args(["trace", "check", name])
            .assert()
            .code(1)
            .stdout(contains(format!(
                "{records} records, but none of runstates"
            )))
            .stdout(contains("xentrace -e 0x0002f000"));
    }
}

#[test]
fn runstates_alone_are_enough() {
    let folder = folder();
    let runstates = recorded_with(|event| (event & 0xffff_f000 == RUNSTATES).then_some(event));
    fs::write(folder.path().join("21.bin"), runstates).unwrap();
    own_trace(&folder);
    let mut shares = Vec::new();
    for name in ["21.bin", "t.domio"] {
        let summary = json_of(&folder, &["trace", "summary", name, "--json"]);
        assert_eq!(summary["runstates"], true, "{name}");
        shares.push(summary["domains"].clone());
        domio(&folder)
            .args(["trace", "check", name])
            .assert()
            .success();
        for command in [&["summary"][..], &["convert", "--to", "csv"]] {
            // A trace of domio has nanoseconds already.
            let clock = ["--cpu-hz", "1000000000"];
            let clock = &clock[..if name == "t.domio" { 0 } else { 2 }];
            domio(&folder)
                .arg("trace")
                .args(command)
                .arg(name)
                .args(clock)
                .assert()
                .success()
                .stderr(contains("warning").not());
        }
    }
    // The records that are left out lie some microseconds before the first of these, and after.
    let times = |domains: &serde_json::Value| -> Vec<u64> {
        let domains = domains.as_array().unwrap().iter();
        let keys = ["running_ns", "runnable_ns", "blocked_ns"];
        domains
            .flat_map(|d| keys.map(|key| d[key].as_u64().unwrap()))
            .collect()
    };
    let [alone, all] = [&shares[0], &shares[1]].map(times);
    assert_eq!(alone.len(), all.len());
    let near = |(a, b): (&u64, &u64)| a.abs_diff(*b) < 20_000;
    assert!(alone.iter().zip(&all).all(near), "{alone:?} {all:?}");
}

#[test]
fn a_table_without_rows_has_a_reason() {
    let folder = folder();
    // Nothing but that vcpus go on, as in a trace in which each has a pcpu to itself.
    let goes_on = recorded_with(|event| (event == 0x0002_1002).then_some(event));
    fs::write(folder.path().join("on.bin"), goes_on).unwrap();
    let summary = json_of(&folder, &["trace", "summary", "on.bin", "--json"]);
    assert!(summary["records"].as_u64() > Some(0), "{summary}");
    domio(&folder)
        .args(["trace", "convert", "on.bin", "--to", "csv"])
        .assert()
        .success()
        .stdout(starts_with("start_ns,").and(contains("\n").count(1)))
        .stderr(contains(
            "warning: on.bin: no vcpu's runstate begins and ends within the trace",
        ))
        .stderr(contains("record the host for longer"));
}

#[test]
fn a_part_of_zeros_is_damage() {
    let folder = folder();
    let mut file = fs::read(recording()).unwrap();
    // The records of the second window.
    let window = 12 + word(&file, 8) as usize;
    let records = window + 12;
    let size = word(&file, window + 8) as usize;
    file[records..records + size].fill(0);
    fs::write(folder.path().join("zeros.bin"), &file).unwrap();
    for (command, code) in [("check", 1), ("summary", 0)] {
        domio(&folder)
            .args(["trace", command, "zeros.bin"])
            .assert()
            .code(code)
            .stderr(contains(format!(
                "at byte {records}: a record: expected the number"
            )))
            .stderr(contains("records were read before, the last at"));
    }
}

#[test]
fn recordings_in_one_file_are_found_out_of_order() {
    let folder = folder();
    let one = fs::read(recording()).unwrap();
    fs::write(folder.path().join("two.bin"), [&one[..], &one].concat()).unwrap();
    domio(&folder)
        .args(["trace", "summary", "two.bin"])
        .assert()
        .success()
        .stderr(contains(
            "records are earlier than the ones before them; if recordings were joined into one \
             file, use each alone; if not, record the host anew",
        ))
        .stderr(contains("--cpu-hz").not());
}
