//! Test programs side by side, as many as there are processors.
//!
//! `cargo test` compiles the programs and runs one after the other. Each program ends with its
//! longest test alone, and the examples of the reference take one processor all along. Here cargo
//! compiles, and the programs that it names are run beside each other. What a program prints is
//! shown when the program has ended, so that the lines of two are not mixed.

use crate::places::cargo;
use crate::steps;
use anyhow::{Context as _, Result};
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// Sums over the closing lines of the test runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tests {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were left out.
    pub ignored: u64,
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

/// Something to be run.
struct Job {
    /// What is printed before its output.
    name: String,
    command: Command,
}

/// What has come of the jobs so far.
struct Shown {
    waiting: VecDeque<Job>,
    tests: Tests,
    failed: Vec<String>,
}

/// Compiles and runs the tests that `cargo` with `args` would, where `test` is the first word of
/// `args`. `command` makes such a command. Returns whether there were tests and all passed, and
/// how many there were.
///
/// # Errors
/// Cargo or a program could not be started.
pub fn run(
    root: &Path,
    args: &[String],
    command: impl Fn(&[String]) -> Result<Command>,
) -> Result<(bool, Tests)> {
    let split = args.iter().position(|arg| arg == "--");
    let (build, rest) = args.split_at(split.unwrap_or(args.len()));
    let to_programs = rest.get(1..).unwrap_or_default();
    let with = |more: &[&str]| {
        let more = more.iter().map(|arg| (*arg).to_owned());
        command(&build.iter().cloned().chain(more).collect::<Vec<_>>())
    };
    let mut compile = with(&["--no-run", "--message-format=json-render-diagnostics"])?;
    let Some(programs) = compiled(root, &mut compile)? else {
        return Ok((false, Tests::default()));
    };
    let jobs = programs.into_iter().map(|p| p.job(root, to_programs));
    let mut waiting: VecDeque<Job> = jobs.collect();
    if build.iter().all(|arg| !picks_targets(arg)) {
        let mut command = with(&["--doc"])?;
        command.current_dir(root);
        let name = "examples of the reference".to_owned();
        waiting.push_back(Job { name, command });
    }
    let shown = Mutex::new(Shown {
        waiting,
        tests: Tests::default(),
        failed: Vec::new(),
    });
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let work = || scope.spawn(|| work(&shown));
        let threads: Vec<_> = (0..workers).map(|_| work()).collect();
        let ends = threads.into_iter().map(|t| t.join().expect("no panic"));
        ends.collect::<Result<Vec<()>>>()
    })?;
    let Shown { tests, failed, .. } = shown.into_inner().expect("no panic");
    for name in &failed {
        println!("failed: {name}");
    }
    // A run without tests shows nothing, so it does not pass.
    Ok((failed.is_empty() && tests != Tests::default(), tests))
}

/// Whether this argument of cargo says which kinds of programs are wanted. Examples of the
/// reference are run where nothing is said.
fn picks_targets(arg: &str) -> bool {
    ["--lib", "--bins", "--tests", "--benches"].contains(&arg)
}

/// Runs jobs until none waits.
fn work(shown: &Mutex<Shown>) -> Result<()> {
    loop {
        let next = shown.lock().expect("no panic").waiting.pop_front();
        let Some(mut job) = next else {
            return Ok(());
        };
        println!("     Running {}", job.name);
        let (passed, text) = output(&mut job.command)?;
        let mut shown = shown.lock().expect("no panic");
        println!("      Output of {}\n{text}", job.name);
        text.lines().for_each(|line| shown.tests.count(line));
        if !passed {
            shown.failed.push(job.name);
        }
    }
}

/// Whether `command` ends well, and all that it prints.
fn output(command: &mut Command) -> Result<(bool, String)> {
    let (mut reader, writer) = std::io::pipe().context("no pipe")?;
    command.stdin(Stdio::null());
    command.stdout(writer.try_clone().context("no pipe")?);
    command.stderr(writer);
    let child = command.spawn();
    let mut child = child.with_context(|| format!("cannot start {command:?}"))?;
    // The command holds the ends of the pipe that this process has.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let passed = child.wait()?.success();
    Ok((passed, String::from_utf8_lossy(&bytes).into_owned()))
}

/// A test program.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Program {
    path: PathBuf,
    /// Its package's folder, in which cargo runs tests.
    folder: PathBuf,
}

impl Program {
    /// What a line of cargo's messages says of a test program.
    fn of(line: &str) -> Option<Program> {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_test = message["profile"]["test"] == true;
        let path = message["executable"].as_str().filter(|_| is_test)?;
        let manifest = Path::new(message["manifest_path"].as_str()?);
        Some(Program {
            path: path.into(),
            folder: manifest.parent()?.to_owned(),
        })
    }

    fn job(&self, root: &Path, args: &[String]) -> Job {
        let mut command = Command::new(&self.path);
        command.args(args).current_dir(&self.folder);
        command.env("CARGO", cargo());
        command.env("CARGO_MANIFEST_DIR", &self.folder);
        steps::fix_property_seed(&mut command);
        let short = self.path.strip_prefix(root).unwrap_or(&self.path);
        let name = short.display().to_string();
        Job { name, command }
    }
}

/// The programs that cargo compiles with `command`; `None` when it does not succeed.
fn compiled(root: &Path, command: &mut Command) -> Result<Option<Vec<Program>>> {
    command.current_dir(root).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start {command:?}"))?;
    let mut programs = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
        programs.extend(Program::of(&line?));
    }
    Ok(child.wait()?.success().then_some(programs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
    fn programs_are_those_that_are_tests() {
        let line = |test, executable| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/p/one/Cargo.toml\",\
                 \"profile\":{{\"test\":{test}}},\"executable\":{executable}}}"
            )
        };
        let program = Program {
            path: "/t/one-1".into(),
            folder: "/p/one".into(),
        };
        assert_eq!(Program::of(&line(true, "\"/t/one-1\"")), Some(program));
        assert_eq!(Program::of(&line(false, "\"/t/one\"")), None);
        assert_eq!(Program::of(&line(true, "null")), None);
        assert_eq!(Program::of("what a build script prints"), None);
    }

    /// Runs `cargo test` and `more` for a package with these files.
    fn ran(files: &[(&str, &str)], more: &[&str]) -> (bool, Tests) {
        let folder = tempfile::tempdir().expect("a folder");
        let manifest = "[package]\nname = \"one\"\nedition = \"2024\"\n[workspace]\n";
        for (name, text) in [&[("Cargo.toml", manifest)], files].concat() {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let words = ["test", "--offline", "--target-dir", "target"];
        let args: Vec<String> = [&words, more]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect();
        run(folder.path(), &args, |args| Ok(steps::cargo_command(args))).expect("cargo starts")
    }

    const LIBRARY: (&str, &str) = (
        "src/lib.rs",
        "//! ```\n//! assert_eq!(one::one(), 1);\n//! ```\npub fn one() -> u8 {\n    1\n}\n",
    );

    #[test]
    fn all_programs_and_examples_are_run_and_one_failure_fails() {
        let good = (
            "tests/good.rs",
            "#[test]\nfn good() {}\n#[test]\n#[ignore]\nfn not() {}\n",
        );
        let (passed, tests) = ran(&[LIBRARY, good], &[]);
        assert!(
            passed && (tests.passed, tests.ignored) == (2, 1),
            "{tests:?}"
        );
        let bad = ("tests/bad.rs", "#[test]\nfn bad() {\n    panic!();\n}\n");
        let (passed, tests) = ran(
            &[LIBRARY, bad, good],
            &["--tests", "--", "--include-ignored"],
        );
        assert!(
            !passed && (tests.passed, tests.failed) == (2, 1),
            "{tests:?}"
        );
    }

    #[test]
    fn what_does_not_compile_or_has_no_tests_does_not_pass() {
        assert!(!ran(&[("src/lib.rs", "fn f( {}\n")], &["--lib"]).0);
        assert!(!ran(&[("src/lib.rs", "//! Nothing.\n")], &[]).0);
    }
}
