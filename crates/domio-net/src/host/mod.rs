//! The network inside a host: from the line through the driver domain to the guests and back
//! (xen-spec 5 and 6).
//!
//! ```text
//!  remote ══line══ NIC ── driver ── bridge ── netback ══rings══ netfront ── stack ── process
//!  host                 └────── driver domain ──────┘         └────────── guest ──────────┘
//! ```
//!
//! [`Network`] is the model of one card, its driver domain and the interfaces behind it: a
//! [`Device`] of the bus. A host has as many as it has cards. Every step of a packet inside a
//! domain is work of one of that domain's vcpus, at the level at which Linux 2.6.18 does it, takes
//! its time, and is done for somebody.
//!
//! The page of the crate shows the way of a packet as numbered calls, in both directions.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@self`] | the model on the bus: what it is called for |
//! | `config` | what a network is made of; the processes that its flows need |
//! | `costs` | what work on packets costs |
//! | `outside` | the line and the remote host |
//! | `remote_card` | the remote host's card |
//! | `card` | arrivals at the card, its interrupt |
//! | `driver` | polling of the card, the bridge, the queue to the card |
//! | `netback` | the tasklets to and from the guests, rate limits, what a controller stops |
//! | `vif` | what an interface consists of |
//! | `netfront` | the guest's driver |
//! | `stack` | the guest's stack, and what it acts on |
//! | `web` | web servers and their clients: how they act on the host |
//! | `socket` | what processes of the guest read from and write to |
//! | `record` | records of packets |

mod card;
mod config;
mod costs;
mod driver;
mod netback;
mod netfront;
mod outside;
mod record;
mod remote_card;
mod socket;
mod stack;
mod vif;
mod web;

use domio_core::{DomainId, Instant, VcpuName};
use domio_sim::RandomStream;
use domio_vmm::bus::{
    Attach, Counted, Device, Io, KernelIo, Passed, Progress, Softirq, Token, Traffic,
};
use domio_vmm::process::{Answer, Call, Interest, Pid};

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
use crate::web::{self as web_model, Client, Listener, connection_of};
use crate::writers::WriterCosts;

pub use config::{
    FlowConfig, FlowKind, NetworkConfig, OtherPorts, RequestConfig, RxMode, StreamConfig,
    VifConfig, VifRate,
};
pub use costs::NetCosts;
pub(crate) use costs::by_kib;

use driver::{Driver, DriverLines};
use netback::{Gate, Netback};
use outside::{Neighbors, Outside, REMOTE};
use remote_card::RemoteCard;
use socket::{File, Serves, Socket};
use vif::{FrontLines, Vif};
use web::{WebClient, WebServer};

/// A handler of an interrupt, whose time is one piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handler {
    /// It does not run.
    Idle,
    /// It was entered, and its time is being spent.
    Entered,
}

impl Handler {
    /// The handler is called: whether that enters it, or its time is spent.
    fn enter(&mut self) -> bool {
        *self = match self {
            Handler::Idle => Handler::Entered,
            Handler::Entered => Handler::Idle,
        };
        *self == Handler::Entered
    }
}

/// What the network is called for, besides timers of the world outside. The place in
/// [`Network::calls`] is the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum For {
    /// The driver domain: card, polling, queues to guests, netback's tasklets, timers.
    Card,
    DriverRx,
    DriverTx,
    RxTasklet,
    TxTasklet,
    Credit,
    Queues,
    /// Netback's port of an interface.
    Back(u16),
    /// A guest: netfront's port, its softirqs, the stack's timers, setting the interface up.
    Front(u16),
    FrontRx(u16),
    FrontTx(u16),
    Stack(u16),
    Boot(u16),
}

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
    /// The client of a web workload.
    Web(u16),
}

/// The network of a host.
pub struct Network {
    config: NetworkConfig,
    /// Its number on the bus.
    device: u16,
    costs: NetCosts,
    driver: Driver,
    bridge: Bridge,
    back: Netback,
    vifs: Vec<Vif>,
    outside: Outside,
    events: Vec<Event>,
    calls: Vec<For>,
    /// What each socket's number means.
    files: Vec<File>,
    /// By number of a web workload: its interface, and its place there.
    webs: Vec<(u16, u16)>,
    /// Packets that found no buffer of their guest.
    ring_drops: u64,
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
        let mut calls = Vec::new();
        let lines = driver_lines(&mut calls, attach);
        let front_lines: Vec<FrontLines> = (0..config.vifs.len() as u16)
            .map(|vif| front_lines(vif, &mut calls, attach))
            .collect();
        let device = attach.device();
        let neighbours = stream(device, "remote/neighbours");
        let interrupts = stream(device, "remote/interrupts");
        let mut events = Vec::new();
        let mut timer = |event| {
            events.push(event);
            attach.timer(events.len() as u32 - 1)
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
        let (mut files, mut webs, mut clients) = (Vec::new(), Vec::new(), Vec::new());
        let mut neighbors = Vec::new();
        let mut random = RandomStream::new(seed, replication, &neighbours);
        for ((i, vif), lines) in (0..n).zip(&config.vifs).zip(front_lines) {
            assert!(
                vif.domain != config.driver,
                "an interface is not in the driver domain"
            );
            let station = Station(i + 1);
            bridge.bind(station, bridge::BridgePort(i + 1));
            let entry = Neighbor::new(Timing::LINUX, Instant::ZERO, &mut random);
            neighbors.push((entry, timer(Event::Neighbor(station))));
            let (guest, driver) = (vif.domain, config.driver);
            let stack = Peer::new(station);
            let mut new = Vif::new(record::Ends { guest, driver }, vif, stack, lines);
            for flow in &vif.flows {
                let id = FlowId(guests.len() as u32);
                guests.push(vif.domain);
                if let FlowKind::Web(config) = flow.kind {
                    let web = webs.len() as u16;
                    assert!(
                        webs.len() < web_model::WORKLOADS_MAX,
                        "a network has fewer web servers"
                    );
                    let place = new.webs.len() as u16;
                    webs.push((i, place));
                    files.push(File::Web(web));
                    new.sockets.push(Socket::new(id, Serves::Kernel));
                    let listener = Listener::new(web, &config, (station, REMOTE));
                    new.webs.push(WebServer::new(web, id, listener));
                    new.starts.push((id, flow.start, flow.stop));
                    let name = stream(device, &format!("web/d{}/{place}", vif.domain.0));
                    let random = RandomStream::new(seed, replication, &name);
                    clients.push(WebClient {
                        client: Client::new(web, &config, (REMOTE, station), random),
                        flow: id,
                        guest: vif.domain,
                        timer: timer(Event::Web(web)),
                        armed: None,
                    });
                    continue;
                }
                let (far, near) = ends(flow.kind, config.remote_writers, id, station);
                remote.add(id, far);
                new.stack.add(id, near);
                files.push(File::Flow(i, new.sockets.len() as u16));
                new.sockets.push(Socket::new(id, serves(flow.kind)));
                for kind in TIMERS {
                    let peer_timer = PeerTimer { flow: id, kind };
                    remote_timers.push((peer_timer, timer(Event::Remote(peer_timer))));
                }
                new.starts.push((id, flow.start, flow.stop));
            }
            vifs.push(new);
        }
        files.extend((0..n).map(File::Listening));
        remote_timers.sort_unstable_by_key(|(timer, _)| *timer);
        Network {
            config: config.clone(),
            device,
            costs: config.costs,
            driver: Driver::new(Nic::new(config.nic), interrupt, lines),
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
                    RandomStream::new(seed, replication, &interrupts),
                ),
                arrival_in,
                arrival_out,
                timers: remote_timers,
                guests,
                webs: clients,
            },
            events,
            calls,
            files,
            webs,
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
        let loss = |name| {
            let name = stream(self.device, name);
            Loss::new(RandomStream::new(seed, replication, &name), per_million)
        };
        let Link { there, back } = self.outside.link;
        self.outside.link = Link {
            there: there.with_loss(loss("line/there/loss")),
            back: back.with_loss(loss("line/back/loss")),
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

    /// Sets the driver domain's timer for the first limit that expires; some interface's credit or
    /// gate has changed.
    fn set_credit_timer(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let first = self.first_limit_to_end();
        kernel.set_timer(self.driver.lines.credit, self.config.vcpu, first);
    }

    /// Sets the driver domain's timer for the next queue that has stood still for too long.
    fn set_queue_timer(&mut self, kernel: &mut KernelIo<'_, '_>) {
        let first = self.first_rx_timeout();
        kernel.set_timer(self.driver.lines.queues, self.config.vcpu, first);
    }

    /// The interfaces of `domain`.
    fn vifs_of(&self, domain: DomainId) -> Vec<u16> {
        let all = (0..).zip(&self.vifs);
        let own = all.filter(|(_, v)| v.domain == domain);
        own.map(|(vif, _)| vif).collect()
    }
}

/// Name of a random stream of the network that is number `device` on the bus. A second card has
/// other streams than the first.
fn stream(device: u16, what: &str) -> String {
    match device {
        0 => format!("network/{what}"),
        device => format!("network{device}/{what}"),
    }
}

/// What the driver domain's kernel is called by, with tokens that `calls` explains.
fn driver_lines(calls: &mut Vec<For>, attach: &mut Attach<'_>) -> DriverLines {
    let mut token = tokens(calls);
    let _card = token(For::Card);
    DriverLines {
        rx: attach.softirq(Softirq::NetRx, token(For::DriverRx)),
        tx: attach.softirq(Softirq::NetTx, token(For::DriverTx)),
        rx_tasklet: attach.tasklet(token(For::RxTasklet)),
        tx_tasklet: attach.tasklet(token(For::TxTasklet)),
        credit: attach.kernel_timer(token(For::Credit)),
        queues: attach.kernel_timer(token(For::Queues)),
        pirq: attach.pirq(),
    }
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

/// Token of the card's interrupt.
const CARD_TOKEN: Token = 0;

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

impl Device for Network {
    fn serves(&self, domain: DomainId) -> bool {
        domain == self.config.driver || self.config.vifs.iter().any(|v| v.domain == domain)
    }

    fn driver(&self) -> Option<DomainId> {
        Some(self.config.driver)
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        let (driver, vcpu) = (self.config.driver, self.config.vcpu);
        if domain == driver {
            let port = io.bind_pirq(domain, self.driver.lines.pirq, vcpu, CARD_TOKEN);
            let port = port.expect("a driver domain that boots has free ports");
            self.driver.port = Some(port);
            for _ in 0..self.config.other_ports.boot {
                io.reserve(domain);
            }
            self.listen(io);
            return;
        }
        let others = self.config.other_ports.guest;
        for (nth, vif) in self.vifs_of(domain).into_iter().enumerate() {
            let v = &mut self.vifs[usize::from(vif)];
            if nth == 0 {
                let reserved = (0..others).filter_map(|_| io.reserve(driver));
                v.other_ports = reserved.collect();
            }
            let front = io.offer(domain, driver, v.vcpu, v.lines.front);
            let front = front.expect("a guest that boots has free ports");
            let back = io.connect(driver, domain, front, vcpu, v.lines.back);
            let back = back.expect("the driver domain is up, and has free ports");
            (v.front_port, v.back_port, v.up) = (Some(front), Some(back), true);
            io.queue_work(VcpuName::new(domain, v.vcpu), v.lines.boot);
            let starts = v.starts.clone();
            for (flow, start, stop) in starts {
                let v = &mut self.vifs[usize::from(vif)];
                if let Some(server) = v.webs.iter().find(|server| server.flow == flow) {
                    let web = server.web;
                    let stop = stop.map(|stop| io.now + stop);
                    self.outside.begin_web(web, io.now + start, stop, io);
                    continue;
                }
                v.begin(flow, io.now + start);
                if let Some(stop) = stop {
                    self.outside.peer.end_at(flow, io.now + stop);
                }
                self.outside.begin(flow, io.now + start, io);
            }
        }
    }

    fn unplug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        for vif in self.vifs_of(domain) {
            let v = &mut self.vifs[usize::from(vif)];
            v.up = false;
            v.timers.clear();
            v.webs.iter_mut().for_each(WebServer::clear);
            v.credit.timer = None;
            self.set_gate(vif, Gate::open());
            let v = &mut self.vifs[usize::from(vif)];
            v.rx_timeout = None;
            v.front_port = None;
            if let Some(back) = v.back_port.take() {
                let closed = io.close(self.config.driver, back);
                closed.expect("the port was bound when the guest came");
            }
            let v = &mut self.vifs[usize::from(vif)];
            for port in v.other_ports.drain(..) {
                let closed = io.close(self.config.driver, port);
                closed.expect("the port was reserved when the guest came");
            }
        }
    }

    fn event(&mut self, token: Token, io: &mut Io<'_>) {
        // A line that has to stop is stopped before the remote host sends more.
        self.take_arrivals(io);
        match self.events[token as usize] {
            Event::Interrupt => return self.raise_interrupt(io),
            Event::ArrivalIn => {}
            Event::ArrivalOut => self.outside.arrive(io),
            Event::Remote(timer) => self.outside.timer(timer, io),
            Event::Web(web) => self.outside.web_timer(web, io),
            Event::Neighbor(station) => {
                let Outside {
                    neighbors, link, ..
                } = &mut self.outside;
                neighbors.expire(station, link, io);
            }
        }
        self.listen(io);
    }

    fn irq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match self.calls[token as usize] {
            For::Card => self.card_irq(kernel),
            For::Back(vif) => self.back_irq(vif, kernel),
            For::Front(vif) => self.front_irq(vif, kernel),
            other => unreachable!("{other:?} is no port's"),
        }
    }

    fn softirq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match self.calls[token as usize] {
            For::DriverRx => self.driver_rx(kernel),
            For::DriverTx => self.driver_tx(kernel),
            For::FrontRx(vif) => self.front_rx(vif, kernel),
            For::FrontTx(vif) => self.front_tx(vif, kernel),
            other => unreachable!("{other:?} is no softirq"),
        }
    }

    fn tasklet(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match self.calls[token as usize] {
            For::RxTasklet => self.rx_tasklet(kernel),
            For::TxTasklet => self.tx_tasklet(kernel),
            other => unreachable!("{other:?} is no tasklet"),
        }
    }

    fn work(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        match self.calls[token as usize] {
            For::Boot(vif) => self.boot(vif, kernel),
            other => unreachable!("{other:?} is no work item"),
        }
    }

    fn timer(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) {
        match self.calls[token as usize] {
            For::Credit => {
                let now = kernel.now();
                for vif in 0..self.vifs.len() {
                    if self.vifs[vif].credit.timer.is_some_and(|at| at <= now) {
                        self.credit_expired(vif as u16, kernel);
                    }
                }
                if self.back.gated_vifs > 0 {
                    self.gates_expired(kernel);
                }
                self.set_credit_timer(kernel);
            }
            For::Queues => {
                self.expire_queues(kernel);
                self.set_queue_timer(kernel);
            }
            For::Stack(vif) => self.stack_timers(vif, kernel),
            other => unreachable!("{other:?} is no timer"),
        }
    }

    fn call(&mut self, call: Call, by: Pid, kernel: &mut KernelIo<'_, '_>) -> Answer {
        match self.files.get(call.file.file as usize) {
            Some(file) => self.socket_call(*file, call.what, by, kernel),
            None => match connection_of(FlowId(call.file.file)) {
                Some(connection) => self.web_call(connection, call.what, by, kernel),
                // As from a socket that is not connected.
                None => Answer::Return(0),
            },
        }
    }

    fn poll(&mut self, file: u32, interest: Interest, wake: Option<Pid>) -> bool {
        match (
            self.files.get(file as usize).copied(),
            connection_of(FlowId(file)),
        ) {
            (Some(file), _) => self.socket_poll(file, interest, wake),
            (None, Some(connection)) => self.web_poll(connection, interest, wake),
            (None, None) => false,
        }
    }

    fn limit(&mut self, domain: DomainId, traffic: Traffic, io: &mut Io<'_>) {
        for vif in self.vifs_of(domain) {
            self.limit_vif(vif, traffic, io);
        }
    }

    fn counted(&self, domain: DomainId) -> Counted {
        let own = self.vifs.iter().filter(|v| v.domain == domain);
        own.fold(Counted::default(), |sum, v| sum.plus(v.counted))
    }

    fn passed(&self, domain: DomainId) -> Passed {
        let own = self.vifs.iter().filter(|v| v.domain == domain);
        own.fold(Passed::default(), |sum, v| sum.plus(v.passed))
    }
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
        for web in &self.outside.webs {
            ledger.add(&web.client);
        }
        ledger.sent(self.outside.neighbors.asked);
        ledger.delivered(self.outside.neighbors.answers);
        ledger.holds(self.driver.held() + self.back.held());
        ledger.dropped(Netback::GONE, self.back.gone);
        ledger.dropped(Netback::RING, self.ring_drops);
        ledger.dropped(Netback::STOPPED, self.back.turned_away);
        ledger.dropped(Netback::GUARDED, self.back.guarded);
        for vif in &self.vifs {
            ledger
                .add(&vif.stack)
                .add(&vif.rx_queue)
                .add(&vif.front.queue);
            vif.webs.iter().for_each(|web| {
                ledger.add(&web.listener);
            });
            ledger.holds(vif.front.held());
            ledger.holds(vif.sockets.iter().map(Socket::held).sum());
            ledger.holds(u64::from(vif.tx.requests()) + u64::from(vif.rx.responses()));
        }
    }
}
