//! What a file says about itself, and what is missing in it.

use std::collections::BTreeMap;
use std::fmt;

/// The formats that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinuxFormat {
    /// `perf.data`, as a file.
    PerfData,
    /// `perf.data` written to a pipe.
    PerfPipe,
    /// `trace.dat` of trace-cmd, version 6.
    TraceDat6,
    /// `trace.dat` of trace-cmd, version 7.
    TraceDat7,
    /// A Perfetto trace.
    Perfetto,
    /// Text: `/sys/kernel/tracing/trace`, `trace-cmd report`, `perf script`, also within HTML.
    Text,
}

impl fmt::Display for LinuxFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinuxFormat::PerfData => "perf.data",
            LinuxFormat::PerfPipe => "perf.data of a pipe",
            LinuxFormat::TraceDat6 => "trace.dat version 6",
            LinuxFormat::TraceDat7 => "trace.dat version 7",
            LinuxFormat::Perfetto => "Perfetto trace",
            LinuxFormat::Text => "text of ftrace",
        })
    }
}

/// What a file says about the recording. Empty where the format or the file says nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinuxRecording {
    /// The kernel's release ("6.12.0-1-amd64").
    pub kernel: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// The processor architecture ("x86_64").
    pub machine: Option<String>,
    /// The program that recorded, with its version.
    pub tool: Option<String>,
    /// The command line of that program.
    pub command: Option<String>,
    /// Number of cpus of the host, from 0 on.
    pub cpus: Option<u32>,
    /// The clock of the times ("mono", "local"), as the recorder calls it.
    pub clock: Option<String>,
    /// Other statements of the file, by name: options, buffers, identifiers of guests.
    pub notes: Vec<(String, String)>,
}

/// What the recorder lost. None of these events is in the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinuxLosses {
    /// Events that are missing at known places: the sum of
    /// [`LinuxWhat::Lost`](crate::LinuxWhat::Lost).
    pub events: u64,
    /// Places at which events are missing.
    pub places: u64,
    /// Those of the places at which the file does not say how many.
    pub uncounted: u64,
    /// Events that are missing, by cpu.
    pub by_cpu: BTreeMap<u32, u64>,
    /// Events that the recorder's own statistics call lost or overwritten, without a place. As a
    /// rule these are the same events as at the places, or older than the first event.
    pub overwritten: u64,
}

impl LinuxLosses {
    /// The recorder says that it lost `events`, but not where.
    pub(crate) fn add_somewhere(&mut self, events: u64) {
        self.overwritten = self.overwritten.saturating_add(events);
    }

    /// `events` are missing on `cpu`; 0 when unknown how many.
    pub(crate) fn add(&mut self, cpu: u32, events: u64) {
        self.places += 1;
        self.events = self.events.saturating_add(events);
        self.uncounted += u64::from(events == 0);
        let of_cpu = self.by_cpu.entry(cpu).or_default();
        *of_cpu = of_cpu.saturating_add(events);
    }
}

/// Parts of one kind that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedParts {
    /// What they are, and what is wrong with them.
    pub what: &'static str,
    /// How many.
    pub count: u64,
    /// Where the first of them is, in bytes from the start of the file.
    pub first: u64,
}

/// What is wrong with the file, though reading went on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileDamage {
    /// Parts that were skipped, by kind, in the order of their first place.
    pub skipped: Vec<SkippedParts>,
    /// Where the file is cut, as the error says that ends reading.
    pub cut: Option<String>,
    /// Events whose time was earlier than that of the event before. They got the time of that
    /// event.
    pub disorder: u64,
}

impl FileDamage {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.skipped.is_empty() && self.cut.is_none() && self.disorder == 0
    }

    /// Counts one part that is skipped.
    pub(crate) fn skip(&mut self, what: &'static str, first: u64) {
        match self.skipped.iter_mut().find(|s| s.what == what) {
            Some(known) => known.count += 1,
            None => self.skipped.push(SkippedParts {
                what,
                count: 1,
                first,
            }),
        }
    }
}
