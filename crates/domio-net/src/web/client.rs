//! The client: when connections begin, and what becomes of them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

use super::config::{ClientConfig, Gaps, WebConfig};
use super::connections::{Connections, Happened, Wrap};
use super::numbers::by_port;
use crate::class::WebStep;
use crate::packet::{Flags, Packet, Segment, Station};
use crate::queue::{Accounted, Ledger};
use crate::tcp::{Connection, State, Timer};

/// How often Linux sends a SYN again before the connection has failed (`tcp_syn_retries`).
const SYN_RETRIES: u64 = 5;
/// How long Linux keeps a connection that its process has closed and the other end has not
/// (`tcp_fin_timeout`).
const FIN_TIMEOUT: Duration = Duration::from_secs(60);
/// Timers of a connection: TCP's two, and the client's own.
const TIMERS: u32 = 3;
/// The client's own.
const OWN_TIMER: u32 = 2;

/// What a client asks its owner for.
pub trait ClientActions {
    /// Sends a packet, at this instant.
    fn send(&mut self, packet: Packet);

    /// A connection or a call has got a step further, after `ns`; with [`WebStep::Replied`] the
    /// answer had so many bytes.
    fn tell(&mut self, step: WebStep, bytes: u32, ns: u64);

    /// So many bytes of an answer have come.
    fn received(&mut self, bytes: u64);
}

/// How often each [`WebStep`] has happened, by number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ClientCounts([u64; WebStep::COUNT]);

impl ClientCounts {
    /// How often `step` has happened.
    pub fn of(&self, step: WebStep) -> u64 {
        self.0[step as usize]
    }

    /// Connections that have started and not ended.
    pub fn open(&self) -> u64 {
        let ended = [
            WebStep::Closed,
            WebStep::TimedOut,
            WebStep::Refused,
            WebStep::Reset,
        ];
        self.of(WebStep::Started) - ended.iter().map(|step| self.of(*step)).sum::<u64>()
    }
}

/// Who has a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holder {
    /// Nobody: the place is free.
    Nobody,
    /// The client.
    Client,
    /// The kernel, since the client has closed.
    Kernel,
}

/// What a client keeps of a connection.
#[derive(Clone, Debug)]
struct Calls {
    holder: Holder,
    /// When the connection started.
    began: Instant,
    /// When the call under way began: its request was sent, or its connection started.
    called: Instant,
    /// When the request under way was sent.
    asked: Instant,
    /// Bytes of the answer under way, and how many of them are to come.
    answer: u32,
    left: u32,
    /// Calls that have not been answered.
    calls: u32,
    /// The answer has been asked for.
    waits: bool,
}

/// An open loop that opens connections to one server.
#[derive(Clone, Debug)]
pub struct Client {
    config: WebConfig,
    random: RandomStream,
    connections: Connections<Calls, TIMERS>,
    /// By port: bytes that its last call asks for.
    asks: Vec<u32>,
    next_port: u16,
    /// Ports that are not to be used yet, and when they are.
    resting: VecDeque<(Instant, u16)>,
    /// Descriptors in use.
    open: u16,
    /// When the first connection begins.
    begin: Instant,
    /// From when on none begins.
    stop: Instant,
    /// How many beginnings there were.
    begun: u64,
    /// The next one.
    next: Option<Instant>,
    counts: ClientCounts,
}

impl Client {
    /// The client of workload `web`, at the first of `stations`, of the server at the second, which
    /// draws from `random`.
    ///
    /// # Panics
    /// When a number of `config` is below its least value, or a request is larger than the send
    /// buffer.
    #[track_caller]
    pub fn new(
        web: u16,
        config: &WebConfig,
        stations: (Station, Station),
        random: RandomStream,
    ) -> Self {
        let ClientConfig {
            rate,
            calls,
            request,
            descriptors,
            ports,
            ..
        } = config.client;
        assert!(
            [rate, calls, request].iter().all(|n| *n > 0) && descriptors > 0 && ports > 0,
            "the numbers of a web client are at least 1: {:?}",
            config.client
        );
        assert!(
            request <= config.tcp.send_buffer,
            "a request of {request} bytes fits the send buffer of {}",
            config.tcp.send_buffer
        );
        Client {
            config: *config,
            random,
            connections: Connections::new(web, stations),
            asks: Vec::new(),
            next_port: 0,
            resting: VecDeque::new(),
            open: 0,
            begin: Instant::ZERO,
            stop: Instant::MAX,
            begun: 0,
            next: None,
            counts: ClientCounts::default(),
        }
    }

    /// The first connection begins at `at`, and none from `stop` on.
    pub fn start(&mut self, at: Instant, stop: Option<Instant>) {
        (self.begin, self.begun) = (at, 0);
        self.stop = stop.unwrap_or(Instant::MAX);
        self.next = Some(at).filter(|at| *at < self.stop);
    }

    /// When the client wants to be called ([`Client::timer`]).
    #[inline]
    pub fn wants(&self) -> Option<Instant> {
        [self.next, self.connections.deadlines.next()]
            .into_iter()
            .flatten()
            .min()
    }

    /// What has become of the connections so far.
    pub fn counts(&self) -> &ClientCounts {
        &self.counts
    }

    /// Places for connections: as many as there were at a time.
    pub fn places(&self) -> usize {
        self.connections.places()
    }

    /// Bytes that the last call by `port` asks for.
    pub fn asked(&self, port: u16) -> u64 {
        self.asks
            .get(usize::from(port))
            .copied()
            .map_or(0, u64::from)
    }

    /// The time has come that the client [wanted](Client::wants).
    pub fn timer(&mut self, now: Instant, out: &mut impl ClientActions) {
        while let Some((place, timer)) = self.connections.expired(now) {
            match timer {
                OWN_TIMER => self.give_up(place, now, out),
                0 => self.tcp_timer(place, Timer::Retransmit, now, out),
                _ => self.tcp_timer(place, Timer::DelayedAck, now, out),
            }
        }
        while let Some(at) = self.next.filter(|at| *at <= now) {
            self.plan(at);
            self.connect(now, out);
        }
    }

    /// A connection begins at `at`: when the next one does.
    fn plan(&mut self, at: Instant) {
        self.begun += 1;
        let rate = u64::from(self.config.client.rate);
        const SECOND: u64 = 1_000_000_000;
        let next = match self.config.client.gaps {
            // From the first one, so that nothing adds up.
            Gaps::Even => {
                let (seconds, rest) = (self.begun / rate, self.begun % rate);
                self.begin + Duration::from_nanos(seconds * SECOND + rest * SECOND / rate)
            }
            Gaps::Exponential => {
                let mean = Duration::from_nanos((SECOND / rate).max(1));
                at + self.random.duration_exponential(mean)
            }
        };
        self.next = Some(next).filter(|next| *next < self.stop);
    }

    /// Begins a connection, if there are a descriptor and a port for it.
    fn connect(&mut self, now: Instant, out: &mut impl ClientActions) {
        if self.open >= self.config.client.descriptors {
            return self.tell(WebStep::NoDescriptor, 0, Duration::ZERO, out);
        }
        let Some(port) = self.free_port(now) else {
            return self.tell(WebStep::NoPort, 0, Duration::ZERO, out);
        };
        let own = Calls {
            holder: Holder::Client,
            began: now,
            called: now,
            asked: now,
            answer: 0,
            left: 0,
            calls: self.config.client.calls,
            waits: false,
        };
        let connection = Connection::new(&self.config.tcp);
        let place = self.connections.insert(connection, port, own);
        self.open += 1;
        self.tell(WebStep::Started, 0, Duration::ZERO, out);
        self.ask(place);
        self.wait(place, now);
        self.act(place, out, |connection, out| connection.connect(now, out));
    }

    /// The next port in turn that nobody uses.
    fn free_port(&mut self, now: Instant) -> Option<u16> {
        while self.resting.front().is_some_and(|(until, _)| *until <= now) {
            let (_, port) = self.resting.pop_front()?;
            self.connections.free_port(port);
        }
        let ports = self.config.client.ports;
        for _ in 0..ports {
            let port = self.next_port;
            self.next_port = (port + 1) % ports;
            if self.connections.is_free(port) {
                return Some(port);
            }
            // All are in use, and none will be found.
            if self.connections.in_use() + self.resting.len() >= usize::from(ports) {
                return None;
            }
        }
        None
    }

    /// Chooses what the next call of the connection asks for.
    fn ask(&mut self, place: u16) {
        let files = self.config.client.files;
        let classes = files.classes();
        let all: u64 = classes.iter().map(|(_, share)| u64::from(*share)).sum();
        let mut drawn = match classes.len() {
            1 => 0,
            _ => self.random.below(all),
        };
        let mut bytes = classes[0].0;
        for (of_class, share) in classes {
            bytes = *of_class;
            if drawn < u64::from(*share) {
                break;
            }
            drawn -= u64::from(*share);
        }
        let slot = &mut self.connections[place];
        (slot.own.answer, slot.own.left, slot.own.waits) = (bytes, bytes, false);
        *by_port(&mut self.asks, slot.port) = bytes;
    }

    /// The client waits for progress of the connection from now on.
    fn wait(&mut self, place: u16, now: Instant) {
        let until = self.config.client.timeout.map(|timeout| now + timeout);
        self.connections.set_timer(place, OWN_TIMER, until);
    }

    /// Lets something happen to a connection.
    fn act(
        &mut self,
        place: u16,
        out: &mut impl ClientActions,
        act: impl FnOnce(&mut Connection, &mut Wrap<'_>),
    ) -> Happened {
        let mut send = |packet| out.send(packet);
        self.connections.act(place, &mut send, act)
    }

    /// A packet of a connection by `port` has arrived.
    pub fn receive(
        &mut self,
        now: Instant,
        port: u16,
        segment: &Segment,
        out: &mut impl ClientActions,
    ) {
        self.connections.count_arrival();
        let Some(place) = self.connections.find(port) else {
            if let Some(answer) = self.connections.refuse(now, port, segment) {
                out.send(answer);
            }
            return;
        };
        let slot = &self.connections[place];
        if slot.own.holder == Holder::Kernel && slot.connection.is_news(segment) {
            // Nobody is there to take the data.
            self.act(place, out, |connection, out| connection.abort(now, out));
            return self.release(place, now);
        }
        let opening = slot.connection.state() == State::SynSent;
        if opening && segment.flags.contains(Flags::RST) && segment.ack != 1 {
            // About an earlier connection.
            return;
        }
        let Happened { opened, delivered } = self.act(place, out, |connection, out| {
            connection.segment(now, segment, out);
        });
        let state = self.connections[place].connection.state();
        if self.connections[place].own.holder == Holder::Kernel {
            if matches!(state, State::Finished | State::Reset) {
                self.release(place, now);
            }
            return;
        }
        if opened {
            let took = now.since(self.connections[place].own.began);
            self.tell(WebStep::Connected, 0, took, out);
            self.request(place, now, out);
        }
        if delivered > 0 {
            out.received(delivered);
            self.progress(place, delivered, now, out);
        }
        let slot = &self.connections[place];
        if slot.own.holder != Holder::Client {
            return;
        }
        if slot.connection.state() == State::Reset {
            let step = if opening {
                WebStep::Refused
            } else {
                WebStep::Reset
            };
            self.end(place, step, now, out);
        } else if slot.connection.at_end() {
            // The server has closed before its answer was complete.
            self.end(place, WebStep::Reset, now, out);
        }
    }

    /// Sends the next request.
    fn request(&mut self, place: u16, now: Instant, out: &mut impl ClientActions) {
        let bytes = u64::from(self.config.client.request);
        let slot = &mut self.connections[place];
        (slot.own.asked, slot.own.waits) = (now, true);
        self.wait(place, now);
        self.act(place, out, |connection, out| {
            connection.write(now, bytes, out);
        });
    }

    /// `bytes` of the answer under way have come.
    fn progress(&mut self, place: u16, bytes: u64, now: Instant, out: &mut impl ClientActions) {
        self.wait(place, now);
        self.act(place, out, |connection, out| {
            connection.read(now, u64::MAX, out);
        });
        let slot = &mut self.connections[place];
        let first = slot.own.left == slot.own.answer;
        slot.own.left = slot
            .own
            .left
            .saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
        let (asked, called) = (slot.own.asked, slot.own.called);
        let (left, answer) = (slot.own.left, slot.own.answer);
        if first {
            self.tell(WebStep::FirstByte, 0, now.since(asked), out);
        }
        if left > 0 {
            return;
        }
        self.tell(WebStep::Replied, answer, now.since(called), out);
        let slot = &mut self.connections[place];
        slot.own.calls -= 1;
        slot.own.called = now;
        if slot.own.calls == 0 {
            return self.end(place, WebStep::Closed, now, out);
        }
        self.ask(place);
        self.request(place, now, out);
    }

    /// The client is done with a connection, which ends so: its kernel closes.
    fn end(&mut self, place: u16, step: WebStep, now: Instant, out: &mut impl ClientActions) {
        let slot = &mut self.connections[place];
        let took = now.since(slot.own.began);
        let opening = slot.connection.state() == State::SynSent;
        slot.own.holder = Holder::Kernel;
        self.open -= 1;
        self.tell(step, 0, took, out);
        self.act(place, out, |connection, out| match opening {
            true => connection.abort(now, out),
            false => connection.close(now, out),
        });
        let state = self.connections[place].connection.state();
        if matches!(state, State::Finished | State::Reset) {
            return self.release(place, now);
        }
        let until = Some(now + FIN_TIMEOUT);
        self.connections.set_timer(place, OWN_TIMER, until);
    }

    /// The client's own timer of a connection has expired.
    fn give_up(&mut self, place: u16, now: Instant, out: &mut impl ClientActions) {
        match self.connections[place].own.holder {
            Holder::Client => self.end(place, WebStep::TimedOut, now, out),
            Holder::Kernel => {
                self.act(place, out, |connection, out| connection.abort(now, out));
                self.release(place, now);
            }
            Holder::Nobody => {}
        }
    }

    fn tcp_timer(&mut self, place: u16, timer: Timer, now: Instant, out: &mut impl ClientActions) {
        let slot = &self.connections[place];
        let opening = slot.connection.state() == State::SynSent;
        if opening && slot.connection.syn_retries() >= SYN_RETRIES {
            return self.end(place, WebStep::TimedOut, now, out);
        }
        self.act(place, out, |connection, out| {
            connection.timer(now, timer, out);
        });
    }

    /// The place of a connection that is over is free.
    fn release(&mut self, place: u16, now: Instant) {
        let slot = &mut self.connections[place];
        slot.own.holder = Holder::Nobody;
        let port = slot.port;
        self.connections.release(place);
        match self.config.client.time_wait {
            Duration::ZERO => self.connections.free_port(port),
            rest => {
                self.resting.push_back((now + rest, port));
                self.connections.rest_port(port);
            }
        }
    }

    fn tell(&mut self, step: WebStep, bytes: u32, took: Duration, out: &mut impl ClientActions) {
        self.counts.0[step as usize] += 1;
        out.tell(step, bytes, took.as_nanos());
    }
}

impl Accounted for Client {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.connections);
    }
}
