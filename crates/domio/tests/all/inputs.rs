//! What commands say of files that they do not take, and what they read through.

use crate::common::{domio, folder, json_of};
use crate::recorded::{own_trace, recording};
use flate2::Compression;
use flate2::write::GzEncoder;
use predicates::str::contains;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::io::Write;
use tempfile::TempDir;

const SCENARIO: &str = "run.duration_s = 1\nscheduler.policy = \"credit\"\n\
                        [[domain]]\nname = \"burn\"\nworkload = \"burn\"\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn put(folder: &TempDir, name: &str, bytes: &[u8]) {
    fs::write(folder.path().join(name), bytes).unwrap();
}

/// Standard output of a command that succeeds.
fn printed(folder: &TempDir, args: &[&str]) -> Vec<u8> {
    let assert = domio(folder).args(args).assert().success();
    assert.get_output().stdout.clone()
}

fn refuses(folder: &TempDir, args: &[&str], words: &str) {
    let refused = domio(folder).args(args).assert().code(2);
    refused.stderr(contains(words));
}

#[test]
fn a_trace_is_no_scenario_and_a_scenario_is_no_trace() {
    let folder = folder();
    // Names tell nothing.
    put(&folder, "a.toml", &own_trace(&folder));
    put(&folder, "b.toml", &fs::read(recording()).unwrap());
    put(&folder, "c.bin", SCENARIO.as_bytes());
    for name in ["a.toml", "b.toml"] {
        let told =
            format!("{name} is a trace, where a scenario is expected; `domio trace summary`");
        refuses(&folder, &["run", name], &told);
        refuses(&folder, &["scenario", "check", name], &told);
        refuses(&folder, &["calibrate", name], &told);
        printed(&folder, &["mon", name, "--json"]);
    }
    let told = "this is a scenario, where a trace is expected; `domio run SCENARIO --trace FILE`";
    for command in ["summary", "check"] {
        refuses(&folder, &["trace", command, "c.bin"], told);
    }
    refuses(&folder, &["scenario", "from-trace", "c.bin"], told);
    refuses(&folder, &["mon", "c.bin", "--follow", "--json"], told);
    let stdin = domio(&folder)
        .args(["run", "-"])
        .write_stdin(fs::read(recording()).unwrap())
        .assert();
    stdin.code(2).stderr(contains("<stdin> is a trace"));
    let stdin = domio(&folder)
        .args(["explain", "-"])
        .write_stdin(gzip(SCENARIO.as_bytes()))
        .assert();
    stdin.success();
}

#[test]
fn recordings_of_other_tools_are_named() {
    let folder = folder();
    let files: [(&[u8], &str, &str); 4] = [
        (b"\xd4\xc3\xb2\xa1\x02\0\x04\0", "packets", "`tcpdump -r`"),
        (
            b"\x7fELF\x02\x01\x01\0",
            "a program",
            "a file that it wrote",
        ),
        (b"SQLite format 3\0\x10\0", "SQLite", "`domio results list`"),
        (b"\xfd7zXZ\0\0\x04", "an xz file", "`xz -dk`"),
    ];
    for (bytes, what, advice) in files {
        put(&folder, "given", bytes);
        for args in [&["run", "given"][..], &["trace", "summary", "given"]] {
            refuses(&folder, args, what);
            refuses(&folder, args, advice);
        }
    }
    // Traces of Linux, each without an event.
    let traces: [(&[u8], &str); 3] = [
        (b"PERFILE2\x68\0\0\0", "head of perf.data"),
        (b"\x17\x08\x44tracing6\0", "head of trace.dat"),
        (b"# tracer: function\n#\n", "without a line of an event"),
    ];
    for (bytes, wrong) in traces {
        put(&folder, "given", bytes);
        refuses(
            &folder,
            &["run", "given"],
            "given is a trace, where a scenario",
        );
        refuses(&folder, &["trace", "summary", "given"], wrong);
    }
    let report = [
        "run",
        "burn7",
        "--set",
        "run.duration_s=1",
        "--report",
        "r.html",
    ];
    printed(&folder, &report);
    refuses(&folder, &["run", "r.html"], "a report of domio, where");
    refuses(
        &folder,
        &["trace", "check", "r.html"],
        "a report of domio, where",
    );
}

#[test]
fn packed_files_are_read_through() {
    let folder = folder();
    let trace = fs::read(recording()).unwrap();
    let half = trace.len() / 2;
    let skipped = b"\x50\x2a\x4d\x18\x04\0\0\0skip".to_vec();
    put(&folder, "plain", &trace);
    put(&folder, "gz", &gzip(&trace));
    put(&folder, "zst", &zstd(&trace));
    // What `cat` makes of two packed files is one, and parallel packers write several frames.
    put(
        &folder,
        "gz2",
        &[gzip(&trace[..half]), gzip(&trace[half..])].concat(),
    );
    let frames = [skipped, zstd(&trace[..half]), zstd(&trace[half..])].concat();
    put(&folder, "zst2", &frames);
    let summary = |name| printed(&folder, &["trace", "summary", name, "--json"]);
    let plain = summary("plain");
    for name in ["gz", "zst", "gz2", "zst2"] {
        assert!(summary(name) == plain, "{name}");
    }
    let explained = |name| json_of(&folder, &["explain", name, "--json"])["domains"].clone();
    let records = |name| printed(&folder, &["mon", name, "--json"]);
    assert!(records("zst") == records("plain"));
    assert!(explained("plain").is_array());
    assert_eq!(explained("gz"), explained("plain"));

    put(&folder, "s.toml", SCENARIO.as_bytes());
    let run = |name| json_of(&folder, &["run", name, "--json"])["domains"].clone();
    let plain = run("s.toml");
    assert!(plain.is_array());
    for (name, packed) in [
        ("s.toml.gz", gzip(SCENARIO.as_bytes())),
        ("s.toml.zst", zstd(SCENARIO.as_bytes())),
    ] {
        put(&folder, name, &packed);
        assert_eq!(run(name), plain, "{name}");
        printed(&folder, &["scenario", "check", name]);
    }
    refuses(
        &folder,
        &["mon", "gz", "--follow", "--json"],
        "is a gzip file, which is whole or of no use; leave out --follow",
    );
}

/// A folder whose trace is packed is a recording, and so is a packed trace with its description
/// beside it.
#[test]
fn packed_recordings_are_validated() {
    let folder = folder();
    let trace = fs::read(recording()).unwrap();
    let description = fs::read(recording().with_file_name("scenario.json")).unwrap();
    let validated = |named: &str| json_of(&folder, &["validate", named, "--json"])["traces"].take();
    let plain = validated(&recording().parent().unwrap().display().to_string());
    for (packing, packed) in [("gz", gzip(&trace)), ("zst", zstd(&trace))] {
        fs::create_dir_all(folder.path().join(packing)).unwrap();
        let trace = format!("{packing}/trace.bin.{packing}");
        let other = format!("{packing}/host-3.{packing}");
        put(&folder, &trace, &packed);
        put(&folder, &format!("{packing}/scenario.json"), &description);
        put(&folder, &other, &packed);
        let named = [
            (packing, packing),
            (&trace, packing),
            (&other, &format!("host-3.{packing}")),
        ];
        for (named, name) in named {
            let mut told = validated(named);
            assert_eq!(told[0]["recording"], name);
            told[0]["recording"] = plain[0]["recording"].clone();
            assert_eq!(told, plain, "{named}");
        }
    }
    put(&folder, "alone.gz", &gzip(&trace));
    let refused = |named: &str, words| refuses(&folder, &["validate", named], words);
    refused(
        "alone.gz",
        ". has no scenario.json; a recording is a folder with",
    );
    refused("gz/scenario.json", "cannot read the trace");
    put(&folder, "gz/s.toml", SCENARIO.as_bytes());
    refused("gz/s.toml", "this is a scenario, where a trace is expected");
    put(&folder, "gz/cut.gz", &gzip(&trace)[..300]);
    refused(
        "gz/cut.gz",
        "the gzip file ends too early; copy or pack it again",
    );
}

#[test]
fn damage_of_a_packed_file_is_told_as_such() {
    let folder = folder();
    let trace = fs::read(recording()).unwrap();
    for (packed, name) in [(gzip(&trace), "gzip"), (zstd(&trace), "zstd")] {
        let cut = format!("the {name} file ends too early; copy or pack it again");
        let damaged = format!("the {name} file is damaged: ");
        for length in [5, packed.len() / 2, packed.len() - 1] {
            put(&folder, "given", &packed[..length]);
            refuses(&folder, &["trace", "summary", "given"], &cut);
        }
        // The checksum at the end of the file tells of damage that unpacking does not.
        let mut other = packed.clone();
        let last = other.len() - if name == "gzip" { 8 } else { 1 };
        other[last] ^= 1;
        put(&folder, "given", &other);
        refuses(&folder, &["trace", "summary", "given"], &damaged);
    }
    put(&folder, "given", &gzip(SCENARIO.as_bytes())[..20]);
    refuses(&folder, &["run", "given"], "the gzip file ends too early");
}

#[test]
fn a_key_that_is_set_twice_is_refused_where_values_are_no_variants() {
    let folder = folder();
    let twice = ["--set", "run.duration_s=1", "--set", "run.duration_s=2"];
    let of = |command| [&[command, "burn7"], &twice[..]].concat();
    let told = "--set gives run.duration_s twice, as 1 and as 2; leave one out";
    refuses(&folder, &of("run"), told);
    refuses(&folder, &of("explain"), told);
    printed(&folder, &of("compare"));
}
