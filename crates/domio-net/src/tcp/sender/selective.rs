//! What a sender does with selective acknowledgements, by figures worked out from the rules.

use super::super::Control;
use super::tests::{MSS, ack, at, drain, open};
use super::*;
use crate::packet::Sack;
use alloc::vec;
use alloc::vec::Vec;

/// An open connection whose other end says what comes early, with `segments` under way since
/// `at(20)`, the first of which is number `n(0)`.
fn under_way(control: Control, segments: u32) -> Sender {
    let config = TcpConfig {
        control,
        initial_window: segments,
        ..TcpConfig::default()
    };
    let mut sender = open(config, 1 << 20);
    sender.select();
    sender.write(200 * MSS);
    assert_eq!(drain(&mut sender, at(20)).len() as u32, segments);
    sender
}

/// First number of segment `index`.
fn n(index: u64) -> u64 {
    1 + index * MSS
}

/// At `now` everything before segment `before` is acknowledged, and the segments of `blocks`, each
/// from the first to before the last.
fn told(sender: &mut Sender, now: Instant, before: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
    let numbers = blocks.iter().map(|&(from, to)| (n(from), n(to)));
    let segment = Segment {
        sack: Sack::new(n(before), numbers),
        ..ack(now, n(before), 1 << 20)
    };
    let told = sender.acknowledge(now, &segment);
    assert!(!told.retransmit, "the scoreboard knows what to send again");
    let pieces = drain(sender, now).into_iter();
    pieces.map(|(seq, _)| (seq - 1) / MSS).collect()
}

#[test]
fn three_segments_may_be_overtaken() {
    let mut sender = under_way(Control::Reno, 20);
    assert_eq!(
        told(&mut sender, at(30), 0, &[(1, 2)]),
        [20],
        "one has left"
    );
    assert_eq!(told(&mut sender, at(30), 0, &[(1, 3)]), [21]);
    assert_eq!(sender.fast_retransmits, 0);
    assert_eq!(
        told(&mut sender, at(30), 0, &[(1, 4)]),
        [0],
        "the fourth is there"
    );
    assert_eq!(
        (sender.fast_retransmits, sender.congestion().threshold()),
        (1, 10)
    );
}

#[test]
fn all_that_a_burst_has_lost_is_sent_again_in_a_round_trip() {
    let mut sender = under_way(Control::Bic, 20);
    // 5 to 9 are lost, 10 to 19 have arrived. 8 and 9 may still come, but for the next one.
    let blocks = |to| [(10, to)];
    assert_eq!(told(&mut sender, at(30), 5, &blocks(11)), [5]);
    assert_eq!(sender.congestion().threshold(), 15, "819 of 1024");
    let mut again = vec![5];
    for to in 12..=20 {
        again.extend(told(&mut sender, at(30), 5, &blocks(to)));
    }
    assert_eq!(again, [5, 6, 7, 8, 9, 20, 21, 22, 23, 24]);
    assert_eq!((sender.retransmitted, sender.fast_retransmits), (5, 1));
    // Everything has arrived.
    told(&mut sender, at(40), 20, &[]);
    assert!(!sender.congestion().in_recovery());
    assert!(sender.congestion().window() <= 15);
}

#[test]
fn a_timeout_sends_nothing_again_that_has_arrived() {
    let mut sender = under_way(Control::Reno, 6);
    // Too little has arrived to conclude a loss.
    assert_eq!(told(&mut sender, at(30), 1, &[(2, 3)]), [6, 7]);
    assert_eq!(sender.expire(at(400)), Expired::Retransmit);
    assert_eq!(drain(&mut sender, at(400)), [(n(1), MSS as u16)]);
    assert_eq!(told(&mut sender, at(410), 3, &[]), [3, 4]);
    assert_eq!(told(&mut sender, at(420), 5, &[(6, 8)]), [5, 8, 9]);
}

#[test]
fn a_new_loss_is_found_once_all_is_there_that_was_sent_before() {
    let mut sender = under_way(Control::Reno, 20);
    told(&mut sender, at(30), 0, &[(1, 11)]);
    assert_eq!(sender.fast_retransmits, 1);
    let sent = (sender.last() - 1) / MSS;
    told(&mut sender, at(40), 11, &[(12, 18)]);
    assert_eq!(sender.fast_retransmits, 1, "the same recovery");
    told(&mut sender, at(50), sent, &[]);
    assert!(!sender.congestion().in_recovery());
    // The window is small after so many losses; it grows again.
    let mut acked = sent;
    for ms in 51..55 {
        acked = (sender.last() - 1) / MSS;
        told(&mut sender, at(ms), acked, &[]);
    }
    let behind = (sender.last() - 1) / MSS;
    assert!(behind > acked + 4, "{acked} to {behind}");
    told(&mut sender, at(60), acked, &[(acked + 1, behind)]);
    assert_eq!(sender.fast_retransmits, 2);
}
