//! What a peer asks its owner for.

use crate::packet::{FlowId, Packet};
use crate::tcp::Timer;
use domio_core::{Duration, Instant};

/// A timer of a peer. Each can be armed once at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerTimer {
    /// Whose timer.
    pub flow: FlowId,
    /// Which one.
    pub kind: PeerTimerKind,
}

/// The timers that a flow may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PeerTimerKind {
    /// The next UDP packet, the end of waiting for an echo reply, or the end of a process's call
    /// to write.
    Next,
    /// One of TCP's.
    Tcp(Timer),
}

/// What a peer asks for.
pub trait PeerActions {
    /// Sends a packet, at this instant.
    fn send(&mut self, packet: Packet);

    /// Arms `timer` for `at`, in place of a former deadline. When it fires, call
    /// [`Peer::timer`](super::Peer::timer).
    fn arm(&mut self, timer: PeerTimer, at: Instant);

    /// Disarms `timer`.
    fn disarm(&mut self, timer: PeerTimer);

    /// `bytes` of a TCP flow are there for the application, or of a UDP flow have reached it.
    fn received(&mut self, flow: FlowId, bytes: u64) {
        let _ = (flow, bytes);
    }

    /// There is room in the send buffer of TCP flow `flow`, whose application
    /// [writes when told](super::TcpEnd::writes_when_told): a third of it, as in
    /// `sk_stream_write_space` of Linux 2.6.
    fn writable(&mut self, flow: FlowId) {
        let _ = flow;
    }

    /// TCP flow `flow` is open.
    fn opened(&mut self, flow: FlowId) {
        let _ = flow;
    }

    /// A reply to an echo request of `flow` has come, after so long.
    fn replied(&mut self, flow: FlowId, rtt: Duration) {
        let _ = (flow, rtt);
    }
}
