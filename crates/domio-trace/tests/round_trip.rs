//! What is written comes back: own format, xentrace, and from one to the other.

mod common;

use common::host;
use domio_core::{DomainId, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_trace::{
    DomainInfo, Format, ReadOptions, TraceHeader, TraceReader, TraceWriter, XentraceWriter,
    scenario_sha256,
};
use proptest::prelude::*;

fn own(records: &[Record], header: &TraceHeader) -> Vec<u8> {
    let mut w = TraceWriter::new(Vec::new(), header).unwrap();
    for r in records {
        w.record(r);
    }
    w.finish().unwrap()
}

fn xentrace(records: &[Record]) -> Vec<u8> {
    xentrace_at(records, 1_000_000_000)
}

fn xentrace_at(records: &[Record], tsc_hz: u64) -> Vec<u8> {
    let mut w = XentraceWriter::new(Vec::new(), tsc_hz).unwrap();
    for r in records {
        w.record(r);
    }
    w.finish().unwrap()
}

fn read(bytes: &[u8]) -> Vec<Record> {
    read_at(bytes, 1_000_000_000)
}

fn read_at(bytes: &[u8], tsc_hz: u64) -> Vec<Record> {
    let options = ReadOptions {
        tsc_hz: Some(tsc_hz),
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::new(bytes, &options).unwrap();
    let mut out = Vec::new();
    reader.copy_to(&mut out).unwrap();
    assert_eq!(reader.merge_stats().late, 0);
    out
}

/// What a reader of a xentrace file makes of `record`: a switch is five records there.
fn as_xen_tells(record: &Record) -> Vec<Record> {
    let r = *record;
    let with = |kind, vcpu, data: &[u32]| {
        let mut out = Record::new(r.at, r.pcpu, kind, vcpu);
        out.data[..data.len()].copy_from_slice(data);
        out
    };
    match r.kind {
        Kind::Switch => {
            let next = VcpuName::from_word(r.data[0]);
            let [(_, old, new), (_, next_old, next_new)] = r.changes().map(Option::unwrap);
            vec![
                with(Kind::InfPrev, r.vcpu, &[r.data[1]]),
                with(Kind::InfNext, next, &[r.data[2], r.data[3]]),
                with(Kind::SwitchOnly, r.vcpu, &[r.data[0]]),
                Record::runstate(r.at, r.pcpu, r.vcpu, old, new),
                Record::runstate(r.at, r.pcpu, next, next_old, next_new),
            ]
        }
        Kind::JobDone
        | Kind::NetDelivered
        | Kind::NetReply
        | Kind::EvtchnSend
        | Kind::EvtchnServe
        | Kind::NetMove
        | Kind::DriverWork
        | Kind::Web => vec![],
        _ => vec![r],
    }
}

fn name() -> impl Strategy<Value = VcpuName> {
    any::<u32>().prop_map(VcpuName::from_word)
}

/// Any record at all, also those that no host writes.
fn any_record() -> impl Strategy<Value = Record> {
    (
        prop_oneof![Just(0), any::<u64>(), 0..1_000_000u64],
        any::<u16>(),
        0..Kind::ALL.len(),
        any::<u8>(),
        name(),
        proptest::array::uniform4(prop_oneof![Just(0u32), any::<u32>()]),
    )
        .prop_map(|(ns, pcpu, kind, detail, vcpu, data)| Record {
            at: Instant::from_nanos(ns),
            pcpu: PcpuId(pcpu),
            kind: Kind::ALL[kind],
            detail,
            vcpu,
            data,
        })
}

/// A record with payload as [`Kind`] says, at a time that the caller sets.
fn sound_record() -> impl Strategy<Value = Record> {
    let words = proptest::array::uniform4(any::<u32>());
    (0..4u16, 0..Kind::ALL.len(), 0..4u8, 0..4u8, name(), words).prop_map(
        |(pcpu, kind, a, b, vcpu, data)| {
            let kind = Kind::ALL[kind];
            let mut r = Record::new(Instant::ZERO, PcpuId(pcpu), kind, vcpu);
            let used = match kind {
                Kind::RunstateChange => {
                    r.detail = a << 4 | b;
                    0
                }
                Kind::Switch => {
                    r.detail = a;
                    4
                }
                Kind::Continue | Kind::InfNext => 2,
                Kind::Lost | Kind::InfPrev | Kind::SwitchOnly => 1,
                Kind::Policy => {
                    r.vcpu = VcpuName::new(DomainId(vcpu.domain.0 % 8), 0);
                    r.detail = a << 6 | data[3] as u8 & 63;
                    usize::from(a)
                }
                Kind::Other => {
                    r.vcpu = VcpuName::default();
                    r.detail = a;
                    1 + usize::from(a)
                }
                Kind::JobDone
                | Kind::NetDelivered
                | Kind::NetReply
                | Kind::EvtchnSend
                | Kind::EvtchnServe
                | Kind::NetMove
                | Kind::DriverWork
                | Kind::Web => 4,
                Kind::Wake
                | Kind::Block
                | Kind::Sleep
                | Kind::Yield
                | Kind::DomainAdd
                | Kind::DomainRemove => 0,
            };
            r.data[..used].copy_from_slice(&data[..used]);
            if kind == Kind::Other {
                // A class of events that is not understood.
                r.data[0] = 0x0080_0000 | data[0] & 0xffff;
            }
            r
        },
    )
}

proptest! {
    #[test]
    fn own_files_keep_every_bit(records in proptest::collection::vec(any_record(), 0..300)) {
        prop_assert_eq!(read(&own(&records, &TraceHeader::default())), records);
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
        let mut expected: Vec<Record> = records.iter().flat_map(as_xen_tells).collect();
        let mut found = read(&xentrace(&records));
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
            let found = read_at(&xentrace_at(&records, hz), hz);
            // Rounding to counts and back may cost a nanosecond.
            for (found, expected) in found.iter().zip(&expected) {
                let early = expected.at.as_nanos().checked_sub(found.at.as_nanos());
                prop_assert!(early.is_some_and(|ns| ns <= u64::from(hz != 1_000_000_000)));
            }
            let untimed = |records: &[Record]| -> Vec<Record> {
                let untimed = |r: &Record| Record { at: Instant::ZERO, ..*r };
                records.iter().map(untimed).collect()
            };
            prop_assert_eq!(untimed(&found), untimed(&expected));
        }
    }

    #[test]
    fn a_host_comes_back_in_the_order_of_time(seed in any::<u64>(), pcpus in 1..9u16) {
        let records = host(seed, pcpus, 2 * pcpus, 2000);
        let found = read(&xentrace(&records));
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
    let bytes = own(&[], &header);
    let reader = TraceReader::new(&bytes[..], &ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), Format::Own);
    assert_eq!(reader.header(), Some(&header));
    assert_eq!(reader.header().unwrap().domain_name(1), Some("wéb"));
}

#[test]
fn another_clock_keeps_times_to_a_count() {
    let records = host(1, 2, 4, 500);
    let mut w = XentraceWriter::new(Vec::new(), 2_400_000_000).unwrap();
    for r in &records {
        w.record(r);
    }
    let bytes = w.finish().unwrap();
    let options = ReadOptions {
        tsc_hz: Some(2_400_000_000),
        ..ReadOptions::default()
    };
    let reader = TraceReader::new(&bytes[..], &options).unwrap();
    let wakes = |r: &Record| (r.kind == Kind::Wake).then_some(r.at.as_nanos());
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
fn jobs_are_left_out_of_xentrace_files_and_counted() {
    let mut w = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
    w.record(&Record::new(
        Instant::ZERO,
        PcpuId(0),
        Kind::JobDone,
        VcpuName::default(),
    ));
    w.record(&Record::runstate(
        Instant::ZERO,
        PcpuId(0),
        VcpuName::default(),
        Runstate::Blocked,
        Runstate::Runnable,
    ));
    assert_eq!((w.written(), w.left_out()), (1, 1));
    assert_eq!(read(&w.finish().unwrap()).len(), 1);
}
