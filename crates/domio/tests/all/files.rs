//! What commands do to files: nothing to those that they read, and nothing by halves.

use crate::common::{domio, folder, json_of};
use crate::recorded::{own_trace, recording};
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const SHORT: [&str; 4] = ["--set", "run.duration_s=1", "--set", "run.warmup_s=0"];

/// What is in the folder, and in each file.
fn state(folder: &TempDir) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
    let mut state: Vec<(String, Vec<u8>)> = entries
        .map(|e| {
            let name = e.file_name().into_string().unwrap();
            (name, fs::read(e.path()).unwrap_or_default())
        })
        .collect();
    state.sort();
    state
}

/// Holds the command to refusing, in words that name all of `named`, and to leaving all as it was.
#[track_caller]
fn refuses(folder: &TempDir, args: &[&str], named: &[&str]) {
    let before = state(folder);
    let assert = domio(folder).args(args).assert().code(2).stdout(is_empty());
    let told = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    for name in named.iter().chain(&["same file", "name another file"]) {
        assert!(told.contains(name), "{args:?}: no {name} in {told}");
    }
    assert!(state(folder) == before, "{args:?}: a file changed");
}

#[test]
fn a_trace_is_not_converted_into_itself() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::copy(recording(), at("self.bin")).unwrap();
    let mut names = vec!["self.bin", "./self.bin", "new/../self.bin"];
    if cfg!(unix) {
        fs::hard_link(at("self.bin"), at("hard")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("self.bin", at("soft")).unwrap();
        names.extend(["hard", "soft"]);
    }
    for format in ["own", "xentrace", "perfetto", "csv"] {
        for name in &names {
            let args = ["trace", "convert", "self.bin", "--to", format];
            let args = [&args[..], &["--output", name]].concat();
            refuses(&folder, &args, &["the trace self.bin", "--output", name]);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_trace_is_not_appended_to_itself() {
    let folder = folder();
    let path = folder.path().join("self.bin");
    let whole = fs::read(recording()).unwrap();
    fs::write(&path, &whole).unwrap();
    let end = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("domio"))
        .args(["trace", "convert", "self.bin", "--to", "csv"])
        .current_dir(folder.path())
        .stdout(end)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
    assert!(fs::read(&path).unwrap() == whole);
}

#[test]
fn a_scenario_and_its_recordings_are_not_written_over() {
    let folder = folder();
    fs::copy(recording(), folder.path().join("t.bin")).unwrap();
    let scenario = r#"
run.duration_s = 1
scheduler.policy = "credit"
[[domain]]
name = "g"
[[domain.task]]
workload = "replay"
trace = "t.bin"
trace_domain = 1
"#;
    fs::write(folder.path().join("my.toml"), scenario).unwrap();
    domio(&folder)
        .args(["scenario", "check", "my.toml"])
        .assert()
        .success();
    let compare = [
        "compare", "my.toml", "--policy", "credit", "--policy", "null",
    ];
    let commands: [(&[&str], &[&str]); 3] = [
        (&["run", "my.toml"], &["--trace", "--perfetto", "--report"]),
        (&compare, &["--report"]),
        (&["explain", "my.toml"], &["--report"]),
    ];
    for (command, options) in commands {
        for option in options {
            for (name, what) in [
                ("./my.toml", "the scenario my.toml"),
                ("./t.bin", "the replayed trace t.bin"),
            ] {
                refuses(
                    &folder,
                    &[command, &[option, name]].concat(),
                    &[option, name, what],
                );
            }
        }
    }
    let reproduce = ["reproduce", "--claims", "c.toml", "--report", "c.toml"];
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/ongaro2008/claims.toml"),
        folder.path().join("c.toml"),
    )
    .unwrap();
    refuses(&folder, &reproduce, &["--report", "the claims c.toml"]);
}

#[test]
fn two_outputs_are_two_files() {
    let folder = folder();
    for args in [
        ["--trace", "a", "--perfetto", "./a"],
        ["--trace", "a", "--report", "new/../a"],
        ["--perfetto", "a", "--report", "a"],
    ] {
        let run = [&["run", "burn7"][..], &args].concat();
        refuses(&folder, &run, &[args[0], args[2]]);
    }
    // Nothing is lost there.
    let args = ["run", "burn7", "--json", "--trace", "/dev/null"];
    let args = [&args[..], &["--report", "/dev/null"], &SHORT].concat();
    assert_eq!(json_of(&folder, &args)["scenario"], "burn7");
}

#[test]
fn what_domio_did_not_write_as_the_same_kind_stays() {
    let folder = folder();
    own_trace(&folder);
    fs::copy(recording(), folder.path().join("host.bin")).unwrap();
    let run = ["run", "burn7", "--json"];
    let run = [&run[..], &SHORT].concat();
    let convert = ["trace", "convert", "t.domio", "--to", "xentrace"];
    let from_trace = ["scenario", "from-trace", "t.domio"];
    let list = "Name ID Mem VCPUs State Time(s)\nweb 3 512 1 -b---- 34.1\n";
    fs::write(folder.path().join("list.txt"), list).unwrap();
    let from_lists = ["scenario", "from-lists", "list.txt"];
    let alert = ["alert", "--policy", "credit", "--duration", "10"];
    let alert = [&alert[..], &["--cap-range", "5"]].concat();
    let commands: [(&[&str], &str); 6] = [
        (&run, "--trace"),
        (&run, "--perfetto"),
        (&convert, "--output"),
        (&from_trace, "--output"),
        (&from_lists, "--output"),
        (&alert, "--plot"),
    ];
    for (command, option) in commands {
        // A recording of a host, which nobody can make again, and a letter.
        fs::write(folder.path().join("letter"), "Dear Sir").unwrap();
        for there in ["host.bin", "letter"] {
            let args = [command, &[option, there]].concat();
            let before = state(&folder);
            let refused = contains(there).and(contains("is there already"));
            let assert = domio(&folder).args(args).assert().code(2);
            assert
                .stdout(is_empty())
                .stderr(refused.and(contains("--force")));
            assert!(state(&folder) == before, "{option} {there}: a file changed");
        }
        // Its own work it writes again, but for what looks like a recording.
        let args = [command, &[option, "mine"]].concat();
        domio(&folder).args(&args).assert().success();
        let again = domio(&folder).args(&args).assert();
        match option == "--output" && command.contains(&"xentrace") {
            true => again.code(2),
            false => again.success(),
        };
        let forced = [&args[..], &["--force"]].concat();
        domio(&folder).args(&forced).assert().success();
        fs::remove_file(folder.path().join("mine")).unwrap();
    }
}

#[test]
fn a_trace_goes_through_a_pipe() {
    let folder = folder();
    let run = [&["run", "burn7", "--trace", "-"][..], &SHORT].concat();
    let printed = domio(&folder).args(run).assert().success();
    let trace = &printed.get_output().stdout;
    let explain = |trace: &[u8]| {
        let mut command = domio(&folder);
        let told = command.args(["explain", "-", "--json"]).write_stdin(trace);
        told.assert().success().get_output().stdout.clone()
    };
    assert!(contains("causes").eval(&String::from_utf8(explain(trace)).unwrap()));
    assert!(!folder.path().join("-").exists());
    for (option, other) in [("--perfetto", "-"), ("--report", "-")] {
        let both = ["run", "burn7", "--trace", "-", option, other];
        refuses(&folder, &both, &[option, "--trace"]);
    }
}

#[test]
fn a_damaged_trace_replaces_nothing() {
    let folder = folder();
    let mut bytes = own_trace(&folder);
    let late = bytes.len() - 1000;
    bytes[late] ^= 0xff;
    fs::write(folder.path().join("bad.domio"), bytes).unwrap();
    fs::write(folder.path().join("kept"), "what was there before").unwrap();
    let before = state(&folder);
    for format in ["own", "xentrace", "perfetto", "csv"] {
        for output in ["kept", "new"] {
            domio(&folder)
                .args(["trace", "convert", "bad.domio", "--to", format])
                .args(["--output", output, "--force"])
                .assert()
                .code(2)
                .stderr(contains("records were read before").and(contains("wrote").not()));
            assert!(state(&folder) == before, "{format} {output}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_written_to() {
    let folder = folder();
    let own = own_trace(&folder);
    let convert = |output: &str| {
        let mut command = domio(&folder);
        command.args(["trace", "convert", "t.domio", "--to", "own", "--output"]);
        command.arg(output).assert()
    };
    convert("/dev/null").success();
    let printed = convert("/dev/stdout").success();
    assert!(printed.get_output().stdout == own);
    convert("/dev/full")
        .code(2)
        .stderr(contains("No space left on device"));
    // Where the shell opened a file, it stays that file.
    let file = fs::File::create(folder.path().join("opened")).unwrap();
    let status = std::process::Command::new(assert_cmd::cargo::cargo_bin("domio"))
        .args(["trace", "convert", "t.domio", "--to", "own"])
        .args(["--output", "/dev/stdout"])
        .current_dir(folder.path())
        .stdout(file.try_clone().unwrap())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(file.metadata().unwrap().len(), own.len() as u64);
}

#[cfg(unix)]
#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_run() {
    let folder = folder();
    fs::write(folder.path().join("file"), "old").unwrap();
    // So long that the test would not end if it ran.
    let long = ["--set", "run.duration_s=1000000", "--set", "run.warmup_s=0"];
    let compare = ["compare", "burn7", "--policy", "credit", "--policy", "null"];
    let compare = [&compare[..], &long].concat();
    let commands = [
        [&["run", "burn7"][..], &long].concat(),
        [&["explain", "burn7"][..], &long].concat(),
        compare,
        vec!["reproduce", "--replications", "1000"],
    ];
    for command in commands {
        for (path, why) in [("file/r.html", "file"), (".", "director")] {
            let before = state(&folder);
            domio(&folder)
                .args([&command[..], &["--report", path]].concat())
                .timeout(std::time::Duration::from_secs(60))
                .assert()
                .code(2)
                .stdout(is_empty())
                .stderr(contains(format!("cannot create {path}; choose a file")))
                .stderr(contains(why));
            assert!(state(&folder) == before, "{command:?}: a file changed");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    /// Waits until `done` gives something, for a minute at most.
    fn until<T>(mut done: impl FnMut() -> Option<T>) -> Option<T> {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            if let Some(found) = done() {
                return Some(found);
            }
            sleep(Duration::from_millis(10));
        }
        None
    }

    // `nohup` has HUP ignored, and the others answered as ever.
    let under_nohup = [("HUP", "INT"), ("HUP", "TERM")];
    let ended = [("PIPE", "INT"), ("PIPE", "TERM"), ("PIPE", "HUP")];
    for (ignored, signal) in ended.into_iter().chain(under_nohup) {
        let folder = folder();
        fs::write(folder.path().join("kept"), "what was there before").unwrap();
        let before = state(&folder);
        // Whoever runs the tests may ignore what is to be sent. The run is so long that the test
        // would not end with it.
        let mut child = Command::new("env")
            .arg("--default-signal=INT,TERM,HUP")
            .arg(format!("--ignore-signal={ignored}"))
            .arg(assert_cmd::cargo::cargo_bin("domio"))
            .args([
                "run", "burn7", "--trace", "kept", "--force", "--report", "new",
            ])
            .args(["--set", "run.duration_s=1000000", "--set", "run.warmup_s=0"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let begun = until(|| (files() == before.len() + 2).then_some(()));
        // What is ignored does nothing, however often it comes.
        let kill = [ignored, signal].map(|signal| {
            let mut kill = Command::new("kill");
            kill.args([&format!("-{signal}"), &child.id().to_string()]);
            kill.status().unwrap().success()
        });
        let ended = until(|| child.try_wait().unwrap());
        let _ = child.kill();
        let _ = child.wait();
        assert!(begun.is_some() && kill == [true; 2], "{signal}");
        let code = ended.expect("it ends within a minute").code();
        let status = match signal {
            "HUP" => 129,
            "TERM" => 143,
            _ => 130,
        };
        assert_eq!(code, Some(status), "{signal}");
        assert!(state(&folder) == before, "{signal}: {:?}", state(&folder));
    }
}
