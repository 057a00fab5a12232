//! Damage in the middle of a xentrace file: what lies between the damaged place and the next window
//! is left out, counted, and told by records of a loss.

use std::fmt;
use std::io::{self, Read};

use domio_core::{ActorId, Instant, Kind, PcpuId, Record};

use super::{RawRecord, WINDOW_HEAD, XentraceRecords, record_length};
use crate::TraceError;
use crate::bytes::u32_at;
use crate::xentrace::event::{CPU_CHANGE, CPU_CHANGE_HEADER, NO_EVENT, RECORD_MAX};

/// Most damaged places of which the error is kept.
const ERRORS_MAX: usize = 8;

/// What was left out of a damaged file.
#[derive(Debug, Default)]
pub struct Skipped {
    /// Places where the file was damaged.
    pub places: u64,
    /// Bytes that were left out.
    pub bytes: u64,
    /// What was wrong at the first of those places.
    pub errors: Vec<TraceError>,
}

impl Skipped {
    fn add(&mut self, error: TraceError, bytes: u64) {
        self.places += 1;
        self.bytes += bytes;
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.errors.first() else {
            return f.write_str("no damage");
        };
        match self.places {
            1 => write!(
                f,
                "{first}; left out up to the next window: {} bytes",
                self.bytes
            ),
            n => write!(
                f,
                "{first}; {n} such places, left out up to the next windows: {} bytes",
                self.bytes
            ),
        }
    }
}

impl XentraceRecords {
    /// Leaves out what lies between the damaged place, of which `error` tells, and the next window.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn skip(&mut self, read: &mut dyn Read, error: TraceError) -> io::Result<()> {
        let from = self.bytes.offset();
        self.find_window(read)?;
        self.skipped.add(error, self.bytes.offset() - from);
        match self.window.take() {
            Some(window) => self.lose(window.cpu),
            // A window without a head may be any cpu's.
            None => std::mem::take(&mut self.live)
                .into_iter()
                .for_each(|cpu| self.lose(cpu)),
        }
        Ok(())
    }

    /// Records of `cpu` are missing, at least one, after its latest one, or from the begin. Those
    /// handed on came before: what is missing is of this polling round.
    fn lose(&mut self, cpu: u16) {
        let Some(first) = self.first else {
            self.unread.push(cpu);
            return;
        };
        let state = &mut self.cpus[usize::from(cpu)];
        if state.told && std::mem::replace(&mut state.lost, true) {
            return;
        }
        state.lost = true;
        self.live.retain(|live| *live != cpu);
        let latest = if state.told { state.at } else { first };
        let at = latest.max(self.merge.latest_out());
        self.tell_lost(cpu, at);
    }

    /// Says that records of `cpu` are missing from `at` on.
    fn tell_lost(&mut self, cpu: u16, at: Instant) {
        let words = [1, 0, 0, 0];
        let lost = Record::with(at, PcpuId(cpu), Kind::Lost, ActorId::NONE, words);
        self.decoded += 1;
        self.merge.push_to(cpu, lost);
    }

    /// Takes note of the time of a record of `cpu`.
    #[inline]
    pub(super) fn note(&mut self, cpu: u16, at: Instant) {
        let state = &mut self.cpus[usize::from(cpu)];
        if std::mem::replace(&mut state.lost, false) {
            self.live.push(cpu);
        }
        if self.first.is_none() {
            self.first = Some(at);
            for cpu in std::mem::take(&mut self.unread) {
                self.lose(cpu);
            }
        }
    }

    /// Goes to the next window, or to the end of the file if there is none.
    fn find_window(&mut self, read: &mut dyn Read) -> io::Result<()> {
        let magic = CPU_CHANGE_HEADER.to_le_bytes();
        loop {
            let bytes = self.bytes.fill(read, WINDOW_HEAD + RECORD_MAX)?;
            let found = bytes.windows(magic.len()).position(|word| word == magic);
            let Some(before) = found else {
                let rest = bytes.len();
                let at_end = rest < WINDOW_HEAD + RECORD_MAX;
                // The last bytes may begin one.
                self.bytes.consume(match at_end {
                    true => rest,
                    false => rest + 1 - magic.len(),
                });
                if at_end {
                    return Ok(());
                }
                continue;
            };
            self.bytes.consume(before);
            let window = self.bytes.fill(read, WINDOW_HEAD + RECORD_MAX)?;
            if is_window(window) {
                return Ok(());
            }
            self.bytes.consume(1);
        }
    }
}

/// Whether `bytes` begin with a window that has a record.
fn is_window(bytes: &[u8]) -> bool {
    if bytes.len() < WINDOW_HEAD {
        return false;
    }
    let (cpu, size) = (u32_at(bytes, 4), u32_at(bytes, 8));
    let room = bytes.len().min(WINDOW_HEAD.saturating_add(size as usize));
    let record = &bytes[WINDOW_HEAD..room];
    let Ok(length) = record_length(record) else {
        return false;
    };
    let event = RawRecord::parse(&record[..length]).event;
    cpu <= u32::from(u16::MAX) && size.is_multiple_of(4) && ![NO_EVENT, CPU_CHANGE].contains(&event)
}

/// When the first of the records was lost of which a record at `at` tells: between the cpu's latest
/// record, if there is one, and `at`. `first` is what that record says.
pub(super) fn lost_since(first: Option<Instant>, latest: Option<Instant>, at: Instant) -> Instant {
    let first = first.filter(|first| *first <= at).or(latest).unwrap_or(at);
    latest.map_or(first, |latest| first.max(latest)).min(at)
}
