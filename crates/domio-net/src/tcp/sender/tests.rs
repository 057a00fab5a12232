//! What is sent when, by figures worked out from the rules.

use super::*;
use crate::packet::Sack;
use alloc::vec::Vec;
use domio_core::Duration;

pub const MSS: u64 = 1_448;
const RTT: Duration = Duration::from_millis(10);

pub fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// An open connection after one round trip, with nothing written and this window of the other
/// end.
pub fn open(config: TcpConfig, window: u32) -> Sender {
    let mut sender = Sender::new(&config);
    sender.syn(Instant::ZERO);
    sender.acknowledge(Instant::ZERO + RTT, &ack(Instant::ZERO + RTT, 1, window));
    assert_eq!(sender.deadline(), None);
    sender
}

/// An acknowledgement that comes at `now`, a round trip after what it answers.
pub fn ack(now: Instant, ack: u64, window: u32) -> Segment {
    Segment {
        seq: 1,
        ack,
        window,
        len: 0,
        flags: Flags::ACK,
        sent: now,
        echo: Instant::ZERO + now.since(Instant::ZERO).saturating_sub(RTT),
        sack: Sack::NONE,
    }
}

/// Everything that may go out at `now`, as first number and length.
pub fn drain(sender: &mut Sender, now: Instant) -> Vec<(u64, u16)> {
    let mut pieces = Vec::new();
    while let Some(piece) = sender.next(now) {
        pieces.push((piece.seq, piece.len));
    }
    sender.settle(now);
    pieces
}

#[test]
fn the_first_window_is_three_segments() {
    let mut sender = open(TcpConfig::default(), 65_535);
    assert_eq!(sender.write(10_000), 10_000);
    let expected = [(1, 1_448), (1 + MSS, 1_448), (1 + 2 * MSS, 1_448)];
    assert_eq!(drain(&mut sender, at(10)), expected);
    // Round trip 10 ms, and Linux's least margin.
    assert_eq!(sender.deadline(), Some(at(10 + 210)));
}

#[test]
fn the_send_buffer_takes_what_it_holds() {
    let config = TcpConfig {
        send_buffer: 3_000,
        ..TcpConfig::default()
    };
    let mut sender = open(config, 65_535);
    assert_eq!((sender.write(2_000), sender.write(2_000)), (2_000, 1_000));
    drain(&mut sender, at(10));
    assert_eq!(sender.write(1), 0, "what is under way is still buffered");
    sender.acknowledge(at(20), &ack(at(20), 1 + MSS, 65_535));
    assert_eq!(sender.write(2_000), MSS);
}

#[test]
fn small_segments_wait_for_acknowledgements_unless_told_otherwise() {
    let mut nagle = open(TcpConfig::default(), 65_535);
    nagle.write(100);
    assert_eq!(drain(&mut nagle, at(10)), [(1, 100)]);
    nagle.write(100);
    assert_eq!(drain(&mut nagle, at(10)), []);
    nagle.acknowledge(at(20), &ack(at(20), 101, 65_535));
    assert_eq!(drain(&mut nagle, at(20)), [(101, 100)]);
    let config = TcpConfig {
        nodelay: true,
        ..TcpConfig::default()
    };
    let mut nodelay = open(config, 65_535);
    nodelay.write(100);
    drain(&mut nodelay, at(10));
    nodelay.write(100);
    assert_eq!(drain(&mut nodelay, at(10)), [(101, 100)]);
}

#[test]
fn a_timeout_goes_back_to_the_first_unacknowledged() {
    let mut sender = open(TcpConfig::default(), 65_535);
    sender.write(5 * MSS);
    drain(&mut sender, at(10));
    assert_eq!(sender.expire(at(219)), Expired::Nothing, "too early");
    assert_eq!(sender.expire(at(220)), Expired::Retransmit);
    assert_eq!(drain(&mut sender, at(220)), [(1, 1_448)], "one segment");
    assert_eq!(sender.deadline(), Some(at(220 + 420)), "twice as long");
    assert_eq!((sender.timeouts, sender.retransmitted), (1, 1));
    // The other end had the second and third: they are skipped.
    let told = sender.acknowledge(at(230), &ack(at(230), 1 + 3 * MSS, 65_535));
    assert_eq!((told.fresh, told.retransmit), (3 * MSS, false));
    assert_eq!(
        drain(&mut sender, at(230)),
        [(1 + 3 * MSS, 1_448), (1 + 4 * MSS, 1_448)]
    );
}

#[test]
fn what_a_timestamp_tells_is_measured() {
    let mut sender = open(TcpConfig::default(), 65_535);
    sender.write(2 * MSS);
    drain(&mut sender, at(10));
    sender.expire(at(220));
    drain(&mut sender, at(220));
    // It answers what was sent again at 220 ms: a round trip of 90 ms, not of 300.
    let again = Segment {
        echo: at(220),
        ..ack(at(310), 1 + MSS, 65_535)
    };
    sender.acknowledge(at(310), &again);
    assert_eq!(sender.rto().srtt(), Some(Duration::from_millis(20)));
    assert_eq!(sender.undone, 0);
}

/// A sender whose window of 40 segments is under way since `at(20)`, and whose timer then expired
/// at `at(500)`: the first of them went out again.
fn after_a_timeout() -> Sender {
    let config = TcpConfig {
        initial_window: 40,
        ..TcpConfig::default()
    };
    let mut sender = open(config, 1_000_000);
    sender.write(100 * MSS);
    assert_eq!(drain(&mut sender, at(20)).len(), 40);
    assert_eq!(sender.expire(at(500)), Expired::Retransmit);
    assert_eq!(drain(&mut sender, at(500)).len(), 1);
    assert_eq!(sender.congestion().threshold(), 20);
    sender
}

#[test]
fn a_needless_timeout_is_undone() {
    let mut sender = after_a_timeout();
    let late = Segment {
        echo: at(20),
        ..ack(at(510), 1 + 2 * MSS, 1_000_000)
    };
    sender.acknowledge(at(510), &late);
    assert_eq!(sender.undone, 1);
    // 38 are under way and the window is the old one: nothing is sent again.
    let next: Vec<u64> = drain(&mut sender, at(510)).iter().map(|p| p.0).collect();
    assert_eq!(next, [40, 41].map(|n| 1 + n * MSS));
    assert_eq!(
        (sender.retransmitted, sender.congestion().threshold()),
        (1, u32::MAX)
    );
    assert_eq!(sender.congestion().steady_window(), 40);
}

#[test]
fn a_timeout_that_was_needed_is_not_undone() {
    let mut sender = after_a_timeout();
    let answer = Segment {
        echo: at(500),
        ..ack(at(510), 1 + 2 * MSS, 1_000_000)
    };
    sender.acknowledge(at(510), &answer);
    assert_eq!((sender.undone, sender.congestion().threshold()), (0, 20));
    assert_eq!(drain(&mut sender, at(510))[0].0, 1 + 2 * MSS);
    // What comes now with an old timestamp does not change that.
    let late = Segment {
        echo: at(20),
        ..ack(at(520), 1 + 3 * MSS, 1_000_000)
    };
    sender.acknowledge(at(520), &late);
    assert_eq!((sender.undone, sender.congestion().threshold()), (0, 20));
}

#[test]
fn a_timeout_is_undone_after_several_more() {
    let mut sender = after_a_timeout();
    let deadline = sender.deadline().unwrap();
    assert_eq!(sender.expire(deadline), Expired::Retransmit);
    assert_eq!(drain(&mut sender, deadline).len(), 1);
    let now = deadline + RTT;
    let late = Segment {
        echo: at(20),
        ..ack(now, 1 + 40 * MSS, 1_000_000)
    };
    sender.acknowledge(now, &late);
    assert_eq!(
        (sender.undone, sender.congestion().threshold()),
        (1, u32::MAX)
    );
    // Nothing is under way: no burst.
    assert_eq!(drain(&mut sender, now).len(), 3);
}

#[test]
fn duplicates_need_the_same_window_and_no_data() {
    let mut sender = open(TcpConfig::default(), 65_535);
    sender.write(3 * MSS);
    drain(&mut sender, at(10));
    let retransmits = |sender: &mut Sender, segment: Segment| {
        let told: Vec<bool> = (0..3)
            .map(|_| sender.acknowledge(at(20), &segment).retransmit)
            .collect();
        told
    };
    let data = Segment {
        len: 10,
        ..ack(at(20), 1, 65_535)
    };
    assert_eq!(retransmits(&mut sender, data), [false; 3]);
    assert!(
        !sender
            .acknowledge(at(20), &ack(at(20), 1, 70_000))
            .retransmit,
        "update"
    );
    assert_eq!(
        retransmits(&mut sender, ack(at(20), 1, 70_000)),
        [false, false, true]
    );
    let piece = sender.retransmit(at(20));
    assert_eq!((piece.seq, piece.len), (1, 1_448));
}

#[test]
fn each_loss_of_a_window_is_sent_again_in_its_round_trip() {
    let config = TcpConfig {
        initial_window: 10,
        ..TcpConfig::default()
    };
    let mut sender = open(config, 65_535);
    sender.write(10 * MSS);
    assert_eq!(drain(&mut sender, at(10)).len(), 10);
    // The first and the fifth are lost.
    let told: Vec<bool> = (0..8)
        .map(|_| {
            sender
                .acknowledge(at(20), &ack(at(20), 1, 65_535))
                .retransmit
        })
        .collect();
    assert_eq!(told.iter().position(|again| *again), Some(2));
    assert_eq!(sender.retransmit(at(20)).seq, 1);
    assert!(
        sender
            .acknowledge(at(30), &ack(at(30), 1 + 4 * MSS, 65_535))
            .retransmit
    );
    assert_eq!(sender.retransmit(at(30)).seq, 1 + 4 * MSS);
    assert!(
        !sender
            .acknowledge(at(40), &ack(at(40), 1 + 10 * MSS, 65_535))
            .retransmit
    );
    assert_eq!((sender.fast_retransmits, sender.timeouts), (1, 0));
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_ignored() {
    let mut sender = open(TcpConfig::default(), 65_535);
    sender.write(MSS);
    drain(&mut sender, at(10));
    let told = sender.acknowledge(at(20), &ack(at(20), 2 + MSS, 65_535));
    assert_eq!((told.fresh, sender.buffered()), (0, MSS));
}

#[test]
fn a_closed_window_is_probed_ever_more_seldom() {
    let mut sender = open(TcpConfig::default(), 2 * 1_448);
    sender.write(5 * MSS);
    assert_eq!(drain(&mut sender, at(10)).len(), 2);
    sender.acknowledge(at(20), &ack(at(20), 1 + 2 * MSS, 0));
    assert_eq!(drain(&mut sender, at(20)), []);
    let mut now = at(20);
    for wait in [210, 420, 840] {
        // Round trips of 10 ms with deviation falling to 3.75 ms: the margin stays 200 ms.
        let deadline = sender.deadline().expect("a probe is due");
        assert_eq!(deadline.since(now), Duration::from_millis(wait));
        now = deadline;
        let old = Piece {
            seq: 2 * MSS,
            len: 0,
            fin: false,
        };
        assert_eq!(sender.expire(now), Expired::Probe(old));
        sender.acknowledge(now, &ack(now, 1 + 2 * MSS, 0));
        assert_eq!(drain(&mut sender, now), []);
    }
    assert_eq!((sender.probes, sender.timeouts), (3, 0));
    sender.acknowledge(now, &ack(now, 1 + 2 * MSS, 65_535));
    assert_eq!(drain(&mut sender, now).len(), 3);
}

#[test]
fn a_window_that_is_nearly_closed_is_used_after_a_while() {
    let mut sender = open(TcpConfig::default(), 2 * 1_448);
    sender.write(5 * MSS);
    drain(&mut sender, at(10));
    sender.acknowledge(at(20), &ack(at(20), 1 + 2 * MSS, 100));
    assert_eq!(drain(&mut sender, at(20)), [], "no silly segment");
    let deadline = sender.deadline().expect("a probe is due");
    let little = Piece {
        seq: 1 + 2 * MSS,
        len: 100,
        fin: false,
    };
    assert_eq!(sender.expire(deadline), Expired::Probe(little));
    assert!(sender.deadline().is_some(), "it may get lost");
}
