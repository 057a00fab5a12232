//! Arguments of `domio mon`.

use super::named::Named;
use super::trace::LinuxInput;
use super::values::{frequency, key_and_value, seed};
use clap::builder::{ArgPredicate, PossibleValue, RangedU64ValueParser};
use clap::{Args, ValueEnum, ValueHint};
use domio_meter::{PacketWeight, Payload};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What stands for the source of `--live` in messages.
const LIVE: &str = "this machine";

pub(super) const MON_EXAMPLES: &str = "\
Examples:
  domio mon ping-among-burners --set run.duration_s=30
  domio mon trace.bin --follow --until-idle 5 --log out/host
  domio mon trace.domio --json | jq '.domains[] | select(.id == 1).waited_ns'
  sudo domio mon --live
  sudo domio mon --live --prometheus --listen 127.0.0.1:9440

On a terminal the figures are shown as a table that keeps up with the trace; press h for its keys.
When output is not a terminal, one table of the whole trace is printed. docs/mon.md explains the
figures, and the errors of --compatible. docs/record.md has the rights that --live needs.";

/// Arguments of `mon`.
#[derive(Debug, Args)]
pub struct Mon {
    /// Trace in domio's own format or of xentrace (- is standard input), scenario file, or name of
    /// a shipped scenario
    #[arg(value_name = "FILE|SCENARIO", value_hint = ValueHint::FilePath,
        required = false, required_unless_present = "live", hide_default_value = true,
        default_value_if("live", ArgPredicate::IsPresent, LIVE), add = Named::Scenario)]
    pub source: String,
    /// Show this machine's guests, as they run: by BPF or tracefs, as domio record
    #[arg(long, conflicts_with_all = ["follow", "until_idle", "speed", "compatible", "cpu_hz",
        "host", "set", "seed", "policy"])]
    pub live: bool,
    /// End after one interval of --live
    #[arg(long, requires = "live")]
    pub once: bool,
    /// Serve the sums of --live to Prometheus at this address, e.g. 127.0.0.1:9440
    #[arg(long, value_name = "ADDRESS", requires_all = ["live", "prometheus"],
        conflicts_with = "once")]
    pub listen: Option<SocketAddr>,
    /// Write xenmon's logs, PREFIX-domN.log and PREFIX-idle.log
    #[arg(long, value_name = "PREFIX", value_hint = ValueHint::FilePath, group = "front")]
    pub log: Option<PathBuf>,
    /// Print one line of JSON a sample
    #[arg(long, group = "front")]
    pub json: bool,
    /// Print the sums of the whole trace as Prometheus reads them
    #[arg(long, group = "front")]
    pub prometheus: bool,
    /// Overwrite logs that are there
    #[arg(long, requires = "log")]
    pub force: bool,
    /// Wait for more when the file ends, until interrupted
    #[arg(long)]
    pub follow: bool,
    /// End when the file has not grown for this many seconds
    #[arg(long, value_name = "SECONDS", requires = "follow", value_parser = seconds())]
    pub until_idle: Option<u64>,
    /// Length of a sample in milliseconds
    #[arg(long, visible_alias = "ms_per_sample", value_name = "MS", default_value_t = 100,
        value_parser = milliseconds())]
    pub ms_per_sample: u64,
    /// Milliseconds between lines of --log and --json [default: 1000 for --log, one sample for
    /// --json]
    #[arg(long, value_name = "MS", value_parser = milliseconds())]
    pub interval: Option<u64>,
    /// Seconds of the host that pass in a second of the display, 0.01 to 1000, or max: as fast as
    /// possible [default: max]
    #[arg(long, value_name = "FACTOR", value_parser = speed, conflicts_with_all = ["follow",
        "prometheus"])]
    pub speed: Option<Speed>,
    /// Show one pcpu, instead of the host
    #[arg(long, visible_alias = "cpu", value_name = "NUMBER")]
    pub pcpu: Option<u16>,
    /// Compute the figures as Xen's xenbaked does, with its errors: for a host of Xen 3.1, or as
    /// xenbaked misreads hosts of Xen 4.8 and later
    #[arg(long, value_name = "XEN", num_args = 0..=1, require_equals = true,
        default_missing_value = "3.1")]
    pub compatible: Option<Release>,
    /// Cost, in the driver domain, of a packet that a guest sends, relative to a packet that it
    /// receives
    #[arg(long, value_name = "RATIO", default_value = "1.1", value_parser = weight,
        allow_negative_numbers = true)]
    pub send_weight: PacketWeight,
    /// Frequency of a xentrace file's time stamp counter, e.g. 2400000000 or 2.4GHz [default: the
    /// frequency that the trace records]
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub cpu_hz: Option<u64>,
    /// What is known of a Linux host
    #[command(flatten)]
    pub linux: LinuxInput,
    /// Change a key of the scenario; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
    /// Seed of all random streams, instead of the scenario's
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Policy to run a scenario under, instead of the scenario's
    #[arg(long, value_name = "NAME", add = Named::Policy)]
    pub policy: Option<String>,
}

/// Seconds of the host in one of the display; `None` for as many as possible.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Speed(pub Option<f64>);

fn speed(text: &str) -> Result<Speed, String> {
    if text.trim() == "max" {
        return Ok(Speed(None));
    }
    let factor = text.trim().parse::<f64>().ok();
    let factor = factor.filter(|factor| (0.01..=1000.0).contains(factor));
    let expected = || "expected a factor, 0.01 to 1000, e.g. 10, or max".to_owned();
    factor
        .map(|factor| Speed(Some(factor)))
        .ok_or_else(expected)
}

/// A release of Xen, as far as xenbaked is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// Whose records xenbaked was written for.
    Xen31,
    /// Whose records have a vcpu that it does not expect.
    Xen48,
}

impl Release {
    /// What is in the records.
    pub fn payload(self) -> Payload {
        match self {
            Release::Xen31 => Payload::Before48,
            Release::Xen48 => Payload::Since48,
        }
    }
}

impl ValueEnum for Release {
    fn value_variants<'a>() -> &'a [Self] {
        &[Release::Xen31, Release::Xen48]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Release::Xen31 => PossibleValue::new("3.1"),
            Release::Xen48 => PossibleValue::new("4.8"),
        })
    }
}

/// Up to a day.
fn milliseconds() -> RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400_000)
}

fn seconds() -> RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

/// A ratio, to the thousandth.
fn weight(text: &str) -> Result<PacketWeight, String> {
    const MOST: f64 = 1000.0;
    let ratio = text.trim().parse::<f64>();
    let ratio = ratio.ok().filter(|r| (0.001..=MOST).contains(r));
    ratio
        .map(|ratio| PacketWeight((ratio * 1000.0).round() as u32))
        .ok_or_else(|| format!("expected a ratio, 0.001 to {MOST}, e.g. 1.1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read() {
        assert_eq!(speed("10"), Ok(Speed(Some(10.0))));
        assert_eq!(speed("max"), Ok(Speed(None)));
        for wrong in ["0", "-1", "fast", "NaN", "inf", "1001"] {
            assert!(
                speed(wrong).unwrap_err().contains("0.01 to 1000"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn ratios_are_read() {
        assert_eq!(weight("1.1"), Ok(PacketWeight(1100)));
        assert_eq!(weight(" 2 "), Ok(PacketWeight(2000)));
        for wrong in ["0", "-1", "1,1", "x", "NaN", "1001"] {
            assert!(weight(wrong).is_err(), "{wrong}");
        }
    }
}
