//! A sender of datagrams.

use crate::process::{Context, FileId, Op, Program, What};
use domio_core::{Duration, Instant};

/// Sends datagrams of one size at a fixed rate, by the clock. A datagram that comes late does not
/// put the next one off. Datagrams that are due together are sent one after the other.
#[derive(Clone, Debug)]
pub struct DatagramSender {
    socket: FileId,
    bytes: u64,
    /// Datagrams a second.
    rate: u32,
    /// When the first datagram is due.
    begin: Instant,
    /// From when on no datagram is due.
    end: Instant,
    /// How many datagrams were sent.
    sent: u64,
}

impl DatagramSender {
    /// Sends `rate` datagrams of `bytes` a second through `socket`, the first at `begin`.
    ///
    /// # Panics
    /// When `rate` or `bytes` is zero.
    #[track_caller]
    pub fn new(socket: FileId, bytes: u16, rate: u32, begin: Instant) -> Self {
        assert!(rate > 0 && bytes > 0, "a sender sends something");
        DatagramSender {
            socket,
            bytes: u64::from(bytes),
            rate,
            begin,
            end: Instant::MAX,
            sent: 0,
        }
    }

    /// The same, of which no datagram is due from `end` on.
    #[must_use]
    pub fn until(self, end: Instant) -> Self {
        DatagramSender { end, ..self }
    }

    /// When the next datagram is due.
    fn due(&self) -> Instant {
        let (sent, rate) = (u128::from(self.sent), u128::from(self.rate));
        self.begin + Duration::from_nanos((sent * 1_000_000_000 / rate) as u64)
    }
}

impl Program for DatagramSender {
    fn name(&self) -> &'static str {
        "udp-out"
    }

    fn next(&mut self, cx: &Context) -> Op {
        let due = self.due();
        if due >= self.end {
            return Op::Exit;
        }
        if cx.now < due {
            return Op::SleepUntil(due);
        }
        self.sent += 1;
        let (offset, bytes) = (0, self.bytes);
        self.socket.does(What::Write { offset, bytes })
    }
}
