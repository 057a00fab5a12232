//! What the commands that read traces tell of the work of driver domains.

use crate::common::{domio, folder, json_of};
use domio_core::{DomainId, Instant, Names, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_trace::{DomainInfo, TraceHeader, TraceWriter};
use predicates::str::contains;
use std::fs::File;
use tempfile::TempDir;

/// A trace of 2 ms in which Domain-0 executes for one, of which it works `for_web` ns for web.
fn trace(folder: &TempDir, for_web: u64) {
    let domain = |id, name: &str| DomainInfo {
        id,
        name: name.to_owned(),
        ..DomainInfo::default()
    };
    let header = TraceHeader {
        domains: vec![domain(0, "Domain-0"), domain(1, "web")],
        ..TraceHeader::default()
    };
    let mut names = Names::new();
    let driver = names.add_actor(VcpuName::new(DomainId(0), 0));
    let pcpu = PcpuId(0);
    let at = |us: u64| Instant::from_nanos(us * 1_000);
    let (running, blocked) = (Runstate::Running, Runstate::Blocked);
    let file = File::create(folder.path().join("t.domio")).unwrap();
    let mut writer = TraceWriter::new(file, &header).unwrap();
    for record in [
        // Written where the trace begins, of what was before.
        Record::driver_work(at(0), pcpu, driver, DomainId(1), 77_000_000),
        Record::runstate(at(0), pcpu, driver, running, running),
        Record::driver_work(at(1_000), pcpu, driver, DomainId(1), for_web),
        Record::runstate(at(1_000), pcpu, driver, running, blocked),
        Record::runstate(at(2_000), pcpu, driver, blocked, blocked),
    ] {
        writer.record(&names, &record);
    }
    writer.finish().unwrap();
}

#[test]
fn a_summary_has_a_table_a_driver_domain() {
    let folder = folder();
    trace(&folder, 600_000);
    let json = json_of(&folder, &["trace", "summary", "--json", "t.domio"]);
    let expected = serde_json::json!([{
        "driver": 0, "busy_ns": 1_000_000, "for": [{ "domain": 1, "ns": 600_000 }],
        "nobody_ns": 400_000,
    }]);
    assert_eq!(json["driver_work"], expected);
    let table = domio(&folder)
        .args(["trace", "summary", "t.domio"])
        .assert();
    let table = table.success().get_output().stdout.clone();
    let table = String::from_utf8(table).unwrap();
    let (_, work) = table
        .split_once("Work of Domain-0 for others:")
        .expect("a table of work");
    let rows = work
        .lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "));
    let rows: Vec<String> = rows
        .filter(|row| row.ends_with(" us") || row.ends_with(" ms"))
        .collect();
    let expected = ["web 30 600 us", "nobody 20 400 us", "busy 50 1 ms"];
    assert_eq!(rows[..3], expected, "{table}");
}

#[test]
fn more_work_than_time_is_damage() {
    let folder = folder();
    trace(&folder, 1_000_000);
    domio(&folder)
        .args(["trace", "check", "t.domio"])
        .assert()
        .success();
    trace(&folder, 1_000_001);
    domio(&folder)
        .args(["trace", "check", "t.domio"])
        .assert()
        .code(1)
        .stdout(contains(
            "d0v0 worked 1000001 ns for d1, but executed for 1000000 ns that no record before",
        ));
}

#[test]
fn conversions_have_it_but_for_xens() {
    let folder = folder();
    trace(&folder, 600_000);
    let convert = |to: &str| {
        let mut command = domio(&folder);
        command.args([
            "trace", "convert", "--to", to, "--output", "o", "--force", "t.domio",
        ]);
        command.assert().success()
    };
    convert("csv-records");
    let rows = std::fs::read_to_string(folder.path().join("o")).unwrap();
    assert!(
        rows.contains("1000000,0,sched,driver-work,0,0,,,owner=d1;executed_ns=600000"),
        "{rows}"
    );
    convert("perfetto");
    let bytes = std::fs::read(folder.path().join("o")).unwrap();
    let counter = b"work for web (d1)";
    assert!(bytes.windows(counter.len()).any(|w| w == counter));
    convert("xentrace").stderr(contains("2 records have no counterpart in Xen"));
    let summary = json_of(&folder, &["trace", "summary", "--json", "o"]);
    assert_eq!(summary["domains"][0]["running_ns"], 1_000_000);
    assert_eq!(summary["driver_work"], serde_json::json!([]));
}
