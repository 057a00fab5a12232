//! Arguments of `scenario`; those of `scenario from-trace`, `from-lists` and `import` are in
//! `from_trace.rs`, `from_lists.rs` and `import.rs`.

use super::from_lists::{self, ScenarioFromLists};
use super::from_trace::{self, ScenarioFromTrace};
use super::import::{self, ScenarioImport};
use super::named::Named;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

pub(super) const SCENARIO_EXAMPLES: &str = "\
Examples:
  domio scenario show burn7 > host.toml
  domio scenario from-trace trace.bin --sched-credit sched.txt --output host.toml
  domio scenario import web.xml capabilities.xml --output host.toml";

/// Subcommands of `scenario`.
#[derive(Debug, Subcommand)]
pub enum Scenario {
    /// Check scenario files and report every mistake
    #[command(after_long_help = SCENARIO_CHECK_EXAMPLES)]
    Check(ScenarioCheck),
    /// Print the JSON Schema of scenario files, for editors
    #[command(after_long_help = SCENARIO_SCHEMA_EXAMPLES)]
    Schema(ScenarioSchema),
    /// List the shipped scenarios
    #[command(after_long_help = SCENARIO_LIST_EXAMPLES)]
    List(ScenarioList),
    /// Print a shipped scenario, to start a new one from
    #[command(after_long_help = SCENARIO_SHOW_EXAMPLES)]
    Show(ScenarioShow),
    /// Make a scenario of a trace: the recorded demand under other policies and settings
    #[command(after_long_help = from_trace::EXAMPLES)]
    FromTrace(ScenarioFromTrace),
    /// Make a scenario of a host from what `xl` printed, without a trace
    #[command(after_long_help = from_lists::EXAMPLES)]
    FromLists(ScenarioFromLists),
    /// Make a scenario of definitions of guests: libvirt, xl, control groups, QEMU
    #[command(after_long_help = import::EXAMPLES)]
    Import(ScenarioImport),
}

const SCENARIO_CHECK_EXAMPLES: &str = "\
Examples:
  domio scenario check host.toml
  domio scenario check scenarios/*.toml --json

Traces that a scenario replays are read as well; a trace that cannot be used is a mistake.

The status is 1 when a file has a mistake, and 2 when a file cannot be read.";

/// Arguments of `scenario check`.
#[derive(Debug, Args)]
pub struct ScenarioCheck {
    /// Scenario files, or names of shipped scenarios
    #[arg(
        value_name = "SCENARIO",
        required = true,
        value_hint = ValueHint::FilePath,
        add = Named::Scenario
    )]
    pub files: Vec<PathBuf>,
    /// Print the mistakes as JSON
    #[arg(long)]
    pub json: bool,
}

const SCENARIO_SCHEMA_EXAMPLES: &str = "\
Examples:
  domio scenario schema > scenario.schema.json
  domio scenario schema | jq '.properties | keys'";

/// Arguments of `scenario schema`.
#[derive(Debug, Args)]
pub struct ScenarioSchema {
    /// Print the schema as JSON; the schema is JSON in any case
    #[arg(long)]
    pub json: bool,
}

const SCENARIO_LIST_EXAMPLES: &str = "\
Examples:
  domio scenario list
  domio scenario list --json
  domio scenario list --papers";

/// Arguments of `scenario list`.
#[derive(Debug, Args)]
pub struct ScenarioList {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
    /// List the cells of the papers, which are scenarios as well
    #[arg(long)]
    pub papers: bool,
}

const SCENARIO_SHOW_EXAMPLES: &str = "\
Examples:
  domio scenario show burn7
  domio scenario show burn7 > host.toml
  domio scenario show papers/ongaro2008/test3-orig";

/// Arguments of `scenario show`.
#[derive(Debug, Args)]
pub struct ScenarioShow {
    /// Name of the scenario
    #[arg(value_name = "NAME", add = Named::Shipped)]
    pub name: String,
    /// Print the name, the title and the text as JSON
    #[arg(long)]
    pub json: bool,
}
