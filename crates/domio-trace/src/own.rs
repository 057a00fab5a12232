//! The own format: fast to write, checked, readable from the front (`docs/trace-format.md`).

mod pack;
mod read;
mod write;

pub use read::OwnReader;
pub use write::TraceWriter;

/// First bytes of every own trace. The high bit and the line ends show damage by programs that
/// take the file for text, as in PNG.
pub(crate) const MAGIC: [u8; 10] = *b"\x89domio\r\n\x1a\n";

/// Version of the format that is written and read.
const VERSION: u16 = 1;

/// Longest header that is read, in bytes.
const HEADER_MAX: usize = 16 << 20;

/// Bytes before the header: magic, version, length and checksum.
const PREAMBLE: usize = MAGIC.len() + 2 + 4 + 4;

/// First word of a block of records ("recs").
const BLOCK_TAG: u32 = u32::from_le_bytes(*b"recs");

/// First word of the end mark ("ends").
const END_TAG: u32 = u32::from_le_bytes(*b"ends");

/// Bytes before the records of a block: tag, checksum, length, count and time base.
const BLOCK_HEAD: usize = 4 + 4 + 4 + 4 + 8;

/// Bytes of the end mark: tag, checksum, number of records.
const END_MARK: usize = 4 + 4 + 8;

/// Most bytes of records in a block.
const BLOCK_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceErrorKind, TraceHeader};
    use domio_core::{Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuName};

    fn sample(n: u64) -> Vec<Record> {
        (0..n)
            .map(|i| {
                let v = VcpuName::from_word((i as u32).wrapping_mul(0x10001));
                let at = Instant::from_nanos(i * 1000);
                Record::runstate(at, PcpuId(0), v, Runstate::Blocked, Runstate::Runnable)
            })
            .collect()
    }

    fn written(records: &[Record]) -> Vec<u8> {
        let mut w = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
        for r in records {
            w.record(r);
        }
        assert_eq!(w.records(), records.len() as u64);
        w.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<Record>, Option<crate::TraceError>) {
        let mut out = Vec::new();
        let mut reader = match OwnReader::new(bytes) {
            Ok(r) => r,
            Err(e) => return (out, Some(e)),
        };
        loop {
            match reader.next_record() {
                Ok(Some(r)) => out.push(r),
                Ok(None) => return (out, None),
                Err(e) => return (out, Some(e)),
            }
        }
    }

    #[test]
    fn many_blocks_come_back() {
        let records = sample(20_000);
        let bytes = written(&records);
        assert!(bytes.len() > 3 * BLOCK_MAX);
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
    fn a_missing_block_is_found_at_the_end() {
        let mut bytes = written(&sample(20_000));
        let length_at = |at: usize| crate::bytes::u32_at(&bytes, at + 8) as usize;
        let header = crate::bytes::u32_at(&bytes, MAGIC.len() + 2) as usize;
        let first = PREAMBLE + header;
        let second = first + BLOCK_HEAD + length_at(first);
        let third = second + BLOCK_HEAD + length_at(second);
        bytes.drain(second..third);
        let (back, error) = read(&bytes);
        assert!(back.len() > 10_000);
        let error = error.expect("the end mark tells how many records there were");
        assert!(error.to_string().contains("the end mark"), "{error}");
    }

    #[test]
    fn a_later_version_is_named() {
        let mut bytes = written(&sample(1));
        bytes[MAGIC.len()] = 2;
        let error = read(&bytes).1.unwrap();
        assert!(matches!(
            error.kind,
            TraceErrorKind::Version { found: 2, known: 1 }
        ));
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
        let mut w = TraceWriter::new(AlmostFull(4096), &TraceHeader::default()).unwrap();
        for r in sample(50_000) {
            w.record(&r);
        }
        let Err(e) = w.finish() else {
            panic!("the loss was hidden");
        };
        assert_eq!(e.kind(), std::io::ErrorKind::StorageFull);
    }

    #[test]
    fn work_of_a_driver_domain_comes_back_and_its_kind_is_in_the_first_byte() {
        let driver = VcpuName::new(domio_core::DomainId(0), 1);
        let at = Instant::from_nanos(7);
        let work = |ns| Record::driver_work(at, PcpuId(2), driver, domio_core::DomainId(3), ns);
        let records = [work(5), work(5 << 32), work(0)];
        let bytes = written(&records);
        let (back, error) = read(&bytes);
        assert!(error.is_none());
        assert_eq!(back, records);
        // Kind 21 with the words up to the last that is not zero: three, four and one.
        let block = bytes.windows(4).position(|w| w == b"recs").unwrap();
        let firsts = [0, 24, 24 + 28].map(|i| bytes[block + 24 + i]);
        assert_eq!(firsts, [21 | 3 << 5, 21 | 4 << 5, 21 | 1 << 5]);
    }

    #[test]
    fn times_may_step_far_or_back_between_pcpus() {
        let at = [0, u64::MAX, 5, 4, 1 << 31, (1 << 31) - 1, 1 << 40];
        let records: Vec<Record> = at
            .into_iter()
            .map(|ns| {
                let mut r = Record::new(
                    Instant::from_nanos(ns),
                    PcpuId(u16::MAX),
                    Kind::JobDone,
                    VcpuName::from_word(u32::MAX),
                );
                r.detail = 255;
                r.data = [0, 7, 0, 0];
                r
            })
            .collect();
        let (back, error) = read(&written(&records));
        assert!(error.is_none());
        assert_eq!(back, records);
    }
}
