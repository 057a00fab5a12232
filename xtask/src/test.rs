//! `cargo xtask test`: every check in turn, then a table.
//!
//! A failed step does not stop the later ones, so that one run shows everything there is to mend.

use crate::{cargo, docs, figures, tidy};
use anyhow::{Context as _, Result};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What proptest draws the inputs of property tests from.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

/// One step.
struct Step {
    name: &'static str,
    /// What it shows when it passes.
    about: &'static str,
    /// Whether `--quick` has it too.
    quick: bool,
    work: Work,
}

enum Work {
    /// Cargo with these arguments, with warnings of rustdoc as errors.
    Cargo(&'static [&'static str]),
    /// Cargo as a runner of tests: its closing lines are counted.
    Tests(&'static [&'static str]),
    /// A task of our own.
    Own(fn(&Path) -> Result<bool>),
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        about: "the code is laid out by rustfmt",
        quick: true,
        work: Work::Cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "tidy",
        about: "the project's own rules hold",
        quick: true,
        work: Work::Own(tidy::run),
    },
    Step {
        name: "lints",
        about: "the compiler and clippy have nothing to say",
        quick: true,
        work: Work::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "tests",
        about: "unit, property, golden and conformance tests pass",
        quick: true,
        work: Work::Tests(&[
            "test",
            "--workspace",
            "--no-fail-fast",
            "--lib",
            "--bins",
            "--tests",
        ]),
    },
    Step {
        name: "examples",
        about: "examples in the reference pages compile and hold",
        quick: false,
        work: Work::Tests(&["test", "--workspace", "--no-fail-fast", "--doc"]),
    },
    Step {
        name: "reference",
        about: "the reference pages build without a warning",
        quick: false,
        work: Work::Cargo(&["doc", "--workspace", "--no-deps"]),
    },
    Step {
        name: "release",
        about: "the command line and the benchmarks build for release",
        quick: false,
        work: Work::Cargo(&[
            "build",
            "--release",
            "--package",
            "domio",
            "--package",
            "domio-bench",
        ]),
    },
    Step {
        name: "commands",
        about: "every command in the documentation does what the page says",
        quick: false,
        work: Work::Own(|root| docs::run(root, false)),
    },
    Step {
        name: "figures",
        about: "the published figures come out as before",
        quick: false,
        work: Work::Own(figures::run),
    },
];

/// How a step went.
struct Outcome {
    name: &'static str,
    about: &'static str,
    passed: bool,
    seconds: f64,
    tests: Option<Tests>,
}

/// Sums over the closing lines of the test runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Tests {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tests {
    /// Adds a line "test result: ok. 3 passed; 0 failed; 1 ignored; ...", if it is one.
    fn count(&mut self, line: &str) {
        let Some((_, sums)) = line
            .strip_prefix("test result: ")
            .and_then(|l| l.split_once(". "))
        else {
            return;
        };
        for sum in sums.split(';') {
            let mut words = sum.split_whitespace();
            let number = words
                .next()
                .and_then(|n| n.parse::<u64>().ok())
                .unwrap_or(0);
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// Runs the steps at `root`; `false` when one failed.
///
/// # Errors
/// A step could not be started.
pub fn run(root: &Path, quick: bool) -> Result<bool> {
    let mut outcomes = Vec::new();
    for step in STEPS.iter().filter(|step| step.quick || !quick) {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let mut tests = None;
        let passed = match step.work {
            Work::Cargo(args) => succeeds(root, &mut cargo_command(args))?,
            Work::Tests(args) => {
                let (passed, sums) = run_tests(root, &mut cargo_command(args))?;
                tests = Some(sums);
                passed
            }
            Work::Own(task) => task(root)?,
        };
        outcomes.push(Outcome {
            name: step.name,
            about: step.about,
            passed,
            seconds: start.elapsed().as_secs_f64(),
            tests,
        });
    }
    println!("\n=== summary");
    print!("{}", table(&outcomes));
    Ok(outcomes.iter().all(|o| o.passed))
}

fn cargo_command(args: &[&str]) -> Command {
    let mut command = Command::new(cargo());
    command.args(args).env("RUSTDOCFLAGS", "-D warnings");
    // The inputs of property tests are the same in every run, so that what fails fails for what
    // was changed. `cargo test` draws new ones each time.
    if std::env::var_os(PROPERTY_SEED).is_none() {
        command.env(PROPERTY_SEED, "1");
    }
    command
}

fn succeeds(root: &Path, command: &mut Command) -> Result<bool> {
    let status = command.current_dir(root).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        println!("{command:?}: {status}");
    }
    Ok(status.success())
}

/// Runs a test command, passing its output on line by line.
fn run_tests(root: &Path, command: &mut Command) -> Result<(bool, Tests)> {
    command
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut tests = Tests::default();
    for line in BufReader::new(child.stdout.take().expect("it is piped")).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tests.count(&line);
    }
    // A run without tests shows nothing, so it does not pass.
    Ok((child.wait()?.success() && tests != Tests::default(), tests))
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for o in outcomes {
        let result = if o.passed { "passed" } else { "FAILED" };
        let note = match o.tests {
            Some(t) => format!(
                "{} passed, {} failed, {} ignored",
                t.passed, t.failed, t.ignored
            ),
            None => o.about.to_string(),
        };
        text += &format!("{:<10} {result}  {:>7.1} s  {note}\n", o.name, o.seconds);
    }
    let failed = outcomes.iter().filter(|o| !o.passed).count();
    let seconds: f64 = outcomes.iter().map(|o| o.seconds).sum();
    let result = if failed == 0 { "passed" } else { "FAILED" };
    text += &format!("{:<10} {result}  {seconds:>7.1} s  ", "all");
    text += &match failed {
        0 => format!("{} steps\n", outcomes.len()),
        _ => format!("{failed} of {} steps failed\n", outcomes.len()),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_summed() {
        let mut tests = Tests::default();
        tests.count("running 3 tests");
        tests.count("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out");
        tests.count("test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; finished");
        let sum = Tests {
            passed: 7,
            failed: 2,
            ignored: 1,
        };
        assert_eq!(tests, sum);
    }

    #[test]
    fn one_failure_shows_in_the_table() {
        let outcome = |name, passed| Outcome {
            name,
            about: "it holds",
            passed,
            seconds: 1.25,
            tests: None,
        };
        assert_eq!(
            table(&[outcome("format", true), outcome("lints", false)]),
            "format     passed      1.2 s  it holds\n\
             lints      FAILED      1.2 s  it holds\n\
             all        FAILED      2.5 s  1 of 2 steps failed\n"
        );
    }
}
