//! Whole hosts: whatever goes through the driver domain, no packet is lost without a trace, and
//! streams deliver what was sent.

use crate::alone::alone;
use crate::told::Records;
use domio_core::{DomainId, Duration, Instant, ParamValues, Topology, XenVersion};
use domio_net::class::NetPlace;
use domio_net::host::{
    Assignment, FlowConfig, FlowKind, NetCosts, NetbackConfig, NetbackForm, Network, NetworkConfig,
    RxMode, SmallPackets, StreamConfig, VifConfig, VifRate,
};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::packet::FlowId;
use domio_net::peer::Service;
use domio_net::queue::{Accounted as _, Ledger};
use domio_net::udp::UdpConfig;
use domio_net::writers::WriterCosts;
use domio_vmm::config::{
    DomainConfig, DomainKind, GuestConfig, HostConfig, KernelCosts, VcpuConfig, Workload,
};
use domio_vmm::evtchn::{Abi, ScanForm, Width};
use domio_vmm::hardware::OPTERON_242;
use domio_vmm::{Profile, Simulation};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// What a guest is made of.
#[derive(Clone, Debug)]
pub struct Guest {
    pub flows: Vec<FlowKind>,
    pub burns: bool,
    pub rate: Option<VifRate>,
    /// It is destroyed after so many milliseconds.
    pub stops: Option<u64>,
}

/// What a host is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    pub pcpus: u16,
    /// A policy and the release whose rules it follows.
    pub policy: (&'static str, &'static str),
    pub guests: Vec<Guest>,
    /// Event channels of the driver domain and of the guests.
    pub abis: (Abi, Abi),
    pub rx_mode: RxMode,
    pub netback: NetbackConfig,
    /// The pair that each guest asks for, in turn.
    pub own_pairs: bool,
    pub nic: NicConfig,
    /// Vcpus of the driver domain that have queues of the card.
    pub card_vcpus: u16,
    /// How many packets the queue in front of the line holds.
    pub line_queue: usize,
    /// Of a million packets, so many are lost on the line.
    pub loss: u32,
    /// No work takes any time.
    pub free: bool,
    pub seed: u64,
}

/// Credit in its three epochs (xen-spec 3), and SEDF of three releases.
const POLICIES: [(&str, &str); 6] = [
    ("credit", "3.1"),
    ("credit", "4.0"),
    ("credit", "4.17"),
    ("sedf", "3.0"),
    ("sedf", "3.1"),
    ("sedf", "4.2"),
];

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Both widths with each scan, and queues.
fn abis() -> Vec<Abi> {
    let of = |width| ScanForm::ALL.map(|scan| Abi::TwoLevel { width, scan });
    [of(Width::Bits32), of(Width::Bits64)]
        .into_iter()
        .flatten()
        .chain([Abi::Fifo])
        .collect()
}

fn domain(id: u16, policy: &str, guest: Option<&Guest>, vcpus: u16) -> DomainConfig {
    let policy = domio_sched::find(policy).expect("a shipped policy");
    let burns = guest.is_some_and(|g| g.burns);
    let stop = guest.and_then(|g| g.stops);
    DomainConfig {
        id: DomainId(id),
        name: format!("d{id}"),
        params: ParamValues::defaults(policy.descriptor.domain_params),
        guest: GuestConfig {
            tick: Some(ms(10)),
            ..GuestConfig::IDEAL
        },
        vcpus: vec![VcpuConfig::anywhere(burns.then_some(Workload::Burn)); vcpus.into()],
        start: Instant::ZERO,
        stop: stop.map(|after| Instant::ZERO + ms(after)),
        kind: DomainKind::Guest,
    }
}

/// The host of `setup`, about to begin.
pub fn simulation(setup: &Setup) -> Simulation<Records, Network> {
    let (name, version) = setup.policy;
    let policy = domio_sched::find(name).expect("a shipped policy");
    let mut params = ParamValues::defaults(policy.descriptor.params);
    params.choose("version", version).expect("a release");
    let mut domains = vec![domain(
        0,
        name,
        None,
        setup.netback.threads.max(setup.card_vcpus),
    )];
    let mut vifs = Vec::new();
    for (id, guest) in (1..).zip(&setup.guests) {
        domains.push(domain(id, name, Some(guest), 1));
        let flow = |(i, kind): (u64, &FlowKind)| FlowConfig {
            kind: *kind,
            start: ms(5 * u64::from(id) + 7 * i),
            stop: None,
        };
        vifs.push(VifConfig {
            behind: None,
            domain: DomainId(id),
            vcpu: 0,
            pair: setup.own_pairs.then_some(id % setup.netback.pairs),
            rate: guest.rate,
            rx_target: VifConfig::RX_TARGET,
            flows: (0..).zip(&guest.flows).map(flow).collect(),
        });
    }
    let (profile, costs, kernel, writers) = if setup.free {
        (
            Profile::IDEAL,
            NetCosts::FREE,
            KernelCosts::FREE,
            WriterCosts::FREE,
        )
    } else {
        (
            Profile::OPTERON_242,
            NetCosts::on(&OPTERON_242),
            KernelCosts::on(&OPTERON_242),
            WriterCosts::beside(&OPTERON_242),
        )
    };
    let config = NetworkConfig {
        driver: DomainId(0),
        nic: setup.nic,
        link: LinkConfig {
            rate: Rate::GBIT_1,
            latency: Duration::from_micros(30),
            queue: setup.line_queue,
        },
        remote_gap: setup.nic.gap,
        remote_irq_latency: Duration::from_micros(50),
        remote_writers: writers,
        costs,
        rx_mode: setup.rx_mode,
        grant_lock: false,
        vcpu: 0,
        card_vcpus: setup.card_vcpus,
        card_at: Vec::new(),
        softirqs: None,
        netback: setup.netback,
        local: None,
        behind: Vec::new(),
        other_ports: domio_net::host::OtherPorts::default(),
        vifs,
    };
    for (i, domain) in domains.iter_mut().enumerate() {
        domain.guest.abi = if i == 0 { setup.abis.0 } else { setup.abis.1 };
        domain.guest.costs = kernel;
    }
    config.equip(0, &mut domains);
    let topology = Topology::flat(setup.pcpus).expect("a few pcpus");
    let host = HostConfig {
        topology: topology.clone(),
        version: XenVersion::from_name(version).expect("a release"),
        profile,
        domains,
        groups: Vec::new(),
        pools: Vec::new(),
        actions: Vec::new(),
        controllers: Vec::new(),
    };
    let (seed, loss) = (setup.seed, setup.loss);
    Simulation::with_device(
        &host,
        (policy.make)(&params, &topology),
        |attach| Network::new(&config, attach, seed, 0).with_loss(seed, 0, loss),
        Records::default(),
        seed,
        0,
    )
}

fn flow() -> impl Strategy<Value = FlowKind> {
    let udp = |rate| UdpConfig {
        bytes: 1_000,
        rate,
        wake: Duration::ZERO,
        jitter: Duration::ZERO,
    };
    prop_oneof![
        Just(FlowKind::StreamIn(StreamConfig::XEN_2_6_18)),
        Just(FlowKind::StreamOut(StreamConfig::XEN_2_6_18)),
        Just(FlowKind::Ping(PingConfig::default())),
        Just(FlowKind::Ping(PingConfig {
            bytes: 1_400,
            pace: Pace::Flood(ms(1)),
            ticks: None,
        })),
        // The second is more than any host takes.
        prop_oneof![Just(2_000), Just(100_000)].prop_map(move |rate| FlowKind::UdpIn(udp(rate))),
        prop_oneof![Just(2_000), Just(40_000)].prop_map(move |rate| FlowKind::UdpOut(udp(rate))),
    ]
}

fn guest() -> impl Strategy<Value = Guest> {
    let rates = prop_oneof![
        2 => Just(None),
        1 => Just(Some(VifRate::bits_per_second(20_000_000))),
        // Less than a packet an interval.
        1 => Just(Some(VifRate { bytes: 700, interval: ms(4) })),
    ];
    (
        prop::collection::vec(flow(), 1..4),
        prop::bool::weighted(0.3),
        rates,
        prop::option::weighted(0.2, 20..180_u64),
    )
        .prop_map(|(flows, burns, rate, stops)| Guest {
            flows,
            burns,
            rate,
            stops,
        })
}

/// Up to five pairs of tasklets on up to three vcpus, with pools or without, large and small.
fn netback() -> impl Strategy<Value = NetbackConfig> {
    let assign = prop_oneof![Just(Assignment::RoundRobin), Just(Assignment::Hash)];
    let small = (
        any::<bool>(),
        any::<bool>(),
        prop_oneof![Just(256_u16), 1..9_u16],
    )
        .prop_map(|(out, inward, pages)| SmallPackets { out, inward, pages });
    let form = prop_oneof![
        Just(NetbackForm::V3_0),
        Just(NetbackForm::V3_0_3),
        Just(NetbackForm::V3_0_4),
        Just(NetbackForm::V3_1)
    ];
    (1..4_u16, 1..6_u16, assign, small, form).prop_map(|(threads, pairs, assign, small, form)| {
        NetbackConfig {
            threads,
            pairs,
            assign,
            small,
            form,
            kworkers: None,
        }
    })
}

fn setup() -> impl Strategy<Value = Setup> {
    let cards = [
        NicConfig::PLAIN,
        NicConfig::TG3,
        NicConfig::E1000,
        NicConfig::I40E,
        NicConfig::MLX5,
    ];
    let bus = prop_oneof![3 => Just(None), 1 => Just(Some(Rate::GBIT_1))];
    let queues = prop_oneof![2 => Just(None), 1 => (1..7_u16).prop_map(Some)];
    let nics = (prop::sample::select(cards.to_vec()), queues, bus, 1..4_u16).prop_map(
        |(nic, queues, bus, vcpus)| {
            let queues = queues.or(nic.queues);
            (NicConfig { queues, bus, ..nic }, vcpus)
        },
    );
    let abi = || prop::sample::select(abis());
    (
        (1..5_u16, prop::sample::select(POLICIES.to_vec())),
        prop::collection::vec(guest(), 1..5),
        (abi(), abi()),
        (
            prop_oneof![Just(RxMode::Flip), Just(RxMode::Copy)],
            netback(),
            any::<bool>(),
        ),
        nics,
        prop_oneof![Just(300_usize), Just(4)],
        prop_oneof![Just(0_u32), Just(1_000), Just(100_000)],
        prop::bool::weighted(0.2),
        0..1_000_u64,
    )
        .prop_map(
            |(on, guests, abis, netback, nic, line_queue, loss, free, seed)| Setup {
                pcpus: on.0,
                policy: on.1,
                guests,
                abis,
                rx_mode: netback.0,
                netback: netback.1,
                own_pairs: netback.2,
                nic: nic.0,
                card_vcpus: nic.1,
                line_queue,
                loss,
                free,
                seed,
            },
        )
}

/// No pool lent more pages than it has, small packets that found one went through the pool, and
/// there are no pools where none were asked for.
fn pools_keep_their_size(setup: &Setup, network: &Network) -> Result<(), TestCaseError> {
    let small = setup.netback.small;
    for id in (1..).take(setup.guests.len()) {
        let (out, inward) = network.by_path(DomainId(id));
        prop_assert_eq!((out.is_some(), inward.is_some()), (small.out, small.inward));
        for pool in [out, inward].into_iter().flatten() {
            prop_assert_eq!(pool.pages, u32::from(small.pages));
            prop_assert!(pool.most <= pool.pages && pool.no_page <= pool.granted);
            prop_assert!(pool.no_page == 0 || pool.most == pool.pages);
            prop_assert!(pool.no_page == 0 || small.pages < 256, "{:?}", pool);
        }
    }
    Ok(())
}

/// No datagram came after one of its flow that was sent later, at either end.
fn flows_keep_their_order(setup: &Setup, network: &Network) -> Result<(), TestCaseError> {
    let flows: usize = setup.guests.iter().map(|guest| guest.flows.len()).sum();
    for vif in 0..setup.guests.len() {
        for flow in 0..flows as u32 {
            for end in [network.guest(vif), network.remote()] {
                if let Some(Service::UdpSink(sink)) = end.service(FlowId(flow)) {
                    prop_assert_eq!(sink.out_of_order, 0, "flow {} of {}", flow, vif);
                }
            }
        }
    }
    Ok(())
}

/// Runs `setup` for a fifth of a second, and looks every 17 ms whether each packet was delivered,
/// was dropped at a place that has a name, or is under way. Then the trace has to say the same: no
/// packet leaves a place where none is, and none overtakes another of its flow on its way, or any
/// on its way to a guest, where the card has one queue.
fn nothing_is_lost(setup: &Setup) -> Result<(), TestCaseError> {
    let mut simulation = simulation(setup);
    for step in 1..=12 {
        let outcome = simulation.run(Instant::ZERO + ms(17) * step);
        prop_assert!(
            matches!(outcome, domio_sim::Outcome::Completed { .. }),
            "{outcome}"
        );
        let mut ledger = Ledger::new();
        simulation.host().device(0).account(&mut ledger);
        prop_assert!(ledger.check().is_ok(), "{:?}", ledger.check());
    }
    pools_keep_their_size(setup, simulation.host().device(0))?;
    flows_keep_their_order(setup, simulation.host().device(0))?;
    let one_queue = setup.nic.queues_on(setup.card_vcpus) == 1;
    let mut held: BTreeMap<(DomainId, NetPlace), i64> = BTreeMap::new();
    // Flows of the packets in the driver domain, by the guest that they are for.
    let mut lines: BTreeMap<DomainId, VecDeque<u32>> = BTreeMap::new();
    for record in simulation.into_sink() {
        if let Some((old, new)) = record.places() {
            let flow = record.flow();
            let line = lines.entry(record.vcpu.domain).or_default();
            let stops = record.vcpu.domain.index().checked_sub(1);
            let stops = stops.is_some_and(|guest| setup.guests[guest].stops.is_some());
            match (old, new) {
                _ if stops || !one_queue => {}
                (_, NetPlace::DriverIn) => line.push_back(flow),
                (NetPlace::DriverIn, NetPlace::RxRing) => {
                    prop_assert_eq!(line.pop_front(), Some(flow), "in order, {:?}", record);
                }
                // No queue stood still for so long that its packets are dropped: this came last.
                (NetPlace::DriverIn, _) => prop_assert_eq!(line.pop_back(), Some(flow)),
                _ => {}
            }
            *held.entry((record.vcpu.domain, new)).or_default() += 1;
            let left = held.entry((record.vcpu.domain, old)).or_default();
            *left -= 1;
            prop_assert!(old == NetPlace::Outside || *left >= 0, "{record:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// At any time each packet was delivered, was dropped at a place that has a name, or is under
    /// way: on one to four pcpus, under each policy that Xen had, whatever the kernels' event
    /// channels, with limits, losses, and guests that go.
    #[test]
    fn a_host_loses_no_packet_without_a_trace(setup in setup()) {
        nothing_is_lost(&setup)?;
    }
}

/// The property above draws some of what it ranges over; here is all of it once, under load both
/// ways.
#[test]
fn each_policy_and_each_event_channel_loses_nothing() {
    let udp = |rate| UdpConfig {
        bytes: 1_000,
        rate,
        wake: Duration::ZERO,
        jitter: Duration::ZERO,
    };
    let guest = |rate, stops: Option<u64>| Guest {
        flows: vec![
            FlowKind::StreamIn(StreamConfig::XEN_2_6_18),
            FlowKind::StreamOut(StreamConfig::XEN_2_6_18),
            FlowKind::Ping(PingConfig::default()),
            FlowKind::UdpIn(udp(5_000)),
            FlowKind::UdpOut(udp(5_000)),
        ],
        burns: stops.is_some(),
        rate,
        stops,
    };
    let abis = abis();
    let policies = POLICIES.into_iter().cycle();
    for (i, (abi, policy)) in (0..).zip(abis.iter().zip(policies)) {
        for pcpus in 1..=4 {
            let setup = Setup {
                pcpus,
                policy,
                guests: vec![
                    guest(None, None),
                    guest(Some(VifRate::bits_per_second(20_000_000)), None),
                    guest(None, Some(101)),
                ],
                abis: (*abi, abis[(i + usize::from(pcpus)) % abis.len()]),
                rx_mode: RxMode::Flip,
                netback: NetbackConfig::ONE,
                own_pairs: false,
                nic: NicConfig::TG3,
                card_vcpus: 1,
                line_queue: 100,
                loss: 10_000,
                free: false,
                seed: 1,
            };
            nothing_is_lost(&setup).unwrap_or_else(|why| panic!("{setup:?}: {why}"));
        }
    }
}

/// More than the host takes, of several flows: the queue of 32 stops and goes on all the time.
#[test]
fn packets_to_a_guest_keep_their_order() {
    let udp = |rate| {
        FlowKind::UdpIn(UdpConfig {
            bytes: 100,
            rate,
            wake: Duration::ZERO,
            jitter: Duration::ZERO,
        })
    };
    for (pcpus, burns) in [(1, true), (2, false), (2, true), (3, true), (4, true)] {
        let flows = [300_000, 300_100, 300_200, 300_300, 300_400].map(udp);
        let one = alone(flows.into(), NicConfig::E1000);
        let guest = Guest {
            burns,
            ..one.guests[0].clone()
        };
        let setup = Setup {
            pcpus,
            guests: vec![guest.clone(), guest],
            rx_mode: RxMode::Copy,
            ..one
        };
        nothing_is_lost(&setup).unwrap_or_else(|why| panic!("{setup:?}: {why}"));
    }
}
