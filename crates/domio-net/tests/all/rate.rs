//! How fast one flow gets through a path that loses nothing by itself.

use crate::path::{Path, application};
use domio_core::{Duration, Instant};
use domio_net::link::{LinkConfig, Rate};
use domio_net::packet::MSS;
use domio_net::tcp::TcpConfig;

/// Delivered bits a second in the last three quarters of `seconds`, with the path as it is then.
fn rate(line: LinkConfig, config: TcpConfig, seconds: u64) -> (u64, Path) {
    let mut path = Path::new(line, config, [application(u64::MAX), application(0)]);
    path.start();
    let end = Instant::ZERO + Duration::from_secs(seconds);
    let begin = Instant::ZERO + Duration::from_secs(seconds) / 4;
    path.run(begin);
    let before = path.ends[1].delivered;
    path.run(end);
    let bytes = path.ends[1].delivered - before;
    let rate = bytes * 8 * 1_000_000_000 / end.since(begin).as_nanos();
    (rate, path)
}

/// Bits of data a second on a full line.
fn best(rate: Rate) -> u64 {
    rate.bps() * u64::from(MSS) / 1_538
}

fn line(rate: Rate, latency_us: u64, queue: usize) -> LinkConfig {
    LinkConfig {
        rate,
        latency: Duration::from_micros(latency_us),
        queue,
    }
}

#[test]
fn one_flow_fills_an_idle_gigabit_path() {
    let (rate, path) = rate(line(Rate::GBIT_1, 20, 1_000), TcpConfig::default(), 2);
    let best = best(Rate::GBIT_1);
    assert!(
        rate * 1_000 >= best * 999 && rate <= best + 100_000,
        "{rate} of {best} bit/s"
    );
    assert_eq!(path.ends[0].connection.statistics().retransmitted, 0);
}

#[test]
fn one_flow_fills_slower_and_faster_paths() {
    for speed in [Rate::MBIT_100, Rate::GBIT_10] {
        let (rate, _) = rate(line(speed, 20, 1_000), TcpConfig::default(), 1);
        let best = best(speed);
        assert!(rate * 100 >= best * 99, "{rate} of {best} bit/s");
    }
}

#[test]
fn a_queue_that_overflows_costs_little() {
    // The window outgrows 100 packets of queue again and again; it then halves to what keeps the
    // line busy. A window of 2 MiB is never the limit.
    let config = TcpConfig {
        send_buffer: 2 << 20,
        receive_buffer: 2 << 20,
        ..TcpConfig::default()
    };
    let (rate, path) = rate(line(Rate::GBIT_1, 20, 100), config, 4);
    let best = best(Rate::GBIT_1);
    assert!(rate * 100 >= best * 90, "{rate} of {best} bit/s");
    let statistics = path.ends[0].connection.statistics();
    assert!(path.lines[0].counts().dropped > 0, "the queue overflows");
    assert!(statistics.fast_retransmits > 2, "{statistics:?}");
    assert_eq!(statistics.timeouts, 0, "{statistics:?}");
}

#[test]
fn the_window_bounds_the_rate_by_the_round_trip() {
    // 64 KiB in 100 ms and what a segment takes: 5.2 Mb/s at most, and nearly that.
    let config = TcpConfig {
        receive_buffer: 65_536,
        ..TcpConfig::default()
    };
    let (rate, _) = rate(line(Rate::GBIT_1, 25_000, 1_000), config, 8);
    let most = 65_536 * 8 * 10;
    assert!(
        rate <= most && rate * 100 >= most * 95,
        "{rate} of {most} bit/s"
    );
}

#[test]
fn half_as_many_acknowledgements_as_segments() {
    let (_, path) = rate(line(Rate::GBIT_1, 20, 1_000), TcpConfig::default(), 1);
    let segments = path.ends[0].connection.statistics().segments_sent;
    let acks = path.ends[1].connection.statistics().acks_sent;
    // The first 16 are acknowledged one by one.
    let expected = segments / 2 + 8;
    assert!(
        acks.abs_diff(expected) < 200,
        "{acks} for {segments} segments"
    );
}
