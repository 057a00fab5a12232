//! The model of a network that a configuration describes.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use domio_core::{Class, ClassId, Instant};
use domio_sim::{RandomStream, TimerId};
use domio_vmm::bus::{Attach, Blueprint, KernelLock, Softirq, SoftirqLine, TokenKind};

use super::at_hand::Owed;
use super::card::Card;
use super::card_queue::CardQueue;
use super::config::{FlowConfig, FlowKind, NetworkConfig, StreamConfig, VifConfig};
use super::driver::Driver;
use super::ends::{ends, serves, with_offloads};
use super::guest::{Guest, Start};
use super::line::Line;
use super::lines::{OfSoftirq, OfTasklet, OfTimer, OfWork};
use super::local::Local;
use super::neighbors::{Neighbors, REMOTE};
use super::netback::{BackLines, Netback};
use super::netfront::{FrontLines, Netfront};
use super::outside::Outside;
use super::record::Ends;
use super::remote_card::RemoteCard;
use super::site::{CARD, Site};
use super::socket::{File, Serves, Socket};
use super::softnet::Softnet;
use super::stack::Stack;
use super::vif::{Injector, Vif};
use super::web_client::WebClient;
use super::web_server::WebServer;
use super::{Event, Network};
use crate::bridge::Bridge;
use crate::class::RECORDS;
use crate::icmp::{Echo, Ping, PingConfig};
use crate::link::{Link, Loss};
use crate::neighbor::{Neighbor, Timing};
use crate::packet::{FlowId, Station};
use crate::peer::{Peer, PeerTimer, PeerTimerKind, Service, TcpEnd};
use crate::tcp::{Connection, Timer};
use crate::web::{Client, Listener, WORKLOADS_MAX, WebConfig};

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
    /// When `config` contradicts itself: an interface in the driver domain that has its backend, or
    /// driver domains in a circle.
    #[track_caller]
    pub fn new(
        config: &NetworkConfig,
        attach: &mut Attach<'_>,
        seed: u64,
        replication: u32,
    ) -> Self {
        config.check();
        let mut sites = Site::all(config);
        for site in &mut sites {
            site.grant_lock = config.grant_lock.then(|| attach.lock());
        }
        let sites = sites;
        let queues = config.nic.queues_on(config.card_vcpus);
        let polls = queues.min(config.card_vcpus.max(1));
        let (back_lines, poll_lines) = driver_lines(&sites, (polls, config.has_threads()), attach);
        let pirqs: Vec<u16> = (0..queues).map(|_| attach.pirq()).collect();
        let vifs = config.vifs.len() as u16;
        let lines: Vec<FrontLines> = (0..vifs).map(|vif| front_lines(vif, attach)).collect();
        let random = Streams {
            device: attach.device(),
            seed,
            replication,
        };
        let xmit_locks: Vec<KernelLock> = (0..queues).map(|_| attach.lock()).collect();
        let mut parts = Parts::new(config, &sites, random, attach);
        let interrupts: Vec<TimerId> = (0..queues)
            .map(|queue| parts.timer(Event::Interrupt(queue)))
            .collect();
        let arrivals = (
            parts.timer(Event::ArrivalIn),
            parts.timer(Event::ArrivalOut),
        );
        for ((i, vif), lines) in (0..).zip(&config.vifs).zip(lines) {
            parts.add_vif(i, vif, lines);
        }
        parts.files.extend((0..vifs).map(File::Listening));
        parts.add_others();
        let local = config.local.map(|_| {
            let peer = core::mem::replace(&mut parts.remote, Peer::new(REMOTE));
            let timer = parts.attach.kernel_timer(OfTimer::Local.token(0));
            Local::new(peer, parts.flows.clone(), timer, config.vcpu)
        });
        let remote_card = RemoteCard::new(
            config.remote_gap,
            config.remote_irq_latency,
            random.stream("remote/interrupts"),
        );
        let line = Line::new(Link::new(config.link), remote_card, arrivals);
        let of_queue = (0..).zip(xmit_locks).zip(pirqs.into_iter().zip(interrupts));
        let of_queue = of_queue.map(|((queue, lock), interrupt)| {
            let driver = match &config.card_at[..] {
                [] => queue % polls,
                threads => threads[usize::from(queue) % threads.len()],
            };
            CardQueue::new(config.nic, (queue, driver), interrupt, lock)
        });
        let card = Card::new(of_queue.collect(), line, config.vcpu);
        let rates: Vec<_> = config.vifs.iter().map(|vif| vif.rate).collect();
        let (mut drivers, mut of_driver) = (Vec::new(), Vec::new());
        for (site, softirq) in poll_lines {
            drivers.push(Driver::new(Softnet::new(softirq), config.softirqs));
            of_driver.push(site);
        }
        let (mut backs, mut of_back) = (Vec::new(), Vec::new());
        for lines in back_lines {
            let form = sites[usize::from(lines.site)].netback.form;
            backs.push(Netback::new(&rates, form, lines.back, lines.vcpu));
            of_back.push((lines.site, lines.driver));
        }
        let bridges = bridges(config, &sites);
        Network {
            sites: sites.clone(),
            owed: Owed::new(of_driver.len()),
            of_driver,
            of_back,
            device: random.device,
            outside: Outside::new(
                parts.remote,
                Neighbors::new(parts.neighbors),
                parts.remote_timers,
                parts.flows,
                parts.clients,
            )
            .joins(config.nic.gro),
            card,
            local,
            bridges,
            drivers,
            backs,
            vifs: parts.vifs,
            guests: parts.guests,
            events: parts.events,
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
        let link = &mut self.card.line.link;
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
    sites: &'a [Site],
    attach: &'a mut Attach<'b>,
    random: Streams,
    /// What neighbours draw from.
    neighbor_random: RandomStream,
    /// Number of the class of the network's records.
    class: ClassId,
    events: Vec<Event>,
    remote: Peer,
    remote_timers: Vec<(PeerTimer, TimerId)>,
    neighbors: Vec<(Neighbor, TimerId)>,
    vifs: Vec<Vif>,
    guests: Vec<Guest>,
    /// The interface of each flow.
    flows: Vec<Ends>,
    /// Ends of flows in the guests of other interfaces.
    others: Vec<(FlowId, u16, Service)>,
    files: Vec<File>,
    webs: Vec<(u16, u16)>,
    clients: Vec<WebClient>,
}

impl<'a, 'b> Parts<'a, 'b> {
    /// Nothing but the remote host.
    fn new(
        config: &'a NetworkConfig,
        sites: &'a [Site],
        random: Streams,
        attach: &'a mut Attach<'b>,
    ) -> Self {
        Parts {
            config,
            sites,
            class: attach.class::<NetworkConfig>(),
            attach,
            random,
            neighbor_random: random.stream("remote/neighbours"),
            events: Vec::new(),
            remote: Peer::new(REMOTE).with_writers(config.remote_writers),
            remote_timers: Vec::new(),
            neighbors: Vec::new(),
            vifs: Vec::new(),
            guests: Vec::new(),
            flows: Vec::new(),
            others: Vec::new(),
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
        let entry = Neighbor::new(Timing::LINUX, Instant::ZERO, &mut self.neighbor_random);
        let timer = self.timer(Event::Neighbor(station));
        self.neighbors.push((entry, timer));
        let number = vif.behind.map_or(0, |behind| behind + 1);
        let site = &self.sites[usize::from(number)];
        let ends = Ends {
            guest: vif.domain,
            driver: site.driver,
            class: self.class,
        };
        let place = site.port_of(i).0 - 1;
        let pair = site.netback.pair_of(place, station.0, vif.pair);
        let back = first_backs(self.sites)[usize::from(number)] + pair;
        let way_out = (number, site.uplink);
        let mut v = Vif::new(ends, way_out, back, &site.netback.small);
        if let Some(first) = site.netback.kworkers {
            v.injector = Some(Injector {
                work: self.attach.work(OfWork::Inject.token(i)),
                first,
                under_way: false,
            });
        }
        self.vifs.push(v);
        let stack = Stack::new(ends, Peer::new(station), lines.timer, vif.vcpu);
        let mut guest = Guest::new(Netfront::new(vif, station, lines), stack, vif.vcpu);
        if let Some((number, site)) = (0..).zip(self.sites).find(|(_, s)| s.uplink == Some(i)) {
            let all = self.config.vifs.iter().map(|vif| vif.domain).collect();
            guest.bridges((number, site.clone()), station, all);
        }
        for config in &vif.flows {
            let flow = FlowId(self.flows.len() as u32);
            self.flows.push(ends);
            let FlowConfig { kind, start, stop } = *config;
            guest.starts.push(Start { flow, start, stop });
            match kind {
                FlowKind::Web(web) => self.add_web(i, flow, &web, ends, &mut guest.stack),
                FlowKind::PingGuest(ping, to) => {
                    self.add_ping(i, flow, (ping, to), &mut guest.stack);
                }
                FlowKind::StreamGuest(stream, to) => {
                    self.add_stream(i, flow, (stream, to), &mut guest.stack);
                }
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
        let (far, near) = with_offloads(&self.config.nic, config.tcp);
        let served = WebConfig {
            tcp: near,
            ..*config
        };
        let config = &WebConfig {
            tcp: far,
            ..*config
        };
        let listener = Listener::new(web, &served, (station, REMOTE));
        stack.webs.push(WebServer::new(web, flow, listener));
        let random = self
            .random
            .stream(&format!("web/d{}/{place}", ends.guest.0));
        let client = Client::new(web, config, (REMOTE, station), random);
        let timer = self.timer(Event::Web(web));
        self.clients.push(WebClient::new(client, flow, ends, timer));
    }

    /// Adds a ping from the guest of interface `i` to that of interface `to`.
    fn add_ping(
        &mut self,
        i: u16,
        flow: FlowId,
        (config, to): (PingConfig, u16),
        stack: &mut Stack,
    ) {
        let ping = Ping::new(config, Station(i + 1), Station(to + 1), flow);
        stack.peer.add(flow, Service::Ping(ping));
        self.others.push((flow, to, Service::Echo(Echo::new())));
        self.files.push(File::Flow(i, stack.sockets.len() as u16));
        stack.sockets.push(Socket::new(flow, Serves::Kernel));
    }

    /// Adds a stream from the guest of interface `i` to that of interface `to`.
    fn add_stream(
        &mut self,
        i: u16,
        flow: FlowId,
        (config, to): (StreamConfig, u16),
        stack: &mut Stack,
    ) {
        let (_, tcp) = with_offloads(&self.config.nic, config.tcp);
        let connection = Connection::new(&tcp);
        let reader = TcpEnd::server(connection.clone(), Station(i + 1), 0).reads_when_told();
        let writer = TcpEnd::client(connection, Station(to + 1), u64::MAX).writes_when_told();
        stack.peer.add(flow, Service::Tcp(Box::new(writer)));
        self.others.push((flow, to, Service::Tcp(Box::new(reader))));
        self.files.push(File::Flow(i, stack.sockets.len() as u16));
        stack.sockets.push(Socket::new(flow, Serves::Process));
    }

    /// Adds the ends of flows that other guests have, and the sockets of all other ends in this
    /// host.
    fn add_others(&mut self) {
        let first = self.files.len();
        self.files
            .extend((0..self.flows.len() as u32).map(File::Local));
        for (flow, to, service) in core::mem::take(&mut self.others) {
            let stack = &mut self.guests[usize::from(to)].stack;
            if matches!(service, Service::Tcp(_)) {
                self.files[first + flow.0 as usize] = File::Flow(to, stack.sockets.len() as u16);
                stack.sockets.push(Socket::new(flow, Serves::Process));
            }
            stack.peer.add(flow, service);
        }
    }

    /// Adds another flow of interface `i`.
    fn add_flow(&mut self, i: u16, flow: FlowId, kind: FlowKind, stack: &mut Stack) {
        let (far, near) = ends(kind, self.config, flow, Station(i + 1));
        self.remote.add(flow, far);
        stack.peer.add(flow, near);
        self.files.push(File::Flow(i, stack.sockets.len() as u16));
        // Linux of 2.6.18 is compared with kernels that count; this one with a process.
        let serves = match kind {
            FlowKind::UdpIn(_) if self.config.local.is_some() => Serves::Process,
            kind => serves(kind),
        };
        stack.sockets.push(Socket::new(flow, serves));
        for kind in TIMERS {
            let peer_timer = PeerTimer { flow, kind };
            let timer = self.timer(Event::Remote(peer_timer));
            self.remote_timers.push((peer_timer, timer));
        }
    }
}

/// What a driver domain is called by for a pair of tasklets.
struct Lines {
    /// Number of the driver domain.
    site: u16,
    vcpu: u16,
    /// What polls on that vcpu, by its number among those of all driver domains.
    driver: u16,
    back: BackLines,
}

/// What the kernels of driver domains are called by, for each pair of tasklets; and the softirqs
/// that poll, each with the number of its driver domain. The domain with the card polls the card's
/// queues on so many of its vcpus. Packets to guests may be a thread's.
fn driver_lines(
    sites: &[Site],
    (polls, threads): (u16, bool),
    attach: &mut Attach<'_>,
) -> (Vec<Lines>, Vec<(u16, SoftirqLine)>) {
    let mut lines = Vec::new();
    let mut softirqs = Vec::new();
    for (site, s) in (0..).zip(sites) {
        let vcpus = s.netback.vcpus();
        let first = softirqs.len() as u16;
        for pair in 0..s.netback.pairs() {
            let n = lines.len() as u16;
            let driver = first + pair % vcpus;
            if pair < vcpus {
                let softirq = attach.softirq(Softirq::NetRx, OfSoftirq::DriverRx.token(driver));
                softirqs.push((site, softirq));
            }
            let back = BackLines {
                restart: attach.softirq(Softirq::NetTx, OfSoftirq::DriverTx.token(n)),
                rx_tasklet: attach.tasklet(OfTasklet::Rx.token(n)),
                rx_thread: threads.then(|| attach.work(OfWork::Rx.token(n))),
                tx_tasklet: attach.tasklet(OfTasklet::Tx.token(n)),
                credit: attach.kernel_timer(OfTimer::Credit.token(n)),
                queues: attach.kernel_timer(OfTimer::Queues.token(n)),
            };
            lines.push(Lines {
                site,
                vcpu: s.vcpu + pair % vcpus,
                driver,
                back,
            });
        }
        // Vcpus that poll the card and have no netback.
        let has_card = if site == 0 { polls } else { 0 };
        for driver in vcpus..has_card.max(vcpus) {
            let token = OfSoftirq::DriverRx.token(first + driver);
            let softirq = attach.softirq(Softirq::NetRx, token);
            softirqs.push((site, softirq));
        }
    }
    (lines, softirqs)
}

/// By driver domain: number of its first backend among those of all.
fn first_backs(sites: &[Site]) -> Vec<u16> {
    let mut next = 0;
    let first = |site: &Site| {
        let first = next;
        next += site.netback.pairs();
        first
    };
    sites.iter().map(first).collect()
}

/// The bridges of all driver domains, each of which knows by which port every station is reached.
fn bridges(config: &NetworkConfig, sites: &[Site]) -> Vec<Bridge> {
    let stations = config.vifs.len() as u16 + 1;
    let mut bridges: Vec<Bridge> = sites
        .iter()
        .map(|site| {
            let mut bridge = Bridge::new(site.ports.len() as u16 + 1, stations);
            bridge.bind(REMOTE, CARD);
            bridge
        })
        .collect();
    for vif in 0..config.vifs.len() as u16 {
        // From the guest outward: each bridge has the station at the port that leads there.
        let mut next = Some(vif);
        while let Some(port) = next {
            let number = config.vifs[usize::from(port)].behind.map_or(0, |b| b + 1);
            let site = &sites[usize::from(number)];
            bridges[usize::from(number)].bind(Station(vif + 1), site.port_of(port));
            next = site.uplink;
        }
    }
    bridges
}

/// What a guest's kernel is called by for interface `vif`.
fn front_lines(vif: u16, attach: &mut Attach<'_>) -> FrontLines {
    FrontLines {
        rx: attach.softirq(Softirq::NetRx, OfSoftirq::FrontRx.token(vif)),
        tx: attach.softirq(Softirq::NetTx, OfSoftirq::FrontTx.token(vif)),
        timer: attach.kernel_timer(OfTimer::Stack.token(vif)),
        boot: attach.work(OfWork::Boot.token(vif)),
        tx_lock: attach.lock(),
    }
}

/// Timers that a flow of the remote host may have.
const TIMERS: [PeerTimerKind; 3] = [
    PeerTimerKind::Next,
    PeerTimerKind::Tcp(Timer::Retransmit),
    PeerTimerKind::Tcp(Timer::DelayedAck),
];
