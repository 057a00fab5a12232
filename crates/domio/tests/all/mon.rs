//! `domio mon`: its outputs, growing files, and the screen in a pseudo-terminal.

use crate::common::{domio, folder, json_of};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PING: [&str; 3] = ["ping-among-burners", "--set", "run.duration_s=2"];

fn lines(folder: &TempDir, args: &[&str]) -> Vec<Value> {
    let args = [&["mon"], args, &["--json"]].concat();
    let assert = domio(folder).args(args).assert().success();
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

/// A trace of [`PING`] in the folder.
fn trace(folder: &TempDir) {
    let args = [&["run"], &PING[..], &["--trace", "t.domio"]].concat();
    domio(folder).args(args).assert().success();
}

/// Sums over lines of what `key` says of each domain.
fn sums(lines: &[Value], key: &str) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    for domain in lines.iter().flat_map(|l| l["domains"].as_array().unwrap()) {
        let id = domain["id"].as_u64().unwrap();
        *sums.entry(id).or_default() += domain[key].as_u64().unwrap();
    }
    sums
}

#[test]
fn samples_sum_to_the_summary() {
    let folder = folder();
    trace(&folder);
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    let recorded = recorded.join("c1-burn7/trace.bin").display().to_string();
    for file in ["t.domio", &recorded] {
        let summary = json_of(&folder, &["trace", "summary", file, "--json"]);
        for interval in ["7", "1000"] {
            let lines = lines(&folder, &[file, "--interval", interval]);
            assert!(lines.len() > 1, "{file} {interval}");
            for (key, of_summary) in [
                ("gotten_ns", "running_ns"),
                ("waited_ns", "runnable_ns"),
                ("blocked_ns", "blocked_ns"),
                ("parked_ns", "parked_ns"),
            ] {
                let sums = sums(&lines, key);
                for domain in summary["domains"].as_array().unwrap() {
                    let id = domain["id"].as_u64().unwrap();
                    let whole = domain[of_summary].as_u64().unwrap();
                    let sum = sums.get(&id).copied().unwrap_or(0);
                    // A simulated trace begins and ends with a mark of each vcpu. In a recording,
                    // the summary alone knows what was before a vcpu's first record.
                    let open = match file == recorded {
                        true => 500_000_000,
                        false => 0,
                    };
                    let before = whole.checked_sub(sum);
                    assert!(
                        before.is_some_and(|before| before <= open),
                        "{file} {id} {key}: {sum} {whole}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_simulated_host_and_its_trace_give_the_same_lines() {
    let folder = folder();
    trace(&folder);
    let host = lines(&folder, &PING);
    assert_eq!(host, lines(&folder, &["t.domio"]));
    assert_eq!(host.len(), 20);
    let packets = host.iter().flat_map(|l| l["drivers"].as_array().unwrap());
    let guests: Vec<&Value> = packets
        .flat_map(|d| d["guests"].as_array().unwrap())
        .collect();
    assert!(guests.iter().any(|g| g["sent"].as_u64() > Some(0)));
    assert!(guests.iter().any(|g| g["error_points"].as_f64().is_some()));
}

#[test]
fn logs_are_xenmons_and_are_not_overwritten_unasked() {
    let folder = folder();
    let log = [&["mon"], &PING[..], &["--log", "out/host"]].concat();
    domio(&folder).args(&log).assert().success().stdout("");
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let first = read("host-dom1.log");
    let mut rows = first.lines();
    assert!(
        rows.next()
            .unwrap()
            .starts_with("# passed cpu dom cpu(tot) cpu(%) cpu/ex ")
    );
    let row: Vec<&str> = rows.next().unwrap().split(' ').collect();
    assert_eq!((row.len(), &row[..3]), (16, &["1000.000", "0", "1"][..]));
    assert_eq!(rows.count(), 1, "a line a second");
    let refused = contains("out/host-dom0.log is there already").and(contains("--force"));
    domio(&folder).args(&log).assert().code(2).stderr(refused);
    let forced = [&log[..], &["--force", "--interval", "500"]].concat();
    domio(&folder).args(forced).assert().success();
    assert_eq!(read("host-dom1.log").lines().count(), 5);
    // A log is never the trace that is read.
    trace(&folder);
    std::fs::rename(
        folder.path().join("t.domio"),
        folder.path().join("x-dom1.log"),
    )
    .unwrap();
    let over = ["mon", "x-dom1.log", "--log", "x", "--force"];
    let told = contains("which would be overwritten while it is read");
    domio(&folder).args(over).assert().code(2).stderr(told);
}

#[test]
fn metrics_are_those_of_the_whole() {
    let folder = folder();
    let args = [&["mon"], &PING[..], &["--prometheus"]].concat();
    let assert = domio(&folder).args(args).assert().success();
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    let value = |start: &str| -> f64 {
        let rows = text.lines().filter(|l| l.starts_with(start));
        rows.map(|l| l.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    };
    assert_eq!(value("domio_observed_seconds_total "), 2.0);
    // Two seconds of one pcpu, shared.
    let got = value("domio_vcpu_gotten_seconds_total{");
    assert!((1.9..=2.0).contains(&got), "{got}");
    assert!(value("domio_packets_total{") > 100.0);
}

#[test]
fn xenbakeds_figures_are_its_own() {
    let folder = folder();
    let of = |args: &[&str]| lines(&folder, &[&PING[..], args].concat());
    let (ours, theirs) = (of(&["--interval", "1000"]), of(&["--compatible"]));
    let waited = |lines: &[Value]| sums(lines, "waited_ns").values().sum::<u64>();
    assert!(waited(&ours) > 0 && waited(&theirs) > 0);
    assert_ne!(ours, theirs);
    // Since Xen 4.8 its waited time is the number of a vcpu: there is one each.
    assert_eq!(waited(&of(&["--compatible=4.8"])), 0);
}

#[test]
fn a_growing_file_is_read_to_its_end() {
    let folder = folder();
    trace(&folder);
    let whole = std::fs::read(folder.path().join("t.domio")).unwrap();
    let expected = lines(&folder, &["t.domio"]);
    let growing = folder.path().join("growing");
    File::create(&growing).unwrap();
    let writer = {
        let (growing, whole) = (growing.clone(), whole.clone());
        std::thread::spawn(move || {
            let mut file = OpenOptions::new().append(true).open(growing).unwrap();
            // No piece ends where a record does, and one ends within the head.
            for piece in [&whole[..7], &whole[7..4000], &whole[4000..whole.len() - 1]] {
                std::thread::sleep(Duration::from_millis(150));
                file.write_all(piece).unwrap();
            }
            std::thread::sleep(Duration::from_millis(150));
            file.write_all(&whole[whole.len() - 1..]).unwrap();
        })
    };
    let follow = ["growing", "--follow", "--until-idle", "3"];
    let lines = lines(&folder, &follow);
    writer.join().unwrap();
    assert_eq!(lines, expected);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_file_that_grows_and_what_is_known_is_shown() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = folder();
    trace(&folder);
    let whole = std::fs::read(folder.path().join("t.domio")).unwrap();
    std::fs::write(folder.path().join("half"), &whole[..whole.len() / 2]).unwrap();
    // Whoever runs the tests may ignore what is to be sent.
    let mut child = Command::new("env")
        .arg("--default-signal=INT,HUP")
        .arg(env!("CARGO_BIN_EXE_domio"))
        .current_dir(folder.path())
        .args(["mon", "half", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // It is reading, so that it knows what to do about an interrupt.
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let interval = |l: &Value| l["end_ns"].as_u64().unwrap() - l["start_ns"].as_u64().unwrap();
    assert_eq!(interval(&first), 100_000_000);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let last = lines.last().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    let last: Value = serde_json::from_str(&last).unwrap();
    assert!(
        interval(&last) < 100_000_000,
        "it ends with the last record"
    );
}

#[test]
fn what_cannot_be_watched_is_told() {
    let folder = folder();
    trace(&folder);
    let fails = |args: &[&str], told: &str| {
        let args = [&["mon"], args].concat();
        domio(&folder)
            .args(args)
            .assert()
            .code(2)
            .stderr(contains(told));
    };
    fails(&["no-such-thing"], "no file and no shipped scenario");
    fails(
        &["t.domio", "--seed", "3"],
        "is a trace, of which --set, --seed",
    );
    fails(&["t.domio", "--until-idle", "3"], "--follow");
    fails(
        &["t.domio", "--json", "--prometheus"],
        "cannot be used with",
    );
    fails(&["t.domio", "--ms-per-sample", "0"], "--ms-per-sample");
    fails(&["t.domio", "--send-weight", "-1"], "--send-weight");
    fails(&["gone", "--follow"], "cannot read the trace gone");
    let whole = std::fs::read(folder.path().join("t.domio")).unwrap();
    std::fs::write(folder.path().join("cut"), &whole[..whole.len() / 2]).unwrap();
    let cut = domio(&folder).args(["mon", "cut"]).assert().success();
    cut.stderr(contains("using what is there"))
        .stdout(contains("burner1"));
}

/// A terminal with `domio mon` in it.
struct Terminal {
    screen: vt100::Parser,
    output: Receiver<Vec<u8>>,
    input: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
}

impl Terminal {
    fn start(folder: &TempDir, args: &[&str]) -> Self {
        let size = PtySize {
            rows: 24,
            cols: 80,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_domio"));
        command.args(args);
        command.cwd(folder.path());
        command.env("TERM", "xterm-256color");
        command.env("NO_COLOR", "1");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let input = pair.master.take_writer().unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (send, output) = channel();
        std::thread::spawn(move || {
            let _master = pair.master;
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal {
            screen: vt100::Parser::new(24, 80, 0),
            output,
            input,
            child,
        }
    }

    /// Waits until the screen is as `is` says.
    fn until(&mut self, what: &str, is: impl Fn(&str) -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            if is(&self.screen.screen().contents()) {
                return;
            }
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(100)) {
                self.screen.process(&bytes);
            }
        }
        let _ = self.child.kill();
        panic!("no {what} on\n{}", self.screen.screen().contents());
    }

    fn shows(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    /// Waits for the end; the status.
    fn ends(mut self) -> u32 {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            // Nobody can end whose output nobody takes.
            while self.output.try_recv().is_ok() {}
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        panic!("it does not end");
    }
}

#[test]
fn the_screen_hears_keys_and_quits() {
    let folder = folder();
    let mut terminal = Terminal::start(&folder, &[&["mon"], &PING[..]].concat());
    terminal.shows("3.00 s  END");
    terminal.shows("answering");
    assert!(!terminal.screen.screen().contents().contains("stand still"));
    terminal.press("h");
    terminal.shows("pause, or continue");
    terminal.press("h");
    terminal.until("help gone", |screen| !screen.contains("stand still"));
    // Left, as terminals send it.
    terminal.press("\x1b[D");
    terminal.shows("PAUSED, 1 back");
    terminal.press("c");
    terminal.shows("pcpu 0");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_trace_without_runstates_is_told_on_the_screen_too() {
    let folder = folder();
    // A switch of xentrace and nothing else: a window of cpu 0 with one SWITCH.
    let mut bytes = Vec::new();
    let words: [u32; 10] = [0x2001_f003, 0, 28, 0xc002_800a, 5, 0, 0, 0, 1, 0];
    words.iter().for_each(|w| bytes.extend(w.to_le_bytes()));
    std::fs::write(folder.path().join("poor.bin"), bytes).unwrap();
    let args = ["mon", "poor.bin", "--cpu-hz", "1GHz"];
    let mut terminal = Terminal::start(&folder, &args);
    terminal.shows("none of runstates");
    terminal.press("\x03");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn parked_time_has_a_column_where_a_vcpu_was_parked() {
    let folder = folder();
    let recording = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/xen-traces");
        format!("{folder}/{name}/trace.bin")
    };
    domio(&folder)
        .args(["mon", &recording("c2-cap30")])
        .assert()
        .success()
        .stdout(contains("parked").and(contains("69.9")));
    domio(&folder)
        .args(["mon", &recording("c1-burn7")])
        .assert()
        .success()
        .stdout(contains("parked").not());
}
