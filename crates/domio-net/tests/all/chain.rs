//! Driver domains behind each other, and netback on several vcpus: each packet passes all of
//! them, each of which works for whom the packet is, and the books balance.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use domio_core::{DomainId, Instant, VcpuName};
use domio_net::class::NetPlace;
use domio_net::host::{FlowKind, NetbackConfig, Network, NetworkConfig};
use domio_net::link::{LinkConfig, Rate};
use domio_vmm::Simulation;
use domio_vmm::bus::Device as _;
use std::collections::BTreeMap;

const OUTER: u16 = 0;
const MIDDLE: u16 = 1;
const SECOND: u64 = 1_000;

/// Domain 0 has the card, domain 1 a vif there, and domains from 2 on are behind it, with these
/// flows each.
fn chain(flows: &[&[FlowKind]]) -> NetworkConfig {
    let mut whole = card(OUTER, vec![vif(MIDDLE, &[])]);
    let vifs = (2..).zip(flows).map(|(id, flows)| vif(id, flows));
    whole.add_behind(0, card(MIDDLE, vifs.collect()));
    whole
}

/// The host after so many ms, with a vcpu for each domain but `more` for driver domains.
fn ran(config: NetworkConfig, vcpus: usize, time: u64) -> Simulation<Records, Network> {
    let last = config.vifs.iter().map(|v| v.domain.0).max().expect("a vif");
    let drives = |id: u16| id == OUTER || config.behind.iter().any(|b| b.driver.0 == id);
    let domain_of = |id| domain(id, if drives(id) { vcpus } else { 1 });
    let mut domains: Vec<_> = (0..=last).map(domain_of).collect();
    let cards = [config];
    equip(&cards, &mut domains);
    let host = host(8, CREDIT_3_1, domains);
    let mut simulation = simulation(&host, CREDIT_3_1, &cards, Records::default());
    simulation.host_mut().mark(Instant::ZERO);
    run(&mut simulation, 0, time);
    simulation.host_mut().mark(at(time));
    simulation
}

/// Packets that went from one place to another, by the guest of the path and the driver domain.
fn moves(records: &Records) -> BTreeMap<(u16, u16, NetPlace, NetPlace), u64> {
    let mut moves = BTreeMap::new();
    for record in records {
        if let (Some((from, to)), Some(driver)) = (record.places(), record.other) {
            let path = (record.vcpu.domain.0, driver.domain.0, from, to);
            *moves.entry(path).or_default() += 1;
        }
    }
    moves
}

/// Ns that each vcpu worked for each domain.
fn work(records: &Records) -> BTreeMap<(VcpuName, u16), u64> {
    let mut work = BTreeMap::new();
    for record in records.iter().filter(|r| r.is(Kind::DriverWork)) {
        let (guest, ns) = Record::done_for(record).expect("work is for somebody");
        *work.entry((record.vcpu, guest.0)).or_default() += ns;
    }
    work
}

/// Datagrams both ways: what passes one driver domain passes the other, place by place.
#[test]
fn a_packet_passes_both_driver_domains() {
    use NetPlace::*;
    let simulation = ran(chain(&[&[udp_in(2_000), udp_out(1_000)]]), 1, SECOND);
    let network = simulation.host().device(0);
    let (outer, middle) = (DomainId(OUTER), DomainId(MIDDLE));
    let of_middle = network.counted(outer, middle);
    let of_guest = network.counted(middle, DomainId(2));
    assert!(
        of_guest.received > 1_900 && of_guest.sent > 900,
        "{of_guest:?}"
    );
    assert_eq!(network.counted(outer, DomainId(2)).received, 0);
    // A few are between the two, and questions for addresses.
    assert!(of_middle.received.abs_diff(of_guest.received) < 10);
    assert!(of_middle.sent.abs_diff(of_guest.sent) < 10);
    let records = simulation.into_sink();
    records.are_true();
    let moves = moves(&records);
    let n = |path| moves.get(&path).copied().unwrap_or(0);
    for (driver, guest) in [(OUTER, MIDDLE), (MIDDLE, 2)] {
        for (from, to) in [(DriverIn, RxRing), (RxRing, GuestIn), (GuestIn, Outside)] {
            assert!(
                n((guest, driver, from, to)) > 1_900,
                "{guest} {from:?} {moves:?}"
            );
        }
        for (from, to) in [
            (GuestOut, TxRing),
            (TxRing, DriverOut),
            (DriverOut, Outside),
        ] {
            assert!(
                n((guest, driver, from, to)) > 900,
                "{guest} {from:?} {moves:?}"
            );
        }
    }
    assert!(
        n((MIDDLE, OUTER, Outside, Card)) > 1_900,
        "the card is on the first path"
    );
    assert_eq!(n((2, MIDDLE, Outside, Card)), 0, "{moves:?}");
}

/// Both driver domains work for the guest behind, by its packets.
#[test]
fn every_driver_domain_works_for_who_gets_and_sends() {
    let flows: [&[FlowKind]; 2] = [
        &[udp_in(1_000), udp_out(1_000)],
        &[udp_in(3_000), udp_out(3_000)],
    ];
    let records = ran(chain(&flows), 1, SECOND).into_sink();
    let work = work(&records);
    for driver in [OUTER, MIDDLE] {
        let of = |guest| {
            work.get(&(VcpuName::new(DomainId(driver), 0), guest))
                .copied()
        };
        let (once, thrice) = (of(2).expect("work"), of(3).expect("work"));
        assert!(once > 10_000_000, "{driver}: {work:?}");
        // Not quite three times: packets that come together share an interrupt.
        let percent = thrice * 100 / once;
        assert!(
            (230..=340).contains(&percent),
            "{driver}: {percent} {work:?}"
        );
    }
    // The event of an interface is its own domain's.
    let own = work
        .get(&(VcpuName::new(DomainId(OUTER), 0), MIDDLE))
        .copied();
    assert!(own.is_some_and(|ns| ns > 1_000_000), "{work:?}");
}

/// What a stream gets through a chain is limited by the domain that has most to do, and a chain of
/// two middles costs the guest more than one of one.
#[test]
fn each_hop_costs() {
    let direct = ran(card(OUTER, vec![vif(1, &[IN])]), 1, SECOND);
    let one = ran(chain(&[&[IN]]), 1, SECOND);
    let mut deeper = chain(&[&[]]);
    deeper.add_behind(1, card(2, vec![vif(3, &[IN, ping(2)])]));
    let two = ran(deeper, 1, SECOND);
    let bytes = |s: &Simulation<Records, Network>| stream(s.host().device(0), 0).acknowledged;
    let all = [bytes(&direct), bytes(&one), bytes(&two)];
    assert!(all.iter().all(|bytes| *bytes > 20_000_000), "{all:?}");
    assert!(all[0] >= all[1] && all[1] >= all[2], "{all:?}");
    let trips = pings(two.host().device(0), 1);
    assert!(trips.answered > 100, "{trips:?}");
    let records = two.into_sink();
    records.are_true();
    let work = work(&records);
    for driver in [OUTER, MIDDLE, 2] {
        let own = work.get(&(VcpuName::new(DomainId(driver), 0), 3));
        assert!(
            own.is_some_and(|ns| *ns > 100_000_000),
            "{driver}: {work:?}"
        );
    }
}

/// The middle domain has traffic of its own beside that of others, and takes what is for it alone.
#[test]
fn the_domain_in_the_middle_has_flows_of_its_own() {
    let mut whole = card(OUTER, vec![vif(MIDDLE, &[ping(2), OUT])]);
    whole.add_behind(0, card(MIDDLE, vec![vif(2, &[OUT, ping(2)])]));
    let simulation = ran(whole, 1, SECOND);
    let network = simulation.host().device(0);
    assert!(pings(network, 0).answered > 100 && pings(network, 3).answered > 100);
    assert!(network.bytes_streamed() == 0, "none is to a guest");
    simulation.into_sink().are_true();
}

/// Netback on two vcpus: interfaces take turns, both vcpus work, and guests get more where one vcpu
/// is not enough.
#[test]
fn netback_on_two_vcpus_serves_more() {
    let guests = |threads| {
        let one = card(OUTER, (1..=4).map(|id| vif(id, &[IN])).collect());
        let config = NetworkConfig {
            netback: NetbackConfig::spread(threads),
            link: LinkConfig {
                rate: Rate::bits_per_second(10_000_000_000),
                ..one.link
            },
            ..one
        };
        ran(config, 2, SECOND)
    };
    let (one, two) = (guests(1), guests(2));
    let bytes = |s: &Simulation<Records, Network>| s.host().device(0).bytes_streamed();
    let (before, after) = (bytes(&one), bytes(&two));
    assert!(after * 100 > before * 110, "{before} {after}");
    let by_vcpu = |s: Simulation<Records, Network>| {
        let records = s.into_sink();
        records.are_true();
        work(&records)
    };
    let vcpu = |v| VcpuName::new(DomainId(OUTER), v);
    let (one, two) = (by_vcpu(one), by_vcpu(two));
    assert!(one.keys().all(|(v, _)| *v == vcpu(0)), "{one:?}");
    for guest in 1..=4 {
        let second = two.get(&(vcpu(1), guest)).copied().unwrap_or(0);
        // The card's interrupt and the bridge are vcpu 0's for all of them.
        assert!(two.contains_key(&(vcpu(0), guest)), "{two:?}");
        assert_eq!(second > 10_000_000, guest % 2 == 0, "{guest}: {two:?}");
    }
}

/// Up to Xen 4.1 one vcpu of a domain at a time is in a call about grants. One vcpu has nobody to
/// wait for. Two do; that they get less done is not said: while one waits its batch grows, and a
/// batch has one flush of the TLB.
#[test]
fn vcpus_of_netback_wait_for_each_other_where_grants_have_one_lock() {
    let bytes = |threads, grant_lock| {
        let one = card(OUTER, (1..=4).map(|id| vif(id, &[IN])).collect());
        let config = NetworkConfig {
            netback: NetbackConfig::spread(threads),
            grant_lock,
            link: LinkConfig {
                rate: Rate::bits_per_second(10_000_000_000),
                ..one.link
            },
            ..one
        };
        ran(config, 2, SECOND).host().device(0).bytes_streamed()
    };
    let alone = bytes(1, true);
    assert_eq!(alone, bytes(1, false));
    let (locked, free) = (bytes(2, true), bytes(2, false));
    assert_ne!(locked, free);
    // The rest of the work is done by both at a time still.
    assert!(locked > alone, "{locked}");
}

/// A chain whose domains have netback on two vcpus each, with everything at once.
#[test]
fn a_chain_may_spread_its_work() {
    let mut config = chain(&[&[IN, ping(3)], &[OUT, udp_in(500)], &[udp_out(2_000), OUT]]);
    config.netback = NetbackConfig::spread(2);
    config.behind[0].netback = NetbackConfig::spread(2);
    let simulation = ran(config, 2, SECOND);
    let records = simulation.into_sink();
    records.are_true();
    let work = work(&records);
    let second = VcpuName::new(DomainId(MIDDLE), 1);
    assert!(
        work.get(&(second, 3)).is_some_and(|ns| *ns > 1_000_000),
        "{work:?}"
    );
}

#[test]
#[should_panic(expected = "in a circle")]
fn a_circle_of_driver_domains_is_refused() {
    let mut config = chain(&[&[], &[]]);
    config.behind[0].uplink = 1;
    config.behind[0].driver = DomainId(2);
    ran(config, 1, 1);
}
