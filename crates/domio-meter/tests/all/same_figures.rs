//! The meter's figures do not depend on how a trace is written down, and add up.

use crate::cast::{fed, first, names as cast};
use crate::common::host;
use domio_core::{
    ActorId, ClassId, DomainId, Duration, Instant, Kind, Names, PcpuId, Record, Runstate, Sink,
    VcpuName,
};
use domio_meter::{Figures, Meter, Sampler, Summary, Totals, TraceChecker};
use domio_trace::{ReadOptions, TraceReader, XentraceWriter};
use proptest::prelude::*;

fn measure(meter: Meter, names: &Names, records: &[Record]) -> Summary {
    fed(meter, names, records).finish()
}

/// The same records with the number of records evened out: it differs between the two
/// representations of a switch by design.
fn figures(mut summary: Summary) -> Summary {
    summary.records = 0;
    summary
}

proptest! {
    #[test]
    fn both_representations_of_a_switch_agree(seed in any::<u64>(), pcpus in 1..5u16) {
        let (names, records) = host(seed, pcpus, 3 * pcpus, 1500);
        let mut w = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
        for r in &records {
            w.record(&names, r);
        }
        let bytes = w.finish().unwrap();
        let mut meter = Meter::new();
        let mut reader = TraceReader::new(&bytes[..], &ReadOptions::default()).unwrap();
        reader.copy_to(&mut meter).unwrap();
        let ours = figures(measure(Meter::new(), &names, &records));
        prop_assert!(ours.domains.iter().any(|d| d.total.wake_to_run.count > 0));
        prop_assert_eq!(figures(meter.finish()), ours);
    }

    #[test]
    fn states_sum_to_the_time_of_each_vcpu(seed in any::<u64>(), pcpus in 1..5u16) {
        let (names, records) = host(seed, pcpus, 3 * pcpus, 1500);
        let mut checker = TraceChecker::new();
        for r in &records {
            checker.record(&names, r);
        }
        let report = checker.finish();
        prop_assert!(report.is_clean(), "{}", report.findings[0]);

        let end = records.last().unwrap().at;
        let mut meter = Meter::new();
        for r in &records {
            meter.record(&names, r);
        }
        let summary = meter.finish_at(end);
        for vcpu in summary.domains.iter().flat_map(|d| &d.vcpus) {
            let a = &vcpu.account;
            // All are blocked or runnable when the trace begins.
            prop_assert_eq!(
                a.running + a.runnable + a.blocked + a.offline,
                end.since(records[0].at).as_nanos()
            );
            prop_assert_eq!(
                a.waited_after_wake + a.waited_after_preempt + a.waited_other,
                a.runnable
            );
            prop_assert_eq!(a.unknown, 0);
        }
        // Every pcpu is busy or idle from its first pass on, and idles before, if an idle vcpu
        // that goes on does not tell who was there first.
        for pcpu in &summary.pcpus {
            let here = |r: &&Record| r.pcpu == pcpu.id;
            let tells = |r: &&Record| r.is(Kind::Switch) || r.is(Kind::Continue);
            if records.iter().filter(here).any(|r| tells(&r)) {
                let time = end.since(records[0].at).as_nanos();
                prop_assert_eq!(pcpu.busy + pcpu.idle, time);
            }
        }
    }

    #[test]
    fn two_windows_make_the_whole(seed in any::<u64>(), cut in 0..10_000_000_000u64) {
        let (names, records) = host(seed, 2, 6, 1500);
        let end = records.last().unwrap().at;
        let cut = Instant::from_nanos(1_000_000_000 + cut % 700_000_000);
        let [early, late, whole] = [
            Meter::window(Instant::ZERO, cut),
            Meter::window(cut, Instant::MAX),
            Meter::new(),
        ]
        .map(|mut meter| {
            for r in &records {
                meter.record(&names, r);
            }
            meter.finish_at(end)
        });
        for d in &whole.domains {
            let (a, b) = (early.domain(d.id).unwrap(), late.domain(d.id).unwrap());
            prop_assert_eq!(a.total.running + b.total.running, d.total.running);
            prop_assert_eq!(a.total.blocked + b.total.blocked, d.total.blocked);
            prop_assert_eq!(a.total.runs.count + b.total.runs.count, d.total.runs.count);
            prop_assert_eq!(a.total.executions + b.total.executions, d.total.executions);
        }
        prop_assert_eq!(early.switches() + late.switches(), whole.switches());
    }

    #[test]
    fn samples_sum_to_the_whole(seed in any::<u64>(), interval in 200_000..2_000_000_000u64) {
        let (names, records) = host(seed, 2, 6, 1500);
        let mut sampler = Sampler::new(Duration::from_nanos(interval));
        let mut meter = Meter::new();
        for r in &records {
            sampler.record(&names, r);
            meter.record(&names, r);
        }
        let whole = meter.finish_at(records.last().unwrap().at);
        let samples: Vec<_> = sampler.finish().collect();
        let total = Totals::of_trace(&samples);
        for d in &whole.domains {
            let sum = |field: fn(&Figures) -> u64| field(&total.domain(d.id));
            prop_assert_eq!(sum(|x| x.gotten), d.total.running);
            prop_assert_eq!(sum(|x| x.waited), d.total.runnable);
            prop_assert_eq!(sum(|x| x.blocked), d.total.blocked);
            prop_assert_eq!(sum(|x| x.parked), d.total.parked);
            prop_assert_eq!(sum(|x| x.parked + x.paused), d.total.offline);
            prop_assert_eq!(sum(|x| x.executions), d.total.executions);
            prop_assert_eq!(sum(|x| x.wakeups), d.total.wakeups);
            for v in &d.vcpus {
                let parts = total.parts.iter().filter(|p| p.vcpu == v.name);
                let mut sums = Figures::default();
                parts.for_each(|p| sums.add(&p.figures));
                prop_assert_eq!(sums.gotten, v.account.running);
                prop_assert_eq!(sums.waited, v.account.runnable);
                prop_assert_eq!(sums.executions, v.account.executions);
            }
        }
        // Time on a pcpu is that pcpu's, and windows of samples are samples.
        for p in &whole.pcpus {
            let here = total.on(p.id);
            let got: u64 = here.domains.iter().map(|d| d.figures.gotten).sum();
            prop_assert_eq!(got, p.busy + p.idle);
        }
        for sample in &samples {
            for d in &sample.domains {
                let parts = sample.parts.iter().filter(|p| p.vcpu.domain == d.id);
                let mut sums = Figures::default();
                parts.for_each(|p| sums.add(&p.figures));
                prop_assert_eq!(sums, d.figures);
            }
        }
    }

    #[test]
    fn scaling_time_scales_the_figures(seed in any::<u64>()) {
        let (names, records) = host(seed, 2, 5, 1000);
        let halved: Vec<Record> = records
            .iter()
            .map(|r| Record { at: Instant::from_nanos(r.at.as_nanos() / 2), ..*r })
            .collect();
        let [a, b] = [&records, &halved].map(|all| measure(Meter::new(), &names, all));
        for (a, b) in a.domains.iter().zip(&b.domains) {
            prop_assert_eq!(a.total.running, 2 * b.total.running);
            prop_assert_eq!(a.total.runs.p95, b.total.runs.p95.map(|ns| 2 * ns));
        }
    }
}

#[test]
fn a_full_budget_of_samples_makes_histograms_that_are_near() {
    let (names, records) = host(11, 2, 4, 20_000);
    let exact = measure(Meter::new(), &names, &records);
    let near = measure(Meter::new().exact_samples_max(500), &names, &records);
    let mut compared = 0;
    for (a, b) in exact.domains.iter().zip(&near.domains) {
        assert_eq!(a.total.running, b.total.running);
        assert_eq!(a.total.runs.count, b.total.runs.count);
        let (x, y) = (a.total.runs.p50.unwrap(), b.total.runs.p50.unwrap());
        assert!(x.abs_diff(y) <= x / 1000 + 1, "{x} {y}");
        compared += usize::from(!b.total.runs.exact);
    }
    assert!(compared > 0);
}

#[test]
fn lost_records_give_unknown_time_and_no_sample() {
    let v = first(1);
    let change = |ns, old, new| Record::runstate(Instant::from_nanos(ns), PcpuId(0), v, old, new);
    let lost = |pcpu| {
        let at = Instant::from_nanos(150);
        Record::with(at, PcpuId(pcpu), Kind::Lost, v, [3, 0, 0, 0])
    };
    let run = |lost: Record| {
        let records = [
            change(100, Runstate::Runnable, Runstate::Running),
            lost,
            change(200, Runstate::Running, Runstate::Blocked),
        ];
        let summary = measure(Meter::new(), &cast(), &records);
        assert_eq!(summary.lost_records, 3);
        let a = summary.domain(DomainId(1)).unwrap().total;
        (a.running, a.unknown, a.runs.count)
    };
    assert_eq!(run(lost(0)), (50, 50, 0), "known up to the loss");
    assert_eq!(run(lost(1)), (100, 0, 1), "a run is recorded where it runs");
}

#[test]
fn an_empty_trace_has_no_figures_and_no_infinities() {
    let json = serde_json::to_value(Meter::new().finish().answer(|_| None, 1, false)).unwrap();
    assert_eq!(json["seconds"], 0.0);
    assert_eq!(json["domains"], serde_json::json!([]));
}

#[test]
fn damaged_traces_do_no_harm() {
    // Times at both ends of the scale, impossible states, every vcpu of a domain, actors that
    // nobody has named.
    let mut names = Names::new();
    (0..80_000).for_each(|word| {
        names.add_actor(VcpuName::from_word(word));
    });
    let mut meter = Meter::new();
    let mut checker = TraceChecker::new();
    for i in 0..100_000u64 {
        let at = Instant::from_nanos(if i % 3 == 0 { u64::MAX - i } else { i });
        let actor = ActorId((i % 90_000) as u32);
        let (kind, states) = (i as usize % Kind::ALL.len(), (i / 7) as u32 % 256);
        let what = (ClassId::COMMON, kind as u8);
        let r = Record::of(at, PcpuId(i as u16), what, actor, [states, 0, 0, 0]);
        meter.record(&names, &r);
        checker.record(&names, &r);
    }
    let summary = meter.finish();
    assert!(summary.ignored_records > 0);
    assert_eq!(summary.records, 100_000);
    assert!(!checker.finish().is_clean());
}

/// A mark of `vcpu`.
fn mark(at: u64, pcpu: u16, state: Runstate) -> Record {
    let vcpu = first(1);
    Record::runstate(Instant::from_nanos(at), PcpuId(pcpu), vcpu, state, state)
}

#[test]
fn a_vcpu_that_runs_all_the_time_is_counted_from_mark_to_mark() {
    let records = [
        mark(100, 0, Runstate::Running),
        mark(150, 0, Runstate::Running),
        mark(400, 0, Runstate::Running),
    ];
    let summary = measure(Meter::new(), &cast(), &records);
    let total = summary.domain(DomainId(1)).unwrap().total;
    assert_eq!(
        (total.running, total.executions, total.runs.count),
        (300, 0, 0)
    );
    assert_eq!((summary.pcpus[0].busy, summary.pcpus[0].switches), (300, 0));
    let sampler = fed(Sampler::new(Duration::from_nanos(100)), &cast(), &records);
    let checker = fed(TraceChecker::new(), &cast(), &records);
    let samples: Vec<_> = sampler.finish().collect();
    assert_eq!(samples.len(), 3);
    assert!(
        samples
            .iter()
            .all(|s| s.domains[0].figures.gotten == 100 && s.domains[0].figures.executions == 0)
    );
    assert!(checker.finish().is_clean());
}

#[test]
fn a_mark_cuts_no_run_and_no_wait() {
    let vcpu = first(1);
    let change = |at, old, new| {
        let at = Instant::from_nanos(at);
        Record::runstate(at, PcpuId(0), vcpu, old, new)
    };
    use Runstate::{Blocked, Runnable, Running};
    let changes = [
        change(10, Blocked, Runnable),
        change(30, Runnable, Running),
        change(70, Running, Blocked),
    ];
    let plain = measure(Meter::new(), &cast(), &changes);
    let mut marked = vec![
        mark(10, 0, Blocked),
        changes[0],
        mark(20, 0, Runnable),
        changes[1],
    ];
    marked.extend([mark(50, 0, Running), changes[2], mark(70, 0, Blocked)]);
    assert_eq!(
        figures(measure(Meter::new(), &cast(), &marked)),
        figures(plain.clone())
    );
    let total = plain.domain(DomainId(1)).unwrap().total;
    assert_eq!(
        (total.runs.max, total.wake_to_run.max),
        (Some(40), Some(20))
    );
    // What began before the first mark has no known length.
    let begun = measure(Meter::new(), &cast(), &[mark(40, 0, Running), changes[2]]);
    let total = begun.domain(DomainId(1)).unwrap().total;
    assert_eq!((total.running, total.runs.count), (30, 0));
}

#[test]
fn a_mark_that_contradicts_is_found() {
    let records = [
        mark(10, 0, Runstate::Blocked),
        mark(20, 0, Runstate::Running),
    ];
    let checker = fed(TraceChecker::new(), &cast(), &records);
    assert_eq!(checker.finish().total, 1);
    let total = measure(Meter::new(), &cast(), &records).domains[0].total;
    assert_eq!((total.unknown, total.blocked), (10, 0));
}
