//! `cargo xtask test`: what a change has to pass. The whole gate, or what is quick after a change.
//!
//! Tests and commands are built with one profile, so that nothing is compiled twice. Checks that
//! take longer than a gate may are in [`nightly`](crate::nightly).

use crate::changed::{Changed, changed};
use crate::steps::{self, Done, Step};
use crate::{docs, tidy};
use anyhow::Result;
use std::path::Path;

/// Runs every check at `root`; `false` when one fails.
///
/// # Errors
/// A check could not be started.
pub fn run(root: &Path) -> Result<bool> {
    steps::run(root, gate())
}

/// Runs what a change since `base` needs: the project's rules, and the lints and tests of the
/// packages that have changed. The packages that use those are compiled.
///
/// # Errors
/// A check could not be started, or git does not know `base`.
pub fn run_quick(root: &Path, base: &str) -> Result<bool> {
    let changed = changed(root, base)?;
    println!("since {base}: {changed}");
    steps::run(root, quick(&changed))
}

fn gate() -> Vec<Step> {
    // One command for lints, tests and the examples in comments: another one has other features of
    // some dependencies, and compiles half of the libraries again.
    // Benchmarks, what reads schemas, and what they alone need are compiled at night.
    let tests = "test --release --workspace --exclude domio-bench --exclude domio-schemas \
                 --no-fail-fast";
    vec![
        format(),
        rules(),
        Step::tests(
            "tests",
            "compiler and clippy have nothing to say; tests and examples of the reference pass",
            tests,
            &[],
        )
        .linted(),
        Step::own(
            "commands",
            "every command in the documentation does what the page says",
            |root| docs::run(root, false).map(Done::Checked),
        ),
    ]
}

fn quick(changed: &Changed) -> Vec<Step> {
    let mut steps = vec![format(), rules()];
    if changed.packages.is_empty() {
        return steps;
    }
    let packages = changed.packages.iter();
    let packages: Vec<String> = packages
        .flat_map(|name| ["--package".to_owned(), name.clone()])
        .collect();
    steps.push(
        Step::tests(
            "tests",
            "compiler and clippy have nothing to say of what has changed; its tests pass",
            "test --release --no-fail-fast --lib --bins --tests",
            &packages,
        )
        .linted(),
    );
    steps.push(Step::cargo(
        "reference",
        "the reference pages of what has changed build without a warning",
        "doc --release --no-deps",
        &packages,
    ));
    steps.push(Step::cargo(
        "users",
        "what uses it still compiles",
        "check --release --workspace",
        &[],
    ));
    steps
}

fn format() -> Step {
    let line = "fmt --all --check";
    Step::cargo("format", "the code is laid out by rustfmt", line, &[])
}

fn rules() -> Step {
    Step::own("tidy", "the project's own rules hold", |root| {
        tidy::run(root).map(Done::Checked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Work;

    fn names(steps: &[Step]) -> Vec<&str> {
        steps.iter().map(|step| step.name).collect()
    }

    #[test]
    fn what_has_not_changed_is_not_tested_quickly() {
        let of = |packages: &[&str]| {
            quick(&Changed {
                packages: packages.iter().map(|p| (*p).to_owned()).collect(),
            })
        };
        assert_eq!(names(&of(&[])), ["format", "tidy"]);
        let two = of(&["domio-core", "xtask"]);
        assert_eq!(
            names(&two),
            ["format", "tidy", "tests", "reference", "users"]
        );
        let Work::Tests(args) = &two[2].work else {
            panic!("the tests are no tests");
        };
        let packages = ["--package", "domio-core", "--package", "xtask"];
        assert!(args.ends_with(&packages.map(str::to_owned)), "{args:?}");
    }

    /// One profile: whatever step compiles, it compiles for release.
    #[test]
    fn nothing_is_compiled_twice() {
        for step in gate() {
            let (Work::Cargo(args) | Work::Tests(args)) = &step.work else {
                continue;
            };
            if step.name != "format" {
                assert!(args.contains(&"--release".to_owned()), "{}", step.name);
            }
        }
    }
}
