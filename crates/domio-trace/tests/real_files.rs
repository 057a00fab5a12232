//! The traces of a real Xen 4.17 in `testdata/xen-traces`: every record is read, and survives both
//! formats.

use std::collections::BTreeMap;
use std::path::PathBuf;

use domio_core::{Kind, Record, Sink};
use domio_trace::{Format, ReadOptions, TraceHeader, TraceReader, TraceWriter, XentraceWriter};

fn path(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "testdata",
        "xen-traces",
        name,
        "trace.bin",
    ]
    .iter()
    .collect()
}

fn read(name: &str) -> Vec<Record> {
    let mut reader = TraceReader::open(&path(name), &ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), Format::Xentrace);
    let mut records = Vec::new();
    reader.copy_to(&mut records).unwrap();
    assert_eq!(reader.merge_stats().late, 0);
    records
}

/// Counts by kind, and for runstate changes by old and new state.
fn counts(records: &[Record]) -> BTreeMap<(Kind, u8), usize> {
    let mut counts = BTreeMap::new();
    for r in records {
        let detail = match r.kind {
            Kind::RunstateChange => r.detail,
            Kind::Policy => r.detail & 63,
            _ => 0,
        };
        *counts.entry((r.kind, detail)).or_default() += 1;
    }
    counts
}

/// Counted with a separate program from the bytes of the file. CONTINUE_RUNNING is in as many
/// records as INFCONT, of which it is the second half.
#[test]
fn every_record_of_a_file_is_read() {
    let expected = [
        ((Kind::RunstateChange, 0x01), 724),
        ((Kind::RunstateChange, 0x02), 575),
        ((Kind::RunstateChange, 0x03), 150),
        ((Kind::RunstateChange, 0x10), 1449),
        ((Kind::RunstateChange, 0x21), 575),
        ((Kind::RunstateChange, 0x31), 149),
        ((Kind::Continue, 0), 63),
        ((Kind::Wake, 0), 724),
        ((Kind::Block, 0), 575),
        ((Kind::Sleep, 0), 150),
        ((Kind::Policy, 2), 2),
        ((Kind::Policy, 3), 3),
        ((Kind::Policy, 5), 601),
        ((Kind::Policy, 6), 724),
        ((Kind::Policy, 7), 7),
        ((Kind::Policy, 8), 2),
        ((Kind::Policy, 9), 1512),
        ((Kind::Policy, 10), 13),
        ((Kind::InfPrev, 0), 1449),
        ((Kind::InfNext, 0), 1449),
        ((Kind::SwitchOnly, 0), 1449),
    ];
    assert_eq!(counts(&read("c1-cap30")), BTreeMap::from(expected));
    for (name, switches, wakes, continues) in [
        ("c1-burn7", 1274, 441, 47),
        ("c1-burn7-periodic", 6805, 3408, 950),
        ("c1-weights-1-2-4", 1166, 431, 131),
    ] {
        let counts = counts(&read(name));
        assert_eq!(counts[&(Kind::SwitchOnly, 0)], switches, "{name}");
        assert_eq!(counts[&(Kind::Wake, 0)], wakes, "{name}");
        assert_eq!(counts[&(Kind::Continue, 0)], continues, "{name}");
        assert_eq!(counts.get(&(Kind::Other, 0)), None, "{name}");
    }
}

#[test]
fn the_first_switch_reads_as_in_the_file() {
    let records = read("c1-burn7");
    let seen: Vec<_> = records[..7]
        .iter()
        .map(|r| {
            (
                r.at.as_nanos(),
                r.kind,
                r.vcpu.to_string(),
                r.data[0],
                r.data[1],
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (309_769_214_074, Kind::Block, "d0v0".into(), 0, 0),
            (309_769_215_860, Kind::Policy, "d0v0".into(), 0, 0),
            (309_769_217_368, Kind::InfPrev, "d0v0".into(), 19_651_710, 0),
            (
                309_769_218_158,
                Kind::InfNext,
                "d4v0".into(),
                199_656_238,
                30_000_000
            ),
            (309_769_218_930, Kind::SwitchOnly, "d0v0".into(), 4 << 16, 0),
            (309_769_219_896, Kind::RunstateChange, "d0v0".into(), 0, 0),
            (309_769_220_772, Kind::RunstateChange, "d4v0".into(), 0, 0),
        ]
    );
}

#[test]
fn real_records_survive_both_formats() {
    for name in ["c1-burn7-periodic", "c1-cap30"] {
        let records = read(name);
        let mut own = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
        let mut xentrace = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
        for r in &records {
            own.record(r);
            xentrace.record(r);
        }
        for bytes in [own.finish().unwrap(), xentrace.finish().unwrap()] {
            let mut back = Vec::new();
            TraceReader::new(&bytes[..], &ReadOptions::default())
                .unwrap()
                .copy_to(&mut back)
                .unwrap();
            assert_eq!(back, records, "{name}");
        }
    }
}
