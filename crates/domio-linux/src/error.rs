//! What can go wrong with a trace of Linux, and where.

use std::fmt;
use std::io;

/// Why reading stopped: what is wrong, at which byte, and how much was read before.
///
/// Readers hand on every whole event before they return this error, so the count of events says how
/// much of the trace is usable.
#[derive(Debug)]
pub struct LinuxError {
    /// What is wrong and what was expected.
    pub kind: LinuxErrorKind,
    /// Where in the file, in bytes from its start (of the unpacked file, if the file is packed).
    pub offset: u64,
    /// Events read before this place.
    pub events: u64,
}

/// What is wrong with a trace of Linux. Texts say what was expected and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinuxErrorKind {
    /// The operating system refused to open or to read.
    #[error("cannot read the file")]
    Io(#[source] io::Error),
    /// No byte at all.
    #[error(
        "the file is empty; expected a recording of `perf sched record` or `trace-cmd record`, a \
         Perfetto trace, or the text of ftrace (was the recording stopped before its first event?)"
    )]
    Empty,
    /// None of the formats that this crate reads.
    #[error(
        "not a trace of Linux: {found}; expected perf.data, trace.dat, a Perfetto trace, or the \
         text of `perf script`, `trace-cmd report` or ftrace{hint}"
    )]
    Foreign {
        /// What the file starts with, or what the file is.
        found: String,
        /// What to do; starts with "; " unless empty.
        hint: &'static str,
    },
    /// The file ends too early. All whole events before the end were handed on.
    #[error("the file is cut: {what} should have {expected} {unit}, {found} are there")]
    Truncated {
        /// The part that is cut.
        what: String,
        /// What is counted.
        unit: &'static str,
        /// How many the part should have.
        expected: u64,
        /// How many are there.
        found: u64,
    },
    /// A part contradicts the format, and what follows cannot be read.
    #[error("{what}: expected {expected}, found {found}")]
    Damaged {
        /// The part.
        what: &'static str,
        /// What the format says.
        expected: &'static str,
        /// What the file has.
        found: String,
    },
    /// The file is sound, but does not say what threads do on the cpus.
    #[error("{0}")]
    Unusable(String),
}

impl LinuxErrorKind {
    /// This kind at `offset`, before any event.
    pub(crate) fn at(self, offset: u64) -> LinuxError {
        LinuxError {
            kind: self,
            offset,
            events: 0,
        }
    }
}

impl From<io::Error> for LinuxError {
    fn from(error: io::Error) -> Self {
        LinuxErrorKind::Io(error).at(0)
    }
}

/// The error for a part that contradicts the format.
pub(crate) fn damaged(
    what: &'static str,
    expected: &'static str,
    found: impl fmt::Display,
    offset: u64,
) -> LinuxError {
    LinuxErrorKind::Damaged {
        what,
        expected,
        found: found.to_string(),
    }
    .at(offset)
}

/// The error for a part of `expected` bytes of which the file has `found`.
pub(crate) fn cut(what: impl Into<String>, expected: u64, found: u64, offset: u64) -> LinuxError {
    LinuxErrorKind::Truncated {
        what: what.into(),
        unit: "bytes",
        expected,
        found,
    }
    .at(offset)
}

impl LinuxError {
    /// Whether the file is sound as far as it goes and merely ends too early, as when the program
    /// that wrote it was killed.
    pub fn is_truncation(&self) -> bool {
        matches!(self.kind, LinuxErrorKind::Truncated { .. })
    }
}

impl fmt::Display for LinuxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_a_place = matches!(
            self.kind,
            LinuxErrorKind::Damaged { .. } | LinuxErrorKind::Truncated { .. }
        );
        if of_a_place {
            write!(f, "at byte {}: ", self.offset)?;
        }
        write!(f, "{}", self.kind)?;
        match self.events {
            0 if of_a_place => f.write_str(" (no event was read before)"),
            0 => Ok(()),
            1 => f.write_str(" (1 event was read before)"),
            n => write!(f, " ({n} events were read before)"),
        }
    }
}

impl std::error::Error for LinuxError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            LinuxErrorKind::Io(e) => Some(e),
            _ => None,
        }
    }
}
