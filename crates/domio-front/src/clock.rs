//! How fast the time stamp counter of a trace counts, when the user did not say.

use crate::Tell;
use crate::input::Stream;
use anyhow::bail;
use domio_trace::{DEFAULT_TSC_HZ, Format, ReadOptions, TraceReader, frequency};
use std::path::Path;

/// Files beside a trace that may say: a number, or the log that `xl dmesg` prints.
const BESIDE: [&str; 5] = [
    "cpu_hz",
    "cpu_hz.txt",
    "xl-dmesg",
    "xl-dmesg.txt",
    "dmesg.txt",
];

/// Counts a second of the trace at `path`, and says where the figure comes from; `None` for files
/// whose times are nanoseconds, and for what is no trace.
pub fn find(path: &Path, tell: Tell<'_>) -> Option<u64> {
    if !path.is_file() {
        return None;
    }
    let file = Stream::open(path).ok()?;
    if file.format().is_none_or(Format::has_times) {
        return None;
    }
    TraceReader::new(file, &ReadOptions::default()).ok()?;
    let name = path.display();
    let counts = |hz: u64| {
        format!(
            "{name}: the time stamp counter counts {} GHz",
            hz as f64 / 1e9
        )
    };
    if let Some((file, hz)) = beside(path) {
        tell(&format!("note: {}, as {file} says", counts(hz)));
        return Some(hz);
    }
    if let Some(found) = Stream::open(path).ok().and_then(frequency) {
        if found.hz == DEFAULT_TSC_HZ {
            // A count is a nanosecond: nothing is scaled.
            return Some(found.hz);
        }
        let runs = found.runs;
        tell(&format!(
            "note: {}, from {runs} runs in the trace; --cpu-hz sets another frequency",
            counts(found.hz)
        ));
        return Some(found.hz);
    }
    tell(&format!(
        "warning: {name}: the frequency of the time stamp counter is unknown: neither switches \
         in the trace nor a file cpu_hz or xl-dmesg in its folder show it; times are those of a \
         counter of 1 GHz: give the host's frequency with --cpu-hz"
    ));
    Some(DEFAULT_TSC_HZ)
}

/// Refuses `--cpu-hz` for a trace called `name` in `format`, where its times count nothing.
///
/// # Errors
/// When `cpu_hz` would change nothing.
pub fn has_effect(cpu_hz: Option<u64>, format: Format, name: &str) -> anyhow::Result<()> {
    if cpu_hz.is_some() && format.has_times() {
        bail!(
            "{name} has the format `{}`, whose times are nanoseconds, and --cpu-hz changes \
             nothing; leave it out",
            format.name()
        );
    }
    Ok(())
}

/// The file beside `path` that gives the frequency, and what it says.
fn beside(path: &Path) -> Option<(&'static str, u64)> {
    let folder = path.parent()?;
    let read = |name: &&'static str| {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        Some((*name, told(&text)?))
    };
    BESIDE.iter().find_map(read)
}

/// A frequency in Hz that is the whole text, or that of Xen's line "Detected 2394.456 MHz
/// processor."
fn told(text: &str) -> Option<u64> {
    if let Ok(hz) = text.trim().parse::<u64>() {
        return (hz > 0).then_some(hz);
    }
    let (_, after) = text.split_once("Detected ")?;
    let mhz: f64 = after.split_once(" MHz")?.0.trim().parse().ok()?;
    (mhz > 0.0).then(|| (mhz * 1e6).round() as u64)
}
