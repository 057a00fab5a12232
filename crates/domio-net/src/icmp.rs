//! Ping: echo requests and replies (RFC 792, RFC 1122 3.2.2.6).
//!
//! [`Ping`] sends one request at a time: the next one goes out when the reply is there, or when the
//! reply has not come within the timeout (`ping -A`, or a loop around `ping -c 1`). So it never
//! loads what it measures with more than one packet, and a request that got stuck delays the next.

use domio_core::{Duration, Instant};

use crate::packet::{Body, FlowId, MESSAGE_BYTES_MAX, Numbered, Packet, Station};
use crate::queue::{Accounted, Ledger, Place};

/// Settings of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingConfig {
    /// Bytes behind the ICMP header, [`MESSAGE_BYTES_MAX`] at most. `ping` sends 56.
    pub bytes: u16,
    /// How long to wait for a reply, more than zero.
    pub timeout: Duration,
}

/// Round-trip times of a ping, and how many requests came to what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingStatistics {
    /// Requests sent.
    pub sent: u64,
    /// Replies within the timeout.
    pub answered: u64,
    /// Requests without a reply within the timeout.
    pub timed_out: u64,
    /// Replies that came after it, or twice.
    pub late: u64,
    /// Shortest round trip; [`Duration::MAX`] without any.
    pub rtt_min: Duration,
    /// Longest round trip; zero without any.
    pub rtt_max: Duration,
    /// All round trips together.
    pub rtt_sum: Duration,
}

/// The client.
#[derive(Clone, Debug)]
pub struct Ping {
    config: PingConfig,
    from: Station,
    to: Station,
    flow: FlowId,
    /// Number of the request that is out, and when it was sent.
    waiting: Option<(u32, Instant)>,
    next: u32,
    statistics: PingStatistics,
}

impl PingStatistics {
    /// Mean round trip, rounded down; `None` without any.
    pub fn rtt_mean(&self) -> Option<Duration> {
        (self.answered > 0).then(|| self.rtt_sum / self.answered)
    }
}

impl Ping {
    /// Where replies that nobody waits for end.
    pub const LATE: Place = Place("ping, late reply");

    /// A ping from `from` to `to` that has not begun.
    ///
    /// # Panics
    /// When the request does not fit into a packet or the timeout is zero.
    #[track_caller]
    pub fn new(config: PingConfig, from: Station, to: Station, flow: FlowId) -> Self {
        assert!(
            config.bytes <= MESSAGE_BYTES_MAX,
            "an echo request of {} bytes needs fragments; expected at most {MESSAGE_BYTES_MAX}",
            config.bytes
        );
        assert!(!config.timeout.is_zero(), "a ping waits longer than zero");
        Ping {
            config,
            from,
            to,
            flow,
            waiting: None,
            next: 0,
            statistics: PingStatistics {
                sent: 0,
                answered: 0,
                timed_out: 0,
                late: 0,
                rtt_min: Duration::MAX,
                rtt_max: Duration::ZERO,
                rtt_sum: Duration::ZERO,
            },
        }
    }

    /// Makes the next request, to be sent at `now`. Arm a timer for [`deadline`](Self::deadline).
    ///
    /// # Panics
    /// When a request is out.
    #[track_caller]
    pub fn request(&mut self, now: Instant) -> Packet {
        assert!(self.waiting.is_none(), "one request at a time");
        let seq = self.next;
        // The numbers wrap, as ping's do.
        self.next = self.next.wrapping_add(1);
        self.waiting = Some((seq, now));
        self.statistics.sent += 1;
        Packet {
            from: self.from,
            to: self.to,
            flow: self.flow,
            body: Body::EchoRequest(Numbered {
                seq,
                bytes: self.config.bytes,
            }),
        }
    }

    /// When the request that is out times out; `None` when none is out.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let (_, sent) = self.waiting?;
        Some(sent + self.config.timeout)
    }

    /// A reply has come. Returns its round-trip time, and the next request may be made; `None` when
    /// nobody waits for it any more.
    pub fn reply(&mut self, now: Instant, reply: Numbered) -> Option<Duration> {
        match self.waiting {
            Some((seq, sent)) if seq == reply.seq => {
                self.waiting = None;
                let rtt = now.since(sent);
                let statistics = &mut self.statistics;
                statistics.answered += 1;
                statistics.rtt_min = statistics.rtt_min.min(rtt);
                statistics.rtt_max = statistics.rtt_max.max(rtt);
                statistics.rtt_sum += rtt;
                Some(rtt)
            }
            _ => {
                self.statistics.late += 1;
                None
            }
        }
    }

    /// The timer has fired. Tells whether the request that is out has timed out by `now`, so that
    /// the next one may be made.
    pub fn timeout(&mut self, now: Instant) -> bool {
        let timed_out = self.deadline().is_some_and(|deadline| deadline <= now);
        if timed_out {
            self.waiting = None;
            self.statistics.timed_out += 1;
        }
        timed_out
    }

    /// What has come of the requests so far.
    #[inline]
    pub fn statistics(&self) -> &PingStatistics {
        &self.statistics
    }
}

impl Accounted for Ping {
    fn account(&self, ledger: &mut Ledger) {
        ledger.sent(self.statistics.sent);
        ledger.delivered(self.statistics.answered);
        ledger.dropped(Self::LATE, self.statistics.late);
    }
}

/// The other end: answers each request at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Echo {
    answered: u64,
}

impl Echo {
    /// An end that has answered nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The reply to `packet`, with the same number and length; `None` when it is no echo request.
    pub fn answer(&mut self, packet: &Packet) -> Option<Packet> {
        let Body::EchoRequest(message) = packet.body else {
            return None;
        };
        self.answered += 1;
        Some(packet.answer(Body::EchoReply(message)))
    }

    /// Requests answered.
    #[inline]
    pub fn answered(&self) -> u64 {
        self.answered
    }
}

impl Accounted for Echo {
    /// A request is consumed, a reply made.
    fn account(&self, ledger: &mut Ledger) {
        ledger.delivered(self.answered);
        ledger.sent(self.answered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: PingConfig = PingConfig {
        bytes: 56,
        timeout: Duration::from_secs(1),
    };

    fn ping() -> Ping {
        Ping::new(CONFIG, Station(0), Station(1), FlowId(7))
    }

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// The reply to `request`, as it comes back.
    fn echo(request: &Packet) -> Numbered {
        let reply = Echo::new().answer(request).expect("a request");
        assert_eq!((reply.from, reply.to), (Station(1), Station(0)));
        match reply.body {
            Body::EchoReply(message) => message,
            other => panic!("{other:?} answers no echo request"),
        }
    }

    #[test]
    fn statistics_of_replies() {
        let mut ping = ping();
        let mut now = us(0);
        for rtt in [300, 100, 250] {
            let request = ping.request(now);
            assert_eq!(ping.deadline(), Some(now + CONFIG.timeout));
            now += Duration::from_micros(rtt);
            let told = ping.reply(now, echo(&request));
            assert_eq!(told, Some(Duration::from_micros(rtt)));
        }
        let statistics = ping.statistics();
        assert_eq!((statistics.sent, statistics.answered), (3, 3));
        assert_eq!((statistics.timed_out, statistics.late), (0, 0));
        assert_eq!(statistics.rtt_min, Duration::from_micros(100));
        assert_eq!(statistics.rtt_max, Duration::from_micros(300));
        assert_eq!(statistics.rtt_mean(), Some(Duration::from_nanos(216_666)));
    }

    #[test]
    fn late_replies_count_apart() {
        let mut ping = ping();
        let first = ping.request(us(0));
        assert!(!ping.timeout(us(999_999)));
        assert!(ping.timeout(us(1_000_000)));
        assert!(!ping.timeout(us(1_000_001)), "once");
        let second = ping.request(us(1_000_001));
        assert_eq!(ping.reply(us(1_000_050), echo(&first)), None);
        assert!(ping.reply(us(1_000_100), echo(&second)).is_some());
        assert_eq!(ping.reply(us(1_000_200), echo(&second)), None, "twice");
        let statistics = ping.statistics();
        assert_eq!((statistics.sent, statistics.answered), (2, 1));
        assert_eq!((statistics.timed_out, statistics.late), (1, 2));
        assert_eq!(statistics.rtt_max, Duration::from_micros(99));
    }

    #[test]
    fn only_requests_are_answered() {
        let mut echo = Echo::new();
        let request = ping().request(us(0));
        let reply = echo.answer(&request).expect("a request");
        assert_eq!(echo.answer(&reply), None);
        assert_eq!(echo.answered(), 1);
        assert_eq!(reply.wire_bytes(), request.wire_bytes());
    }
}
