//! What a web workload is made of.

use domio_core::Duration;
use domio_vmm::process::programs::WebCosts;

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
    /// Open files that a process of Linux may have, by default.
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
