//! Arguments about traces of block devices.

use super::named::Named;
use super::values::key_and_value;
use clap::builder::{PossibleValue, RangedI64ValueParser};
use clap::{Args, ValueEnum, ValueHint};
use domio_replay::block::Contexts;
use domio_trace::block::BlockFormat;
use std::path::PathBuf;

/// A format of block traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockFormatArg(pub BlockFormat);

impl ValueEnum for BlockFormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [BlockFormatArg; BlockFormat::ALL.len()] = {
            let mut all = [BlockFormatArg(BlockFormat::Blktrace); BlockFormat::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = BlockFormatArg(BlockFormat::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

pub(super) const REPLAY_EXAMPLES: &str = "\
Examples:
  domio trace replay blkparse.txt --elevator cfq --drive hitachi-7k500
  domio trace replay requests.csv.gz --closed --scale 0.5 --json
  domio trace replay requests.csv.gz --elevator deadline --output replayed.csv

The requests go to the request layer, the elevator and a drive, without a hypervisor. In an open
loop each request is issued at its recorded time. In a closed loop each request is issued a gap
after the previous request of its process: after the end of that request where the process waits for
it. See docs/block-traces.md.";

/// Arguments of `trace replay`.
#[derive(Debug, Args)]
pub struct TraceReplay {
    /// Block trace, which gzip or zstd may have packed; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Other files of the same recording of blktrace, which writes one for each cpu
    #[arg(value_name = "MORE", value_hint = ValueHint::FilePath)]
    pub more: Vec<PathBuf>,
    /// Format of the trace [default: recognised from its content]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<BlockFormatArg>,
    /// Elevator and drive that serve the requests.
    #[command(flatten)]
    pub rig: BlockRig,
    /// Tunable of the elevator, as written to sysfs
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
    /// Ticks a second of the kernel's clock
    #[arg(long, value_name = "HZ", default_value_t = 250, value_parser = hz())]
    pub hz: i64,
    /// Requests of each direction before processes sleep
    #[arg(long, value_name = "NUMBER", default_value_t = 128,
        value_parser = clap::value_parser!(u32).range(4..=100_000))]
    pub nr_requests: u32,
    /// Closed loop: let each request wait for the previous one of its process, instead of being
    /// issued at its recorded time
    #[arg(long)]
    pub closed: bool,
    /// Factor by which times and gaps are multiplied: 0.5 is twice as fast
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = scale)]
    pub scale: u64,
    /// Whose requests share an I/O context of the elevator
    #[arg(long, value_name = "WHOSE", default_value = "process")]
    pub contexts: ContextsArg,
    /// Name of a device, volume or file to replay [default: all]
    #[arg(long = "device", value_name = "NAME")]
    pub devices: Vec<String>,
    /// Number of equal parts of the drive, one for each volume; with 1 volumes lie on top of each
    /// other
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub regions: u32,
    /// Keep the times of a clock that counts seconds, instead of spreading its requests
    #[arg(long)]
    pub no_jitter: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write what happened as events, as CSV that domio reads; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Overwrite a file that is not such a CSV
    #[arg(long)]
    pub force: bool,
}

/// An elevator and a drive.
#[derive(Clone, Debug, Args)]
pub struct BlockRig {
    /// Elevator
    #[arg(long, value_name = "NAME", default_value = "noop", add = Named::Elevator)]
    pub elevator: String,
    /// Drive
    #[arg(long, value_name = "NAME", default_value = "hitachi-7k500", add = Named::Drive)]
    pub drive: String,
}

/// Whose requests share an I/O context.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ContextsArg {
    /// Those of a process; of a volume, where the trace has no processes
    Process,
    /// Those of a volume, as the layer below virtual machines sees them
    Volume,
    /// All
    One,
}

impl From<ContextsArg> for Contexts {
    fn from(arg: ContextsArg) -> Self {
        match arg {
            ContextsArg::Process => Contexts::Process,
            ContextsArg::Volume => Contexts::Volume,
            ContextsArg::One => Contexts::One,
        }
    }
}

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  domio trace compare recorded.csv.gz replayed.csv
  domio trace compare blkparse.txt simulated.csv --json

Mix, sizes, positions and times of both, and the demerit figure of each: the root of the mean square
of the distance between the two distributions, in the unit of the figure and in percent of the mean
of A.";

/// Arguments of `trace compare`.
#[derive(Debug, Args)]
pub struct TraceCompare {
    /// Block trace that the other is compared with
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub a: PathBuf,
    /// The other block trace
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub b: PathBuf,
    /// Format of both traces [default: recognised from their contents]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<BlockFormatArg>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

fn hz() -> RangedI64ValueParser<i64> {
    clap::value_parser!(i64).range(1..=10_000)
}

/// A factor as millionths.
fn scale(text: &str) -> Result<u64, String> {
    let factor = text.parse::<f64>().ok();
    let factor = factor.filter(|factor| (0.000_001..=1000.0).contains(factor));
    let factor = factor.ok_or("expected a factor from 0.000001 to 1000, e.g. 0.5")?;
    Ok((factor * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_positive_and_no_nonsense() {
        assert_eq!(scale("0.5"), Ok(500_000));
        assert_eq!(scale("1000"), Ok(1_000_000_000));
        for wrong in ["0", "-1", "nan", "inf", "x", "1001", ""] {
            assert!(scale(wrong).is_err(), "{wrong}");
        }
    }
}
