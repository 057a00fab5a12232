//! `domio record` and `domio mon --live`, where the program has them and the machine allows them.

use std::process::Command;

/// The program, where it finds no files.
fn domio() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("domio"));
    command.current_dir(std::env::temp_dir());
    command
}

#[cfg(not(all(feature = "record", target_os = "linux")))]
#[test]
fn a_program_without_the_feature_says_so() {
    for args in [&["record"][..], &["mon", "--live", "--once"]] {
        let output = domio().args(args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        let why = ["--features record", "another system"];
        assert!(why.iter().any(|why| error.contains(why)), "{error}");
    }
}

#[test]
fn live_takes_no_file_and_nothing_else_does_without() {
    let refused = |args: &[&str], expected: &str| {
        let output = domio().args(args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    };
    refused(&["mon"], "FILE|SCENARIO");
    refused(&["mon", "burn7", "--once"], "--live");
    refused(&["mon", "--live", "--follow"], "--follow");
    refused(&["mon", "--live", "--prometheus"], "--once");
    refused(&["record", "--buffer", "3"], "64KiB to 1GiB");
    refused(&["record", "--bpf", "--tracefs"], "--tracefs");
}

#[cfg(all(feature = "record", target_os = "linux"))]
mod with_the_feature {
    use super::domio;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// What the command says; `None`, and a line, where the machine does not allow recording.
    fn recorded(args: &[&str]) -> Option<(String, String)> {
        let output = domio().args(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        if output.status.code() == Some(2) && error.contains("run as root") {
            println!("SKIPPED, this machine does not allow recording: {error}");
            return None;
        }
        assert!(output.status.success(), "{args:?}: {error}");
        Some((out, error))
    }

    #[test]
    fn a_recording_is_a_trace_with_names() {
        for way in ["--bpf", "--tracefs"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("it.domio");
            let path = path.to_str().unwrap();
            let args = ["record", "--seconds", "1", way, "--output", path];
            let Some((_, error)) = recorded(&args) else {
                continue;
            };
            assert!(error.contains("none lost"), "{error}");
            assert!(error.contains("% of a CPU"), "{error}");
            let host = std::fs::read_to_string(folder.path().join("it.host.json")).unwrap();
            domio_trace::LinuxHost::parse(&host).unwrap();
            let output = domio().args(["trace", "summary", path]).output().unwrap();
            let summary = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{summary}");
            assert!(summary.contains("kernel"), "{summary}");
            // It cannot be made again.
            let output = domio().args(args).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(error.contains("--force"), "{error}");
        }
    }

    #[test]
    fn one_interval_of_this_machine_is_shown() {
        let args = ["mon", "--live", "--once", "--interval", "500"];
        if let Some((table, _)) = recorded(&args) {
            assert!(table.contains("kernel"), "{table}");
        }
        if let Some((text, _)) = recorded(&["mon", "--live", "--once", "--prometheus"]) {
            assert!(text.contains("domio_vcpu_gotten_seconds_total"), "{text}");
        }
    }

    #[test]
    fn the_sums_are_served() {
        let mut child = domio()
            .args(["mon", "--live", "--prometheus", "--interval", "200"])
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("serving http://")
            .unwrap()
            .to_owned();
        let address = address.trim_end_matches("/metrics").to_owned();
        let until = Instant::now() + Duration::from_secs(20);
        let mut answer = String::new();
        while !answer.contains("domio_vcpu_gotten") && Instant::now() < until {
            if child.try_wait().unwrap().is_some() {
                let mut error = String::new();
                errors.read_to_string(&mut error).unwrap();
                assert!(error.contains("run as root"), "{error}");
                println!("SKIPPED, this machine does not allow recording: {error}");
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
            let mut client = TcpStream::connect(&address).unwrap();
            client
                .set_read_timeout(Some(Duration::from_secs(5)))
                .unwrap();
            client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
            answer.clear();
            client.read_to_string(&mut answer).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(answer.contains("domio_vcpu_gotten"), "{answer}");
    }
}
