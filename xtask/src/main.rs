//! Project tasks, run as `cargo xtask TASK`.
//!
//! `test` is what a change has to pass, on a laptop and in continuous integration alike. The other
//! tasks are its parts, for when only one of them is of interest, and `bench`.

mod bench;
mod bpf;
mod changed;
mod cli;
mod compiler;
mod docs;
mod fuzz;
mod nightly;
mod outside;
mod places;
mod programs;
mod release;
mod steps;
mod survival;
mod task;
mod test;
mod tidy;
mod times;
mod verdicts;

use anyhow::Result;
use places::{cargo, root};
use std::path::Path;
use std::process::ExitCode;
use task::{HELP, Task};

fn main() -> ExitCode {
    if compiler::is_called() {
        return compiler::compile().unwrap_or_else(|error| {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        });
    }
    if release::compiler::is_called() {
        return release::compiler::compile().unwrap_or_else(|error| {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        });
    }
    let outcome = Task::parse(lexopt::Parser::from_env()).and_then(run);
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Carries out a task; `false` when a check failed.
fn run(task: Task) -> Result<bool> {
    let root = root()?;
    match task {
        Task::Help => {
            print!("{HELP}");
            Ok(true)
        }
        Task::Test => test::run(&root),
        Task::Quick { base } => test::run_quick(&root, &base),
        Task::Nightly(steps) => nightly::run(&root, &steps),
        Task::Tidy { list_rules: true } => {
            tidy::print_rules();
            Ok(true)
        }
        Task::Tidy { list_rules: false } => tidy::run(&root),
        Task::Docs { update } => docs::run(&root, update),
        Task::Page => page(&root),
        Task::Bpf => bpf::run(&root),
        Task::Release { output, parts } => release::run(&root, output.as_deref(), &parts),
        Task::Times => times::run(&root),
        Task::Survival(asked) => survival::run(&root, &asked),
        Task::Bench(args) => bench::run(&root, &args),
    }
}

/// Builds the page for browsers, which is a workspace of its own.
fn page(root: &Path) -> Result<bool> {
    let mut command = std::process::Command::new(cargo());
    command.args(["run", "--quiet", "--locked", "--package", "domio-page"]);
    steps::succeeds(&root.join("web"), &mut command)
}
