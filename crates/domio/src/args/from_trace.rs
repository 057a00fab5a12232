//! Arguments of `domio scenario from-trace`.

use super::values::frequency;
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  domio scenario from-trace host.dat --output host.toml
  domio scenario from-trace trace.bin --sched-credit sched.txt --xl-list list.json -o host.toml
  domio compare host.toml --policy credit --policy round-robin

Each vcpu of the scenario replays what the recorded one asked for. `xl sched-credit > sched.txt`
gives weights, caps, slice and rate limit; `xl list -l > list.json` or `xl vcpu-list` gives names,
vcpus, pins and soft affinity. Of a trace of Linux the file NAME.host.json beside it gives control
groups with weights and limits, affinity and topology; guests become domains, their threads vcpus.
The scenario's comments name the source of each value, and what is
assumed.";

/// Arguments of `scenario from-trace`.
#[derive(Debug, Args)]
pub struct ScenarioFromTrace {
    /// Trace in domio's own format, of xentrace or of Linux; the format is recognised
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,
    /// Frequency of a xentrace file's time stamp counter, e.g. 2400000000 or 2.4GHz [default: the
    /// frequency that the trace records]
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub cpu_hz: Option<u64>,
    /// What `xl sched-credit`, `sched-credit2` or `sched-rtds` (or `xm`) printed on the host; - is
    /// standard input
    #[arg(
        long,
        visible_aliases = ["sched-credit2", "sched-rtds"],
        value_name = "FILE",
        value_hint = ValueHint::FilePath
    )]
    pub sched_credit: Option<PathBuf>,
    /// What `xl list -l`, `xl vcpu-list` or `xl list` (or `xm`) printed on the host; - is standard
    /// input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub xl_list: Option<PathBuf>,
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
