//! Arguments of `domio record`.

use super::Command;
use super::trace::GuestRules;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const RECORD_EXAMPLES: &str = "\
Examples:
  domio record --seconds 60 --output out/noon.domio
  domio record --tracefs --buffer 32MiB --output out/noon.domio
  domio record --xen --output out/host.bin

BPF is used where kernel and rights allow it, otherwise tracefs; the command says which, and why.
Needed are root, or the capabilities CAP_BPF and CAP_PERFMON. Ctrl-C ends the recording and keeps
what was recorded. Beside the trace, NAME.host.json has the threads, control groups and cpus of the
machine. docs/record.md says what is recorded, what that costs, and what stays behind when domio is
killed.

Next: domio explain FILE";

/// Arguments of `record`.
#[derive(Debug, Args)]
pub struct Record {
    /// Seconds to record
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = seconds())]
    pub seconds: u64,
    /// Where the trace goes, in domio's own format; xentrace's with --xen [default: the first of
    /// out/record-1.domio, out/record-2.domio and so on that is not there]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Record by BPF, or fail
    #[arg(long, group = "way")]
    pub bpf: bool,
    /// Record by tracefs, the kernel's own tracer
    #[arg(long, group = "way")]
    pub tracefs: bool,
    /// Record the hypervisor by xentrace, in dom0 [default: in dom0]
    #[arg(long, group = "way", conflicts_with = "groups")]
    pub xen: bool,
    /// Size of the kernel's buffer, e.g. 512KiB or 32MiB, 64KiB to 1GiB: of all cpus, with --xen of
    /// each
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = size)]
    pub buffer: u64,
    /// Leave interrupts and softirqs out
    #[arg(long, conflicts_with = "xen")]
    pub no_interrupts: bool,
    /// Leave requests of disks out
    #[arg(long, conflicts_with = "xen")]
    pub no_disks: bool,
    #[command(flatten)]
    pub guests: GuestRules,
    /// Overwrite a file that is there
    #[arg(long)]
    pub force: bool,
}

impl Command {
    /// Whether the command gives up rights of the process once it has begun.
    pub fn gives_up_rights(&self) -> bool {
        match self {
            Command::Record(_) => true,
            Command::Mon(mon) => mon.live,
            _ => false,
        }
    }
}

/// Up to a day.
fn seconds() -> RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

/// Bytes, as a number with a unit.
fn size(text: &str) -> Result<u64, String> {
    let plain = text.trim().to_ascii_lowercase();
    let units = [
        ("kib", 10),
        ("mib", 20),
        ("gib", 30),
        ("k", 10),
        ("m", 20),
        ("g", 30),
    ];
    let unit = units
        .iter()
        .find_map(|(unit, bits)| Some((plain.strip_suffix(unit)?, *bits)));
    let (digits, bits) = unit.unwrap_or((&plain, 0));
    let number = digits.trim().parse::<u64>().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << bits));
    bytes
        .filter(|bytes| (64 << 10..=1 << 30).contains(bytes))
        .ok_or_else(|| "expected a size, 64KiB to 1GiB, e.g. 8MiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("8MiB", 8 << 20), ("512k", 512 << 10), ("65536", 65_536)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "8", "2GiB", "8MB", "-1MiB", "x"] {
            assert!(
                size(wrong).unwrap_err().contains("64KiB to 1GiB"),
                "{wrong}"
            );
        }
    }
}
