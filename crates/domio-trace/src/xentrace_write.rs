//! Writes xentrace files as those of Xen 4.17, so that `xenalyze` reads them.

use std::io::{self, Write};

use domio_core::{Record, Sink};

use crate::event::{CPU_CHANGE_HEADER, HAS_CYCLES, LOST_RECORDS, encode};
use crate::{TraceErrorKind, TscClock};

/// Trace time between two polling rounds, as xentrace polls.
const ROUND: u64 = 100_000_000;

/// Bytes held at which a round ends early, to bound memory.
const HELD_MAX: usize = 4 << 20;

/// Writes a xentrace file: [`XentraceWriter::new`], then [`Sink::record`] for each record, then
/// [`XentraceWriter::finish`].
///
/// Every record becomes those that Xen 4.17 would have written, with the same time:
/// [`Kind::Switch`](domio_core::Kind::Switch) the five INFPREV, INFNEXT, SWITCH and twice
/// RUNSTATE_CHANGE, [`Kind::Continue`](domio_core::Kind::Continue) INFCONT and CONTINUE_RUNNING.
/// [`Kind::JobDone`](domio_core::Kind::JobDone) is left out, and so are the records of the network:
/// Xen knows nothing of jobs and packets. A mark ([`Record::is_mark`]) is written as it is;
/// `xenalyze` calls it strange and counts rightly.
///
/// As xentrace does, it writes one window a pcpu and round, pcpus ascending. `W` needs no buffer of
/// its own. A failing write stops the writing; `finish` tells.
pub struct XentraceWriter<W: Write> {
    out: W,
    clock: TscClock,
    /// The round's records of each pcpu.
    windows: Vec<Vec<u8>>,
    /// Pcpus with records in this round.
    active: Vec<u16>,
    held: usize,
    round_ends: Option<u64>,
    written: u64,
    left_out: u64,
    error: Option<io::Error>,
}

impl<W: Write> XentraceWriter<W> {
    /// A writer whose time stamp counter counts `tsc_hz` a second: 1 000 000 000 keeps every
    /// nanosecond; tell the same frequency to the reader (`xenalyze --cpu-hz 1G`).
    ///
    /// # Errors
    /// [`TraceErrorKind::Option`] for an impossible frequency.
    pub fn new(out: W, tsc_hz: u64) -> Result<Self, TraceErrorKind> {
        Ok(XentraceWriter {
            out,
            clock: TscClock::new(tsc_hz)?,
            windows: Vec::new(),
            active: Vec::new(),
            held: 0,
            round_ends: None,
            written: 0,
            left_out: 0,
            error: None,
        })
    }

    /// Xen's records written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Records that have no counterpart in Xen and were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes what is left and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(mut self) -> io::Result<W> {
        if self.written == 0 {
            // One empty window: an empty file would look like a failed copy.
            self.windows.push(Vec::new());
            self.write_window(0);
        }
        self.end_round();
        match self.error {
            Some(e) => Err(e),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }

    fn end_round(&mut self) {
        let mut active = std::mem::take(&mut self.active);
        active.sort_unstable();
        for cpu in active.drain(..) {
            self.write_window(cpu.into());
        }
        self.active = active;
        self.held = 0;
    }

    /// Writes and empties the window of `cpu`.
    fn write_window(&mut self, cpu: usize) {
        let window = &mut self.windows[cpu];
        let mut head = [0; 12];
        head[0..4].copy_from_slice(&CPU_CHANGE_HEADER.to_le_bytes());
        head[4..8].copy_from_slice(&(cpu as i32).to_le_bytes());
        head[8..12].copy_from_slice(&(window.len() as u32).to_le_bytes());
        if self.error.is_none() {
            let result = self
                .out
                .write_all(&head)
                .and_then(|()| self.out.write_all(window));
            self.error = result.err();
        }
        window.clear();
    }
}

impl<W: Write> Sink for XentraceWriter<W> {
    fn record(&mut self, record: &Record) {
        let at = record.at.as_nanos();
        let round_ends = *self
            .round_ends
            .get_or_insert_with(|| at.saturating_add(ROUND));
        if at >= round_ends || self.held >= HELD_MAX {
            self.end_round();
            self.round_ends = Some(at.saturating_add(ROUND));
        }
        let cpu = record.pcpu.index();
        if self.windows.len() <= cpu {
            self.windows.resize_with(cpu + 1, Vec::new);
        }
        let window = &mut self.windows[cpu];
        let before = window.len();
        let mut n = 0;
        let tsc = self.clock.counts(at);
        encode(record, |event, extra| {
            let header = HAS_CYCLES | (extra.len() as u32) << 28 | event;
            window.extend(header.to_le_bytes());
            window.extend(tsc.to_le_bytes());
            for word in extra {
                window.extend(word.to_le_bytes());
            }
            if event == LOST_RECORDS && extra.len() == 4 {
                // Its last two words are the time of the first lost record: this one is as near.
                let end = window.len();
                window[end - 8..].copy_from_slice(&tsc.to_le_bytes());
            }
            n += 1;
        });
        if before == 0 && n > 0 {
            self.active.push(record.pcpu.0);
        }
        self.held += window.len() - before;
        self.written += n;
        self.left_out += u64::from(n == 0);
    }
}
