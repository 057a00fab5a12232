//! Settings of one end of a connection, its timers, and what it asks for.

use domio_core::{Duration, Instant};

use super::congestion::Control;
use super::memory::Build;
use crate::packet::{MSS, Segment};

/// Settings of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// Data in a full segment (bytes), at least 1; [`MSS`] on Ethernet.
    pub mss: u16,
    /// Initial congestion window (segments), at least 1. RFC 3390 allows 3 for Ethernet, which was
    /// Linux's until 2.6.38; RFC 6928 allows 10.
    pub initial_window: u32,
    /// How the congestion window grows.
    pub control: Control,
    /// Most full segments that are handed down as one [frame](crate::offload), at least 1: 1
    /// without TSO, [`SEGMENTS_MAX`](crate::offload::SEGMENTS_MAX) at most.
    pub frame: u16,
    /// An acknowledgement of several segments lets the congestion window grow as several would, as
    /// Linux since 3.18 does. Otherwise it counts once.
    pub counts_segments: bool,
    /// Data that arrives before its turn is acknowledged too (RFC 2018), if the other end
    /// understands that.
    pub selective: bool,
    /// Send buffer: what the application may have written and the other end not acknowledged
    /// (bytes), at least 1.
    pub send_buffer: u32,
    /// Receive buffer: what the other end may send before the application reads (bytes), at least
    /// 1.
    pub receive_buffer: u32,
    /// The largest window that is advertised (bytes), at least 1: Linux's `rcv_ssthresh`, which
    /// stays below the buffer where what surrounds the data counts, such as a page for each packet.
    pub window: u32,
    /// Segments that are not full are sent immediately, though others are not acknowledged yet
    /// (`TCP_NODELAY`). Otherwise they wait (Nagle, RFC 896).
    pub nodelay: bool,
    /// Retransmission timeout before a round trip was measured. 3 s in RFC 2988 and Linux until
    /// 3.0; 1 s in RFC 6298.
    pub rto_initial: Duration,
    /// How far the timeout is above the smoothed round-trip time at least: Linux's `TCP_RTO_MIN`,
    /// 200 ms.
    pub rto_min: Duration,
    /// The longest timeout: Linux's `TCP_RTO_MAX`, 120 s.
    pub rto_max: Duration,
    /// How long an acknowledgement waits for company: Linux's `TCP_DELACK_MIN`, 40 ms. Zero: it
    /// does not wait.
    pub ack_delay: Duration,
    /// How many segments are acknowledged one by one at first: Linux's `TCP_MAX_QUICKACKS`, 16.
    pub quick_acks: u32,
}

impl TcpConfig {
    /// A guest with 128 MB that receives from a host with 512 MB or more, both with Linux 2.6.18.
    ///
    /// The receiver's buffer grows until it holds twice what comes in a round trip, at most to
    /// `tcp_rmem`'s limit, three quarters of which are the window ([`Build::window`]). The guest
    /// has a kernel of 64 bits for several processors, as Xen's own configuration
    /// (`xenU_x86_64`). The sender, a kernel of 32 bits for several processors, may have
    /// `tcp_wmem`'s limit under way, so that its congestion window and the receiver decide.
    ///
    /// Until 2.6.18 the congestion control was BIC, by default.
    pub const XEN_2_6_18: TcpConfig = TcpConfig {
        control: Control::Bic,
        send_buffer: Build::I386Smp.send_limit(512) as u32,
        ..TcpConfig::LINUX
    }
    .with_window(Build::X86_64Smp.window(128) as u32);

    /// The same with a receive window, and a buffer, of `bytes`.
    #[must_use]
    pub const fn with_window(self, bytes: u32) -> TcpConfig {
        TcpConfig {
            receive_buffer: bytes,
            window: bytes,
            ..self
        }
    }

    /// Linux 2.6.2x on Ethernet, with buffers of 256 KiB.
    const LINUX: TcpConfig = TcpConfig {
        mss: MSS,
        initial_window: 3,
        control: Control::Reno,
        frame: 1,
        counts_segments: false,
        selective: true,
        send_buffer: 256 * 1024,
        receive_buffer: 256 * 1024,
        window: 256 * 1024,
        nodelay: false,
        rto_initial: Duration::from_secs(3),
        rto_min: Duration::from_millis(200),
        rto_max: Duration::from_secs(120),
        ack_delay: Duration::from_millis(40),
        quick_acks: 16,
    };
}

impl Default for TcpConfig {
    /// Linux 2.6.2x on Ethernet, with buffers of 256 KiB.
    fn default() -> Self {
        TcpConfig::LINUX
    }
}

/// A timer of a connection. Each can be armed once at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// Retransmits, or probes a closed window.
    Retransmit,
    /// Sends an acknowledgement that waits.
    DelayedAck,
}

/// What a connection asks for. Calls come in the order in which things have to be done.
pub trait Actions {
    /// Sends a segment to the other end.
    fn send(&mut self, segment: Segment);

    /// Arms `timer` for `at`, in place of a former deadline. When it fires, call
    /// [`Connection::timer`](super::Connection::timer).
    fn arm(&mut self, timer: Timer, at: Instant);

    /// Disarms `timer`.
    fn disarm(&mut self, timer: Timer);

    /// The next `bytes` of the stream are there for the application, which takes them from the
    /// buffer with [`Connection::read`](super::Connection::read).
    fn deliver(&mut self, bytes: u64);

    /// The other end has acknowledged `bytes`; there is room for as many in the send buffer.
    fn freed(&mut self, bytes: u64);

    /// The connection is open: data may flow both ways.
    fn opened(&mut self);
}
