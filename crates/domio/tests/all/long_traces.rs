//! A block trace that does not fit into memory is summed up, explained and replayed all the same.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// Volumes that the trace names.
const VOLUMES: u64 = 20;

/// Writes `bytes` of a trace in the form of Alibaba's: random reads and writes, 2,000 a second.
fn write_trace(mut to: impl Write, bytes: u64) {
    let mut state = 1u64;
    let (mut written, mut us) = (0, 1_577_808_000_000_000u64);
    let mut lines = String::new();
    while written < bytes {
        lines.clear();
        for _ in 0..1000 {
            // A linear congruential generator (Knuth's MMIX).
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            let drawn = state >> 20;
            let volume = drawn % VOLUMES;
            let way = ["R", "W"][(drawn / VOLUMES % 2) as usize];
            let (page, pages) = (drawn % 9_000_000, 1 + drawn % 4);
            us += 300 + drawn % 400;
            lines += &format!("{volume},{way},{},{},{us}\n", page * 4096, pages * 4096);
        }
        to.write_all(lines.as_bytes()).expect("the program reads");
        written += lines.len() as u64;
    }
}

/// Most bytes that `child` has had in memory so far.
fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
    let status = status.expect("the program waits for more");
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.expect("Linux tells the peak").trim();
    let kib: u64 = line.strip_suffix("kB").unwrap().trim().parse().unwrap();
    kib * 1024
}

/// Peak memory of `domio` with `args` on a trace of so many bytes on its standard input.
fn memory(args: &[&str], bytes: u64) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_domio"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program is there");
    let mut input = child.stdin.take().expect("it is piped");
    write_trace(&mut input, bytes);
    // What the pipe still holds is 64 KiB.
    let peak = peak(&child);
    drop(input);
    assert!(child.wait().expect("it ends").success(), "{args:?}");
    peak
}

const MB: u64 = 1_000_000;

// Tables that have a limit are full only after some hundred thousand requests, and take 16 MB at
// most.

/// What is done with traces.
const DONE: [&[&str]; 4] = [
    &["trace", "summary", "-"],
    &["explain", "-"],
    &[
        "trace",
        "replay",
        "-",
        "--drive",
        "nvme",
        "--elevator",
        "mq-deadline",
    ],
    &["trace", "replay", "-", "--drive", "nvme", "--closed"],
];

#[test]
fn memory_does_not_grow_with_a_trace() {
    for args in DONE {
        let [small, large] = [2, 20].map(|mb| memory(args, mb * MB));
        assert!(large < small + 16 * MB, "{args:?}: {small} {large}");
    }
}

#[test]
#[ignore = "takes minutes; `cargo xtask nightly long` runs it"]
fn a_trace_of_a_gigabyte_takes_as_much_memory_as_a_small_one() {
    for args in DONE {
        let peaks = [10, 100, 1000].map(|mb| memory(args, mb * MB));
        let [small, middle, large] = peaks.map(|bytes| bytes as f64 / MB as f64);
        println!(
            "domio {}: {small:.1} {middle:.1} {large:.1} MB",
            args.join(" ")
        );
        assert!(peaks[2] < peaks[0] + 16 * MB, "{args:?}: {peaks:?}");
    }
}
