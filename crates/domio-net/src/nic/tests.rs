//! A card alone: interrupts, rings, the bus and frames.

use super::*;
use crate::link::{LinkConfig, Rate};
use crate::packet::{Body, Flags, FlowId, MSS, Numbered, Sack, Segment, Station};
use alloc::vec::Vec;
use domio_core::Duration;

fn packet(seq: u32) -> Packet {
    Packet {
        from: Station(0),
        to: Station(1),
        flow: FlowId(0),
        body: Body::Udp(Numbered { seq, bytes: 1472 }),
    }
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn line() -> Direction {
    Direction::new(LinkConfig {
        rate: Rate::GBIT_1,
        latency: Duration::ZERO,
        queue: 0,
    })
}

#[test]
fn each_packet_restarts_the_timer_of_a_tg3() {
    let mut nic = Nic::new(NicConfig::TG3);
    // 3, 10 and 18 us: 20 us after the last one. The fourth comes too late for that.
    for (i, at) in [3, 10, 18].into_iter().enumerate() {
        nic.receive(us(at), packet(i as u32));
        assert_eq!(nic.interrupt_at(us(at)), Some(us(at + 20)));
    }
    assert_eq!(nic.interrupt_at(us(38)), Some(us(38)));
    nic.interrupt(us(38));
    nic.receive(us(39), packet(3));
    // The fourth, whose timer ends at 59 us, and three more, 18 us apart: 113 us.
    for (i, at) in [57, 75, 93].into_iter().enumerate() {
        nic.receive(us(at), packet(4 + i as u32));
    }
    assert_eq!(nic.interrupt_at(us(93)), Some(us(113)));
    // The fifth asks at once.
    nic.receive(us(99), packet(7));
    assert_eq!(nic.interrupt_at(us(99)), Some(us(99)));
}

#[test]
fn sent_packets_restart_their_timer_as_well() {
    let mut nic = Nic::new(NicConfig::TG3);
    let mut line = line();
    // Two leave at 12.304 and 24.608 us: 72 us after the second. One that leaves 80 us later
    // than that changes nothing.
    for seq in 0..2 {
        nic.transmit(us(0), packet(seq), &mut line).expect("room");
    }
    let asked = Instant::from_nanos(24_608) + Duration::from_micros(72);
    assert_eq!(nic.interrupt_at(us(0)), Some(asked));
    nic.transmit(us(92), packet(2), &mut line).expect("room");
    assert_eq!(nic.interrupt_at(us(92)), Some(asked));
}

#[test]
fn both_directions_share_the_bus() {
    // 1,518 bytes at 800 Mb/s take 15.18 us, on the line 12.304.
    let mut nic = Nic::new(NicConfig {
        bus: Some(Rate::bits_per_second(800_000_000)),
        ..NicConfig::PLAIN
    });
    let mut line = line();
    let ns = Instant::from_nanos;
    nic.receive(us(0), packet(0));
    nic.receive(ns(12_304), packet(1));
    assert_eq!(nic.interrupt_at(us(0)), Some(ns(15_180)));
    assert_eq!(nic.take(ns(15_179)), None, "it is on the bus");
    nic.interrupt(ns(15_180));
    assert_eq!(nic.take(ns(15_180)), Some(packet(0)));
    assert_eq!(nic.interrupt_at(ns(15_180)), Some(ns(30_360)), "the second");
    // One to send waits for the second, and goes on the line then: 45.54 + 12.304 us.
    let leaves = nic.transmit(us(20), packet(2), &mut line);
    assert_eq!(leaves, Ok(ns(57_844)));
}

#[test]
fn the_timer_of_an_untagged_chip_is_absolute() {
    let mut nic = Nic::new(NicConfig::TG3_UNTAGGED);
    assert_eq!(nic.interrupt_at(us(0)), None);
    for (i, at) in [3, 10, 18].into_iter().enumerate() {
        assert!(nic.receive(us(at), packet(i as u32)));
        assert_eq!(
            nic.interrupt_at(us(at)),
            Some(us(53)),
            "50 us after the first"
        );
    }
    nic.interrupt(us(53));
    assert_eq!(nic.interrupt_at(us(53)), None, "told once");
    nic.receive(us(60), packet(3));
    assert_eq!(nic.interrupt_at(us(60)), Some(us(110)));
}

#[test]
fn enough_packets_do_not_wait() {
    let mut nic = Nic::new(NicConfig::TG3_UNTAGGED);
    for i in 0..5 {
        nic.receive(us(u64::from(i)), packet(i));
    }
    assert_eq!(nic.interrupt_at(us(4)), Some(us(4)));
}

#[test]
fn moderation_limits_the_rate_of_interrupts() {
    // A packet every 12.304 us for a second, each taken at its interrupt.
    let rate = |config: NicConfig| {
        let mut nic = Nic::new(config);
        let mut now = Instant::ZERO;
        for i in 0..81_274 {
            let next = now + Duration::from_nanos(12_304);
            nic.receive(now, packet(i));
            if let Some(at) = nic.interrupt_at(now).filter(|at| *at < next) {
                nic.interrupt(at);
                while nic.take(now).is_some() {
                    nic.post(1);
                }
            }
            now = next;
        }
        assert_eq!(nic.rx_counts().dropped, 0);
        nic.interrupts()
    };
    assert_eq!(rate(NicConfig::PLAIN), 81_274);
    // The fifth packet comes 49.2 us after the first.
    assert_eq!(rate(NicConfig::TG3), 81_274 / 5);
    let e1000 = rate(NicConfig::E1000);
    assert!((7_900..=8_001).contains(&e1000), "{e1000}");
}

#[test]
fn packets_without_a_buffer_are_dropped_and_counted() {
    let mut nic = Nic::new(NicConfig {
        rx_ring: 4,
        ..NicConfig::PLAIN
    });
    let fates: Vec<bool> = (0..6).map(|i| nic.receive(us(0), packet(i))).collect();
    assert_eq!(fates, [true, true, true, true, false, false]);
    // Taking frees no buffer; posting does, and no more than were taken.
    assert_eq!(nic.take(us(0)), Some(packet(0)));
    assert!(!nic.receive(us(1), packet(6)));
    assert_eq!((nic.post(3), nic.post(3)), (1, 0));
    assert!(nic.receive(us(2), packet(7)));
    let counts = nic.rx_counts();
    assert_eq!((counts.entered, counts.left, counts.dropped), (8, 1, 3));
    let mut ledger = Ledger::new();
    ledger.add(&nic).sent(8);
    ledger.delivered(1);
    assert_eq!(
        (ledger.dropped_at(Nic::RX_RING), ledger.check()),
        (3, Ok(()))
    );
}

#[test]
fn a_transmit_descriptor_is_free_when_it_was_reaped() {
    let mut nic = Nic::new(NicConfig {
        tx_ring: 2,
        tx: Coalesce::since_first(Duration::from_micros(100), 2),
        ..NicConfig::PLAIN
    });
    let mut line = line();
    let leaves = [12_304, 24_608].map(Instant::from_nanos);
    assert_eq!(nic.transmit(us(0), packet(0), &mut line), Ok(leaves[0]));
    assert_eq!(
        nic.interrupt_at(us(0)),
        Some(leaves[0] + Duration::from_micros(100))
    );
    assert_eq!(nic.transmit(us(0), packet(1), &mut line), Ok(leaves[1]));
    assert_eq!(
        nic.interrupt_at(us(0)),
        Some(leaves[1]),
        "two will have left"
    );
    assert_eq!(nic.transmit(us(0), packet(2), &mut line), Err(packet(2)));
    assert_eq!(nic.reap(us(12)), 0);
    assert_eq!((nic.reap(us(13)), nic.tx_free()), (1, 1));
    nic.interrupt(us(25));
    assert_eq!(nic.interrupt_at(us(25)), None);
    assert_eq!((nic.reap(us(25)), nic.tx_free()), (1, 2));
    assert_eq!(nic.transmitted(), 2);
}

#[test]
fn a_polling_driver_hears_of_what_came_while_it_polled() {
    let mut nic = Nic::new(NicConfig::PLAIN);
    nic.receive(us(0), packet(0));
    nic.interrupt(us(0));
    nic.mask();
    nic.receive(us(1), packet(1));
    assert_eq!(nic.interrupt_at(us(1)), None);
    assert_eq!(
        (nic.take(us(1)), nic.take(us(1)), nic.take(us(1))),
        (Some(packet(0)), Some(packet(1)), None)
    );
    nic.unmask();
    assert_eq!(nic.interrupt_at(us(2)), None, "it was polled");
    nic.mask();
    nic.receive(us(3), packet(2));
    nic.unmask();
    assert_eq!(
        nic.interrupt_at(us(5)),
        Some(us(5)),
        "it came after the last poll"
    );
}

/// The full segment number `n` of a stream.
fn segment(flow: u32, n: u64) -> Packet {
    let segment = Segment {
        seq: 1 + n * u64::from(MSS),
        ack: 1,
        window: 65_535,
        len: MSS,
        flags: Flags::ACK,
        sent: us(n),
        echo: us(0),
        sack: Sack::NONE,
    };
    Packet {
        flow: FlowId(flow),
        body: Body::Tcp(segment),
        ..packet(0)
    }
}

/// Two streams take turns, with a datagram between, and each joins its own packets; the buffers of
/// a frame are all that it had.
#[test]
fn streams_join_packet_by_packet_of_their_own() {
    let mut nic = Nic::new(NicConfig {
        gro: true,
        ..NicConfig::PLAIN
    });
    for n in 0..4 {
        nic.receive(us(n), segment(1, n));
        nic.receive(us(n), segment(2, n));
        if n == 1 {
            nic.receive(us(n), packet(7));
        }
    }
    nic.interrupt(us(1));
    let (first, buffers) = nic.take_frame(us(2), 64).expect("it is there");
    let Body::Tcp(joined) = first.body else {
        panic!("a segment")
    };
    assert_eq!((first.flow, joined.len, buffers), (FlowId(1), 3 * MSS, 3));
    // The fourth came later, and what is taken is bounded.
    assert_eq!(nic.take_frame(us(3), 2).map(|(_, n)| n), Some(2));
    let datagram = nic.take_frame(us(3), 64);
    assert_eq!(datagram, Some((packet(7), 1)));
    let two = offload::join(&segment(2, 2), &segment(2, 3)).expect("they follow");
    assert_eq!(nic.take_frame(us(3), 64), Some((two, 2)));
    assert_eq!(nic.take_frame(us(3), 64), Some((segment(1, 3), 1)));
    assert_eq!((nic.received(), nic.post(20)), (0, 9));
    let mut ledger = Ledger::new();
    ledger.add(&nic);
    assert_eq!(nic.rx_counts().left, 9);
    assert_eq!(ledger.in_flight(), 0);
}

/// A frame has one descriptor, which is free when its last packet has left.
#[test]
fn a_frame_leaves_as_packets() {
    let mut nic = Nic::new(NicConfig {
        tx_ring: 1,
        tso: true,
        ..NicConfig::PLAIN
    });
    let mut line = line();
    let whole = (1..4).try_fold(segment(1, 0), |p, n| offload::join(&p, &segment(1, n)));
    let whole = whole.expect("they follow");
    // 1,538 byte times of 8 ns each.
    let leaves = Instant::from_nanos(4 * 12_304);
    assert_eq!(nic.transmit(us(0), whole, &mut line), Ok(leaves));
    assert_eq!((nic.tx_free(), nic.transmitted()), (0, 4));
    for n in 0..4 {
        let at = Instant::from_nanos((n + 1) * 12_304);
        assert_eq!(line.next_arrival(), Some(at));
        let Some(Body::Tcp(part)) = line.arrive(at).map(|packet| packet.body) else {
            panic!("a segment arrives")
        };
        assert_eq!((part.seq, part.len), (1 + n * u64::from(MSS), MSS));
    }
    assert_eq!(nic.reap(leaves), 1);
}
