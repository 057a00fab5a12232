//! The network inside a host: from the line through the driver domain to the guests and back
//! (xen-spec 5 and 6).
//!
//! ```text
//!  remote ══line══ NIC ── driver ── bridge ── netback ══rings══ netfront ── stack ── process
//!  host                 └────── driver domain ──────┘         └────────── guest ──────────┘
//! ```
//!
//! [`Network`] is the model of all of it; it plugs into a host as its
//! [`Devices`]. Every step of a packet inside a domain is work of that
//! domain's vcpu 0, at the level at which Linux 2.6.18 does it, and takes its time.
//!
//! | file | holds |
//! |---|---|
//! | `driver` | the card's interrupt and polling, the bridge, the queue to the card |
//! | `netback` | the tasklets to and from the guests, credit |
//! | `netfront` | the guest's driver and what it calls |
//! | `outside` | the line, the remote host |
//! | `vif` | what an interface consists of |

mod config;
mod costs;
mod driver;
mod netback;
mod netfront;
mod outside;
mod reader;
mod record;
mod remote_card;
mod vif;

use domio_core::{DomainId, Instant};
use domio_sim::RandomStream;
use domio_vmm::device::{Devices, Io, KernelIo, Progress, Timers};
use domio_vmm::evtchn::Port;
use domio_vmm::kernel::{KernelConfig, Softirq};

use crate::bridge::{self, Bridge};
use crate::icmp::{Echo, Ping};
use crate::link::{Link, Loss};
use crate::neighbor::{Neighbor, Timing};
use crate::nic::Nic;
use crate::packet::{FlowId, Station};
use crate::peer::{Peer, PeerTimer, PeerTimerKind, Service, TcpEnd};
use crate::queue::{Accounted, Ledger};
use crate::tcp::{Connection, Timer};
use crate::udp::{UdpSink, UdpSource};
use crate::writers::WriterCosts;

pub use config::{
    FlowConfig, FlowKind, KernelCosts, NetworkConfig, RxMode, StreamConfig, VifConfig, VifRate,
};
pub use costs::NetCosts;
pub(crate) use costs::by_kib;

use driver::Driver;
use netback::{Netback, RX_TASKLET, TX_TASKLET};
use outside::{Neighbors, Outside, REMOTE};
use reader::Reader;
use remote_card::RemoteCard;
use vif::Vif;

/// The service of a guest that begins everything.
const BOOT: u8 = 7;

/// What a timer of the network is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    /// The card raises its interrupt.
    Interrupt,
    /// A packet reaches the card.
    ArrivalIn,
    /// A packet reaches the remote host.
    ArrivalOut,
    /// A timer of the remote host.
    Remote(PeerTimer),
    /// A timer of its entry for a guest.
    Neighbor(Station),
}

/// The network of a host.
pub struct Network {
    config: NetworkConfig,
    costs: NetCosts,
    driver: Driver,
    bridge: Bridge,
    back: Netback,
    vifs: Vec<Vif>,
    outside: Outside,
    events: Vec<Event>,
    /// Interface of each domain, by domain id.
    by_domain: Vec<Option<u16>>,
    /// Interface of each port of the driver domain.
    by_port: Vec<Option<u16>>,
    /// Packets that found no buffer of their guest.
    ring_drops: u64,
}

impl Network {
    /// The network that `config` describes, before any domain is up. Its random streams are those
    /// of `seed` and `replication`.
    ///
    /// # Panics
    /// When `config` contradicts itself: an interface in the driver domain, two in one guest, or
    /// more than [`VifConfig::FLOWS_MAX`] flows over one.
    #[track_caller]
    pub fn new(
        config: &NetworkConfig,
        timers: &mut Timers<'_>,
        seed: u64,
        replication: u32,
    ) -> Self {
        let mut events = Vec::new();
        let mut timer = |event| {
            events.push(event);
            timers.timer(events.len() as u32 - 1)
        };
        let interrupt = timer(Event::Interrupt);
        let arrival_in = timer(Event::ArrivalIn);
        let arrival_out = timer(Event::ArrivalOut);
        let n = config.vifs.len() as u16;
        let mut bridge = Bridge::new(n + 1, n + 1);
        bridge.bind(REMOTE, driver::CARD);
        let mut remote = Peer::new(REMOTE).with_writers(config.remote_writers);
        let mut remote_timers = Vec::new();
        let (mut vifs, mut guests): (Vec<Vif>, Vec<DomainId>) = (Vec::new(), Vec::new());
        let mut by_domain = Vec::new();
        let mut neighbors = Vec::new();
        let mut random = RandomStream::new(seed, replication, "network/remote/neighbours");
        for (i, vif) in (0..n).zip(&config.vifs) {
            assert!(
                vif.domain != config.driver && vif.flows.len() <= VifConfig::FLOWS_MAX,
                "a guest's interface has at most 7 flows and is not in the driver domain"
            );
            let station = Station(i + 1);
            bridge.bind(station, bridge::Port(i + 1));
            let entry = Neighbor::new(Timing::LINUX, Instant::ZERO, &mut random);
            neighbors.push((entry, timer(Event::Neighbor(station))));
            let (guest, driver) = (vif.domain, config.driver);
            let stack = Peer::new(station);
            let mut new = Vif::new(record::Ends { guest, driver }, vif.rate, stack);
            for flow in &vif.flows {
                let id = FlowId(guests.len() as u32);
                guests.push(vif.domain);
                let (far, near) = ends(flow.kind, config.remote_writers, id, station);
                remote.add(id, far);
                new.stack.add(id, near);
                if let FlowKind::StreamIn(stream) = flow.kind {
                    new.readers.push(Reader::new(id, stream.piece));
                }
                for kind in TIMERS {
                    let peer_timer = PeerTimer { flow: id, kind };
                    remote_timers.push((peer_timer, timer(Event::Remote(peer_timer))));
                }
                new.starts.push((id, flow.start));
            }
            let slot = vif.domain.index();
            if by_domain.len() <= slot {
                by_domain.resize(slot + 1, None);
            }
            assert!(by_domain[slot].is_none(), "a guest has one interface");
            by_domain[slot] = Some(i);
            vifs.push(new);
        }
        remote_timers.sort_unstable_by_key(|(timer, _)| *timer);
        Network {
            config: config.clone(),
            costs: config.costs,
            driver: Driver::new(Nic::new(config.nic), interrupt),
            bridge,
            back: Netback::new(),
            vifs,
            outside: Outside {
                link: Link::new(config.link),
                peer: remote,
                neighbors: Neighbors {
                    entries: neighbors,
                    asked: 0,
                    answers: 0,
                },
                card: RemoteCard::new(
                    config.remote_gap,
                    config.remote_irq_latency,
                    RandomStream::new(seed, replication, "network/remote/interrupts"),
                ),
                arrival_in,
                arrival_out,
                timers: remote_timers,
                guests,
            },
            events,
            by_domain,
            by_port: Vec::new(),
            ring_drops: 0,
        }
    }

    /// The same network on a line that loses `per_million` of a million packets, each way and
    /// independently of each other. Its random streams are those of `seed` and `replication`.
    ///
    /// # Panics
    /// When `per_million` is over a million.
    #[track_caller]
    #[must_use]
    pub fn with_loss(mut self, seed: u64, replication: u32, per_million: u32) -> Self {
        let loss = |name| Loss::new(RandomStream::new(seed, replication, name), per_million);
        let Link { there, back } = self.outside.link;
        self.outside.link = Link {
            there: there.with_loss(loss("network/line/there/loss")),
            back: back.with_loss(loss("network/line/back/loss")),
        };
        self
    }

    /// Bytes of all TCP streams to guests that their kernels have acknowledged.
    pub fn bytes_streamed(&self) -> u64 {
        let acknowledged = |flow| match self.outside.peer.service(FlowId(flow)) {
            Some(Service::Tcp(end)) => end.connection().statistics().acknowledged,
            _ => 0,
        };
        (0..self.outside.guests.len() as u32)
            .map(acknowledged)
            .sum()
    }

    /// The remote host, for its statistics.
    pub fn remote(&self) -> &Peer {
        &self.outside.peer
    }

    fn vif_of(&self, domain: DomainId) -> Option<u16> {
        self.by_domain.get(domain.index()).copied().flatten()
    }

    /// The vif of a guest whose kernel calls.
    fn caller(&self, kernel: &KernelIo<'_, '_>) -> u16 {
        let vif = self.vif_of(kernel.vcpu.domain);
        vif.expect("only the driver domain and guests with interfaces have network drivers")
    }

    /// Sets the driver domain's timer; some interface's credit has changed.
    fn set_credit_timer(&mut self, kernel: &mut KernelIo<'_, '_>) {
        self.back.credit_at = self.vifs.iter().filter_map(|v| v.credit.timer).min();
        self.set_driver_timer(kernel);
    }

    /// Sets the driver domain's timer, for the next credit or the next queue that has stood still
    /// for too long.
    fn set_driver_timer(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let queue = self.first_rx_timeout();
        kernel.set_timer(self.back.credit_at.into_iter().chain(queue).min());
    }
}

/// Timers that a flow of the remote host may have.
const TIMERS: [PeerTimerKind; 3] = [
    PeerTimerKind::Next,
    PeerTimerKind::Tcp(Timer::Retransmit),
    PeerTimerKind::Tcp(Timer::DelayedAck),
];

/// Both ends of a flow with the guest at `station`: the remote host's and the guest's.
fn ends(
    kind: FlowKind,
    processes: WriterCosts,
    id: FlowId,
    station: Station,
) -> (Service, Service) {
    let tcp = |end| Service::Tcp(Box::new(end));
    match kind {
        FlowKind::StreamIn(config) => (
            tcp(
                TcpEnd::client(Connection::new(&config.tcp), station, u64::MAX)
                    .writes_in_pieces(config.piece),
            ),
            tcp(TcpEnd::server(Connection::new(&config.tcp), REMOTE, 0).reads_when_told()),
        ),
        FlowKind::StreamOut(config) => (
            tcp(TcpEnd::server(Connection::new(&config), station, 0)),
            tcp(TcpEnd::client(Connection::new(&config), REMOTE, u64::MAX)),
        ),
        FlowKind::Ping(config) => {
            let ping = Ping::new(config, REMOTE, station, id);
            let turnaround = processes.answer(config.bytes);
            (
                Service::Ping(ping.with_turnaround(turnaround)),
                Service::Echo(Echo::new()),
            )
        }
        FlowKind::UdpIn(config) => (
            Service::UdpSource(UdpSource::new(config, REMOTE, station, id)),
            Service::UdpSink(UdpSink::new()),
        ),
        FlowKind::UdpOut(config) => (
            Service::UdpSink(UdpSink::new()),
            Service::UdpSource(UdpSource::new(config, station, REMOTE, id)),
        ),
    }
}

impl Devices for Network {
    fn kernel(&self, domain: DomainId) -> Option<KernelConfig> {
        if domain == self.config.driver {
            return Some(self.config.driver_kernel);
        }
        self.vif_of(domain)?;
        Some(KernelConfig {
            services: 1 << BOOT,
            ..self.config.guest_kernel
        })
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        if domain == self.config.driver {
            let port = io.channels.bind_pirq(domain, 16);
            let port = port.expect("a driver domain that boots has free ports");
            self.driver.port = Some(port);
            open(domain, port, io);
            self.listen(io);
            return;
        }
        let (Some(vif), driver) = (self.vif_of(domain), self.config.driver) else {
            return;
        };
        let front = io.channels.offer(domain, driver);
        let front = front.expect("a guest that boots has free ports");
        let back = io.channels.connect(driver, domain, front);
        let back = back
            .expect("the driver domain is up, and has free ports")
            .port;
        open(domain, front, io);
        open(driver, back, io);
        if self.by_port.len() <= back.index() {
            self.by_port.resize(back.index() + 1, None);
        }
        self.by_port[back.index()] = Some(vif);
        let v = &mut self.vifs[usize::from(vif)];
        (v.front_port, v.back_port, v.up) = (Some(front), Some(back), true);
        let starts = v.starts.clone();
        for (flow, start) in starts {
            self.outside.begin(flow, io.now + start, io);
            self.vifs[usize::from(vif)].begin(flow, io.now + start);
        }
    }

    fn unplug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        let Some(vif) = self.vif_of(domain) else {
            return;
        };
        let v = &mut self.vifs[usize::from(vif)];
        v.up = false;
        v.timers.clear();
        v.credit.timer = None;
        v.rx_timeout = None;
        let (back, _) = (v.back_port.take(), v.front_port.take());
        if let Some(back) = back {
            self.by_port[back.index()] = None;
            let closed = io.channels.close(self.config.driver, back);
            closed.expect("the port was bound when the guest came");
        }
    }

    fn event(&mut self, token: u32, io: &mut Io<'_>) {
        // A line that has to stop is stopped before the remote host sends more.
        self.take_arrivals(io);
        match self.events[token as usize] {
            Event::Interrupt => return self.raise_interrupt(io),
            Event::ArrivalIn => {}
            Event::ArrivalOut => self.outside.arrive(io),
            Event::Remote(timer) => self.outside.timer(timer, io),
            Event::Neighbor(station) => {
                let Outside {
                    neighbors, link, ..
                } = &mut self.outside;
                neighbors.expire(station, link, io);
            }
        }
        self.listen(io);
    }

    fn irq(&mut self, port: Port, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress {
        if kernel.vcpu.domain != self.config.driver {
            let vif = self.caller(kernel);
            return self.front_irq(vif, step, kernel);
        }
        let card = self.driver.port == Some(port);
        if step == 0 {
            return Progress::Run(if card {
                self.costs.nic_irq
            } else {
                self.costs.back_irq
            });
        }
        if card {
            self.card_irq(kernel);
        } else if let Some(vif) = self.by_port.get(port.index()).copied().flatten() {
            self.back_irq(vif, kernel);
        }
        Progress::Done
    }

    fn softirq(&mut self, softirq: Softirq, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let driver = kernel.vcpu.domain == self.config.driver;
        match softirq {
            Softirq::NetRx if driver => self.driver_rx(step, kernel),
            Softirq::NetTx if driver => self.driver_tx(kernel),
            Softirq::NetRx => {
                let vif = self.caller(kernel);
                self.front_rx(vif, step, kernel)
            }
            Softirq::NetTx => {
                let vif = self.caller(kernel);
                self.front_tx(vif, kernel)
            }
            Softirq::Timer | Softirq::Block | Softirq::Tasklet => Progress::Done,
        }
    }

    fn tasklet(&mut self, tasklet: u8, _: u32, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match tasklet {
            RX_TASKLET => self.rx_tasklet(kernel),
            TX_TASKLET => self.tx_tasklet(kernel),
            other => unreachable!("tasklet {other} was never scheduled"),
        }
    }

    fn service(&mut self, service: u8, step: u32, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let vif = self.caller(kernel);
        match service {
            BOOT => self.boot(vif, step, kernel),
            reader => self.reader(vif, reader, step, kernel),
        }
    }

    fn timers(&mut self, kernel: &mut KernelIo<'_, '_>) {
        if kernel.vcpu.domain != self.config.driver {
            let vif = self.caller(kernel);
            return self.stack_timers(vif, kernel);
        }
        let now = kernel.now();
        for vif in 0..self.vifs.len() {
            let due = self.vifs[vif].credit.timer.is_some_and(|at| at <= now);
            if due {
                self.credit_expired(vif as u16, kernel);
            }
        }
        self.expire_queues(kernel);
        self.set_credit_timer(kernel);
    }
}

/// Has `domain` listen to its new port, on which nothing was sent so far that matters.
fn open(domain: DomainId, port: Port, io: &mut Io<'_>) {
    let guest = io.channels.guest(domain);
    let guest = guest.expect("the domain has event channels");
    guest.clear_pending(port);
    let _ = guest.unmask(port, 0);
}

impl Accounted for Network {
    fn account(&self, ledger: &mut Ledger) {
        ledger
            .add(&self.outside.link)
            .add(&self.outside.peer)
            .add(&self.driver.nic)
            .add(self.driver.queue())
            .add(&self.bridge)
            .add(&self.back.backlog);
        for (neighbor, _) in &self.outside.neighbors.entries {
            ledger.add(neighbor);
        }
        ledger.sent(self.outside.neighbors.asked);
        ledger.delivered(self.outside.neighbors.answers);
        ledger.holds(self.driver.held() + self.back.held());
        ledger.dropped(Netback::GONE, self.back.gone);
        ledger.dropped(Netback::RING, self.ring_drops);
        for vif in &self.vifs {
            ledger
                .add(&vif.stack)
                .add(&vif.rx_queue)
                .add(&vif.front.queue);
            ledger.holds(vif.front.held());
            ledger.holds(vif.readers.iter().map(Reader::held).sum());
            ledger.holds(u64::from(vif.tx.requests()) + u64::from(vif.rx.responses()));
        }
    }
}
