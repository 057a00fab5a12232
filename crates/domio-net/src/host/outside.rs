//! The remote host: its stack, its web clients, and how they act on the line.

use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use domio_sim::TimerId;
use domio_vmm::bus::Io;

use super::line::Line;
use super::neighbors::Neighbors;
use super::record::{self, Ends};
use super::web_client::WebClient;
use crate::offload::{join, same_stream};
use crate::packet::{Body, FlowId, Packet, Station};
use crate::peer::{Peer, PeerActions, PeerTimer, PeerTimerKind};
use crate::queue::{Accounted, Ledger};
use crate::web::connection_of;

/// The remote host.
pub(super) struct Outside {
    pub peer: Peer,
    neighbors: Neighbors,
    /// Its timers, with the engine's, in order.
    timers: Vec<(PeerTimer, TimerId)>,
    /// The interface of each flow.
    pub flows: Vec<Ends>,
    /// Clients of web servers, by number of the workload.
    pub webs: Vec<WebClient>,
    /// Its kernel joins packets of a stream that one interrupt reports (GRO).
    joins: bool,
    /// What the interrupt that it handles reports.
    arrived: Vec<Packet>,
    /// Packets that were joined to one before.
    joined: u64,
}

impl Outside {
    /// A remote host that has nothing to do. `timers` are those of `peer`, `flows` by number.
    pub fn new(
        peer: Peer,
        neighbors: Neighbors,
        mut timers: Vec<(PeerTimer, TimerId)>,
        flows: Vec<Ends>,
        webs: Vec<WebClient>,
    ) -> Self {
        timers.sort_unstable_by_key(|(timer, _)| *timer);
        Outside {
            peer,
            neighbors,
            timers,
            flows,
            webs,
            joins: false,
            arrived: Vec::new(),
            joined: 0,
        }
    }

    /// Its kernel joins packets of a stream that one interrupt reports, if `joins`.
    #[must_use]
    pub fn joins(self, joins: bool) -> Self {
        Outside { joins, ..self }
    }

    /// Takes from `line` what has arrived by `now`.
    fn take_arrived(&mut self, line: &mut Line, now: Instant) {
        while let Some(packet) = line.arrived_out(now) {
            let mut before = self.arrived.iter_mut().rev();
            if self.joins
                && let Some(last) = before.find(|last| same_stream(last, &packet))
                && let Some(joined) = join(last, &packet)
            {
                *last = joined;
                self.joined += 1;
            } else {
                self.arrived.push(packet);
            }
        }
    }

    /// The remote host handles its card's interrupt: it reacts immediately to all packets that have
    /// come.
    pub fn arrive(&mut self, line: &mut Line, io: &mut Io<'_>) {
        let now = io.now;
        line.handle_remote(now);
        self.take_arrived(line, now);
        let mut arrived = core::mem::take(&mut self.arrived);
        for packet in arrived.drain(..) {
            if packet.body == Body::ArpReply {
                self.neighbors.answered(packet.from, line, io);
                continue;
            }
            if let Body::Tcp(segment) = packet.body {
                self.neighbors.confirm(packet.from, now);
                if let Some((web, port)) = connection_of(packet.flow) {
                    let client = &mut self.webs[usize::from(web)];
                    client.arrive(port, &segment, &mut self.neighbors, line, io);
                    continue;
                }
            }
            self.act(line, io, |peer, out| peer.receive(now, &packet, out));
        }
        self.arrived = arrived;
        line.expect_arrival(io);
    }

    /// A timer of the remote host fires.
    pub fn timer(&mut self, timer: PeerTimer, line: &mut Line, io: &mut Io<'_>) {
        let now = io.now;
        self.act(line, io, |peer, out| peer.timer(now, timer, out));
    }

    /// The timer of workload `web` fires.
    pub fn web_timer(&mut self, web: u16, line: &mut Line, io: &mut Io<'_>) {
        self.webs[usize::from(web)].timer(&mut self.neighbors, line, io);
    }

    /// The timer of the neighbour at `station` fires.
    pub fn neighbor_timer(&mut self, station: Station, line: &mut Line, io: &mut Io<'_>) {
        self.neighbors.expire(station, line, io);
    }

    /// The first connection of workload `web` begins at `at`, and none from `stop` on.
    pub fn begin_web(
        &mut self,
        web: u16,
        (at, stop): (Instant, Option<Instant>),
        line: &mut Line,
        io: &mut Io<'_>,
    ) {
        self.webs[usize::from(web)].begin(at, stop, &mut self.neighbors, line, io);
    }

    /// The remote host's end of `flow` begins at `at` if it is the one who begins, and listens now
    /// otherwise; nothing new begins from `stop` on.
    pub fn begin(
        &mut self,
        flow: FlowId,
        (at, stop): (Instant, Option<Instant>),
        line: &mut Line,
        io: &mut Io<'_>,
    ) {
        if let Some(stop) = stop {
            self.peer.end_at(flow, stop);
        }
        let now = io.now;
        self.act(line, io, |peer, out| {
            if peer.begins(flow) {
                let kind = PeerTimerKind::Next;
                out.arm(PeerTimer { flow, kind }, at);
            } else {
                peer.start_flow(now, flow, out);
            }
        });
    }

    /// Lets the stack do something.
    fn act(
        &mut self,
        line: &mut Line,
        io: &mut Io<'_>,
        act: impl FnOnce(&mut Peer, &mut RemoteOut<'_, '_>),
    ) {
        let mut out = RemoteOut {
            line,
            neighbors: &mut self.neighbors,
            timers: &self.timers,
            flows: &self.flows,
            io,
        };
        act(&mut self.peer, &mut out);
    }
}

/// What the remote host's stack does.
struct RemoteOut<'a, 'b> {
    line: &'a mut Line,
    neighbors: &'a mut Neighbors,
    timers: &'a [(PeerTimer, TimerId)],
    flows: &'a [Ends],
    io: &'a mut Io<'b>,
}

impl RemoteOut<'_, '_> {
    fn timer(&self, timer: PeerTimer) -> TimerId {
        let found = self.timers.binary_search_by_key(&timer, |(t, _)| *t);
        self.timers[found.expect("each flow of the remote host has its timers")].1
    }

    fn ends(&self, flow: FlowId) -> Ends {
        self.flows[flow.0 as usize]
    }
}

impl PeerActions for RemoteOut<'_, '_> {
    fn send(&mut self, packet: Packet) {
        self.neighbors.send(packet, self.line, self.io);
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
        let ends = self.ends(flow);
        record::delivered(self.io, ends, flow, bytes);
    }

    fn replied(&mut self, flow: FlowId, rtt: Duration) {
        let ends = self.ends(flow);
        record::replied(self.io, ends, flow, rtt);
    }
}

impl Accounted for Outside {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.peer).add(&self.neighbors);
        ledger.delivered(self.joined);
        for web in &self.webs {
            ledger.add(&web.client);
        }
    }
}
