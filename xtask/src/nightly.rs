//! `cargo xtask nightly`: what takes longer than a gate may. Each step can be asked for alone.

use crate::cli::{build, end_of_script};
use crate::places::{cargo, release_folder, without_libraries};
use crate::steps::{self, Done, Step, cargo_command, succeeds};
use crate::{fuzz, outside, release, survival, test, verdicts};
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::Command;

/// Names of the steps, in their order, and what each shows when it passes.
pub const STEPS: [(&str, &str); 19] = [
    ("gate", "everything that a change has to pass"),
    (
        "benches",
        "the benchmarks run, their tests pass, and clippy has nothing to say of them",
    ),
    (
        "schemas",
        "commands print and read what the published schemas say",
    ),
    ("reference", "the reference pages build without a warning"),
    (
        "portable",
        "one simulation compiles for a page of a browser, too",
    ),
    (
        "long",
        "tests that take minutes: slow twins at length, robustness, exact search",
    ),
    (
        "verdicts",
        "no published claim is decided against the record, at normal effort",
    ),
    (
        "survival",
        "claims are decided on other machines, and their page has what is on record",
    ),
    (
        "recordings",
        "every recording that ships agrees, and is searched dispatch by dispatch",
    ),
    (
        "tools",
        "sums of Linux recordings are those of perf and trace-cmd on the same files",
    ),
    (
        "oracle",
        "Xen 4.17's own schedulers make the same decisions, and broken ones are noticed",
    ),
    (
        "readers",
        "DuckDB, Polars, pandas and PyArrow read what sweeps write",
    ),
    (
        "python",
        "the Python package has the figures of the command line, on clusters too",
    ),
    (
        "page",
        "the page for browsers keeps what it promises, in Chromium",
    ),
    (
        "xcollopts",
        "the switches of XCollOpts can be swept, on a few small hosts",
    ),
    (
        "outside",
        "a part of each kind is built, tested and simulated out of the tree",
    ),
    (
        "packages",
        "every crate can be packed, and builds from its package",
    ),
    (
        "release",
        "the files of a release are built, and work where nothing else is installed",
    ),
    (
        "fuzz",
        "no reader of foreign bytes panics or hangs, five minutes each",
    ),
];

/// Compares sums with those of the kernel's tools, if they are there.
fn tools(root: &Path) -> Result<Done> {
    // `trace-cmd` fails whatever it is asked for without a file.
    let is_there = |tool: &&str| Command::new(tool).arg("--version").output().is_ok();
    let missing: Vec<&str> = ["perf", "trace-cmd"]
        .into_iter()
        .filter(|tool| !is_there(tool))
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(" and ");
        return Ok(Done::LeftOut(format!(
            "no {missing} here; `apt-get install linux-perf trace-cmd`"
        )));
    }
    let line = "test --release --package domio-meter --test all -- tools:: --nocapture";
    let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
    succeeds(root, &mut cargo_command(&args)).map(Done::Checked)
}

/// Runs the steps called `names`, or all of them when there are none; `false` when one fails.
///
/// # Errors
/// No step has such a name, or one could not be started.
pub fn run(root: &Path, names: &[String]) -> Result<bool> {
    let known = |name: &String| STEPS.iter().any(|(step, _)| step == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        bail!("nightly has no step \"{name}\"; it has {}", all.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|other| other == name);
    let mut steps = Vec::new();
    for (name, about) in STEPS.into_iter().filter(|(name, _)| wanted(name)) {
        match name {
            "gate" => steps.push(Step::own(name, about, |root| {
                test::run(root).map(Done::Checked)
            })),
            "benches" => {
                // Each benchmark goes round once when it is tested.
                let line = "test --release --package domio-bench --bins --benches";
                steps.push(Step::tests(name, about, line, &[]).linted());
            }
            "schemas" => steps.push(Step::own(name, about, |root| {
                // The tests look for the command line where cargo builds.
                build(root)?;
                let args = ["test", "--release", "--package", "domio-schemas"];
                let mut command = cargo_command(&args.map(str::to_owned));
                succeeds(root, &mut command).map(Done::Checked)
            })),
            "reference" => {
                let line = "doc --release --workspace --no-deps";
                steps.push(Step::cargo(name, about, line, &[]));
            }
            "portable" => steps.push(Step::own(name, about, portable)),
            "long" => {
                let line =
                    "test --release --workspace --no-fail-fast --lib --bins --tests -- --ignored";
                steps.push(Step::tests(name, about, line, &[]).linted());
            }
            "verdicts" => steps.push(Step::own(name, about, verdicts::run)),
            "survival" => steps.push(Step::own(name, about, survival::nightly)),
            "recordings" => steps.push(Step::own(name, about, recordings)),
            "tools" => steps.push(Step::own(name, about, tools)),
            "oracle" => steps.push(Step::own(name, about, |root| {
                script(root, &["bash", "oracle/run.sh"])
            })),
            "readers" => steps.push(Step::own(name, about, |root| {
                script(root, &["bash", "crates/domio-answer/readers/run.sh"])
            })),
            "python" => steps.push(Step::own(name, about, |root| {
                script(root, &["bash", "python/run.sh"])
            })),
            "page" => steps.push(Step::own(name, about, |root| {
                script(root, &["bash", "web/test/run.sh"])
            })),
            "xcollopts" => steps.push(Step::own(name, about, |root| {
                script(root, &["python3", "docs/xcollopts.py", "--small"])
            })),
            "outside" => steps.push(Step::own(name, about, outside::run)),
            "packages" => {
                let line = "package --workspace --exclude xtask --allow-dirty --offline";
                steps.push(Step::cargo(name, about, line, &[]));
            }
            "release" => steps.push(Step::own(name, about, release::nightly)),
            "fuzz" => steps.push(Step::own(name, about, fuzz::run)),
            _ => unreachable!("STEPS has no other"),
        }
    }
    steps::run(root, steps)
}

/// Compiles what makes one simulation for a machine without files, threads and clock.
fn portable(root: &Path) -> Result<Done> {
    const TARGET: &str = "wasm32-unknown-unknown";
    if let Some(why) = without_libraries(TARGET)? {
        return Ok(Done::LeftOut(why));
    }
    let check = [
        "check",
        "--release",
        "--package",
        "domio-run",
        "--target",
        TARGET,
    ];
    let status = Command::new(cargo()).args(check).current_dir(root).status();
    Ok(Done::Checked(
        status.context("cannot start cargo")?.success(),
    ))
}

/// Both judgements of the recordings.
fn recordings(root: &Path) -> Result<Done> {
    build(root)?;
    let program = release_folder(root).join("domio");
    for more in [&[][..], &["--exact"][..]] {
        let mut command = Command::new(&program);
        command.arg("validate").args(more);
        if !succeeds(root, &mut command)? {
            return Ok(Done::Checked(false));
        }
    }
    Ok(Done::Checked(true))
}

/// A script that uses the command line, mostly to compare it with programs of others: random
/// scenarios against Xen's own schedulers (`oracle/README.md`), tables against those who read them.
fn script(root: &Path, words: &[&str]) -> Result<Done> {
    build(root)?;
    let domio = release_folder(root).join("domio");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("DOMIO", domio);
    Ok(match end_of_script(root, &mut command)? {
        Done::LeftOut(reason) => Done::LeftOut(format!("not compared: {reason}")),
        done => done,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_not_there_is_refused() {
        let error = run(Path::new("."), &["fuzzy".to_owned()]).unwrap_err();
        assert!(
            error.to_string().contains("it has gate, benches"),
            "{error}"
        );
    }
}
