//! Sockets of a guest: what its processes read from and write to.
//!
//! A process that waits in a read is handed packets as they are: it takes them through the stack
//! itself once it runs, and what it asked for goes past the socket's buffer (`tcp_prequeue` and
//! `ucopy` of Linux 2.6). What comes beyond that fills the buffer, and what comes while nobody is
//! in a read is the kernel's work.
//!
//! Sockets are numbered over the whole network. The socket of a flow has the flow's number
//! ([`NetworkConfig::socket`](super::NetworkConfig::socket)). Behind these comes one socket for
//! each interface, which listens ([`NetworkConfig::listening`](super::NetworkConfig::listening)),
//! and then those at the other ends of flows that the driver domain or another guest has
//! ([`NetworkConfig::other_socket`](super::NetworkConfig::other_socket)). A web server listens at
//! the socket of its flow; the numbers of its connections are far above.

use alloc::collections::VecDeque;

use domio_vmm::process::Pid;

use super::netfront::Piece;
use crate::packet::{FlowId, Packet};

/// What the number of a socket means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    /// The socket at a place of an interface.
    Flow(u16, u16),
    /// The driver domain's own socket of a flow.
    Local(u32),
    /// The socket of an interface that listens.
    Listening(u16),
    /// The socket of a web workload that listens.
    Web(u16),
}

/// Where a call on a socket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It begins, or has been woken.
    Enter,
    /// A packet that was handed to the process goes through the stack.
    Stack(Packet),
    /// A piece of the driver's work is being done.
    Driver(Piece),
    /// What a read asked for is being copied.
    Reading(u64),
    /// So many bytes are being copied to the socket's buffer, or to a datagram.
    Writing(u64),
}

/// Whom a socket serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Serves {
    /// The kernel itself, which answers pings and counts datagrams.
    Kernel,
    /// A process that has the connection from the beginning.
    Process,
    /// A server that has to accept the connection.
    Server,
}

/// The socket of a flow.
pub(super) struct Socket {
    pub flow: FlowId,
    pub serves: Serves,
    pub step: Step,
    /// A process blocks in a read.
    pub waits: bool,
    /// Packets handed to that process.
    pub handed: VecDeque<Packet>,
    /// Bytes of the write under way that are in the buffer.
    pub written: u64,
    /// Whom to wake when there is something to read.
    pub reader: Option<Pid>,
    /// Whom to wake when there is room to write.
    pub writer: Option<Pid>,
    /// Datagrams that no process has read yet, and the bytes of each: a flow's are alike.
    pub unread: (u64, u64),
    /// Somebody has connected, whom no process has accepted yet.
    pub connected: bool,
}

impl Socket {
    /// The socket of `flow`, which nobody uses yet.
    pub fn new(flow: FlowId, serves: Serves) -> Self {
        Socket {
            flow,
            serves,
            step: Step::Enter,
            waits: false,
            handed: VecDeque::new(),
            written: 0,
            reader: None,
            writer: None,
            unread: (0, 0),
            connected: false,
        }
    }

    /// Packets handed to a process that it has not begun with, and the one that it is at.
    pub fn held(&self) -> u64 {
        let at = matches!(self.step, Step::Stack(_));
        self.handed.len() as u64 + u64::from(at)
    }

    /// Bytes of the next datagram; 0 without one.
    pub fn next_datagram(&self) -> u64 {
        match self.unread {
            (0, _) => 0,
            (_, bytes) => bytes,
        }
    }

    /// A process reads the next datagram: its bytes.
    pub fn take_datagram(&mut self) -> u64 {
        let bytes = self.next_datagram();
        self.unread.0 = self.unread.0.saturating_sub(1);
        bytes
    }

    /// There is something to read: who is to be woken for it.
    pub fn readable(&mut self) -> Option<Pid> {
        self.reader.take()
    }

    /// There is room to write: who is to be woken for it.
    pub fn writable(&mut self) -> Option<Pid> {
        self.writer.take()
    }
}

/// The place of the socket of `flow`. The flows of an interface follow one another.
pub(super) fn place_of(sockets: &[Socket], flow: FlowId) -> Option<u16> {
    let is_it = |socket: &Socket| socket.flow == flow;
    let own = flow.0.wrapping_sub(sockets.first()?.flow.0) as usize;
    match sockets.get(own).is_some_and(is_it) {
        true => Some(own as u16),
        // Other guests' flows are behind the own ones.
        false => sockets.iter().rposition(is_it).map(|place| place as u16),
    }
}
