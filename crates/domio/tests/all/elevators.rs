//! `domio elevator`: what lists and shows elevators, and what runs scripts of requests.

use crate::common::{domio, folder, json_of};
use flate2::Compression;
use flate2::write::GzEncoder;
use predicates::prelude::*;
use predicates::str::{contains, is_empty, starts_with};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::io::Write;
use tempfile::TempDir;

/// Script and answer of a shipped recording.
fn recording(name: &str) -> (Vec<u8>, String) {
    let path = |end: &str| {
        let root = env!("CARGO_MANIFEST_DIR");
        format!("{root}/../../testdata/elevators/{name}.{end}")
    };
    let script = fs::read(path("in")).unwrap();
    (script, fs::read_to_string(path("out")).unwrap())
}

fn put(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) {
    fs::write(folder.path().join(name), content).unwrap();
}

/// What `domio elevator replay` prints for `args`.
fn replayed(folder: &TempDir, args: &[&str]) -> String {
    let replay = domio(folder)
        .args(["elevator", "replay"])
        .args(args)
        .assert();
    let stdout = replay.success().get_output().stdout.clone();
    String::from_utf8(stdout).unwrap()
}

/// Holds `domio elevator` to refusing `args` in these words, and to printing nothing.
#[track_caller]
fn refuses(folder: &TempDir, args: &[&str], words: &str) {
    let refused = domio(folder).arg("elevator").args(args).assert().code(2);
    refused.stdout(is_empty()).stderr(starts_with(words));
}

#[test]
fn elevators_are_listed_and_shown() {
    let folder = folder();
    let list = json_of(&folder, &["elevator", "list", "--json"]);
    let names = list["elevators"].as_array().unwrap().iter();
    let names: Vec<&str> = names.filter_map(|e| e["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "noop",
            "deadline",
            "anticipatory",
            "cfq",
            "none",
            "mq-deadline",
            "kyber",
            "bfq",
            "lease",
        ]
    );
    let table = domio(&folder).args(["elevator", "list"]).assert().success();
    let table = String::from_utf8(table.get_output().stdout.clone()).unwrap();
    assert!(table.starts_with("elevator "), "{table}");
    for name in names {
        let of_name = |line: &&str| line.split_whitespace().next() == Some(name);
        let row = table.lines().find(of_name).unwrap();
        let old = ["noop", "deadline", "anticipatory", "cfq"].contains(&name);
        let kernel = match name {
            "lease" => "domio",
            _ if old => "Linux 2.6.24",
            _ => "Linux 6.1",
        };
        assert!(row.contains(kernel), "{row}");
        let show = domio(&folder).args(["elevator", "show", name]).assert();
        show.success().stdout(starts_with(format!("{name}: ")));
    }
}

#[test]
fn tunables_have_the_names_and_defaults_of_sysfs() {
    let folder = folder();
    let shown = domio(&folder).args(["elevator", "show", "as"]).assert();
    shown.success().stdout(
        starts_with("anticipatory: ")
            .and(contains("\nshort name: as\n"))
            .and(contains(
                "\nTunables, with the defaults at 1000 ticks a second\n",
            ))
            .and(contains("antic_expire")),
    );
    let none = domio(&folder).args(["elevator", "show", "noop"]).assert();
    none.success().stdout(contains("\ntunables: none\n"));
    let shown = json_of(&folder, &["elevator", "show", "deadline", "--json"]);
    assert_eq!(shown["alias"], serde_json::Value::Null);
    let tunables = shown["tunables"].as_array().unwrap().iter();
    let told = tunables.map(|t| format!("{} {} {}", t["name"], t["default"], t["unit"]));
    let told: Vec<String> = told.map(|t| t.replace('"', "")).collect();
    assert_eq!(
        told,
        [
            "read_expire 500 ms",
            "write_expire 5000 ms",
            "writes_starved 2 ",
            "front_merges true ",
            "fifo_batch 16 ",
        ]
    );
}

#[test]
fn a_script_is_answered_as_the_kernel_did() {
    let folder = folder();
    for name in [
        "noop/13-full-queue",
        "deadline/05-expiry",
        "anticipatory/14-exits",
        "cfq/21-idle-class",
    ] {
        let (script, answer) = recording(name);
        put(&folder, "script.in", &script);
        assert!(replayed(&folder, &["script.in"]) == answer, "{name}");
    }
}

#[test]
fn scripts_are_read_packed_and_from_standard_input() {
    let folder = folder();
    let (script, answer) = recording("deadline/05-expiry");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&script).unwrap();
    put(&folder, "a", gzip.finish().unwrap());
    put(
        &folder,
        "b",
        compress_to_vec(&script[..], CompressionLevel::Fastest),
    );
    assert!(replayed(&folder, &["a"]) == answer);
    assert!(replayed(&folder, &["b"]) == answer);
    let mut piped = domio(&folder);
    let piped = piped.args(["elevator", "replay", "-"]).write_stdin(script);
    piped.assert().success().stdout(answer);
}

#[test]
fn the_same_requests_run_under_another_elevator() {
    let folder = folder();
    let (script, of_noop) = recording("noop/10-merges");
    let (_, of_cfq) = recording("cfq/10-merges");
    put(&folder, "script.in", script);
    assert!(replayed(&folder, &["script.in"]) == of_noop);
    assert!(replayed(&folder, &["script.in", "--elevator", "cfq"]) == of_cfq);
    // What the script sets is a tunable of its own elevator.
    let (script, _) = recording("deadline/05-expiry");
    put(&folder, "script.in", script);
    refuses(
        &folder,
        &["replay", "script.in", "--elevator", "noop"],
        "error: script.in: line 9: noop: `read_expire`: no parameter of that name",
    );
}

#[test]
fn an_answer_is_written_over_no_other_file() {
    let folder = folder();
    let (script, answer) = recording("noop/10-merges");
    put(&folder, "script.in", &script);
    let at = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(replayed(&folder, &["script.in", "--output", "-"]), answer);
    assert_eq!(replayed(&folder, &["script.in", "-o", "answer.out"]), "");
    assert!(at("answer.out") == answer);
    // A recording of a kernel looks the same.
    let again = ["replay", "script.in", "-o", "answer.out"];
    let words = "error: answer.out is there already, and is no file that could be made again";
    refuses(&folder, &again, words);
    put(&folder, "answer.out", "0 submit 1 1 RS 0 8\n");
    let force = ["script.in", "-o", "answer.out", "--force"];
    assert_eq!(replayed(&folder, &force), "");
    assert!(at("answer.out") == answer);
    let over = ["replay", "script.in", "-o", "script.in", "--force"];
    let words = "error: --output script.in is the same file as the script script.in";
    refuses(&folder, &over, words);
    assert!(at("script.in").as_bytes() == script);
    // A wrong script leaves what was there.
    put(&folder, "script.in", "banana");
    let wrong = ["replay", "script.in", "-o", "answer.out", "--force"];
    refuses(&folder, &wrong, "error: script.in: line 1: ");
    assert!(at("answer.out") == answer);
}

#[test]
fn wrong_scripts_are_2_with_file_line_and_reason() {
    let folder = folder();
    for (script, words) in [
        (
            "set elevator noop\n\n0 1 R sync 8\n",
            "line 3: expected `TIME PID R|W sync|async SECTOR NR [meta]` or `TIME PID X`",
        ),
        (
            "set elevator noop\n0 1 Q sync 0 8\n",
            "line 2: `Q` is neither R, W nor X",
        ),
        (
            "set elevator cfk\n",
            "line 1: no elevator `cfk`; there are noop, deadline, anticipatory, cfq, none, \
             mq-deadline, kyber, bfq, lease",
        ),
        ("0 1 R sync 0 8\n", "no `set elevator NAME`"),
    ] {
        put(&folder, "broken.in", script);
        let words = format!("error: broken.in: {words}\n");
        refuses(&folder, &["replay", "broken.in"], &words);
    }
    let mut piped = domio(&folder);
    let piped = piped
        .args(["elevator", "replay", "-"])
        .write_stdin("banana");
    let told = piped.assert().code(2);
    told.stderr(starts_with("error: <stdin>: line 1: expected "));
    refuses(
        &folder,
        &["replay", "missing.in"],
        "error: cannot read missing.in: ",
    );
    put(&folder, "broken.in", b"\xff\xfe");
    refuses(
        &folder,
        &["replay", "broken.in"],
        "error: cannot read broken.in: ",
    );
}

#[test]
fn other_files_are_called_what_they_are() {
    let folder = folder();
    put(&folder, "host.toml", "[[domain]]\nname = \"g\"\n");
    let words = "error: host.toml is a scenario, where a script of requests is expected; \
                 `domio run` simulates it";
    refuses(&folder, &["replay", "host.toml"], words);
    put(&folder, "script.in.xz", b"\xfd7zXZ\0");
    let words = "error: script.in.xz is an xz file, where a script of requests is expected; unpack";
    refuses(&folder, &["replay", "script.in.xz"], words);
}

#[test]
fn an_unknown_elevator_is_2_and_says_what_there_is() {
    let folder = folder();
    put(&folder, "script.in", recording("noop/10-merges").0);
    let words = "error: no elevator is called \"deadlin\"; near matches: deadline, mq-deadline; \
                 `domio elevator list` lists them";
    refuses(&folder, &["show", "deadlin"], words);
    refuses(
        &folder,
        &["replay", "script.in", "--elevator", "deadlin"],
        words,
    );
}
