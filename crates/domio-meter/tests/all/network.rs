//! What a meter tells of networks.

use domio_core::{DomainId, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuName};
use domio_meter::{Meter, Summary, SummaryJson};
use serde_json::json;

const MS: u64 = 1_000_000;

fn mark(at: u64, domain: u16) -> Record {
    let vcpu = VcpuName::new(DomainId(domain), 0);
    let blocked = Runstate::Blocked;
    Record::runstate(Instant::from_nanos(at), PcpuId(0), vcpu, blocked, blocked)
}

fn network(at: u64, kind: Kind, domain: u16, value: u64) -> Record {
    let vcpu = VcpuName::new(DomainId(domain), 0);
    let mut record = Record::new(Instant::from_nanos(at), PcpuId(0), kind, vcpu);
    record.data = [7, 0, value as u32, (value >> 32) as u32];
    record
}

/// A second in which domain 1 is delivered 5 and then 120 MB, and answers after 1, 2 and 6 ms.
fn records() -> Vec<Record> {
    vec![
        mark(0, 1),
        mark(0, 2),
        network(100 * MS, Kind::NetDelivered, 1, 5_000_000),
        network(200 * MS, Kind::NetReply, 1, MS),
        network(300 * MS, Kind::NetReply, 1, 6 * MS),
        network(600 * MS, Kind::NetDelivered, 1, 120_000_000),
        network(700 * MS, Kind::NetReply, 1, 2 * MS),
        mark(1_000 * MS, 1),
        mark(1_000 * MS, 2),
    ]
}

fn measure(mut meter: Meter, records: &[Record]) -> Summary {
    for record in records {
        meter.record(record);
    }
    meter.finish()
}

#[test]
fn bytes_and_round_trips_are_the_domains() {
    let summary = measure(Meter::new(), &records());
    let one = summary.domain(DomainId(1)).and_then(|d| d.network);
    let one = one.expect("the trace tells of its network");
    assert_eq!(one.delivered, 125_000_000);
    assert_eq!(summary.mbit_per_second(one.delivered), 1_000.0);
    let trips = one.round_trips;
    assert_eq!(
        (trips.count, trips.p50, trips.max),
        (3, Some(2 * MS), Some(6 * MS))
    );
    assert_eq!(trips.mean, Some(3e6));
    // Distances from the mean: 2, 1 and 3 ms.
    let sd = trips.sd.expect("there are samples");
    assert!((sd - (14.0_f64 / 3.0).sqrt() * 1e6).abs() < 1e-3, "{sd}");
    assert_eq!(summary.domain(DomainId(2)).and_then(|d| d.network), None);
}

#[test]
fn windows_make_the_whole() {
    let at = Instant::from_nanos(500 * MS);
    let begin = measure(Meter::window(Instant::ZERO, at), &records());
    let end = measure(Meter::window(at, Instant::MAX), &records());
    let of = |s: &Summary| s.domain(DomainId(1)).and_then(|d| d.network).expect("some");
    assert_eq!(
        (of(&begin).delivered, of(&begin).round_trips.count),
        (5_000_000, 2)
    );
    assert_eq!(
        (of(&end).delivered, of(&end).round_trips.count),
        (120_000_000, 1)
    );
}

#[test]
fn round_trips_give_way_to_a_histogram_as_other_samples_do() {
    let replies = (1..=1_000).map(|i| network(i * MS, Kind::NetReply, 1, i * MS));
    let replies: Vec<Record> = [mark(0, 1)].into_iter().chain(replies).collect();
    let summary = measure(Meter::new().exact_samples_max(100), &replies);
    let trips = summary.domains[0].network.expect("it answered").round_trips;
    assert!(!trips.exact);
    assert_eq!(trips.count, 1_000);
    let p50 = trips.p50.expect("there are samples") as f64;
    assert!((p50 / (501.0 * MS as f64) - 1.0).abs() < 0.001, "{p50}");
}

#[test]
fn a_damaged_trace_does_no_harm() {
    let huge = network(MS, Kind::NetDelivered, 40_000, u64::MAX);
    let reply = network(2 * MS, Kind::NetReply, 3, u64::MAX);
    let summary = measure(Meter::new(), &[huge, mark(0, 4), reply, huge]);
    let ids: Vec<u16> = summary.domains.iter().map(|d| d.id.0).collect();
    assert!(ids.is_sorted() && ids.len() == 3, "{ids:?}");
    assert_eq!(
        summary.domains[2].network.expect("told").delivered,
        u64::MAX
    );
}

#[test]
fn json_says_nothing_of_networks_that_are_not_there() {
    let json = json!(SummaryJson::new(
        &measure(Meter::new(), &records()),
        1_000_000_000
    ));
    let network = &json["domains"][0]["network"];
    assert_eq!(network["delivered_mbps"], json!(1_000.0));
    assert_eq!(network["replies"], json!(3));
    assert_eq!(network["round_trip_us"]["p50"], json!(2_000.0));
    assert!(json["domains"][1].get("network").is_none());
}
