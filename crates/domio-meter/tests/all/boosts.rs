//! Boosts by pcpu, of a real Xen 4.17 and of made-up records.

use std::path::Path;

use domio_core::{Class, DomainId, Instant, Names, PcpuId, Record, Runstate, Says, Sink, VcpuName};
use domio_meter::Meter;
use domio_trace::{ReadOptions, TraceReader, XentraceReader, XentraceWriter};

/// Whoever is boosted before it runs for the first time is nowhere yet.
const VCPUS: u64 = 9;

#[test]
fn boosts_of_a_real_host_are_all_on_its_pcpu() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    let policies = domio_sched::policies().iter();
    let classes: Vec<&'static Class> = policies.filter_map(|p| p.descriptor.class).collect();
    for (name, boosted) in [("c1-burn7-periodic", true), ("c2-cap30", false)] {
        let options = ReadOptions {
            classes: classes.clone(),
            ..ReadOptions::default()
        };
        let path = folder.join(name).join("trace.bin");
        let mut reader = TraceReader::open(&path, &options).unwrap();
        let (mut meter, mut records) = (Meter::new(), 0);
        while let Some(record) = reader.next_record().unwrap() {
            let declared = reader.names().declared(&record);
            records += u64::from(declared.is_some_and(|d| d.says == Says::Boosted));
            meter.record(reader.names(), &record);
        }
        let summary = meter.finish();
        // Few: a boost that no tick ends is there at the next wake-up.
        assert_eq!(records > 20, boosted, "{name}: {records}");
        let [pcpu] = &summary.pcpus[..] else {
            panic!("{name} has one pcpu");
        };
        assert!(
            records - pcpu.boosts.unwrap_or(0) <= VCPUS,
            "{name}: {pcpu:?}"
        );
        assert_eq!(summary.boost_balance(), boosted.then_some(1.0));
        assert_eq!(pcpu.boosts.is_some(), boosted);
    }
}

/// A recording of three pcpus, as xentrace writes it: a boost counts where its vcpu ran last,
/// though the record of the boost is of the pcpu that woke the vcpu.
#[test]
fn boosts_of_a_recording_of_several_pcpus_are_where_vcpus_ran() {
    let credit = domio_sched::find("credit").expect("a shipped policy");
    let class = credit.descriptor.class.expect("credit has records");
    let boosted = class.records.iter().find(|d| d.says == Says::Boosted);
    let boosted = boosted.expect("credit boosts").number;
    let mut names = Names::new();
    let credit = names.add_class(class);
    // Of each pair one runs and one waits.
    let pair = |names: &mut Names, domain| {
        [0, 1].map(|vcpu| names.add_actor(VcpuName::new(DomainId(domain), vcpu)))
    };
    let [first, second, third] = [1, 2, 3].map(|domain| pair(&mut names, domain));
    let mut records = Vec::new();
    let mut at = 0;
    let mut time = || {
        at += 1_000;
        Instant::from_nanos(at)
    };
    let mut runs = |records: &mut Vec<Record>, pcpu, from, to| {
        let blocked = Runstate::Blocked;
        records.push(Record::switch(
            time(),
            PcpuId(pcpu),
            (from, blocked),
            to,
            [0; 3],
        ));
        let woken_by = PcpuId(0);
        records.push(Record::of(time(), woken_by, (credit, boosted), to, [0; 4]));
    };
    for _ in 0..2 {
        for (pcpu, [a, b]) in [(0, first), (1, second)] {
            runs(&mut records, pcpu, b, a);
        }
        runs(&mut records, 0, first[0], first[1]);
    }
    // One that ran on pcpu 0 runs on pcpu 2 now.
    runs(&mut records, 2, third[0], first[0]);
    let counted = |meter: Meter| {
        let summary = meter.finish();
        let boosts: Vec<u64> = summary
            .pcpus
            .iter()
            .filter_map(|pcpu| pcpu.boosts)
            .collect();
        (boosts, summary.boost_balance())
    };
    let mut told = Meter::new();
    let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
    for record in &records {
        told.record(&names, record);
        writer.record(&names, record);
    }
    let expected = (vec![4, 2, 1], Some(7.0 / 3.0 / 4.0));
    assert_eq!(counted(told), expected);
    let file = writer.finish().unwrap();
    let options = ReadOptions {
        classes: vec![class],
        ..ReadOptions::default()
    };
    let mut reader = XentraceReader::new(&file[..], &options).unwrap();
    let mut read = Meter::new();
    while let Some(record) = reader.next_record().unwrap() {
        read.record(reader.names(), &record);
    }
    assert_eq!(counted(read), expected);
}
