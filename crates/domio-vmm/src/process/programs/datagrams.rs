//! A sender of datagrams.

use crate::process::{Context, FileId, Op, Program, What};
use domio_core::{Duration, Instant, mixed};

/// How long after its begin a sender of `rate` datagrams a second is due that has sent `sent`: at
/// multiples of `wake` where that is not zero, and up to `jitter` late, evenly distributed. The
/// delay is a hash of the time without delay, so that what is due together stays together, and a
/// run needs no random stream for it.
#[inline]
pub fn due_after(sent: u64, rate: u32, wake: Duration, jitter: Duration) -> Duration {
    let rate = u64::from(rate);
    // A rest has 32 bits and a second 30, so the product fits.
    let fraction = Duration::from_nanos(sent % rate * 1_000_000_000 / rate);
    let after = (Duration::from_secs(sent / rate) + fraction).next_multiple_of(wake);
    if jitter.is_zero() {
        return after;
    }
    let part = (u128::from(jitter.as_nanos()) * u128::from(mixed(after.as_nanos()))) >> 64;
    after + Duration::from_nanos(part as u64)
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

    /// The same, whose wake-ups are late by up to `jitter` ([`due_after`]).
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
        self.begin + due_after(self.sent, self.rate, self.wake, self.jitter)
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
