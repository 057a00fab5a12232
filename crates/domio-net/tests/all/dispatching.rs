//! What a policy that listens is told of packets that a driver domain has at hand (Zeng 2015,
//! IV.B).

use crate::ears::{Ears, told};
use crate::site::*;
use crate::told::Records;
use domio_contract::{Dispatching, Needs};
use domio_core::{Duration, Instant, ParamValues};
use domio_net::host::{FlowKind, NetbackConfig, Network, RxMode, SmallPackets};
use domio_net::icmp::{Pace, PingConfig};
use domio_sched::{credit, find};
use domio_vmm::Simulation;
use domio_vmm::config::Workload;

/// A second of four guests that are pinged at the same times; answers of all, and what was told.
fn a_second(how: Dispatching) -> (Simulation<Records, Network>, Vec<(Instant, u32)>) {
    told();
    let pinged = FlowKind::Ping(PingConfig {
        pace: Pace::Every(Duration::from_millis(10)),
        ..PingConfig::default()
    });
    let vifs = (1..=4).map(|id| vif(id, std::slice::from_ref(&pinged)));
    let cards = [card(0, vifs.collect())];
    let mut domains: Vec<_> = (0..=4).map(|id| domain(id, 1)).collect();
    equip(&cards, &mut domains);
    let host = host(1, ("credit", "3.4"), domains);
    let shipped = find("credit").expect("a shipped policy");
    let mut params = ParamValues::defaults(shipped.descriptor.params);
    params.choose("version", "3.4").expect("a release");
    params
        .set("dispatch_vector", how as i64)
        .expect("one of them");
    let inner = (shipped.make)(&params, &host.topology);
    let mut simulation = under(
        &host,
        Box::new(Ears {
            inner,
            descriptor: &credit::DESCRIPTOR,
            needs: Needs {
                dispatching: how,
                ..credit::DESCRIPTOR.needs
            },
        }),
        &cards,
        Records::default(),
    );
    run(&mut simulation, 0, 1_005);
    (simulation, told().at_hand)
}

/// Every ping is answered, but for those that may be under way.
fn all_are_answered(simulation: &Simulation<Records, Network>) {
    for flow in 0..4 {
        let statistics = pings(&simulation.host().devices()[0], flow);
        assert!(statistics.answered >= 99, "{statistics:?}");
    }
}

#[test]
fn by_a_bit_it_hears_of_several_packets_and_of_none() {
    let (simulation, told) = a_second(Dispatching::Bit);
    all_are_answered(&simulation);
    assert!(told.len() >= 100, "several come at once: {}", told.len());
    for (i, (at, packets)) in told.iter().enumerate() {
        let set = i % 2 == 0;
        assert_eq!(*packets > 1, set, "at {at}: {packets}");
        assert_eq!(*packets == 0, !set, "at {at}: {packets}");
    }
    assert_eq!(told.len() % 2, 0, "none is left at the end");
}

#[test]
fn by_a_counter_it_hears_of_each_packet() {
    let (simulation, told) = a_second(Dispatching::Counter);
    all_are_answered(&simulation);
    let numbers: Vec<u32> = told.iter().map(|(_, packets)| *packets).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(numbers.contains(&1) && numbers.iter().any(|n| *n >= 3));
    assert_eq!(numbers.last(), Some(&0));
    let (_, by_bit) = a_second(Dispatching::Bit);
    assert!(told.len() > 2 * by_bit.len());
}

#[test]
fn a_policy_that_does_not_listen_hears_nothing() {
    let (simulation, told) = a_second(Dispatching::Untold);
    all_are_answered(&simulation);
    assert!(told.is_empty());
}

/// A host of four pcpus with what is switched on of Zeng 2015, as bits: balancing of boosts, the
/// dispatching vector, two pairs of tasklets, pools for small packets.
fn with_parts(parts: u32) -> Simulation<Records, Network> {
    let has = |part: u32| parts >> part & 1 == 1;
    let pinged = FlowKind::Ping(PingConfig {
        pace: Pace::Every(ms(5)),
        ..PingConfig::default()
    });
    let vifs = (1..=6).map(|id| vif(id, &[pinged, udp_in(300), udp_out(300)]));
    let mut card = card(0, vifs.collect());
    card.rx_mode = RxMode::Copy;
    card.netback = NetbackConfig {
        small: SmallPackets {
            out: has(3),
            inward: has(3),
            pages: SmallPackets::PAGES,
        },
        ..NetbackConfig::spread(1 + u16::from(has(2)))
    };
    let mut domains: Vec<_> = (0..=6)
        .map(|id| domain(id, if id == 0 { 2 } else { 1 }))
        .collect();
    equip(std::slice::from_ref(&card), &mut domains);
    domains.push(with(domain(7, 1), 0, Workload::Burn));
    let host = host(4, ("credit", "3.4"), domains);
    let shipped = find("credit").expect("a shipped policy");
    let mut params = ParamValues::defaults(shipped.descriptor.params);
    params.choose("version", "3.4").expect("a release");
    for (part, name) in ["boost_balance", "dispatch_vector"].into_iter().enumerate() {
        let value = has(part as u32).into();
        params.set(name, value).expect("a switch");
    }
    let policy = (shipped.make)(&params, &host.topology);
    let mut simulation = under(&host, policy, &[card], Records::default());
    run(&mut simulation, 0, 505);
    simulation
}

/// No packet is lost or counted twice, no vcpu has two pcpus, and everybody is served.
#[test]
fn all_sixteen_combinations_serve_everybody() {
    for parts in 0..16 {
        let simulation = with_parts(parts);
        let network = &simulation.host().devices()[0];
        for guest in 0..6 {
            let statistics = pings(network, 3 * guest);
            assert!(statistics.answered >= 98, "{parts:04b}: {statistics:?}");
            let sent = datagrams(network, 3 * guest + 2);
            assert!(sent >= 145, "{parts:04b}: {sent}");
        }
    }
}
