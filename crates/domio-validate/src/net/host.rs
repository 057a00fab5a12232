//! The simulated host of a recorded network.

use super::described::{DescribedFlow, DescribedLoad, DescribedNetwork};
use crate::recording::{DescribedDomain, DescribedWorkload, Description};
use crate::release::COMPARED_WITH;
use domio_contract::Scheduler;
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, Topology};
use domio_net::host::{
    FlowConfig, FlowKind, LocalConfig, NetCosts, NetbackConfig, NetworkConfig, OtherPorts, RxMode,
    StreamConfig, VifConfig,
};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::link::{LinkConfig, Rate};
use domio_net::nic::NicConfig;
use domio_net::tcp::TcpConfig;
use domio_net::udp::UdpConfig;
use domio_net::writers::WriterCosts;
use domio_sched::find;
use domio_vmm::config::{
    DomainConfig, DomainKind, GuestConfig, HostConfig, KernelCosts, ProcessOrder, TaskConfig,
    VcpuConfig, Workload,
};
use domio_vmm::evtchn::Abi;
use domio_vmm::hardware::XEN_4_17_EMULATED;

/// dom0, which has the bridge and one end of most flows.
pub(super) const DOM0: DomainId = DomainId(0);

/// From when on flows are under way, after the host's start; the first of an ensemble's.
const FLOWS_BEGIN: Duration = Duration::from_millis(500);

/// How much later the flows of each further simulation begin: no multiple of a tick or a slice, so
/// that all phases of both come up.
const LATER: Duration = Duration::from_micros(3_700);

/// What a process may have sent and the receiver not acknowledged, and the window of a receiver
/// (bytes), by memory: `net.ipv4.tcp_wmem` and `tcp_rmem` (`params`), the window being half of the
/// buffer (`tcp_adv_win_scale` 1).
struct Buffers {
    send: u32,
    window: u32,
}

/// dom0 with 600 MB.
const DOM0_BUFFERS: Buffers = Buffers {
    send: 3_789_696,
    window: 3_789_696 / 2,
};

/// A guest with 128 MB.
const GUEST_BUFFERS: Buffers = Buffers {
    send: 528_512,
    window: 528_512 / 2,
};

/// A simulated host with its network.
pub(super) struct NetHost {
    pub config: HostConfig,
    pub network: NetworkConfig,
    /// By number of the described flow: that in the simulation, and the guest that has the
    /// flow.
    pub flows: Vec<(u32, DomainId)>,
    params: ParamValues,
    scheduler: &'static str,
}

impl NetHost {
    /// The host of `description`, with `network`. Simulation `number` of the ensemble begins its
    /// flows later than those before.
    ///
    /// # Errors
    /// A sentence that says what cannot be simulated.
    pub fn new(
        description: &Description,
        network: &DescribedNetwork,
        number: u32,
    ) -> Result<NetHost, String> {
        let policy = find(&description.scheduler).ok_or("the scheduler is not one of domio's")?;
        let mut params = ParamValues::defaults(policy.descriptor.params);
        for (name, value) in &description.params {
            let set = params.set(name, *value);
            set.map_err(|e| format!("params.{name} = {value}: {e}"))?;
        }
        let mut domains = Vec::new();
        for domain in &description.domains {
            let defaults = ParamValues::defaults(policy.descriptor.domain_params);
            domains.push(domain_config(domain, defaults)?);
        }
        let begin = FLOWS_BEGIN + LATER * u64::from(number);
        let (config, flows) = network_config(description, network, begin)?;
        config.equip(0, &mut domains);
        for (domain, described) in domains.iter_mut().zip(&description.domains) {
            if described.workload.computes() {
                let burn = TaskConfig::from(Workload::Burn);
                let vcpus = domain.vcpus.iter_mut();
                vcpus.for_each(|vcpu| vcpu.tasks.push(burn.clone()));
            }
        }
        let topology = Topology::flat(description.pcpus).ok_or("no pcpus")?;
        Ok(NetHost {
            config: HostConfig {
                topology,
                version: COMPARED_WITH,
                profile: *XEN_4_17_EMULATED.profile,
                domains,
                groups: Vec::new(),
                pools: Vec::new(),
                actions: Vec::new(),
                controllers: Vec::new(),
            },
            network: config,
            flows,
            params,
            scheduler: policy.descriptor.name,
        })
    }

    /// The host's scheduler, anew.
    pub fn scheduler(&self) -> Box<dyn Scheduler> {
        let policy = find(self.scheduler).expect("it was found before");
        (policy.make)(&self.params, &self.config.topology)
    }
}

fn domain_config(
    domain: &DescribedDomain,
    mut params: ParamValues,
) -> Result<DomainConfig, String> {
    params
        .set("weight", domain.weight)
        .and_then(|()| params.set("cap", domain.cap))
        .map_err(|e| format!("domain {}: {e}", domain.name))?;
    let vcpu = VcpuConfig {
        hard: CpuSet::ALL,
        soft: CpuSet::ALL,
        params: None,
        tasks: Vec::new(),
        kernel_tick: None,
    };
    Ok(DomainConfig {
        id: DomainId(domain.id),
        name: domain.name.clone(),
        params,
        guest: GuestConfig {
            abi: Abi::Fifo,
            tick: None,
            costs: KernelCosts::on(&XEN_4_17_EMULATED),
            order: ProcessOrder::Linux26,
            ..GuestConfig::IDEAL
        },
        vcpus: vec![vcpu; usize::from(domain.vcpus)],
        start: Instant::ZERO,
        stop: None,
        kind: DomainKind::Guest,
    })
}

/// The network with all flows, which begin at `begin`, and for each described flow its number and
/// its guest.
fn network_config(
    description: &Description,
    network: &DescribedNetwork,
    begin: Duration,
) -> Result<(NetworkConfig, Vec<(u32, DomainId)>), String> {
    if !network.vif.rx.starts_with("copy") || network.vif.queues != 1 {
        return Err(format!(
            "network.vif has rx {:?} and {} queues; recordings are compared with netback of Linux \
             6.1, which copies, and one queue",
            network.vif.rx, network.vif.queues
        ));
    }
    let guests: Vec<&DescribedDomain> = description.domains.iter().filter(|d| d.id != 0).collect();
    let vif_of = |name: &str| guests.iter().position(|d| d.name == name);
    let mut vifs: Vec<VifConfig> = guests
        .iter()
        .map(|guest| VifConfig {
            domain: DomainId(guest.id),
            behind: None,
            vcpu: 0,
            pair: None,
            rate: None,
            rx_target: 256,
            flows: Vec::new(),
        })
        .collect();
    let dom0 = description.domains.iter().find(|d| d.id == 0);
    let dom0 = dom0.ok_or("scenario.json lists no domain 0, which has the bridge")?;
    let mut places = Vec::new();
    for flow in &network.flows {
        let (vif, kind) = flow_kind(flow, &dom0.name, &vif_of)?;
        places.push((vif, vifs[vif].flows.len()));
        vifs[vif].flows.push(FlowConfig {
            kind,
            start: begin,
            stop: None,
        });
    }
    let config = NetworkConfig {
        driver: DOM0,
        nic: NicConfig {
            tso: network.vif.large_frames(),
            gro: network.vif.large_frames(),
            ..NicConfig::PLAIN
        },
        // Nothing goes by the card.
        link: LinkConfig {
            rate: Rate::GBIT_1,
            latency: Duration::ZERO,
            queue: 1_000,
        },
        remote_gap: Duration::ZERO,
        remote_irq_latency: Duration::ZERO,
        remote_writers: WriterCosts::FREE,
        costs: NetCosts::on(&XEN_4_17_EMULATED),
        rx_mode: RxMode::Copy,
        grant_lock: false,
        vcpu: 0,
        card_vcpus: 1,
        card_at: Vec::new(),
        softirqs: None,
        netback: NetbackConfig::ONE,
        other_ports: OtherPorts::default(),
        local: Some(LocalConfig {
            of_linux_6: true,
            ping_switch: KernelCosts::on(&XEN_4_17_EMULATED).switch,
        }),
        behind: Vec::new(),
        vifs,
    };
    let numbers = places.iter().map(|(vif, flow)| {
        let guest = config.vifs[*vif].domain;
        (config.socket(*vif, *flow), guest)
    });
    let numbers = numbers.collect();
    Ok((config, numbers))
}

/// The interface that has `flow`, and what it is in a simulation.
fn flow_kind(
    flow: &DescribedFlow,
    dom0: &str,
    vif_of: &dyn Fn(&str) -> Option<usize>,
) -> Result<(usize, FlowKind), String> {
    let unknown = || {
        format!(
            "a flow from {:?} to {:?}, of which one is not in `domains`",
            flow.src, flow.dst
        )
    };
    let (from, to) = (vif_of(&flow.src), vif_of(&flow.dst));
    let known = |vif: Option<usize>, name: &str| vif.is_some() || name == dom0;
    if !known(from, &flow.src) || !known(to, &flow.dst) {
        return Err(unknown());
    }
    let found = match (from, to, flow.load) {
        (None, Some(vif), load) => (vif, to_guest(load)),
        (
            Some(vif),
            None,
            DescribedLoad::TcpStream {
                write_bytes,
                read_bytes,
            },
        ) => (
            vif,
            FlowKind::StreamOut(stream(
                write_bytes,
                read_bytes,
                &GUEST_BUFFERS,
                &DOM0_BUFFERS,
            )),
        ),
        (Some(vif), None, load @ DescribedLoad::Udp { .. }) => (vif, FlowKind::UdpOut(udp(load))),
        (Some(vif), Some(other), load @ DescribedLoad::IcmpEcho { .. }) if vif != other => {
            (vif, FlowKind::PingGuest(ping(load), other as u16))
        }
        _ => {
            return Err(format!(
                "a flow from {} to {}: between dom0 and a guest there are streams and datagrams, \
                 from dom0 pings too, and between guests pings alone",
                flow.src, flow.dst
            ));
        }
    };
    Ok(found)
}

/// What dom0 sends to a guest.
fn to_guest(load: DescribedLoad) -> FlowKind {
    match load {
        DescribedLoad::IcmpEcho { .. } => FlowKind::Ping(ping(load)),
        DescribedLoad::Udp { .. } => FlowKind::UdpIn(udp(load)),
        DescribedLoad::TcpStream {
            write_bytes,
            read_bytes,
        } => FlowKind::StreamIn(stream(
            write_bytes,
            read_bytes,
            &DOM0_BUFFERS,
            &GUEST_BUFFERS,
        )),
    }
}

fn ping(load: DescribedLoad) -> PingConfig {
    let (interval, bytes) = match load {
        DescribedLoad::IcmpEcho {
            interval_us,
            payload_bytes,
        } => (interval_us, payload_bytes),
        DescribedLoad::TcpStream { .. } | DescribedLoad::Udp { .. } => (0, 0),
    };
    let pace = match interval {
        0 => Pace::Flood(Duration::from_secs(1)),
        us => Pace::Every(Duration::from_micros(us)),
    };
    PingConfig {
        bytes,
        pace,
        ticks: None,
    }
}

fn udp(load: DescribedLoad) -> UdpConfig {
    let (rate, bytes) = match load {
        DescribedLoad::Udp {
            packets_per_s,
            payload_bytes,
        } => (packets_per_s, payload_bytes),
        DescribedLoad::TcpStream { .. } | DescribedLoad::IcmpEcho { .. } => (1, 1),
    };
    UdpConfig {
        bytes,
        rate,
        wake: Duration::ZERO,
        jitter: Duration::ZERO,
    }
}

/// A stream between Linux 6.1 at both ends.
fn stream(write: u32, read: u32, from: &Buffers, to: &Buffers) -> StreamConfig {
    let tcp = TcpConfig {
        initial_window: 10,
        counts_segments: true,
        send_buffer: from.send,
        rto_initial: Duration::from_secs(1),
        ..TcpConfig::default()
    };
    StreamConfig {
        tcp: tcp.with_window(to.window),
        piece: write.max(read),
    }
}

impl DescribedWorkload {
    /// Whether a process of the domain computes all the time.
    pub(crate) fn computes(self) -> bool {
        matches!(
            self,
            DescribedWorkload::Burn | DescribedWorkload::NetAndBurn
        )
    }
}
