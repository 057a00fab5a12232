//! Limits of rings, queues and batches (xen-spec 6.2, 6.3), seen in the records of whole hosts:
//! where somebody is paused, what he does not take piles up to the limit and no further.

use crate::network::run;
use domio_core::NetPlace::{self, DriverIn, DriverOut, RxRing, TxRing};
use domio_core::{Instant, Kind, Record};
use std::collections::BTreeMap;

/// A driver domain and guests, one of whom is paused at half a second, before any flow begins.
fn paused(who: &str, more: &str, guests: &str) -> Vec<Record> {
    let text = format!(
        r#"
        run.duration_s = 2
        host.xen = "3.1"
        host.profile = "opteron-242"
        scheduler.policy = "credit"
        [network]
        queue = 5000
        [[domain]]
        name = "Domain-0"
        {guests}
        [[action]]
        at_s = 0.5
        do = "pause"
        domain = "{who}"
        {more}
        "#
    );
    run(&text)
}

/// How many packets are at `place` after all of `records`.
fn held(records: &[Record], place: NetPlace) -> i64 {
    let moves = records.iter().filter_map(Record::places);
    let change =
        |(old, new): (NetPlace, NetPlace)| i64::from(new == place) - i64::from(old == place);
    moves.map(change).sum()
}

#[test]
fn a_guest_puts_236_packets_into_its_ring_and_no_more() {
    let guest = r#"
        [[domain]]
        name = "sends"
          [[domain.task]]
          workload = "udp"
          direction = "out"
          begin_s = 0.6
          pps = 2000
          bytes = 100
        "#;
    assert_eq!(held(&paused("Domain-0", "", guest), TxRing), 236);
}

#[test]
fn a_guest_that_takes_nothing_has_64_packets_in_its_ring_and_32_that_wait() {
    let guest = r#"
        [[domain]]
        name = "receives"
          [[domain.task]]
          workload = "udp"
          begin_s = 0.6
          pps = 2000
          bytes = 100
        "#;
    let records = paused("receives", "", guest);
    assert_eq!(held(&records, RxRing), 64);
    assert_eq!(held(&records, DriverIn), 32);
}

#[test]
fn a_batch_to_guests_has_at_most_238_packets() {
    let guests = r#"
        [[domain]]
        name = "receives"
        count = 8
          [[domain.task]]
          workload = "udp"
          begin_s = 0.6
          pps = 8000
          bytes = 100
        "#;
    let more = r#"
        [[action]]
        at_s = 1.0
        do = "unpause"
        domain = "Domain-0"
        "#;
    let records = paused("Domain-0", more, guests);
    let mut batches: BTreeMap<Instant, u32> = BTreeMap::new();
    for record in records.iter().filter(|r| r.kind == Kind::NetMove) {
        if record.places() == Some((DriverIn, RxRing)) {
            *batches.entry(record.at).or_default() += 1;
        }
    }
    assert_eq!(batches.values().max(), Some(&238));
}

#[test]
fn what_a_rate_holds_back_is_told_with_the_time_until_there_is_more() {
    // 62500 bytes each 50 ms are 48 packets of 1278 bytes, all of which wait.
    let text = r#"
        run.duration_s = 1
        scheduler.policy = "credit"
        [network]
        [[domain]]
        name = "Domain-0"
        [[domain]]
        name = "limited"
        vif.rate = "10Mb/s"
          [[domain.task]]
          workload = "udp"
          direction = "out"
          begin_s = 0
          pps = 5000
          bytes = 1236
        "#;
    let records = run(text);
    let mut until = Instant::ZERO;
    let mut sent = Vec::new();
    for record in &records {
        match record.places() {
            Some((TxRing, TxRing)) => {
                assert!(until <= record.at, "told twice, at {}", record.at);
                let [_, driver, low, high] = record.data;
                assert_eq!((driver, high), (0, 0), "the driver domain is d0v0");
                until = record.at + domio_core::Duration::from_nanos(low.into());
                sent.push(0);
            }
            Some((TxRing, DriverOut)) => {
                assert!(until <= record.at, "sent at {}", record.at);
                sent.last_mut().into_iter().for_each(|n| *n += 1);
            }
            _ => {}
        }
    }
    sent.pop();
    assert!(sent.len() > 15, "{}", sent.len());
    assert_eq!(sent, vec![48; sent.len()]);
}
