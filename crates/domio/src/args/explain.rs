//! Arguments of `domio explain`.

use super::block::BlockFormatArg;
use super::drawn::{self, Drawn};
use super::how::How;
use super::keeping::{Keeping, Reporting};
use super::named::Named;
use super::trace::LinuxInput;
use super::values::frequency;
use clap::{Args, ValueHint};
use domio_core::Duration;
use std::path::PathBuf;

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  domio explain ping-among-burners --set network.scan=restart --report out/waits.html
  domio explain trace.bin --domain web --cpu-hz 2.4GHz --map 3.2s..3.25s --long
  domio explain blkparse.txt --drive hitachi-7k500 --elevator cfq

For a block trace the tables show what requests waited for: the elevator, the device, and behind
whose requests. With --drive, requests are replayed on that drive, and the device's time is split
into seeks, rotation and transfer.

Otherwise the output is the same for a scenario and for a trace. First come the worst waits in
sentences, with the cause and what to try; vcpus that block and are woken come before those that
always compute. A table has the vcpus that matter most. With --long follow packets by what they
waited for, waits by cause and by the vcpu that ran meanwhile, the longest waits, a map of which
vcpu ran where, and the guests that driver domains worked for. Replications of a scenario are added
up. A trace may be simulated, or recorded by xentrace.";

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Scenario file, name of a shipped scenario, or trace; - is standard input
    #[arg(
        value_name = "SCENARIO|TRACE",
        value_hint = ValueHint::FilePath,
        add = Named::Scenario
    )]
    pub scenario: String,
    /// Other files of the same recording of blktrace, which writes one for each cpu
    #[arg(value_name = "MORE", value_hint = ValueHint::FilePath)]
    pub more: Vec<PathBuf>,
    /// Print the explanation as JSON
    #[arg(long)]
    pub json: bool,
    /// Print all tables: causes, behind whom each vcpu waits, where vcpus ran, the longest waits, a
    /// map of which vcpu ran where, and the limits of the recording
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print all tables as CSV, each under its name
    #[arg(long, conflicts_with_all = ["json", "long"])]
    pub csv: bool,
    /// Vcpu to explain, e.g. web.0; may be given several times [default: all]
    #[arg(long = "vcpu", value_name = "NAME")]
    pub vcpus: Vec<String>,
    /// Domain to explain; may be given several times [default: all]
    #[arg(long = "domain", value_name = "NAME")]
    pub domains: Vec<String>,
    /// Part of a trace that the map and the timeline show, e.g. 3.2s..3.4s since its first record
    /// [default: the time around the longest wait]
    #[arg(long, value_name = "START..END", value_parser = drawn::window, conflicts_with = "window")]
    pub map: Option<(Duration, Duration)>,
    /// Frequency of a xentrace file's time stamp counter, e.g. 2400000000 or 2.4GHz [default: the
    /// frequency that the trace records]
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub cpu_hz: Option<u64>,
    /// What is known of a Linux host
    #[command(flatten)]
    pub linux: LinuxInput,
    /// Format of a block trace [default: recognised from its content]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<BlockFormatArg>,
    /// Drive to replay the requests of a block trace on
    #[arg(long, value_name = "NAME", add = Named::Drive)]
    pub drive: Option<String>,
    /// Elevator to replay the requests of a block trace with [default: noop]
    #[arg(long, value_name = "NAME", add = Named::Elevator, requires = "drive")]
    pub elevator: Option<String>,
    /// What to change in the scenario and how often to run it.
    #[command(flatten)]
    pub how: How,
    /// Policy to run under, instead of the scenario's
    #[arg(long, value_name = "NAME", add = Named::Policy)]
    pub policy: Option<String>,
    /// Where a report goes.
    #[command(flatten)]
    pub reporting: Reporting,
    /// What to draw.
    #[command(flatten)]
    pub drawn: Drawn,
    /// Where explanations of a scenario are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}
