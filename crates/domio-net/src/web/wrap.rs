//! What a connection asks for, carried out for a client or a listener: both keep many connections,
//! whose timers are numbered.

use super::deadlines::Deadlines;
use crate::packet::{Body, FlowId, Packet, Segment, Station};
use crate::tcp::{Actions, Timer};
use domio_core::Instant;

/// Carries out what one connection asks for.
pub(super) struct Wrap<'a> {
    /// From where and to where its packets go, and in which flow.
    pub packet: (Station, Station, FlowId),
    /// Packets that were sent.
    pub sent: &'a mut u64,
    pub deadlines: &'a mut Deadlines,
    /// Number of its first timer.
    pub timers: u32,
    /// Whether it has opened.
    pub opened: bool,
    /// Bytes that came.
    pub delivered: u64,
    /// Sends a packet, at this instant.
    pub out: &'a mut dyn FnMut(Packet),
}

impl Actions for Wrap<'_> {
    fn send(&mut self, segment: Segment) {
        let (from, to, flow) = self.packet;
        *self.sent += 1;
        (self.out)(Packet {
            from,
            to,
            flow,
            body: Body::Tcp(segment),
        });
    }

    fn arm(&mut self, timer: Timer, at: Instant) {
        self.deadlines.set(self.timers + timer as u32, Some(at));
    }

    fn disarm(&mut self, timer: Timer) {
        self.deadlines.set(self.timers + timer as u32, None);
    }

    fn deliver(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    fn freed(&mut self, _: u64) {}

    fn opened(&mut self) {
        self.opened = true;
    }
}
