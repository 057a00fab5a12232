//! What a shell meets: completions, manual pages, pipes that nobody reads any more.

use crate::common::{domio, folder};
use crate::recorded::recording;
use predicates::prelude::*;
use predicates::str::contains;
use std::path::Path;
use tempfile::TempDir;

/// What is offered for the last of `words`, as a shell asks: the words so far, and the number of
/// the word to complete.
fn offers(folder: &TempDir, words: &[&str]) -> Vec<String> {
    let index = words.len() - 1;
    let assert = domio(folder)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", index.to_string())
        .env("_CLAP_IFS", "\n")
        .args(["--"].iter().chain(words))
        .assert()
        .success();
    let offered = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    offered.lines().map(str::to_owned).collect()
}

#[test]
fn names_are_offered() {
    let folder = folder();
    let offers = |words: &[&str]| offers(&folder, &[&["domio"], words].concat());
    assert_eq!(offers(&["scenario", "show", "burn"]), ["burn7"]);
    assert!(offers(&["run", "burn"]).contains(&"burn7".to_owned()));
    let policy = |begin| offers(&["policy", "check", begin]);
    assert_eq!(policy("cr"), ["credit", "credit2"]);
    assert_eq!(policy("credit:tsl"), ["credit:tslice_ms="]);
    assert_eq!(
        policy("credit:tslice_ms=5,rate"),
        ["credit:tslice_ms=5,ratelimit_us="]
    );
    assert_eq!(policy("banana:x"), [""; 0]);
    assert!(offers(&["policy", "show", ""]).contains(&"round-robin".to_owned()));
    let compared = offers(&["compare", "burn7", "--policy", "se"]);
    assert!(compared.contains(&"sedf".to_owned()));
    let controllers = offers(&["controller", "show", "cap"]);
    assert_eq!(controllers, ["cap-follows-demand"]);
    assert_eq!(offers(&["elevator", "show", "c"]), ["cfq"]);
    let drives = offers(&["trace", "replay", "t.csv", "--drive", "hitachi"]);
    assert!(drives.contains(&"hitachi-7k500".to_owned()), "{drives:?}");
    assert_eq!(offers(&["schema", "trace-s"]), ["trace-summary"]);
    let claims = offers(&["reproduce", "ongaro.fig2"]);
    assert_eq!(claims[0], "ongaro.fig2");
    assert!(claims.contains(&"ongaro.fig2.cpu-fairness".to_owned()));
}

#[test]
fn completions_and_manual_pages() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish"] {
        domio(&folder)
            .args(["completions", shell])
            .assert()
            .success()
            .stdout(contains("reproduce").and(contains("burn7")));
    }
    domio(&folder)
        .arg("man")
        .assert()
        .success()
        .stdout(contains(".TH domio 1"));
    domio(&folder)
        .args(["man", "--output-dir", "man1"])
        .assert()
        .success();
    for page in ["domio.1", "domio-run.1", "domio-trace-summary.1"] {
        assert!(
            Path::new(&folder.path().join("man1").join(page)).exists(),
            "{page}"
        );
    }
    // Pages name no page that is not there.
    for entry in std::fs::read_dir(folder.path().join("man1")).unwrap() {
        let page = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let page = page.replace("\\-", "-");
        for line in page.lines().filter(|line| line.ends_with("(1)")) {
            let other = format!("man1/{}.1", line.trim_end_matches("(1)"));
            assert!(folder.path().join(&other).exists(), "{other}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    use std::process::{Command, Stdio};
    let program = assert_cmd::cargo::cargo_bin("domio");
    let trace = recording().display().to_string();
    let convert = |format| ["trace", "convert", &trace, "--to", format];
    let trace_commands: [&[&str]; 8] = [
        &convert("own"),
        &convert("xentrace"),
        &convert("perfetto"),
        &convert("csv"),
        &[&convert("csv")[..], &["--output", "/dev/stdout"]].concat(),
        &["trace", "summary", &trace],
        &["trace", "summary", &trace, "--json"],
        &["trace", "check", &trace],
    ];
    let other_commands: [&[&str]; 6] = [
        &["scenario", "schema"],
        &["scenario", "check", "burn7"],
        &["completions", "bash"],
        &["policy", "list"],
        &["man"],
        &["--help"],
    ];
    for args in trace_commands.into_iter().chain(other_commands) {
        let mut child = Command::new(&program)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}: {:?}", output.status);
        assert!(
            output.stderr.is_empty(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
