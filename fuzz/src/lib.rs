//! What every fuzzer of a trace reader does: read all of it, through every consumer, and check that
//! the work stays in proportion to the bytes.

use std::io::sink;

use domio_core::{Kind, Names, Record, Sink};
use domio_meter::{Meter, TraceChecker};
use domio_trace::{
    CsvIntervals, CsvRecords, Format, PerfettoWriter, ReadOptions, TraceHeader, TraceReader,
    TraceWriter, Undeclared, XentraceWriter,
};

/// Records held back at most: small, so that the bound is reached.
const HELD_MAX: usize = 64;

/// Reads `bytes` as `format`, or as what they seem to be.
pub fn read_everything(bytes: &[u8], format: Option<Format>) {
    let options = ReadOptions {
        format,
        held_max: HELD_MAX,
        classes: domio_scenario::Parts::from(domio_sched::policies()).classes(),
        ..ReadOptions::default()
    };
    let Ok(mut reader) = TraceReader::new(bytes, &options) else {
        return;
    };
    let is_old = matches!(
        reader.format(),
        Format::Xentrace3Lp64 | Format::Xentrace3Ilp32
    );
    let mut meter = Meter::new().exact_samples_max(200);
    let mut checker = TraceChecker::new();
    let mut csv_records = CsvRecords::new(sink());
    let mut csv_intervals = CsvIntervals::new(sink());
    let mut perfetto = PerfettoWriter::new(sink(), reader.header());
    let mut xentrace = XentraceWriter::new(sink(), 2_400_000_000).expect("a legal frequency");
    let mut undeclared = Undeclared::new();
    let mut records: Vec<Record> = Vec::new();
    let error = loop {
        match reader.next_record() {
            Ok(Some(record)) => {
                let names = reader.names();
                meter.record(names, &record);
                checker.record(names, &record);
                csv_records.record(names, &record);
                csv_intervals.record(names, &record);
                perfetto.record(names, &record);
                xentrace.record(names, &record);
                undeclared.see(names, &record);
                records.push(record);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(
        records.len() <= bytes.len() / 4,
        "more records than header words"
    );
    if let Some(error) = error {
        assert!(error.offset <= bytes.len() as u64, "{error}");
        let derived = |r: &&Record| is_old && r.is(Kind::RunstateChange);
        let read = records.len() - records.iter().filter(derived).count();
        assert_eq!(error.records, read as u64, "{error}");
        assert!(
            matches!(reader.next_record(), Ok(None)),
            "it went on after {error}"
        );
    }
    let report = checker.finish();
    assert_eq!(report.records, records.len() as u64);
    let summary = meter.finish();
    assert!(!summary.answer(|_| None, 1, false).tables().is_empty());
    for writer in [
        csv_records.finish(),
        csv_intervals.finish(),
        perfetto.finish(),
        xentrace.finish(),
    ] {
        writer.expect("nothing refuses to write");
    }
    let names = reader.names();
    let counted: u64 = undeclared.counts().iter().map(|(_, count)| count).sum();
    assert_eq!(undeclared.total(), counted);
    assert_eq!(rewritten(names, &records), records);
}

/// The records after a passage through the own format.
fn rewritten(names: &Names, records: &[Record]) -> Vec<Record> {
    let mut writer =
        TraceWriter::new(Vec::new(), &TraceHeader::default()).expect("a vector has room");
    for record in records {
        writer.record(names, record);
    }
    let bytes = writer.finish().expect("a vector has room");
    TraceReader::new(&bytes[..], &ReadOptions::default())
        .and_then(Iterator::collect::<Result<_, _>>)
        .expect("what was just written is sound")
}

/// `bytes` with the checksums of an own trace put right, as far as its lengths make sense: without
/// that, a fuzzer would never come past them.
pub fn with_sums(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let word = |out: &[u8], at: usize| -> Option<usize> {
        let bytes = out.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let put_sum = |out: &mut Vec<u8>, at: usize, from: usize, length: usize| {
        let end = from.checked_add(length)?;
        let sum = crc32(out.get(from..end)?);
        out.get_mut(at..at + 4)?.copy_from_slice(&sum.to_le_bytes());
        Some(end)
    };
    // Magic (10), version (2), length of the header, its sum, the header; then blocks.
    let mut next = word(&out, 12).and_then(|length| put_sum(&mut out, 16, 20, length));
    while let Some(at) = next {
        next = match out.get(at..at + 4) {
            Some(b"recs" | b"clas" | b"acts") => {
                word(&out, at + 8).and_then(|length| put_sum(&mut out, at + 4, at + 8, 16 + length))
            }
            Some(b"ends") => {
                put_sum(&mut out, at + 4, at + 8, 8);
                None
            }
            _ => None,
        };
    }
    out
}

/// CRC-32 as in zlib, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
        crc
    })
}
