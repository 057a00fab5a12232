//! Steps of a task: each runs, is timed and counted, and has its line in the table at the end.
//!
//! A failed step does not stop the later ones, so that one run shows everything there is to mend.

use crate::compiler;
use crate::places::cargo;
use crate::programs::{self, Tests};
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What proptest draws the inputs of property tests from.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

/// One step.
pub struct Step {
    /// Its name in the table.
    pub name: &'static str,
    /// What it shows when it passes.
    pub about: &'static str,
    /// Whether cargo compiles with the gate's [`compiler`]: what lints find is an error.
    pub linted: bool,
    /// What it does.
    pub work: Work,
}

/// What a step does.
pub enum Work {
    /// Cargo with these arguments, with warnings of rustdoc as errors.
    Cargo(Vec<String>),
    /// The tests that cargo runs with these arguments: their [programs](crate::programs) are run
    /// side by side, and closing lines counted.
    Tests(Vec<String>),
    /// A task of our own.
    Own(Box<Task>),
}

/// What a task of our own does at the root of the project.
type Task = dyn FnOnce(&Path) -> Result<Done>;

/// How a task of our own went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// It passed, or did not.
    Checked(bool),
    /// It passed, or did not, with a line for the table.
    Told(bool, String),
    /// It could not be done on this machine, and why.
    LeftOut(String),
}

impl Step {
    /// A step that runs cargo with the words of `line`, and with `more` behind them.
    pub fn cargo(name: &'static str, about: &'static str, line: &str, more: &[String]) -> Step {
        Step {
            name,
            about,
            linted: false,
            work: Work::Cargo(words(line, more)),
        }
    }

    /// A step that runs tests by cargo with the words of `line`, and with `more` behind them.
    pub fn tests(name: &'static str, about: &'static str, line: &str, more: &[String]) -> Step {
        Step {
            name,
            about,
            linted: false,
            work: Work::Tests(words(line, more)),
        }
    }

    /// The step with clippy as its compiler.
    pub fn linted(self) -> Step {
        Step {
            linted: true,
            ..self
        }
    }

    /// A step of our own.
    pub fn own(
        name: &'static str,
        about: &'static str,
        work: impl FnOnce(&Path) -> Result<Done> + 'static,
    ) -> Step {
        Step {
            name,
            about,
            linted: false,
            work: Work::Own(Box::new(work)),
        }
    }
}

fn words(line: &str, more: &[String]) -> Vec<String> {
    let line = line.split_whitespace().map(str::to_owned);
    line.chain(more.iter().cloned()).collect()
}

/// How a step went.
struct Outcome {
    name: &'static str,
    about: &'static str,
    done: Done,
    seconds: f64,
    tests: Option<Tests>,
}

/// Runs the steps at `root`; `false` when one failed.
///
/// # Errors
/// A step could not be started.
pub fn run(root: &Path, steps: Vec<Step>) -> Result<bool> {
    let mut outcomes = Vec::new();
    for step in steps {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let mut tests = None;
        let done = match step.work {
            Work::Cargo(args) => {
                let mut command = command_of(root, &args, step.linted)?;
                Done::Checked(succeeds(root, &mut command)?)
            }
            Work::Tests(args) => {
                let command = |args: &[String]| command_of(root, args, step.linted);
                let (passed, sums) = programs::run(root, &args, command)?;
                tests = Some(sums);
                Done::Checked(passed)
            }
            Work::Own(task) => task(root)?,
        };
        outcomes.push(Outcome {
            name: step.name,
            about: step.about,
            done,
            seconds: start.elapsed().as_secs_f64(),
            tests,
        });
    }
    println!("\n=== summary");
    print!("{}", table(&outcomes));
    Ok(!outcomes.iter().any(Outcome::failed))
}

/// Cargo with `args`, which compiles with clippy where that is asked for.
fn command_of(root: &Path, args: &[String], linted: bool) -> Result<Command> {
    let mut command = cargo_command(args);
    if linted {
        compiler::compile_with_clippy(root, &mut command)?;
    }
    Ok(command)
}

/// Cargo with `args`, as all steps call it.
pub fn cargo_command(args: &[String]) -> Command {
    let mut command = Command::new(cargo());
    command.args(args).env("RUSTDOCFLAGS", "-D warnings");
    fix_property_seed(&mut command);
    command
}

/// Makes the inputs of property tests the same in every run, so that what fails fails for what was
/// changed. `cargo test` draws new ones each time.
pub fn fix_property_seed(command: &mut Command) {
    if std::env::var_os(PROPERTY_SEED).is_none() {
        command.env(PROPERTY_SEED, "1");
    }
}

/// Whether `command` ends well at `root`.
pub fn succeeds(root: &Path, command: &mut Command) -> Result<bool> {
    let status = command.current_dir(root).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        println!("{command:?}: {status}");
    }
    Ok(status.success())
}

impl Outcome {
    fn failed(&self) -> bool {
        matches!(self.done, Done::Checked(false) | Done::Told(false, _))
    }

    fn note(&self) -> String {
        match (&self.done, self.tests) {
            (Done::Told(_, note) | Done::LeftOut(note), _) => note.clone(),
            (Done::Checked(_), Some(t)) => format!(
                "{} passed, {} failed, {} ignored",
                t.passed, t.failed, t.ignored
            ),
            (Done::Checked(_), None) => self.about.to_owned(),
        }
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for o in outcomes {
        let result = match o.done {
            Done::LeftOut(_) => "left out",
            _ if o.failed() => "FAILED",
            _ => "passed",
        };
        text += &format!(
            "{:<10} {result:<8}  {:>7.1} s  {}\n",
            o.name,
            o.seconds,
            o.note()
        );
    }
    let failed = outcomes.iter().filter(|o| o.failed()).count();
    let seconds: f64 = outcomes.iter().map(|o| o.seconds).sum();
    let result = if failed == 0 { "passed" } else { "FAILED" };
    text += &format!("{:<10} {result:<8}  {seconds:>7.1} s  ", "all");
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
    fn one_failure_shows_in_the_table() {
        let outcome = |name, done| Outcome {
            name,
            about: "it holds",
            done,
            seconds: 1.25,
            tests: None,
        };
        assert_eq!(
            table(&[
                outcome("format", Done::Checked(true)),
                outcome("lints", Done::Checked(false)),
                outcome("fuzz", Done::LeftOut("no fuzzer here".to_owned())),
                outcome("verdicts", Done::Told(true, "3 moved".to_owned())),
            ]),
            "format     passed        1.2 s  it holds\n\
             lints      FAILED        1.2 s  it holds\n\
             fuzz       left out      1.2 s  no fuzzer here\n\
             verdicts   passed        1.2 s  3 moved\n\
             all        FAILED        5.0 s  1 of 4 steps failed\n"
        );
    }
}
