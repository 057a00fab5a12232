//! The step `fuzz` of `cargo xtask nightly`: every reader of foreign bytes takes what a fuzzer
//! makes of files that ship, and of inputs that it found in earlier nights.
//!
//! A fuzzer has one thread, so as many run at a time as the machine has cores. What each prints
//! goes into a file of its own.

use crate::steps::{Done, succeeds};
use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// How long each fuzzer runs (seconds).
const SECONDS: u32 = 300;

/// An input that takes longer than this many seconds is a failure: readers are linear.
const TIMEOUT: u32 = 30;

/// Longest input (bytes): several windows of a trace, and the work of a fuzzer stays in parsing.
const LENGTH_MAX: u32 = 64 << 10;

/// Where each fuzzer starts from: folders of files that its reader takes.
const SEEDS: [(&str, &[&str]); 9] = [
    ("any", &["testdata/trace", "testdata/block-traces/forms"]),
    ("block", &["testdata/block-traces/forms"]),
    (
        "elevator",
        &["testdata/elevators/noop", "testdata/elevators/cfq"],
    ),
    ("fio", &[]),
    ("linux", &["testdata/linux"]),
    ("old", &["testdata/trace"]),
    ("own", &["testdata/trace"]),
    ("scenario", &["scenarios"]),
    ("xentrace", &["testdata/trace"]),
];

/// Runs all fuzzers of the project at `root`, side by side. A failure names the file with the
/// fuzzer's output, which names the input.
///
/// # Errors
/// A fuzzer could not be started, or has no seeds here.
pub fn run(root: &Path) -> Result<Done> {
    let targets = targets(root)?;
    if !is_there() {
        let how = "rustup toolchain install nightly, then cargo install cargo-fuzz";
        return Ok(Done::LeftOut(format!("no cargo-fuzz here; {how}")));
    }
    if !succeeds(root, fuzzer().arg("build"))? {
        return Ok(Done::Told(false, "the fuzzers do not build".to_owned()));
    }
    let logs = root.join("target/fuzz");
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let waiting = Mutex::new(targets.iter());
    let failed = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        loop {
            // Taken in a statement of its own: the lock is not held while the fuzzer runs.
            let next = waiting.lock().expect("no thread panicked").next();
            let Some(target) = next else { return Ok(()) };
            let log = logs.join(format!("{target}.log"));
            if !passes(root, target, &log)? {
                println!("fuzzer {target} FAILED: {}", log.display());
                failed.lock().expect("no thread panicked").push(target);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().expect("no thread panicked")?;
        }
        Ok(())
    })?;
    let failed = failed.into_inner().expect("no thread panicked");
    let told = match failed.as_slice() {
        [] => format!("{} fuzzers, {SECONDS} s each", targets.len()),
        some => format!("{some:?} failed; see {}", logs.display()),
    };
    Ok(Done::Told(failed.is_empty(), told))
}

/// Cargo with its fuzzer. Fuzzers need the compiler's nightly release, whatever this program was
/// built with.
fn fuzzer() -> Command {
    let mut command = Command::new("cargo");
    for own in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTFLAGS"] {
        command.env_remove(own);
    }
    command.args(["+nightly", "fuzz"]);
    command
}

fn is_there() -> bool {
    let mut command = fuzzer();
    command.arg("--version").stdin(Stdio::null());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs one fuzzer, with its output in `log`.
fn passes(root: &Path, target: &str, log: &Path) -> Result<bool> {
    let corpus = root.join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus)
        .with_context(|| format!("cannot make {}", corpus.display()))?;
    let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut command = fuzzer();
    command
        .args(["run", target])
        .arg(corpus)
        .args(seeds(root, target)?)
        .arg("--")
        .arg(format!("-max_total_time={SECONDS}"))
        .arg(format!("-timeout={TIMEOUT}"))
        .arg(format!("-max_len={LENGTH_MAX}"))
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(output.try_clone().context("cannot write twice")?)
        .stderr(output);
    let status = command.status();
    Ok(status.context("cannot start cargo")?.success())
}

fn seeds(root: &Path, target: &str) -> Result<Vec<PathBuf>> {
    let of = SEEDS.iter().find(|(name, _)| *name == target);
    let Some((_, folders)) = of else {
        bail!("the fuzzer \"{target}\" has no row in SEEDS of xtask/src/fuzz.rs");
    };
    Ok(folders.iter().map(|folder| root.join(folder)).collect())
}

/// Names of the fuzzers: the files in `fuzz/fuzz_targets`.
fn targets(root: &Path) -> Result<Vec<String>> {
    let entries = root.join("fuzz/fuzz_targets").read_dir();
    let mut targets = Vec::new();
    for entry in entries.context("cannot list the fuzzers")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        targets.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    targets.sort();
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fuzzer_is_built_and_has_seeds_that_ship() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let targets = targets(root).unwrap();
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        for target in &targets {
            assert!(
                manifest.contains(&format!("name = \"{target}\"")),
                "{target}"
            );
            for folder in seeds(root, target).unwrap() {
                assert!(folder.is_dir(), "{}", folder.display());
            }
        }
        assert_eq!(targets.len(), SEEDS.len());
        assert!(seeds(root, "fuzzy").is_err());
    }
}
