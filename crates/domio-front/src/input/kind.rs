//! What a file is, told by its first bytes and never by its name or place.

use super::texts;
use domio_trace::block::recognise_block;
use domio_trace::{Format, PerfettoWriter, TraceError, TraceErrorKind};
use std::ops::ControlFlow;

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputKind {
    /// A trace that domio reads, perhaps a damaged one.
    Trace,
    /// A trace of a block device.
    BlockTrace,
    /// A scenario, perhaps with mistakes.
    Scenario,
    /// Something that no command takes in the place of a trace or a scenario.
    Foreign {
        /// What people call it, with its article.
        what: &'static str,
        /// What to do with it: a sentence without a full stop.
        advice: &'static str,
    },
    /// Nothing that is known by its begin.
    Unknown,
}

const PERF: InputKind = InputKind::Foreign {
    what: "a recording of a perf before Linux 2.6.35",
    advice: "record with a newer perf",
};
const PCAP: InputKind = InputKind::Foreign {
    what: "a capture of packets",
    advice: "`tcpdump -r` reads it; domio reads what `xentrace` recorded of the hypervisor",
};
const PROGRAM: InputKind = InputKind::Foreign {
    what: "a program",
    advice: "give a file that it wrote",
};
const PERFETTO: InputKind = InputKind::Foreign {
    what: "a trace for ui.perfetto.dev",
    advice: "open it there; `domio run --trace FILE` and `domio trace convert --to own` write \
             traces that domio reads",
};
const REPORT: InputKind = InputKind::Foreign {
    what: "a report of domio",
    advice: "open it in a browser; the command that made it is at its head",
};
const PAGE: InputKind = InputKind::Foreign {
    what: "an HTML page",
    advice: "open it in a browser; if it was downloaded, the address gave a page, not the file",
};
const RESULTS: InputKind = InputKind::Foreign {
    what: "a SQLite database, as results are kept in",
    advice: "`domio results list` reads it",
};
const XZ: InputKind = InputKind::Foreign {
    what: "an xz file",
    advice: "unpack it with `xz -dk`; gzip and zstd files are read as they are",
};
const BZIP2: InputKind = InputKind::Foreign {
    what: "a bzip2 file",
    advice: "unpack it with `bzip2 -dk`; gzip and zstd files are read as they are",
};
const ZIP: InputKind = InputKind::Foreign {
    what: "a zip archive",
    advice: "unpack it, and give the file in it; gzip and zstd files are read as they are",
};
const TAR: InputKind = InputKind::Foreign {
    what: "a tar archive",
    advice: "unpack it with `tar -xf`, and give a file of it",
};

/// Files by their first bytes. Sources: `perf.data-file-format.txt` of Linux, `trace-cmd.dat(5)`,
/// the drafts of pcap and pcapng, `file(1)`.
const MAGICS: [(&[u8], InputKind); 13] = [
    (b"PERFFILE", PERF),
    (b"\xd4\xc3\xb2\xa1", PCAP),
    (b"\xa1\xb2\xc3\xd4", PCAP),
    (b"\x4d\x3c\xb2\xa1", PCAP),
    (b"\xa1\xb2\x3c\x4d", PCAP),
    (b"\x0a\x0d\x0d\x0a", PCAP),
    (b"\x7fELF", PROGRAM),
    (b"MZ", PROGRAM),
    (b"SQLite format 3\0", RESULTS),
    (b"\xfd7zXZ\0", XZ),
    (b"BZh", BZIP2),
    (b"PK\x03\x04", ZIP),
    (
        b"PAR1",
        InputKind::Foreign {
            what: "a Parquet file",
            advice: "`domio trace convert --to csv` writes tables; domio reads none",
        },
    ),
];

impl InputKind {
    /// Of a file that begins with `head`, unpacked.
    pub fn of(head: &[u8]) -> Self {
        let by_magic = MAGICS.iter().find(|(magic, _)| head.starts_with(magic));
        if let Some((_, kind)) = by_magic {
            return *kind;
        }
        if head.get(257..262) == Some(b"ustar") {
            return TAR;
        }
        if begins_as_perfetto(head) {
            return PERFETTO;
        }
        // A text of ftrace may be about requests of a disk.
        let is_block = recognise_block(head).is_some();
        match Format::of(head) {
            Ok(Format::Linux) if is_block => {}
            Ok(_) => return InputKind::Trace,
            // A damaged trace is one all the same: only what is of no format is no trace.
            Err(TraceError {
                kind: TraceErrorKind::Foreign { .. } | TraceErrorKind::Empty,
                ..
            }) => {}
            Err(_) => return InputKind::Trace,
        }
        match of_text(&String::from_utf8_lossy(head)) {
            InputKind::Unknown => {}
            kind => return kind,
        }
        if is_block {
            return InputKind::BlockTrace;
        }
        texts::foreign(&String::from_utf8_lossy(head))
    }

    /// Whether it is what `xl` or `xm` printed of a host.
    pub fn is_of_xl(self) -> bool {
        self == texts::LISTS
    }
}

fn of_text(text: &str) -> InputKind {
    let begin = text.trim_start().get(..14).unwrap_or_default();
    let begin = begin.to_ascii_lowercase();
    if begin.starts_with("<!doctype html") || begin.starts_with("<html") {
        return match domio_report::html::is_report(text) {
            true => REPORT,
            false => PAGE,
        };
    }
    // The first line that is told by its form decides: the rest may quote anything.
    let told = text.lines().try_for_each(|line| match of_line(line) {
        InputKind::Unknown => ControlFlow::Continue(()),
        kind => ControlFlow::Break(kind),
    });
    told.break_value().unwrap_or(InputKind::Unknown)
}

/// What the text of a line reports its file.
fn of_line(line: &str) -> InputKind {
    const OF_SCENARIOS: [&str; 6] = [
        "[[domain]]",
        "[scheduler]",
        "scheduler.",
        "[host]",
        "host.",
        "run.",
    ];
    let line = line.trim();
    match OF_SCENARIOS.iter().any(|begin| line.starts_with(begin)) {
        true => InputKind::Scenario,
        false => InputKind::Unknown,
    }
}

/// Whether a trace begins with the track that [`PerfettoWriter`] declares first.
pub fn begins_as_perfetto(head: &[u8]) -> bool {
    let written = PerfettoWriter::new(Vec::new(), None).finish();
    let begin = written.unwrap_or_default();
    // A packet: its tag, its length in one byte, and so many bytes.
    let first = begin.get(1).map_or(0, |length| usize::from(*length) + 2);
    first > 2 && head.get(..first) == begin.get(..first)
}
