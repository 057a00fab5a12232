//! What is to blame for the round trips of published cells.

use domio_core::{Acts, DomainId};
use domio_meter::{Cause, Explanation, ItemQueue, ItemWaits, Side};
use domio_papers::paper;
use domio_run::explain::explain;
use domio_scenario::NoReplay;

/// Burn x 7, ping x 1, the last guest to start, which is domain 8; for 30 seconds.
fn test3(configuration: &str) -> Explanation {
    let cell = format!("papers/ongaro2008/test3-{configuration}");
    let cell = paper::scenario(&cell, &domio_sched::policies().into())
        .unwrap()
        .unwrap();
    let cell = cell.with(&[("run.warmup_s", "2"), ("run.duration_s", "30")]);
    let built = cell.unwrap().replication(0).unwrap().build(&NoReplay);
    explain(&built.unwrap(), 0).unwrap()
}

fn packets(explanation: &Explanation, domain: u16) -> &ItemWaits {
    let mut items = explanation.items(DomainId(domain));
    items.find(|items| items.class.items == "packets").unwrap()
}

/// The part of `queues` in the time of the packets of the guest that is pinged.
fn part(explanation: &Explanation, queues: &[ItemQueue]) -> f64 {
    let packets = packets(explanation, 8);
    let times = packets.queues();
    let sum: u64 = queues.iter().filter_map(|q| times.get(q)).sum();
    sum as f64 / packets.total() as f64
}

const RUN_QUEUES: [ItemQueue; 2] = [
    ItemQueue::RunQueue(Side::Guest),
    ItemQueue::RunQueue(Side::Driver),
];

#[test]
fn in_test_3_the_scan_is_to_blame_and_without_any_option_the_run_queues_are() {
    let orig = test3("orig");
    let largest = packets(&orig, 8).largest_wait().unwrap().0;
    assert_eq!(largest, ItemQueue::Scan);
    assert!(part(&orig, &[ItemQueue::Scan]) > 0.9);

    let all_off = test3("all-off");
    let largest = packets(&all_off, 8).largest_wait().unwrap().0;
    assert!(RUN_QUEUES.contains(&largest), "{largest:?}");
    assert!(part(&all_off, &RUN_QUEUES) > 0.9);
    assert!(part(&all_off, &[ItemQueue::Scan]) < 0.01);
}

#[test]
fn the_seven_that_burn_share_the_blame() {
    let all_off = test3("all-off");
    let behind = packets(&all_off, 8).behind();
    let burn = (1..8).map(|d| behind.get(&Some(DomainId(d))).copied().unwrap_or(0));
    let (least, most) = burn.fold((u64::MAX, 0), |(a, b), t| (a.min(t), b.max(t)));
    assert!(least > 0 && most < 2 * least, "{behind:?}");
    let packets = packets(&all_off, 8);
    let unknown = packets.times.keys().filter(|(place, cause)| {
        packets.class.places[*place].acts == Acts::Nobody || *cause == Cause::Unknown
    });
    assert_eq!(unknown.count(), 0);
}
