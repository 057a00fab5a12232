//! Recognises the format of a trace file.

use std::fs::File;
use std::io::{Chain, Cursor, Read};
use std::path::Path;

use domio_core::{Names, Record, Sink, VcpuName};
use domio_linux::LinuxReader;

use crate::error::foreign;
use crate::linux::{LinuxThread, LinuxTrace};
use crate::old::{OldLayout, OldRecords, probe};
use crate::own::{MAGIC, OwnRecords};
use crate::xentrace::{CPU_CHANGE_HEADER, XentraceRecords};
use crate::{Format, MergeStats, ReadOptions, Skipped, TraceError, TraceErrorKind, TraceHeader};

/// Bytes that are looked at to recognise the format.
const LOOK: usize = 1024;

/// The first byte of a Perfetto trace: the tag of a packet.
const PERFETTO: u8 = 0x0a;

/// An input whose first bytes were looked at.
type Looked<R> = Chain<Cursor<Vec<u8>>, R>;

/// Streams the records of a trace in any known format, in the order of time.
///
/// `R` needs no buffer of its own. As an iterator it ends after the last record or the first error.
///
/// Decoding is the same code for every `R`, compiled in this crate: the loop over the records of a
/// large file is as fast in a program whose own crates are not optimised.
pub struct TraceReader<R> {
    /// `None` for a Linux trace, which has a reader of its own.
    read: Option<Looked<R>>,
    records: Records,
}

/// What is known of the format's stream.
enum Records {
    Own(OwnRecords),
    Xentrace(XentraceRecords),
    Old(OldRecords, Format),
    Linux(Box<LinuxTrace>),
}

impl TraceReader<File> {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// As [`TraceReader::new`], and when the file cannot be opened.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(|e| TraceErrorKind::Io(e).at(0))?;
        TraceReader::new(file, options)
    }
}

impl<R: Read> TraceReader<R> {
    /// Looks at the start of `read` and prepares to stream it.
    ///
    /// # Errors
    /// [`TraceErrorKind::Empty`] and [`TraceErrorKind::Foreign`] for what is not a trace, and what
    /// the format's own reader says of its start.
    pub fn new(mut read: R, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut start = Vec::with_capacity(LOOK);
        read.by_ref()
            .take(LOOK as u64)
            .read_to_end(&mut start)
            .map_err(|e| TraceErrorKind::Io(e).at(0))?;
        let format = match options.format {
            Some(format) => format,
            None => Format::of(&start)?,
        };
        let mut read = Cursor::new(start).chain(read);
        let old = |layout| OldRecords::new(layout, options).map(|r| Records::Old(r, format));
        let records = match format {
            Format::Own => Records::Own(OwnRecords::new(&mut read, options)?),
            Format::Xentrace => Records::Xentrace(XentraceRecords::new(&mut read, options)?),
            Format::Xentrace3Lp64 => old(OldLayout::Lp64)?,
            Format::Xentrace3Ilp32 => old(OldLayout::Ilp32)?,
            Format::Linux => {
                let trace = LinuxTrace::spooled(&mut read, &options.linux)?;
                Records::Linux(Box::new(trace))
            }
        };
        Ok(TraceReader {
            read: Some(read),
            records,
        })
    }

    /// Streams what `reader` reads, which needs no copy of a file.
    pub fn linux(reader: LinuxReader, options: &ReadOptions) -> Self {
        let trace = LinuxTrace::new(reader, &options.linux);
        TraceReader {
            read: None,
            records: Records::Linux(Box::new(trace)),
        }
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        match &self.records {
            Records::Own(_) => Format::Own,
            Records::Xentrace(_) => Format::Xentrace,
            Records::Old(_, format) => *format,
            Records::Linux(_) => Format::Linux,
        }
    }

    /// Where the trace comes from: own traces say, and those of Linux say what their host is. The
    /// domains of a Linux trace are those whose records were handed out so far.
    pub fn header(&self) -> Option<&TraceHeader> {
        match &self.records {
            Records::Own(r) => Some(r.header()),
            Records::Linux(r) => Some(r.header()),
            Records::Xentrace(_) | Records::Old(..) => None,
        }
    }

    /// What the numbers of the records that were handed out stand for. The table grows at its end
    /// while the file is read.
    pub fn names(&self) -> &Names {
        self.records.names()
    }

    /// Counts a second of the file's clock. Times of records are nanoseconds in any case.
    pub fn tsc_hz(&self) -> u64 {
        match &self.records {
            Records::Own(r) => r.header().tsc_hz,
            Records::Xentrace(r) => r.tsc_hz(),
            Records::Old(r, _) => r.tsc_hz(),
            Records::Linux(r) => r.header().tsc_hz,
        }
    }

    /// What merging the cpus' streams had to do so far; nothing for own traces.
    pub fn merge_stats(&self) -> MergeStats {
        match &self.records {
            Records::Own(_) | Records::Linux(_) => MergeStats::default(),
            Records::Xentrace(r) => r.merge_stats(),
            Records::Old(r, _) => r.merge_stats(),
        }
    }

    /// What was left out so far because the file is damaged; only of xentrace files of Xen 3.2 and
    /// later, where reading continues behind it. Damage of the others is an error.
    pub fn skipped(&self) -> Option<&Skipped> {
        match &self.records {
            Records::Xentrace(r) => Some(r.skipped()).filter(|skipped| skipped.places > 0),
            Records::Own(_) | Records::Old(..) | Records::Linux(_) => None,
        }
    }

    /// What threads of a Linux trace are called, as far as it was read, by the vcpu that they are
    /// in records; those that execute a guest's vcpu have that one's name. Own traces that were
    /// recorded of Linux say the same in their header. Other traces have none.
    pub fn threads(&self) -> Vec<(VcpuName, String)> {
        match &self.records {
            Records::Linux(r) => r.labels(),
            Records::Own(r) => r.header().thread_names(),
            Records::Xentrace(_) | Records::Old(..) => Vec::new(),
        }
    }

    /// The part of [`TraceReader::threads`] of a Linux trace that is new since this was asked last,
    /// or has changed: for readers who show names while they read. `None` without any, which takes
    /// next to no time to find out. The domains in [`TraceReader::header`] have changed only then.
    #[inline]
    pub fn take_news(&mut self) -> Option<Vec<(VcpuName, String)>> {
        match &mut self.records {
            Records::Linux(r) if r.has_news() => Some(r.take_news()),
            _ => None,
        }
    }

    /// Release of the kernel that a Linux trace, or the file beside it, says.
    pub fn linux_kernel(&self) -> Option<&str> {
        match &self.records {
            Records::Linux(r) => r.kernel(),
            Records::Own(_) | Records::Xentrace(_) | Records::Old(..) => None,
        }
    }

    /// The threads of a Linux trace, as far as it was read; none of other traces.
    pub fn linux_threads(&self) -> Vec<LinuxThread> {
        match &self.records {
            Records::Linux(r) => r.threads(),
            Records::Own(_) | Records::Xentrace(_) | Records::Old(..) => Vec::new(),
        }
    }

    /// What is to be said of a Linux trace as far as it was read, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        match &self.records {
            Records::Linux(r) => r.notes(),
            Records::Own(_) | Records::Xentrace(_) | Records::Old(..) => Vec::new(),
        }
    }

    /// The first damage that was skipped, for whoever needs all of a trace.
    pub fn take_damage(&mut self) -> Option<TraceError> {
        match &mut self.records {
            Records::Xentrace(r) => r.take_skipped().errors.into_iter().next(),
            Records::Own(_) | Records::Old(..) | Records::Linux(_) => None,
        }
    }

    /// The next record, `None` after the last. After an error there is no more.
    ///
    /// # Errors
    /// A [`TraceError`] where the file is damaged, if there is no continuing behind that place
    /// ([`TraceReader::skipped`]), or ends too early; all whole records before that place are
    /// handed out first.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        let (records, mut read) = self.parts();
        records.next_record(&mut read)
    }

    /// The stream, and what it reads.
    fn parts(&mut self) -> (&mut Records, OrNothing<&mut Looked<R>>) {
        (&mut self.records, OrNothing(self.read.as_mut()))
    }

    /// Hands every record that is left to `sink` and returns how many those were.
    ///
    /// # Errors
    /// As [`TraceReader::next_record`]; `sink` has got all records before the error.
    pub fn copy_to(&mut self, sink: &mut impl Sink) -> Result<u64, TraceError> {
        let each = &mut |names: &Names, record: &Record| {
            sink.record(names, record);
            true
        };
        let (records, mut read) = self.parts();
        records.each(&mut read, each)
    }

    /// The same until `each` returns false, which gets the names and the record.
    ///
    /// # Errors
    /// As [`TraceReader::next_record`]; `each` has got all records before the error.
    pub fn each(
        &mut self,
        each: &mut dyn FnMut(&Names, &Record) -> bool,
    ) -> Result<u64, TraceError> {
        let (records, mut read) = self.parts();
        records.each(&mut read, each)
    }
}

/// Something to read, or nothing.
struct OrNothing<R>(Option<R>);

impl<R: Read> Read for OrNothing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |read| read.read(buffer))
    }
}

impl Records {
    fn names(&self) -> &Names {
        match self {
            Records::Own(r) => r.names(),
            Records::Xentrace(r) => r.names(),
            Records::Old(r, _) => r.names(),
            Records::Linux(r) => r.names(),
        }
    }

    fn next_record(&mut self, read: &mut dyn Read) -> Result<Option<Record>, TraceError> {
        match self {
            Records::Own(r) => r.next_record(read),
            Records::Xentrace(r) => r.next_record(read),
            Records::Old(r, _) => r.next_record(read),
            Records::Linux(r) => r.next_record(),
        }
    }

    /// Hands records to `each` until `each` returns false, and returns how many those were.
    fn each(
        &mut self,
        read: &mut dyn Read,
        each: &mut dyn FnMut(&Names, &Record) -> bool,
    ) -> Result<u64, TraceError> {
        let mut n = 0;
        while let Some(record) = self.next_record(read)? {
            n += 1;
            if !each(self.names(), &record) {
                break;
            }
        }
        Ok(n)
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

impl Format {
    /// The format of a trace that begins with `start`, unpacked.
    ///
    /// # Errors
    /// [`TraceErrorKind::Empty`] and [`TraceErrorKind::Foreign`] for what is not a trace, and what
    /// is wrong with the start of one of Xen 3.0 and 3.1.
    pub fn of(start: &[u8]) -> Result<Self, TraceError> {
        if start.is_empty() {
            return Err(TraceErrorKind::Empty.at(0));
        }
        let xentrace = CPU_CHANGE_HEADER.to_le_bytes();
        // A shorter file is a cut one, which the format's reader tells better than "foreign".
        if start[..start.len().min(MAGIC.len())] == MAGIC[..start.len().min(MAGIC.len())] {
            return Ok(Format::Own);
        }
        if start[..start.len().min(4)] == xentrace[..start.len().min(4)] {
            return Ok(Format::Xentrace);
        }
        // A Perfetto trace has no magic number: old xentrace files may begin with its first byte.
        let is_linux = domio_linux::recognise(start);
        if is_linux && start[0] != PERFETTO {
            return Ok(Format::Linux);
        }
        match probe(start).map_err(|k| k.at(0))? {
            Some(OldLayout::Lp64) => Ok(Format::Xentrace3Lp64),
            Some(OldLayout::Ilp32) => Ok(Format::Xentrace3Ilp32),
            None if is_linux => Ok(Format::Linux),
            None => Err(foreign(start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> String {
        match TraceReader::new(bytes, &ReadOptions::default()) {
            Ok(r) => panic!("taken for {:?}", r.format()),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn what_is_not_a_trace_is_refused_with_a_reason() {
        assert!(error(b"").contains("is empty"));
        assert!(error(b"name = \"burn\"\n").contains("looks like text"));
        assert!(error(&[0x1f, 0x8b, 8, 0]).contains("gzip"));
        assert!(error(&[0x20, 0x01, 0xf0, 0x03]).contains("big-endian"));
        assert!(error(&[0; 4096]).contains("starts with 00 00 00"));
        assert!(error(&[0xff; 4096]).contains("expected a domio trace"));
    }

    #[test]
    fn a_cut_start_is_a_cut_file() {
        assert!(error(&MAGIC[..3]).contains("ends inside the preamble"));
        let mut reader = TraceReader::new(&[0x03, 0xf0][..], &ReadOptions::default()).unwrap();
        assert!(reader.next_record().unwrap_err().is_truncation());
    }

    #[test]
    fn a_named_format_is_not_guessed() {
        let options = ReadOptions {
            format: Some(Format::Xentrace3Ilp32),
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::new(&[0; 35][..], &options).unwrap();
        assert!(reader.next_record().unwrap_err().is_truncation());
        for f in Format::ALL {
            assert_eq!(Format::from_name(f.name()), Some(f));
        }
    }

    #[test]
    fn an_impossible_clock_is_refused() {
        let options = ReadOptions {
            tsc_hz: Some(0),
            ..ReadOptions::default()
        };
        let start = CPU_CHANGE_HEADER.to_le_bytes();
        assert!(TraceReader::new(&start[..], &options).is_err());
    }
}
