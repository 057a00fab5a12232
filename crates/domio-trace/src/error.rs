//! What can go wrong with a trace file, and where.

use std::fmt::{self, Write as _};
use std::io;

use domio_core::Instant;

/// Why reading a trace stopped: what is wrong, at which byte, and how much was read before.
///
/// Readers hand on every whole record before they return this, so the records count says how much
/// of the trace is usable.
#[derive(Debug)]
pub struct TraceError {
    /// What is wrong and what was expected.
    pub kind: TraceErrorKind,
    /// Where in the file, in bytes from its start.
    pub offset: u64,
    /// Records read before this place.
    pub records: u64,
    /// Time of the latest of them.
    pub last: Option<Instant>,
}

/// What is wrong with a trace file. Texts say what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceErrorKind {
    /// The operating system refused to read.
    #[error("cannot read the file")]
    Io(#[source] io::Error),
    /// No byte at all.
    #[error(
        "the file is empty; expected a domio trace or a xentrace file (was xentrace stopped \
         before its first window?)"
    )]
    Empty,
    /// None of the formats that domio reads.
    #[error(
        "not a trace: the file starts with {found}; expected a domio trace (89 64 6f 6d 69 6f), a \
         xentrace file of Xen 3.2 or later (03 f0 01 20) or the 60-byte or 36-byte records of Xen \
         3.0 and 3.1{hint}"
    )]
    Foreign {
        /// The first bytes, in hexadecimal.
        found: String,
        /// What the file seems to be, when known; starts with "; " unless empty.
        hint: &'static str,
    },
    /// The file ends too early. All whole records before the end were handed on.
    #[error("the file ends inside {what}: {expected} bytes were expected, {found} are there")]
    Truncated {
        /// The part that is cut.
        what: &'static str,
        /// Bytes that the part should have.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// A part contradicts the format.
    #[error("{what}: expected {expected}, found {found}")]
    Damaged {
        /// The part.
        what: &'static str,
        /// What the format says.
        expected: &'static str,
        /// What the file has.
        found: String,
    },
    /// A version of the own format that this program does not know.
    #[error(
        "version {found} of the domio trace format; this program reads version {known}: {}",
        if found < known {
            "record the run again, or use the domio that wrote the file"
        } else {
            "use the domio that wrote the file, or a newer domio"
        }
    )]
    Version {
        /// Version in the file.
        found: u16,
        /// The version that this program reads.
        known: u16,
    },
    /// What the readers of Linux traces say.
    #[error("{0}")]
    Linux(domio_linux::LinuxErrorKind),
    /// An option contradicts itself or the file.
    #[error("{0}")]
    Option(String),
}

impl TraceErrorKind {
    /// This kind at `offset`, before any record.
    pub(crate) fn at(self, offset: u64) -> TraceError {
        TraceError {
            kind: self,
            offset,
            records: 0,
            last: None,
        }
    }
}

/// The error for a file that starts with `start`, with a guess at what it is.
pub(crate) fn foreign(start: &[u8]) -> TraceError {
    let mut found = String::new();
    for byte in &start[..start.len().min(12)] {
        let space = if found.is_empty() { "" } else { " " };
        write!(found, "{space}{byte:02x}").expect("writing to a string cannot fail");
    }
    let hint = match start {
        [0x1f, 0x8b, ..] => "; this is a gzip file: unpack it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "; this is a zstd file: unpack it first",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "; this is an xz file: unpack it first",
        [0x20, 0x01, 0xf0, 0x03, ..] => "; this is a xentrace file of a big-endian host",
        [0x7f, b'E', b'L', b'F', ..] => "; this is a program",
        [b'{' | b'[', ..] => "; this looks like JSON",
        [b'P', b'A', b'R', b'1', ..] => "; this is a Parquet file",
        _ if !start.is_empty()
            && start
                .iter()
                .all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) =>
        {
            "; this looks like text"
        }
        _ => "",
    };
    TraceErrorKind::Foreign { found, hint }.at(0)
}

impl TraceError {
    /// Whether the file is sound as far as it goes and merely ends too early, as when the program
    /// that wrote it was killed.
    pub fn is_truncation(&self) -> bool {
        matches!(
            self.kind,
            TraceErrorKind::Truncated { .. }
                | TraceErrorKind::Linux(domio_linux::LinuxErrorKind::Truncated { .. })
        )
    }

    /// The same error with what was read before it.
    pub(crate) fn after(mut self, records: u64, last: Option<Instant>) -> Self {
        self.records = records;
        self.last = last;
        self
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)?;
        match (self.records, self.last) {
            (0, _) | (_, None) => f.write_str(" (no record was read before)"),
            (1, Some(last)) => write!(f, " (1 record was read before, at {last})"),
            (n, Some(last)) => write!(f, " ({n} records were read before, the last at {last})"),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            TraceErrorKind::Io(e) => Some(e),
            _ => None,
        }
    }
}
