//! Project tasks, run as `cargo xtask TASK`.
//!
//! `test` is what a change has to pass, on a laptop and in continuous integration alike. The other
//! tasks are its parts, for when only one of them is of interest, and `bench`.

mod bench;
mod changed;
mod compiler;
mod docs;
mod figures;
mod fuzz;
mod nightly;
mod outside;
mod programs;
mod steps;
mod test;
mod tidy;
mod xcollopts;

use anyhow::{Context as _, Result, bail};
use lexopt::prelude::*;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask TASK

Tasks:
  test             everything that a change has to pass, with a closing table
  test --quick [--base REV]
                   the project's rules, and lints and tests of the packages that
                   have changed since REV (HEAD without it)
  nightly [STEP...]
                   what takes longer; or only the steps named gate,
                   benches, reference, portable, long, verdicts, recordings, oracle,
                   readers, python, page, xcollopts, outside, packages, fuzz
  tidy [--rules]   the project's own rules, see docs/ARCHITECTURE.md;
                   --rules lists them
  docs [--update]  runs every command that the documentation shows and compares
                   its output; --update writes the new output into the pages
  xcollopts [--small]
                   sweeps the four switches of XCollOpts over hosts and writes
                   docs/xcollopts.md (twenty minutes of processor time); --small
                   sweeps a few hosts into out/xcollopts
  page             builds the page for browsers
  bench [--json] [--samples N] [NAME...]
                   measures against a plain loop, in the same run

Exit code: 0 for success, 1 for a failed check, 2 for \"could not run\".
";

/// A task as asked for on the command line.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    Help,
    Test,
    Quick { base: String },
    Nightly(Vec<String>),
    Tidy { list_rules: bool },
    Docs { update: bool },
    Xcollopts { small: bool },
    Page,
    Bench(Vec<String>),
}

impl Task {
    fn quick() -> Task {
        Task::Quick {
            base: "HEAD".to_owned(),
        }
    }

    fn parse(mut args: lexopt::Parser) -> Result<Task> {
        let name = match args.next()? {
            None => return Ok(Task::Help),
            Some(Long("help") | Short('h')) => return Ok(Task::Help),
            Some(Value(name)) => name.string()?,
            Some(other) => return Err(other.unexpected().into()),
        };
        if name == "bench" {
            let words = args.raw_args()?.map(|word| word.string());
            return Ok(Task::Bench(words.collect::<Result<_, _>>()?));
        }
        let mut task = match name.as_str() {
            "test" => Task::Test,
            "nightly" => Task::Nightly(Vec::new()),
            "tidy" => Task::Tidy { list_rules: false },
            "docs" => Task::Docs { update: false },
            "xcollopts" => Task::Xcollopts { small: false },
            "page" => Task::Page,
            "help" => Task::Help,
            _ => bail!("no task is called \"{name}\"; `cargo xtask help` lists them"),
        };
        while let Some(arg) = args.next()? {
            match (&mut task, arg) {
                (Task::Test, Long("quick")) => task = Task::quick(),
                (Task::Quick { base }, Long("base")) => *base = args.value()?.string()?,
                (Task::Nightly(steps), Value(step)) => steps.push(step.string()?),
                (Task::Tidy { list_rules }, Long("rules")) => *list_rules = true,
                (Task::Docs { update }, Long("update")) => *update = true,
                (Task::Xcollopts { small }, Long("small")) => *small = true,
                (_, Long("help") | Short('h')) => return Ok(Task::Help),
                (_, arg) => return Err(arg.unexpected().into()),
            }
        }
        Ok(task)
    }
}

fn main() -> ExitCode {
    if compiler::is_called() {
        return compiler::compile().unwrap_or_else(|error| {
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
        Task::Xcollopts { small } => xcollopts::run(&root, small),
        Task::Page => page(&root),
        Task::Bench(args) => bench::run(&root, &args),
    }
}

/// Builds the page for browsers, which is a workspace of its own.
fn page(root: &Path) -> Result<bool> {
    let mut command = std::process::Command::new(cargo());
    command.args(["run", "--quiet", "--locked", "--package", "domio-page"]);
    steps::succeeds(&root.join("web"), &mut command)
}

/// The repository that this program was built from.
fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = manifest.parent().unwrap_or(Path::new(".")).canonicalize();
    root.with_context(|| format!("no repository around {}", manifest.display()))
}

/// The cargo that runs this program, or the one on `PATH`.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task> {
        Task::parse(lexopt::Parser::from_args(line.split_whitespace()))
    }

    #[test]
    fn tasks_and_their_flags_are_understood() {
        assert_eq!(parse("").unwrap(), Task::Help);
        assert_eq!(parse("test --help").unwrap(), Task::Help);
        assert_eq!(parse("test").unwrap(), Task::Test);
        assert_eq!(parse("test --quick").unwrap(), Task::quick());
        assert_eq!(parse("page").unwrap(), Task::Page);
        let since = Task::Quick {
            base: "main".to_owned(),
        };
        assert_eq!(parse("test --quick --base main").unwrap(), since);
        let two = Task::Nightly(vec!["long".to_owned(), "fuzz".to_owned()]);
        assert_eq!(parse("nightly long fuzz").unwrap(), two);
        let small = Task::Xcollopts { small: true };
        assert_eq!(parse("xcollopts --small").unwrap(), small);
        assert_eq!(
            parse("bench --samples 3 hold-1k").unwrap(),
            Task::Bench(vec!["--samples".into(), "3".into(), "hold-1k".into()])
        );
    }

    #[test]
    fn wrong_lines_are_refused() {
        for line in [
            "tset",
            "test quick",
            "test --base x",
            "tidy --quick",
            "docs README.md",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
