//! One end of flows: ping, UDP and TCP, as client or server. The remote host is a peer, which is
//! never the bottleneck; so is the stack of each interface of a guest, whose kernel and processes
//! spend their time before they call. The remote host's processes [write](crate::writers).
//!
//! The owner of a peer passes packets and fired timers in, and carries out what the peer asks for
//! through [`PeerActions`].

mod actions;
mod turns;

pub use actions::{PeerActions, PeerTimer, PeerTimerKind};
use alloc::boxed::Box;
use alloc::vec::Vec;

use domio_core::Instant;

use crate::icmp::{Echo, Ping};
use crate::packet::{Body, FlowId, Packet, Segment, Station};
use crate::queue::{Accounted, DropPlace, Ledger};
use crate::tcp::{Actions, Connection, State, Timer};
use crate::udp::{UdpSink, UdpSource};
use crate::writers::{Next, WriterCosts, Writers};
use turns::Turns;

/// What a peer does in a flow.
#[derive(Clone, Debug)]
pub enum Service {
    /// Answers echo requests.
    Echo(Echo),
    /// Sends echo requests.
    Ping(Ping),
    /// Counts UDP packets.
    UdpSink(UdpSink),
    /// Sends UDP packets.
    UdpSource(UdpSource),
    /// One end of a TCP connection.
    Tcp(Box<TcpEnd>),
}

/// A TCP connection and its application, which writes as soon as there is room, unless it is a
/// process that takes time for it ([`TcpEnd::writes_in_pieces`]). It reads what is there
/// immediately, unless it is told to wait ([`TcpEnd::reads_when_told`]).
#[derive(Clone, Debug)]
pub struct TcpEnd {
    connection: Connection,
    other: Station,
    opens: bool,
    reads_at_once: bool,
    /// The application writes in [`Peer::write`].
    writes_when_told: bool,
    /// Bytes left to write; `u64::MAX` for no end.
    to_write: u64,
    /// What a process writes at a time (bytes).
    piece: Option<u32>,
    /// That process runs or wants to.
    writing: bool,
    /// A client that asks again when it has its answer.
    turns: Option<Turns>,
    /// From when on the application writes nothing.
    until: Instant,
    packets: u64,
    arrived: u64,
}

/// One end of any number of flows.
#[derive(Clone, Debug)]
pub struct Peer {
    station: Station,
    /// In the order of flows.
    flows: Vec<(FlowId, Service)>,
    /// Packets that no flow wanted.
    unwanted: u64,
    /// ARP questions received, and answered.
    questions: u64,
    answers: u64,
    writers: Writers,
}

/// The flow of an ARP question for `station`'s address: a broadcast names it nowhere else.
pub fn asks_for(station: Station) -> FlowId {
    FlowId(u32::MAX - u32::from(station.0))
}

impl TcpEnd {
    /// An end that opens `connection` to `other` when the peer starts, and writes `bytes`
    /// (`u64::MAX` for no end).
    pub fn client(connection: Connection, other: Station, bytes: u64) -> Self {
        Self::new(connection, other, bytes, true)
    }

    /// An end that waits until `other` opens the connection, and writes `bytes`.
    pub fn server(connection: Connection, other: Station, bytes: u64) -> Self {
        Self::new(connection, other, bytes, false)
    }

    fn new(connection: Connection, other: Station, bytes: u64, opens: bool) -> Self {
        TcpEnd {
            connection,
            other,
            opens,
            reads_at_once: true,
            writes_when_told: false,
            to_write: bytes,
            piece: None,
            writing: false,
            turns: None,
            until: Instant::MAX,
            packets: 0,
            arrived: 0,
        }
    }

    /// A client that writes `bytes`, waits until as many have come, and writes again.
    pub fn in_turns(connection: Connection, other: Station, bytes: u64) -> Self {
        TcpEnd {
            turns: Some(Turns::new(bytes)),
            ..Self::client(connection, other, bytes)
        }
    }

    /// The same with an application that needs a processor to read: it reads in [`Peer::read`].
    #[must_use]
    pub fn reads_when_told(mut self) -> Self {
        self.reads_at_once = false;
        self
    }

    /// The same with an application that needs a processor to write: it writes in [`Peer::write`].
    #[must_use]
    pub fn writes_when_told(mut self) -> Self {
        self.writes_when_told = true;
        self
    }

    /// The same with a process that writes `piece` bytes at a time, on the peer's processor.
    ///
    /// # Panics
    /// When `piece` is zero.
    #[track_caller]
    #[must_use]
    pub fn writes_in_pieces(mut self, piece: u32) -> Self {
        assert!(piece > 0, "a process writes at least a byte");
        self.piece = Some(piece);
        self
    }

    /// The connection, for its statistics.
    #[inline]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What the application does when it may: reads, and writes what there is room for.
    fn serve(&mut self, now: Instant, out: &mut impl Actions) {
        if self.reads_at_once {
            let came = self.connection.read(now, u64::MAX, out);
            if let Some(turns) = self.turns.as_mut().filter(|_| now < self.until) {
                self.to_write += turns.came(came);
            }
        }
        if self.piece.is_none() && !self.writes_when_told {
            self.write(now, self.to_write, out);
        }
    }

    /// Bytes that its application could write now.
    fn writable(&self) -> u64 {
        match self.connection.state() {
            State::Established => self.connection.room(),
            _ => 0,
        }
    }

    fn write(&mut self, now: Instant, bytes: u64, out: &mut impl Actions) {
        if bytes > 0 {
            let taken = self.connection.write(now, bytes, out);
            if self.to_write != u64::MAX {
                self.to_write -= taken;
            }
        }
    }

    /// The piece of a process that sleeps and has room enough to be woken.
    fn to_wake(&self) -> Option<u32> {
        let piece = self.piece.filter(|_| !self.writing && self.to_write > 0)?;
        self.has_room().then_some(piece)
    }

    /// Whether a third of the send buffer of an open connection is free.
    fn has_room(&self) -> bool {
        let open = self.connection.state() == State::Established;
        open && self.connection.room() * 2 >= self.connection.buffered()
    }
}

/// Makes packets of a connection's segments.
struct Wrap<'a, O> {
    from: Station,
    to: Station,
    flow: FlowId,
    packets: u64,
    out: &'a mut O,
}

impl<O: PeerActions> Wrap<'_, O> {
    fn timer(&self, timer: Timer) -> PeerTimer {
        PeerTimer {
            flow: self.flow,
            kind: PeerTimerKind::Tcp(timer),
        }
    }
}

impl<O: PeerActions> Actions for Wrap<'_, O> {
    fn send(&mut self, segment: Segment) {
        self.packets += 1;
        self.out.send(Packet {
            from: self.from,
            to: self.to,
            flow: self.flow,
            body: Body::Tcp(segment),
        });
    }

    fn arm(&mut self, timer: Timer, at: Instant) {
        let timer = self.timer(timer);
        self.out.arm(timer, at);
    }

    fn disarm(&mut self, timer: Timer) {
        let timer = self.timer(timer);
        self.out.disarm(timer);
    }

    fn deliver(&mut self, bytes: u64) {
        self.out.received(self.flow, bytes);
    }

    // The application writes after each event, so it needs no notice.
    fn freed(&mut self, _: u64) {}

    fn opened(&mut self) {
        self.out.opened(self.flow);
    }
}

impl Peer {
    /// Where packets end that are for another station, or that no flow of a peer wants.
    pub const UNWANTED: DropPlace = DropPlace("peer, nobody there");

    /// A host without flows.
    pub fn new(station: Station) -> Self {
        Peer {
            station,
            flows: Vec::new(),
            unwanted: 0,
            questions: 0,
            answers: 0,
            writers: Writers::new(WriterCosts::FREE),
        }
    }

    /// The same with processes that take `costs`.
    #[must_use]
    pub fn with_writers(mut self, costs: WriterCosts) -> Self {
        self.writers = Writers::new(costs);
        self
    }

    /// Adds a flow.
    ///
    /// # Panics
    /// When the peer has a flow with this number.
    #[track_caller]
    pub fn add(&mut self, flow: FlowId, service: Service) {
        match self.flows.binary_search_by_key(&flow, |(id, _)| *id) {
            Ok(_) => panic!("the peer has a flow {} already", flow.0),
            Err(place) => self.flows.insert(place, (flow, service)),
        }
    }

    /// What the peer does in `flow`.
    pub fn service(&self, flow: FlowId) -> Option<&Service> {
        let place = self.find(flow)?;
        Some(&self.flows[place].1)
    }

    /// Begins: clients send their first packet, servers listen. Call it once.
    pub fn start(&mut self, now: Instant, out: &mut impl PeerActions) {
        for place in 0..self.flows.len() {
            self.start_at(place, now, out);
        }
    }

    /// Whether this end of `flow` sends the first packet.
    pub fn begins(&self, flow: FlowId) -> bool {
        match self.service(flow) {
            Some(Service::Ping(_) | Service::UdpSource(_)) => true,
            Some(Service::Tcp(end)) => end.opens,
            Some(Service::Echo(_) | Service::UdpSink(_)) | None => false,
        }
    }

    /// This end of `flow` begins nothing from `until` on: no request, no datagram, no write.
    pub fn end_at(&mut self, flow: FlowId, until: Instant) {
        let Some(place) = self.find(flow) else {
            return;
        };
        match &mut self.flows[place].1 {
            Service::Ping(ping) => ping.end_at(until),
            Service::UdpSource(source) => source.end_at(until),
            Service::Tcp(end) => end.until = until,
            Service::Echo(_) | Service::UdpSink(_) => {}
        }
    }

    /// Whether this end of `flow` sends datagrams.
    pub fn is_datagram_source(&self, flow: FlowId) -> bool {
        matches!(self.service(flow), Some(Service::UdpSource(_)))
    }

    /// Whether this end of `flow` receives datagrams.
    pub fn is_datagram_sink(&self, flow: FlowId) -> bool {
        matches!(self.service(flow), Some(Service::UdpSink(_)))
    }

    /// Begins all flows in which the other end sends the first packet.
    pub fn listen(&mut self, now: Instant, out: &mut impl PeerActions) {
        for place in 0..self.flows.len() {
            if !self.begins(self.flows[place].0) {
                self.start_at(place, now, out);
            }
        }
    }

    /// Begins `flow` alone, instead of all: sends its first packet, or listens. Call it once.
    pub fn start_flow(&mut self, now: Instant, flow: FlowId, out: &mut impl PeerActions) {
        if let Some(place) = self.find(flow) {
            self.start_at(place, now, out);
        }
    }

    fn start_at(&mut self, place: usize, now: Instant, out: &mut impl PeerActions) {
        let next = next_of(self.flows[place].0);
        match &mut self.flows[place].1 {
            Service::Echo(_) | Service::UdpSink(_) => {}
            Service::Ping(ping) => request_if_due(ping, now, next, out),
            Service::UdpSource(source) => {
                source.start(now);
                out.arm(next, source.due());
            }
            Service::Tcp(end) if end.opens => {
                self.with_tcp(place, |end, out| end.connection.connect(now, out), now, out);
            }
            Service::Tcp(end) => end.connection.listen(),
        }
    }

    /// A packet has arrived.
    pub fn receive(&mut self, now: Instant, packet: &Packet, out: &mut impl PeerActions) {
        if packet.body == Body::ArpRequest {
            return self.answer_arp(packet, out);
        }
        let flow = self.find(packet.flow);
        let Some(place) = flow.filter(|_| packet.to == self.station) else {
            self.unwanted += 1;
            return;
        };
        match (&mut self.flows[place].1, packet.body) {
            (Service::Echo(echo), Body::EchoRequest(_)) => {
                if let Some(reply) = echo.answer(packet) {
                    out.send(reply);
                }
            }
            (Service::Ping(ping), Body::EchoReply(message)) => {
                if let Some(rtt) = ping.reply(now, message) {
                    out.replied(packet.flow, rtt);
                    request_if_due(ping, now, next_of(packet.flow), out);
                }
            }
            (Service::UdpSink(sink), Body::Udp(message)) => {
                sink.receive(message);
                out.received(packet.flow, u64::from(message.bytes));
            }
            (Service::Tcp(end), Body::Tcp(segment)) => {
                end.arrived += 1;
                let event = |end: &mut TcpEnd, out: &mut Wrap<'_, _>| {
                    end.connection.segment(now, &segment, out);
                };
                self.with_tcp(place, event, now, out);
            }
            _ => self.unwanted += 1,
        }
    }

    /// Answers a question for the peer's address, which the flow names in a broadcast.
    fn answer_arp(&mut self, packet: &Packet, out: &mut impl PeerActions) {
        self.questions += 1;
        let asked = packet.to == self.station || packet.flow == asks_for(self.station);
        if asked {
            self.answers += 1;
            out.send(Packet {
                from: self.station,
                to: packet.from,
                flow: packet.flow,
                body: Body::ArpReply,
            });
        }
    }

    /// Bytes of TCP flow `flow` that wait for its application.
    pub fn readable(&self, flow: FlowId) -> u64 {
        match self.service(flow) {
            Some(Service::Tcp(end)) => end.connection.readable(),
            _ => 0,
        }
    }

    /// The application of TCP flow `flow` reads up to `bytes`, or the read that waits returns.
    /// Returns how many bytes it got.
    pub fn read(
        &mut self,
        now: Instant,
        flow: FlowId,
        bytes: u64,
        out: &mut impl PeerActions,
    ) -> u64 {
        let mut taken = 0;
        if let Some(place) = self.find(flow) {
            let event = |end: &mut TcpEnd, out: &mut Wrap<'_, _>| {
                taken = end.connection.read(now, bytes, out);
            };
            self.with_tcp(place, event, now, out);
        }
        taken
    }

    /// Bytes that the application of TCP flow `flow` could write now; for a flow of datagrams, a
    /// datagram's.
    pub fn writable(&self, flow: FlowId) -> u64 {
        match self.service(flow) {
            Some(Service::Tcp(end)) => end.writable(),
            Some(Service::UdpSource(_)) => u64::MAX,
            _ => 0,
        }
    }

    /// The application of `flow` writes up to `bytes`: as many as there is room for in a TCP flow,
    /// or a datagram.
    pub fn write(&mut self, now: Instant, flow: FlowId, bytes: u64, out: &mut impl PeerActions) {
        let Some(place) = self.find(flow) else {
            return;
        };
        if let Service::UdpSource(source) = &mut self.flows[place].1 {
            return out.send(source.emit());
        }
        let event = |end: &mut TcpEnd, out: &mut Wrap<'_, _>| end.write(now, bytes, out);
        self.with_tcp(place, event, now, out);
    }

    /// The application of TCP flow `flow`, for which nothing is [readable](Self::readable), waits
    /// in a read of up to `bytes` ([`Connection::wait`]).
    pub fn wait(&mut self, flow: FlowId, bytes: u64) {
        if let Some(place) = self.find(flow)
            && let Service::Tcp(end) = &mut self.flows[place].1
        {
            end.connection.wait(bytes);
        }
    }

    /// A timer that was armed has fired.
    pub fn timer(&mut self, now: Instant, timer: PeerTimer, out: &mut impl PeerActions) {
        let Some(place) = self.find(timer.flow) else {
            return;
        };
        match (&mut self.flows[place].1, timer.kind) {
            (Service::Ping(ping), PeerTimerKind::Next) => request_if_due(ping, now, timer, out),
            (Service::UdpSource(source), PeerTimerKind::Next) => {
                source.start(now);
                while source.due() <= now {
                    out.send(source.emit());
                }
                out.arm(timer, source.due());
            }
            (Service::Tcp(_), PeerTimerKind::Tcp(kind)) => {
                let event = |end: &mut TcpEnd, out: &mut Wrap<'_, _>| {
                    end.connection.timer(now, kind, out);
                };
                self.with_tcp(place, event, now, out);
            }
            (Service::Tcp(end), PeerTimerKind::Next)
                if end.opens && end.connection.state() == State::Closed =>
            {
                self.start_at(place, now, out);
            }
            (Service::Tcp(end), PeerTimerKind::Next) if end.writing => {
                self.written(place, now, out);
            }
            _ => {}
        }
    }

    /// The process of the connection at `place` has written a piece.
    fn written(&mut self, place: usize, now: Instant, out: &mut impl PeerActions) {
        let mut more = false;
        let event = |end: &mut TcpEnd, out: &mut Wrap<'_, _>| {
            let piece = end.piece.map_or(0, u64::from);
            end.write(now, piece.min(end.to_write), out);
            more = end.to_write > 0 && end.connection.room() > 0;
            end.writing = more;
        };
        self.with_tcp(place, event, now, out);
        write_next(self.writers.wrote(more), now, out);
    }

    /// Lets something happen to the connection at `place`, and its application react.
    fn with_tcp<O: PeerActions>(
        &mut self,
        place: usize,
        event: impl FnOnce(&mut TcpEnd, &mut Wrap<'_, O>),
        now: Instant,
        out: &mut O,
    ) {
        let (flow, Service::Tcp(end)) = &mut self.flows[place] else {
            return;
        };
        let mut wrap = Wrap {
            from: self.station,
            to: end.other,
            flow: *flow,
            packets: 0,
            out,
        };
        if now >= end.until {
            end.to_write = 0;
        }
        event(end, &mut wrap);
        end.serve(now, &mut wrap);
        end.packets += wrap.packets;
        if end.writes_when_told && end.has_room() {
            out.writable(*flow);
            return;
        }
        if let Some(piece) = end.to_wake() {
            end.writing = true;
            write_next(self.writers.wake(*flow, piece), now, out);
        }
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        self.flows.binary_search_by_key(&flow, |(id, _)| *id).ok()
    }
}

fn next_of(flow: FlowId) -> PeerTimer {
    PeerTimer {
        flow,
        kind: PeerTimerKind::Next,
    }
}

/// Sets the timer for the end of the next call to write.
fn write_next(next: Option<Next>, now: Instant, out: &mut impl PeerActions) {
    if let Some((flow, time)) = next {
        out.arm(next_of(flow), now + time);
    }
}

/// Sends the next request if it is due, and arms the timer for the one after it.
fn request_if_due(ping: &mut Ping, now: Instant, timer: PeerTimer, out: &mut impl PeerActions) {
    if ping.has_ended(now) {
        return;
    }
    if ping.due(now) <= now {
        out.send(ping.request(now));
    }
    out.arm(timer, ping.due(now));
}

impl Accounted for Peer {
    fn account(&self, ledger: &mut Ledger) {
        for (_, service) in &self.flows {
            match service {
                Service::Echo(echo) => echo.account(ledger),
                Service::Ping(ping) => ping.account(ledger),
                Service::UdpSink(sink) => sink.account(ledger),
                Service::UdpSource(source) => source.account(ledger),
                Service::Tcp(end) => {
                    ledger.sent(end.packets);
                    ledger.delivered(end.arrived);
                }
            }
        }
        ledger.delivered(self.questions);
        ledger.sent(self.answers);
        ledger.dropped(Self::UNWANTED, self.unwanted);
    }
}
