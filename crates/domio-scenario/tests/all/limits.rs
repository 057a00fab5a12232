//! Limits of rings, queues and batches (xen-spec 6.2, 6.3), seen in the records of whole hosts:
//! where somebody is paused, what he does not take piles up to the limit and no further.

use crate::network::run;
use domio_core::NetPlace::{self, DriverIn, RxRing, TxRing};
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
