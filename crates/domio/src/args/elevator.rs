//! Arguments of `domio elevator`.

use crate::complete::Named;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

pub(super) const ELEVATOR_EXAMPLES: &str = "\
Examples:
  domio elevator list
  domio elevator show deadline
  domio elevator replay testdata/elevators/deadline/05-expiry.in";

/// Subcommands of `elevator`.
#[derive(Debug, Subcommand)]
pub enum Elevator {
    /// List the elevators
    #[command(after_long_help = LIST_EXAMPLES)]
    List(ElevatorList),
    /// Show what an elevator lets you set, under the names of sysfs
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show(ElevatorShow),
    /// Run a script of requests, and print who waits and what the disk serves when
    #[command(after_long_help = REPLAY_EXAMPLES)]
    Replay(ElevatorReplay),
}

const LIST_EXAMPLES: &str = "\
Examples:
  domio elevator list
  domio elevator list --json";

/// Arguments of `elevator list`.
#[derive(Debug, Args)]
pub struct ElevatorList {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  domio elevator show cfq
  domio elevator show anticipatory --json";

/// Arguments of `elevator show`.
#[derive(Debug, Args)]
pub struct ElevatorShow {
    /// Name of the elevator
    #[arg(value_name = "NAME", add = Named::Elevator)]
    pub name: String,
    /// Print the elevator as JSON
    #[arg(long)]
    pub json: bool,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  domio elevator replay testdata/elevators/deadline/05-expiry.in
  domio elevator replay script.in --elevator cfq --output answer.out
  domio elevator replay script.in.gz | head

docs/elevators.md has the formats of script and answer. A tunable that the script sets has to be one
of the elevator that runs.";

/// Arguments of `elevator replay`.
#[derive(Debug, Args)]
pub struct ElevatorReplay {
    /// Script of requests, which gzip or zstd may have packed; - is standard input
    #[arg(value_name = "SCRIPT", value_hint = ValueHint::FilePath)]
    pub script: PathBuf,
    /// Elevator to run, instead of the script's
    #[arg(long, value_name = "NAME", add = Named::Elevator)]
    pub elevator: Option<String>,
    /// File to write; - is standard output, as without it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Overwrite a file that is there already
    #[arg(long)]
    pub force: bool,
}
