//! What the network of a host is made of: plain data, validated by whoever builds it.

use alloc::vec::Vec;
use domio_core::{DomainId, Duration, Instant};
use domio_vmm::config::{DomainConfig, HostSoftirqs, TaskConfig, Workload};
use domio_vmm::grant::PAGE_BYTES;
use domio_vmm::process::FileId;
use domio_vmm::process::programs::{
    DatagramSender, Responder, StreamReader, StreamWriter, WebWorker,
};

use super::costs::{NetCosts, RxMode};
use super::pairs::NetbackConfig;
use crate::icmp::PingConfig;
use crate::link::LinkConfig;
use crate::nic::NicConfig;
use crate::tcp::TcpConfig;
use crate::udp::UdpConfig;
use crate::web::WebConfig;
use crate::writers::WriterCosts;

/// The network of a host: a card in the driver domain, a line to a remote host, and a virtual
/// interface in each guest that has one. Guests may be [`behind`](Self::behind) further driver
/// domains.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// The domain with the card, the bridge and the backends.
    pub driver: DomainId,
    /// The card.
    pub nic: NicConfig,
    /// The line behind it, each way.
    pub link: LinkConfig,
    /// Least time between two interrupts of the remote host's card: packets that come meanwhile
    /// wait for the next. Zero for a host that hears of each packet immediately. Linux's e1000 of
    /// 2006 has 125 us ([`NicConfig::E1000`]).
    pub remote_gap: Duration,
    /// What the remote host takes at most from an interrupt of its card until it has the packets:
    /// drawn for each interrupt, evenly distributed from zero on.
    pub remote_irq_latency: Duration,
    /// What the remote host's processes take: those that write, and those that ping, from a reply
    /// to the next request.
    pub remote_writers: WriterCosts,
    /// What the work costs.
    pub costs: NetCosts,
    /// How netback hands packets to guests.
    pub rx_mode: RxMode,
    /// Whether one vcpu of a domain at a time may be in a call of Xen about grants: up to 4.1.
    pub grant_lock: bool,
    /// The first vcpu of the driver domain that does its part of the work: the card's first
    /// queue's.
    pub vcpu: u16,
    /// Vcpus of the driver domain from that one on, at least 1, among which the queues of the card
    /// take turns.
    pub card_vcpus: u16,
    /// Those vcpus, counted from [`vcpu`](Self::vcpu), where they do not follow each other: the
    /// threads of a host with KVM that poll the card, or that softirqs are left to. Empty for the
    /// first ones.
    pub card_at: Vec<u16>,
    /// How softirqs that poll the card make way for others, where these run in the time of whoever
    /// was interrupted; `None` where a vcpu of the driver domain does nothing else meanwhile.
    pub softirqs: Option<HostSoftirqs>,
    /// How netback is set up there.
    pub netback: NetbackConfig,
    /// Ports of the driver domain that others use.
    pub other_ports: OtherPorts,
    /// Where the other end of every flow is the driver domain's own: its processes send and
    /// receive, and there is no remote host. No web server and no [`FlowKind::Request`] is on such
    /// a network.
    pub local: Option<LocalConfig>,
    /// Driver domains without a card.
    pub behind: Vec<BehindConfig>,
    /// Virtual interfaces, any number in a guest.
    pub vifs: Vec<VifConfig>,
}

/// A driver domain without a card, which reaches the card's through an interface of its own: a
/// domain with a firewall.
#[derive(Clone, Debug)]
pub struct BehindConfig {
    /// The domain with the bridge and the backends.
    pub driver: DomainId,
    /// Its interface that leads outward, by its place among all.
    pub uplink: u16,
    /// What the work costs there, and in the guests behind.
    pub costs: NetCosts,
    /// How netback hands packets to guests there.
    pub rx_mode: RxMode,
    /// How netback is set up there.
    pub netback: NetbackConfig,
    /// Ports of the domain that others use.
    pub other_ports: OtherPorts,
}

/// A network whose flows have their other ends in the driver domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalConfig {
    /// Whether netback is that of Linux 6.1: a thread takes packets to guests, and small packets of
    /// guests are copied.
    pub of_linux_6: bool,
    /// What the process that pings takes for each reply besides its calls: being switched to, and
    /// away. The kernel does its work when the reply comes, in the driver domain as in guests.
    pub ping_switch: Duration,
}

/// Ports of the driver domain that the network does not use, and nobody sends to here. Ports are
/// given in order, so these decide in which word of the pending ports a guest's port is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OtherPorts {
    /// Bound while the driver domain boots, after the card's.
    pub boot: u16,
    /// Bound when a guest comes, before its interface's: console, store and disks.
    pub guest: u16,
}

impl NetworkConfig {
    /// Sees that each interface has its backend in another domain, and that each driver domain
    /// reaches the card.
    ///
    /// # Panics
    /// When that is not so.
    #[track_caller]
    pub(super) fn check(&self) {
        for vif in &self.vifs {
            let mut driver = self.driver;
            let mut behind = vif.behind;
            let mut steps = 0;
            while let Some(place) = behind {
                let site = &self.behind[usize::from(place)];
                if steps == 0 {
                    driver = site.driver;
                }
                steps += 1;
                assert!(steps <= self.behind.len(), "driver domains are in a circle");
                let uplink = &self.vifs[usize::from(site.uplink)];
                assert_eq!(
                    uplink.domain, site.driver,
                    "an uplink is the driver domain's"
                );
                behind = uplink.behind;
            }
            assert_ne!(
                vif.domain, driver,
                "an interface is not in the driver domain"
            );
            for flow in &vif.flows {
                if let Some(to) = flow.kind.guest() {
                    let other = &self.vifs[usize::from(to)];
                    assert_ne!(vif.domain, other.domain, "a flow has two guests");
                }
                assert!(
                    !flow.kind.asks() || self.local.is_none(),
                    "requests have a remote host"
                );
            }
        }
    }

    /// Adds network `inner`, whose driver domain has no card and reaches the outside through
    /// interface `uplink` of this one. Its interfaces come after those that are there; of card,
    /// line and remote host this one's hold.
    pub fn add_behind(&mut self, uplink: u16, inner: NetworkConfig) {
        let place = self.behind.len() as u16;
        self.behind.push(BehindConfig {
            driver: inner.driver,
            uplink,
            costs: inner.costs,
            rx_mode: inner.rx_mode,
            netback: inner.netback,
            other_ports: inner.other_ports,
        });
        let first = self.vifs.len() as u16;
        self.vifs.extend(inner.vifs.into_iter().map(|mut vif| {
            for flow in &mut vif.flows {
                if let FlowKind::PingGuest(_, to) | FlowKind::StreamGuest(_, to) = &mut flow.kind {
                    *to += first;
                }
            }
            VifConfig {
                behind: Some(place),
                ..vif
            }
        }));
    }

    /// Memory (bytes) that `domain` holds for pools of small packets: a driver domain those of what
    /// guests send, a guest those of what it gets ([`NetbackConfig::small`]).
    pub fn pool_bytes(&self, domain: DomainId) -> u64 {
        let of_vif = |vif: &VifConfig| {
            let (driver, small) = match vif.behind {
                None => (self.driver, &self.netback.small),
                Some(place) => {
                    let site = &self.behind[usize::from(place)];
                    (site.driver, &site.netback.small)
                }
            };
            let own = [(small.out, driver), (small.inward, vif.domain)];
            let pools = own
                .into_iter()
                .filter(|(there, of)| *there && *of == domain);
            pools.count() as u64 * u64::from(small.pages) * u64::from(PAGE_BYTES)
        };
        self.vifs.iter().map(of_vif).sum()
    }

    /// Number of the flow `flow` of interface `vif`, both counted from 0, among all flows: that of
    /// its socket in the guest, too.
    pub fn socket(&self, vif: usize, flow: usize) -> u32 {
        let before = self.vifs.iter().take(vif);
        (before.map(|v| v.flows.len()).sum::<usize>() + flow) as u32
    }

    /// Number of the guest's socket that listens at interface `vif`, behind those of all flows:
    /// [`FlowKind::Request`]s are accepted there.
    pub fn listening(&self, vif: usize) -> u32 {
        self.socket(self.vifs.len(), vif)
    }

    /// Whether netback is that of Linux 6.1 ([`LocalConfig::of_linux_6`]).
    pub(super) fn is_of_linux_6(&self) -> bool {
        self.local.is_some_and(|local| local.of_linux_6)
    }

    /// Whether threads take packets to guests.
    pub(super) fn has_threads(&self) -> bool {
        self.is_of_linux_6() || self.netback.form.vhost
    }

    /// Number of the socket at the other end of the flow of number `flow`, where the driver domain
    /// ([`NetworkConfig::local`]) or another guest has that end.
    pub fn other_socket(&self, flow: u32) -> u32 {
        self.listening(self.vifs.len()) + flow
    }

    /// The interface whose guest has the other end of flow `flow` of interface `vif`; `None` where
    /// the driver domain has it.
    fn other_vif(&self, vif: usize, flow: usize) -> Option<&VifConfig> {
        let to = self.vifs[vif].flows[flow].kind.guest()?;
        Some(&self.vifs[usize::from(to)])
    }

    /// Gives `domains` the processes with which they take part in the flows
    /// (`NetworkConfig::processes`), where the network is number `device` on the bus. They live
    /// on the vcpus of their interfaces.
    pub fn equip(&self, device: u16, domains: &mut [DomainConfig]) {
        for domain in domains {
            for (vcpu, process) in self.processes(device, domain.id, domain.start) {
                domain.vcpus[usize::from(vcpu)].tasks.push(process);
            }
        }
    }

    /// The processes with which `domain`, created at `start`, takes part in its flows, where the
    /// network is number `device` on the bus, each with its vcpu: readers, writers, senders.
    /// Requests are for a server, which is the guest's to choose. Pings are answered by its kernel.
    ///
    /// They go before the guest's other processes, for they sleep most of the time.
    fn processes(&self, device: u16, domain: DomainId, start: Instant) -> Vec<(u16, TaskConfig)> {
        let mut processes = Vec::new();
        for (v, vif) in self.vifs.iter().enumerate() {
            for f in 0..vif.flows.len() {
                let (owner, vcpu) = match self.other_vif(v, f) {
                    Some(vif) => (vif.domain, vif.vcpu),
                    None => (self.driver, self.vcpu),
                };
                if owner == domain {
                    let process = self.other_process(device, v, f, start);
                    processes.extend(process.map(|process| (vcpu, process)));
                }
            }
            if vif.domain != domain {
                continue;
            }
            for f in 0..vif.flows.len() {
                let reads = self.local.is_some() && matches!(vif.flows[f].kind, FlowKind::UdpIn(_));
                for _ in 0..vif.flows[f].kind.processes() + u16::from(reads) {
                    let process = self.process(device, v, f, start);
                    processes.extend(process.map(|process| (vif.vcpu, process)));
                }
            }
        }
        processes
    }

    /// The process of this host at the other end of flow `flow` of interface `vif`, if there is
    /// one: the driver domain's own ([`NetworkConfig::local`]), or that of another guest.
    pub fn other_process(
        &self,
        device: u16,
        vif: usize,
        flow: usize,
        start: Instant,
    ) -> Option<TaskConfig> {
        let file = self.other_socket(self.socket(vif, flow));
        let socket = FileId { device, file };
        let flow = self.vifs[vif].flows[flow];
        if self.local.is_none() && flow.kind.guest().is_none() {
            return None;
        }
        let begin = start + flow.start;
        let end = flow.stop.map_or(Instant::MAX, |stop| start + stop);
        let workload = match flow.kind {
            FlowKind::StreamIn(stream) => {
                Workload::program(StreamWriter::new(socket, stream.piece, begin).until(end))
            }
            FlowKind::StreamOut(stream) | FlowKind::StreamGuest(stream, _) => {
                Workload::program(StreamReader::new(socket, stream.piece))
            }
            FlowKind::UdpIn(udp) => {
                let sender = DatagramSender::new(socket, udp.bytes, udp.rate, udp.wake, begin)
                    .late_by(udp.jitter)
                    .until(end);
                Workload::program(sender)
            }
            _ => return None,
        };
        Some(TaskConfig {
            priority: TaskConfig::IO_BOUND,
            ..TaskConfig::from(workload)
        })
    }

    /// A process with which the guest of interface `vif`, created at `start`, takes part in flow
    /// `flow` of it, both counted from 0, if it does with one of these; the network is number
    /// `device` on the bus. It may live on any vcpu of the guest.
    ///
    /// # Panics
    /// When there is no such interface or flow.
    #[track_caller]
    pub fn process(
        &self,
        device: u16,
        vif: usize,
        flow: usize,
        start: Instant,
    ) -> Option<TaskConfig> {
        let file = self.socket(vif, flow);
        let socket = FileId { device, file };
        let flow = self.vifs[vif].flows[flow];
        let begin = start + flow.start;
        let end = flow.stop.map_or(Instant::MAX, |stop| start + stop);
        let workload = match flow.kind {
            FlowKind::StreamIn(stream) => {
                Workload::program(StreamReader::new(socket, stream.piece))
            }
            FlowKind::UdpIn(udp) if self.local.is_some() => {
                Workload::program(StreamReader::new(socket, u32::from(udp.bytes.max(1))))
            }
            FlowKind::StreamOut(stream) | FlowKind::StreamGuest(stream, _) => {
                Workload::program(StreamWriter::new(socket, stream.piece, begin).until(end))
            }
            FlowKind::UdpOut(udp) => {
                let sender = DatagramSender::new(socket, udp.bytes, udp.rate, udp.wake, begin)
                    .late_by(udp.jitter)
                    .until(end);
                Workload::program(sender)
            }
            FlowKind::Turns(turns) => Workload::program(Responder::new(socket, turns.bytes)),
            FlowKind::Web(web) => {
                let request = u64::from(web.client.request);
                let worker = WebWorker::new(socket, request, web.server.costs);
                Workload::program(worker)
            }
            FlowKind::Ping(_)
            | FlowKind::PingGuest(..)
            | FlowKind::UdpIn(_)
            | FlowKind::Request(_) => return None,
        };
        Some(TaskConfig {
            priority: TaskConfig::IO_BOUND,
            ..TaskConfig::from(workload)
        })
    }
}

/// A guest's virtual interface and what goes through it.
#[derive(Clone, Debug)]
pub struct VifConfig {
    /// The guest. It is not the driver domain.
    pub domain: DomainId,
    /// The place in [`NetworkConfig::behind`] of the driver domain that has the backend; none for
    /// the domain with the card.
    pub behind: Option<u16>,
    /// The vcpu of the guest that does the work of its kernel.
    pub vcpu: u16,
    /// The pair of tasklets that serves it, counted from 0; none where the driver domain decides.
    pub pair: Option<u16>,
    /// Limit on what the guest sends: `rate=`.
    pub rate: Option<VifRate>,
    /// Buffers that the guest wants to have posted at first, 64 to 256.
    pub rx_target: u32,
    /// What the guest and the remote host do, over the interface.
    pub flows: Vec<FlowConfig>,
}

impl VifConfig {
    /// Buffers of a guest that has been up for a while (`RX_DFL_MIN_TARGET`). An interface that
    /// has just come up has 128, and each poll that finds few packets takes one away.
    pub const RX_TARGET: u32 = 64;
}

/// `rate=` of a vif (xen-spec 6.3): so many bytes each so many microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VifRate {
    /// Bytes of an interval.
    pub bytes: u64,
    /// Length of an interval; over zero.
    pub interval: Duration,
}

/// A flow between a guest and the remote host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowConfig {
    /// What flows.
    pub kind: FlowKind,
    /// When it begins, after the guest's start.
    pub start: Duration,
    /// When it ends, after the guest's start: from then on nothing new is written or begun, and
    /// what is under way arrives. None for never; requests end by themselves.
    pub stop: Option<Duration>,
}

/// A stream: a process at one end writes, one at the other reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamConfig {
    /// Settings of both ends.
    pub tcp: TcpConfig,
    /// Bytes that each process passes to a call, at least 1.
    pub piece: u32,
}

impl StreamConfig {
    /// What `iperf` 2 and `ttcp` pass to a call, by default: 8 KiB.
    pub const PIECE: u32 = 8 * 1024;

    /// Linux 2.6.18 at both ends, and a program that calls as [those](Self::PIECE).
    pub const XEN_2_6_18: StreamConfig = StreamConfig {
        tcp: TcpConfig::XEN_2_6_18,
        piece: Self::PIECE,
    };
}

/// A request of the remote host to a server in the guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestConfig {
    /// Settings of both ends.
    pub tcp: TcpConfig,
    /// Bytes that the remote host sends, at least 1.
    pub bytes: u64,
}

/// What flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowKind {
    /// TCP from the remote host to the guest, as fast as it goes.
    StreamIn(StreamConfig),
    /// TCP from the guest to the remote host, as fast as it goes.
    StreamOut(StreamConfig),
    /// TCP from the guest to that of another interface of the network, by its place among all, as
    /// fast as it goes.
    StreamGuest(StreamConfig, u16),
    /// The remote host connects to the guest, sends so many bytes, and reads what comes.
    Request(RequestConfig),
    /// The remote host connects to the guest, and asks again whenever it has its answer.
    Turns(RequestConfig),
    /// The remote host pings the guest.
    Ping(PingConfig),
    /// The guest pings the guest of another interface of the network, by its place among all.
    PingGuest(PingConfig, u16),
    /// UDP from the remote host to the guest.
    UdpIn(UdpConfig),
    /// UDP from the guest to the remote host.
    UdpOut(UdpConfig),
    /// A client of the remote host, and a web server in the guest.
    Web(WebConfig),
}

impl FlowKind {
    /// The interface of the guest at the other end, if a guest has that end.
    pub fn guest(&self) -> Option<u16> {
        match self {
            FlowKind::PingGuest(_, to) | FlowKind::StreamGuest(_, to) => Some(*to),
            _ => None,
        }
    }

    /// Whether a client on the remote host asks the guest, so that the flow needs that host.
    pub fn asks(&self) -> bool {
        matches!(
            self,
            FlowKind::Web(_) | FlowKind::Request(_) | FlowKind::Turns(_)
        )
    }

    /// Processes of the guest that take part ([`NetworkConfig::process`]); all of them are alike.
    pub fn processes(&self) -> u16 {
        match self {
            FlowKind::StreamIn(_)
            | FlowKind::StreamOut(_)
            | FlowKind::StreamGuest(..)
            | FlowKind::UdpOut(_)
            | FlowKind::Turns(_) => 1,
            FlowKind::Ping(_)
            | FlowKind::PingGuest(..)
            | FlowKind::UdpIn(_)
            | FlowKind::Request(_) => 0,
            FlowKind::Web(web) => web.server.workers,
        }
    }
}
