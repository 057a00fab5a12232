//! The model of a network that a configuration describes.

use domio_core::{Class, ClassId, Instant};
use domio_sim::{RandomStream, TimerId};
use domio_vmm::bus::{Attach, Blueprint, Softirq, SoftirqLine, Token};

use super::card::Card;
use super::config::{FlowConfig, FlowKind, NetworkConfig, VifConfig};
use super::driver::{self, Driver};
use super::guest::{Guest, Start};
use super::line::Line;
use super::neighbors::{Neighbors, REMOTE};
use super::netback::{BackLines, Netback};
use super::netfront::{FrontLines, Netfront};
use super::outside::Outside;
use super::record::Ends;
use super::remote_card::RemoteCard;
use super::socket::{File, Serves, Socket};
use super::softnet::Softnet;
use super::stack::Stack;
use super::vif::Vif;
use super::web_client::WebClient;
use super::web_server::WebServer;
use super::{CARD_TOKEN, Event, For, Network};
use crate::bridge::{Bridge, BridgePort};
use crate::class::RECORDS;
use crate::icmp::{Echo, Ping};
use crate::link::{Link, Loss};
use crate::neighbor::{Neighbor, Timing};
use crate::nic::Nic;
use crate::packet::{FlowId, Station};
use crate::peer::{Peer, PeerTimer, PeerTimerKind, Service, TcpEnd};
use crate::tcp::{Connection, Timer};
use crate::udp::{UdpSink, UdpSource};
use crate::web::{Client, Listener, WORKLOADS_MAX, WebConfig};
use crate::writers::WriterCosts;

impl Blueprint for NetworkConfig {
    const RECORDS: Option<&'static Class> = Some(&RECORDS);

    type Model = Network;

    fn make(&self, attach: &mut Attach<'_>, seed: u64, replication: u32) -> Network {
        Network::new(self, attach, seed, replication)
    }
}

impl Network {
    /// The network that `config` describes, before any domain is up. Its random streams are those
    /// of `seed` and `replication`.
    ///
    /// # Panics
    /// When `config` contradicts itself: an interface in the driver domain.
    #[track_caller]
    pub fn new(
        config: &NetworkConfig,
        attach: &mut Attach<'_>,
        seed: u64,
        replication: u32,
    ) -> Self {
        assert!(
            config.vifs.iter().all(|vif| vif.domain != config.driver),
            "an interface is not in the driver domain"
        );
        let mut calls = Vec::new();
        let (softirq, back, pirq) = driver_lines(&mut calls, attach);
        let vifs = config.vifs.len() as u16;
        let lines: Vec<FrontLines> = (0..vifs)
            .map(|vif| front_lines(vif, &mut calls, attach))
            .collect();
        let random = Streams {
            device: attach.device(),
            seed,
            replication,
        };
        let mut parts = Parts::new(config, random, attach);
        let interrupt = parts.timer(Event::Interrupt);
        let arrivals = (
            parts.timer(Event::ArrivalIn),
            parts.timer(Event::ArrivalOut),
        );
        for ((i, vif), lines) in (0..).zip(&config.vifs).zip(lines) {
            parts.add_vif(i, vif, lines);
        }
        parts.files.extend((0..vifs).map(File::Listening));
        let remote_card = RemoteCard::new(
            config.remote_gap,
            config.remote_irq_latency,
            random.stream("remote/interrupts"),
        );
        let line = Line::new(Link::new(config.link), remote_card, arrivals);
        let card = Card::new(Nic::new(config.nic), line, pirq, interrupt);
        Network {
            config: config.clone(),
            device: random.device,
            outside: Outside::new(
                parts.remote,
                Neighbors::new(parts.neighbors),
                parts.remote_timers,
                parts.flows,
                parts.clients,
            ),
            driver: Driver::new(card, Softnet::new(softirq), parts.bridge),
            back: Netback::new(config, back),
            vifs: parts.vifs,
            guests: parts.guests,
            events: parts.events,
            calls,
            files: parts.files,
            webs: parts.webs,
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
        let random = Streams {
            device: self.device,
            seed,
            replication,
        };
        let loss = |name| Loss::new(random.stream(name), per_million);
        let link = &mut self.driver.card.line.link;
        let Link { there, back } = link.clone();
        *link = Link {
            there: there.with_loss(loss("line/there/loss")),
            back: back.with_loss(loss("line/back/loss")),
        };
        self
    }
}

/// Random streams of a network.
#[derive(Clone, Copy, Debug)]
struct Streams {
    device: u16,
    seed: u64,
    replication: u32,
}

impl Streams {
    /// The stream with this name. A second card, the one with another number on the bus, has other
    /// streams than the first.
    fn stream(self, what: &str) -> RandomStream {
        let name = match self.device {
            0 => format!("network/{what}"),
            device => format!("network{device}/{what}"),
        };
        RandomStream::new(self.seed, self.replication, &name)
    }
}

/// What grows with each interface and each flow.
struct Parts<'a, 'b> {
    config: &'a NetworkConfig,
    attach: &'a mut Attach<'b>,
    random: Streams,
    /// What neighbours draw from.
    neighbor_random: RandomStream,
    /// Number of the class of the network's records.
    class: ClassId,
    events: Vec<Event>,
    bridge: Bridge,
    remote: Peer,
    remote_timers: Vec<(PeerTimer, TimerId)>,
    neighbors: Vec<(Neighbor, TimerId)>,
    vifs: Vec<Vif>,
    guests: Vec<Guest>,
    /// The interface of each flow.
    flows: Vec<Ends>,
    files: Vec<File>,
    webs: Vec<(u16, u16)>,
    clients: Vec<WebClient>,
}

impl<'a, 'b> Parts<'a, 'b> {
    /// Nothing but the remote host.
    fn new(config: &'a NetworkConfig, random: Streams, attach: &'a mut Attach<'b>) -> Self {
        let ports = config.vifs.len() as u16 + 1;
        let mut bridge = Bridge::new(ports, ports);
        bridge.bind(REMOTE, driver::CARD);
        Parts {
            config,
            class: attach.class::<NetworkConfig>(),
            attach,
            random,
            neighbor_random: random.stream("remote/neighbours"),
            events: Vec::new(),
            bridge,
            remote: Peer::new(REMOTE).with_writers(config.remote_writers),
            remote_timers: Vec::new(),
            neighbors: Vec::new(),
            vifs: Vec::new(),
            guests: Vec::new(),
            flows: Vec::new(),
            files: Vec::new(),
            webs: Vec::new(),
            clients: Vec::new(),
        }
    }

    /// A timer for `event`.
    fn timer(&mut self, event: Event) -> TimerId {
        self.events.push(event);
        self.attach.timer(self.events.len() as u32 - 1)
    }

    /// Adds interface `i`.
    fn add_vif(&mut self, i: u16, vif: &VifConfig, lines: FrontLines) {
        let station = Station(i + 1);
        self.bridge.bind(station, BridgePort(i + 1));
        let entry = Neighbor::new(Timing::LINUX, Instant::ZERO, &mut self.neighbor_random);
        let timer = self.timer(Event::Neighbor(station));
        self.neighbors.push((entry, timer));
        let ends = Ends {
            guest: vif.domain,
            driver: self.config.driver,
            class: self.class,
        };
        self.vifs.push(Vif::new(ends));
        let stack = Stack::new(ends, Peer::new(station), lines.timer, vif.vcpu);
        let mut guest = Guest::new(Netfront::new(vif, lines), stack, vif.vcpu);
        for config in &vif.flows {
            let flow = FlowId(self.flows.len() as u32);
            self.flows.push(ends);
            let FlowConfig { kind, start, stop } = *config;
            guest.starts.push(Start { flow, start, stop });
            match kind {
                FlowKind::Web(web) => self.add_web(i, flow, &web, ends, &mut guest.stack),
                kind => self.add_flow(i, flow, kind, &mut guest.stack),
            }
        }
        self.guests.push(guest);
    }

    /// Adds a web server of interface `i`, which is between `ends`, and its client.
    fn add_web(&mut self, i: u16, flow: FlowId, config: &WebConfig, ends: Ends, stack: &mut Stack) {
        assert!(
            self.webs.len() < WORKLOADS_MAX,
            "a network has fewer web servers"
        );
        let (web, place) = (self.webs.len() as u16, stack.webs.len() as u16);
        self.webs.push((i, place));
        self.files.push(File::Web(web));
        stack.sockets.push(Socket::new(flow, Serves::Kernel));
        let station = Station(i + 1);
        let listener = Listener::new(web, config, (station, REMOTE));
        stack.webs.push(WebServer::new(web, flow, listener));
        let random = self
            .random
            .stream(&format!("web/d{}/{place}", ends.guest.0));
        let client = Client::new(web, config, (REMOTE, station), random);
        let timer = self.timer(Event::Web(web));
        self.clients.push(WebClient::new(client, flow, ends, timer));
    }

    /// Adds another flow of interface `i`.
    fn add_flow(&mut self, i: u16, flow: FlowId, kind: FlowKind, stack: &mut Stack) {
        let writers = self.config.remote_writers;
        let (far, near) = ends(kind, writers, flow, Station(i + 1));
        self.remote.add(flow, far);
        stack.peer.add(flow, near);
        self.files.push(File::Flow(i, stack.sockets.len() as u16));
        stack.sockets.push(Socket::new(flow, serves(kind)));
        for kind in TIMERS {
            let peer_timer = PeerTimer { flow, kind };
            let timer = self.timer(Event::Remote(peer_timer));
            self.remote_timers.push((peer_timer, timer));
        }
    }
}

/// What the driver domain's kernel is called by, with tokens that `calls` explains: the softirq
/// that polls, netback's lines, the number of the card's interrupt.
fn driver_lines(calls: &mut Vec<For>, attach: &mut Attach<'_>) -> (SoftirqLine, BackLines, u16) {
    let mut token = tokens(calls);
    let card = token(For::Card);
    debug_assert_eq!(card, CARD_TOKEN, "the card's interrupt comes first");
    let rx = attach.softirq(Softirq::NetRx, token(For::DriverRx));
    let back = BackLines {
        restart: attach.softirq(Softirq::NetTx, token(For::DriverTx)),
        rx_tasklet: attach.tasklet(token(For::RxTasklet)),
        tx_tasklet: attach.tasklet(token(For::TxTasklet)),
        credit: attach.kernel_timer(token(For::Credit)),
        queues: attach.kernel_timer(token(For::Queues)),
    };
    (rx, back, attach.pirq())
}

/// What a guest's kernel is called by for interface `vif`; the tokens of both ports come first.
fn front_lines(vif: u16, calls: &mut Vec<For>, attach: &mut Attach<'_>) -> FrontLines {
    let mut token = tokens(calls);
    FrontLines {
        back: token(For::Back(vif)),
        front: token(For::Front(vif)),
        rx: attach.softirq(Softirq::NetRx, token(For::FrontRx(vif))),
        tx: attach.softirq(Softirq::NetTx, token(For::FrontTx(vif))),
        timer: attach.kernel_timer(token(For::Stack(vif))),
        boot: attach.work(token(For::Boot(vif))),
    }
}

/// Gives each call the next token.
fn tokens(calls: &mut Vec<For>) -> impl FnMut(For) -> Token {
    |what| {
        calls.push(what);
        calls.len() as Token - 1
    }
}

/// Whom the guest's socket of a flow serves.
fn serves(kind: FlowKind) -> Serves {
    match kind {
        FlowKind::StreamIn(_) | FlowKind::StreamOut(_) => Serves::Process,
        FlowKind::Request(_) => Serves::Server,
        FlowKind::Ping(_) | FlowKind::UdpIn(_) | FlowKind::UdpOut(_) | FlowKind::Web(_) => {
            Serves::Kernel
        }
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
            tcp(TcpEnd::server(Connection::new(&config.tcp), station, 0)),
            tcp(TcpEnd::client(Connection::new(&config.tcp), REMOTE, u64::MAX).writes_when_told()),
        ),
        FlowKind::Request(config) => (
            tcp(TcpEnd::client(
                Connection::new(&config.tcp),
                station,
                config.bytes,
            )),
            tcp(
                TcpEnd::server(Connection::new(&config.tcp), REMOTE, u64::MAX)
                    .reads_when_told()
                    .writes_when_told(),
            ),
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
        FlowKind::Web(_) => unreachable!("a web server has a client and a listener"),
    }
}
