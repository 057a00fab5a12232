//! Traces of block devices: `domio trace summary`, `replay`, `compare`, and `domio explain`.

use crate::common::{domio, folder, json_of};
use flate2::Compression;
use flate2::write::GzEncoder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_empty};
use serde_json::Value;
use std::fs;
use std::io::Write;
use tempfile::TempDir;

fn shipped(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/../../testdata/block-traces/{name}")
}

/// What the program prints for `args`, and that it complains of nothing.
fn printed(folder: &TempDir, args: &[&str]) -> String {
    let done = domio(folder).args(args).assert().success();
    let output = done.get_output();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn refuses(folder: &TempDir, args: &[&str], words: &str) {
    let refused = domio(folder).args(args).assert().code(2);
    refused.stdout(is_empty()).stderr(contains(words));
}

fn stage<'a>(summary: &'a Value, stage: &str, way: &str) -> &'a Value {
    let stages = summary["stages"].as_array().unwrap().iter();
    let mut found = stages.filter(|s| s["stage"] == stage && s["way"] == way);
    found.next().unwrap()
}

#[test]
fn recordings_are_summed_up_whatever_packs_them() {
    let folder = folder();
    let file = shipped("postmark.csv");
    let summary = json_of(&folder, &["trace", "summary", &file, "--json"]);
    assert_eq!(summary["format"], "events");
    assert_eq!(summary["events"], 3000);
    let reads = stage(&summary, "queued", "read");
    let writes = stage(&summary, "queued", "write");
    let (reads, writes) = (&reads["requests"], &writes["requests"]);
    assert_eq!((reads.as_u64(), writes.as_u64()), (Some(180), Some(564)));
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(&fs::read(&file).unwrap()).unwrap();
    fs::write(folder.path().join("packed"), gz.finish().unwrap()).unwrap();
    let packed = json_of(&folder, &["trace", "summary", "packed", "--json"]);
    assert_eq!(packed, summary);
    let text = printed(&folder, &["trace", "summary", "packed"]);
    assert!(
        text.contains("reads, queued") && text.contains("postmark"),
        "{text}"
    );
    let stdin = domio(&folder)
        .args(["trace", "summary", "-"])
        .write_stdin(fs::read(&file).unwrap())
        .assert();
    assert_eq!(stdin.success().get_output().stdout, text.as_bytes());
}

#[test]
fn a_recording_tells_elevator_and_device_and_a_replay_tells_the_parts_of_the_device() {
    let folder = folder();
    let file = shipped("ffsb.csv");
    let told = json_of(&folder, &["explain", &file, "--json"]);
    assert!(told["ended"].as_u64().unwrap() > 100);
    assert_eq!(told["waiters"][0]["device"], Value::Null);
    let text = printed(&folder, &["explain", &file]);
    assert!(text.contains("What the trace does not record"), "{text}");
    let on_disk = [
        "explain",
        &file,
        "--drive",
        "sata-2008",
        "--elevator",
        "cfq",
        "--json",
    ];
    let told = json_of(&folder, &on_disk);
    let seek = |told: &Value| -> u64 {
        let waiters = told["waiters"].as_array().unwrap().iter();
        waiters
            .map(|w| w["device"]["seek_ns"].as_u64().unwrap())
            .sum()
    };
    assert!(seek(&told) > 0);
    let on_flash = json_of(&folder, &["explain", &file, "--drive", "nvme", "--json"]);
    assert_eq!(seek(&on_flash), 0, "nothing moves in flash");
    let text = printed(&folder, &["explain", &file, "--drive", "nvme"]);
    assert!(
        text.contains("rotation") && !text.contains("does not record"),
        "{text}"
    );
}

#[test]
fn a_replay_serves_what_the_trace_asks_for_and_can_be_read_again() {
    let folder = folder();
    let file = shipped("postmark.csv");
    let replay = |args: &[&str]| {
        let all = [&["trace", "replay", &file, "--json"], args].concat();
        json_of(&folder, &all)
    };
    let open = replay(&["--elevator", "deadline", "--set", "fifo_batch=1"]);
    assert_eq!(open["waits"]["ended"], 180 + 564);
    assert_eq!(open["waits"]["unended"], 0);
    assert_eq!(
        (&open["late"], &open["wrapped"]),
        (&Value::from(0), &Value::from(0))
    );
    let seconds = |told: &Value| told["summary"]["seconds"].as_f64().unwrap();
    assert!(seconds(&replay(&["--scale", "0.1"])) < seconds(&open));
    let closed = replay(&["--closed", "--contexts", "one", "--hz", "1000"]);
    assert_eq!(closed["closed"], true);
    let out = ["trace", "replay", &file, "--output", "replayed.csv"];
    let done = domio(&folder).args(out).assert().success();
    done.stderr("wrote replayed.csv\n");
    // Written by domio, so it may be overwritten.
    domio(&folder).args(out).assert().success();
    let again = json_of(&folder, &["trace", "summary", "replayed.csv", "--json"]);
    let own = replay(&[]);
    assert_eq!(again["stages"], own["summary"]["stages"]);
    let piped = printed(&folder, &["trace", "replay", &file, "--output", "-"]);
    assert_eq!(
        piped,
        fs::read_to_string(folder.path().join("replayed.csv")).unwrap()
    );
}

#[test]
fn two_traces_are_compared_by_their_distributions() {
    let folder = folder();
    let (a, b) = (shipped("postmark.csv"), shipped("ffsb.csv"));
    let same = json_of(&folder, &["trace", "compare", &a, &a, "--json"]);
    let demerits = |told: &Value| -> Vec<f64> {
        let figures = told["figures"].as_array().unwrap().iter();
        figures.map(|f| f["demerit"].as_f64().unwrap()).collect()
    };
    assert!(demerits(&same).iter().all(|d| *d == 0.0) && demerits(&same).len() == 8);
    let other = json_of(&folder, &["trace", "compare", &a, &b, "--json"]);
    assert!(demerits(&other).iter().all(|d| *d > 0.0), "{other}");
    let text = printed(&folder, &["trace", "compare", &a, &b]);
    assert!(
        text.contains("demerit") && text.contains("sequential"),
        "{text}"
    );
}

/// What a simulated guest asks of its disk is a block trace as a recorded one is.
#[test]
fn requests_of_simulated_guests_are_compared_with_recorded_ones() {
    let folder = folder();
    let run = ["run", "mail-servers", "--trace", "t.domio"];
    let short = ["--set", "run.duration_s=2", "--set", "run.warmup_s=1"];
    domio(&folder)
        .args([&run[..], &short].concat())
        .assert()
        .success();
    let convert = [
        "trace",
        "convert",
        "t.domio",
        "--to",
        "csv-requests",
        "--output",
        "sim.csv",
    ];
    domio(&folder).args(convert).assert().success();
    let simulated = json_of(&folder, &["trace", "summary", "sim.csv", "--json"]);
    let names = simulated["actors"].as_array().unwrap().iter();
    let mut names: Vec<&str> = names.filter_map(|a| a["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["mail1", "mail2", "mail3"]);
    let told = json_of(&folder, &["explain", "sim.csv", "--json"]);
    assert!(
        told["ended"].as_u64() > Some(50) && told["tells_issue"] == true,
        "{told}"
    );
    let recorded = shipped("postmark.csv");
    let compared = json_of(
        &folder,
        &["trace", "compare", &recorded, "sim.csv", "--json"],
    );
    assert!(
        compared["figures"].as_array().unwrap().len() >= 6,
        "{compared}"
    );
    // A host without disks tells of none.
    let run = [
        "run",
        "burn7",
        "--trace",
        "b.domio",
        "--set",
        "run.duration_s=1",
    ];
    domio(&folder).args(run).assert().success();
    let none = domio(&folder)
        .args(["trace", "convert", "b.domio", "--to", "csv-requests"])
        .assert();
    none.success()
        .stderr(contains("there are no requests of virtual disks"));
}

#[test]
fn damage_is_told_and_the_rest_is_used() {
    let folder = folder();
    let mut text = fs::read_to_string(shipped("forms/alibaba.csv")).unwrap();
    text += "12,R,oops,4096,1577808144360999\n";
    fs::write(folder.path().join("a.csv"), &text).unwrap();
    let told = domio(&folder).args(["trace", "summary", "a.csv"]).assert();
    let damage =
        "warning: a.csv: 1 damaged place was left out: line 4: expected an offset in bytes";
    told.success().stderr(contains(damage));
    let told = domio(&folder).args(["trace", "replay", "a.csv"]).assert();
    told.success().stderr(contains(damage));
    fs::write(
        folder.path().join("flush.log"),
        "fio version 2 iolog\n/f sync 0 0\n/f read 0 512\n",
    )
    .unwrap();
    let told = domio(&folder)
        .args(["trace", "replay", "flush.log"])
        .assert();
    let left_out = "notice: flush.log: 1 flushes and discards were not replayed";
    told.success().stderr(contains(left_out));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = folder();
    let file = shipped("postmark.csv");
    let file = file.as_str();
    refuses(
        &folder,
        &["trace", "replay", file, "--drive", "ssd-sat"],
        "no drive is called",
    );
    refuses(
        &folder,
        &["trace", "replay", file, "--elevator", "cfg"],
        "no elevator is called",
    );
    let set = [
        "trace",
        "replay",
        file,
        "--elevator",
        "noop",
        "--set",
        "quantum=1",
    ];
    refuses(&folder, &set, "`domio elevator show noop` lists");
    let set = [
        "trace",
        "replay",
        file,
        "--elevator",
        "cfq",
        "--set",
        "quantum=x",
    ];
    refuses(&folder, &set, "expected a whole number");
    refuses(
        &folder,
        &["trace", "replay", file, "--scale", "0"],
        "expected a factor",
    );
    refuses(
        &folder,
        &["explain", file, "--policy", "credit"],
        "is a block trace",
    );
    refuses(
        &folder,
        &["explain", file, "--map", "1s..2s"],
        "is a block trace",
    );
    refuses(
        &folder,
        &["explain", "burn7", "--drive", "nvme"],
        "--drive needs a block trace",
    );
    refuses(
        &folder,
        &["trace", "convert", file, "--to", "own"],
        "this is a block trace",
    );
    refuses(&folder, &["trace", "check", file], "this is a block trace");
    refuses(
        &folder,
        &["run", file],
        "is a block trace, where a scenario",
    );
    refuses(
        &folder,
        &["trace", "summary", file, "--cpu-hz", "1GHz"],
        "--cpu-hz is of xentrace",
    );
    let wrong = ["trace", "summary", file, "--format", "msr"];
    refuses(
        &folder,
        &wrong,
        "fits the format msr; line 1: expected seven fields",
    );
    refuses(
        &folder,
        &["trace", "compare", "-", "-"],
        "only one of the traces",
    );
    let both = domio(&folder)
        .args(["trace", "replay", "burn7.toml"])
        .assert();
    both.code(2)
        .stderr(contains("cannot read").and(contains("burn7.toml")));
    fs::write(folder.path().join("s.toml"), "run.duration_s = 1\n").unwrap();
    refuses(
        &folder,
        &["trace", "replay", "s.toml"],
        "s.toml is a scenario",
    );
}

/// blktrace writes one file for each cpu: they are one recording, named one by one or together.
#[test]
fn files_of_several_cpus_are_one_recording() {
    let folder = folder();
    let whole = fs::read(shipped("forms/blktrace.bin")).unwrap();
    fs::write(folder.path().join("whole.bin"), &whole).unwrap();
    // The name of the process is in the first; a cpu did nothing.
    let parts: [(&str, &[u8]); 3] = [
        ("sda.blktrace.0", &whole[..112]),
        ("sda.blktrace.1", b""),
        ("sda.blktrace.10", &whole[112..]),
    ];
    for (name, bytes) in parts {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let each = parts.map(|(name, _)| name);
    let told = |command: &[&str], files: &[&str]| {
        let args = [command, files, &["--json"]].concat();
        json_of(&folder, &args)
    };
    let commands: [&[&str]; 3] = [&["explain"], &["trace", "summary"], &["trace", "replay"]];
    for command in commands {
        let alone = told(command, &["whole.bin"]);
        assert_eq!(told(command, &each), alone, "{command:?}");
        assert_eq!(told(command, &["sda"]), alone, "{command:?}");
        assert_eq!(told(command, &["sda.blktrace"]), alone, "{command:?}");
        assert_ne!(told(command, &each[..1]), alone, "{command:?}");
    }
    let on_a_drive = |file| told(&["explain", "--drive", "hitachi-7k500"], &[file]);
    assert_eq!(on_a_drive("sda"), on_a_drive("whole.bin"));
    let compared = |file| told(&["trace", "compare", "whole.bin"], &[file]);
    let (mut of_parts, mut alone) = (compared("sda"), compared("whole.bin"));
    for told in [&mut of_parts, &mut alone] {
        told["names"].take();
        told["findings"].take();
    }
    assert_eq!(of_parts, alone);
    fs::write(folder.path().join("s.toml"), "run.duration_s = 1\n").unwrap();
    refuses(
        &folder,
        &["trace", "replay", "s.toml"],
        "s.toml is a scenario",
    );
}

/// blktrace writes one file for each cpu: they are one recording, named one by one or together.
#[test]
fn every_command_takes_the_files_of_all_cpus() {
    let folder = folder();
    let whole = fs::read(shipped("forms/blktrace.bin")).unwrap();
    fs::write(folder.path().join("whole.bin"), &whole).unwrap();
    // The name of the process is in the first; a cpu did nothing.
    let parts: [(&str, &[u8]); 3] = [
        ("sda.blktrace.0", &whole[..112]),
        ("sda.blktrace.1", b""),
        ("sda.blktrace.10", &whole[112..]),
    ];
    for (name, bytes) in parts {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let each = parts.map(|(name, _)| name);
    let told = |command: &[&str], files: &[&str]| {
        let args = [command, files, &["--json"]].concat();
        json_of(&folder, &args)
    };
    let commands: [&[&str]; 3] = [&["explain"], &["trace", "summary"], &["trace", "replay"]];
    for command in commands {
        let alone = told(command, &["whole.bin"]);
        assert_eq!(told(command, &each), alone, "{command:?}");
        assert_eq!(told(command, &["sda"]), alone, "{command:?}");
        assert_eq!(told(command, &["sda.blktrace"]), alone, "{command:?}");
        assert_ne!(told(command, &each[..1]), alone, "{command:?}");
    }
    let on_a_drive = |file| told(&["explain", "--drive", "hitachi-7k500"], &[file]);
    assert_eq!(on_a_drive("sda"), on_a_drive("whole.bin"));
    let compared = |file| told(&["trace", "compare", "whole.bin"], &[file]);
    let (mut of_parts, mut alone) = (compared("sda"), compared("whole.bin"));
    for told in [&mut of_parts, &mut alone] {
        told.as_object_mut()
            .unwrap()
            .retain(|key, _| key != "names" && key != "traces");
    }
    assert_eq!(of_parts["findings"].is_null(), alone["findings"].is_null());
    assert!(of_parts.as_object().is_some_and(|facts| !facts.is_empty()));
    fs::write(folder.path().join("s.toml"), "[[domain]]\nname = \"g\"\n").unwrap();
    let words = "only the files that blktrace writes of one recording";
    refuses(&folder, &["explain", "s.toml", "s.toml"], words);
}
