//! Arguments about what stays: kept results and reports.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Where finished replications are kept.
#[derive(Clone, Debug, Default, Args)]
pub struct Keeping {
    /// Take finished replications from this file and keep new ones there, instead of
    /// out/results.sqlite
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with = "no_results"
    )]
    pub results: Option<PathBuf>,
    /// Take no replication from earlier commands, and keep none
    #[arg(long)]
    pub no_results: bool,
}

/// Where a report goes.
#[derive(Clone, Debug, Default, Args)]
pub struct Reporting {
    /// Write an HTML report to this file; without FILE to one in out/ that is named after what it
    /// shows
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    // One for whether the option is there and one for whether it has a value.
    #[expect(clippy::option_option, reason = "clap distinguishes both by it")]
    pub report: Option<Option<PathBuf>>,
    /// Overwrite files that domio did not write as the same kind, and reports of other commands
    #[arg(long)]
    pub force: bool,
}

pub(super) const RESULTS_EXAMPLES: &str = "\
Examples:
  domio results list
  domio results show ongaro.test3.orig
  domio results diff";

/// Subcommands of `results`.
#[derive(Debug, Subcommand)]
pub enum Results {
    /// List what is kept: experiment, program, replications, date, time, size
    #[command(after_long_help = RESULTS_LIST_EXAMPLES)]
    List(ResultsList),
    /// Show the figures of an experiment or a scenario over its replications
    #[command(after_long_help = RESULTS_SHOW_EXAMPLES)]
    Show(ResultsShow),
    /// List the figures that differ between two programs, or two files
    #[command(after_long_help = RESULTS_DIFF_EXAMPLES)]
    Diff(ResultsDiff),
    /// Remove the results of all programs but this one
    #[command(after_long_help = RESULTS_PRUNE_EXAMPLES)]
    Prune(ResultsPrune),
}

const RESULTS_LIST_EXAMPLES: &str = "\
Examples:
  domio results list
  domio results list ongaro.test3 --long

A line sums up all experiments of one program whose names have the first two words in common, or all
settings of a scenario. With --long, each experiment and setting has a line.";

/// Arguments of `results list`.
#[derive(Debug, Args)]
pub struct ResultsList {
    /// First characters of the names of experiments and scenarios [default: all]
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// A line for each experiment, setting and seed; JSON has these in any case
    #[arg(long)]
    pub long: bool,
    /// The file of results, instead of out/results.sqlite
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub results: Option<PathBuf>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

const RESULTS_SHOW_EXAMPLES: &str = "\
Examples:
  domio results show ongaro.test3.orig
  domio results show small-host --json

The figures are those of the program that was used last, unless --program names another.";

/// Arguments of `results show`.
#[derive(Debug, Args)]
pub struct ResultsShow {
    /// Name of the experiment or scenario, as `domio results list` has it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Program that made them, or the first characters of its name
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<String>,
    /// The file of results, instead of out/results.sqlite
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub results: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

const RESULTS_DIFF_EXAMPLES: &str = "\
Examples:
  domio results diff
  domio results diff 0.1.0+4a60fab2 0.1.0+fc896f64
  domio results diff before.sqlite out/results.sqlite --json

A side is a program, or the first characters of its name, in the file of results; or another file of
results, of which the program that was used last counts. By default, the last two programs are
compared. Only replications of the same seed and number are compared. Programs that compute the same
figures give the same bits, so that any difference counts as a change.";

/// Arguments of `results diff`.
#[derive(Debug, Args)]
pub struct ResultsDiff {
    /// Earlier side: a program or a file
    #[arg(value_name = "BEFORE", requires = "after", value_hint = ValueHint::FilePath)]
    pub before: Option<PathBuf>,
    /// Later side: a program or a file
    #[arg(value_name = "AFTER", value_hint = ValueHint::FilePath)]
    pub after: Option<PathBuf>,
    /// The file of results, instead of out/results.sqlite
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub results: Option<PathBuf>,
    /// Print the differences as JSON
    #[arg(long)]
    pub json: bool,
}

const RESULTS_PRUNE_EXAMPLES: &str = "\
Examples:
  domio results prune
  domio results prune --keep 0.1.0+4a60fab2";

/// Arguments of `results prune`.
#[derive(Debug, Args)]
pub struct ResultsPrune {
    /// Another program whose results are kept, or the first characters of its name; may be given
    /// several times
    #[arg(long, value_name = "PROGRAM")]
    pub keep: Vec<String>,
    /// The file of results, instead of out/results.sqlite
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub results: Option<PathBuf>,
    /// Print how many replications were removed as JSON
    #[arg(long)]
    pub json: bool,
}
