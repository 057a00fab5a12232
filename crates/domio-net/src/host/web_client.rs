//! Web clients of the remote host: how they act on the line, and what they say.

use domio_core::Instant;
use domio_sim::TimerId;
use domio_vmm::bus::Io;

use super::line::Line;
use super::neighbors::Neighbors;
use super::record::{self, Ends};
use crate::class::WebStep;
use crate::packet::{FlowId, Packet, Segment};
use crate::web::{Client, ClientActions};

/// The client of a workload.
pub(super) struct WebClient {
    pub client: Client,
    /// The flow of the workload.
    pub flow: FlowId,
    ends: Ends,
    timer: TimerId,
    /// What that is armed for.
    armed: Option<Instant>,
}

/// What a client does.
struct ClientOut<'a, 'b> {
    line: &'a mut Line,
    neighbors: &'a mut Neighbors,
    io: &'a mut Io<'b>,
    flow: FlowId,
    ends: Ends,
}

impl ClientActions for ClientOut<'_, '_> {
    fn send(&mut self, packet: Packet) {
        self.neighbors.send(packet, self.line, self.io);
    }

    fn tell(&mut self, step: WebStep, bytes: u32, ns: u64) {
        record::web(self.io, self.ends, self.flow, (step, bytes, ns));
    }

    fn received(&mut self, bytes: u64) {
        record::delivered(self.io, self.ends, self.flow, bytes);
    }
}

impl WebClient {
    /// The client of the workload in `flow`, whose server is at the interface between `ends`;
    /// `timer` is its own.
    pub fn new(client: Client, flow: FlowId, ends: Ends, timer: TimerId) -> Self {
        WebClient {
            client,
            flow,
            ends,
            timer,
            armed: None,
        }
    }

    /// The first connection begins at `at`, and none from `stop` on.
    pub fn begin(
        &mut self,
        at: Instant,
        stop: Option<Instant>,
        neighbors: &mut Neighbors,
        line: &mut Line,
        io: &mut Io<'_>,
    ) {
        self.act(neighbors, line, io, |client, _| client.start(at, stop));
    }

    /// A segment for `port` has arrived.
    pub fn arrive(
        &mut self,
        port: u16,
        segment: &Segment,
        neighbors: &mut Neighbors,
        line: &mut Line,
        io: &mut Io<'_>,
    ) {
        let now = io.now;
        self.act(neighbors, line, io, |client, out| {
            client.receive(now, port, segment, out);
        });
    }

    /// The timer fires.
    pub fn timer(&mut self, neighbors: &mut Neighbors, line: &mut Line, io: &mut Io<'_>) {
        let now = io.now;
        self.armed = None;
        self.act(neighbors, line, io, |client, out| client.timer(now, out));
    }

    /// Lets the client do something.
    fn act(
        &mut self,
        neighbors: &mut Neighbors,
        line: &mut Line,
        io: &mut Io<'_>,
        act: impl FnOnce(&mut Client, &mut ClientOut<'_, '_>),
    ) {
        let mut out = ClientOut {
            line,
            neighbors,
            io,
            flow: self.flow,
            ends: self.ends,
        };
        act(&mut self.client, &mut out);
        let wants = self.client.wants();
        if wants == self.armed {
            return;
        }
        self.armed = wants;
        match wants {
            Some(at) => io.arm(self.timer, at),
            None => io.disarm(self.timer),
        }
    }
}
