//! Arguments of `advise`.

use super::Keeping;
use super::named::Named;
use super::values::{frequency, key_and_value, seed};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const ADVISE_EXAMPLES: &str = "\
Examples:
  domio advise noisy-neighbour
  domio advise host.toml --for web --figure wake_p99_us --bound 10
  domio advise trace.bin --time-limit 600

Settings of the host are tried: weights, caps and quotas, pins, slices, rate limits, reservations,
dom0's vcpus, tunables of Linux. The search begins with what answers the causes of waits, as
`explain` shows them, and continues from the best setting. Settings are compared by replications
that draw the same random numbers. Those that are reported are simulated anew, by replications that
the search has not seen.

The default figure is waited_pct: of the time that a guest's vcpus want to run, the part in which
they wait or are parked. Without --for, settings are for the guest that is worst off of those that
block; guests that always compute are only protected by --bound. A guest loses when it runs less of
the time that it wants to, when the figure in question gets worse for it, or when the 99 % quantile
of its wake-ups gets longer by a millisecond or more.

Nothing is applied. Commands to apply and to undo a setting are printed. The status is 0 whether a
setting helps or not.";

/// Arguments of `advise`.
#[derive(Debug, Args)]
pub struct Advise {
    /// Trace of a Xen host, scenario file, or name of a shipped scenario; - is standard input
    #[arg(
        value_name = "TRACE|SCENARIO",
        value_hint = ValueHint::FilePath,
        add = Named::Scenario
    )]
    pub scenario: String,
    /// Guest that settings are for; may be given several times [default: those that block]
    #[arg(long = "for", value_name = "GUEST")]
    pub guests: Vec<String>,
    /// Figure that settings are judged by: waited_pct, or a key of `domio run --json`, e.g.
    /// wake_p99_us
    #[arg(long, value_name = "KEY", default_value = domio_advise::advice::WAITED)]
    pub figure: String,
    /// Most that another guest may lose, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 20,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    pub bound: u8,
    /// Replications to simulate in all; without --time-limit the answer is the same each time
    /// [default: 300, and 60 seconds at most]
    #[arg(long, value_name = "NUMBER",
        value_parser = clap::value_parser!(u64).range(40..=10_000_000))]
    pub evaluations: Option<u64>,
    /// Seconds after which no further setting is tried; more time finds better settings
    #[arg(long, value_name = "SECONDS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub time_limit: Option<u32>,
    /// Replications of each setting that is reported
    #[arg(long, value_name = "NUMBER", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub replications: u32,
    /// Settings to report, at most
    #[arg(long, value_name = "NUMBER", default_value_t = 4,
        value_parser = clap::value_parser!(u8).range(1..=20))]
    pub show: u8,
    /// Policy of the host, instead of the scenario's; with parameters, e.g. credit:tslice_ms=5
    #[arg(long, value_name = "NAME", add = Named::Policy)]
    pub policy: Option<String>,
    /// Change a key of the scenario before the search; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
    /// Seed of all random streams, instead of the scenario's
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Frequency of a xentrace file's time stamp counter, e.g. 2400000000 or 2.4GHz [default: the
    /// frequency that the trace records]
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub cpu_hz: Option<u64>,
    /// Print the advice as JSON
    #[arg(long)]
    pub json: bool,
    /// Where finished replications are kept.
    #[command(flatten)]
    pub keeping: Keeping,
}

impl Advise {
    /// The trace, if that is what is given.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.scenario)
    }
}
