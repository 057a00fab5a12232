//! More than one of each: several cards, driver domains, interfaces of a guest. Each network is one
//! of its own, and all get on.

use crate::site::{self, *};
use crate::told::{Kind, Record, Records};
use domio_core::{DomainId, Duration, Instant};
use domio_net::class::{NetPlace, NetRecord};
use domio_net::host::{Network, NetworkConfig, VifConfig};
use domio_vmm::Simulation;
use domio_vmm::bus::Device as _;
use domio_vmm::config::Workload;

const SECOND: u64 = 1_000;

/// What went over the streams to guests 2 and 3 of driver domains 0 and 1, each with one card.
#[track_caller]
fn both(simulation: &Simulation<Records, Network>) -> [u64; 2] {
    [0, 1].map(|card| stream(simulation.host().device(card), 0).acknowledged)
}

/// A card whose guests send at no cost to their protocols: these hosts ask which card carries what,
/// with the line or the reading of a guest as the limit.
fn card(driver: u16, vifs: Vec<VifConfig>) -> NetworkConfig {
    let mut card = site::card(driver, vifs);
    card.costs.stack_send = Duration::ZERO;
    card
}

/// At least what half a line carries in so many ms.
#[track_caller]
fn is_fast(bytes: u64, time: u64) {
    assert!(bytes > time * 125_000 / 2, "{bytes} bytes in {time} ms");
}

/// Whom records of packets in rings and queues name, as guest and driver domain.
fn paths(records: &[Record]) -> Vec<(u16, u16)> {
    let steps = records.iter().filter(|r| r.places().is_some());
    let mut paths: Vec<(u16, u16)> = steps
        .map(|r| (r.vcpu.domain.0, r.other.expect("a vcpu").domain.0))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Four pcpus, driver domains 0 and 1, guest 2 behind the first and 3 behind the second.
fn two_drivers() -> (Vec<domio_vmm::config::DomainConfig>, [NetworkConfig; 2]) {
    let flows = [IN, ping(2), udp_in(1_000), udp_out(1_000)];
    let cards = [card(0, vec![vif(2, &flows)]), card(1, vec![vif(3, &flows)])];
    ((0..4).map(|id| domain(id, 1)).collect(), cards)
}

#[test]
fn two_driver_domains_work_side_by_side() {
    let (domains, cards) = two_drivers();
    let simulation = after(SECOND, 4, domains, &cards);
    for network in simulation.host().devices() {
        is_fast(stream(network, 0).acknowledged, SECOND);
        let pings = pings(network, 1);
        assert!(pings.answered > 400 && pings.timed_out == 0, "{pings:?}");
        // 995 are due in the second, but for what is under way.
        let sent = datagrams(network, 3);
        assert!((985..=992).contains(&sent), "{sent} datagrams");
    }
    for (card, (guest, other)) in [(2, 3), (3, 2)].into_iter().enumerate() {
        let network = simulation.host().device(card);
        assert!(network.passed(DomainId(guest)).packets_in > 10_000);
        assert_eq!(network.passed(DomainId(other)), Default::default());
    }
    let records = simulation.into_sink();
    assert_eq!(paths(&records), [(2, 0), (3, 1)]);
    let work = records.iter().filter(|r| r.is(Kind::DriverWork));
    for record in work {
        let (guest, _) = record.done_for().expect("a driver's work");
        let drivers = [(DomainId(0), DomainId(2)), (DomainId(1), DomainId(3))];
        assert!(drivers.contains(&(record.vcpu.domain, guest)), "{record:?}");
    }
}

/// What a guest does behind a card does not depend on what is behind the other one, where each has
/// processors of its own.
#[test]
fn a_network_is_not_disturbed_by_another() {
    let pinned = |own: bool| {
        let (mut domains, mut cards) = two_drivers();
        for domain in &mut domains {
            let pcpu = domio_core::PcpuId(domain.id.0);
            domain.vcpus[0].hard = domio_core::CpuSet::of(pcpu);
        }
        if !own {
            cards[0].vifs[0].flows.clear();
        }
        let simulation = after(300, 4, domains, &cards);
        let records = simulation.into_sink();
        let of_second = |r: &&Record| r.net.is_some() && r.vcpu.domain == DomainId(3);
        let told = records.iter().filter(of_second);
        told.map(|r| (r.at, r.net, r.words)).collect::<Vec<_>>()
    };
    let (alone, beside) = (pinned(false), pinned(true));
    assert!(alone.len() > 10_000);
    assert!(
        alone == beside,
        "the first card's traffic shows at the second"
    );
}

/// The random streams of a card are its own: the remote hosts of two cards do not act in step.
#[test]
fn two_cards_draw_from_different_streams() {
    let (mut domains, cards) = two_drivers();
    for domain in &mut domains {
        let pcpu = domio_core::PcpuId(domain.id.0);
        domain.vcpus[0].hard = domio_core::CpuSet::of(pcpu);
    }
    let simulation = after(300, 4, domains, &cards);
    let records = simulation.into_sink();
    let replies = |guest| {
        let own = records
            .iter()
            .filter(|r| r.is_net(NetRecord::Reply) && r.vcpu.domain == DomainId(guest));
        own.map(|r| r.words[2]).take(50).collect::<Vec<u32>>()
    };
    assert_eq!(replies(2).len(), 50);
    assert_ne!(replies(2), replies(3));
}

/// Packets that two lines with loss lose are not the same ones.
#[test]
fn losses_of_two_cards_are_independent() {
    let lost = |card: usize| {
        let flows = [udp_in(5_000)];
        let cards = [card_of(0, 2, &flows), card_of(1, 3, &flows)];
        let mut domains: Vec<_> = (0..4).map(|id| domain(id, 1)).collect();
        for domain in &mut domains {
            let pcpu = domio_core::PcpuId(domain.id.0);
            domain.vcpus[0].hard = domio_core::CpuSet::of(pcpu);
        }
        let host = host(4, CREDIT_3_1, domains);
        let policy = domio_sched::find("credit").expect("a shipped policy");
        let mut params = domio_core::ParamValues::defaults(policy.descriptor.params);
        params.choose("version", "3.1").expect("a release");
        let scheduler = (policy.make)(&params, &host.topology);
        let mut simulation = Simulation::<Records, Network>::with_devices(
            &host,
            scheduler,
            |bus| {
                for card in &cards {
                    bus.add(|attach| Network::new(card, attach, 1, 0).with_loss(1, 0, 100_000));
                }
            },
            Records::default(),
            1,
            0,
        );
        run(&mut simulation, 0, 200);
        let records = simulation.into_sink();
        let guest = DomainId(2 + card as u16);
        let came = records.iter().filter(|r| {
            r.vcpu.domain == guest && r.places() == Some((NetPlace::Outside, NetPlace::Card))
        });
        // Number of the datagram, by when it came to the card.
        let due = |r: &Record| (r.at.as_nanos() - u64::from(r.words[2])) / 200_000;
        came.map(due).collect::<Vec<u64>>()
    };
    let (first, second) = (lost(0), lost(1));
    assert!((800..950).contains(&first.len()), "{}", first.len());
    assert!((800..950).contains(&second.len()), "{}", second.len());
    assert!(first != second, "both lose the same datagrams");
}

fn card_of(driver: u16, guest: u16, flows: &[domio_net::host::FlowKind]) -> NetworkConfig {
    card(driver, vec![vif(guest, flows)])
}

/// A guest with an interface at each of two driver domains.
#[test]
fn a_guest_with_an_interface_at_each_of_two_driver_domains() {
    let flows = [IN, OUT, ping(2)];
    let cards = [card(0, vec![vif(2, &flows)]), card(1, vec![vif(2, &flows)])];
    let domains = (0..3).map(|id| domain(id, 1)).collect();
    let simulation = after(SECOND, 3, domains, &cards);
    // One processor of a guest has four streams to serve: of each a tenth of a line at least.
    for network in simulation.host().devices() {
        for flow in [0, 1] {
            let stream = stream(network, flow);
            let bytes = stream.acknowledged.max(stream.delivered);
            assert!(bytes > SECOND * 12_500, "flow {flow}: {stream:?}");
        }
        let pings = pings(network, 2);
        assert!(pings.answered > 400, "{pings:?}");
        assert!(network.passed(DomainId(2)).packets_out > 10_000);
    }
    assert_eq!(paths(&simulation.into_sink()), [(2, 0), (2, 1)]);
}

/// Two interfaces of one network in a guest, beside a second guest.
#[test]
fn two_interfaces_of_a_guest_at_one_card() {
    let cards = [card(
        0,
        vec![
            vif(1, &[IN, ping(2)]),
            vif(2, &[ping(2)]),
            vif(1, &[OUT, ping(2), udp_in(500)]),
        ],
    )];
    let domains = (0..3).map(|id| domain(id, 1)).collect();
    let simulation = after(SECOND, 3, domains, &cards);
    let network = simulation.host().device(0);
    let (to, from) = (stream(network, 0), stream(network, 3));
    assert!(to.acknowledged > SECOND * 25_000, "{to:?}");
    assert!(from.delivered > SECOND * 25_000, "{from:?}");
    for flow in [1, 2, 4] {
        let pings = pings(network, flow);
        assert!(pings.answered > 400, "flow {flow}: {pings:?}");
    }
    let passed = network.passed(DomainId(1));
    // Both interfaces count, each with a stream: at least two segments of three are data.
    let packets = (to.acknowledged + from.delivered) / 1_448;
    assert!(
        passed.packets_in + passed.packets_out > packets,
        "{passed:?}"
    );
    assert!(passed.bytes_in > to.acknowledged && passed.bytes_out > from.delivered);
}

/// One driver domain with two cards; the guests are behind one each.
#[test]
fn two_cards_in_one_driver_domain() {
    let cards = [
        card(0, vec![vif(1, &[IN, ping(2)])]),
        card(0, vec![vif(2, &[IN, ping(2)])]),
    ];
    let domains: Vec<_> = (0..3).map(|id| domain(id, 1)).collect();
    // How streams begin makes a difference for about a second.
    let time = 4 * SECOND;
    let simulation = after(time, 3, domains, &cards);
    let bytes = both(&simulation);
    // The driver domain takes 8 to 10 us a packet: both get what it can do, and as much each.
    is_fast(bytes[0] + bytes[1], time);
    let (least, most) = (bytes[0].min(bytes[1]), bytes[0].max(bytes[1]));
    assert!(least * 10 > most * 7, "{bytes:?}");
    for network in simulation.host().devices() {
        assert!(pings(network, 1).answered > 300);
    }
}

/// A guest behind one of two cards is destroyed under load: its card goes on for the other guest,
/// the other card does not notice.
#[test]
fn a_guest_of_one_card_goes() {
    let flows = [IN, OUT, udp_in(2_000), udp_out(2_000), ping(3)];
    let cards = [
        card(0, vec![vif(2, &flows), vif(4, &[ping(2)])]),
        card(1, vec![vif(3, &flows), vif(2, &flows)]),
    ];
    let mut domains: Vec<_> = (0..5).map(|id| domain(id, 1)).collect();
    domains[2].stop = Some(at(301));
    domains[3] = with(domains[3].clone(), 0, Workload::Burn);
    let mut simulation = {
        equip(&cards, &mut domains);
        let host = host(3, CREDIT_4_17, domains);
        simulation(&host, CREDIT_4_17, &cards, Records::default())
    };
    run(&mut simulation, 0, 301);
    let before = [0, 1].map(|card| simulation.host().device(card).passed(DomainId(2)));
    assert!(
        before.iter().all(|passed| passed.packets_in > 500),
        "{before:?}"
    );
    let other = |simulation: &Simulation<Records, Network>| {
        let first = pings(simulation.host().device(0), 5).answered;
        (first, stream(simulation.host().device(1), 0).acknowledged)
    };
    run(&mut simulation, 301, 310);
    let (gone, rest) = (
        [0, 1].map(|card| simulation.host().device(card).passed(DomainId(2))),
        other(&simulation),
    );
    run(&mut simulation, 310, SECOND);
    let after = [0, 1].map(|card| simulation.host().device(card).passed(DomainId(2)));
    assert_eq!(gone, after, "nothing passes a guest that is gone");
    let (pings, bytes) = other(&simulation);
    assert!(pings > rest.0 + 300, "{pings}");
    is_fast(bytes - rest.1, (SECOND - 310) / 2);
}

/// The same host twice does the same.
#[test]
fn two_networks_are_deterministic() {
    let records = || {
        let (domains, cards) = two_drivers();
        after(200, 2, domains, &cards).into_sink()
    };
    let (first, second) = (records(), records());
    assert!(first.len() > 10_000 && first[0].at == Instant::ZERO);
    assert!(first[..] == second[..]);
}
