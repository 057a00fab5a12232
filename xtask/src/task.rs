//! The command line of the project's tasks.

use crate::survival::Asked;
use anyhow::{Result, bail};
use lexopt::prelude::*;

/// What there is to ask for.
pub const HELP: &str = "\
Usage: cargo xtask TASK

Tasks:
  test             everything that a change has to pass, with a closing table
  test --quick [--base REV]
                   the project's rules, and lints and tests of the packages that
                   have changed since REV (HEAD without it)
  nightly [STEP...]
                   what takes longer; or only the steps named gate,
                   benches, schemas, reference, portable, long, verdicts, survival, recordings,
                   oracle, oracle-linux, readers, python, page, xcollopts, outside, packages,
                   release, fuzz
  tidy [--rules]   the project's own rules, see docs/ARCHITECTURE.md;
                   --rules lists them
  docs [--update]  runs every command that the documentation shows and compares
                   its output; --update writes the new output into the pages
  page             builds the page for browsers
  bpf              makes what `domio record` loads into the kernel, from
                   crates/domio-record/bpf; takes clang, llvm-strip and libbpf's headers
  release [--output FOLDER] [PART...]
                   builds what users get, with checksums, in target/release-files,
                   and tries all of that on a bare system; or only the parts named
                   binary, deb, wheel, page
  times            records how long the papers' experiments take, for estimates
  survival [--machines N] [--effort EFFORT] [PAPER...]
                   records on which of N machines (64) that papers allow their
                   claims hold; continues where it was interrupted
  bench [--json] [--samples N] [NAME...]
                   measures against a plain loop, in the same run

Exit code: 0 for success, 1 for a failed check, 2 for \"could not run\".
";

/// A task as asked for on the command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Task {
    Help,
    Test,
    Quick {
        base: String,
    },
    Nightly(Vec<String>),
    Tidy {
        list_rules: bool,
    },
    Docs {
        update: bool,
    },
    Page,
    Bpf,
    Release {
        output: Option<String>,
        parts: Vec<String>,
    },
    Times,
    Survival(Asked),
    Bench(Vec<String>),
}

impl Task {
    fn quick() -> Task {
        Task::Quick {
            base: "HEAD".to_owned(),
        }
    }

    fn release() -> Task {
        Task::Release {
            output: None,
            parts: Vec::new(),
        }
    }

    /// Reads a command line.
    ///
    /// # Errors
    /// There is no such task, or it has no such option.
    pub fn parse(mut args: lexopt::Parser) -> Result<Task> {
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
            "page" => Task::Page,
            "bpf" => Task::Bpf,
            "release" => Task::release(),
            "times" => Task::Times,
            "survival" => Task::Survival(Asked::default()),
            "help" => Task::Help,
            _ => bail!("no task is called \"{name}\"; `cargo xtask help` lists them"),
        };
        while let Some(arg) = args.next()? {
            match (&mut task, arg) {
                (Task::Test, Long("quick")) => task = Task::quick(),
                (Task::Quick { base }, Long("base")) => *base = args.value()?.string()?,
                (Task::Nightly(steps), Value(step)) => steps.push(step.string()?),
                (Task::Release { output, .. }, Long("output")) => {
                    *output = Some(args.value()?.string()?);
                }
                (Task::Release { parts, .. }, Value(part)) => parts.push(part.string()?),
                (Task::Tidy { list_rules }, Long("rules")) => *list_rules = true,
                (Task::Docs { update }, Long("update")) => *update = true,
                (Task::Survival(asked), Long("machines")) => {
                    asked.machines = args.value()?.string()?;
                }
                (Task::Survival(asked), Long("effort")) => asked.effort = args.value()?.string()?,
                (Task::Survival(asked), Value(name)) => asked.papers.push(name.string()?),
                (_, Long("help") | Short('h')) => return Ok(Task::Help),
                (_, arg) => return Err(arg.unexpected().into()),
            }
        }
        Ok(task)
    }
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
        assert_eq!(parse("bpf").unwrap(), Task::Bpf);
        let since = Task::Quick {
            base: "main".to_owned(),
        };
        assert_eq!(parse("test --quick --base main").unwrap(), since);
        let two = Task::Nightly(vec!["long".to_owned(), "fuzz".to_owned()]);
        assert_eq!(parse("nightly long fuzz").unwrap(), two);
        assert_eq!(parse("release").unwrap(), Task::release());
        let some = Asked {
            papers: vec!["zeng2015".to_owned()],
            machines: "8".to_owned(),
            ..Asked::default()
        };
        let line = "survival --machines 8 zeng2015";
        assert_eq!(parse(line).unwrap(), Task::Survival(some));
        let two_parts = Task::Release {
            output: Some("out/files".to_owned()),
            parts: vec!["binary".to_owned(), "deb".to_owned()],
        };
        assert_eq!(
            parse("release --output out/files binary deb").unwrap(),
            two_parts
        );
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
