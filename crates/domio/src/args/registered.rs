//! Arguments of the commands that list and show what can be asked for by name: policies,
//! controllers and elevators.

use super::named::Named;
use clap::{Args, Subcommand};

/// Arguments of the commands that list parts.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of the commands that show a part.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Name of the part, as the list has it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print what is shown as JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) const POLICY_EXAMPLES: &str = "\
Examples:
  domio policy list
  domio policy show credit
  domio policy check credit";

/// Subcommands of `policy`.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// List the policies
    #[command(after_long_help = POLICY_LIST_EXAMPLES)]
    List(ListArgs),
    /// Show what a policy needs, promises and lets you set
    #[command(
        after_long_help = POLICY_SHOW_EXAMPLES,
        mut_arg("name", |name| name.add(Named::Policy))
    )]
    Show(ShowArgs),
    /// Check that a policy keeps the contract and its promises
    #[command(after_long_help = POLICY_CHECK_EXAMPLES)]
    Check(PolicyCheck),
}

const POLICY_LIST_EXAMPLES: &str = "\
Examples:
  domio policy list
  domio policy list --json";

const POLICY_SHOW_EXAMPLES: &str = "\
Examples:
  domio policy show round-robin
  domio policy show null --json";

const POLICY_CHECK_EXAMPLES: &str = "\
Examples:
  domio policy check round-robin
  domio policy check credit:version=4.12 --scripts 200 --json

The status is 1 when a check fails.";

/// Arguments of `policy check`.
#[derive(Debug, Args)]
pub struct PolicyCheck {
    /// Name of the policy, with parameters, e.g. credit:tslice_ms=5
    #[arg(value_name = "NAME", add = Named::Policy)]
    pub name: String,
    /// Random scripts to run, in addition to the hand-written ones
    #[arg(long, value_name = "NUMBER", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub scripts: u32,
    /// Print the checks as JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) const CONTROLLER_EXAMPLES: &str = "\
Examples:
  domio controller list
  domio controller show cap-follows-demand";

/// Subcommands of `controller`.
#[derive(Debug, Subcommand)]
pub enum Controller {
    /// List the controllers
    #[command(after_long_help = CONTROLLER_LIST_EXAMPLES)]
    List(ListArgs),
    /// Show what a controller sets, promises and lets you set
    #[command(
        after_long_help = CONTROLLER_SHOW_EXAMPLES,
        mut_arg("name", |name| name.add(Named::Controller))
    )]
    Show(ShowArgs),
}

const CONTROLLER_LIST_EXAMPLES: &str = "\
Examples:
  domio controller list
  domio controller list --json";

const CONTROLLER_SHOW_EXAMPLES: &str = "\
Examples:
  domio controller show cap-follows-demand
  domio controller show cap-follows-demand --json";
