//! Hosts with one guest on a processor of its own: what its streams and pings show of the card
//! and of the remote host.

use crate::host::{Guest, Setup, simulation};
use crate::told::Records;
use domio_core::{Duration, Instant};
use domio_net::class::NetRecord;
use domio_net::host::{FlowKind, NetbackConfig, Network, RxMode, StreamConfig};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::nic::{Nic, NicConfig};
use domio_net::packet::FlowId;
use domio_net::peer::Service;
use domio_net::queue::Ledger;
use domio_net::tcp::{TcpConfig, TcpStatistics};
use domio_net::writers::WriterCosts;
use domio_vmm::Simulation;
use domio_vmm::evtchn::{Abi, ScanForm, Width};
use domio_vmm::hardware::OPTERON_242;

/// One guest with `flows` under a policy that does not matter, on a processor of its own.
pub fn alone(flows: Vec<FlowKind>, nic: NicConfig) -> Setup {
    let abi = Abi::TwoLevel {
        width: Width::Bits64,
        scan: ScanForm::RoundRobin,
    };
    Setup {
        pcpus: 1,
        policy: ("credit", "3.1"),
        guests: vec![Guest {
            flows,
            burns: false,
            rate: None,
            stops: None,
        }],
        abis: (abi, abi),
        rx_mode: RxMode::Flip,
        netback: NetbackConfig::ONE,
        own_pairs: false,
        nic,
        card_vcpus: 1,
        line_queue: 300,
        loss: 0,
        free: false,
        seed: 1,
    }
}

/// Runs it for `time`.
fn run(setup: &Setup, time: Duration) -> Simulation<Records, Network> {
    let mut simulation = simulation(setup);
    let outcome = simulation.run(Instant::ZERO + time);
    assert!(
        matches!(outcome, domio_sim::Outcome::Completed { .. }),
        "{outcome}"
    );
    simulation
}

/// Runs it for half a second. Returns its network and the statistics of its first flow, a stream,
/// at the remote host.
fn half_a_second(setup: &Setup) -> (Simulation<Records, Network>, TcpStatistics) {
    let simulation = run(setup, Duration::from_millis(500));
    let remote = simulation.host().device(0).remote();
    let Some(Service::Tcp(end)) = remote.service(FlowId(0)) else {
        panic!("the remote host streams");
    };
    let statistics = end.connection().statistics();
    (simulation, statistics)
}

/// A card with few buffers drops what comes while the driver domain does something else, unless it
/// may stop the line.
#[test]
fn flow_control_stops_the_line_instead_of_dropping() {
    let drops = |flow_control| {
        let nic = NicConfig {
            rx_ring: 16,
            flow_control,
            ..NicConfig::TG3
        };
        // Few enough for the guest's ring and queue.
        let mut stream = StreamConfig::XEN_2_6_18;
        stream.tcp.send_buffer = 60 * 1024;
        let flows = vec![FlowKind::StreamIn(stream)];
        let (simulation, stream) = half_a_second(&alone(flows, nic));
        let mut ledger = Ledger::new();
        ledger.add(simulation.host().device(0));
        assert_eq!(ledger.check(), Ok(()));
        assert_eq!(stream.retransmitted > 0, !flow_control, "{stream:?}");
        assert!(stream.acknowledged > 2_000_000, "{stream:?}");
        ledger.dropped_at(Nic::RX_RING)
    };
    assert_eq!(drops(true), 0);
    let dropped = drops(false);
    assert!(dropped > 10, "{dropped}");
}

/// A process that asks for little at a time leaves most of a burst in the buffer, and the burst is
/// acknowledged at once; one that asks for all has every second segment acknowledged.
#[test]
fn how_much_a_process_asks_for_decides_how_often_is_acknowledged() {
    let segments_per_ack = |piece| {
        let mut stream = StreamConfig {
            piece,
            ..StreamConfig::XEN_2_6_18
        };
        // Little enough for the guest's ring and queue, but for a burst that comes just before the
        // guest posts buffers.
        stream.tcp.send_buffer = 96 * 1024;
        let setup = alone(vec![FlowKind::StreamIn(stream)], NicConfig::TG3);
        let (_, stream) = half_a_second(&setup);
        assert!(stream.acknowledged > 20_000_000, "{stream:?}");
        assert!(stream.retransmitted < 5, "{stream:?}");
        stream.segments_sent as f64 / stream.segments_received as f64
    };
    let (little, all) = (segments_per_ack(4 * 1024), segments_per_ack(64 * 1024));
    assert!((1.9..2.1).contains(&all), "{all}");
    assert!(little > 4.0, "{little}");
}

/// What the trace says of bytes delivered is what the remote host's connection has seen
/// acknowledged, but for what is under way.
#[test]
fn a_stream_delivers_what_is_acknowledged() {
    let flows = vec![FlowKind::StreamIn(StreamConfig::XEN_2_6_18)];
    let (simulation, stream) = half_a_second(&alone(flows, NicConfig::TG3));
    let delivered: u64 = simulation
        .into_sink()
        .iter()
        .filter(|r| r.is_net(NetRecord::Delivered))
        .map(|r| r.long())
        .sum();
    // 60 % of the line over most of half a second, at least.
    assert!(stream.acknowledged > 25_000_000, "{stream:?}");
    let window = u64::from(TcpConfig::XEN_2_6_18.receive_buffer);
    assert!(
        delivered.abs_diff(stream.acknowledged) <= window,
        "{delivered} of {stream:?}"
    );
}

/// From a reply to the request that follows upon it the process takes its time, and from a request
/// to the reply never quite as long as the time before: the remote host's card has another
/// interrupt.
#[test]
fn a_ping_waits_for_the_remote_host() {
    let flood = FlowKind::Ping(PingConfig {
        pace: Pace::Flood(Pace::FLOOD_TIMEOUT),
        ..PingConfig::default()
    });
    let records = run(
        &alone(vec![flood], NicConfig::TG3),
        Duration::from_millis(100),
    )
    .into_sink();
    let replies = records.iter().filter(|r| r.is_net(NetRecord::Reply));
    let replies: Vec<(Instant, Duration)> = replies
        .map(|r| (r.at, Duration::from_nanos(r.long())))
        .collect();
    assert!(replies.len() > 300, "{}", replies.len());
    for pair in replies.windows(2) {
        let [(reply, before), (next, rtt)] = [pair[0], pair[1]];
        let taken = (next - rtt).since(reply);
        assert_eq!(taken, WriterCosts::beside(&OPTERON_242).answer(56));
        assert_ne!(rtt, before);
    }
}
