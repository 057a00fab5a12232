//! How to read a trace.

use domio_core::Class;

use crate::DEFAULT_TSC_HZ;
use crate::linux::{LINUX, LinuxOptions};
use crate::merge::HELD_MAX;

/// The formats that [`TraceReader`](crate::TraceReader) knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// domio's own.
    Own,
    /// xentrace since Xen 3.2.
    Xentrace,
    /// xentrace of a 64-bit Xen 3.0 or 3.1.
    Xentrace3Lp64,
    /// xentrace of a 32-bit Xen 3.0 or 3.1.
    Xentrace3Ilp32,
    /// A trace of Linux: `perf.data`, `trace.dat`, Perfetto, or a text.
    Linux,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] = [
        Format::Own,
        Format::Xentrace,
        Format::Xentrace3Lp64,
        Format::Xentrace3Ilp32,
        Format::Linux,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Own => "domio",
            Format::Xentrace => "xentrace",
            Format::Xentrace3Lp64 => "xentrace3-64",
            Format::Xentrace3Ilp32 => "xentrace3-32",
            Format::Linux => "linux",
        }
    }

    /// Whether times are nanoseconds, and not counts of a clock whose frequency nobody says.
    pub const fn has_times(self) -> bool {
        matches!(self, Format::Own | Format::Linux)
    }

    /// The format with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// How to read a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadOptions {
    /// The format; `None` to recognise it.
    pub format: Option<Format>,
    /// Counts a second of the time stamp counter in xentrace files, which do not tell it; `None`
    /// for [`DEFAULT_TSC_HZ`]. Own traces hold nanoseconds and ignore it.
    pub tsc_hz: Option<u64>,
    /// Most records held back to bring the cpus' streams of a xentrace file into order.
    pub held_max: usize,
    /// The classes that the caller knows, by which private records of policies and devices are
    /// told. A record of a xentrace file whose class is not among them is kept as it came
    /// ([`FOREIGN`](domio_core::FOREIGN)); an own trace brings its declarations, and those that
    /// equal one of these are replaced by it.
    pub classes: Vec<&'static Class>,
    /// What is known of a Linux host beside its trace.
    pub linux: LinuxOptions,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            tsc_hz: None,
            held_max: HELD_MAX,
            classes: Vec::new(),
            linux: LinuxOptions::default(),
        }
    }
}

impl ReadOptions {
    pub(crate) fn tsc_hz(&self) -> u64 {
        self.tsc_hz.unwrap_or(DEFAULT_TSC_HZ)
    }

    /// The known class called `name`.
    pub(crate) fn class(&self, name: &str) -> Option<&'static Class> {
        let known = self.classes.iter().copied().chain([&LINUX]);
        let mut known = known.filter(|class| class.name == name);
        known.next()
    }
}
