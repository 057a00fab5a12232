//! Whole hosts: whatever goes through the driver domain, no packet is lost without a trace, and
//! streams deliver what was sent.

use crate::told::Records;
use domio_core::{DomainId, Duration, Instant, ParamValues, Topology, XenVersion};
use domio_net::class::{NetPlace, NetRecord};
use domio_net::host::{
    Assignment, FlowConfig, FlowKind, NetCosts, NetbackConfig, Network, NetworkConfig, RxMode,
    SmallPackets, StreamConfig, VifConfig, VifRate,
};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::{Nic, NicConfig};
use domio_net::packet::FlowId;
use domio_net::peer::Service;
use domio_net::queue::{Accounted as _, Ledger};
use domio_net::tcp::{TcpConfig, TcpStatistics};
use domio_net::udp::UdpConfig;
use domio_net::writers::WriterCosts;
use domio_vmm::config::{DomainConfig, GuestConfig, HostConfig, KernelCosts, VcpuConfig, Workload};
use domio_vmm::evtchn::{Abi, ScanForm, Width};
use domio_vmm::machine::OPTERON_242;
use domio_vmm::{Profile, Simulation};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// What a guest is made of.
#[derive(Clone, Debug)]
struct Guest {
    flows: Vec<FlowKind>,
    burns: bool,
    rate: Option<VifRate>,
    /// It is destroyed after so many milliseconds.
    stops: Option<u64>,
}

/// What a host is made of.
#[derive(Clone, Debug)]
struct Setup {
    pcpus: u16,
    /// A policy and the release whose rules it follows.
    policy: (&'static str, &'static str),
    guests: Vec<Guest>,
    /// Event channels of the driver domain and of the guests.
    abis: (Abi, Abi),
    rx_mode: RxMode,
    netback: NetbackConfig,
    /// The pair that each guest asks for, in turn.
    own_pairs: bool,
    nic: NicConfig,
    /// Vcpus of the driver domain that have queues of the card.
    card_vcpus: u16,
    /// How many packets the queue in front of the line holds.
    line_queue: usize,
    /// Of a million packets, so many are lost on the line.
    loss: u32,
    /// No work takes any time.
    free: bool,
    seed: u64,
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
    }
}

fn simulation(setup: &Setup) -> Simulation<Records, Network> {
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
        vcpu: 0,
        card_vcpus: setup.card_vcpus,
        netback: setup.netback,
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
    (1..4_u16, 1..6_u16, assign, small).prop_map(|(threads, pairs, assign, small)| NetbackConfig {
        threads,
        pairs,
        assign,
        small,
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

/// One guest with `flows` under a policy that does not matter, on a processor of its own.
fn alone(flows: Vec<FlowKind>, nic: NicConfig) -> Setup {
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
    let simulation = run(setup, ms(500));
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
    let records = run(&alone(vec![flood], NicConfig::TG3), ms(100)).into_sink();
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
