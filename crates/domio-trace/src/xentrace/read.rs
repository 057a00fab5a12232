//! Reads xentrace files of Xen 3.2 and later (xen-spec 7.2).

mod skip;

pub use skip::Skipped;

use std::io::Read;

use domio_core::{ActorId, Duration, Instant, Kind, Names, PcpuId, Record};

use super::decode::{Decoded, Decoder};
use super::event::{
    CPU_CHANGE, CPU_CHANGE_HEADER, EVENT_MASK, EXTRA_MAX, Extra, HAS_CYCLES, LOST_RECORDS,
    NO_EVENT, RECORD_MAX,
};
use crate::bytes::{ByteStream, u32_at, u64_at};
use crate::merge::Merge;
use crate::{MergeStats, ReadOptions, TraceError, TraceErrorKind, TscClock};

/// Bytes of a window's head: header word, cpu, size.
const WINDOW_HEAD: usize = 12;

/// Records decoded at one go before what may be handed on is.
const STEP: usize = 1024;

/// Streams a xentrace file of Xen 3.2 or later, merged by time.
///
/// What is damaged is left out up to the next window ([`XentraceReader::skipped`]), and records of
/// loss ([`Kind::Lost`]) report that.
///
/// Memory is bounded by two polling rounds of xentrace (one window for each cpu), and by
/// [`ReadOptions::held_max`] for files that are put together differently.
pub struct XentraceReader<R> {
    read: R,
    records: XentraceRecords,
}

/// What a [`XentraceReader`] knows, whatever it reads from.
pub(crate) struct XentraceRecords {
    bytes: ByteStream,
    clock: TscClock,
    decoder: Decoder,
    merge: Merge,
    window: Option<Window>,
    cpus: Vec<CpuState>,
    decoded: u64,
    last: Option<Instant>,
    handed_out: u64,
    end: End,
    skipped: Skipped,
    /// Time of the first record.
    first: Option<Instant>,
    /// Cpus of which there was a record since records of them were lost.
    live: Vec<u16>,
    /// Cpus with damage before that.
    unread: Vec<u16>,
}

/// The window that is being read.
struct Window {
    cpu: u16,
    size: u32,
    left: u32,
}

/// What a cpu's stream needs to know of its past.
#[derive(Clone, Copy)]
struct CpuState {
    /// Time of the latest record with a time; later ones without inherit it.
    at: Instant,
    /// Whether there was such a record.
    told: bool,
    /// Whether records are missing, and none was read since; so it is before the first one.
    lost: bool,
    /// The latest record was an INFCONT of this vcpu.
    continued: Option<ActorId>,
}

/// How far the file is.
enum End {
    NotYet,
    Clean,
    Failed(Option<TraceError>),
}

/// A count that no host gets to: 16 years at the highest frequency that is understood.
const NO_TIME: u64 = 1 << 63;

/// So long no recorded host is silent: xentrace itself runs every 100 ms.
const SILENCE_MAX: Duration = Duration::from_secs(3600);

impl<R: Read> XentraceReader<R> {
    /// Starts to read.
    ///
    /// # Errors
    /// [`TraceErrorKind::Option`] for an impossible frequency, [`TraceErrorKind::Foreign`] unless
    /// the file starts with a window.
    pub fn new(mut read: R, options: &ReadOptions) -> Result<Self, TraceError> {
        let records = XentraceRecords::new(&mut read, options)?;
        Ok(XentraceReader { read, records })
    }

    /// What the numbers of the records so far stand for.
    pub fn names(&self) -> &Names {
        self.records.names()
    }

    /// Counts a second of the clock that times were converted with.
    pub fn tsc_hz(&self) -> u64 {
        self.records.tsc_hz()
    }

    /// What merging the cpus' streams had to do so far.
    pub fn merge_stats(&self) -> MergeStats {
        self.records.merge_stats()
    }

    /// What was left out so far because the file is damaged.
    pub fn skipped(&self) -> &Skipped {
        self.records.skipped()
    }

    /// The same, for whoever keeps it.
    pub fn take_skipped(&mut self) -> Skipped {
        self.records.take_skipped()
    }

    /// The next record in the order of time, `None` after the last. After an error there is no
    /// more; all whole records before are handed out first.
    ///
    /// # Errors
    /// A [`TraceError`] where the file ends inside a window, or cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        self.records.next_record(&mut self.read)
    }
}

impl XentraceRecords {
    /// As [`XentraceReader::new`].
    pub(crate) fn new(read: &mut dyn Read, options: &ReadOptions) -> Result<Self, TraceError> {
        let clock = TscClock::new(options.tsc_hz()).map_err(|k| k.at(0))?;
        let mut bytes = ByteStream::new();
        let start = bytes
            .fill(read, WINDOW_HEAD)
            .map_err(|e| TraceErrorKind::Io(e).at(0))?;
        if start.is_empty() {
            return Err(TraceErrorKind::Empty.at(0));
        }
        let magic = CPU_CHANGE_HEADER.to_le_bytes();
        let known = start.len().min(4);
        if start[..known] != magic[..known] {
            return Err(crate::error::foreign(start));
        }
        Ok(XentraceRecords {
            bytes,
            clock,
            decoder: Decoder::new(options),
            merge: Merge::new(options.held_max),
            window: None,
            cpus: Vec::new(),
            decoded: 0,
            last: None,
            handed_out: 0,
            end: End::NotYet,
            skipped: Skipped::default(),
            first: None,
            live: Vec::new(),
            unread: Vec::new(),
        })
    }

    /// What the numbers of the records so far stand for.
    pub(crate) fn names(&self) -> &Names {
        self.decoder.names()
    }

    /// Counts a second of the clock that times were converted with.
    pub(crate) fn tsc_hz(&self) -> u64 {
        self.clock.hz()
    }

    /// What merging the cpus' streams had to do so far.
    pub(crate) fn merge_stats(&self) -> MergeStats {
        self.merge.stats()
    }

    /// What was left out so far because the file is damaged.
    pub(crate) fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The same, for whoever keeps it.
    pub(crate) fn take_skipped(&mut self) -> Skipped {
        std::mem::take(&mut self.skipped)
    }

    /// As [`XentraceReader::next_record`].
    pub(crate) fn next_record(
        &mut self,
        read: &mut dyn Read,
    ) -> Result<Option<Record>, TraceError> {
        loop {
            if let Some(record) = self.merge.pop() {
                self.handed_out += 1;
                return Ok(Some(record));
            }
            match &mut self.end {
                End::NotYet => {}
                End::Clean => return Ok(None),
                End::Failed(error) => return error.take().map_or(Ok(None), Err),
            }
            let done = match self.step(read) {
                Err(e) if matches!(e.kind, TraceErrorKind::Damaged { .. }) => {
                    let offset = e.offset;
                    let error = e.after(self.decoded, self.last);
                    let skipped = self.skip(read, error).map(|()| true);
                    skipped.map_err(|e| TraceErrorKind::Io(e).at(offset))
                }
                done => done,
            };
            match done {
                Ok(true) => {}
                Ok(false) => {
                    // Of nothing but damage there is nothing to continue with.
                    self.end = match (self.decoded, self.skipped.errors.is_empty()) {
                        (0, false) => End::Failed(Some(self.skipped.errors.remove(0))),
                        _ => End::Clean,
                    };
                    self.merge.finish();
                }
                Err(e) => {
                    self.end = End::Failed(Some(e.after(self.decoded, self.last)));
                    self.merge.finish();
                }
            }
        }
    }

    /// Decodes the head of a window or some records of it; false at the end of the file.
    fn step(&mut self, read: &mut dyn Read) -> Result<bool, TraceError> {
        let Some(window) = &self.window else {
            return self.window_head(read);
        };
        let cpu = window.cpu;
        for _ in 0..STEP.min(self.merge.room()) {
            let Some(window) = self.window.as_mut().filter(|w| w.left > 0) else {
                self.window = None;
                break;
            };
            let offset = self.bytes.offset();
            let bytes = self
                .bytes
                .fill(read, RECORD_MAX.min(window.left as usize))
                .map_err(|e| TraceErrorKind::Io(e).at(offset))?;
            let room = bytes.len().min(window.left as usize);
            let length = match record_length(&bytes[..room]) {
                Ok(length) => length,
                Err(needed) if room < window.left as usize => {
                    let cut = TraceErrorKind::Truncated {
                        what: "a window of one cpu",
                        expected: window.size.into(),
                        found: u64::from(window.size - window.left) + room as u64,
                    };
                    debug_assert!(needed > room, "a whole record is there");
                    return Err(cut.at(offset));
                }
                Err(needed) => {
                    return Err(TraceErrorKind::Damaged {
                        what: "a record",
                        expected: "records that end with their window",
                        found: format!("{needed} bytes where the window has {room} left"),
                    }
                    .at(offset));
                }
            };
            let raw = RawRecord::parse(&bytes[..length]);
            if raw.event == NO_EVENT {
                return Err(TraceErrorKind::Damaged {
                    what: "a record",
                    expected: "the number of an event, which is never 0",
                    found: format!(
                        "{:#010x}; was this part of the file ever written?",
                        u32_at(bytes, 0)
                    ),
                }
                .at(offset));
            }
            if raw.event == CPU_CHANGE {
                return Err(TraceErrorKind::Damaged {
                    what: "a window of one cpu",
                    expected: "no other window inside",
                    found: format!("a window with {} bytes still to come", window.left),
                }
                .at(offset));
            }
            let last = self.last;
            let jumps = |tsc: u64| {
                let at = Instant::from_nanos(self.clock.nanos(tsc));
                last.is_some_and(|last| at.saturating_since(last) > SILENCE_MAX)
            };
            if let Some(tsc) = raw.tsc.filter(|tsc| *tsc >= NO_TIME || jumps(*tsc)) {
                return Err(TraceErrorKind::Damaged {
                    what: "a record",
                    expected: "a time that counts from the host's start, soon after the one before",
                    found: format!("{tsc:#x} counts"),
                }
                .at(offset));
            }
            window.left -= length as u32;
            self.bytes.consume(length);
            self.take(cpu, &raw);
        }
        Ok(true)
    }

    /// Hands one record to the merge.
    #[inline]
    fn take(&mut self, cpu: u16, raw: &RawRecord) {
        let state = &mut self.cpus[usize::from(cpu)];
        let latest = Some(state.at).filter(|_| state.told);
        if let Some(tsc) = raw.tsc {
            state.at = Instant::from_nanos(self.clock.nanos(tsc));
            state.told = true;
        }
        let continued = state.continued.take();
        let pcpu = PcpuId(cpu);
        let decoded = self.decoder.decode(state.at, pcpu, raw.event, &raw.extra);
        let record = match decoded {
            Decoded::Nothing => return,
            // The second half of the INFCONT before it.
            Decoded::ContinueRunning(r) if continued == Some(r.actor) => return,
            Decoded::ContinueRunning(r) => r,
            Decoded::Record(r) => {
                if r.is(Kind::Continue) {
                    state.continued = Some(r.actor);
                }
                r
            }
        };
        let record = match raw.event {
            // It was written when there was room again. What counts is since when there was none.
            LOST_RECORDS => {
                let first = raw.first_lost().map(|tsc| self.clock.nanos(tsc));
                let since = skip::lost_since(first.map(Instant::from_nanos), latest, record.at);
                let at = since.max(self.merge.latest_out()).min(record.at);
                Record { at, ..record }
            }
            _ => record,
        };
        self.note(cpu, record.at);
        self.decoded += 1;
        self.last = self.last.max(Some(record.at));
        self.merge.push(record);
    }

    /// Reads the head of the next window; false at the end of the file.
    fn window_head(&mut self, read: &mut dyn Read) -> Result<bool, TraceError> {
        let offset = self.bytes.offset();
        let head = self
            .bytes
            .fill(read, WINDOW_HEAD)
            .map_err(|e| TraceErrorKind::Io(e).at(offset))?;
        if head.is_empty() {
            return Ok(false);
        }
        if head.len() >= 4 && u32_at(head, 0) != CPU_CHANGE_HEADER {
            return Err(TraceErrorKind::Damaged {
                what: "the start of a window",
                expected: "a CPU_CHANGE record (0x2001f003)",
                found: format!("{:#010x}", u32_at(head, 0)),
            }
            .at(offset));
        }
        if head.len() < WINDOW_HEAD {
            return Err(TraceErrorKind::Truncated {
                what: "the head of a window",
                expected: WINDOW_HEAD as u64,
                found: head.len() as u64,
            }
            .at(offset));
        }
        let cpu = u32_at(head, 4);
        let size = u32_at(head, 8);
        let Ok(cpu) = u16::try_from(cpu) else {
            return Err(TraceErrorKind::Damaged {
                what: "the cpu of a window",
                expected: "0 to 65535",
                found: (cpu as i32).to_string(),
            }
            .at(offset + 4));
        };
        if !size.is_multiple_of(4) {
            return Err(TraceErrorKind::Damaged {
                what: "the size of a window",
                expected: "a multiple of 4 bytes",
                found: size.to_string(),
            }
            .at(offset + 8));
        }
        self.bytes.consume(WINDOW_HEAD);
        if self.cpus.len() <= usize::from(cpu) {
            // A cpu that was not seen before inherits the latest time for records without one.
            let at = self.last.unwrap_or_default();
            let fresh = CpuState {
                at,
                told: false,
                lost: true,
                continued: None,
            };
            self.cpus.resize(usize::from(cpu) + 1, fresh);
        }
        if size > 0 {
            // An empty window says nothing about the polling rounds: xentrace writes none.
            self.merge.window(cpu);
        }
        self.window = Some(Window {
            cpu,
            size,
            left: size,
        });
        Ok(true)
    }
}

/// Length of the record at the start of `bytes`, or the length that it needs.
#[inline]
fn record_length(bytes: &[u8]) -> Result<usize, usize> {
    if bytes.len() < 4 {
        return Err(4);
    }
    let header = u32_at(bytes, 0);
    let cycles = if header & HAS_CYCLES != 0 { 8 } else { 0 };
    let length = 4 + cycles + 4 * (header >> 28 & 7) as usize;
    if length <= bytes.len() {
        Ok(length)
    } else {
        Err(length)
    }
}

/// A record as the file has it.
struct RawRecord {
    event: u32,
    tsc: Option<u64>,
    extra: Extra,
}

impl RawRecord {
    /// Takes apart exactly one record.
    #[inline]
    fn parse(bytes: &[u8]) -> Self {
        let header = u32_at(bytes, 0);
        let tsc = (header & HAS_CYCLES != 0).then(|| u64_at(bytes, 4));
        let first = if tsc.is_some() { 12 } else { 4 };
        let count = (header >> 28 & 7) as usize;
        let mut words = [0; EXTRA_MAX + 1];
        for (i, word) in words[..count].iter_mut().enumerate() {
            *word = u32_at(bytes, first + 4 * i);
        }
        RawRecord {
            event: header & EVENT_MASK,
            tsc,
            extra: Extra { words, count },
        }
    }

    /// The count at the first of the records that this one says are lost.
    fn first_lost(&self) -> Option<u64> {
        let [_, _, low, high] = *self.extra.words.get(..self.extra.count)? else {
            return None;
        };
        Some(u64::from(high) << 32 | u64::from(low)).filter(|tsc| (1..NO_TIME).contains(tsc))
    }
}

#[cfg(test)]
mod tests;
