//! Hosts whose kernels hand large frames through: every byte arrives once, packets on the line have
//! the line's size, and what is paid for each packet falls by as many as a frame has.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use domio_core::{DomainId, Duration};
use domio_net::host::{
    FlowKind, NetCosts, Network, NetworkConfig, RxMode, StreamConfig, VifConfig,
};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::packet::MSS;
use domio_net::tcp::TcpConfig;
use domio_net::writers::WriterCosts;
use domio_vmm::Simulation;
use domio_vmm::bus::Device as _;
use domio_vmm::hardware::XEON_E5;

const TIME: u64 = 200;

/// A stream of kernels of the card's time.
const STREAM: StreamConfig = StreamConfig {
    tcp: TcpConfig {
        initial_window: 10,
        send_buffer: 4 << 20,
        // What the ring to a guest has room for, without frames.
        ..TcpConfig::XEN_2_6_18.with_window(256 * 1024)
    },
    piece: 128 * 1024,
};

/// A card of 10 Gb/s on a Xeon E5, for a guest with these flows.
fn xeon(nic: NicConfig, flows: &[FlowKind]) -> NetworkConfig {
    NetworkConfig {
        nic,
        link: LinkConfig {
            rate: Rate::GBIT_10,
            latency: us(20),
            queue: 1_000,
        },
        remote_gap: us(50),
        remote_irq_latency: Duration::ZERO,
        remote_writers: WriterCosts::FREE,
        costs: NetCosts::on(&XEON_E5),
        rx_mode: RxMode::Copy,
        ..card(
            0,
            vec![VifConfig {
                rx_target: 256,
                ..vif(1, flows)
            }],
        )
    }
}

/// The host after [`TIME`], where domain 0 drives the card.
fn ran(card: NetworkConfig) -> Simulation<Records, Network> {
    ran_on_a_server(4, card, TIME)
}

/// What the driver domain worked for its guests (ns).
fn work(records: &Records) -> u64 {
    let done = records.iter().filter(|r| r.is(Kind::DriverWork));
    done.filter_map(Record::done_for).map(|(_, ns)| ns).sum()
}

/// `nic` without offloads.
fn plain(nic: NicConfig) -> NicConfig {
    NicConfig {
        tso: false,
        gro: false,
        ..nic
    }
}

/// Bytes that arrived, packets of the interface that carried them, and ns of the driver domain for
/// a MiB.
fn fast(nic: NicConfig, kind: FlowKind) -> (u64, u64, u64) {
    let simulation = ran(xeon(nic, &[kind]));
    let network = simulation.host().device(0);
    let counted = network.counted(DomainId(0), DomainId(1));
    let (bytes, packets) = match kind {
        FlowKind::StreamOut(_) => (stream(network, 0).delivered, counted.sent),
        _ => (stream(network, 0).acknowledged, counted.received),
    };
    let ns = work(&simulation.into_sink());
    println!("{bytes} bytes, {packets} packets, {ns} ns");
    (bytes, packets, ns * 1024 * 1024 / bytes)
}

/// 10 Gb/s each way, with offloads and without: with them a packet of the interface has the bytes
/// of several, no less gets through, and a MiB takes the driver domain a good deal less. Frames are
/// whole from a guest; to a guest they are what has come since the driver looked.
#[test]
fn a_frame_costs_what_a_packet_does() {
    for (nic, kind, segments, part) in [
        (NicConfig::MLX5, FlowKind::StreamOut(STREAM), 30, (1, 2)),
        (NicConfig::I40E, FlowKind::StreamOut(STREAM), 30, (1, 2)),
        (NicConfig::MLX5, FlowKind::StreamIn(STREAM), 3, (3, 4)),
        (NicConfig::I40E, FlowKind::StreamIn(STREAM), 3, (3, 4)),
    ] {
        let (bytes, packets, ns) = fast(nic, kind);
        let (bytes_plain, packets_plain, ns_plain) = fast(plain(nic), kind);
        assert!(bytes_plain / packets_plain <= u64::from(MSS));
        let each = bytes / packets;
        assert!(each > segments * u64::from(MSS), "{bytes} in {packets}");
        assert!(bytes * 100 >= bytes_plain * 99, "{bytes}, {bytes_plain}");
        assert!(ns * part.1 < ns_plain * part.0, "{ns} and {ns_plain} ns");
    }
}

/// On the line everything has the line's size, and the remote host gets what the guest wrote: it
/// hears of each packet as that comes here, so that it joins nothing.
#[test]
fn the_card_cuts_frames_to_packets_of_the_line() {
    let mut card = xeon(NicConfig::MLX5, &[FlowKind::StreamOut(STREAM)]);
    card.remote_gap = Duration::ZERO;
    let simulation = ran(card);
    let network = simulation.host().device(0);
    let frames = network.counted(DomainId(0), DomainId(1)).sent;
    let remote = stream(network, 0);
    let full = remote.delivered / u64::from(MSS);
    println!("{frames} frames, {remote:?}");
    assert!(remote.segments_received >= full, "larger ones came");
    assert!(
        remote.segments_received < full + full / 20,
        "small ones came"
    );
    assert!(frames * 4 < full, "{frames} frames for {full} segments");
    assert_eq!((remote.duplicates, remote.out_of_order), (0, 0));
    // Every second one is acknowledged, as Linux does without aggregation.
    assert!(remote.acks_sent >= full / 2 - 100, "{remote:?}");
}

/// A host that joins acknowledges each frame, and not each second segment.
#[test]
fn a_frame_is_acknowledged_once() {
    let kind = FlowKind::StreamOut(STREAM);
    let simulation = ran(xeon(NicConfig::MLX5, &[kind]));
    let remote = stream(simulation.host().device(0), 0);
    println!("{remote:?}");
    assert!(remote.acks_sent <= remote.segments_received, "{remote:?}");
    let full = remote.delivered / u64::from(MSS);
    assert!(remote.acks_sent * 8 < full, "{remote:?}");
}

/// Datagrams stay what they are, beside a stream with frames.
#[test]
fn datagrams_are_not_touched() {
    let flows = [udp_out(2_000), udp_in(2_000), FlowKind::StreamOut(STREAM)];
    let with = ran(xeon(NicConfig::I40E, &flows[..2]));
    let without = ran(xeon(plain(NicConfig::I40E), &flows[..2]));
    let told = |simulation: &Simulation<Records, Network>| {
        let network = simulation.host().device(0);
        let counted = network.counted(DomainId(0), DomainId(1));
        (counted.sent, counted.received, datagrams(network, 0))
    };
    let of_both = [told(&with), told(&without)];
    assert_eq!(of_both[0], of_both[1]);
    assert!(of_both[0].2 > 380, "{of_both:?}");
    let beside = ran(xeon(NicConfig::I40E, &flows));
    let came = datagrams(beside.host().device(0), 0);
    assert!(came.abs_diff(of_both[0].2) < 20, "{came} beside a stream");
}

/// Frames pass a driver domain behind another one whole.
#[test]
fn frames_pass_a_chain_of_driver_domains() {
    let flows = [FlowKind::StreamOut(STREAM), FlowKind::StreamIn(STREAM)];
    let mut whole = xeon(NicConfig::MLX5, &[]);
    let mut inner = xeon(NicConfig::MLX5, &flows);
    inner.driver = DomainId(1);
    inner.vifs[0].domain = DomainId(2);
    whole.add_behind(0, inner);
    let simulation = ran(whole);
    let network = simulation.host().device(0);
    let outer = network.counted(DomainId(0), DomainId(1));
    let middle = network.counted(DomainId(1), DomainId(2));
    println!("{outer:?} {middle:?}");
    assert!(
        outer.sent.abs_diff(middle.sent) < 50,
        "{outer:?} {middle:?}"
    );
    assert!(outer.received.abs_diff(middle.received) < 50);
    let (out, to) = (stream(network, 0), stream(network, 1));
    let bytes = out.delivered + to.acknowledged;
    assert!(bytes > 50_000_000, "{out:?} {to:?}");
    assert!(bytes / (middle.sent + middle.received) > 2 * u64::from(MSS));
}
