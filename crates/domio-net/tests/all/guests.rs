//! Guests that ping each other, through the bridge of their driver domain.

use crate::site::*;
use crate::told::Records;
use domio_core::{DomainId, VcpuName};
use domio_net::class::NetRecord;
use domio_net::host::{FlowKind, NetworkConfig, StreamConfig};
use domio_net::icmp::{Pace, PingConfig};

/// Guest 1 pings guest 2 each 10 ms, guest 3 pings guest 1 each 20 ms; nobody pings guest 4.
fn pinging() -> NetworkConfig {
    let each = |every, to| {
        let config = PingConfig {
            pace: Pace::Every(ms(every)),
            ..PingConfig::default()
        };
        FlowKind::PingGuest(config, to)
    };
    let flows = [vec![each(10, 1)], vec![], vec![each(20, 0)], vec![]];
    let vifs = (1..).zip(&flows).map(|(id, flows)| vif(id, flows));
    card(0, vifs.collect())
}

/// Round trips of guest `id`, in ns.
fn round_trips(records: &Records, id: u16) -> Vec<u64> {
    let own = records.iter().filter(|record| {
        record.is_net(NetRecord::Reply) && record.vcpu == VcpuName::new(DomainId(id), 0)
    });
    own.map(|record| record.long()).collect()
}

#[test]
fn who_pings_has_the_round_trips_and_the_line_has_nothing() {
    let domains = (0..=4).map(|id| domain(id, 1)).collect();
    let simulation = after(1_000, 5, domains, &[pinging()]);
    let records = simulation.into_sink();
    records.are_true();
    let replies = [1, 2, 3, 4].map(|id| round_trips(&records, id));
    // The first requests go out at 5 ms, before all guests are up.
    assert!(
        (95..=100).contains(&replies[0].len()),
        "{}",
        replies[0].len()
    );
    assert!(
        (47..=50).contains(&replies[2].len()),
        "{}",
        replies[2].len()
    );
    assert!(replies[1].is_empty() && replies[3].is_empty());
    // Twice through the bridge: dom0, who is pinged, dom0, who pings. Nobody else wants to run.
    let all = replies.iter().flatten();
    assert!(all.clone().all(|ns| (20_000..200_000).contains(ns)));
}

#[test]
fn a_ping_ends_when_it_is_told_to() {
    let mut card = pinging();
    card.vifs[0].flows[0].stop = Some(ms(500));
    let domains = (0..=4).map(|id| domain(id, 1)).collect();
    let records = after(1_000, 5, domains, &[card]).into_sink();
    let replies = round_trips(&records, 1).len();
    assert!((46..=50).contains(&replies), "{replies}");
}

#[test]
#[should_panic(expected = "a flow has two guests")]
fn nobody_pings_itself() {
    let mut card = pinging();
    card.vifs[2].flows[0].kind = FlowKind::PingGuest(PingConfig::default(), 2);
    let domains = (0..=4).map(|id| domain(id, 1)).collect();
    after(10, 1, domains, &[card]);
}

/// Bytes that processes of guest `id` have read.
fn read(records: &Records, id: u16) -> u64 {
    let own = records.iter().filter(|record| {
        record.is_net(NetRecord::Delivered) && record.vcpu == VcpuName::new(DomainId(id), 0)
    });
    own.map(|record| record.long()).sum()
}

/// Guest 1 sends to guest 3, which sends to guest 2: who is sent to, reads, and nobody else.
#[test]
fn a_stream_between_guests_is_read_by_the_one_that_is_sent_to() {
    let to = |to| FlowKind::StreamGuest(StreamConfig::XEN_2_6_18, to);
    let flows = [vec![to(2)], vec![], vec![to(1)]];
    let vifs = (1..).zip(&flows).map(|(id, flows)| vif(id, flows));
    let card = card(0, vifs.collect());
    let mut domains: Vec<_> = (0..=3).map(|id| domain(id, 1)).collect();
    card.equip(0, &mut domains);
    let tasks = |id: usize| domains[id].vcpus[0].tasks.len();
    assert_eq!([0, 1, 2, 3].map(tasks), [0, 1, 1, 2]);
    let records = after(500, 5, domains, &[card]).into_sink();
    records.are_true();
    let [first, second, third] = [1, 2, 3].map(|id| read(&records, id));
    assert_eq!(first, 0);
    // A line of a gigabit would carry 62 MB.
    assert!(second > 5_000_000 && third > 5_000_000, "{second} {third}");
}
