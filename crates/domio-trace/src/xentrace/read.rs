//! Reads xentrace files of Xen 3.2 and later (xen-spec 7.2).

use std::io::Read;

use domio_core::{ActorId, Instant, Kind, Names, PcpuId, Record};

use super::decode::{Decoded, Decoder};
use super::event::{
    CPU_CHANGE, CPU_CHANGE_HEADER, EVENT_MASK, EXTRA_MAX, Extra, HAS_CYCLES, NO_EVENT, RECORD_MAX,
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
/// Memory is bounded by two polling rounds of xentrace (one window for each cpu), and by
/// [`ReadOptions::held_max`] for files that are put together differently.
pub struct XentraceReader<R> {
    bytes: ByteStream<R>,
    clock: TscClock,
    decoder: Decoder,
    merge: Merge,
    window: Option<Window>,
    cpus: Vec<CpuState>,
    decoded: u64,
    last: Option<Instant>,
    handed_out: u64,
    end: End,
}

/// The window that is being read.
struct Window {
    cpu: u16,
    size: u32,
    left: u32,
}

/// What a cpu's stream needs to know of its past.
#[derive(Clone, Copy, Default)]
struct CpuState {
    /// Time of the latest record with a time; later ones without inherit it.
    at: Instant,
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

impl<R: Read> XentraceReader<R> {
    /// Starts to read.
    ///
    /// # Errors
    /// [`TraceErrorKind::Option`] for an impossible frequency, [`TraceErrorKind::Foreign`] unless
    /// the file starts with a window.
    pub fn new(read: R, options: &ReadOptions) -> Result<Self, TraceError> {
        let clock = TscClock::new(options.tsc_hz()).map_err(|k| k.at(0))?;
        let mut bytes = ByteStream::new(read);
        let start = bytes
            .fill(WINDOW_HEAD)
            .map_err(|e| TraceErrorKind::Io(e).at(0))?;
        if start.is_empty() {
            return Err(TraceErrorKind::Empty.at(0));
        }
        let magic = CPU_CHANGE_HEADER.to_le_bytes();
        let known = start.len().min(4);
        if start[..known] != magic[..known] {
            return Err(crate::open::foreign(start));
        }
        Ok(XentraceReader {
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
        })
    }

    /// What the numbers of the records so far stand for.
    pub fn names(&self) -> &Names {
        self.decoder.names()
    }

    /// Counts a second of the clock that times were converted with.
    pub fn tsc_hz(&self) -> u64 {
        self.clock.hz()
    }

    /// What merging the cpus' streams had to do so far.
    pub fn merge_stats(&self) -> MergeStats {
        self.merge.stats()
    }

    /// The next record in the order of time, `None` after the last. After an error there is no
    /// more; all whole records before the damage are handed out first.
    ///
    /// # Errors
    /// A [`TraceError`] where the file is damaged or ends inside a window.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
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
            match self.step() {
                Ok(true) => {}
                Ok(false) => {
                    self.end = End::Clean;
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
    fn step(&mut self) -> Result<bool, TraceError> {
        let Some(window) = &self.window else {
            return self.window_head();
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
                .fill(RECORD_MAX.min(window.left as usize))
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
            if let Some(tsc) = raw.tsc.filter(|tsc| *tsc >= NO_TIME) {
                return Err(TraceErrorKind::Damaged {
                    what: "a record",
                    expected: "a time that counts from the host's start",
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
        if let Some(tsc) = raw.tsc {
            state.at = Instant::from_nanos(self.clock.nanos(tsc));
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
        self.decoded += 1;
        self.last = self.last.max(Some(record.at));
        self.merge.push(record);
    }

    /// Reads the head of the next window; false at the end of the file.
    fn window_head(&mut self) -> Result<bool, TraceError> {
        let offset = self.bytes.offset();
        let head = self
            .bytes
            .fill(WINDOW_HEAD)
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
                continued: None,
            };
            self.cpus.resize(usize::from(cpu) + 1, fresh);
        }
        if size > 0 {
            // An empty window tells nothing of the polling rounds: xentrace writes none.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xentrace::event::WRAP_BUFFER;

    fn record(out: &mut Vec<u8>, tsc: Option<u64>, event: u32, extra: &[u32]) {
        let cycles = if tsc.is_some() { HAS_CYCLES } else { 0 };
        out.extend((cycles | (extra.len() as u32) << 28 | event).to_le_bytes());
        out.extend(tsc.into_iter().flat_map(u64::to_le_bytes));
        out.extend(extra.iter().flat_map(|w| w.to_le_bytes()));
    }

    fn window(out: &mut Vec<u8>, cpu: i32, records: &[u8]) {
        out.extend(CPU_CHANGE_HEADER.to_le_bytes());
        out.extend(cpu.to_le_bytes());
        out.extend((records.len() as u32).to_le_bytes());
        out.extend(records);
    }

    fn read(bytes: &[u8], options: &ReadOptions) -> (Vec<Record>, Option<TraceError>) {
        let (records, error, _) = read_names(bytes, options);
        (records, error)
    }

    fn read_names(bytes: &[u8], options: &ReadOptions) -> (Vec<Record>, Option<TraceError>, Names) {
        let mut reader = XentraceReader::new(bytes, options).unwrap();
        let mut out = Vec::new();
        loop {
            match reader.next_record() {
                Ok(Some(r)) => out.push(r),
                Ok(None) => return (out, None, reader.names().clone()),
                Err(e) => {
                    assert!(reader.next_record().unwrap().is_none());
                    return (out, Some(e), reader.names().clone());
                }
            }
        }
    }

    fn two_cpus() -> Vec<u8> {
        let mut file = Vec::new();
        let mut w = Vec::new();
        record(&mut w, Some(2400), 0x28004, &[1, 0]);
        record(&mut w, None, 0x28006, &[1, 0]);
        record(&mut w, None, WRAP_BUFFER, &[0, 0, 0]);
        window(&mut file, 0, &w);
        w.clear();
        record(&mut w, Some(1200), 0x28004, &[2, 0]);
        record(&mut w, Some(4800), 0x1f001, &[9, 1 << 16 | 2, 0, 0]);
        window(&mut file, 1, &w);
        file
    }

    #[test]
    fn cpus_are_merged_and_times_converted() {
        let options = ReadOptions {
            tsc_hz: Some(2_400_000_000),
            ..ReadOptions::default()
        };
        let (records, error, names) = read_names(&two_cpus(), &options);
        assert!(error.is_none());
        let seen: Vec<_> = records
            .iter()
            .map(|r| (r.at.as_nanos(), r.pcpu.0, r.kind().unwrap()))
            .collect();
        assert_eq!(
            seen,
            [
                (500, 1, Kind::Wake),
                (1000, 0, Kind::Wake),
                (1000, 0, Kind::Block),
                (2000, 1, Kind::Lost),
            ],
            "a record without a time has that of the one before"
        );
        assert_eq!(records[3].words[0], 9);
        assert_eq!(names.vcpu(records[3].actor).unwrap().to_string(), "d2v1");
    }

    #[test]
    fn a_lone_continue_running_counts_and_a_paired_one_does_not() {
        let mut w = Vec::new();
        record(&mut w, Some(1), 0x28011, &[4, 1, 70, 80]);
        record(&mut w, Some(2), 0x21002, &[4 << 16 | 1]);
        record(&mut w, Some(3), 0x21002, &[4 << 16 | 1]);
        let mut file = Vec::new();
        window(&mut file, 0, &w);
        let (records, _) = read(&file, &ReadOptions::default());
        let seen: Vec<_> = records.iter().map(|r| (r.at.as_nanos(), r.words)).collect();
        assert_eq!(seen, [(1, [70, 80, 0, 0]), (3, [0; 4])]);
        assert!(records.iter().all(|r| r.is(Kind::Continue)));
    }

    #[test]
    fn every_truncation_is_told_and_keeps_whole_records() {
        let file = two_cpus();
        let whole = read(&file, &ReadOptions::default()).0;
        for cut in 1..file.len() {
            let Ok(mut reader) = XentraceReader::new(&file[..cut], &ReadOptions::default()) else {
                panic!("the start is that of a xentrace file");
            };
            let mut n = 0;
            let error = loop {
                match reader.next_record() {
                    Ok(Some(_)) => n += 1,
                    Ok(None) => break None,
                    Err(e) => break Some(e),
                }
            };
            // A cut between two windows cannot be told from a shorter recording.
            let between = cut == 12 + 20 + 12 + 16;
            assert_eq!(error.is_none(), between, "cut at {cut}");
            if let Some(e) = error {
                assert!(e.is_truncation(), "cut at {cut}: {e}");
                assert_eq!(e.records, n);
            }
            assert!(n <= whole.len() as u64);
        }
    }

    #[test]
    fn damage_is_located() {
        let second_window = 12 + 20 + 12 + 16;
        for (at, value, offset) in [
            (8, 0x31, 8),                                 // an odd size of the first window
            (8, 4, 12),                                   // a size that cuts the first record
            (second_window, 0, second_window),            // a window that does not start as one
            (second_window + 7, 0x80, second_window + 4), // a negative cpu
        ] {
            let mut file = two_cpus();
            file[at] = value;
            let error = read(&file, &ReadOptions::default()).1.expect("not found");
            assert!(
                matches!(error.kind, TraceErrorKind::Damaged { .. }),
                "{error}"
            );
            assert_eq!(error.offset, offset as u64, "{error}");
        }
    }

    #[test]
    fn zeros_are_no_records() {
        let second_window = 12 + 20 + 12 + 16;
        let first_of_second = second_window + 12;
        for (from, to, records) in [
            (first_of_second, first_of_second + 12 + 8, 2), // a record
            (24, second_window, 1),                         // the rest of a window
            (12, 16, 0),                                    // a header alone
        ] {
            let mut file = two_cpus();
            // The first record of a window ends where its second begins.
            let at = if from == 24 { 12 + 20 } else { from };
            file[at..to].fill(0);
            let (read, error) = read(&file, &ReadOptions::default());
            let error = error.expect("not found");
            assert_eq!((read.len(), error.offset), (records, at as u64), "{error}");
            assert_eq!(error.records, records as u64);
            assert!(error.to_string().contains("never 0"), "{error}");
        }
    }

    #[test]
    fn absurd_windows_are_refused_without_allocating() {
        let mut file = Vec::new();
        window(&mut file, -1, &[]);
        let error = read(&file, &ReadOptions::default()).1.unwrap();
        assert_eq!(error.offset, 4);
        let mut file = two_cpus();
        file[8..12].copy_from_slice(&0xffff_fffcu32.to_le_bytes());
        let (records, error) = read(&file, &ReadOptions::default());
        let error = error.unwrap();
        assert_eq!(records.len(), 2, "those before the next window's head");
        assert!(
            error.to_string().contains("no other window inside"),
            "{error}"
        );
    }
}
