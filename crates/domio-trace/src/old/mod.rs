//! Reads xentrace files of Xen 3.0 and 3.1 (xen-spec 7.1).
//!
//! Those are plain arrays: a u32 cpu, then Xen's record as it lay in memory, so the layout differs
//! between 32-bit and 64-bit hosts. Nothing in the file says which; the first records must make
//! sense as one and not as the other.

mod derive;

use std::collections::VecDeque;
use std::io::Read;

use domio_core::{Instant, Names, PcpuId, Record};

use crate::bytes::{ByteStream, u32_at, u64_at};
use crate::merge::Merge;
use crate::xentrace::Decoder;
use crate::{MergeStats, ReadOptions, TraceError, TraceErrorKind, TscClock};

/// Records that must make sense before a file counts as an old one.
const PROBE: usize = 16;

/// Highest cpu number that makes sense: Xen 3.1 knows 256 cpus at most.
const CPU_MAX: u32 = 255;

/// A round is taken for over after so many records of one cpu: more than Xen's default buffers
/// hold, so that a file of one cpu streams.
const ROUND_MAX: u32 = 1 << 16;

/// Layout of one record with its cpu.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OldLayout {
    /// 60 bytes: cpu, cycles, event, 4 bytes of padding, five 64-bit words.
    Lp64,
    /// 36 bytes: cpu, cycles, event, five 32-bit words.
    Ilp32,
}

impl OldLayout {
    const fn size(self) -> usize {
        match self {
            OldLayout::Lp64 => 60,
            OldLayout::Ilp32 => 36,
        }
    }

    /// Words above 32 bits do not occur in the events that are understood: the upper halves are
    /// left out.
    fn words(self, record: &[u8]) -> [u32; 5] {
        let mut words = [0; 5];
        for (i, word) in words.iter_mut().enumerate() {
            *word = match self {
                OldLayout::Lp64 => u32_at(record, 20 + 8 * i),
                OldLayout::Ilp32 => u32_at(record, 16 + 4 * i),
            };
        }
        words
    }

    /// Whether the first records of `bytes` make sense in this layout.
    fn fits(self, bytes: &[u8]) -> bool {
        let mut cycles = [None; CPU_MAX as usize + 1];
        let mut records = bytes.chunks_exact(self.size()).take(PROBE).peekable();
        records.peek().is_some()
            && records.all(|r| {
                let cpu = u32_at(r, 0);
                if cpu > CPU_MAX || !plausible(u32_at(r, 12)) {
                    return false;
                }
                let before = &mut cycles[cpu as usize];
                let now = u64_at(r, 4);
                let forward = before.is_none_or(|b| b <= now);
                *before = Some(now);
                forward
            })
    }
}

/// Whether an event id has the form of those up to 3.1: one class bit (16 and above), a subclass
/// (12 to 15) and a number that is not large.
fn plausible(event: u32) -> bool {
    let class = event >> 16;
    class.is_power_of_two() && class <= 0x800 && event & 0xf000 != 0 && event & 0xf00 == 0
}

/// The layout in which the start of a file makes sense.
///
/// # Errors
/// When it makes sense in both.
pub(crate) fn probe(start: &[u8]) -> Result<Option<OldLayout>, TraceErrorKind> {
    match (OldLayout::Lp64.fits(start), OldLayout::Ilp32.fits(start)) {
        (true, true) => Err(TraceErrorKind::Option(
            "the file is so short that it reads as records of a 32-bit and of a 64-bit Xen 3.x \
             alike; a few records more would decide: take a longer recording"
                .to_owned(),
        )),
        (true, false) => Ok(Some(OldLayout::Lp64)),
        (false, true) => Ok(Some(OldLayout::Ilp32)),
        (false, false) => Ok(None),
    }
}

/// Streams a xentrace file of Xen 3.0 or 3.1, merged by time.
///
/// These files have no runstate changes; each record that reports one is followed by a
/// [`Kind::RunstateChange`](domio_core::Kind::RunstateChange) that was derived from it, at the same
/// time.
pub(crate) struct OldRecords {
    bytes: ByteStream,
    layout: OldLayout,
    clock: TscClock,
    decoder: Decoder,
    merge: Merge,
    derive: derive::Derive,
    /// Changes that the record handed out last reports.
    derived: VecDeque<Record>,
    /// Cpu of the record before and how many of its records came in a row.
    run: Option<(u16, u32)>,
    decoded: u64,
    last: Option<Instant>,
    ended: bool,
    error: Option<TraceError>,
}

impl OldRecords {
    pub(crate) fn new(layout: OldLayout, options: &ReadOptions) -> Result<Self, TraceError> {
        Ok(OldRecords {
            bytes: ByteStream::new(),
            layout,
            clock: TscClock::new(options.tsc_hz()).map_err(|k| k.at(0))?,
            decoder: Decoder::new(options),
            merge: Merge::new(options.held_max),
            derive: derive::Derive::default(),
            derived: VecDeque::new(),
            run: None,
            decoded: 0,
            last: None,
            ended: false,
            error: None,
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

    /// The next record in the order of time, `None` after the last. After an error there is no
    /// more; all whole records before the damage are handed out first.
    ///
    /// # Errors
    /// A [`TraceError`] where the file is damaged or ends inside a record.
    pub(crate) fn next_record(
        &mut self,
        read: &mut dyn Read,
    ) -> Result<Option<Record>, TraceError> {
        if let Some(change) = self.derived.pop_front() {
            return Ok(Some(change));
        }
        loop {
            if let Some(record) = self.merge.pop() {
                let changes = self.derive.changes(&record);
                self.derived.extend(changes.into_iter().flatten());
                return Ok(Some(record));
            }
            if self.ended {
                return self.error.take().map_or(Ok(None), Err);
            }
            match self.step(read) {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    self.merge.finish();
                }
                Err(e) => {
                    self.ended = true;
                    self.error = Some(e.after(self.decoded, self.last));
                    self.merge.finish();
                }
            }
        }
    }

    /// Reads one record; false at the end of the file.
    fn step(&mut self, read: &mut dyn Read) -> Result<bool, TraceError> {
        let size = self.layout.size();
        let offset = self.bytes.offset();
        let bytes = self
            .bytes
            .fill(read, size)
            .map_err(|e| TraceErrorKind::Io(e).at(offset))?;
        if bytes.is_empty() {
            return Ok(false);
        }
        if bytes.len() < size {
            return Err(TraceErrorKind::Truncated {
                what: "a record",
                expected: size as u64,
                found: bytes.len() as u64,
            }
            .at(offset));
        }
        let record = &bytes[..size];
        let cpu = u32_at(record, 0);
        if cpu > CPU_MAX {
            return Err(TraceErrorKind::Damaged {
                what: "the cpu of a record",
                expected: "0 to 255",
                found: cpu.to_string(),
            }
            .at(offset));
        }
        let cpu = cpu as u16;
        let at = Instant::from_nanos(self.clock.nanos(u64_at(record, 4)));
        let (event, words) = (u32_at(record, 12), self.layout.words(record));
        let decoded = self.decoder.decode_old(at, PcpuId(cpu), event, words);
        self.bytes.consume(size);
        match self.run {
            Some((before, n)) if before == cpu && n < ROUND_MAX => self.run = Some((cpu, n + 1)),
            _ => {
                self.merge.window(cpu);
                self.run = Some((cpu, 1));
            }
        }
        self.decoded += 1;
        self.last = self.last.max(Some(at));
        self.merge.push(decoded);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, TraceReader};
    use domio_core::Kind;

    fn record(layout: OldLayout, cpu: u32, cycles: u64, event: u32, words: [u32; 5]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(cpu.to_le_bytes());
        out.extend(cycles.to_le_bytes());
        out.extend(event.to_le_bytes());
        if layout == OldLayout::Lp64 {
            out.extend([0; 4]);
        }
        for w in words {
            match layout {
                OldLayout::Lp64 => out.extend(u64::from(w).to_le_bytes()),
                OldLayout::Ilp32 => out.extend(w.to_le_bytes()),
            }
        }
        assert_eq!(out.len(), layout.size());
        out
    }

    fn file(layout: OldLayout) -> Vec<u8> {
        [
            record(layout, 0, 10, 0x2f004, [1, 0, 0, 0, 0]),
            record(layout, 0, 20, 0x2f00e, [32767, 500, 0, 0, 0]),
            record(layout, 0, 21, 0x2f00f, [1, 9, 30_000_000, 0, 0]),
            record(layout, 0, 22, 0x2f00a, [32767, 0, 1, 0, 0]),
            record(layout, 1, 15, 0x2f006, [2, 1, 0, 0, 0]),
        ]
        .concat()
    }

    #[test]
    fn both_layouts_are_recognised_and_merged() {
        for (layout, format) in [
            (OldLayout::Lp64, Format::Xentrace3Lp64),
            (OldLayout::Ilp32, Format::Xentrace3Ilp32),
        ] {
            let bytes = file(layout);
            let mut reader = TraceReader::new(&bytes[..], &ReadOptions::default()).unwrap();
            assert_eq!(reader.format(), format);
            let mut seen = Vec::new();
            while let Some(r) = reader.next_record().unwrap() {
                let names = reader.names();
                let vcpu = names.vcpu(r.actor).unwrap().to_string();
                let next = r.next().map(|next| names.vcpu(next).unwrap().to_string());
                let words = [r.words[0], r.words[1]];
                seen.push((r.at.as_nanos(), r.kind().unwrap(), vcpu, next.ok_or(words)));
            }
            assert_eq!(
                seen,
                [
                    (10, Kind::Wake, "d1v0".into(), Err([0, 0])),
                    (15, Kind::Block, "d2v1".into(), Err([0, 0])),
                    (20, Kind::InfPrev, "idlev0".into(), Err([500, 0])),
                    (21, Kind::InfNext, "d1v0".into(), Err([9, 30_000_000])),
                    (22, Kind::SwitchOnly, "idlev0".into(), Ok("d1v0".into())),
                    (22, Kind::RunstateChange, "idlev0".into(), Err([0x01, 0])),
                    (22, Kind::RunstateChange, "d1v0".into(), Err([0x10, 0])),
                ]
            );
        }
    }

    #[test]
    fn a_file_that_is_too_short_to_tell_says_what_to_do() {
        let error = |bytes: &[u8]| match TraceReader::new(bytes, &ReadOptions::default()) {
            Ok(reader) => panic!("taken for {:?}", reader.format()),
            Err(e) => e.to_string(),
        };
        // The first record of one layout is that of the other with other words.
        for bytes in [
            record(OldLayout::Lp64, 0, 10, 0x2f006, [0; 5]),
            record(OldLayout::Ilp32, 0, 10, 0x2f006, [0; 5]).repeat(2)[..60].to_vec(),
        ] {
            let text = error(&bytes);
            assert!(text.contains("take a longer recording"), "{text}");
        }
    }

    #[test]
    fn a_cut_record_is_told() {
        let bytes = file(OldLayout::Lp64);
        let cut = &bytes[..bytes.len() - 1];
        let mut reader = TraceReader::new(cut, &ReadOptions::default()).unwrap();
        let mut n = 0;
        let error = loop {
            match reader.next_record() {
                Ok(Some(r)) => n += u64::from(!r.is(Kind::RunstateChange)),
                Ok(None) => panic!("the cut was not told"),
                Err(e) => break e,
            }
        };
        assert!(error.is_truncation());
        assert_eq!((n, error.records, error.offset), (4, 4, 240));
    }

    #[test]
    fn a_long_file_of_one_cpu_streams() {
        let mut bytes = Vec::new();
        for i in 0..3 * u64::from(ROUND_MAX) {
            bytes.extend(record(OldLayout::Ilp32, 0, i, 0x2f004, [1, 0, 0, 0, 0]));
        }
        let options = ReadOptions {
            format: Some(Format::Xentrace3Ilp32),
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::new(&bytes[..], &options).unwrap();
        let mut n = 0;
        while reader.next_record().unwrap().is_some() {
            n += 1;
        }
        assert_eq!(n, 3 * u64::from(ROUND_MAX));
        let stats = reader.merge_stats();
        assert_eq!(stats.late, 0);
        assert!(stats.held_max <= 2 * u64::from(ROUND_MAX) + 1, "{stats:?}");
    }
}
