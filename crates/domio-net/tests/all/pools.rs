//! Pools for small packets, and pairs of tasklets: what each is good for, to whom the time goes,
//! and what an interface without them is spared.

use crate::site::*;
use crate::told::Records;
use domio_core::{DomainId, VcpuName};
use domio_net::host::{
    Assignment, ByPath, FlowKind, NetbackConfig, Network, NetworkConfig, RxMode, SmallPackets,
};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_vmm::Simulation;

const SECOND: u64 = 1_000;

const POOL: SmallPackets = SmallPackets {
    out: true,
    inward: true,
    pages: SmallPackets::PAGES,
};

/// A card with guests that all have these flows, on a line that is never the limit.
fn guests(n: u16, flows: &[FlowKind], netback: NetbackConfig) -> NetworkConfig {
    let one = card(0, (1..=n).map(|id| vif(id, flows)).collect());
    NetworkConfig {
        netback,
        link: LinkConfig {
            rate: Rate::bits_per_second(10_000_000_000),
            ..one.link
        },
        ..one
    }
}

fn small(small: SmallPackets) -> NetbackConfig {
    NetbackConfig {
        small,
        ..NetbackConfig::ONE
    }
}

/// The host after a second, where the driver domain has so many vcpus.
fn ran(config: NetworkConfig, vcpus: usize) -> Simulation<Records, Network> {
    let last = config.vifs.iter().map(|v| v.domain.0).max().unwrap_or(0);
    let domains = (0..=last).map(|id| domain(id, if id == 0 { vcpus } else { 1 }));
    after(SECOND, 8, domains.collect(), &[config])
}

fn paths(simulation: &Simulation<Records, Network>, guest: u16) -> [ByPath; 2] {
    let (out, inward) = simulation.host().device(0).by_path(DomainId(guest));
    [out, inward].map(|path| path.expect("a pool"))
}

/// Datagrams that the remote host got of all `n` guests.
fn sent(simulation: &Simulation<Records, Network>, n: u32) -> u64 {
    let network = simulation.host().device(0);
    (0..n).map(|flow| datagrams(network, flow)).sum()
}

/// Time of the driver domain for `guest`, in ns.
fn work_for(simulation: Simulation<Records, Network>, guest: u16) -> u64 {
    let records = simulation.into_sink();
    records.are_true();
    let work = records.iter().filter_map(|record| record.done_for());
    let own = work.filter(|(owner, _)| *owner == DomainId(guest));
    own.map(|(_, ns)| ns).sum()
}

/// More than the driver domain takes: a pool spares it two grant operations of each packet from a
/// guest, and the transfer of each to a guest.
#[test]
fn small_packets_are_more_with_a_pool() {
    let out = |config| sent(&ran(guests(4, &[udp_out(60_000)], small(config)), 1), 4);
    let (grants, pool) = (out(SmallPackets::GRANTS), out(POOL));
    assert!(pool * 100 > grants * 110, "{grants} {pool}");
    let got = |config| {
        let simulation = ran(guests(1, &[udp_in(200_000)], small(config)), 1);
        let network = simulation.host().device(0);
        domio_vmm::bus::Device::passed(network, DomainId(1)).packets_in
    };
    let (grants, pool) = (got(SmallPackets::GRANTS), got(POOL));
    assert!(pool * 100 > grants * 105, "{grants} {pool}");
}

/// Each direction has its own pool, and each pool its own direction.
#[test]
fn a_pool_of_one_direction_leaves_the_other_alone() {
    let flows = [udp_in(1_000), udp_out(1_000)];
    let both = ran(guests(1, &flows, small(POOL)), 1);
    for path in paths(&both, 1) {
        assert!(path.pooled > 900 && path.granted == 0, "{path:?}");
        assert!((1..=256).contains(&path.most), "{path:?}");
    }
    for (out, inward) in [(true, false), (false, true)] {
        let one = SmallPackets {
            out,
            inward,
            ..POOL
        };
        let simulation = ran(guests(1, &flows, small(one)), 1);
        let (from, to) = simulation.host().device(0).by_path(DomainId(1));
        assert_eq!((from.is_some(), to.is_some()), (out, inward));
    }
}

/// Frames of over a page go as they went before: to the byte where nothing small goes beside them.
#[test]
fn large_packets_are_not_touched() {
    let stream = |netback| {
        let one = guests(1, &[OUT], netback);
        let config = NetworkConfig {
            nic: NicConfig::I40E,
            rx_mode: RxMode::Copy,
            ..one
        };
        ran(config, 1)
    };
    let out_only = SmallPackets {
        inward: false,
        ..POOL
    };
    let (grants, pool) = (stream(NetbackConfig::ONE), stream(small(out_only)));
    let (path, _) = pool.host().device(0).by_path(DomainId(1));
    let path = path.expect("a pool");
    assert!(path.granted > 1_000 && path.no_page == 0, "{path:?}");
    assert!(path.pooled * 20 < path.granted, "{path:?}");
    let passed = |s: &Simulation<Records, Network>| {
        domio_vmm::bus::Device::passed(s.host().device(0), DomainId(1)).bytes_out
    };
    let (before, after) = (passed(&grants), passed(&pool));
    assert!(before.abs_diff(after) * 100 < before, "{before} {after}");
}

/// A pool that is too small lends what it has, and nothing is lost.
#[test]
fn who_finds_no_page_has_a_grant() {
    let few = SmallPackets { pages: 1, ..POOL };
    let simulation = ran(guests(2, &[udp_out(40_000), udp_in(40_000)], small(few)), 1);
    for guest in [1, 2] {
        for path in paths(&simulation, guest) {
            assert_eq!((path.pages, path.most), (1, 1), "{path:?}");
            assert!(path.pooled > 0 && path.granted > 0, "{path:?}");
            assert_eq!(path.granted, path.no_page, "all are small: {path:?}");
        }
    }
}

/// 2,000 datagrams of 1,042 bytes, by the Opteron's table: map and unmap are 1.1 us of each, and
/// two hypercalls of 0.3 us and a flush of the TLB of 2 us of each batch, which is a packet here.
#[test]
fn the_driver_domain_is_spared_what_grants_cost() {
    let work = |config| work_for(ran(guests(1, &[udp_out(2_000)], small(config)), 1), 1);
    let spared = work(SmallPackets::GRANTS) - work(POOL);
    let each = spared / 1_990;
    assert!((3_600..=3_800).contains(&each), "{each} ns of a packet");
}

/// Pairs may be fewer than vcpus, and more: two pairs of a vcpu share its softirq.
#[test]
fn pairs_are_bound_to_vcpus_in_turn() {
    let bound = |threads, pairs, own: [Option<u16>; 4]| -> Vec<u16> {
        let netback = NetbackConfig {
            pairs,
            ..NetbackConfig::spread(threads)
        };
        let mut config = guests(4, &[udp_out(2_000)], netback);
        for (vif, pair) in config.vifs.iter_mut().zip(own) {
            vif.pair = pair;
        }
        let records = ran(config, usize::from(threads)).into_sink();
        records.are_true();
        let mine = |guest: u16| {
            // A packet of a guest is answered, and passes the bridge, where its pair is.
            let work = records.iter().filter_map(|r| Some((r.vcpu, r.done_for()?)));
            let own = work.filter(|(_, (owner, _))| owner.0 == guest);
            let mut by_vcpu = [0; 4];
            for (vcpu, (_, ns)) in own {
                assert_eq!(vcpu, VcpuName::new(DomainId(0), vcpu.index));
                by_vcpu[usize::from(vcpu.index)] += ns;
            }
            let most = (0..4).max_by_key(|v| by_vcpu[usize::from(*v)]);
            most.expect("four vcpus")
        };
        (1..=4).map(mine).collect()
    };
    assert_eq!(bound(2, 2, [None; 4]), [0, 1, 0, 1]);
    assert_eq!(bound(4, 2, [None; 4]), [0, 1, 0, 1]);
    assert_eq!(bound(2, 4, [None; 4]), [0, 1, 0, 1]);
    let own = [Some(2), Some(2), None, Some(0)];
    assert_eq!(bound(3, 3, own), [2, 2, 2, 0]);
}

/// A hash may give one pair more than its share; all packets arrive.
#[test]
fn a_hash_serves_everybody() {
    let netback = NetbackConfig {
        assign: Assignment::Hash,
        ..NetbackConfig::spread(3)
    };
    let simulation = ran(guests(6, &[udp_out(1_000)], netback), 3);
    let network = simulation.host().device(0);
    for flow in 0..6 {
        assert!(datagrams(network, flow) > 980, "flow {flow}");
    }
}

/// When a guest goes, its pages are nobody's any more, and those of others are as they were.
#[test]
fn pages_come_back() {
    let mut config = guests(2, &[udp_out(3_000), udp_in(3_000)], small(POOL));
    for flow in config.vifs.iter_mut().flat_map(|vif| &mut vif.flows) {
        flow.stop = Some(ms(900));
    }
    let simulation = ran(config, 1);
    let network = simulation.host().device(0);
    assert_eq!(network.pool_pages_used(), (0, 0));
}
