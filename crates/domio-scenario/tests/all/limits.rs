//! Limits of rings, queues and batches (xen-spec 6.2, 6.3), seen in the records of whole hosts:
//! where somebody is paused, what he does not take piles up to the limit and no further.

use crate::told::{Told, run};
use domio_core::{DomainId, Instant, Kind, VcpuName};
use domio_net::class::NetPlace::{self, Card, DriverIn, DriverOut, Outside, RxRing, TxRing};
use std::collections::BTreeMap;

/// The vcpu of the driver domain.
const DRIVER: VcpuName = VcpuName::new(DomainId(0), 0);

/// A driver domain and guests, one of whom is paused at half a second, before any flow begins.
fn text(who: &str, more: &str, guests: &str) -> String {
    format!(
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
    )
}

/// What happens there.
fn paused(who: &str, more: &str, guests: &str) -> Vec<Told> {
    run(&text(who, more, guests))
}

fn at_ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// How many packets are at `place` after all of `records`.
fn held(records: &[Told], place: NetPlace) -> i64 {
    let moves = records.iter().filter_map(Told::places);
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

/// A guest that is paused before 2000 packets a second come to it.
const TAKES_NOTHING: &str = r#"
    [[domain]]
    name = "receives"
      [[domain.task]]
      workload = "udp"
      begin_s = 0.6
      pps = 2000
      bytes = 100
    "#;

#[test]
fn a_guest_that_takes_nothing_has_45_packets_in_its_ring_and_32_that_wait() {
    // Of the 64 buffers that it posts when it boots netback keeps 19: one less than the 20 that the
    // largest packet may need. It boots once, however many vcpus it has.
    for vcpus in ["", "vcpus = 4"] {
        let name = "name = \"receives\"";
        let guest = TAKES_NOTHING.replacen(name, &format!("{name}\n{vcpus}"), 1);
        let records = paused("receives", "", &guest);
        let second = |r: &&Told| r.at < at_ms(1_000);
        let records: Vec<Told> = records.iter().filter(second).copied().collect();
        assert_eq!(held(&records, RxRing), 45, "{vcpus}");
        assert_eq!(held(&records, DriverIn), 32, "{vcpus}");
    }
}

#[test]
fn without_a_queue_a_packet_that_finds_no_buffer_is_dropped() {
    // Netback of 3.0 fills all 64 buffers, and that of 3.0.3 leaves 19. Neither has a queue.
    for (release, filled) in [("3.0", 64), ("3.0.3", 45)] {
        let text = text("receives", "", TAKES_NOTHING).replacen("3.1", release, 1);
        let records = run(&text.replacen("\"credit\"", "\"sedf\"", 1));
        let second = |r: &&Told| r.at < at_ms(1_000);
        let records: Vec<Told> = records.iter().filter(second).copied().collect();
        assert_eq!(held(&records, RxRing), filled, "{release}");
        assert_eq!(held(&records, DriverIn), 0, "{release}");
    }
}

#[test]
fn a_queue_that_stood_still_for_500_ms_goes_on_and_what_does_not_fit_is_dropped() {
    let more = r#"
        [[action]]
        at_s = 1.7
        do = "unpause"
        domain = "receives"
        "#;
    let records = paused("receives", more, TAKES_NOTHING);
    let full = records
        .iter()
        .filter(|r| r.places() == Some((DriverIn, RxRing)))
        .nth(44);
    // It stops with the packet that takes the 45th buffer, which comes to the ring a batch later.
    let full = full.expect("45 of them").at.as_nanos() / 1_000;
    let dropped = |r: &&Told| r.places() == Some((DriverIn, Outside));
    let drops: Vec<u64> = records
        .iter()
        .filter(dropped)
        .map(|r| r.at.as_nanos() / 1_000)
        .collect();
    // One each 500 us until then, since the queue is full; then the 32 of the queue at once; then
    // each, since the ring is full.
    let expires = full + 500_000;
    let before = drops.iter().filter(|at| **at < expires - 1_000).count();
    assert!((965..970).contains(&before), "{before}");
    let queue = |at: &&u64| (expires - 1_000..expires + 1_000).contains(*at);
    let queue = drops.iter().filter(queue).count();
    assert!((34..38).contains(&queue), "{queue}");
    let until = |ms: u64| -> Vec<Told> {
        let before = |r: &&Told| r.at < at_ms(ms);
        records.iter().filter(before).copied().collect()
    };
    assert_eq!(held(&until(1_600), DriverIn), 0);
    assert_eq!(held(&until(1_600), RxRing), 45);
    // The guest posts buffers again, and the next packets arrive.
    let last = drops.last().expect("some").div_ceil(1_000);
    assert_eq!(last, 1_700);
    assert_eq!(held(&records, RxRing) + held(&records, DriverIn), 0);
}

#[test]
fn a_queue_that_goes_on_in_time_drops_nothing() {
    let guest = TAKES_NOTHING.replacen("pps = 2000", "pps = 200", 1);
    // 45 packets in 225 ms, 30 more in the queue until 0.975 s.
    let more = r#"
        [[action]]
        at_s = 0.975
        do = "unpause"
        domain = "receives"
        "#;
    let records = paused("receives", more, &guest);
    let dropped = |r: &&Told| r.places() == Some((DriverIn, Outside));
    assert_eq!(records.iter().filter(dropped).count(), 0);
    let waited = |r: &&Told| r.at < at_ms(975);
    let before: Vec<Told> = records.iter().filter(waited).copied().collect();
    assert_eq!((held(&before, RxRing), held(&before, DriverIn)), (45, 30));
}

#[test]
fn a_guest_posts_64_buffers_however_many_packets_come() {
    // Netback leaves it 19 each time, more than the quarter at which it would post more.
    let again = r#"
        [[action]]
        at_s = AT
        do = "unpause"
        domain = "receives"
        [[action]]
        at_s = AGAIN
        do = "pause"
        domain = "receives"
        "#;
    let mut more = String::new();
    let guest = TAKES_NOTHING.replacen("pps = 2000", "pps = 4000", 1);
    for (at, then) in [("0.8", "0.802"), ("1.1", "1.102"), ("1.4", "1.402")] {
        let times = again.replacen("AT", at, 1);
        more += &times.replacen("AGAIN", then, 1);
        // Fewer by those whose place it had not filled yet when it was paused.
        let posted = held(&paused("receives", &more, &guest), RxRing);
        assert!((45 - 32..=45).contains(&posted), "{posted}");
    }
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
    for record in &records {
        if record.places() == Some((DriverIn, RxRing)) {
            *batches.entry(record.at).or_default() += 1;
        }
    }
    assert_eq!(batches.values().max(), Some(&238));
}

/// Domain-0, whose card is `nic`, is paused while packets go `direction` between the remote host
/// and three guests, the second's first, then the third's, `pps` a second of each. It comes back
/// at 0.9 s.
fn three_guests(direction: &str, pps: u32, nic: &str) -> Vec<Told> {
    let guest = |name: &str, begin: &str| {
        format!(
            r#"
            [[domain]]
            name = "{name}"
              [[domain.task]]
              workload = "udp"
              direction = "{direction}"
              begin_s = {begin}
              pps = {pps}
              bytes = 100
            "#
        )
    };
    let guests = guest("first", "0.62") + &guest("second", "0.60") + &guest("third", "0.61");
    let more = r#"
        [[action]]
        at_s = 0.9
        do = "unpause"
        domain = "Domain-0"
        "#;
    let network = format!("[network]\nnic = {nic:?}");
    run(&text("Domain-0", more, &guests).replacen("[network]", &network, 1))
}

/// The guests that Domain-0 notifies first in `records`, three times.
fn told<'a>(records: impl Iterator<Item = &'a Told>) -> Vec<u16> {
    let sends = |r: &&Told| r.is(Kind::EvtchnSend) && r.other == Some(DRIVER);
    let guests = records.filter(sends).map(|r| r.domain());
    guests.take(3).collect()
}

#[test]
fn guests_of_a_batch_are_told_last_first() {
    let records = three_guests("in", 20, "plain");
    let batch = records
        .iter()
        .position(|r| r.places() == Some((DriverIn, RxRing)));
    let rest = &records[batch.expect("packets come through")..];
    let batch = rest.iter().take_while(|r| r.at == rest[0].at);
    let moved = batch.filter(|r| r.places() == Some((DriverIn, RxRing)));
    let mut order: Vec<u16> = Vec::new();
    for guest in moved.map(|r| r.domain()) {
        if !order.contains(&guest) {
            order.push(guest);
        }
    }
    assert_eq!(order, [2, 3, 1], "in the order in which packets came");
    assert_eq!(told(rest.iter()), [1, 3, 2]);
}

#[test]
fn guests_are_told_that_their_packets_left_in_the_order_in_which_they_did() {
    // Domain-0 comes back to three pending ports, which it looks at in their order; its card tells
    // of all three packets at once.
    let records = three_guests("out", 2, "tg3");
    let since = records.iter().skip_while(|r| r.at <= at_ms(900));
    assert_eq!(told(since), [1, 2, 3]);
}

#[test]
fn a_guest_that_has_sent_three_packets_hears_when_two_are_answered() {
    // Netfront asks for half of what is under way whenever it has sent, not only when it was told.
    let guest = r#"
        [[domain]]
        name = "sends"
          [[domain.task]]
          workload = "udp"
          direction = "out"
          begin_s = 0.6
          pps = 10
          bytes = 1000
        "#;
    let more = r#"
        [[action]]
        at_s = 0.85
        do = "unpause"
        domain = "Domain-0"
        "#;
    let records = paused("Domain-0", more, guest);
    let since = records.iter().skip_while(|r| r.at < at_ms(850));
    let sent = since.filter(|r| r.is(Kind::EvtchnSend));
    // Each packet that has left makes the card interrupt Domain-0, which answers it.
    let interrupts = sent.take_while(|r| r.domain() == 0).count();
    assert_eq!(interrupts, 2);
}

/// Two guests that send `pps` packets a second each, over a line that takes one in 0.67 s; the
/// driver domain is paused from 0.5 s to `until`.
fn sends_into_a_slow_line(pps: u32, until: &str) -> Vec<Told> {
    let guests = format!(
        r#"
        [[domain]]
        name = "sends"
        count = 2
          [[domain.task]]
          workload = "udp"
          direction = "out"
          begin_s = 0.6
          pps = {pps}
          bytes = 100
        "#
    );
    let more = format!(
        r#"
        [[action]]
        at_s = {until}
        do = "unpause"
        domain = "Domain-0"
        "#
    );
    let text = text("Domain-0", &more, &guests).replacen("queue = 5000", "rate = \"2000\"", 1);
    run(&text)
}

/// How many packets netback took from each guest in so many milliseconds.
fn taken(records: &[Told], until: u64) -> BTreeMap<u16, u32> {
    let mut taken = BTreeMap::new();
    for record in records.iter().filter(|r| r.at < at_ms(until)) {
        if record.places() == Some((TxRing, DriverOut)) {
            *taken.entry(record.domain()).or_default() += 1;
        }
    }
    taken
}

#[test]
fn all_guests_share_256_pending_packets_and_18_stay_free_for_the_largest() {
    // Both rings are full when the driver domain looks. What the first guest's interrupt leaves for
    // later runs before the second's is entered, and takes everything.
    let records = sends_into_a_slow_line(2_000, "1");
    assert_eq!(taken(&records, 1_600), [(1, 236)].into());
    // When one packet has left, 235 are pending, and three more may be.
    assert_eq!(taken(&records, 2_000), [(1, 236), (2, 3)].into());
}

#[test]
fn from_128_pending_packets_on_an_interrupt_starts_no_batch() {
    // Each packet has an interrupt to itself.
    let records = sends_into_a_slow_line(150, "0.55");
    let taken = taken(&records, 1_200);
    assert_eq!(taken.values().sum::<u32>(), 128, "{taken:?}");
}

/// What the driver domain does that gets more packets from its card than it can handle, and has
/// some of its guests' besides.
fn swamped() -> Vec<Told> {
    let guests = r#"
        [[domain]]
        name = "receives"
        count = 8
          [[domain.task]]
          workload = "udp"
          begin_s = 0.6
          pps = 50000
          bytes = 100
        [[domain]]
        name = "sends"
        count = 2
          [[domain.task]]
          workload = "udp"
          direction = "out"
          begin_s = 0.6
          pps = 2000
          bytes = 100
        "#;
    let more = r#"
        [[action]]
        at_s = 0.8
        do = "unpause"
        domain = "Domain-0"
        "#;
    let text = text("Domain-0", more, guests).replacen("duration_s = 2", "duration_s = 1", 1);
    run(&text.replacen("queue = 5000", "nic = \"e1000\"", 1))
}

#[test]
fn the_card_and_the_guests_take_turns_of_64_packets_and_a_round_has_300() {
    let (mut turn, mut round) = (0, 0);
    let (mut turns, mut rounds) = (BTreeMap::new(), BTreeMap::new());
    for record in swamped().iter().filter(|r| r.at > at_ms(800)) {
        match record.places() {
            Some((DriverOut, Outside)) => (turn, round) = (turn + 1, round + 1),
            // The card has more, always: the guests' turn is over.
            Some((Card, DriverIn)) => {
                *turns.entry(std::mem::take(&mut turn)).or_insert(0) += 1;
                round += 1;
            }
            // A tasklet runs, so the round is over.
            Some((DriverIn, RxRing) | (TxRing, DriverOut)) if round > 0 => {
                *rounds.entry(std::mem::take(&mut round)).or_insert(0) += 1;
            }
            _ => {}
        }
    }
    assert_eq!(turns.keys().max(), Some(&64), "{turns:?}");
    // Where no packet finds a buffer, no tasklet runs, and several rounds look like one.
    let whole = rounds.keys().all(|n| n % 300 == 0);
    let count: u32 = rounds.iter().map(|(n, times)| n / 300 * times).sum();
    assert!(
        whole && rounds.contains_key(&300) && count > 50,
        "{rounds:?}"
    );
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
                assert_eq!(record.other, Some(DRIVER));
                let wait = record.value("time");
                assert!(wait <= u32::MAX.into(), "{wait} ns");
                until = record.at + domio_core::Duration::from_nanos(wait);
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
