//! Arguments of `claim list` and `claim show`.

use clap::{Args, Subcommand};

pub(super) const CLAIM_EXAMPLES: &str = "\
Examples:
  domio claim list ongaro.test1
  domio claim show ongaro.test1.fix-helps";

/// Subcommands of `claim`.
#[derive(Debug, Subcommand)]
pub enum ClaimCommand {
    /// List claims, with what is on record of them
    #[command(after_long_help = CLAIM_LIST_EXAMPLES)]
    List(ClaimList),
    /// Show what a claim says, what decides it and how to look at it
    #[command(after_long_help = CLAIM_SHOW_EXAMPLES)]
    Show(ClaimShow),
}

const CLAIM_LIST_EXAMPLES: &str = "\
Examples:
  domio claim list
  domio claim list ongaro zeng.table4 --json
  domio claim list my-papers/grocer2031";

/// Arguments of `claim list`.
#[derive(Debug, Args)]
pub struct ClaimList {
    /// Claims to list: ids or their first words, e.g. ongaro or ongaro.test1. After the folder of a
    /// paper, prefixes refer to that paper [default: all claims]
    #[arg(value_name = "FOLDER|PREFIX")]
    pub words: Vec<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

const CLAIM_SHOW_EXAMPLES: &str = "\
Examples:
  domio claim show ongaro.test2.bs-best
  domio claim show ongaro.test2.bs-best --json";

/// Arguments of `claim show`.
#[derive(Debug, Args)]
pub struct ClaimShow {
    /// Id of the claim; after the folder of its paper, if the paper is not a shipped one
    #[arg(value_name = "FOLDER|ID", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    /// Print the claim as JSON
    #[arg(long)]
    pub json: bool,
}
