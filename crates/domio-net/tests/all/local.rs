//! Flows whose other end is the driver domain's own: no remote host has a part in them.

use crate::site::{
    CREDIT_4_17, IN, OUT, card, domain, equip, host, ping, run, simulation, udp_out, vif,
};
use crate::told::Records;
use domio_core::{DomainId, Duration};
use domio_net::class::{NetPlace, NetRecord};
use domio_net::host::{FlowKind, LocalConfig, Network, NetworkConfig, RxMode};
use domio_net::udp::UdpConfig;
use domio_vmm::{Device, Simulation};

/// 1,000 datagrams of 100 bytes a second to the guest.
const UDP_IN: FlowKind = FlowKind::UdpIn(UdpConfig {
    bytes: 100,
    rate: 1_000,
    wake: Duration::ZERO,
    jitter: Duration::ZERO,
});

/// A network of dom0 with a guest for each list of flows.
fn local(flows: &[&[FlowKind]]) -> NetworkConfig {
    let vifs = (1..).zip(flows).map(|(guest, flows)| vif(guest, flows));
    NetworkConfig {
        local: Some(LocalConfig {
            of_linux_6: true,
            ping_switch: Duration::from_micros(4),
        }),
        rx_mode: RxMode::Copy,
        ..card(0, vifs.collect())
    }
}

/// The host with that network after a quarter of a second on one pcpu.
fn ran(network: &NetworkConfig) -> Simulation<Records, Network> {
    let guests = 0..=network.vifs.len() as u16;
    let mut domains: Vec<_> = guests.map(|id| domain(id, 1)).collect();
    let networks = core::slice::from_ref(network);
    equip(networks, &mut domains);
    let host = host(1, CREDIT_4_17, domains);
    let mut simulation = simulation(&host, CREDIT_4_17, networks, Records::default());
    // The books of the network are looked at on the way.
    run(&mut simulation, 0, 250);
    simulation
}

/// Bytes that reached applications, and pings that were answered.
fn came(simulation: Simulation<Records, Network>) -> (u64, u64) {
    let told = simulation.into_sink();
    let delivered = told.iter().filter(|r| r.is_net(NetRecord::Delivered));
    let replies = told.iter().filter(|r| r.is_net(NetRecord::Reply)).count();
    (delivered.map(|r| r.long()).sum(), replies as u64)
}

#[test]
fn processes_of_the_driver_domain_send_and_receive() {
    for (flow, least, most) in [
        (IN, 5_000_000, 50_000_000),
        (OUT, 5_000_000, 50_000_000),
        // From 5 ms on.
        (UDP_IN, 24_000, 24_600),
        (udp_out(1_000), 240_000, 246_000),
    ] {
        let (bytes, replies) = came(ran(&local(&[&[flow]])));
        assert!((least..=most).contains(&bytes), "{flow:?}: {bytes}");
        assert_eq!(replies, 0);
    }
}

#[test]
fn the_driver_domain_pings_its_guests() {
    let (bytes, replies) = came(ran(&local(&[&[ping(10)], &[ping(10)]])));
    assert_eq!(bytes, 0);
    // A flood asks again upon the answer; between two there are less than 2 ms.
    assert!(replies > 200, "{replies}");
}

#[test]
fn nothing_goes_by_the_card() {
    let simulation = ran(&local(&[&[IN, ping(1)], &[OUT, UDP_IN]]));
    let network = &simulation.host().devices()[0];
    assert!(network.bytes_streamed() > 1_000_000);
    let told = simulation.into_sink();
    let mut places = told.iter().filter_map(|r| r.places());
    assert!(places.all(|(old, new)| old != NetPlace::Card && new != NetPlace::Card));
    told.are_true();
}

/// A frame of a driver domain with segmentation offload goes to the guest as one packet, so that
/// the same bytes take fewer.
#[test]
fn large_frames_go_both_ways() {
    for flow in [IN, OUT] {
        let small = local(&[&[flow]]);
        let mut large = small.clone();
        large.nic.tso = true;
        large.nic.gro = true;
        let of = |network| {
            let simulation = ran(network);
            let passed = simulation.host().devices()[0].passed(DomainId(1));
            let (bytes, _) = came(simulation);
            bytes / passed.packets_in.max(passed.packets_out)
        };
        let (small, large) = (of(&small), of(&large));
        assert!(
            small < 1_448 && large > 4 * small,
            "{flow:?}: {small}, {large}"
        );
    }
}

/// The process that pings is part of each round trip.
#[test]
fn a_process_pings() {
    let trips = |ping_switch| {
        let mut network = local(&[&[ping(10)]]);
        network.local = Some(LocalConfig {
            of_linux_6: true,
            ping_switch,
        });
        came(ran(&network)).1
    };
    let [quick, slow] = [4, 400].map(|us| trips(Duration::from_micros(us)));
    // A round trip of some 100 us, and one of 500.
    assert!(quick > 2 * slow, "{quick}, {slow}");
}

/// A driver domain of Linux 2.6.18 flips pages, and has no thread and no copies of small packets.
#[test]
fn a_driver_domain_of_2006_has_the_other_end_as_well() {
    for flow in [IN, OUT] {
        let mut network = local(&[&[flow], &[flow]]);
        network.rx_mode = RxMode::Flip;
        if let Some(local) = &mut network.local {
            local.of_linux_6 = false;
        }
        let (bytes, _) = came(ran(&network));
        assert!((5_000_000..=50_000_000).contains(&bytes), "{bytes}");
    }
}
