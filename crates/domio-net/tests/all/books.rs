//! Two peers and a host with a network card on one bridge: every packet is delivered, was dropped
//! at a place that has a name, or is under way, at any time and whatever overflows.
//!
//! ```text
//!   peer 0 ══ bridge ══ card of host 1
//!               ║
//!             peer 2
//! ```

use domio_core::{Duration, Instant};
use domio_net::bridge::{Bridge, BridgePort, Forward};
use domio_net::icmp::{Echo, Pace, Ping, PingConfig};
use domio_net::link::{Direction, LinkConfig, Rate};
use domio_net::nic::{Coalesce, Nic, NicConfig};
use domio_net::packet::{FlowId, Packet, Station};
use domio_net::peer::{Peer, PeerActions, PeerTimer, PeerTimerKind, Service, TcpEnd};
use domio_net::queue::{DropPlace, Ledger, Queue};
use domio_net::tcp::{Connection, TcpConfig, Timer};
use domio_net::udp::{UdpConfig, UdpSink, UdpSource};
use domio_sim::{EventQueue, TimerId};
use proptest::prelude::*;

/// The host under test; stations 0 and 2 are remote.
const HOST: usize = 1;
const STATIONS: usize = 3;
/// Packets that a poll of the host takes.
const BUDGET: usize = 16;

const PING: FlowId = FlowId(0);
const UDP: FlowId = FlowId(1);
const TCP_IN: FlowId = FlowId(2);
const TCP_OUT: FlowId = FlowId(3);
/// Peer 2 has nobody who wants it.
const STRAY: FlowId = FlowId(4);
const FLOWS: usize = 5;

const KINDS: [PeerTimerKind; 3] = [
    PeerTimerKind::Next,
    PeerTimerKind::Tcp(Timer::Retransmit),
    PeerTimerKind::Tcp(Timer::DelayedAck),
];

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet comes to the bridge from this station.
    ToBridge(usize),
    /// A packet comes from the bridge to this station.
    FromBridge(usize),
    Peer(usize, PeerTimer),
    Interrupt,
    Poll,
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    nic: NicConfig,
    line: LinkConfig,
    udp_rate: u32,
    /// What the host takes for a packet.
    cost: Duration,
    backlog: usize,
}

struct World {
    queue: EventQueue<Event>,
    peers: [Peer; STATIONS],
    up: [Direction; STATIONS],
    down: [Direction; STATIONS],
    up_timers: [TimerId; STATIONS],
    down_timers: [TimerId; STATIONS],
    peer_timers: Vec<TimerId>,
    bridge: Bridge,
    nic: Nic,
    interrupt: TimerId,
    /// What the host's stack sends while the card's ring is full.
    backlog: Queue<Packet>,
    cost: Duration,
}

/// Collects what a peer asks for.
struct Wishes<'a> {
    queue: &'a mut EventQueue<Event>,
    timers: &'a [TimerId],
    sent: Vec<Packet>,
}

fn timer_index(station: usize, timer: PeerTimer) -> usize {
    let kind = KINDS.iter().position(|kind| *kind == timer.kind);
    (station * FLOWS + timer.flow.0 as usize) * KINDS.len() + kind.expect("one of three")
}

struct Of<'a, 'b>(usize, &'a mut Wishes<'b>);

impl PeerActions for Of<'_, '_> {
    fn send(&mut self, packet: Packet) {
        self.1.sent.push(packet);
    }

    fn arm(&mut self, timer: PeerTimer, at: Instant) {
        self.1
            .queue
            .arm(self.1.timers[timer_index(self.0, timer)], at);
    }

    fn disarm(&mut self, timer: PeerTimer) {
        self.1
            .queue
            .disarm(self.1.timers[timer_index(self.0, timer)]);
    }
}

fn peers(udp_rate: u32) -> [Peer; STATIONS] {
    let [zero, one, two] = [0, 1, 2].map(Station);
    let mut peers = [zero, one, two].map(Peer::new);
    let ping = PingConfig {
        bytes: 56,
        pace: Pace::Flood(Duration::from_millis(20)),
        ticks: None,
    };
    let udp = UdpConfig {
        bytes: 1_000,
        rate: udp_rate,
        wake: Duration::ZERO,
        jitter: Duration::ZERO,
    };
    let source = |to, flow| Service::UdpSource(UdpSource::new(udp, zero, to, flow));
    let tcp = || Connection::new(&TcpConfig::default());
    let end = |end| Service::Tcp(Box::new(end));
    peers[0].add(PING, Service::Ping(Ping::new(ping, zero, one, PING)));
    peers[1].add(PING, Service::Echo(Echo::new()));
    peers[0].add(UDP, source(one, UDP));
    peers[1].add(UDP, Service::UdpSink(UdpSink::new()));
    peers[2].add(TCP_IN, end(TcpEnd::client(tcp(), one, u64::MAX)));
    peers[1].add(TCP_IN, end(TcpEnd::server(tcp(), two, 0)));
    peers[1].add(TCP_OUT, end(TcpEnd::client(tcp(), zero, 200_000)));
    peers[0].add(TCP_OUT, end(TcpEnd::server(tcp(), one, 200_000)));
    peers[0].add(STRAY, source(two, STRAY));
    peers
}

impl World {
    fn new(setup: &Setup) -> Self {
        let mut queue = EventQueue::new();
        let stations = [0, 1, 2];
        let up_timers = stations.map(|s| queue.timer(Event::ToBridge(s)));
        let down_timers = stations.map(|s| queue.timer(Event::FromBridge(s)));
        let mut peer_timers = Vec::new();
        for station in stations {
            for flow in 0..FLOWS {
                for kind in KINDS {
                    let flow = FlowId(flow as u32);
                    let event = Event::Peer(station, PeerTimer { flow, kind });
                    peer_timers.push(queue.timer(event));
                }
            }
        }
        let interrupt = queue.timer(Event::Interrupt);
        World {
            queue,
            peers: peers(setup.udp_rate),
            up: stations.map(|_| Direction::new(setup.line)),
            down: stations.map(|_| Direction::new(setup.line)),
            up_timers,
            down_timers,
            peer_timers,
            bridge: Bridge::new(STATIONS as u16, STATIONS as u16),
            nic: Nic::new(setup.nic),
            interrupt,
            backlog: Queue::new(DropPlace("host backlog"), setup.backlog),
            cost: setup.cost,
        }
    }

    fn start(&mut self) {
        for station in 0..STATIONS {
            self.with_peer(station, |peer, now, out| peer.start(now, out));
        }
    }

    /// Runs until `until` and checks the books after each event.
    fn run(&mut self, until: Instant) {
        while let Some((now, event)) = self.queue.pop(until) {
            match event {
                Event::ToBridge(station) => {
                    let packet = self.up[station].arrive(now);
                    self.rearm();
                    if let Some(packet) = packet {
                        self.forward(station, packet);
                    }
                }
                Event::FromBridge(station) => {
                    let packet = self.down[station].arrive(now);
                    self.rearm();
                    match packet {
                        Some(packet) if station == HOST => {
                            self.nic.receive(now, packet);
                        }
                        Some(packet) => self.receive(station, packet),
                        None => {}
                    }
                }
                Event::Peer(station, timer) => {
                    self.with_peer(station, |peer, now, out| peer.timer(now, timer, out));
                }
                Event::Interrupt => {
                    self.nic.interrupt(now);
                    self.nic.mask();
                    self.queue.post(now + self.cost, Event::Poll);
                }
                Event::Poll => self.poll(),
            }
            self.arm_interrupt();
            self.check_books();
        }
    }

    /// The host's driver.
    fn poll(&mut self) {
        let now = self.queue.now();
        self.nic.reap(now);
        self.transmit();
        let mut taken = 0;
        while taken < BUDGET
            && let Some(packet) = self.nic.take(now)
        {
            taken += 1;
            self.nic.post(1);
            self.receive(HOST, packet);
        }
        if taken == BUDGET {
            self.queue.post(now + self.cost * taken as u64, Event::Poll);
        } else {
            self.nic.unmask();
        }
    }

    fn receive(&mut self, station: usize, packet: Packet) {
        self.with_peer(station, |peer, now, out| peer.receive(now, &packet, out));
    }

    fn forward(&mut self, station: usize, packet: Packet) {
        let now = self.queue.now();
        let from = BridgePort(station as u16);
        let send = |down: &mut [Direction; STATIONS], port: BridgePort| {
            // A packet that does not fit is counted by the line.
            let _ = down[usize::from(port.0)].send(now, packet);
        };
        match self.bridge.forward(from, &packet) {
            Forward::To(port) => send(&mut self.down, port),
            Forward::Flood => {
                for port in self.bridge.others(from) {
                    send(&mut self.down, port);
                }
            }
            Forward::Drop => {}
        }
        self.rearm();
    }

    fn with_peer(
        &mut self,
        station: usize,
        event: impl FnOnce(&mut Peer, Instant, &mut Of<'_, '_>),
    ) {
        let now = self.queue.now();
        let mut wishes = Wishes {
            queue: &mut self.queue,
            timers: &self.peer_timers,
            sent: Vec::new(),
        };
        event(&mut self.peers[station], now, &mut Of(station, &mut wishes));
        let sent = wishes.sent;
        for packet in sent {
            if station == HOST {
                let _ = self.backlog.push(packet);
                self.transmit();
            } else {
                let _ = self.up[station].send(now, packet);
            }
        }
        self.rearm();
    }

    /// Moves packets from the backlog to the card, while it has room.
    fn transmit(&mut self) {
        let now = self.queue.now();
        while self.nic.tx_free() > 0
            && let Some(packet) = self.backlog.pop()
        {
            let told = self.nic.transmit(now, packet, &mut self.up[HOST]);
            assert!(told.is_ok(), "there was room");
        }
        self.rearm();
    }

    fn rearm(&mut self) {
        for (timers, lines) in [(&self.up_timers, &self.up), (&self.down_timers, &self.down)] {
            for (timer, line) in timers.iter().zip(lines) {
                if let Some(at) = line.next_arrival() {
                    self.queue.arm(*timer, at);
                }
            }
        }
    }

    fn arm_interrupt(&mut self) {
        match self.nic.interrupt_at(self.queue.now()) {
            Some(at) => self.queue.arm(self.interrupt, at),
            None => self.queue.disarm(self.interrupt),
        }
    }

    fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::new();
        for part in self.up.iter().chain(&self.down) {
            ledger.add(part);
        }
        for peer in &self.peers {
            ledger.add(peer);
        }
        ledger.add(&self.bridge).add(&self.nic).add(&self.backlog);
        ledger
    }

    fn check_books(&self) {
        if let Err(error) = self.ledger().check() {
            panic!("at {}: {error}", self.queue.now());
        }
    }
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn setup() -> impl Strategy<Value = Setup> {
    let rate = prop_oneof![
        Just(Rate::MBIT_100),
        Just(Rate::GBIT_1),
        Just(Rate::GBIT_10)
    ];
    let rings = (1_u16..40, 1_u16..40, 0_usize..40, 0_usize..40);
    let moderation = (0_u64..200, 0_u16..20, 0_u64..200, 0_u16..20, 0_u64..300);
    (rate, rings, moderation, 1_u32..100_000, 0_u64..30_000).prop_map(
        |(rate, (rx_ring, tx_ring, queue, backlog), moderation, udp_rate, cost_ns)| {
            let (rx_us, rx_packets, tx_us, tx_packets, gap_us) = moderation;
            Setup {
                nic: NicConfig {
                    rx_ring,
                    tx_ring,
                    rx: Coalesce::since_last(Duration::from_micros(rx_us), rx_packets),
                    tx: Coalesce::since_first(Duration::from_micros(tx_us), tx_packets),
                    bus: (rx_us % 2 == 0).then_some(Rate::GBIT_1),
                    gap: Duration::from_micros(gap_us),
                    flow_control: false,
                    tso: false,
                    gro: false,
                    queues: Some(1),
                },
                line: LinkConfig {
                    rate,
                    latency: Duration::from_micros(5),
                    queue,
                },
                udp_rate,
                cost: Duration::from_nanos(cost_ns),
                backlog,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_packet_is_somewhere(setup in setup()) {
        let mut world = World::new(&setup);
        world.start();
        world.run(ms(30));
        let interrupts = world.nic.interrupts();
        let gap = setup.nic.gap.as_nanos();
        prop_assert!(gap == 0 || interrupts <= 30_000_000 / gap + 1, "{interrupts} interrupts");
        prop_assert!(world.nic.rx_counts().entered > 0);
    }
}

#[test]
fn a_slow_host_drops_in_the_ring_and_nowhere_else() {
    // 100000 packets a second of 10 us each do not fit, with everything else.
    let mut world = World::new(&Setup {
        nic: NicConfig::TG3,
        line: LinkConfig {
            rate: Rate::GBIT_10,
            latency: Duration::from_micros(5),
            queue: 1_000,
        },
        udp_rate: 100_000,
        cost: Duration::from_micros(10),
        backlog: 1_000,
    });
    world.start();
    world.run(ms(200));
    let ledger = world.ledger();
    assert!(ledger.dropped_at(Nic::RX_RING) > 0);
    assert_eq!(ledger.dropped_at(Direction::QUEUE), 0);
    assert_eq!(ledger.dropped_at(Direction::LINE), 0);
    // What station 0 sends to flow 4 of station 2, and what was flooded before stations were known.
    let Some(Service::UdpSource(stray)) = world.peers[0].service(STRAY) else {
        panic!("station 0 sends flow 4");
    };
    let unwanted = ledger.dropped_at(Peer::UNWANTED);
    assert!(
        (stray.sent() - 5..stray.sent() + 50).contains(&unwanted),
        "{unwanted}"
    );
}

#[test]
fn a_fast_host_answers_pings_and_moves_both_streams() {
    let mut world = World::new(&Setup {
        nic: NicConfig::PLAIN,
        line: LinkConfig {
            rate: Rate::GBIT_1,
            latency: Duration::from_micros(5),
            queue: 1_000,
        },
        udp_rate: 1_000,
        cost: Duration::from_micros(1),
        backlog: 1_000,
    });
    world.start();
    world.run(ms(1_000));
    let Some(Service::Ping(ping)) = world.peers[0].service(PING) else {
        panic!("station 0 pings");
    };
    let statistics = ping.statistics();
    assert_eq!(
        (statistics.timed_out, statistics.duplicates),
        (0, 0),
        "{statistics:?}"
    );
    assert!(statistics.sent - statistics.answered <= 1 && statistics.answered > 100);
    // Alone it takes 4 lines of 5 us and 976 ns, and the driver's microsecond. Behind the window of
    // the stream to the host it waits for up to 256 KiB, which take 2.23 ms.
    let idle = Duration::from_nanos(4 * 5_976 + 1_000);
    assert!(statistics.rtt_min >= idle, "{statistics:?}");
    let behind = Duration::from_micros(2_100)..Duration::from_micros(2_400);
    assert!(behind.contains(&statistics.rtt_max), "{statistics:?}");
    let Some(Service::Tcp(end)) = world.peers[0].service(TCP_OUT) else {
        panic!("station 0 takes a stream");
    };
    let statistics = end.connection().statistics();
    assert_eq!(
        (statistics.delivered, statistics.acknowledged),
        (200_000, 200_000)
    );
    let Some(Service::UdpSink(sink)) = world.peers[HOST].service(UDP) else {
        panic!("the host takes datagrams");
    };
    // One in each millisecond; the last few wait behind the stream.
    assert_eq!((sink.missing(), sink.out_of_order), (0, 0));
    assert!((997..=1_000).contains(&sink.received), "{sink:?}");
}
