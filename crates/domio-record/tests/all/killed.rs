//! Nothing stays switched on after SIGKILL.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use domio_linux::{LinuxEvent as Event, Tasks};
use domio_record::Way;

use crate::start;

/// The way that the child is to record by.
const ASKED: &str = "DOMIO_TEST_RECORDS";

/// What the child prints when recording is on.
const ON: &str = "recording is on";

/// In the child: records until killed, or for a few seconds.
#[test]
fn child_that_records() {
    let way = match std::env::var(ASKED).as_deref() {
        Ok("bpf") => Way::Bpf,
        Ok("tracefs") => Way::Tracefs,
        _ => return,
    };
    let Some(mut live) = start(way) else {
        return;
    };
    println!("{ON}");
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        live.round(&mut |_: &Event, _: &Tasks| {}).unwrap();
    }
}

/// A child that records by now; `None` where the machine does not allow that.
fn child(way: &str) -> Option<Child> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child_that_records", "--nocapture"])
        .env(ASKED, way)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while output.read_line(&mut line).unwrap() > 0 {
        if line.contains(ON) {
            return Some(child);
        }
        if line.contains("SKIPPED") {
            println!("{}", line.trim());
        }
        line.clear();
    }
    child.wait().unwrap();
    None
}

/// Waits until `gone`, for some seconds.
fn wait(gone: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if gone() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Instances of a process.
fn instances(process: u32) -> Vec<PathBuf> {
    let roots = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let entries = roots
        .iter()
        .flat_map(|root| fs::read_dir(format!("{root}/instances")));
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let own = format!("domio-{process}-");
    paths
        .filter(|path| {
            path.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with(&own))
        })
        .collect()
}

#[test]
fn no_instance_of_tracefs_is_left() {
    let Some(mut child) = child("tracefs") else {
        return;
    };
    assert!(!instances(child.id()).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        wait(|| instances(child.id()).is_empty()),
        "the guardian has removed the instance"
    );
}

/// Ids of BPF programs that a process has open.
#[cfg(feature = "bpf")]
fn programs(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap();
    let infos = entries
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let id = |info: String| {
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("prog_id:"))?;
        line.trim().parse().ok()
    };
    infos.filter_map(id).collect()
}

#[cfg(feature = "bpf")]
#[test]
fn no_program_of_bpf_is_left() {
    let Some(mut child) = child("bpf") else {
        return;
    };
    let programs = programs(child.id());
    assert!(!programs.is_empty(), "the child has programs");
    child.kill().unwrap();
    child.wait().unwrap();
    let is_gone = |id: &u32| libbpf_rs::Program::fd_from_id(*id).is_err();
    assert!(
        wait(|| programs.iter().all(is_gone)),
        "the kernel has none of {programs:?}"
    );
}
