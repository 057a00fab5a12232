//! What is outside of the host: the line, the remote host, and how its stack acts on them.

use domio_core::{DomainId, Duration, Instant};
use domio_sim::TimerId;
use domio_vmm::bus::Io;

use super::record;
use super::remote_card::RemoteCard;
use super::web::WebClient;
use crate::link::Link;
use crate::neighbor::{Ask, Neighbor};
use crate::packet::{Body, FlowId, Packet, Station};
use crate::peer::{Peer, PeerActions, PeerTimer, PeerTimerKind, asks_for};
use crate::web::connection_of;

/// Number of the guests' stations: that of interface `i` is `i + 1`.
pub(super) const REMOTE: Station = Station(0);

/// The line and the remote host.
pub(super) struct Outside {
    /// `there` is to the host, `back` from it.
    pub link: Link,
    pub peer: Peer,
    pub neighbors: Neighbors,
    /// The remote host's card.
    pub card: RemoteCard,
    /// Fires when a packet reaches the card.
    pub arrival_in: TimerId,
    /// Fires when a packet reaches the remote host.
    pub arrival_out: TimerId,
    /// Timers of the remote host, with the engine's.
    pub timers: Vec<(PeerTimer, TimerId)>,
    /// The guest of each flow.
    pub guests: Vec<DomainId>,
    /// Clients of web servers, by number of the workload.
    pub webs: Vec<WebClient>,
}

impl Outside {
    /// Sets the timer for when the remote host has the next packet.
    pub fn expect_arrival(&mut self, io: &mut Io<'_>) {
        if let Some(at) = self.link.back.next_arrival() {
            io.arm(self.arrival_out, self.card.handled(at));
        }
    }

    /// The remote host handles its card's interrupt: it reacts at once to all packets that have
    /// come.
    pub fn arrive(&mut self, io: &mut Io<'_>) {
        let now = io.now;
        self.card.handle(now);
        while self.link.back.next_arrival().is_some_and(|at| at <= now) {
            let Some(packet) = self.link.back.arrive(now) else {
                continue;
            };
            if packet.body == Body::ArpReply {
                self.neighbors.answered(packet.from, &mut self.link, io);
                continue;
            }
            if let Body::Tcp(segment) = packet.body {
                self.neighbors.confirm(packet.from, now);
                if let Some(connection) = connection_of(packet.flow) {
                    self.arrive_web(connection, &segment, io);
                    continue;
                }
            }
            self.act(io, |peer, out| peer.receive(now, &packet, out));
        }
        self.expect_arrival(io);
    }

    /// A timer of the remote host fires.
    pub fn timer(&mut self, timer: PeerTimer, io: &mut Io<'_>) {
        let now = io.now;
        self.act(io, |peer, out| peer.timer(now, timer, out));
    }

    /// The remote host's end of `flow` begins at `at` if it is the one who begins, and listens now
    /// otherwise.
    pub fn begin(&mut self, flow: FlowId, at: Instant, io: &mut Io<'_>) {
        let now = io.now;
        self.act(io, |peer, out| {
            if peer.begins(flow) {
                let kind = PeerTimerKind::Next;
                out.arm(PeerTimer { flow, kind }, at);
            } else {
                peer.start_flow(now, flow, out);
            }
        });
    }

    /// Lets the remote host do something.
    pub fn act(&mut self, io: &mut Io<'_>, act: impl FnOnce(&mut Peer, &mut RemoteOut<'_, '_>)) {
        let mut out = RemoteOut {
            link: &mut self.link,
            neighbors: &mut self.neighbors,
            timers: &self.timers,
            guests: &self.guests,
            io,
        };
        act(&mut self.peer, &mut out);
    }

    /// The clients of web servers, and what the remote host does for them.
    pub fn remote<'a, 'b>(
        &'a mut self,
        io: &'a mut Io<'b>,
    ) -> (&'a mut [WebClient], RemoteOut<'a, 'b>) {
        let out = RemoteOut {
            link: &mut self.link,
            neighbors: &mut self.neighbors,
            timers: &self.timers,
            guests: &self.guests,
            io,
        };
        (&mut self.webs, out)
    }
}

/// The remote host's neighbours: the guests.
pub(super) struct Neighbors {
    /// By station, from 1.
    pub entries: Vec<(Neighbor, TimerId)>,
    /// Questions sent, and answers received.
    pub asked: u64,
    pub answers: u64,
}

impl Neighbors {
    fn send(&mut self, now: Instant, packet: Packet) -> (Option<Packet>, Asking) {
        let (entry, _) = &mut self.entries[usize::from(packet.to.0) - 1];
        let (packet_now, ask) = entry.send(now, packet);
        (packet_now, (packet.to, ask))
    }

    /// Sends the question, and sets the entry's timer.
    fn ask(&mut self, (station, ask): Asking, link: &mut Link, io: &mut Io<'_>) {
        let (entry, timer) = &self.entries[usize::from(station.0) - 1];
        match entry.timer() {
            Some(at) => io.arm(*timer, at),
            None => io.disarm(*timer),
        }
        let to = match ask {
            Ask::No => return,
            Ask::Unicast => station,
            Ask::Broadcast => Station::EVERYBODY,
        };
        self.asked += 1;
        let question = Packet {
            from: REMOTE,
            to,
            flow: asks_for(station),
            body: Body::ArpRequest,
        };
        let _ = link.there.send(io.now, question);
    }

    fn confirm(&mut self, station: Station, now: Instant) {
        self.entries[usize::from(station.0) - 1].0.confirm(now);
    }

    fn answered(&mut self, station: Station, link: &mut Link, io: &mut Io<'_>) {
        self.answers += 1;
        let (entry, timer) = &mut self.entries[usize::from(station.0) - 1];
        for packet in entry.answered(io.now) {
            let _ = link.there.send(io.now, packet);
        }
        io.disarm(*timer);
    }

    /// The timer of the entry for `station` fires.
    pub fn expire(&mut self, station: Station, link: &mut Link, io: &mut Io<'_>) {
        let ask = self.entries[usize::from(station.0) - 1].0.expire(io.now);
        self.ask((station, ask), link, io);
    }
}

/// A neighbour, and what to ask of it.
type Asking = (Station, Ask);

/// What the remote host does.
pub(super) struct RemoteOut<'a, 'b> {
    link: &'a mut Link,
    neighbors: &'a mut Neighbors,
    timers: &'a [(PeerTimer, TimerId)],
    guests: &'a [DomainId],
    io: &'a mut Io<'b>,
}

impl<'b> RemoteOut<'_, 'b> {
    /// What may be done anywhere.
    pub fn io(&mut self) -> &mut Io<'b> {
        self.io
    }

    fn timer(&self, timer: PeerTimer) -> TimerId {
        let found = self.timers.binary_search_by_key(&timer, |(t, _)| *t);
        self.timers[found.expect("each flow of the remote host has its timers")].1
    }

    fn guest(&self, flow: FlowId) -> DomainId {
        self.guests[flow.0 as usize]
    }
}

impl PeerActions for RemoteOut<'_, '_> {
    fn send(&mut self, packet: Packet) {
        let (packet, ask) = self.neighbors.send(self.io.now, packet);
        self.neighbors.ask(ask, self.link, self.io);
        if let Some(packet) = packet {
            // Dropped when the queue is full: the link counts it.
            let _ = self.link.there.send(self.io.now, packet);
        }
    }

    fn arm(&mut self, timer: PeerTimer, at: Instant) {
        let timer = self.timer(timer);
        self.io.arm(timer, at);
    }

    fn disarm(&mut self, timer: PeerTimer) {
        let timer = self.timer(timer);
        self.io.disarm(timer);
    }

    fn received(&mut self, flow: FlowId, bytes: u64) {
        let record = record::delivered(self.io, self.guest(flow), flow, bytes);
        self.io.record(record);
    }

    fn replied(&mut self, flow: FlowId, rtt: Duration) {
        let record = record::replied(self.io, self.guest(flow), flow, rtt);
        self.io.record(record);
    }
}
