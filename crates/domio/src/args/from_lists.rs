//! Arguments of `domio scenario from-lists`.

use super::values::seconds;
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  (xl info; xl vcpu-list; xl sched-credit2; xl list; sleep 10; xl list) > host.txt
  domio scenario from-lists host.txt --interval 10 --output host.toml
  domio scenario from-lists list.txt vcpus.txt sched.txt --load 50 -o host.toml
  domio run host.toml

The files hold what `xl` or `xm` printed: list, list -l, vcpu-list, sched-credit, sched-credit2,
sched-rtds, info and uptime, in any order, together or apart. Two outputs of `list` or `vcpu-list`
show how busy each domain was in between; `uptime` gives its mean load since it started. The
scenario's comments name the source of each value, what is assumed, and which output would replace
the assumption.";

/// Arguments of `scenario from-lists`.
#[derive(Debug, Args)]
pub struct ScenarioFromLists {
    /// What `xl` or `xm` printed on the host, in the order in which it was printed; - is standard
    /// input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Seconds from the first output of `list` or `vcpu-list` to the last
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub interval: Option<u64>,
    /// Pcpus of the host, if there is no output of `info`
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub pcpus: Option<u16>,
    /// Load in percent of each guest's vcpu whose load no output shows; 100 takes all the time that
    /// it can get
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(0..=100)
    )]
    pub load: u16,
    /// Mean length of a stretch of work in microseconds, which no output contains
    #[arg(
        long,
        value_name = "US",
        default_value_t = 2_000,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000)
    )]
    pub work_us: u64,
    /// File to write; - is standard output [default: -]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Overwrite a file that domio did not write as the same kind
    #[arg(long)]
    pub force: bool,
    /// Print the name, the title and the text as JSON
    #[arg(long)]
    pub json: bool,
}
