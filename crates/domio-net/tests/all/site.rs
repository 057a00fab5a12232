//! Hosts with any number of cards, driver domains and guests: short ways to make them, to run them
//! and to ask how their flows went.

use crate::told::Records;
use domio_contract::Scheduler;
use domio_core::{DomainId, Duration, Instant, ParamValues, Sink, Topology, XenVersion};
use domio_net::host::{
    FlowConfig, FlowKind, NetCosts, NetbackConfig, Network, NetworkConfig, RxMode, StreamConfig,
    VifConfig,
};
use domio_net::icmp::{Pace, PingConfig, PingStatistics};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::packet::FlowId;
use domio_net::peer::Service;
use domio_net::queue::Ledger;
use domio_net::tcp::TcpStatistics;
use domio_net::udp::UdpConfig;
use domio_net::writers::WriterCosts;
use domio_sim::Outcome;
use domio_vmm::bus::Assembly;
use domio_vmm::config::{
    DomainConfig, DomainKind, GuestConfig, HostConfig, KernelCosts, VcpuConfig, Workload,
};
use domio_vmm::hardware::{OPTERON_242, XEON_E5};
use domio_vmm::{Profile, Simulation};

pub fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn at(ms: u64) -> Instant {
    Instant::ZERO + self::ms(ms)
}

/// A policy and the release whose rules it follows.
pub const CREDIT_3_1: (&str, &str) = ("credit", "3.1");
pub const CREDIT_4_17: (&str, &str) = ("credit", "4.17");

/// The domain with this id and as many vcpus, with the kernel of an Opteron 242.
pub fn domain(id: u16, vcpus: usize) -> DomainConfig {
    DomainConfig {
        id: DomainId(id),
        name: format!("d{id}"),
        params: ParamValues::defaults(&[]),
        guest: GuestConfig {
            tick: Some(ms(10)),
            costs: KernelCosts::on(&OPTERON_242),
            ..GuestConfig::IDEAL
        },
        vcpus: vec![VcpuConfig::anywhere([]); vcpus],
        start: Instant::ZERO,
        stop: None,
        kind: DomainKind::Guest,
    }
}

/// The same domain, whose vcpu `vcpu` also has this to do.
pub fn with(mut domain: DomainConfig, vcpu: usize, workload: Workload) -> DomainConfig {
    domain.vcpus[vcpu].tasks.push(workload.into());
    domain
}

/// A card of `driver` on an Opteron 242, with a line of 1 Gb/s.
pub fn card(driver: u16, vifs: Vec<VifConfig>) -> NetworkConfig {
    NetworkConfig {
        driver: DomainId(driver),
        nic: NicConfig::TG3,
        link: LinkConfig {
            rate: Rate::GBIT_1,
            latency: us(30),
            queue: 300,
        },
        remote_gap: NicConfig::TG3.gap,
        remote_irq_latency: us(50),
        remote_writers: WriterCosts::beside(&OPTERON_242),
        costs: NetCosts::on(&OPTERON_242),
        rx_mode: RxMode::Flip,
        grant_lock: false,
        vcpu: 0,
        card_vcpus: 1,
        card_at: Vec::new(),
        softirqs: None,
        netback: NetbackConfig::ONE,
        local: None,
        behind: Vec::new(),
        other_ports: domio_net::host::OtherPorts::default(),
        vifs,
    }
}

/// An interface of `domain` at its first vcpu, whose flows begin after 5 ms, 6 ms and so on.
pub fn vif(domain: u16, flows: &[FlowKind]) -> VifConfig {
    let flow = |(i, kind): (u64, &FlowKind)| FlowConfig {
        kind: *kind,
        start: ms(5 + i),
        stop: None,
    };
    VifConfig {
        behind: None,
        domain: DomainId(domain),
        vcpu: 0,
        pair: None,
        rate: None,
        rx_target: VifConfig::RX_TARGET,
        flows: (0..).zip(flows).map(flow).collect(),
    }
}

/// A stream to the guest, and one from it.
pub const IN: FlowKind = FlowKind::StreamIn(SHORT_QUEUES);
pub const OUT: FlowKind = FlowKind::StreamOut(SHORT_QUEUES);

/// A stream of Linux 2.6.18 whose sender has 128 KiB, so that what goes beside it does not wait for
/// long.
pub const SHORT_QUEUES: StreamConfig = {
    let mut stream = StreamConfig::XEN_2_6_18;
    stream.tcp.send_buffer = 128 * 1024;
    stream
};

/// A ping each `every` ms.
pub fn ping(every: u64) -> FlowKind {
    FlowKind::Ping(PingConfig {
        pace: Pace::Flood(ms(every)),
        ..PingConfig::default()
    })
}

/// Datagrams of 1,000 bytes to the guest, so many a second.
pub fn udp_in(rate: u32) -> FlowKind {
    FlowKind::UdpIn(UdpConfig {
        bytes: 1_000,
        rate,
        wake: Duration::ZERO,
        jitter: Duration::ZERO,
    })
}

/// The same from the guest.
pub fn udp_out(rate: u32) -> FlowKind {
    FlowKind::UdpOut(UdpConfig {
        bytes: 1_000,
        rate,
        wake: Duration::ZERO,
        jitter: Duration::ZERO,
    })
}

/// A host of an Opteron 242 with so many pcpus.
pub fn host(pcpus: u16, policy: (&str, &str), mut domains: Vec<DomainConfig>) -> HostConfig {
    let shipped = domio_sched::find(policy.0).expect("a shipped policy");
    for domain in &mut domains {
        if domain.params == ParamValues::defaults(&[]) {
            domain.params = ParamValues::defaults(shipped.descriptor.domain_params);
        }
    }
    HostConfig {
        topology: Topology::flat(pcpus).expect("a few pcpus"),
        version: XenVersion::from_name(policy.1).expect("a release"),
        profile: Profile::OPTERON_242,
        domains,
        groups: Vec::new(),
        pools: Vec::new(),
        actions: Vec::new(),
        controllers: Vec::new(),
    }
}

/// The host under a policy with these cards, in their order on the bus. The domains have the
/// processes of their flows already.
pub fn simulation<S: Sink>(
    host: &HostConfig,
    policy: (&str, &str),
    cards: &[NetworkConfig],
    sink: S,
) -> Simulation<S, Network> {
    let shipped = domio_sched::find(policy.0).expect("a shipped policy");
    let mut params = ParamValues::defaults(shipped.descriptor.params);
    params.choose("version", policy.1).expect("a release");
    under(host, (shipped.make)(&params, &host.topology), cards, sink)
}

/// The same under any scheduler.
pub fn under<S: Sink>(
    host: &HostConfig,
    scheduler: Box<dyn Scheduler>,
    cards: &[NetworkConfig],
    sink: S,
) -> Simulation<S, Network> {
    let attach = |bus: &mut Assembly<'_, Network>| {
        for card in cards {
            bus.add(|attach| Network::new(card, attach, 1, 0));
        }
    };
    Simulation::with_devices(host, scheduler, attach, sink, 1, 0)
}

/// Gives the domains the processes of all flows.
pub fn equip(cards: &[NetworkConfig], domains: &mut [DomainConfig]) {
    for (device, card) in (0..).zip(cards) {
        card.equip(device, domains);
    }
}

/// Runs it for so many ms, and looks each 13 ms whether the books of every card balance.
pub fn run<S: Sink>(simulation: &mut Simulation<S, Network>, from: u64, to: u64) {
    let mut next = from;
    while next < to {
        next = (next + 13).min(to);
        let outcome = simulation.run(at(next));
        assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome}");
        for card in simulation.host().devices() {
            let mut ledger = Ledger::new();
            ledger.add(card);
            assert_eq!(ledger.check(), Ok(()), "at {next} ms");
        }
    }
}

/// The host with these cards after so many ms, under credit of 3.1.
pub fn after(
    time: u64,
    pcpus: u16,
    mut domains: Vec<DomainConfig>,
    cards: &[NetworkConfig],
) -> Simulation<Records, Network> {
    equip(cards, &mut domains);
    let host = host(pcpus, CREDIT_3_1, domains);
    let mut simulation = simulation(&host, CREDIT_3_1, cards, Records::default());
    run(&mut simulation, 0, time);
    simulation
}

/// The remote host's end of a stream.
pub fn stream(network: &Network, flow: u32) -> TcpStatistics {
    match network.remote().service(FlowId(flow)) {
        Some(Service::Tcp(end)) => end.connection().statistics(),
        other => panic!("flow {flow} is no stream: {other:?}"),
    }
}

/// What the remote host pinged.
pub fn pings(network: &Network, flow: u32) -> PingStatistics {
    match network.remote().service(FlowId(flow)) {
        Some(Service::Ping(ping)) => *ping.statistics(),
        other => panic!("flow {flow} is no ping: {other:?}"),
    }
}

/// Datagrams that the remote host got.
pub fn datagrams(network: &Network, flow: u32) -> u64 {
    match network.remote().service(FlowId(flow)) {
        Some(Service::UdpSink(sink)) => sink.received,
        other => panic!("flow {flow} is no sink: {other:?}"),
    }
}

/// A current server of `pcpus` pcpus after `time` ms, which are measured. Domain 0 drives `card`
/// with as many vcpus as the card has there; the guests of its interfaces have one each.
pub fn ran_on_a_server(pcpus: u16, card: NetworkConfig, time: u64) -> Simulation<Records, Network> {
    let guests = card.vifs.iter().map(|vif| vif.domain.0).max().unwrap_or(0);
    let vcpus = |id| if id == 0 { card.card_vcpus } else { 1 };
    let mut domains: Vec<_> = (0..=guests)
        .map(|id| domain(id, vcpus(id).into()))
        .collect();
    for domain in &mut domains {
        domain.guest.costs = KernelCosts::on(&XEON_E5);
    }
    let cards = [card];
    equip(&cards, &mut domains);
    let mut host = host(pcpus, CREDIT_4_17, domains);
    host.profile = *XEON_E5.profile;
    let mut simulation = simulation(&host, CREDIT_4_17, &cards, Records::default());
    simulation.host_mut().mark(Instant::ZERO);
    run(&mut simulation, 0, time);
    simulation.host_mut().mark(at(time));
    simulation
}
