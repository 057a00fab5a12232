//! A sender of datagrams.

use crate::process::{Context, FileId, Op, Program, What};
use domio_core::{Duration, Instant};

/// How late a sender is with what is due `after` its begin: from nothing to `most`, evenly
/// distributed. The time is a hash of `after` alone (the end of `SplitMix64`), so that what is
/// due together stays together, and a run needs no random stream for it.
pub fn lateness(after: Duration, most: Duration) -> Duration {
    let mut hash = after.as_nanos().wrapping_add(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^= hash >> 31;
    let part = (u128::from(most.as_nanos()) * u128::from(hash)) >> 64;
    Duration::from_nanos(part as u64)
}

/// Sends datagrams of one size at a fixed rate, by the clock. A datagram that comes late does not
/// put the next one off. Datagrams that are due together are sent one after the other.
/// A sender with a `wake` wakes at multiples of that only, as one whose sleeps end with a kernel's
/// tick, and sends what has fallen due.
#[derive(Clone, Debug)]
pub struct DatagramSender {
    socket: FileId,
    bytes: u64,
    /// Datagrams a second.
    rate: u32,
    /// From one wake-up to the next; zero for one at the time of each datagram.
    wake: Duration,
    /// How late a wake-up is at most.
    jitter: Duration,
    /// When the first datagram is due.
    begin: Instant,
    /// From when on no datagram is due.
    end: Instant,
    /// How many datagrams were sent.
    sent: u64,
}

impl DatagramSender {
    /// Sends `rate` datagrams of `bytes` a second through `socket`, the first at `begin`, and wakes
    /// at multiples of `wake`, or for each datagram when that is zero.
    ///
    /// # Panics
    /// When `rate` or `bytes` is zero.
    #[track_caller]
    pub fn new(socket: FileId, bytes: u16, rate: u32, wake: Duration, begin: Instant) -> Self {
        assert!(rate > 0 && bytes > 0, "a sender sends something");
        DatagramSender {
            socket,
            bytes: u64::from(bytes),
            rate,
            wake,
            jitter: Duration::ZERO,
            begin,
            end: Instant::MAX,
            sent: 0,
        }
    }

    /// The same, whose wake-ups are late by up to `jitter` ([`lateness`]).
    #[must_use]
    pub fn late_by(self, jitter: Duration) -> Self {
        DatagramSender { jitter, ..self }
    }

    /// The same, of which no datagram is due from `end` on.
    #[must_use]
    pub fn until(self, end: Instant) -> Self {
        DatagramSender { end, ..self }
    }

    /// When the next datagram is due.
    fn due(&self) -> Instant {
        let (sent, rate) = (u128::from(self.sent), u128::from(self.rate));
        let after = Duration::from_nanos((sent * 1_000_000_000 / rate) as u64);
        let after = after.next_multiple_of(self.wake);
        self.begin + after + lateness(after, self.jitter)
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
