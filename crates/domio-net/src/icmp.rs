//! Ping: echo requests and replies (RFC 792, RFC 1122 3.2.2.6).
//!
//! When [`Ping`] sends its next request is its [`Pace`]: with [`Pace::Flood`] upon the reply to the
//! last one, or when that has not come within the timeout, which ends with a tick of the kernel's
//! timer if it has [`Ticks`]; [`Pace::Adaptive`] follows the round
//! trip, so that about one request is out at a time; [`Pace::Every`] goes by the clock alone.
//!
//! A reply counts whenever it comes, with its full round trip: the request carries the time at
//! which it was sent. The timeout therefore bounds no round trip. A request that waits for seconds
//! may be followed by a hundred others a second, which wait behind it and count as well; the mean
//! is that over requests, not over time.

use alloc::collections::VecDeque;

use domio_core::{Duration, Instant};

use crate::packet::{Body, FlowId, MESSAGE_BYTES_MAX, Numbered, Packet, Station};
use crate::queue::{Accounted, DropPlace, Ledger};

/// Settings of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingConfig {
    /// Bytes behind the ICMP header, [`MESSAGE_BYTES_MAX`] at most. `ping` sends 56.
    pub bytes: u16,
    /// When the next request is sent.
    pub pace: Pace,
    /// The timer of the kernel that it runs on, with which a flood's waits end; `None` for one that
    /// is exact.
    pub ticks: Option<Ticks>,
}

/// A kernel's timer tick: what waits for a time waits for a tick (the jiffies of Linux, before its
/// timers were exact).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticks {
    /// From one to the next, over zero.
    pub length: Duration,
    /// When one of them comes, which may be before the simulation begins: the others are multiples
    /// of the length away.
    pub phase: Duration,
}

impl Ticks {
    /// The end of a wait of `time` that begins at `from`: in whole ticks, rounded up, from the last
    /// one that has come.
    fn end_of_wait(&self, from: Instant, time: Duration) -> Instant {
        let length = self.length.as_nanos();
        let early = length - self.phase.as_nanos() % length;
        let last = (from.as_nanos() + early) / length;
        let ticks = time.as_nanos().div_ceil(length);
        Instant::from_nanos((last + ticks) * length - early)
    }
}

/// When a ping sends its next request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Upon the reply to the last one, or so long after it without: `ping -f`, whose timeout is
    /// [`Pace::FLOOD_TIMEOUT`]. Over zero.
    Flood(Duration),
    /// After the mean round trip, as `ping -A` of iputils: smoothed over eight replies, in whole
    /// milliseconds. Where that rounds to zero it floods, which is how it begins.
    Adaptive,
    /// By the clock, whatever comes back: `ping` without either option, whose interval is
    /// [`Pace::INTERVAL`], or `ping -i`. Over zero.
    Every(Duration),
}

impl Pace {
    /// `MININTERVAL` of iputils: a flood that gets no replies sends a hundred requests a second.
    pub const FLOOD_TIMEOUT: Duration = Duration::from_millis(10);

    /// What `ping` waits between two requests when it is told nothing.
    pub const INTERVAL: Duration = Duration::from_secs(1);
}

impl Default for PingConfig {
    /// `ping -A`.
    fn default() -> Self {
        PingConfig {
            bytes: 56,
            pace: Pace::Adaptive,
            ticks: None,
        }
    }
}

/// Round-trip times of a ping, and how many requests came to what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingStatistics {
    /// Requests sent.
    pub sent: u64,
    /// Replies to them.
    pub answered: u64,
    /// Requests that were followed by another one because the timeout had passed.
    pub timed_out: u64,
    /// Replies that nobody waited for: those that came twice.
    pub duplicates: u64,
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
    /// From a reply to the request that follows upon it.
    turnaround: Duration,
    /// From when on no request is due.
    until: Instant,
    from: Station,
    to: Station,
    flow: FlowId,
    /// Numbers of the requests that are out, and when they were sent; in order.
    out: VecDeque<(u64, Instant)>,
    /// When the last request was sent; none before the first.
    last: Option<Instant>,
    /// Since when it waits for the reply to that: each late one begins the wait anew.
    waits_since: Instant,
    /// When the reply to it came.
    answered: Option<Instant>,
    next: u64,
    /// Eight times the smoothed round trip, in microseconds; 0 before the first.
    smoothed: u64,
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
    pub const DUPLICATE: DropPlace = DropPlace("ping, duplicate reply");

    /// A ping from `from` to `to` that has not begun.
    ///
    /// # Panics
    /// When the request does not fit into a packet, or the timeout, interval or tick is zero.
    #[track_caller]
    pub fn new(config: PingConfig, from: Station, to: Station, flow: FlowId) -> Self {
        assert!(
            config.bytes <= MESSAGE_BYTES_MAX,
            "an echo request of {} bytes needs fragments; expected at most {MESSAGE_BYTES_MAX}",
            config.bytes
        );
        assert!(
            ![Pace::Flood, Pace::Every]
                .map(|pace| pace(Duration::ZERO))
                .contains(&config.pace),
            "a ping waits longer than zero"
        );
        assert!(
            config.ticks.is_none_or(|ticks| !ticks.length.is_zero()),
            "a tick is longer than zero"
        );
        Ping {
            config,
            turnaround: Duration::ZERO,
            until: Instant::MAX,
            from,
            to,
            flow,
            out: VecDeque::new(),
            last: None,
            waits_since: Instant::ZERO,
            answered: None,
            next: 0,
            smoothed: 0,
            statistics: PingStatistics {
                sent: 0,
                answered: 0,
                timed_out: 0,
                duplicates: 0,
                rtt_min: Duration::MAX,
                rtt_max: Duration::ZERO,
                rtt_sum: Duration::ZERO,
            },
        }
    }

    /// The same with a process that takes `turnaround` from a reply to the request that follows
    /// upon it; no round trip has a part of it.
    #[must_use]
    pub fn with_turnaround(mut self, turnaround: Duration) -> Self {
        self.turnaround = turnaround;
        self
    }

    /// No request is due from `until` on.
    pub fn end_at(&mut self, until: Instant) {
        self.until = until;
    }

    /// Whether no request is due any more at `now`.
    pub fn has_ended(&self, now: Instant) -> bool {
        now >= self.until
    }

    /// Makes the next request, to be sent at `now`, which is when it is [`due`](Self::due). Look at
    /// that again after this and after each reply.
    pub fn request(&mut self, now: Instant) -> Packet {
        let number = self.next;
        self.next += 1;
        self.statistics.timed_out += u64::from(self.last.is_some() && self.answered.is_none());
        self.last = Some(now);
        self.waits_since = now;
        self.answered = None;
        self.out.push_back((number, now));
        self.statistics.sent += 1;
        Packet {
            from: self.from,
            to: self.to,
            flow: self.flow,
            body: Body::EchoRequest(Numbered {
                // The numbers on the line wrap, as ping's do.
                seq: number as u32,
                bytes: self.config.bytes,
            }),
        }
    }

    /// When the next request is due, `now` at the earliest.
    pub fn due(&self, now: Instant) -> Instant {
        let Some(last) = self.last else { return now };
        let due = match (self.pace(), self.answered) {
            (Paced::Flood(_), Some(answered)) => answered + self.turnaround,
            (Paced::Flood(timeout), None) => self.timeout(last, timeout),
            (Paced::Every(interval), _) => last + interval,
        };
        due.max(now)
    }

    /// When a flood stops to wait for the reply to the request that was sent at `last`.
    ///
    /// `ping` of iputils waits in `recvmsg` with a timeout in ticks. When that is over or a late
    /// reply has come, it looks whether enough whole milliseconds have passed; if not, it waits as
    /// long again.
    fn timeout(&self, last: Instant, timeout: Duration) -> Instant {
        let Some(ticks) = self.config.ticks else {
            return last + timeout;
        };
        let millis = |time: Duration| time.as_nanos() / 1_000_000;
        let mut woken = self.waits_since;
        while woken == last || millis(woken.since(last)) < millis(timeout) {
            woken = ticks.end_of_wait(woken, timeout);
        }
        woken
    }

    fn pace(&self) -> Paced {
        match self.config.pace {
            Pace::Flood(timeout) => Paced::Flood(timeout),
            Pace::Every(interval) => Paced::Every(interval),
            Pace::Adaptive => match (self.smoothed / 8 + 500) / 1000 {
                0 => Paced::Flood(Pace::FLOOD_TIMEOUT),
                ms => Paced::Every(Duration::from_millis(ms)),
            },
        }
    }

    /// A reply has come: its round trip, or `None` when nobody waits for it.
    pub fn reply(&mut self, now: Instant, reply: Numbered) -> Option<Duration> {
        // The request of that number that is out: fewer than 2^32 are.
        let place = self.out.iter().position(|(n, _)| *n as u32 == reply.seq);
        let Some((number, sent)) = place.and_then(|place| self.out.remove(place)) else {
            self.statistics.duplicates += 1;
            return None;
        };
        let rtt = now.since(sent);
        let statistics = &mut self.statistics;
        statistics.answered += 1;
        statistics.rtt_min = statistics.rtt_min.min(rtt);
        statistics.rtt_max = statistics.rtt_max.max(rtt);
        statistics.rtt_sum += rtt;
        if number + 1 == self.next {
            self.answered = Some(now);
        }
        self.waits_since = now;
        let micros = rtt.as_nanos() / 1000;
        self.smoothed = match self.smoothed {
            0 => micros * 8,
            smoothed => smoothed + micros - smoothed / 8,
        };
        Some(rtt)
    }

    /// Requests that are out, lost ones included: when each was sent, oldest first.
    pub fn unanswered(&self) -> impl Iterator<Item = Instant> {
        self.out.iter().map(|(_, sent)| *sent)
    }

    /// What has come of the requests so far.
    #[inline]
    pub fn statistics(&self) -> &PingStatistics {
        &self.statistics
    }
}

/// What is to be waited for at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Paced {
    Flood(Duration),
    Every(Duration),
}

impl Accounted for Ping {
    fn account(&self, ledger: &mut Ledger) {
        ledger.sent(self.statistics.sent);
        ledger.delivered(self.statistics.answered);
        ledger.dropped(Self::DUPLICATE, self.statistics.duplicates);
    }
}

/// The other end: answers each request immediately.
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
    use alloc::vec::Vec;

    const CONFIG: PingConfig = PingConfig {
        bytes: 56,
        pace: Pace::Flood(Duration::from_secs(1)),
        ticks: None,
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
            assert_eq!(ping.due(now), now + Duration::from_secs(1));
            now += Duration::from_micros(rtt);
            let told = ping.reply(now, echo(&request));
            let rtt = Duration::from_micros(rtt);
            assert_eq!((told, ping.due(now)), (Some(rtt), now));
        }
        let statistics = ping.statistics();
        assert_eq!((statistics.sent, statistics.answered), (3, 3));
        assert_eq!((statistics.timed_out, statistics.duplicates), (0, 0));
        assert_eq!(statistics.rtt_min, Duration::from_micros(100));
        assert_eq!(statistics.rtt_max, Duration::from_micros(300));
        assert_eq!(statistics.rtt_mean(), Some(Duration::from_nanos(216_666)));
    }

    #[test]
    fn a_flood_takes_its_time_between_reply_and_request() {
        let mut ping = ping().with_turnaround(Duration::from_micros(6));
        let first = ping.request(us(0));
        let second = ping.request(us(1_000_000));
        assert!(ping.reply(us(1_000_300), echo(&second)).is_some());
        assert_eq!(ping.due(us(1_000_300)), us(1_000_306));
        // A late reply to another one changes nothing.
        assert!(ping.reply(us(1_000_302), echo(&first)).is_some());
        assert_eq!(ping.due(us(1_000_302)), us(1_000_306));
        assert_eq!(ping.due(us(1_000_400)), us(1_000_400), "overdue");
        let statistics = ping.statistics();
        assert_eq!(
            statistics.rtt_min,
            Duration::from_micros(300),
            "no part of it"
        );
    }

    #[test]
    fn a_flood_times_out_with_a_tick_of_its_kernel() {
        let mut ping = Ping::new(
            PingConfig {
                pace: Pace::Flood(Pace::FLOOD_TIMEOUT),
                // Ticks at 1, 5, 9 ms and so on.
                ticks: Some(Ticks {
                    length: Duration::from_millis(4),
                    phase: Duration::from_millis(21),
                }),
                ..CONFIG
            },
            Station(0),
            Station(1),
            FlowId(7),
        );
        // Ten milliseconds are three ticks, from the last one on.
        let first = ping.request(us(1_500));
        assert_eq!(ping.due(us(1_500)), us(13_000), "11.5 ms have passed");
        ping.request(us(13_000));
        assert_eq!(ping.due(us(13_000)), us(25_000));
        // A late reply begins the wait anew.
        assert!(ping.reply(us(18_000), echo(&first)).is_some());
        assert_eq!(ping.due(us(18_000)), us(29_000));
        let third = ping.request(us(29_000));
        // Shortly before a tick, three of them are less than ten milliseconds: three more.
        let last = ping.request(us(32_500));
        assert_eq!(ping.due(us(32_500)), us(53_000), "at 41 ms 8.5 have passed");
        // A late reply when enough has passed ends the wait.
        assert!(ping.reply(us(43_000), echo(&third)).is_some());
        assert_eq!(ping.due(us(43_000)), us(43_000));
        assert!(ping.reply(us(44_000), echo(&last)).is_some());
        assert_eq!(ping.due(us(44_000)), us(44_000), "nothing to wait for");
    }

    #[test]
    fn a_ping_by_the_clock_looks_at_no_reply() {
        let pace = Pace::Every(Duration::from_millis(1));
        let mut ping = Ping::new(
            PingConfig { pace, ..CONFIG },
            Station(0),
            Station(1),
            FlowId(7),
        );
        let first = ping.request(us(0));
        assert_eq!(ping.due(us(10)), us(1_000), "before the reply");
        assert!(ping.reply(us(300), echo(&first)).is_some());
        assert_eq!(ping.due(us(300)), us(1_000), "and after it");
        ping.request(us(1_000));
        ping.request(us(2_000));
        assert_eq!(ping.unanswered().count(), 2);
        assert_eq!(ping.statistics().timed_out, 1, "the second one");
    }

    #[test]
    fn late_replies_count_in_full() {
        let mut ping = ping();
        let first = ping.request(us(0));
        let second = ping.request(us(1_000_000));
        let rtt = Duration::from_micros(1_000_050);
        assert_eq!(ping.reply(us(1_000_050), echo(&first)), Some(rtt));
        // The second is still out: no third one before its reply or timeout.
        assert_eq!(ping.due(us(1_000_060)), us(2_000_000));
        assert_eq!(ping.unanswered().collect::<Vec<_>>(), [us(1_000_000)]);
        assert!(ping.reply(us(1_000_100), echo(&second)).is_some());
        assert_eq!(ping.due(us(1_000_100)), us(1_000_100));
        assert_eq!(ping.reply(us(1_000_200), echo(&second)), None, "twice");
        let statistics = ping.statistics();
        assert_eq!((statistics.sent, statistics.answered), (2, 2));
        assert_eq!((statistics.timed_out, statistics.duplicates), (1, 1));
        assert_eq!(statistics.rtt_max, rtt);
    }

    #[test]
    fn an_adaptive_ping_follows_the_round_trip() {
        let config = PingConfig::default();
        let mut ping = Ping::new(config, Station(0), Station(1), FlowId(7));
        let first = ping.request(us(0));
        assert_eq!(ping.due(us(1)), us(10_000), "it begins as a flood");
        ping.reply(us(80_000), echo(&first));
        assert_eq!(ping.due(us(80_000)), us(80_000), "80 ms after the last one");
        // 80 ms less an eighth with each reply of nearly no time: 70, 61.25, 53.6.
        let mut now = us(80_000);
        for ms in [70, 61, 54] {
            let request = ping.request(now);
            ping.reply(now, echo(&request));
            assert_eq!(ping.due(now), now + Duration::from_millis(ms));
            now += Duration::from_millis(ms);
        }
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
