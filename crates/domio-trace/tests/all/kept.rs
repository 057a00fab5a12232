//! A kept trace reads as it did: `testdata/trace` has a run's trace and what was made of it for
//! Xen's tools.

use std::path::PathBuf;

use crate::classes::KNOWN;
use domio_core::{Class, Names, Record, Sink};
use domio_trace::{ReadOptions, TraceReader, Undeclared, XentraceWriter};

fn path(name: &str) -> PathBuf {
    let folder = [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "trace"];
    folder.iter().collect::<PathBuf>().join(name)
}

fn read(name: &str, classes: &'static [&'static Class]) -> (Names, Vec<Record>) {
    let options = ReadOptions {
        classes: classes.to_vec(),
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::open(&path(name), &options).unwrap();
    let mut records = Vec::new();
    reader.copy_to(&mut records).unwrap();
    (reader.names().clone(), records)
}

#[test]
fn a_xentrace_file_made_of_it_is_the_same_to_the_byte() {
    let (names, records) = read("trace.domio", KNOWN);
    let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
    for record in &records {
        writer.record(&names, record);
    }
    let left_out = writer.left_out();
    let bytes = writer.finish().unwrap();
    let expected = std::fs::read(path("trace.xentrace")).unwrap();
    assert!(bytes == expected, "{} bytes", bytes.len());
    assert_eq!(left_out, 728, "records of devices, which Xen has none of");
}

#[test]
fn what_no_caller_knows_is_counted_and_named() {
    let (names, records) = read("trace.xentrace", &[]);
    let mut undeclared = Undeclared::new();
    for record in &records {
        undeclared.see(&names, record);
    }
    let counts = undeclared.counts();
    let event = "credit event 11 0x2200b";
    let count = counts.iter().find(|(name, _)| name == event);
    assert_eq!(count.map(|(_, count)| *count), Some(118));
}
