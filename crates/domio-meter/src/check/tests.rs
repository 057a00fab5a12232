//! The rules one by one, on hand-made traces.

use super::*;
use crate::cast::{fed, first, names};
use Runstate::{Blocked, Offline, Runnable, Running};

fn vcpu(domain: u16) -> VcpuName {
    VcpuName::new(DomainId(domain), 0)
}

type Change = (u64, u16, u16, Runstate, Runstate);

fn record(&(at, pcpu, domain, old, new): &Change) -> Record {
    let at = Instant::from_nanos(at);
    Record::runstate(at, PcpuId(pcpu), first(domain), old, new)
}

/// Checks runstate changes given as time, pcpu, domain, old and new state.
fn check(changes: &[Change]) -> Vec<TraceProblem> {
    let records: Vec<Record> = changes.iter().map(record).collect();
    let report = fed(TraceChecker::new(), &names(), &records).finish();
    assert_eq!(report.total, report.findings.len() as u64);
    report.findings.into_iter().map(|f| f.problem).collect()
}

#[test]
fn a_sound_trace_is_clean() {
    assert_eq!(
        check(&[
            (1, 0, 1, Blocked, Runnable),
            (2, 0, 1, Runnable, Running),
            (3, 1, 2, Runnable, Running),
            (4, 0, 1, Running, Runnable),
            (4, 0, 3, Runnable, Running),
            (5, 1, 2, Running, Offline),
            (6, 1, 1, Runnable, Running),
            (7, 0, 2, Offline, Runnable),
        ]),
        []
    );
    // Parked and unparked by credit2.
    assert_eq!(
        check(&[(1, 0, 1, Running, Offline), (2, 0, 1, Offline, Running)]),
        []
    );
}

#[test]
fn each_rule_is_checked() {
    let v = vcpu(1);
    assert_eq!(
        check(&[(1, 0, 1, Blocked, Running)]),
        [TraceProblem::IllegalTransition {
            vcpu: v,
            old: Blocked,
            new: Running
        }]
    );
    assert_eq!(
        check(&[(1, 0, 1, Blocked, Runnable), (2, 0, 1, Blocked, Offline)]),
        [TraceProblem::NotContiguous {
            vcpu: v,
            had: Runnable,
            old: Blocked
        }]
    );
    assert_eq!(
        check(&[(1, 0, 1, Runnable, Running), (2, 1, 1, Running, Blocked)]),
        [TraceProblem::RunsElsewhere {
            vcpu: v,
            there: PcpuId(0)
        }]
    );
    assert_eq!(
        check(&[(1, 0, 1, Runnable, Running), (2, 0, 2, Runnable, Running)]),
        [TraceProblem::PcpuTaken {
            vcpu: vcpu(2),
            by: v
        }]
    );
    assert_eq!(
        check(&[(5, 0, 1, Offline, Runnable), (4, 0, 2, Offline, Runnable)]),
        [TraceProblem::PcpuTimeWentBack {
            before: Instant::from_nanos(5)
        }]
    );
    // Going back on another pcpu breaks the vcpu's sums too.
    assert_eq!(
        check(&[
            (1, 0, 1, Offline, Runnable),
            (9, 0, 1, Runnable, Offline),
            (5, 1, 1, Offline, Runnable)
        ]),
        [
            TraceProblem::VcpuTimeWentBack {
                vcpu: v,
                before: Instant::from_nanos(9)
            },
            TraceProblem::SumsDiffer {
                vcpu: v,
                sum: 8,
                elapsed: 4
            }
        ]
    );
}

#[test]
fn lost_records_excuse_what_they_may_hide() {
    let change = |at, pcpu, domain, old, new| record(&(at, pcpu, domain, old, new));
    let (at, pcpu) = (Instant::from_nanos(3), PcpuId(0));
    let lost = Record::with(at, pcpu, Kind::Lost, ActorId::NONE, [4, 0, 0, 0]);
    let records = [
        change(1, 0, 1, Runnable, Running),
        change(2, 1, 2, Runnable, Running),
        lost,
        // Domain 1 left pcpu 0 in between.
        change(4, 0, 3, Runnable, Running),
        change(5, 0, 1, Blocked, Runnable),
        // Domain 2 runs elsewhere: nothing excuses it.
        change(6, 1, 2, Runnable, Running),
    ];
    let report = fed(TraceChecker::new(), &names(), &records).finish();
    assert_eq!(report.lost_records, 4);
    assert!(
        report
            .findings
            .iter()
            .all(|f| f.record == 5 && f.pcpu == PcpuId(1)),
        "{:?}",
        report.findings
    );
    assert!(!report.is_clean());
}

#[test]
fn findings_are_bounded() {
    let wrong = [record(&(1, 0, 1, Blocked, Running)); 3000];
    let report = fed(TraceChecker::new(), &names(), &wrong).finish();
    assert_eq!(report.findings.len(), FINDINGS_MAX);
    assert!(report.total > 3000);
}

#[test]
fn an_actor_without_a_name_is_found() {
    let (at, pcpu, actor) = (Instant::ZERO, PcpuId(0), ActorId(1 << 20));
    let record = Record::runstate(at, pcpu, actor, Runnable, Running);
    let report = fed(TraceChecker::new(), &names(), &[record]).finish();
    let problems: Vec<TraceProblem> = report.findings.into_iter().map(|f| f.problem).collect();
    assert_eq!(problems, [TraceProblem::UnknownActor { actor }]);
}
