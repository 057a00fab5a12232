//! A full-duplex point-to-point link.
//!
//! Each [`Direction`] is a line that sends one packet after the other, and a queue in front of it.
//! A packet's way is decided when it is handed over: who is before it is known, and nobody
//! overtakes. So a direction needs no event for a packet that leaves and one for a packet that
//! arrives, but one timer, armed for [`Direction::next_arrival`].
//!
//! # Exact serialisation
//!
//! At 10 Gb/s a byte takes 0.8 ns. Packets that follow each other without a gap are placed on the
//! line exactly: the fraction of a nanosecond by which one overhangs is carried to the next, so
//! that no rounding adds up. Instants are those of the next whole nanosecond. A line that was idle
//! starts at a whole nanosecond.
//!
//! # Flow control
//!
//! A receiver that has no room may [stop](Direction::stop) the sender and let it
//! [continue](Direction::go_on) later (pause frames, IEEE 802.3 annex 31B). The sender stops in the
//! same instant, in the middle of a packet; what is on its way by then still arrives.

use alloc::collections::VecDeque;

use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

use crate::packet::Packet;
use crate::queue::{Accounted, Counts, DropPlace, Ledger};

/// How fast a line sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rate(u64);

impl Rate {
    /// Fast Ethernet.
    pub const MBIT_100: Rate = Rate(100_000_000);
    /// Gigabit Ethernet.
    pub const GBIT_1: Rate = Rate(1_000_000_000);
    /// 10 Gigabit Ethernet.
    pub const GBIT_10: Rate = Rate(10_000_000_000);

    /// `bps` bits per second, 1 to 400 Gb/s.
    ///
    /// # Panics
    /// When `bps` is out of range. Faster lines would send the smallest packet in little more than
    /// a nanosecond, the unit of time.
    #[track_caller]
    pub const fn bits_per_second(bps: u64) -> Rate {
        assert!(
            0 < bps && bps <= 400_000_000_000,
            "a line's rate is from 1 bit/s to 400 Gb/s"
        );
        Rate(bps)
    }

    /// Bits per second.
    #[inline]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// How long `bytes` take, rounded up to whole nanoseconds.
    #[inline]
    pub const fn time(self, bytes: u32) -> Duration {
        Duration::from_nanos((bytes as u64 * 8 * 1_000_000_000).div_ceil(self.0))
    }
}

/// Settings of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// How fast bits go onto the line.
    pub rate: Rate,
    /// How long each of them travels.
    pub latency: Duration,
    /// How many packets may wait for the line, the one that it sends not counted. Linux gives an
    /// Ethernet interface 1000 (`txqueuelen`).
    pub queue: usize,
}

/// Chance for which a line spoils packets, as noise would: a packet keeps the line busy and does
/// not arrive.
#[derive(Clone, Debug)]
pub struct Loss {
    stream: RandomStream,
    per_million: u32,
}

impl Loss {
    /// `per_million` of a million packets get lost, independently of each other. One value is drawn
    /// from `stream` for each packet.
    ///
    /// # Panics
    /// When `per_million` is over a million.
    #[track_caller]
    pub fn new(stream: RandomStream, per_million: u32) -> Self {
        assert!(
            per_million <= 1_000_000,
            "{per_million} of 1000000 packets cannot get lost; expected 0 to 1000000"
        );
        Loss {
            stream,
            per_million,
        }
    }
}

/// A packet between being handed over and arriving.
#[derive(Clone, Copy, Debug)]
struct Transit {
    /// By the clock of the line until it has departed, which stands still while the line is
    /// stopped; by the true one afterwards.
    leaves: Instant,
    packet: Packet,
    spoiled: bool,
}

/// One direction of a link: what one end sends and the other receives.
#[derive(Clone, Debug)]
pub struct Direction {
    config: LinkConfig,
    loss: Option<Loss>,
    /// When the line has sent everything that it was given, rounded up, by its clock.
    free_at: Instant,
    /// By how much `free_at` is rounded up, in units of 1/rate nanoseconds; less than the rate.
    early: u64,
    /// Packets handed over and not yet arrived, in order.
    transit: VecDeque<Transit>,
    /// How many of `transit` had left by the last call.
    departed: usize,
    /// How long the line was stopped, all in all.
    stood: Duration,
    stopped: Option<Instant>,
    counts: Counts,
    spoiled: u64,
    bytes: u64,
}

/// Both directions of a link.
#[derive(Clone, Debug)]
pub struct Link {
    /// From the first end to the second.
    pub there: Direction,
    /// From the second end to the first.
    pub back: Direction,
}

/// A second has this many nanoseconds.
const SECOND: u64 = 1_000_000_000;

impl Link {
    /// A link with the same settings both ways.
    pub fn new(config: LinkConfig) -> Self {
        Link {
            there: Direction::new(config),
            back: Direction::new(config),
        }
    }
}

impl Accounted for Link {
    fn account(&self, ledger: &mut Ledger) {
        ledger.add(&self.there).add(&self.back);
    }
}

impl Direction {
    /// Where packets that find the queue full are dropped.
    pub const QUEUE: DropPlace = DropPlace("link queue");
    /// Where packets that [`Loss`] has hit are dropped.
    pub const LINE: DropPlace = DropPlace("line");

    /// An idle line.
    pub fn new(config: LinkConfig) -> Self {
        Direction {
            config,
            loss: None,
            free_at: Instant::ZERO,
            early: 0,
            transit: VecDeque::new(),
            departed: 0,
            stood: Duration::ZERO,
            stopped: None,
            counts: Counts::default(),
            spoiled: 0,
            bytes: 0,
        }
    }

    /// The same line with random loss.
    #[must_use]
    pub fn with_loss(mut self, loss: Loss) -> Self {
        self.loss = Some(loss);
        self
    }

    /// Hands a packet to the queue in front of the line. Returns when its last bit (and the gap
    /// behind it) will have left, unless the line is stopped meanwhile; `None` when the queue is
    /// full and the packet is dropped.
    ///
    /// `now` must not be before that of an earlier call; so for all methods.
    #[must_use = "a packet may be dropped here"]
    pub fn send(&mut self, now: Instant, packet: Packet) -> Option<Instant> {
        self.depart(now);
        if self.waiting() >= self.config.queue && self.free_at > self.clock(now) {
            self.counts.entered += 1;
            self.counts.dropped += 1;
            return None;
        }
        Some(self.carry(now, packet))
    }

    /// Like [`send`](Self::send), for a sender with a queue of its own, such as a NIC with its
    /// ring: nothing is dropped for want of room.
    pub fn carry(&mut self, now: Instant, packet: Packet) -> Instant {
        self.counts.entered += 1;
        let wire_bytes = packet.wire_bytes();
        self.bytes += u64::from(wire_bytes);
        let clock = self.clock(now);
        if self.free_at <= clock {
            self.free_at = clock;
            self.early = 0;
        }
        // In units of 1/rate nanoseconds: bits * 10^9 from where the last packet really ended.
        let rate = self.config.rate.bps();
        let units = u64::from(wire_bytes) * 8 * SECOND - self.early;
        self.free_at += Duration::from_nanos(units.div_ceil(rate));
        self.early = (rate - units % rate) % rate;
        let spoiled = match &mut self.loss {
            Some(loss) => loss.stream.chance(u64::from(loss.per_million), 1_000_000),
            None => false,
        };
        self.transit.push_back(Transit {
            leaves: self.free_at,
            packet,
            spoiled,
        });
        self.free_at + self.stood
    }

    /// The line sends nothing more from `now` on. Nothing if it is stopped already.
    pub fn stop(&mut self, now: Instant) {
        self.depart(now);
        self.stopped.get_or_insert(now);
    }

    /// A line that is stopped continues where it was.
    pub fn go_on(&mut self, now: Instant) {
        if let Some(since) = self.stopped.take() {
            self.stood += now.since(since);
        }
    }

    /// Whether the line is stopped.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// When the next packet reaches the other end, spoiled or not; `None` when there is none, or
    /// the line is stopped before it has left. Arm a timer for it, and call
    /// [`arrive`](Self::arrive) when it fires.
    #[inline]
    pub fn next_arrival(&self) -> Option<Instant> {
        let first = self.transit.front()?;
        let leaves = if self.departed > 0 {
            first.leaves
        } else if self.stopped.is_none() {
            first.leaves + self.stood
        } else {
            return None;
        };
        Some(leaves + self.config.latency)
    }

    /// Takes the first packet, if it has arrived by `now` and was not spoiled.
    pub fn arrive(&mut self, now: Instant) -> Option<Packet> {
        if self.next_arrival()? > now {
            return None;
        }
        self.depart(now);
        let first = self.transit.pop_front()?;
        self.departed -= 1;
        if first.spoiled {
            self.counts.dropped += 1;
            self.spoiled += 1;
            return None;
        }
        self.counts.left += 1;
        Some(first.packet)
    }

    /// How many packets wait for the line at `now`, the one that it sends not counted.
    pub fn queued(&mut self, now: Instant) -> usize {
        self.depart(now);
        self.waiting()
    }

    /// Whether the line has nothing to send at `now`.
    #[inline]
    pub fn is_idle(&self, now: Instant) -> bool {
        self.free_at <= self.clock(now)
    }

    /// What went through, drops in the queue and on the line included.
    #[inline]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Wire bytes handed to the line so far; those of packets that wait for it included.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Settings of the line.
    #[inline]
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// What the clock of the line shows at `now`.
    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        self.stopped.unwrap_or(now) - self.stood
    }

    /// Notes which packets have left by `now`.
    fn depart(&mut self, now: Instant) {
        let clock = self.clock(now);
        while let Some(next) = self.transit.get_mut(self.departed)
            && next.leaves <= clock
        {
            next.leaves += self.stood;
            self.departed += 1;
        }
    }

    /// Packets not yet departed, without the first of them, which is on the line.
    fn waiting(&self) -> usize {
        (self.transit.len() - self.departed).saturating_sub(1)
    }
}

impl Accounted for Direction {
    fn account(&self, ledger: &mut Ledger) {
        ledger.holds(self.counts.inside());
        ledger.dropped(Self::LINE, self.spoiled);
        ledger.dropped(Self::QUEUE, self.counts.dropped - self.spoiled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Body, FlowId, MESSAGE_BYTES_MAX, Numbered, Station};
    use alloc::vec::Vec;

    /// The largest frame: 1538 bytes on the wire.
    fn full(seq: u32) -> Packet {
        Packet {
            from: Station(0),
            to: Station(1),
            flow: FlowId(0),
            body: Body::Udp(Numbered {
                seq,
                bytes: MESSAGE_BYTES_MAX,
            }),
        }
    }

    fn line(rate: Rate, queue: usize) -> Direction {
        Direction::new(LinkConfig {
            rate,
            latency: Duration::from_micros(10),
            queue,
        })
    }

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn a_packet_takes_its_bits_and_the_latency() {
        for (rate, ns) in [
            (Rate::MBIT_100, 123_040),
            (Rate::GBIT_1, 12_304),
            (Rate::GBIT_10, 1_231),
        ] {
            let mut line = line(rate, 1);
            assert_eq!(line.send(at(5), full(0)), Some(at(5 + ns)), "{rate:?}");
            assert_eq!(line.next_arrival(), Some(at(5 + ns + 10_000)));
            assert_eq!(line.arrive(at(5 + ns + 9_999)), None);
            assert_eq!(line.arrive(at(5 + ns + 10_000)), Some(full(0)));
        }
    }

    #[test]
    fn fractions_of_a_nanosecond_do_not_add_up() {
        // 1538 bytes take 1230.4 ns: 100000 of them exactly 123040 us.
        let mut line = line(Rate::GBIT_10, usize::MAX);
        let mut leaves = Instant::ZERO;
        for seq in 0..100_000 {
            leaves = line.carry(Instant::ZERO, full(seq));
        }
        assert_eq!(leaves, at(123_040_000));
        // An odd rate, which divides nothing: 7 packets of 12304 bits at 3 bit/s.
        let mut slow = Direction::new(LinkConfig {
            rate: Rate::bits_per_second(3),
            latency: Duration::ZERO,
            queue: 0,
        });
        let ends: Vec<u64> = (0..7)
            .map(|n| slow.carry(at(1), full(n)).as_nanos())
            .collect();
        for (n, end) in (1..).zip(ends) {
            assert_eq!(end - 1, (n * 12_304 * SECOND).div_ceil(3), "packet {n}");
        }
    }

    #[test]
    fn an_idle_line_forgets_the_fraction() {
        let mut line = line(Rate::GBIT_10, 1);
        assert_eq!(line.carry(at(0), full(0)), at(1_231));
        assert_eq!(line.carry(at(5_000), full(1)), at(6_231));
    }

    #[test]
    fn the_queue_holds_what_it_may_and_drops_the_rest() {
        let mut line = line(Rate::GBIT_1, 2);
        // One on the line and two behind it.
        let fates: Vec<bool> = (0..5)
            .map(|n| line.send(at(0), full(n)).is_some())
            .collect();
        assert_eq!(fates, [true, true, true, false, false]);
        assert_eq!(line.queued(at(0)), 2);
        // As soon as the first has left, there is room for one.
        assert_eq!(line.send(at(12_303), full(5)), None);
        assert!(line.send(at(12_304), full(6)).is_some());
        assert_eq!(line.send(at(12_304), full(7)), None);
        let counts = line.counts();
        assert_eq!((counts.entered, counts.dropped, counts.inside()), (8, 4, 4));
        let mut ledger = Ledger::new();
        ledger.add(&line).sent(8);
        assert_eq!(
            (ledger.dropped_at(Direction::QUEUE), ledger.check()),
            (4, Ok(()))
        );
    }

    #[test]
    fn without_a_queue_only_an_idle_line_takes_packets() {
        let mut line = line(Rate::GBIT_1, 0);
        assert!(line.send(at(0), full(0)).is_some());
        assert_eq!(line.send(at(12_303), full(1)), None);
        assert!(line.send(at(12_304), full(2)).is_some());
    }

    #[test]
    fn a_line_that_was_stopped_goes_on_where_it_was() {
        let mut line = line(Rate::GBIT_1, 2);
        for n in 0..3 {
            assert!(line.send(at(0), full(n)).is_some());
        }
        // The first has left, and half of the second.
        line.stop(at(18_456));
        line.stop(at(20_000));
        assert!(line.is_stopped() && !line.is_idle(at(1_000_000)));
        assert_eq!(line.next_arrival(), Some(at(22_304)), "it is on its way");
        assert_eq!(line.arrive(at(22_304)), Some(full(0)));
        assert_eq!((line.next_arrival(), line.queued(at(500_000))), (None, 1));
        assert!(line.send(at(600_000), full(3)).is_some());
        assert_eq!(line.send(at(600_000), full(4)), None, "the queue is full");
        line.go_on(at(1_018_456));
        line.go_on(at(2_000_000));
        // A millisecond later than without the stop.
        let mut arrivals = Vec::new();
        while let Some(next) = line.next_arrival() {
            arrivals.push((next, line.arrive(next)));
        }
        let expected = |n: u32| (at(1_010_000 + u64::from(n + 1) * 12_304), Some(full(n)));
        assert_eq!(arrivals, [1, 2, 3].map(expected));
        assert_eq!(line.carry(at(3_000_000), full(5)), at(3_012_304));
        let mut ledger = Ledger::new();
        ledger.add(&line).sent(6);
        ledger.delivered(4);
        assert_eq!(ledger.check(), Ok(()));
    }

    #[test]
    fn packets_arrive_in_order() {
        let mut line = line(Rate::GBIT_1, 100);
        for seq in 0..50 {
            assert!(line.send(at(u64::from(seq) * 9_000), full(seq)).is_some());
        }
        let mut order = Vec::new();
        while let Some(next) = line.next_arrival() {
            order.push(line.arrive(next).expect("nothing is spoiled"));
        }
        assert_eq!(order, (0..50).map(full).collect::<Vec<_>>());
    }

    #[test]
    fn loss_is_as_frequent_as_asked_and_keeps_the_line_busy() {
        let stream = RandomStream::new(1, 0, "link/loss");
        let mut lossy = line(Rate::GBIT_1, usize::MAX).with_loss(Loss::new(stream, 100_000));
        let n = 100_000;
        for seq in 0..n {
            let leaves = lossy.send(Instant::ZERO, full(seq)).expect("there is room");
            assert_eq!(leaves, at(u64::from(seq + 1) * 12_304));
        }
        let mut arrived = 0;
        while let Some(next) = lossy.next_arrival() {
            arrived += u64::from(lossy.arrive(next).is_some());
        }
        // 10 % of 100000, with a standard deviation of 95.
        let lost = u64::from(n) - arrived;
        assert!((9_600..=10_400).contains(&lost), "{lost}");
        let mut ledger = Ledger::new();
        ledger.add(&lossy).sent(u64::from(n));
        ledger.delivered(arrived);
        assert_eq!(
            (ledger.dropped_at(Direction::LINE), ledger.check()),
            (lost, Ok(()))
        );
    }
}
