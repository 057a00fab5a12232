//! Meter, explainer and sampler give one answer to one question, whichever part of a trace there
//! is; and what they say was so.

use crate::cast::fed;
use crate::common::{Random, host};
use domio_core::class::{Class, Declared, Field, Says, Unit};
use domio_core::{ActorId, Duration, Instant, Kind, Names, PcpuId, Record, Runstate, VcpuName};
use domio_meter::{Explainer, Figures, MapWindow, Meter, Sampler, Summary, Totals, TraceChecker};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Time in running, runnable, blocked and offline, and unknown time.
type Times = [u64; 5];

/// A part of a trace, of which a window of some pcpus is lost.
fn cut(records: &[Record], pcpus: u16, seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let n = records.len() as u64;
    let mut places: Vec<usize> = (0..4).map(|_| random.below(n) as usize).collect();
    places.sort_unstable();
    let [begin, lost, found, end] = places[..] else {
        unreachable!("four places");
    };
    let hit: Vec<bool> = (0..pcpus).map(|_| random.below(3) == 0).collect();
    let mut told = vec![false; usize::from(pcpus)];
    let mut kept = Vec::new();
    for (place, record) in records.iter().enumerate().take(end + 1).skip(begin) {
        let pcpu = record.pcpu;
        if !(lost..found).contains(&place) || !hit[pcpu.index()] {
            kept.push(*record);
        } else if !std::mem::replace(&mut told[pcpu.index()], true) {
            let words = [7, 0, 0, 0];
            kept.push(Record::with(
                record.at,
                pcpu,
                Kind::Lost,
                ActorId::NONE,
                words,
            ));
        }
    }
    kept
}

/// A policy that says of vcpus' own budgets what is left, and when they are filled up.
static RESERVES: Class = Class::new(
    "reserves",
    &[
        Declared::new(1, "burned", &[Field::long("left", 0, Unit::Nanoseconds)])
            .says(Says::Budget { left: 0 }),
        Declared::new(2, "filled", &[]).says(Says::Filled),
    ],
);

/// `records` with budgets of vcpus that are used up and filled up at any time.
fn with_budgets(names: &mut Names, records: Vec<Record>, seed: u64) -> Vec<Record> {
    let class = names.add_class(&RESERVES);
    let mut random = Random::new(seed);
    let actors = names.actors().len() as u64;
    let mut all = Vec::with_capacity(2 * records.len());
    for record in records {
        all.push(record);
        if random.below(3) == 0 {
            let number = 1 + random.below(2) as u8;
            let left = [0, random.below(2) as u32 * u32::MAX, 0, 0];
            let actor = ActorId(random.below(actors) as u32);
            let what = (class, number);
            all.push(Record::of(record.at, record.pcpu, what, actor, left));
        }
    }
    all
}

fn by_meter(summary: &Summary) -> BTreeMap<VcpuName, Times> {
    let vcpus = summary.domains.iter().flat_map(|d| &d.vcpus);
    let times = vcpus.map(|v| {
        let a = &v.account;
        let times = [a.running, a.runnable, a.blocked, a.offline, a.unknown];
        (v.name, times)
    });
    times.collect()
}

fn by_explainer(names: &Names, records: &[Record]) -> BTreeMap<VcpuName, Times> {
    let explained = fed(Explainer::new(MapWindow::Worst), names, records).finish();
    let times = explained.vcpus.iter().map(|v| {
        let offline = v.parked + v.paused;
        let times = [v.running, v.runnable(), v.blocked, offline, v.unknown];
        assert_eq!(times.iter().sum::<u64>(), v.seen);
        (v.name, times)
    });
    times.collect()
}

fn by_sampler(names: &Names, records: &[Record], interval: u64) -> BTreeMap<VcpuName, Times> {
    let sampler = Sampler::new(Duration::from_nanos(interval));
    let samples: Vec<_> = fed(sampler, names, records).finish().collect();
    let mut sums: BTreeMap<VcpuName, Figures> = BTreeMap::new();
    for part in Totals::of_trace(&samples).parts {
        sums.entry(part.vcpu).or_default().add(&part.figures);
    }
    let times = sums.into_iter().map(|(vcpu, f)| {
        let times = [
            f.gotten,
            f.waited,
            f.blocked,
            f.parked + f.paused,
            f.unknown,
        ];
        (vcpu, times)
    });
    times.collect()
}

/// Since when there is something to tell of a vcpu: since the trace began, or since its first
/// record, if it was offline or, for all that is known, somewhere else.
fn covered_since(names: &Names, records: &[Record], vcpu: VcpuName) -> Instant {
    let mut told: Vec<PcpuId> = Vec::new();
    for record in records {
        for (actor, old, _) in record.changes().into_iter().flatten() {
            if names.vcpu(actor) == Some(vcpu) {
                return match old {
                    Runstate::Offline => record.at,
                    _ => records[0].at,
                };
            }
        }
        if record.is(Kind::Continue) && names.vcpu(record.actor) == Some(vcpu) {
            return match told.contains(&record.pcpu) {
                true => record.at,
                false => records[0].at,
            };
        }
        let mut changes = record.changes().into_iter().flatten();
        let runs = |(_, old, new)| [old, new].contains(&Runstate::Running);
        if record.is(Kind::Continue) || changes.any(runs) {
            told.push(record.pcpu);
        }
    }
    unreachable!("a record tells of {vcpu:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn all_say_the_same_and_no_time_is_dropped(
        seed in any::<u64>(),
        how in any::<u64>(),
        pcpus in 1..5u16,
        interval in 1_000_000..400_000_000u64,
    ) {
        let (mut names, records) = host(seed, pcpus, 3 * pcpus, 300);
        let records = cut(&records, pcpus, how);
        let records = with_budgets(&mut names, records, seed ^ how);
        let summary = fed(Meter::new(), &names, &records).finish();
        let metered = by_meter(&summary);
        prop_assert_eq!(&by_sampler(&names, &records, interval), &metered);
        let mut guests = metered.clone();
        guests.retain(|vcpu, _| !vcpu.is_idle());
        prop_assert_eq!(by_explainer(&names, &records), guests);
        let end = records.last().unwrap().at;
        for (vcpu, times) in &metered {
            let since = covered_since(&names, &records, *vcpu);
            let covered = end.since(since).as_nanos();
            prop_assert_eq!(times.iter().sum::<u64>(), covered, "{:?} {:?}", vcpu, times);
        }
        if records.iter().all(|r| !r.is(Kind::Lost)) {
            prop_assert!(metered.values().all(|times| times[4] == 0));
        }
    }

    #[test]
    fn what_is_said_of_a_part_was_so(seed in any::<u64>(), how in any::<u64>(), pcpus in 1..5u16) {
        let (names, whole) = host(seed, pcpus, 3 * pcpus, 300);
        let records = cut(&whole, pcpus, how);
        let checked = fed(TraceChecker::new(), &names, &records).finish();
        prop_assert!(checked.is_clean(), "{}", checked.findings[0]);
        let said = by_meter(&fed(Meter::new(), &names, &records).finish());
        let (begin, end) = (records[0].at, records.last().unwrap().at);
        let true_times = fed(Meter::window(begin, end), &names, &whole).finish();
        let true_times = by_meter(&true_times);
        for (vcpu, times) in &said {
            let truth = true_times[vcpu];
            let total = end.since(begin).as_nanos();
            let left_out = total - times[..4].iter().sum::<u64>();
            for (state, (said, truth)) in times[..4].iter().zip(truth).enumerate() {
                prop_assert!(*said <= truth, "{:?} {state}: {said} of {truth}", vcpu);
                prop_assert!(truth <= *said + left_out, "{:?} {state}: {said} of {truth}", vcpu);
            }
        }
    }
}

#[test]
fn a_run_that_is_open_at_an_edge_counts() {
    let mut names = Names::new();
    let vcpu = names.add_actor(VcpuName::from_word(1 << 16));
    let other = names.add_actor(VcpuName::from_word(2 << 16));
    let (running, blocked) = (Runstate::Running, Runstate::Blocked);
    let at = Instant::from_nanos;
    let change = |ns, old, new| Record::runstate(at(ns), PcpuId(0), vcpu, old, new);
    let wake = |ns| Record::new(at(ns), PcpuId(1), Kind::Wake, other);
    let records = [
        wake(100),
        change(130, running, blocked),
        change(150, blocked, Runstate::Runnable),
        change(160, Runstate::Runnable, running),
        wake(200),
    ];
    let summary = fed(Meter::new(), &names, &records).finish();
    let times = by_meter(&summary);
    assert_eq!(
        times[&VcpuName::from_word(1 << 16)],
        [30 + 40, 10, 20, 0, 0]
    );
    assert_eq!((summary.start, summary.end), (at(100), at(200)));
    assert_eq!(summary.pcpus[0].busy, 70);
    assert_eq!(by_explainer(&names, &records), times);
    assert_eq!(by_sampler(&names, &records, 7), times);
}

#[test]
fn only_what_lost_records_may_hide_is_unknown() {
    let mut names = Names::new();
    let [a, b] = [1, 2].map(|domain| names.add_actor(VcpuName::from_word(domain << 16)));
    let (running, blocked) = (Runstate::Running, Runstate::Blocked);
    let at = Instant::from_nanos;
    let change = |ns, pcpu, v, old, new| Record::runstate(at(ns), PcpuId(pcpu), v, old, new);
    let records = [
        change(0, 0, a, Runstate::Runnable, running),
        change(0, 1, b, running, blocked),
        Record::with(at(40), PcpuId(0), Kind::Lost, ActorId::NONE, [3, 0, 0, 0]),
        // Both are told of after the gap, which ends at 60: `a` went on or came back.
        Record::new(at(60), PcpuId(0), Kind::Wake, b),
        change(75, 0, a, running, blocked),
        change(90, 1, b, blocked, Runstate::Runnable),
        change(100, 1, b, Runstate::Runnable, running),
    ];
    let times = by_meter(&fed(Meter::new(), &names, &records).finish());
    let of = |domain: u32| times[&VcpuName::from_word(domain << 16)];
    assert_eq!(of(1), [40 + 15, 0, 25, 0, 20]);
    assert_eq!(of(2), [0, 10, 40 + 30, 0, 20]);
    assert_eq!(by_explainer(&names, &records), times);
    assert_eq!(by_sampler(&names, &records, 9), times);
}
