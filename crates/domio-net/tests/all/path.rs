//! Two TCP ends, a link each, and a bridge between them.
//!
//! ```text
//!   left ── line 0 ──▶ bridge ── line 1 ──▶ right
//!        ◀── line 3 ──       ◀── line 2 ──
//! ```

use domio_core::{Duration, Instant};
use domio_net::bridge::{Bridge, BridgePort, Forward};
use domio_net::link::{Direction, LinkConfig, Loss};
use domio_net::packet::{Body, FlowId, Packet, Segment, Station};
use domio_net::queue::{DropPlace, Ledger};
use domio_net::tcp::{Actions, Connection, TcpConfig, Timer};
use domio_sim::{EventQueue, RandomStream, TimerId};

/// What the path does to packets besides carrying them, in cases of a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chaos {
    pub drop: u64,
    pub duplicate: u64,
    /// Held back for up to [`HELD_MAX`], so that later ones overtake.
    pub hold: u64,
}

const HELD_MAX: Duration = Duration::from_millis(30);

/// When an end's application reads.
#[derive(Clone, Copy, Debug)]
pub enum Reads {
    /// At once.
    AtOnce,
    /// So many bytes, in each such period.
    Slowly(u64, Duration),
    /// The same, and where there is nothing it waits in the read.
    Waiting(u64, Duration),
}

impl Reads {
    fn slow(self) -> Option<(u64, Duration)> {
        match self {
            Reads::AtOnce => None,
            Reads::Slowly(bytes, period) | Reads::Waiting(bytes, period) => Some((bytes, period)),
        }
    }
}

/// How an end's application behaves.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// Bytes that it writes, as soon as there is room; `u64::MAX` for no end.
    pub writes: u64,
    pub reads: Reads,
}

/// A bulk sender, or receiver.
pub const fn application(writes: u64) -> Application {
    Application {
        writes,
        reads: Reads::AtOnce,
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive(usize),
    Timer(usize, Timer),
    /// A packet that was held back, by its place in `held`, on its way to this side.
    Held(usize, usize),
    Read(usize),
}

pub struct End {
    pub connection: Connection,
    application: Application,
    /// Bytes written so far.
    pub written: u64,
    /// What `deliver` told, summed up.
    pub delivered: u64,
    /// What `freed` told, summed up.
    pub freed: u64,
    pub opened: u32,
    /// Which bytes have arrived, whatever their order: what can have been delivered at most.
    arrived: Option<Vec<bool>>,
    /// How many of them, from the first, are there without a gap.
    together: usize,
}

pub struct Path {
    queue: EventQueue<Event>,
    arrivals: [TimerId; 4],
    timers: [[TimerId; 2]; 2],
    pub lines: [Direction; 4],
    bridge: Bridge,
    pub ends: [End; 2],
    chaos: Chaos,
    random: RandomStream,
    held: Vec<Packet>,
    chaos_dropped: u64,
    chaos_made: u64,
    chaos_holds: u64,
}

const CHAOS: DropPlace = DropPlace("chaos");
const FLOW: FlowId = FlowId(1);

/// Carries out what an end asks for.
struct Out<'a> {
    queue: &'a mut EventQueue<Event>,
    timers: [TimerId; 2],
    line: &'a mut Direction,
    arrival: TimerId,
    side: usize,
    delivered: &'a mut u64,
    freed: &'a mut u64,
    opened: &'a mut u32,
}

impl Actions for Out<'_> {
    fn send(&mut self, segment: Segment) {
        let packet = Packet {
            from: Station(self.side as u16),
            to: Station(1 - self.side as u16),
            flow: FLOW,
            body: Body::Tcp(segment),
        };
        // A packet that does not fit is counted by the line.
        let _ = self.line.send(self.queue.now(), packet);
        rearm(self.queue, self.arrival, self.line);
    }

    fn arm(&mut self, timer: Timer, at: Instant) {
        self.queue.arm(self.timers[timer as usize], at);
    }

    fn disarm(&mut self, timer: Timer) {
        self.queue.disarm(self.timers[timer as usize]);
    }

    fn deliver(&mut self, bytes: u64) {
        assert!(bytes > 0, "nothing is delivered");
        *self.delivered += bytes;
    }

    fn freed(&mut self, bytes: u64) {
        *self.freed += bytes;
    }

    fn opened(&mut self) {
        *self.opened += 1;
    }
}

fn rearm(queue: &mut EventQueue<Event>, timer: TimerId, line: &Direction) {
    match line.next_arrival() {
        Some(at) if queue.deadline(timer) != Some(at) => queue.arm(timer, at),
        _ => {}
    }
}

impl Path {
    /// A path whose four lines are alike.
    pub fn new(line: LinkConfig, config: TcpConfig, applications: [Application; 2]) -> Self {
        Self::between(line, [config; 2], applications)
    }

    /// The same between two ends that differ.
    pub fn between(
        line: LinkConfig,
        configs: [TcpConfig; 2],
        applications: [Application; 2],
    ) -> Self {
        let [left, right] = applications;
        let ends = [(left, configs[0]), (right, configs[1])];
        let mut queue = EventQueue::new();
        let arrivals = [0, 1, 2, 3].map(|line| queue.timer(Event::Arrive(line)));
        let timers = [0, 1].map(|side| {
            [Timer::Retransmit, Timer::DelayedAck]
                .map(|timer| queue.timer(Event::Timer(side, timer)))
        });
        let mut bridge = Bridge::new(2, 2);
        bridge.bind(Station(0), BridgePort(0));
        bridge.bind(Station(1), BridgePort(1));
        Path {
            queue,
            arrivals,
            timers,
            lines: [0; 4].map(|_| Direction::new(line)),
            bridge,
            ends: ends.map(|(application, config)| End {
                connection: Connection::new(&config),
                application,
                written: 0,
                delivered: 0,
                freed: 0,
                opened: 0,
                arrived: None,
                together: 0,
            }),
            chaos: Chaos::default(),
            random: RandomStream::new(0, 0, "chaos"),
            held: Vec::new(),
            chaos_dropped: 0,
            chaos_made: 0,
            chaos_holds: 0,
        }
    }

    /// Loses packets from left to right.
    pub fn with_loss(mut self, seed: u64, per_million: u32) -> Self {
        let loss = Loss::new(RandomStream::new(seed, 0, "line1/loss"), per_million);
        self.lines[1] = self.lines[1].clone().with_loss(loss);
        self
    }

    /// Ill-treats packets of both directions, and checks each delivery against what has arrived.
    pub fn with_chaos(mut self, seed: u64, chaos: Chaos) -> Self {
        self.chaos = chaos;
        self.random = RandomStream::new(seed, 0, "chaos");
        for end in &mut self.ends {
            end.arrived = Some(Vec::new());
        }
        self
    }

    pub fn now(&self) -> Instant {
        self.queue.now()
    }

    /// Opens the connection from the left.
    pub fn start(&mut self) {
        self.ends[1].connection.listen();
        self.with_end(0, |connection, now, out| connection.connect(now, out));
        for side in 0..2 {
            if let Some((_, period)) = self.ends[side].application.reads.slow() {
                self.queue
                    .post(self.queue.now() + period, Event::Read(side));
            }
            self.serve(side);
        }
    }

    /// Runs until `until`, or until nothing is left to happen. Tells how many events there were.
    pub fn run(&mut self, until: Instant) -> u64 {
        let mut events = 0;
        while let Some((now, event)) = self.queue.pop(until) {
            events += 1;
            match event {
                Event::Arrive(line) => {
                    let packet = self.lines[line].arrive(now);
                    rearm(&mut self.queue, self.arrivals[line], &self.lines[line]);
                    if let Some(packet) = packet {
                        self.arrived(line, packet);
                    }
                }
                Event::Timer(side, timer) => {
                    self.with_end(side, |connection, now, out| {
                        connection.timer(now, timer, out);
                    });
                    self.serve(side);
                }
                Event::Held(side, place) => {
                    self.chaos_holds -= 1;
                    self.hand_over(side, self.held[place]);
                }
                Event::Read(side) => self.read_slowly(side),
            }
            if events % 64 == 0 {
                self.check_books();
            }
        }
        self.check_books();
        events
    }

    /// Every packet is somewhere.
    pub fn check_books(&self) {
        let mut ledger = Ledger::new();
        for line in &self.lines {
            ledger.add(line);
        }
        ledger.add(&self.bridge);
        for end in &self.ends {
            let statistics = end.connection.statistics();
            ledger.sent(statistics.segments_sent);
            ledger.delivered(statistics.segments_received);
        }
        ledger.sent(self.chaos_made);
        ledger.dropped(CHAOS, self.chaos_dropped);
        ledger.holds(self.chaos_holds);
        if let Err(error) = ledger.check() {
            panic!("{error}");
        }
    }

    fn arrived(&mut self, line: usize, packet: Packet) {
        match line {
            0 | 2 => {
                let port = BridgePort((line / 2) as u16);
                let Forward::To(BridgePort(to)) = self.bridge.forward(port, &packet) else {
                    panic!("the bridge knows both stations");
                };
                let out = if to == 1 { 1 } else { 3 };
                let _ = self.lines[out].send(self.queue.now(), packet);
                rearm(&mut self.queue, self.arrivals[out], &self.lines[out]);
            }
            _ => {
                let side = if line == 1 { 1 } else { 0 };
                self.ill_treat(side, packet);
            }
        }
    }

    fn ill_treat(&mut self, side: usize, packet: Packet) {
        let Chaos {
            drop,
            duplicate,
            hold,
        } = self.chaos;
        if drop + duplicate + hold == 0 {
            return self.hand_over(side, packet);
        }
        if self.random.chance(drop, 1_000) {
            self.chaos_dropped += 1;
            return;
        }
        if self.random.chance(duplicate, 1_000) {
            self.chaos_made += 1;
            self.hold(side, packet);
        }
        if self.random.chance(hold, 1_000) {
            self.hold(side, packet);
        } else {
            self.hand_over(side, packet);
        }
    }

    fn hold(&mut self, side: usize, packet: Packet) {
        self.chaos_holds += 1;
        let delay = self.random.duration_uniform(Duration::ZERO, HELD_MAX);
        self.held.push(packet);
        let place = self.held.len() - 1;
        self.queue
            .post(self.queue.now() + delay, Event::Held(side, place));
    }

    fn hand_over(&mut self, side: usize, packet: Packet) {
        assert_eq!((packet.to, packet.flow), (Station(side as u16), FLOW));
        let Body::Tcp(segment) = packet.body else {
            panic!("only TCP is sent here");
        };
        self.with_end(side, |connection, now, out| {
            connection.segment(now, &segment, out);
        });
        self.check_delivery(side, &segment);
        self.serve(side);
    }

    /// Nothing is delivered that has not arrived, or was never written.
    fn check_delivery(&mut self, side: usize, segment: &Segment) {
        let written = self.ends[1 - side].written;
        let end = &mut self.ends[side];
        assert_eq!(end.delivered, end.connection.statistics().delivered);
        assert!(end.delivered <= written, "{} of {written}", end.delivered);
        let Some(arrived) = &mut end.arrived else {
            return;
        };
        if segment.len > 0 {
            let range = segment.seq as usize - 1..segment.end() as usize - 1;
            if arrived.len() < range.end {
                arrived.resize(range.end, false);
            }
            arrived[range].fill(true);
        }
        while arrived.get(end.together) == Some(&true) {
            end.together += 1;
        }
        assert!(
            end.delivered <= end.together as u64,
            "{} bytes were delivered, {} have arrived in one piece",
            end.delivered,
            end.together
        );
    }

    fn with_end(
        &mut self,
        side: usize,
        event: impl FnOnce(&mut Connection, Instant, &mut Out<'_>),
    ) {
        let line = 2 * side;
        let end = &mut self.ends[side];
        let now = self.queue.now();
        let mut out = Out {
            queue: &mut self.queue,
            timers: self.timers[side],
            line: &mut self.lines[line],
            arrival: self.arrivals[line],
            side,
            delivered: &mut end.delivered,
            freed: &mut end.freed,
            opened: &mut end.opened,
        };
        event(&mut end.connection, now, &mut out);
    }

    /// The application writes what there is room for, and reads if it does so at once.
    fn serve(&mut self, side: usize) {
        let Application { writes, reads } = self.ends[side].application;
        let rest = writes - self.ends[side].written;
        let mut taken = 0;
        self.with_end(side, |connection, now, out| {
            if matches!(reads, Reads::AtOnce) {
                connection.read(now, u64::MAX, out);
            }
            if rest > 0 {
                taken = connection.write(now, rest, out);
            }
        });
        self.ends[side].written += taken;
    }

    fn read_slowly(&mut self, side: usize) {
        let other = &self.ends[1 - side];
        let expected = other.application.writes;
        let reads = self.ends[side].application.reads;
        let Some((bytes, period)) = reads.slow() else {
            return;
        };
        self.with_end(side, |connection, now, out| {
            connection.read(now, bytes, out);
            if matches!(reads, Reads::Waiting(..)) && connection.readable() == 0 {
                connection.wait(bytes);
            }
        });
        let end = &self.ends[side];
        if end.delivered < expected || end.connection.readable() > 0 {
            self.queue
                .post(self.queue.now() + period, Event::Read(side));
        }
    }
}
