//! Cards with several queues: interrupts and polling on several vcpus of the driver domain, which
//! together forward what one cannot, while each flow keeps its order.

use crate::site::*;
use crate::told::{Kind, Records};
use domio_core::{DomainId, Duration, Instant, VcpuName};
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
use domio_vmm::config::KernelCosts;
use domio_vmm::machine::XEON_E5;
use std::collections::BTreeMap;

const TIME: u64 = 200;
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
        netback: NetbackConfig::spread(vcpus),
        ..card(0, (1..=GUESTS).map(guest).collect())
    }
}

/// A server of 16 pcpus with this card after [`TIME`].
fn ran(card: NetworkConfig) -> Simulation<Records, Network> {
    let vcpus = |id| if id == 0 { card.card_vcpus } else { 1 };
    let mut domains: Vec<_> = (0..=GUESTS)
        .map(|id| domain(id, vcpus(id).into()))
        .collect();
    for domain in &mut domains {
        domain.guest.costs = KernelCosts::on(&XEON_E5);
    }
    let cards = [card];
    equip(&cards, &mut domains);
    let mut host = host(16, CREDIT_4_17, domains);
    host.profile = *XEON_E5.profile;
    let mut simulation = simulation(&host, CREDIT_4_17, &cards, Records::default());
    simulation.host_mut().mark(Instant::ZERO);
    run(&mut simulation, 0, TIME);
    simulation.host_mut().mark(at(TIME));
    simulation
}

/// The same card with so many queues.
fn with_queues(nic: NicConfig, queues: u16) -> NicConfig {
    NicConfig {
        queues: Some(queues),
        ..nic
    }
}

/// Bytes of the streams to all guests that arrived in [`TIME`], in Gb/s.
fn gigabits(simulation: &Simulation<Records, Network>) -> f64 {
    let bytes = simulation.host().device(0).bytes_streamed();
    bytes as f64 * 8.0 / (TIME as f64 * 1e6)
}

/// Datagrams of flow `flow` that the guest of interface `vif` got, and how many came too late.
fn got(network: &Network, vif: usize, flow: u32) -> (u64, u64) {
    match network.guest(vif).service(FlowId(flow)) {
        Some(Service::UdpSink(sink)) => (sink.received, sink.out_of_order),
        other => panic!("flow {flow} of {vif} is no sink: {other:?}"),
    }
}

/// With a queue on each of four vcpus more gets through than with one queue on four vcpus, and more
/// than on one vcpu.
#[test]
fn queues_on_four_vcpus_forward_more() {
    for nic in [NicConfig::MLX5, NicConfig::I40E] {
        let of = |nic, vcpus| gigabits(&ran(card_of(nic, vcpus, &[STREAM])));
        let alone = of(nic, 1);
        let one_queue = of(with_queues(nic, 1), 4);
        let all = of(nic, 4);
        println!("{alone:.2} on one vcpu, {one_queue:.2} with one queue, {all:.2} Gb/s");
        assert!(all > one_queue * 1.2 && one_queue > alone, "{nic:?}");
    }
}
