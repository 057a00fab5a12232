//! Damaged files: no panic, bounded work, and an error that says how far it came.

use std::path::PathBuf;

use crate::common::{Random, host};
use domio_core::{Kind, Sink};
use domio_trace::{
    CsvIntervals, Format, PerfettoWriter, ReadOptions, TraceHeader, TraceReader, TraceWriter,
    XentraceWriter,
};
use proptest::prelude::*;

fn own() -> Vec<u8> {
    let mut w = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
    let (names, records) = host(3, 2, 4, 3000);
    for r in &records {
        w.record(&names, r);
    }
    w.finish().unwrap()
}

fn xentrace() -> Vec<u8> {
    let mut w = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
    let (names, records) = host(3, 3, 4, 1500);
    for r in &records {
        w.record(&names, r);
    }
    w.finish().unwrap()
}

/// Old records: WAKE, BLOCK, INFPREV, INFNEXT and SWITCH in turn, on two cpus.
fn old() -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..500u64 {
        out.extend((i / 20 % 2).to_le_bytes()[..4].iter());
        out.extend((i * 1000).to_le_bytes());
        let event = [0x2f004u32, 0x2f006, 0x2f00e, 0x2f00f, 0x2f00a][i as usize % 5];
        out.extend(u64::from(event).to_le_bytes());
        for word in [1u64, 0, 2, 0, 0] {
            out.extend(word.to_le_bytes());
        }
    }
    out
}

fn real() -> Vec<u8> {
    let mut bytes = testdata(&["xen-traces", "c1-weights-1-2-4", "trace.bin"]);
    bytes.truncate(40_000);
    bytes
}

fn testdata(path: &[&str]) -> Vec<u8> {
    let root = [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata"];
    let path: PathBuf = root.iter().chain(path).collect();
    std::fs::read(path).unwrap()
}

/// Flips bits, cuts, repeats, moves and overwrites parts.
fn damage(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let n = bytes.len() as u64;
        let at = random.below(n) as usize;
        let length = (random.below(200) as usize).min(bytes.len() - at);
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let part = bytes[at..at + length].to_vec();
                let to = random.below(n) as usize;
                bytes.splice(to..to, part);
            }
            4 => bytes[at..at + length].fill(0xff),
            _ => {
                for byte in &mut bytes[at..at + length] {
                    *byte = random.next() as u8;
                }
            }
        }
    }
    bytes
}

/// Reads to the end or to the first error, through every consumer.
fn survive(bytes: &[u8]) {
    let options = ReadOptions {
        held_max: 1000,
        ..ReadOptions::default()
    };
    let Ok(mut reader) = TraceReader::new(bytes, &options) else {
        return;
    };
    let mut csv = CsvIntervals::new(std::io::sink());
    let mut perfetto = PerfettoWriter::new(std::io::sink(), reader.header());
    let is_old = matches!(
        reader.format(),
        Format::Xentrace3Lp64 | Format::Xentrace3Ilp32
    );
    let (mut n, mut total) = (0, 0);
    let error = loop {
        match reader.next_record() {
            Ok(Some(r)) => {
                total += 1;
                // Those of old files are derived.
                let derived = is_old && r.is(Kind::RunstateChange);
                n += u64::from(!derived);
                csv.record(reader.names(), &r);
                perfetto.record(reader.names(), &r);
            }
            Ok(None) => break None,
            Err(e) => break Some(e),
        }
    };
    csv.finish().unwrap();
    perfetto.finish().unwrap();
    // No record is shorter than a header word, so the work is bounded by the file.
    assert!(total <= bytes.len() as u64 / 4);
    assert!(reader.merge_stats().held_max <= 2000);
    if let Some(e) = error {
        assert!(e.offset <= bytes.len() as u64, "{e}");
        assert_eq!(e.records, n, "{e}");
        assert!(
            matches!(reader.next_record(), Ok(None)),
            "it went on after {e}"
        );
    }
}

#[test]
fn the_files_are_sound_before_they_are_damaged() {
    for bytes in [own(), xentrace(), old()] {
        let reader = TraceReader::new(&bytes[..], &ReadOptions::default()).unwrap();
        assert!(reader.map(Result::unwrap).count() >= 500);
    }
}

#[test]
fn a_time_that_no_host_gets_to_is_damage() {
    let mut bytes = xentrace();
    let sound = bytes.len() / 2 / 4 * 4;
    bytes[sound..sound + 400].fill(0xff);
    let mut reader = TraceReader::new(&bytes[..], &ReadOptions::default()).unwrap();
    reader
        .copy_to(&mut CsvIntervals::new(std::io::sink()))
        .unwrap();
    let skipped = reader.skipped().expect("it is damaged");
    let error = skipped.errors[0].to_string();
    assert!(
        error.contains("records were read before, the last at"),
        "{error}"
    );
    assert!(!error.contains("18446744073"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_do_no_harm(which in 0..4, seed in any::<u64>()) {
        let bytes = match which {
            0 => own(),
            1 => xentrace(),
            2 => old(),
            _ => real(),
        };
        survive(&damage(bytes, seed));
    }

    #[test]
    fn noise_does_no_harm(
        magic in 0..4usize,
        noise in proptest::collection::vec(any::<u8>(), 0..3000),
    ) {
        let start: [&[u8]; 4] = [
            b"",
            b"\x89domio\r\n\x1a\n\x02\x00",
            b"\x03\xf0\x01\x20\x00\x00\x00\x00\xff\xff\xff\x7f",
            b"\x03\xf0\x01\x20",
        ];
        survive(&[start[magic], &noise].concat());
    }
}
