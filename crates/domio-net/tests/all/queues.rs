//! Cards with several queues: interrupts and polling on several vcpus of the driver domain, which
//! together forward what one cannot, while each flow keeps its order.

use crate::site::*;
use crate::told::{Kind, Records};
use domio_core::{DomainId, Duration};
use domio_net::host::{
    FlowKind, NetCosts, NetbackConfig, Network, NetworkConfig, RxMode, StreamConfig, VifConfig,
};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::packet::FlowId;
use domio_net::peer::Service;
use domio_net::tcp::TcpConfig;
use domio_net::udp::UdpConfig;
use domio_net::writers::WriterCosts;
use domio_vmm::Simulation;
use domio_vmm::hardware::XEON_E5;

const TIME: u64 = 60;
const GUESTS: u16 = 8;

/// A stream of kernels of the card's time.
const STREAM: FlowKind = FlowKind::StreamIn(StreamConfig {
    tcp: TcpConfig {
        initial_window: 10,
        send_buffer: 4 << 20,
        ..TcpConfig::XEN_2_6_18.with_window(256 * 1024)
    },
    piece: 128 * 1024,
});

/// Small datagrams, so many a second.
fn small(rate: u32) -> UdpConfig {
    UdpConfig {
        bytes: 100,
        rate,
        wake: Duration::ZERO,
        jitter: Duration::ZERO,
    }
}

/// A card of 25 Gb/s on a Xeon E5 whose driver domain has so many vcpus, all of which have netback,
/// and eight guests with these flows each.
fn card_of(nic: NicConfig, vcpus: u16, flows: &[FlowKind]) -> NetworkConfig {
    let guest = |id| VifConfig {
        rx_target: 256,
        ..vif(id, flows)
    };
    NetworkConfig {
        nic,
        link: LinkConfig {
            rate: Rate::bits_per_second(25_000_000_000),
            latency: us(20),
            queue: 10_000,
        },
        remote_gap: us(50),
        remote_irq_latency: Duration::ZERO,
        remote_writers: WriterCosts::FREE,
        costs: NetCosts::on(&XEON_E5),
        rx_mode: RxMode::Copy,
        card_vcpus: vcpus,
        card_at: Vec::new(),
        softirqs: None,
        netback: NetbackConfig::spread(vcpus),
        ..card(0, (1..=GUESTS).map(guest).collect())
    }
}

/// A server of 16 pcpus with this card after [`TIME`].
fn ran(card: NetworkConfig) -> Simulation<Records, Network> {
    ran_on_a_server(16, card, TIME)
}

/// The same card with so many queues.
fn with_queues(nic: NicConfig, queues: u16) -> NicConfig {
    NicConfig {
        queues: Some(queues),
        ..nic
    }
}

/// Gb/s that arrived of the streams to all guests, with so many vcpus of the driver domain.
fn gigabits(nic: NicConfig, vcpus: u16) -> f64 {
    let simulation = ran(card_of(nic, vcpus, &[STREAM]));
    let bytes = simulation.host().device(0).bytes_streamed();
    bytes as f64 * 8.0 / (TIME as f64 * 1e6)
}

/// Datagrams of flow `flow` that the guest of interface `vif` got; none came after a later one.
fn got(network: &Network, vif: usize, flow: u32) -> u64 {
    match network.guest(vif).service(FlowId(flow)) {
        Some(Service::UdpSink(sink)) => {
            assert_eq!(sink.out_of_order, 0, "flow {flow} keeps its order");
            sink.received
        }
        other => panic!("flow {flow} of {vif} is no sink: {other:?}"),
    }
}

/// The vcpus of the driver domain that interrupts of the card went to.
fn interrupted(records: &Records) -> Vec<u16> {
    let sent = records.iter().filter(|r| r.is(Kind::EvtchnSend));
    let by_nobody = sent.filter(|r| r.words[1] == u32::MAX && r.vcpu.domain == DomainId(0));
    let mut vcpus: Vec<u16> = by_nobody.map(|r| r.vcpu.index).collect();
    vcpus.sort_unstable();
    vcpus.dedup();
    vcpus
}

/// Datagrams that came through to all guests, of two flows to each.
fn datagrams_got(nic: NicConfig, vcpus: u16) -> (u64, Records) {
    let flows = [FlowKind::UdpIn(small(250_000)); 2];
    let simulation = ran(card_of(nic, vcpus, &flows));
    let network = simulation.host().device(0);
    let all = (0..u32::from(GUESTS) * 2).map(|flow| got(network, flow as usize / 2, flow));
    (all.sum(), simulation.into_sink())
}

/// What one vcpu cannot do, four can: streams of 25 Gb/s.
#[test]
fn four_vcpus_forward_what_one_cannot() {
    let (one, four) = (gigabits(NicConfig::MLX5, 1), gigabits(NicConfig::MLX5, 4));
    println!("{one:.2} and {four:.2} Gb/s");
    assert!(four > one * 1.5 && four > 20.0, "{one:.2} {four:.2}");
}

/// With a queue on each of four vcpus more small packets come through than with one queue in the
/// same driver domain, whose netback is on all four, and more than on one vcpu. With one queue they
/// are no more than on one vcpu: whoever polls sends an interrupt to the vcpu of each netback. Each
/// flow keeps its order, and each queue's interrupt is its vcpu's.
#[test]
fn four_queues_take_more_packets_than_one() {
    for nic in [NicConfig::MLX5, NicConfig::I40E] {
        let (alone, _) = datagrams_got(nic, 1);
        let (one_queue, records) = datagrams_got(with_queues(nic, 1), 4);
        assert_eq!(interrupted(&records), [0]);
        let (all, records) = datagrams_got(nic, 4);
        assert_eq!(interrupted(&records), [0, 1, 2, 3]);
        records.are_true();
        println!("{alone} on one vcpu, {one_queue} with one queue, {all} with four");
        assert!(all * 4 > one_queue.max(alone) * 5, "{nic:?}");
    }
}

/// Fewer queues than vcpus, and more: queues take turns among the vcpus.
#[test]
fn queues_take_turns_among_vcpus() {
    for (queues, vcpus, polling) in [(2, 4, vec![0, 1]), (5, 2, vec![0, 1]), (3, 1, vec![0])] {
        let flows = [
            FlowKind::UdpIn(small(5_000)),
            FlowKind::UdpOut(small(5_000)),
            ping(1),
            OUT,
        ];
        let nic = with_queues(NicConfig::I40E, queues);
        let simulation = ran(card_of(nic, vcpus, &flows));
        let network = simulation.host().device(0);
        for vif in 0..usize::from(GUESTS) {
            let first = 4 * vif as u32;
            // They begin after 5, 6, 7 and 8 ms; a few are under way.
            assert!(got(network, vif, first) > 50 * 5, "all came");
            assert!(datagrams(network, first + 1) > 50 * 5, "all went");
            assert!(pings(network, first + 2).answered > 40);
            assert!(stream(network, first + 3).delivered > 1_000_000);
        }
        let records = simulation.into_sink();
        assert_eq!(interrupted(&records), polling, "{queues} on {vcpus}");
    }
}
