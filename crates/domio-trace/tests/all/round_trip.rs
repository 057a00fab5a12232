//! What is written comes back: own format, xentrace, and from one to the other.

use crate::classes::{CREDIT, CREDIT2, KNOWN, NETWORK};
use crate::common::host;
use crate::named::{Named, named};
use domio_core::{
    ActorId, ClassId, DomainId, Instant, Kind, Names, PcpuId, Record, Runstate, Sink, VcpuName,
};
use domio_trace::{
    DomainInfo, Format, ReadOptions, TraceHeader, TraceReader, TraceWriter, XentraceWriter,
    scenario_sha256,
};
use proptest::prelude::*;

fn own(names: &Names, records: &[Record], header: &TraceHeader) -> Vec<u8> {
    let mut w = TraceWriter::new(Vec::new(), header).unwrap();
    for r in records {
        w.record(names, r);
    }
    w.finish().unwrap()
}

fn xentrace_at(names: &Names, records: &[Record], tsc_hz: u64) -> Vec<u8> {
    let mut w = XentraceWriter::new(Vec::new(), tsc_hz).unwrap();
    for r in records {
        w.record(names, r);
    }
    w.finish().unwrap()
}

fn xentrace(names: &Names, records: &[Record]) -> Vec<u8> {
    xentrace_at(names, records, 1_000_000_000)
}

fn read_at(bytes: &[u8], tsc_hz: u64) -> (Names, Vec<Record>) {
    let options = ReadOptions {
        tsc_hz: Some(tsc_hz),
        classes: KNOWN.to_vec(),
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::new(bytes, &options).unwrap();
    let mut out = Vec::new();
    reader.copy_to(&mut out).unwrap();
    assert_eq!(reader.merge_stats().late, 0);
    (reader.names().clone(), out)
}

fn read(bytes: &[u8]) -> (Names, Vec<Record>) {
    read_at(bytes, 1_000_000_000)
}

/// Classes and actors of the records below: the common vcpus, and numbers at their bounds.
fn some_names() -> Names {
    let mut names = Names::new();
    for class in [&CREDIT, &CREDIT2, &NETWORK] {
        names.add_class(class);
    }
    for domain in [0, 1, 2, 500, 32767, u16::MAX] {
        for index in [0, 1, 300, u16::MAX] {
            names.add_actor(VcpuName::new(DomainId(domain), index));
        }
    }
    names
}

/// What a reader of a xentrace file makes of `record`: a switch is five records there.
fn as_xen_tells(record: &Record) -> Vec<Record> {
    let r = *record;
    let with = |kind, actor, words| Record::with(r.at, r.pcpu, kind, actor, words);
    match r.kind() {
        Some(Kind::Switch) => {
            let [(_, old, new), (next, next_old, next_new)] = r.changes().map(Option::unwrap);
            let [_, ran, waited, slice] = r.words;
            vec![
                with(Kind::InfPrev, r.actor, [ran, 0, 0, 0]),
                with(Kind::InfNext, next, [waited, slice, 0, 0]),
                with(Kind::SwitchOnly, r.actor, [next.0, 0, 0, 0]),
                Record::runstate(r.at, r.pcpu, r.actor, old, new),
                Record::runstate(r.at, r.pcpu, next, next_old, next_new),
            ]
        }
        Some(Kind::JobDone | Kind::EvtchnSend | Kind::EvtchnServe | Kind::DriverWork) => vec![],
        Some(_) => vec![r],
        None if some_names().class(r.class) == Some(&NETWORK) => vec![],
        None => vec![r],
    }
}

fn actor() -> impl Strategy<Value = ActorId> {
    (0..some_names().actors().len() as u32).prop_map(ActorId)
}

/// Any record at all of classes and actors that are announced, also those that no host writes.
fn any_record() -> impl Strategy<Value = Record> {
    (
        prop_oneof![Just(0), any::<u64>(), 0..1_000_000u64],
        any::<u16>(),
        (0..some_names().classes().len() as u8, any::<u8>()),
        prop_oneof![actor(), Just(ActorId::NONE)],
        proptest::array::uniform4(prop_oneof![Just(0u32), any::<u32>()]),
    )
        .prop_map(|(ns, pcpu, (class, number), actor, words)| {
            let at = Instant::from_nanos(ns);
            Record::of(at, PcpuId(pcpu), (ClassId(class), number), actor, words)
        })
}

/// A record with payload as its class says, at a time that the caller sets.
fn sound_record() -> impl Strategy<Value = Record> {
    let words = proptest::array::uniform4(any::<u32>());
    let class = prop_oneof![3 => Just(0u8), 1 => 1..5u8];
    (
        class,
        any::<usize>(),
        0..4u16,
        0..4u8,
        (actor(), actor()),
        words,
    )
        .prop_map(|(class, record, pcpu, n, (actor, next), words)| {
            let pcpu = PcpuId(pcpu);
            if class == 1 {
                // A class of events that is not understood.
                let mut kept = [0x0080_0000 | words[0] & 0xffff, 0, 0, 0];
                let n = usize::from(n);
                kept[1..=n].copy_from_slice(&words[1..=n]);
                let what = (ClassId::FOREIGN, n as u8);
                return Record::of(Instant::ZERO, pcpu, what, ActorId::NONE, kept);
            }
            let names = some_names();
            let class = ClassId(class);
            let records = names.class(class).unwrap().records;
            let declared = &records[record % records.len()];
            let mut kept = [0; 4];
            let used = usize::from(declared.words);
            kept[..used].copy_from_slice(&words[..used]);
            let mut r = Record::of(Instant::ZERO, pcpu, (class, declared.number), actor, kept);
            match r.kind() {
                Some(Kind::RunstateChange) => r.words[0] &= 0x33,
                Some(Kind::Switch) => r.words[0] = words[0] & 3 << 30 | next.0,
                Some(Kind::SwitchOnly) => r.words[0] = next.0,
                None if !names_a_vcpu(&r) => r.actor = ActorId::NONE,
                _ => {}
            }
            r
        })
}

/// Whether Xen's event names a vcpu: the others are of a pcpu or a run queue.
fn names_a_vcpu(record: &Record) -> bool {
    match some_names().class(record.class).unwrap().name {
        "credit" => !matches!(record.number, 6 | 9 | 11),
        "credit2" => !matches!(record.number, 6 | 9 | 12 | 14 | 16 | 17 | 21),
        _ => true,
    }
}

proptest! {
    #[test]
    fn own_files_keep_every_bit(records in proptest::collection::vec(any_record(), 0..300)) {
        let (names, header) = (some_names(), TraceHeader::default());
        let (read, back) = read(&own(&names, &records, &header));
        prop_assert_eq!(back, &records[..]);
        if !records.is_empty() {
            prop_assert_eq!(read.classes(), names.classes());
            prop_assert_eq!(read.actors(), names.actors());
        }
    }

    #[test]
    fn xentrace_files_tell_the_same(
        records in proptest::collection::vec((sound_record(), 0..60_000_000u64), 0..200),
    ) {
        let mut now = 0;
        let records: Vec<Record> = records
            .into_iter()
            .map(|(mut r, step)| {
                now += step;
                r.at = Instant::from_nanos(now);
                r
            })
            .collect();
        let names = some_names();
        let expected: Vec<Record> = records.iter().flat_map(as_xen_tells).collect();
        let mut expected: Vec<Named> = expected.iter().map(|r| named(&names, r)).collect();
        let (read, found) = read(&xentrace(&names, &records));
        let mut found: Vec<Named> = found.iter().map(|r| named(&read, r)).collect();
        // Records of different pcpus at one instant are moved apart.
        expected.sort_by_key(|r| (r.at, r.pcpu));
        found.sort_by_key(|r| (r.at, r.pcpu));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn records_of_one_instant_keep_their_order(
        records in proptest::collection::vec((sound_record(), 0..4usize), 0..200),
    ) {
        let mut now = 1_000;
        let records: Vec<Record> = records
            .into_iter()
            .map(|(mut r, step)| {
                now += [0, 0, 2, 200_000_000][step];
                r.at = Instant::from_nanos(now);
                r
            })
            .collect();
        let mut expected: Vec<Record> = records.iter().flat_map(as_xen_tells).collect();
        for hz in [1_000_000_000, 2_400_000_000, 18_000_000_000] {
            // At the earliest nanosecond that is after what other pcpus wrote before.
            let mut last: Option<Record> = None;
            for r in &mut expected {
                if let Some(last) = last {
                    let apart = u64::from(last.pcpu != r.pcpu);
                    r.at = r.at.max(Instant::from_nanos(last.at.as_nanos() + apart));
                }
                last = Some(*r);
            }
            let names = some_names();
            let (read, found) = read_at(&xentrace_at(&names, &records, hz), hz);
            // Rounding to counts and back may cost a nanosecond.
            for (found, expected) in found.iter().zip(&expected) {
                let early = expected.at.as_nanos().checked_sub(found.at.as_nanos());
                prop_assert!(early.is_some_and(|ns| ns <= u64::from(hz != 1_000_000_000)));
            }
            let untimed = |names: &Names, records: &[Record]| -> Vec<Named> {
                let untimed = |r: &Record| Record { at: Instant::ZERO, ..*r };
                records.iter().map(|r| named(names, &untimed(r))).collect()
            };
            prop_assert_eq!(untimed(&read, &found), untimed(&names, &expected));
        }
    }

    #[test]
    fn a_host_comes_back_in_the_order_of_time(seed in any::<u64>(), pcpus in 1..9u16) {
        let (names, records) = host(seed, pcpus, 2 * pcpus, 2000);
        let (_, found) = read(&xentrace(&names, &records));
        prop_assert!(found.is_sorted_by_key(|r| r.at));
        prop_assert_eq!(found.len(), records.iter().flat_map(as_xen_tells).count());
    }
}

#[test]
fn a_header_comes_back() {
    let scenario = b"name = \"weights\"\n";
    let header = TraceHeader {
        scenario: "weights".to_owned(),
        scenario_sha256: scenario_sha256(scenario),
        scenario_text: String::from_utf8_lossy(scenario).into_owned(),
        overrides: vec!["domains.1.weight=512".to_owned()],
        seed: u64::MAX,
        replication: 3,
        policy: "credit".to_owned(),
        pcpus: 4,
        domains: vec![DomainInfo {
            id: 1,
            name: "wéb".to_owned(),
            vcpus: 2,
            weight: 512,
            cap: 30,
        }],
        ..TraceHeader::default()
    };
    let bytes = own(&Names::new(), &[], &header);
    let reader = TraceReader::new(&bytes[..], &ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), Format::Own);
    assert_eq!(reader.header(), Some(&header));
    assert_eq!(reader.header().unwrap().domain_name(1), Some("wéb"));
}

#[test]
fn another_clock_keeps_times_to_a_count() {
    let (names, records) = host(1, 2, 4, 500);
    let bytes = xentrace_at(&names, &records, 2_400_000_000);
    let options = ReadOptions {
        tsc_hz: Some(2_400_000_000),
        ..ReadOptions::default()
    };
    let reader = TraceReader::new(&bytes[..], &options).unwrap();
    let wakes = |r: &Record| r.is(Kind::Wake).then_some(r.at.as_nanos());
    let found: Vec<u64> = reader
        .map(Result::unwrap)
        .filter_map(|r| wakes(&r))
        .collect();
    let expected: Vec<u64> = records.iter().filter_map(wakes).collect();
    assert_eq!(found.len(), expected.len());
    assert!(
        found
            .iter()
            .zip(&expected)
            .all(|(a, b)| a.abs_diff(*b) <= 1)
    );
}

#[test]
fn what_xen_has_no_event_for_is_left_out_of_xentrace_files_and_counted() {
    let names = some_names();
    let (at, pcpu, v) = (Instant::ZERO, PcpuId(0), ActorId(0));
    let network = names.class_named("network").unwrap();
    let credit = names.class_named("credit").unwrap();
    let mut w = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
    for record in [
        Record::new(at, pcpu, Kind::JobDone, v),
        Record::of(at, pcpu, (network, 2), v, [0; 4]),
        Record::of(at, pcpu, (credit, 60), v, [0; 4]),
        Record::runstate(at, pcpu, v, Runstate::Blocked, Runstate::Runnable),
    ] {
        w.record(&names, &record);
    }
    assert_eq!((w.written(), w.left_out()), (1, 3));
    assert_eq!(read(&w.finish().unwrap()).1.len(), 1);
}
