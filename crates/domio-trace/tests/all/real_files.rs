//! The traces of a real Xen 4.17 in `testdata/xen-traces`: every record is read, and survives both
//! formats.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::classes::KNOWN;
use crate::named::{Named, named};
use domio_core::{Kind, Names, Record, Sink};
use domio_trace::{Format, ReadOptions, TraceHeader, TraceReader, TraceWriter, XentraceWriter};

/// The classes of policies are known.
fn options() -> ReadOptions {
    ReadOptions {
        classes: KNOWN.to_vec(),
        ..ReadOptions::default()
    }
}

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

fn read(name: &str) -> (Names, Vec<Record>) {
    let mut reader = TraceReader::open(&path(name), &options()).unwrap();
    assert_eq!(reader.format(), Format::Xentrace);
    let mut records = Vec::new();
    reader.copy_to(&mut records).unwrap();
    assert_eq!(reader.merge_stats().late, 0);
    (reader.names().clone(), records)
}

/// Counts by class and number, and for runstate changes by old and new state.
fn counts((names, records): &(Names, Vec<Record>)) -> BTreeMap<(&'static str, u8, u32), usize> {
    let mut counts = BTreeMap::new();
    for r in records {
        let class = names.class(r.class).unwrap().name;
        let states = match r.kind() {
            Some(Kind::RunstateChange) => r.words[0],
            _ => 0,
        };
        *counts.entry((class, r.number, states)).or_default() += 1;
    }
    counts
}

/// FigureOf with a separate program from the bytes of the file. CONTINUE_RUNNING is in as many
/// records as INFCONT, of which it is the second half.
#[test]
fn every_record_of_a_file_is_read() {
    let common = |kind: Kind, states| ("sched", kind as u8, states);
    let expected = [
        (common(Kind::RunstateChange, 0x01), 724),
        (common(Kind::RunstateChange, 0x02), 575),
        (common(Kind::RunstateChange, 0x03), 150),
        (common(Kind::RunstateChange, 0x10), 1449),
        (common(Kind::RunstateChange, 0x21), 575),
        (common(Kind::RunstateChange, 0x31), 149),
        (common(Kind::Continue, 0), 63),
        (common(Kind::Wake, 0), 724),
        (common(Kind::Block, 0), 575),
        (common(Kind::Sleep, 0), 150),
        (("credit", 2, 0), 2),
        (("credit", 3, 0), 3),
        (("credit", 5, 0), 601),
        (("credit", 6, 0), 724),
        (("credit", 7, 0), 7),
        (("credit", 8, 0), 2),
        (("credit", 9, 0), 1512),
        (("credit", 10, 0), 13),
        (common(Kind::InfPrev, 0), 1449),
        (common(Kind::InfNext, 0), 1449),
        (common(Kind::SwitchOnly, 0), 1449),
    ];
    assert_eq!(counts(&read("c1-cap30")), BTreeMap::from(expected));
    for (name, switches, wakes, continues) in [
        ("c1-burn7", 1274, 441, 47),
        ("c1-burn7-periodic", 6805, 3408, 950),
        ("c1-weights-1-2-4", 1166, 431, 131),
    ] {
        let counts = counts(&read(name));
        assert_eq!(counts[&common(Kind::SwitchOnly, 0)], switches, "{name}");
        assert_eq!(counts[&common(Kind::Wake, 0)], wakes, "{name}");
        assert_eq!(counts[&common(Kind::Continue, 0)], continues, "{name}");
        assert!(
            counts.keys().all(|(class, ..)| *class != "foreign"),
            "{name}"
        );
    }
}

#[test]
fn the_first_switch_reads_as_in_the_file() {
    let (names, records) = read("c1-burn7");
    let seen = records[..7].iter().map(|r| {
        let Named {
            class,
            number,
            actor,
            words,
            ..
        } = named(&names, r);
        let actor = actor.map_or("none".to_owned(), |vcpu| vcpu.to_string());
        (r.at.as_nanos(), (class, number), actor, words[0], words[1])
    });
    let common = |kind| ("sched", kind as u8);
    let expected = [
        (309_769_214_074, common(Kind::Block), "d0v0", 0, 0),
        (309_769_215_860, ("credit", 9), "none", 0, 0),
        (
            309_769_217_368,
            common(Kind::InfPrev),
            "d0v0",
            19_651_710,
            0,
        ),
        (
            309_769_218_158,
            common(Kind::InfNext),
            "d4v0",
            199_656_238,
            30_000_000,
        ),
        (
            309_769_218_930,
            common(Kind::SwitchOnly),
            "d0v0",
            4 << 16,
            0,
        ),
        (
            309_769_219_896,
            common(Kind::RunstateChange),
            "d0v0",
            0x02,
            0,
        ),
        (
            309_769_220_772,
            common(Kind::RunstateChange),
            "d4v0",
            0x10,
            0,
        ),
    ];
    let expected = expected.map(|(at, what, actor, a, b)| (at, what, actor.to_owned(), a, b));
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

#[test]
fn credits_that_credit2_debits_have_their_vcpu_and_the_words_that_are_declared() {
    let (names, records) = read("c2-cap30");
    let counts = counts(&(names.clone(), records.clone()));
    assert!(
        counts.keys().all(|(class, ..)| *class != "foreign"),
        "{counts:?}"
    );
    let burned = records.iter().map(|r| named(&names, r));
    let mut burned = burned.filter(|r| (r.class, r.number) == ("credit2", 3));
    let first = burned.next().expect("credit is debited");
    assert!(
        first.actor.is_some_and(|vcpu| vcpu.domain.0 < 10),
        "{first:?}"
    );
    // What the cap leaves, after the credit; Xen has a word more, which is not declared.
    assert_eq!(first.words[2..], [0, 0]);
    assert!(burned.any(|r| r.words[1].cast_signed() > 0));
}

#[test]
fn real_records_survive_both_formats() {
    for name in ["c1-burn7-periodic", "c1-cap30", "c2-cap30"] {
        let (names, records) = read(name);
        let mut own = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
        let mut xentrace = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
        for r in &records {
            own.record(&names, r);
            xentrace.record(&names, r);
        }
        for bytes in [own.finish().unwrap(), xentrace.finish().unwrap()] {
            let mut back = Vec::new();
            let mut reader = TraceReader::new(&bytes[..], &options()).unwrap();
            reader.copy_to(&mut back).unwrap();
            let named_of = |names: &Names, records: &[Record]| -> Vec<Named> {
                records.iter().map(|r| named(names, r)).collect()
            };
            let back = named_of(reader.names(), &back);
            assert!(back == named_of(&names, &records), "{name}");
        }
    }
}
