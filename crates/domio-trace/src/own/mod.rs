//! The own format: fast to write, checked, readable from the front (`docs/trace-format.md`).

mod declare;
mod pack;
mod read;
mod write;

pub use read::OwnReader;
pub(crate) use read::OwnRecords;
pub use write::{TraceWriter, trace_head};

/// First bytes of every own trace. The high bit and the line ends show damage by programs that
/// take the file for text, as in PNG.
pub(crate) const MAGIC: [u8; 10] = *b"\x89domio\r\n\x1a\n";

/// Version of the format that is written and read.
const VERSION: u16 = 4;

/// Longest header that is read, in bytes.
const HEADER_MAX: usize = 16 << 20;

/// Bytes before the header: magic, version, length and checksum.
const PREAMBLE: usize = MAGIC.len() + 2 + 4 + 4;

/// First word of a block of records ("recs").
const BLOCK_TAG: u32 = u32::from_le_bytes(*b"recs");

/// First word of a block that declares classes ("clas").
const CLASSES_TAG: u32 = u32::from_le_bytes(*b"clas");

/// First word of a block that names actors ("acts").
const ACTORS_TAG: u32 = u32::from_le_bytes(*b"acts");

/// First word of the end mark ("ends").
const END_TAG: u32 = u32::from_le_bytes(*b"ends");

/// Bytes before what a block holds: tag, checksum, length, count, and time base or number of the
/// first class or actor.
const BLOCK_HEAD: usize = 4 + 4 + 4 + 4 + 8;

/// Bytes of the end mark: tag, checksum, number of records.
const END_MARK: usize = 4 + 4 + 8;

/// Most bytes of records or actors in a block.
const BLOCK_MAX: usize = 64 * 1024;

/// Bytes of an actor in its block: what it is (0 for a vcpu), then `domain << 16 | index`.
const ACTOR: usize = 8;

/// An actor that is a vcpu.
const ACTOR_VCPU: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, TraceErrorKind, TraceHeader};
    use domio_core::{ActorId, DomainId, Instant, Kind, Names, PcpuId, Record};
    use domio_core::{Class, ClassId, Declared, Runstate, Sink, VcpuName};

    /// Actors that records of these tests are about.
    const ACTORS: u32 = 1_000;

    fn names() -> Names {
        let mut names = Names::new();
        for i in 0..ACTORS {
            names.add_actor(VcpuName::new(DomainId(i as u16), 0));
        }
        names
    }

    #[test]
    fn a_head_with_room_can_be_replaced_by_one_that_knows_more() {
        let early = TraceHeader::default();
        let late = TraceHeader {
            pcpus: 4,
            ..TraceHeader::default()
        };
        let names = names();
        let mut writer = TraceWriter::with_room(Vec::new(), &early, 4096).unwrap();
        let records = sample(10);
        records
            .iter()
            .for_each(|record| writer.record(&names, record));
        let mut file = writer.finish().unwrap();
        let head = trace_head(&late, 4096).unwrap();
        assert_eq!(head.len(), 4096);
        file[..4096].copy_from_slice(&head);
        let mut reader = OwnReader::new(file.as_slice(), &ReadOptions::default()).unwrap();
        assert_eq!(reader.header().pcpus, 4);
        let first = reader.next_record().unwrap();
        assert_eq!(first.as_ref(), Some(&records[0]));
    }

    fn sample(n: u64) -> Vec<Record> {
        (0..n)
            .map(|i| {
                let v = ActorId(i as u32 % ACTORS);
                let at = Instant::from_nanos(i * 1000);
                Record::runstate(at, PcpuId(0), v, Runstate::Blocked, Runstate::Runnable)
            })
            .collect()
    }

    fn written(records: &[Record]) -> Vec<u8> {
        written_with(&names(), records)
    }

    fn written_with(names: &Names, records: &[Record]) -> Vec<u8> {
        let mut w = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
        for r in records {
            w.record(names, r);
        }
        assert_eq!(w.records(), records.len() as u64);
        w.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<Record>, Option<crate::TraceError>) {
        let (records, error, _) = read_names(bytes);
        (records, error)
    }

    fn read_names(bytes: &[u8]) -> (Vec<Record>, Option<crate::TraceError>, Names) {
        let mut out = Vec::new();
        let mut reader = match OwnReader::new(bytes, &ReadOptions::default()) {
            Ok(r) => r,
            Err(e) => return (out, Some(e), Names::new()),
        };
        loop {
            match reader.next_record() {
                Ok(Some(r)) => out.push(r),
                Ok(None) => return (out, None, reader.names().clone()),
                Err(e) => return (out, Some(e), reader.names().clone()),
            }
        }
    }

    #[test]
    fn actors_and_classes_that_come_late_are_announced_before_their_first_record() {
        static LATE: Class = Class::new("late", &[Declared::new(3, "thing", &[])]);
        let mut names = Names::new();
        let mut w = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
        let mut records = Vec::new();
        for i in 0..300 {
            let actor = names.add_actor(VcpuName::new(DomainId(i), i));
            let at = Instant::from_nanos(i.into());
            let mut record = Record::new(at, PcpuId(0), Kind::Wake, actor);
            if i == 200 {
                let class = names.add_class(&LATE);
                record = Record::of(at, PcpuId(0), (class, 3), ActorId::NONE, [0; 4]);
            }
            w.record(&names, &record);
            records.push(record);
        }
        let (back, error, read) = read_names(&w.finish().unwrap());
        assert!(error.is_none());
        assert_eq!(back, records);
        assert_eq!(read.actors(), names.actors());
        assert_eq!(read.classes().len(), 3);
        assert_eq!(read.declared(&records[200]).unwrap().name, "thing");
    }

    #[test]
    fn numbers_that_nobody_announced_are_damage() {
        let at = (Instant::ZERO, PcpuId(0));
        let wake = (ClassId::COMMON, Kind::Wake as u8);
        let error = |what, actor| {
            let record = Record::of(at.0, at.1, what, actor, [0; 4]);
            let (back, error) = read(&written(&[record]));
            assert!(back.is_empty());
            error.map(|e| e.to_string())
        };
        let text = error(wake, ActorId(ACTORS)).unwrap();
        assert!(text.contains("actor 1000"), "{text}");
        let text = error((ClassId(2), 0), ActorId(0)).unwrap();
        assert!(text.contains("class 2"), "{text}");
        // A number that a class does not declare is a record all the same.
        let what = (ClassId::COMMON, 200);
        let record = Record::of(at.0, at.1, what, ActorId::NONE, [0; 4]);
        assert_eq!(read(&written(&[record])).0, [record]);
    }

    #[test]
    fn many_blocks_come_back() {
        let records = sample(20_000);
        let bytes = written(&records);
        assert!(bytes.len() > 2 * BLOCK_MAX);
        let (back, error) = read(&bytes);
        assert!(error.is_none());
        assert_eq!(back, records);
    }

    #[test]
    fn an_empty_trace_is_a_whole_file() {
        let (back, error) = read(&written(&[]));
        assert!(back.is_empty() && error.is_none());
    }

    #[test]
    fn every_truncation_is_told_and_keeps_whole_blocks() {
        let records = sample(12_000);
        let bytes = written(&records);
        let step = 997;
        for cut in (1..bytes.len()).step_by(step) {
            let (back, error) = read(&bytes[..cut]);
            let error = error.expect("a cut file must not pass for whole");
            assert!(error.is_truncation(), "cut at {cut}: {error}");
            assert_eq!(error.records, back.len() as u64);
            assert_eq!(back[..], records[..back.len()]);
        }
    }

    #[test]
    fn every_flipped_byte_is_found() {
        let records = sample(40);
        let bytes = written(&records);
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 0x10;
            let (_, error) = read(&bad);
            assert!(error.is_some(), "byte {i} of {} was not checked", bad.len());
        }
    }

    #[test]
    fn a_missing_block_is_found() {
        let bytes = written(&sample(20_000));
        let length_at = |at: usize| crate::bytes::u32_at(&bytes, at + 8) as usize;
        let header = crate::bytes::u32_at(&bytes, MAGIC.len() + 2) as usize;
        let mut starts = vec![PREAMBLE + header];
        while bytes[starts[starts.len() - 1]..][..4] != *b"ends" {
            let last = starts[starts.len() - 1];
            starts.push(last + BLOCK_HEAD + length_at(last));
        }
        let without = |block: usize| {
            let mut bytes = bytes.clone();
            bytes.drain(starts[block]..starts[block + 1]);
            let (back, error) = read(&bytes);
            (back.len(), error.expect("a block is missing").to_string())
        };
        // Classes, actors, then records: only the end mark tells how many there were of those.
        let (read, error) = without(0);
        assert!(read == 0 && error.contains("class 0"), "{error}");
        let (read, error) = without(1);
        assert!(read == 0 && error.contains("actor 0"), "{error}");
        let (read, error) = without(3);
        assert!(read > 10_000 && error.contains("the end mark"), "{error}");
    }

    #[test]
    fn another_version_is_refused_with_what_to_do() {
        for (version, advice) in [(3, "record the run again"), (5, "a newer domio")] {
            let mut bytes = written(&sample(1));
            bytes[MAGIC.len()] = version;
            let text = read(&bytes).1.unwrap().to_string();
            assert!(text.contains(&format!("version {version}")), "{text}");
            assert!(text.contains(advice), "{text}");
        }
    }

    #[test]
    fn what_follows_the_end_mark_is_an_error() {
        let mut bytes = written(&sample(3));
        bytes.push(0);
        let (back, error) = read(&bytes);
        assert_eq!(back.len(), 3);
        assert!(matches!(
            error.unwrap().kind,
            TraceErrorKind::Damaged { .. }
        ));
    }

    #[test]
    fn io_errors_are_kept_until_the_end() {
        struct Full;
        impl std::io::Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        assert!(TraceWriter::new(Full, &TraceHeader::default()).is_err());

        /// Takes the header, then is full.
        struct AlmostFull(usize);
        impl std::io::Write for AlmostFull {
            fn write(&mut self, b: &[u8]) -> std::io::Result<usize> {
                if self.0 < b.len() {
                    return Err(std::io::ErrorKind::StorageFull.into());
                }
                self.0 -= b.len();
                Ok(b.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut w = TraceWriter::new(AlmostFull(16_384), &TraceHeader::default()).unwrap();
        let names = names();
        for r in sample(50_000) {
            w.record(&names, &r);
        }
        let Err(e) = w.finish() else {
            panic!("the loss was hidden");
        };
        assert_eq!(e.kind(), std::io::ErrorKind::StorageFull);
    }

    #[test]
    fn times_may_step_far_or_back_between_pcpus() {
        let at = [0, u64::MAX, 5, 4, 1 << 31, (1 << 31) - 1, 1 << 40];
        let record = |ns| {
            let (pcpu, words) = (PcpuId(u16::MAX), [0, 7, 0, 0]);
            let at = Instant::from_nanos(ns);
            Record::with(at, pcpu, Kind::JobDone, ActorId::NONE, words)
        };
        let records = at.map(record);
        let (back, error) = read(&written(&records));
        assert!(error.is_none());
        assert_eq!(back, records);
    }
}
