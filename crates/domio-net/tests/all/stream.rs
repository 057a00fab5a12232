//! The stream that comes out is the stream that went in, whatever the path does to packets.

use crate::path::{Application, Chaos, Path, Reads, application};
use domio_core::{Duration, Instant};
use domio_net::link::{LinkConfig, Rate};
use domio_net::tcp::{Control, State, TcpConfig};
use proptest::prelude::*;

fn line() -> LinkConfig {
    LinkConfig {
        rate: Rate::MBIT_100,
        latency: Duration::from_millis(1),
        queue: 100,
    }
}

fn chaos() -> impl Strategy<Value = Chaos> {
    (0_u64..200, 0_u64..200, 0_u64..300).prop_map(|(drop, duplicate, hold)| Chaos {
        drop,
        duplicate,
        hold,
    })
}

fn reads() -> impl Strategy<Value = Reads> {
    prop_oneof![
        Just(Reads::AtOnce),
        (100_u64..20_000, 1_u64..300)
            .prop_map(|(bytes, ms)| Reads::Slowly(bytes, Duration::from_millis(ms))),
        (100_u64..20_000, 1_u64..300)
            .prop_map(|(bytes, ms)| Reads::Waiting(bytes, Duration::from_millis(ms))),
    ]
}

fn writer() -> impl Strategy<Value = Application> {
    (0_u64..150_000, reads()).prop_map(|(writes, reads)| Application { writes, reads })
}

fn config() -> impl Strategy<Value = TcpConfig> {
    (
        prop_oneof![Just(1_448_u16), 1_u16..2_000],
        (
            1_u32..11,
            prop_oneof![Just(1_u16), 2_u16..46],
            any::<bool>(),
        ),
        1_u32..100_000,
        1_u32..100_000,
        any::<bool>(),
        prop_oneof![Just(40_u64), Just(0)],
        0_u32..17,
        prop_oneof![Just(Control::Reno), Just(Control::Bic)],
    )
        .prop_map(
            |(mss, window_and_frames, send, receive, nodelay, ack_ms, quick_acks, control)| {
                let (initial_window, frame, counts_segments) = window_and_frames;
                TcpConfig {
                    frame,
                    counts_segments,
                    // Segments of a byte would take for ever.
                    mss: mss.max(100),
                    initial_window,
                    control,
                    send_buffer: send.max(500),
                    receive_buffer: receive.max(500),
                    nodelay,
                    ack_delay: Duration::from_millis(ack_ms),
                    quick_acks,
                    ..TcpConfig::default()
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Loss, duplication, reordering, full queues, small buffers and slow readers, in both
    /// directions at once: every byte is delivered exactly once and in order, and every packet is
    /// accounted for. `Path` checks each delivery on the way.
    #[test]
    fn every_byte_is_delivered_once_and_in_order(
        seed in any::<u64>(),
        chaos in chaos(),
        applications in [writer(), writer()],
        config in config(),
        selective in any::<[bool; 2]>(),
    ) {
        let configs = selective.map(|selective| TcpConfig { selective, ..config });
        let mut path = Path::between(line(), configs, applications).with_chaos(seed, chaos);
        path.start();
        let until = Instant::ZERO + Duration::from_secs(20 * 3_600);
        path.run(until);
        prop_assert!(path.now() < until, "it goes on for ever");
        for (side, application) in applications.iter().enumerate() {
            let (end, other) = (&path.ends[side], &path.ends[1 - side]);
            let state = end.connection.state();
            prop_assert_eq!((state, end.opened), (State::Established, 1));
            prop_assert_eq!(end.written, application.writes);
            prop_assert_eq!((end.freed, other.delivered), (end.written, end.written));
            prop_assert_eq!((end.connection.readable(), end.connection.buffered()), (0, 0));
        }
    }
}

#[test]
fn a_reader_that_stops_closes_the_window_and_opens_it_again() {
    // 20000 bytes in each 2 s, into a buffer of 20000: the window closes for seconds.
    let reader = Application {
        writes: 0,
        reads: Reads::Slowly(20_000, Duration::from_secs(2)),
    };
    let config = TcpConfig {
        receive_buffer: 20_000,
        ..TcpConfig::default()
    };
    let mut path = Path::new(line(), config, [application(200_000), reader]);
    path.start();
    path.run(Instant::ZERO + Duration::from_secs(1));
    assert_eq!(path.ends[1].delivered, 20_000);
    // 13 full segments leave 1176 bytes of the window, which go out after 0.2 s as a probe; then
    // the window is closed, and probed after 0.2 s and 0.4 s more. The next is due after 1.6 s.
    let probes = path.ends[0].connection.statistics().probes;
    assert_eq!(probes, 3);
    path.run(Instant::ZERO + Duration::from_secs(60));
    assert_eq!(path.ends[1].delivered, 200_000);
    assert_eq!(path.ends[0].connection.statistics().timeouts, 0);
}

#[test]
fn a_lost_window_update_does_not_hang_the_stream() {
    // Every second packet is lost, updates among them.
    let reader = Application {
        writes: 0,
        reads: Reads::Slowly(5_000, Duration::from_millis(500)),
    };
    let config = TcpConfig {
        receive_buffer: 5_000,
        ..TcpConfig::default()
    };
    let chaos = Chaos {
        drop: 500,
        ..Chaos::default()
    };
    let mut path = Path::new(line(), config, [application(50_000), reader]).with_chaos(3, chaos);
    path.start();
    path.run(Instant::ZERO + Duration::from_secs(4 * 3_600));
    assert_eq!(path.ends[1].delivered, 50_000);
    assert!(path.ends[0].connection.statistics().probes > 0);
}

#[test]
fn an_exchange_over_a_clean_path_resends_nothing() {
    let mut path = Path::new(
        line(),
        TcpConfig::default(),
        [application(100_000), application(100_000)],
    );
    path.start();
    path.run(Instant::ZERO + Duration::from_secs(10));
    for end in &path.ends {
        let statistics = end.connection.statistics();
        assert_eq!(end.delivered, 100_000);
        assert_eq!((statistics.retransmitted, statistics.duplicates), (0, 0));
    }
}
