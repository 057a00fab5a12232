//! Arguments of `trace`, and of a trace wherever one is read.

use super::block::{self, BlockFormatArg, TraceCompare, TraceReplay};
use super::values::frequency;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use domio_front::trace_file::TraceHow;
use domio_linux::groups::OwnRule;
use std::path::PathBuf;

pub(super) const TRACE_EXAMPLES: &str = "\
Examples:
  domio trace summary trace.bin --cpu-hz 2400000000
  domio trace convert trace.bin --to perfetto --output trace.pftrace
  domio trace replay blkparse.txt --elevator cfq --drive hitachi-7k500";

/// Subcommands of `trace`.
#[derive(Debug, Subcommand)]
pub enum Trace {
    /// Report which vcpus ran and waited, and how long; or the requests to a disk
    #[command(after_long_help = TRACE_SUMMARY_EXAMPLES)]
    Summary(TraceSummary),
    /// Run the requests of a block trace against an elevator and a drive
    #[command(after_long_help = block::REPLAY_EXAMPLES)]
    Replay(TraceReplay),
    /// Compare two block traces: mix, sizes, positions and times
    #[command(after_long_help = block::COMPARE_EXAMPLES)]
    Compare(TraceCompare),
    /// Write a trace in another format
    #[command(after_long_help = TRACE_CONVERT_EXAMPLES)]
    Convert(TraceConvert),
    /// Check whether a trace breaks rules that every host keeps
    #[command(after_long_help = TRACE_CHECK_EXAMPLES)]
    Check(TraceCheck),
}

/// A trace to read.
#[derive(Debug, Args)]
pub struct TraceInput {
    /// Trace, whose format is recognised; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Frequency of a xentrace file's time stamp counter, e.g. 2400000000 or 2.4GHz [default: the
    /// frequency that the trace records]
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub cpu_hz: Option<u64>,
    /// What is known of a Linux host
    #[command(flatten)]
    pub linux: LinuxInput,
}

/// Which threads of a Linux host are a guest.
#[derive(Clone, Debug, Default, Args)]
pub struct GuestRules {
    /// Threads of a Linux host that are a guest: NAME=FIELD:PATTERN with cgroup, command or comm,
    /// e.g. '$1=cgroup:vms/*'
    #[arg(long = "group", value_name = "RULE")]
    pub groups: Vec<OwnRule>,
}

/// What is known of a Linux host beside its trace.
#[derive(Clone, Debug, Default, Args)]
pub struct LinuxInput {
    #[command(flatten)]
    pub guests: GuestRules,
    /// File about the host of a Linux trace [default: NAME.host.json beside the trace]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub host: Option<PathBuf>,
}

impl LinuxInput {
    /// How to read a trace whose clock counts so often a second.
    pub fn how(&self, cpu_hz: Option<u64>) -> TraceHow {
        TraceHow {
            cpu_hz,
            groups: self.guests.groups.clone(),
            host: self.host.clone(),
        }
    }

    /// The option that was given, if any.
    pub fn given(&self) -> Option<&'static str> {
        match (self.guests.groups.is_empty(), &self.host) {
            (false, _) => Some("--group"),
            (true, Some(_)) => Some("--host"),
            (true, None) => None,
        }
    }
}

const TRACE_SUMMARY_EXAMPLES: &str = "\
Examples:
  domio trace summary trace.domio
  domio trace summary trace.bin --cpu-hz 2400000000 --json
  domio trace summary requests.csv.gz --format alibaba

docs/block-traces.md has the formats of block traces.";

/// Arguments of `trace summary`.
#[derive(Debug, Args)]
pub struct TraceSummary {
    /// The trace.
    #[command(flatten)]
    pub input: TraceInput,
    /// Other files of the same recording of blktrace, which writes one file for each cpu
    #[arg(value_name = "MORE", value_hint = ValueHint::FilePath)]
    pub more: Vec<PathBuf>,
    /// Format of a block trace [default: recognised from its content]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<BlockFormatArg>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

const TRACE_CONVERT_EXAMPLES: &str = "\
Examples:
  domio trace convert trace.bin --cpu-hz 2400000000 --to own --output trace.domio
  domio trace convert trace.domio --to perfetto --output trace.pftrace
  domio trace convert trace.domio --to csv-requests --output requests.csv";

/// Arguments of `trace convert`.
#[derive(Debug, Args)]
pub struct TraceConvert {
    /// The trace.
    #[command(flatten)]
    pub input: TraceInput,
    /// Format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: TraceFormat,
    /// File to write; - is standard output [default: -]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Overwrite a file that domio did not write as the same kind
    #[arg(long)]
    pub force: bool,
}

/// Formats that can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TraceFormat {
    /// domio's own, compact
    Own,
    /// That of Xen's tools, for xenalyze
    Xentrace,
    /// For ui.perfetto.dev
    Perfetto,
    /// One line a runstate interval
    Csv,
    /// One line a record, every word of it
    CsvRecords,
    /// The same rows in a table of Apache Parquet
    Parquet,
    /// Requests of virtual disks, as a block trace
    CsvRequests,
}

const TRACE_CHECK_EXAMPLES: &str = "\
Examples:
  domio trace check trace.domio
  domio trace check trace.bin --json

The status is 1 when the trace breaks a rule that every host keeps or ends too early, and 2
when it cannot be read.";

/// Arguments of `trace check`.
#[derive(Debug, Args)]
pub struct TraceCheck {
    /// The trace.
    #[command(flatten)]
    pub input: TraceInput,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}
