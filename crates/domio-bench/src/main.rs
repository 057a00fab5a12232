//! Measures the engine and the simulated host against plain loops that do the same work, in the
//! same run, so that a ratio means the same on any machine. Run as `cargo xtask bench`.
//!
//! [`cases`] lists what is measured and what is asked of it, [`measure`] takes the samples,
//! [`memory`] finds out how much memory a case needs, [`hosts`] makes the hosts, [`cell`] runs
//! those of papers ([`stream`], [`blocks`]), [`drive`] keeps a disk full, [`monitor`] makes samples
//! of a trace, and [`plain`] is the loop that they are compared with. [`program`] runs the program
//! that users get, on traces; its baseline is a [`hash`] of the same bytes.

mod blocks;
mod cases;
mod cell;
mod drive;
mod hash;
mod hosts;
mod measure;
mod memory;
mod monitor;
mod plain;
mod program;
mod stream;

use anyhow::{Result, bail};
use cases::{BENCHES, MEMORY, named};
use lexopt::prelude::*;
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask bench [--json] [--samples N] [NAME...]

  --json         print {\"benches\": [{\"name\", \"rate\", \"baseline_rate\", \"ratio\", ...}],
                 \"memory\": [{\"name\", \"bytes\", ...}]}
  --samples N    samples of each bench and of its baseline, 5 to 1000 [default: 7]
  --list         print the names

Exit code: 0 when every figure is good enough, 1 when one is not, 2 for \"could not run\".
";

/// Fewer samples give no median to rely on.
const SAMPLES_MIN: usize = 5;
const SAMPLES_MAX: usize = 1000;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    Help,
    List,
    /// Run one memory case in this process and print the peak.
    Memory(String),
    Measure {
        json: bool,
        samples: usize,
        /// Empty for all.
        names: Vec<String>,
    },
}

impl Task {
    fn parse(mut args: lexopt::Parser) -> Result<Task> {
        let (mut json, mut samples, mut names) = (false, 7, Vec::new());
        while let Some(arg) = args.next()? {
            match arg {
                Long("help") | Short('h') => return Ok(Task::Help),
                Long("list") => return Ok(Task::List),
                Long("memory") => return Ok(Task::Memory(args.value()?.string()?)),
                Long("json") => json = true,
                Long("samples") => samples = args.value()?.parse()?,
                Value(name) => names.push(name.string()?),
                _ => return Err(arg.unexpected().into()),
            }
        }
        if !(SAMPLES_MIN..=SAMPLES_MAX).contains(&samples) {
            bail!("--samples {samples}: give {SAMPLES_MIN} to {SAMPLES_MAX}");
        }
        if let Some(name) = names
            .iter()
            .find(|name| !named().any(|n| n == name.as_str()))
        {
            let known: Vec<_> = named().collect();
            bail!(
                "no bench is called \"{name}\"; there are {}",
                known.join(", ")
            );
        }
        Ok(Task::Measure {
            json,
            samples,
            names,
        })
    }
}

fn main() -> ExitCode {
    match Task::parse(lexopt::Parser::from_env()).and_then(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("domio-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Carries out a task; `false` when a figure is not good enough.
fn run(task: Task) -> Result<bool> {
    let (json, samples, names) = match task {
        Task::Help => {
            print!("{HELP}");
            return Ok(true);
        }
        Task::List => {
            named().for_each(|name| println!("{name}"));
            return Ok(true);
        }
        Task::Memory(name) => {
            println!("{}", memory::peak_here(&name)?);
            return Ok(true);
        }
        Task::Measure {
            json,
            samples,
            names,
        } => (json, samples, names),
    };
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let mut rates = Vec::new();
    for bench in BENCHES.iter().filter(|bench| wanted(bench.name)) {
        eprintln!("measuring {}", bench.name);
        rates.push(measure::measure(bench, samples));
    }
    let mut peaks = Vec::new();
    for case in MEMORY.iter().filter(|case| wanted(case.name)) {
        eprintln!("measuring {}", case.name);
        peaks.push(memory::measure(case)?);
    }
    if json {
        println!("{}", measure::json(&rates, &peaks));
    } else {
        print!("{}", measure::table(&rates, &peaks));
    }
    Ok(rates.iter().all(measure::Rates::good) && peaks.iter().all(memory::Peak::good))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task> {
        Task::parse(lexopt::Parser::from_args(line.split_whitespace()))
    }

    #[test]
    fn lines_are_understood() {
        assert_eq!(
            parse("--json --samples 9 hold-1k").unwrap(),
            Task::Measure {
                json: true,
                samples: 9,
                names: vec!["hold-1k".to_string()],
            }
        );
        assert_eq!(parse("--memory x").unwrap(), Task::Memory("x".to_string()));
    }

    #[test]
    fn wrong_lines_are_refused() {
        for line in ["--samples 4", "--samples x", "hold", "--fast"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
