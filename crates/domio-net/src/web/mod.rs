//! A web client on the remote host, in the manner of `httperf`, and the kernel of the guest that
//! serves it.
//!
//! The client is an open loop: it begins connections at a rate, whatever becomes of those before.
//! Each connection is one of TCP, with SYN and FIN, whose segments go through everything that lies
//! between the remote host and the guest. Processes of the guest accept and answer
//! ([`WebWorker`](domio_vmm::process::programs::WebWorker)).
//!
//! | file | holds |
//! |---|---|
//! | [`mod@self`] | what a workload is made of, and the numbers of its connections |
//! | `client` | the client: when connections begin, what becomes of them |
//! | `listener` | the guest's kernel: the backlog, and connections that are accepted or not yet |
//! | `deadlines` | many timers behind one |
//!
//! # Memory
//!
//! A connection that is over leaves its place to the next one, and the lowest free place is not
//! looked for: the one that became free last is taken. So a run has as many places as there were
//! connections at a time, and allocates nothing beyond.
//!
//! Ports of the client are taken in turn. The end that closes first is the client, so that the
//! waiting after a connection (RFC 9293's TIME-WAIT) is the client's, and costs the guest nothing:
//! it keeps a port from being used again ([`ClientConfig::time_wait`]). A FIN that comes again
//! meanwhile is answered with RST, and has the same effect as the acknowledgement.

mod client;
mod deadlines;
mod listener;
mod wrap;

pub use client::{Client, ClientActions, ClientCounts};
pub use listener::{Listener, ListenerActions, ListenerCounts, Offer};

use domio_core::Duration;
use domio_vmm::process::programs::WebCosts;

use crate::packet::FlowId;
use crate::tcp::TcpConfig;

/// A web server in a guest and its client on the remote host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebConfig {
    /// Settings of both ends of each connection.
    pub tcp: TcpConfig,
    /// The client.
    pub client: ClientConfig,
    /// The server.
    pub server: ServerConfig,
}

/// What the client does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientConfig {
    /// Connections that begin in a second, at least 1 (`--rate`).
    pub rate: u32,
    /// What lies between the begins of two connections.
    pub gaps: Gaps,
    /// Calls of a connection, one after the other, at least 1 (`--num-calls`).
    pub calls: u32,
    /// Bytes of a request, at least 1.
    pub request: u32,
    /// What is asked for.
    pub files: Files,
    /// How long the client waits for the next progress of a connection: that it opens, that the
    /// first bytes of the answer come, that more come (`--timeout`). None for ever.
    pub timeout: Option<Duration>,
    /// Connections that the client may have open: its file descriptors, at least 1.
    pub descriptors: u16,
    /// Ports that the client may use, at least 1.
    pub ports: u16,
    /// How long a port is not used again after its connection.
    pub time_wait: Duration,
}

/// What lies between the begins of two connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gaps {
    /// Always the same.
    Even,
    /// Exponentially distributed: connections begin independently of each other.
    Exponential,
}

/// What the server does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerConfig {
    /// Processes, each of which serves a connection at a time; at least 1.
    pub workers: u16,
    /// Connections that are open and wait for a process, at least 1: what the server asks `listen`
    /// for. Linux lets one more wait.
    pub backlog: u16,
    /// A connection that is one too many is reset (`tcp_abort_on_overflow`). Otherwise the last
    /// step of opening it is ignored, and comes again.
    pub abort_on_overflow: bool,
    /// Processor time of the processes.
    pub costs: WebCosts,
}

impl ClientConfig {
    /// Ports of a client that is set up for load: all above the 1,024 that are reserved.
    pub const PORTS: u16 = u16::MAX - 1_023;
    /// Open files that a process of Linux may have, unless told otherwise.
    pub const DESCRIPTORS: u16 = 1_024;
}

impl ServerConfig {
    /// What Linux makes of a larger number (`net.core.somaxconn`).
    pub const BACKLOG: u16 = 128;
}

/// What a client asks for: files of some sizes, each with a share of the calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Files {
    /// Bytes and share of each.
    classes: [(u32, u32); Files::MAX],
    len: u8,
}

impl Files {
    /// Most classes of files.
    pub const MAX: usize = 8;

    /// Files of these bytes and shares, such as `[(10_240, 9), (102_400, 1)]`: nine of ten calls
    /// are for 10 KiB.
    ///
    /// # Panics
    /// When there are none or more than [`Files::MAX`], or bytes or a share are 0.
    #[track_caller]
    pub fn new(classes: &[(u32, u32)]) -> Self {
        let good = classes
            .iter()
            .all(|(bytes, share)| *bytes > 0 && *share > 0);
        assert!(
            good && (1..=Files::MAX).contains(&classes.len()),
            "1 to 8 classes of files, with bytes and shares: {classes:?}"
        );
        let mut all = [(0, 0); Files::MAX];
        all[..classes.len()].copy_from_slice(classes);
        Files {
            classes: all,
            len: classes.len() as u8,
        }
    }

    /// Bytes and share of each class.
    pub fn classes(&self) -> &[(u32, u32)] {
        &self.classes[..usize::from(self.len)]
    }
}

/// First of the numbers of connections: other flows have smaller ones.
const FIRST: u32 = 1 << 31;
/// Most web workloads of a network, so that their connections have numbers.
pub const WORKLOADS_MAX: usize = 1 << 14;

/// The flow of the connection by which the client of workload `web` uses `port`, or, as a file,
/// the socket in that place.
pub(crate) fn flow(web: u16, port: u16) -> FlowId {
    FlowId(FIRST | u32::from(web) << 16 | u32::from(port))
}

/// Workload and port of a connection's flow; none for other flows.
#[inline]
pub(crate) fn connection_of(flow: FlowId) -> Option<(u16, u16)> {
    let web = (flow.0 >> 16) as u16 & 0x7fff;
    (flow.0 >= FIRST && usize::from(web) < WORKLOADS_MAX).then_some((web, flow.0 as u16))
}

/// Place of a value by port, in a table that grows as ports are used.
fn by_port<T: Copy + Default>(table: &mut Vec<T>, port: u16) -> &mut T {
    let port = usize::from(port);
    if port >= table.len() {
        table.resize((port + 1).next_power_of_two(), T::default());
    }
    &mut table[port]
}

#[cfg(test)]
mod tests;
