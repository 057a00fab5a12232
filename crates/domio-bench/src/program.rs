//! The program that users get, as it reads traces: `domio trace summary`, built by `cargo build
//! --release` beside this program. Its upper crates are not optimised, unlike this one: a slow loop
//! in one of them shows here, and in no other bench.

use crate::hash::blake2b;
use crate::hosts;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Seconds that a trace of a host is of.
const SECONDS: u64 = 20_000;

/// Requests of a block trace.
const REQUESTS: u64 = 200_000;

/// A trace of [`hosts::host`] as Xen's tools have it, made once.
fn xentrace() -> &'static [u8] {
    static TRACE: OnceLock<Vec<u8>> = OnceLock::new();
    TRACE.get_or_init(|| hosts::xentrace(&hosts::host(8), SECONDS))
}

/// The same in domio's own format.
fn own() -> &'static [u8] {
    static TRACE: OnceLock<Vec<u8>> = OnceLock::new();
    TRACE.get_or_init(|| hosts::trace(&hosts::host(8), SECONDS))
}

/// A trace of a disk: writes that take 3 ms each, every millisecond one.
fn block() -> &'static [u8] {
    static TRACE: OnceLock<Vec<u8>> = OnceLock::new();
    TRACE.get_or_init(|| {
        let mut text = String::from("time_s,action,rwbs,sector,nsec,proc\n");
        // Requests overlap: each line at its time.
        let mut lines: Vec<(u64, u64, char)> = (0..REQUESTS)
            .flat_map(|n| {
                let at = n * 1_000;
                [
                    (at, n, 'Q'),
                    (at + 7, n, 'G'),
                    (at + 20, n, 'D'),
                    (at + 3_000, n, 'C'),
                ]
            })
            .collect();
        lines.sort_unstable();
        for (us, n, action) in lines {
            let (s, us, sector) = (us / 1_000_000, us % 1_000_000, 16 * (n * 7_919 % 1_000_003));
            let _ = writeln!(text, "{s}.{us:06},{action},W,{sector},16,writer:{}", n % 3);
        }
        text.into_bytes()
    })
}

/// Where the program is: beside this one.
fn program() -> PathBuf {
    let beside = std::env::current_exe().expect("the system knows where this program is");
    beside
        .with_file_name("domio")
        .with_extension(std::env::consts::EXE_EXTENSION)
}

/// Has the program sum up `trace`, which it reads as it comes from another program; how many bytes
/// that are.
fn summed_up(trace: &'static [u8]) -> u64 {
    let program = program();
    let child = Command::new(&program)
        .args(["--quiet", "trace", "summary", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!(
            "{}: {error}; build it with `cargo build --release`",
            program.display()
        )
    });
    let mut input = child.stdin.take().expect("a pipe was asked for");
    // What this process does to hand the bytes over is nobody's time.
    let writer = std::thread::spawn(move || input.write_all(trace));
    let status = child.wait().expect("it was begun");
    let written = writer.join().expect("writing does not panic");
    assert!(status.success() && written.is_ok(), "{status}, {written:?}");
    trace.len() as u64
}

/// What `b2sum` does with the same bytes.
fn hashed(trace: &'static [u8]) -> u64 {
    std::hint::black_box(blake2b(trace));
    trace.len() as u64
}

/// Sums a xentrace file up.
pub fn read_xentrace() -> u64 {
    summed_up(xentrace())
}

/// The work that [`read_xentrace`] is compared with.
pub fn hash_xentrace() -> u64 {
    hashed(xentrace())
}

/// Sums an own trace up.
pub fn read_own() -> u64 {
    summed_up(own())
}

/// The work that [`read_own`] is compared with.
pub fn hash_own() -> u64 {
    hashed(own())
}

/// Sums a trace of a disk up.
pub fn read_block() -> u64 {
    summed_up(block())
}

/// The work that [`read_block`] is compared with.
pub fn hash_block() -> u64 {
    hashed(block())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_what_they_are_called_and_long_enough_for_a_clock() {
        assert!(block().starts_with(b"time_s,action") && block().len() > 20_000_000);
        assert!(own().starts_with(b"DOMIO") || own().len() > 10_000_000);
        assert!(xentrace().len() > 50_000_000, "{}", xentrace().len());
    }
}
