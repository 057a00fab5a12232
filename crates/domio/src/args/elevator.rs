//! Arguments of `domio elevator`.

use super::named::Named;
use super::registered::{ListArgs, ShowArgs};
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
    List(ListArgs),
    /// Show what an elevator lets you set, under the names of sysfs
    #[command(
        after_long_help = SHOW_EXAMPLES,
        mut_arg("name", |name| name.add(Named::Elevator))
    )]
    Show(ShowArgs),
    /// Run a script of requests, and print who waits and what the disk serves when
    #[command(after_long_help = REPLAY_EXAMPLES)]
    Replay(ElevatorReplay),
}

const LIST_EXAMPLES: &str = "\
Examples:
  domio elevator list
  domio elevator list --json";

const SHOW_EXAMPLES: &str = "\
Examples:
  domio elevator show cfq
  domio elevator show anticipatory --json";

const REPLAY_EXAMPLES: &str = "\
Examples:
  domio elevator replay testdata/elevators/deadline/05-expiry.in
  domio elevator replay script.in --elevator cfq --output answer.out
  domio elevator replay script.in.gz | head

docs/elevators.md has the formats of script and answer. The script may only set tunables that the
chosen elevator has.";

/// Arguments of `elevator replay`.
#[derive(Debug, Args)]
pub struct ElevatorReplay {
    /// Script of requests, which gzip or zstd may have packed; - is standard input
    #[arg(value_name = "SCRIPT", value_hint = ValueHint::FilePath)]
    pub script: PathBuf,
    /// Elevator to run, instead of the script's
    #[arg(long, value_name = "NAME", add = Named::Elevator)]
    pub elevator: Option<String>,
    /// File to write; - is standard output [default: -]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}
