//! Whole hosts: whatever goes through the driver domain, no packet is lost without a trace, and
//! streams deliver what was sent.

use domio_core::{DomainId, Duration, Instant, Kind, ParamValues, Record, Topology, XenVersion};
use domio_net::host::{
    FlowConfig, FlowKind, KernelCosts, NetCosts, Network, NetworkConfig, RxMode, VifConfig, VifRate,
};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::queue::{Accounted as _, Ledger};
use domio_net::tcp::TcpConfig;
use domio_net::udp::UdpConfig;
use domio_vmm::config::{DomainConfig, GuestConfig, HostConfig, VcpuConfig, Workload};
use domio_vmm::evtchn::{Abi, ScanForm, Width};
use domio_vmm::{Profile, Simulation};
use proptest::prelude::*;

/// What a host is made of.
#[derive(Clone, Debug)]
struct Setup {
    /// By guest: its flow, and whether it burns besides.
    guests: Vec<(FlowKind, bool)>,
    scan: ScanForm,
    rx_mode: RxMode,
    nic: NicConfig,
    /// No work takes any time.
    free: bool,
    seed: u64,
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn domain(id: u16, burns: bool) -> DomainConfig {
    let policy = domio_sched::find("credit").expect("a shipped policy");
    DomainConfig {
        id: DomainId(id),
        name: format!("d{id}"),
        params: ParamValues::defaults(policy.descriptor.domain_params),
        guest: GuestConfig {
            tick: Some(ms(10)),
            ..GuestConfig::IDEAL
        },
        vcpus: vec![VcpuConfig::anywhere(burns.then_some(Workload::Burn))],
        start: Instant::ZERO,
        stop: None,
    }
}

fn simulation(setup: &Setup) -> Simulation<Vec<Record>, Network> {
    let policy = domio_sched::find("credit").expect("a shipped policy");
    let mut params = ParamValues::defaults(policy.descriptor.params);
    params.choose("version", "3.1").expect("a release");
    let mut domains = vec![domain(0, false)];
    let mut vifs = Vec::new();
    for (id, (kind, burns)) in (1..).zip(&setup.guests) {
        domains.push(domain(id, *burns));
        vifs.push(VifConfig {
            domain: DomainId(id),
            rate: (id == 2).then(|| VifRate::bits_per_second(20_000_000)),
            flows: vec![FlowConfig {
                kind: *kind,
                start: ms(5 * u64::from(id)),
            }],
        });
    }
    let (profile, costs, kernel) = if setup.free {
        (Profile::IDEAL, NetCosts::FREE, KernelCosts::FREE)
    } else {
        (
            Profile::OPTERON_242,
            NetCosts::OPTERON_242,
            KernelCosts::OPTERON_242,
        )
    };
    let abi = Abi::TwoLevel {
        width: Width::Bits64,
        scan: setup.scan,
    };
    let config = NetworkConfig {
        driver: DomainId(0),
        nic: setup.nic,
        link: LinkConfig {
            rate: Rate::GBIT_1,
            latency: Duration::from_micros(30),
            queue: 300,
        },
        remote_gap: setup.nic.gap,
        costs,
        rx_mode: setup.rx_mode,
        driver_kernel: NetworkConfig::kernel(abi, kernel),
        guest_kernel: NetworkConfig::kernel(abi, kernel),
        vifs,
    };
    let topology = Topology::flat(1).expect("one pcpu");
    let host = HostConfig {
        topology: topology.clone(),
        version: XenVersion::V3_1,
        profile,
        domains,
        actions: Vec::new(),
    };
    Simulation::with_devices(
        &host,
        (policy.make)(&params, &topology),
        |timers| Network::new(&config, timers, setup.seed, 0),
        Vec::new(),
        setup.seed,
        0,
    )
}

fn flow() -> impl Strategy<Value = FlowKind> {
    let udp = |rate| UdpConfig { bytes: 1_000, rate };
    prop_oneof![
        Just(FlowKind::StreamIn(TcpConfig::XEN_2_6_18)),
        Just(FlowKind::StreamOut(TcpConfig::XEN_2_6_18)),
        Just(FlowKind::Ping(PingConfig::default())),
        Just(FlowKind::Ping(PingConfig {
            bytes: 1_400,
            pace: Pace::Flood(ms(1)),
        })),
        // The second is more than any host takes.
        prop_oneof![Just(2_000), Just(100_000)].prop_map(move |rate| FlowKind::UdpIn(udp(rate))),
        prop_oneof![Just(2_000), Just(40_000)].prop_map(move |rate| FlowKind::UdpOut(udp(rate))),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
    let nics = prop_oneof![
        Just(NicConfig::PLAIN),
        Just(NicConfig::TG3),
        Just(NicConfig::E1000)
    ];
    (
        prop::collection::vec((flow(), prop::bool::weighted(0.3)), 1..5),
        prop::sample::select(ScanForm::ALL.to_vec()),
        prop_oneof![Just(RxMode::Flip), Just(RxMode::Copy)],
        nics,
        prop::bool::weighted(0.2),
        0..1_000_u64,
    )
        .prop_map(|(guests, scan, rx_mode, nic, free, seed)| Setup {
            guests,
            scan,
            rx_mode,
            nic,
            free,
            seed,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// At any time each packet was delivered, was dropped at a place that has a name, or is under
    /// way.
    #[test]
    fn a_host_loses_no_packet_without_a_trace(setup in setup()) {
        let mut simulation = simulation(&setup);
        for step in 1..=12 {
            let outcome = simulation.run(Instant::ZERO + ms(17) * step);
            prop_assert!(matches!(outcome, domio_sim::Outcome::Completed { .. }), "{outcome}");
            let mut ledger = Ledger::new();
            simulation.host().devices().account(&mut ledger);
            prop_assert!(ledger.check().is_ok(), "{:?}", ledger.check());
        }
    }
}

/// What the trace says of bytes delivered is what the remote host's connection has seen
/// acknowledged, but for what is under way.
#[test]
fn a_stream_delivers_what_is_acknowledged() {
    let stream = FlowKind::StreamIn(TcpConfig::XEN_2_6_18);
    let setup = Setup {
        guests: vec![(stream, false)],
        scan: ScanForm::RoundRobin,
        rx_mode: RxMode::Flip,
        nic: NicConfig::TG3,
        free: false,
        seed: 1,
    };
    let mut simulation = simulation(&setup);
    let outcome = simulation.run(Instant::ZERO + ms(500));
    assert!(
        matches!(outcome, domio_sim::Outcome::Completed { .. }),
        "{outcome}"
    );
    let remote = simulation.host().devices().remote();
    let Some(domio_net::peer::Service::Tcp(end)) = remote.service(domio_net::packet::FlowId(0))
    else {
        panic!("the remote host streams");
    };
    let acknowledged = end.connection().statistics().acknowledged;
    let records = simulation.into_sink();
    let delivered: u64 = records
        .iter()
        .filter(|r| r.kind == Kind::NetDelivered)
        .map(|r| u64::from(r.data[2]) | u64::from(r.data[3]) << 32)
        .sum();
    // 60 % of the line over most of half a second, at least.
    assert!(acknowledged > 25_000_000, "{acknowledged}");
    let window = u64::from(TcpConfig::XEN_2_6_18.receive_buffer);
    assert!(
        delivered.abs_diff(acknowledged) <= window,
        "{delivered} of {acknowledged}"
    );
}
