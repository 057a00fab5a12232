//! Runs of which only records that they go on tell, and nothing when they end.

use crate::cast::{actor, fed, names};
use domio_core::{DomainId, Duration, Instant, Kind, PcpuId, Record, Runstate, VcpuName};
use domio_meter::{Meter, Sampler, Summary, TraceChecker, TraceProblem};

const A: VcpuName = VcpuName::new(DomainId(1), 0);
const B: VcpuName = VcpuName::new(DomainId(2), 0);
const OTHER: VcpuName = VcpuName::new(DomainId(3), 0);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn goes_on(ms: u64, pcpu: u16, vcpu: VcpuName) -> Record {
    Record::new(at(ms), PcpuId(pcpu), Kind::Continue, actor(vcpu))
}

/// Pcpu 0 is switched from one vcpu to another.
fn switch(ms: u64, from: VcpuName, to: VcpuName) -> Record {
    let words = [actor(to).0, 0, 0, 0];
    Record::with(at(ms), PcpuId(0), Kind::SwitchOnly, actor(from), words)
}

fn summary(records: &[Record]) -> Summary {
    fed(Meter::new(), &names(), records).finish()
}

/// Milliseconds that `A` ran and of which nothing is known, and that pcpu 0 was busy, in a trace
/// from 0 to 100 ms that has runstates: those of somebody on pcpu 1. The samples have to agree.
fn figures(records: &[Record]) -> (u64, u64, u64) {
    let other = |ms, old, new| Record::runstate(at(ms), PcpuId(1), actor(OTHER), old, new);
    let mut all = vec![other(0, Runstate::Runnable, Runstate::Running)];
    all.extend(records);
    all.push(other(100, Runstate::Running, Runstate::Blocked));
    let summary = summary(&all);
    assert!(summary.runstates);
    let a = &summary.domain(A.domain).unwrap().total;
    assert_eq!((a.executions, a.runs.count), (0, 0));
    let sampler = fed(Sampler::new(Duration::from_millis(1000)), &names(), &all);
    let samples: Vec<_> = sampler.finish().flat_map(|s| s.domains).collect();
    let sampled = samples.iter().find(|d| d.id == A.domain).unwrap().figures;
    assert_eq!((sampled.gotten, sampled.unknown), (a.running, a.unknown));
    let ms = |ns| ns / 1_000_000;
    (ms(a.running), ms(a.unknown), ms(summary.pcpus[0].busy))
}

#[test]
fn a_switch_ends_a_run() {
    let records = [
        goes_on(10, 0, A),
        goes_on(40, 0, A),
        switch(50, A, B),
        goes_on(60, 0, B),
        switch(85, B, A),
        goes_on(90, 0, A),
        switch(95, A, B),
    ];
    // 0 to 50 and 90 to 95; B from 60 to 85. What A did from 50 to 90 and after 95 is not told.
    assert_eq!(figures(&records), (55, 45, 80));
}

#[test]
fn whoever_is_seen_on_the_pcpu_ends_a_run() {
    // Nothing tells when A left, so that only 0 to 40 is sure.
    let a = [goes_on(10, 0, A), goes_on(40, 0, A)];
    let comes = {
        let (runnable, running) = (Runstate::Runnable, Runstate::Running);
        Record::runstate(at(70), PcpuId(0), actor(B), runnable, running)
    };
    assert_eq!(figures(&[a[0], a[1], comes]), (40, 60, 70));
    assert_eq!(
        figures(&[a[0], a[1], goes_on(70, 0, B), switch(80, B, A)]),
        (40, 60, 50)
    );
    // Seen again, 40 to 90 is not known. Nothing tells that B left, whose change was recorded.
    let again = [a[0], a[1], comes, goes_on(90, 0, A), switch(95, A, B)];
    assert_eq!(figures(&again), (45, 55, 75));
}

#[test]
fn who_goes_on_elsewhere_has_left() {
    let records = [
        goes_on(10, 0, A),
        goes_on(40, 0, A),
        goes_on(60, 2, A),
        goes_on(65, 2, A),
        goes_on(70, 2, B),
    ];
    assert_eq!(figures(&records), (45, 55, 40));
}

/// As of `xentrace -e 0x00028000`.
fn without_runstates() -> Vec<Record> {
    let wakes = |ms| Record::new(at(ms), PcpuId(0), Kind::Wake, actor(B));
    vec![
        wakes(5),
        goes_on(10, 0, A),
        switch(20, A, B),
        switch(30, B, A),
        goes_on(90, 0, A),
        wakes(105),
    ]
}

#[test]
fn without_runstates_there_are_no_figures() {
    let summary = summary(&without_runstates());
    assert!(!summary.runstates);
    assert!(summary.domains.is_empty() && summary.pcpus.is_empty());
    assert_eq!((summary.start, summary.end), (at(5), at(105)));
    assert_eq!(summary.records, 6);
}

#[test]
fn a_check_tells_that_there_are_no_runstates() {
    let check = |records: &[Record]| fed(TraceChecker::new(), &names(), records).finish();
    let mut records = without_runstates();
    let report = check(&records);
    assert_eq!(report.total, 1);
    let finding = &report.findings[0];
    assert_eq!(finding.problem, TraceProblem::NoRunstates { records: 6 });
    let text = finding.to_string();
    assert!(text.contains("xentrace -e 0x0002f000"), "{text}");
    // It is about the whole trace, whose first record need not be the earliest.
    let first = Record::new(at(7), PcpuId(3), Kind::Wake, actor(A));
    let report = check(&[&[first], &records[..]].concat());
    let finding = &report.findings[0];
    assert_eq!((report.total, report.records), (1, 7));
    let place = (finding.record, finding.at, finding.pcpu);
    assert_eq!(place, (0, at(7), PcpuId(3)));
    // One runstate is enough, and so is a pcpu on which nothing else happened.
    records.push(Record::runstate(
        at(110),
        PcpuId(0),
        actor(A),
        Runstate::Running,
        Runstate::Blocked,
    ));
    assert!(check(&records).is_clean());
    assert!(check(&[goes_on(10, 0, A), goes_on(40, 0, A)]).is_clean());
    assert!(check(&[]).is_clean());
}
