//! The receiving half of a connection: order, the window, and when to acknowledge.

use domio_core::{Duration, Instant};

use super::config::TcpConfig;
use super::ranges::Ranges;
use crate::packet::{Flags, Sack, Segment};

/// When a segment has to be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ack {
    /// It asks for none.
    None,
    /// With whatever is sent next, or when the delay is over.
    Later,
    /// Immediately.
    Now,
}

/// What a segment brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Bytes that continue the stream, those that had waited for them included.
    pub delivered: u64,
    pub ack: Ack,
}

/// What the receiving half has to say with every segment that goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Announcement {
    /// The number expected next.
    pub ack: u64,
    pub window: u32,
    /// The timestamp to echo.
    pub echo: Instant,
    /// What has come early.
    pub sack: Sack,
}

#[derive(Clone, Debug)]
pub struct Receiver {
    mss: u64,
    buffer: u64,
    window: u64,
    ack_delay: Duration,
    quick_acks: u32,
    /// Next number expected.
    nxt: u64,
    /// Delivered to the buffer and not yet read by the application (bytes).
    unread: u64,
    /// What a read that waits still asks for (bytes).
    asked: u64,
    /// Delivered to that read, past the buffer (bytes).
    direct: u64,
    /// Behind the last number of the window that was advertised. It never moves back.
    edge: u64,
    /// What came early.
    early: Ranges,
    /// A number of what came early last.
    latest: u64,
    /// The other end wants to hear of it.
    selective: bool,
    /// The acknowledgement number sent last.
    acked: u64,
    /// The number of the other end's FIN, once that has come.
    fin: Option<u64>,
    /// The FIN has come in its turn.
    ended: bool,
    /// Timestamp of the segment with the number that was to be acknowledged next.
    echo: Instant,
    /// Acknowledgements that still go out one by one.
    quick: u32,
    /// When an acknowledgement that waits goes out alone.
    deadline: Option<Instant>,
    last_data: Option<Instant>,
    /// Segments with nothing new.
    pub duplicates: u64,
    /// Segments that came early.
    pub out_of_order: u64,
}

impl Receiver {
    pub fn new(config: &TcpConfig) -> Self {
        Receiver {
            mss: u64::from(config.mss),
            buffer: u64::from(config.receive_buffer),
            window: u64::from(config.window.min(config.receive_buffer)),
            ack_delay: config.ack_delay,
            quick_acks: config.quick_acks,
            nxt: 0,
            unread: 0,
            asked: 0,
            direct: 0,
            edge: 0,
            early: Ranges::default(),
            latest: 0,
            selective: false,
            acked: 0,
            fin: None,
            ended: false,
            echo: Instant::ZERO,
            quick: config.quick_acks,
            deadline: None,
            last_data: None,
            duplicates: 0,
            out_of_order: 0,
        }
    }

    /// The other end's SYN has come: data begins at number 1.
    pub fn open(&mut self, sent: Instant) {
        self.nxt = 1;
        self.echo = sent;
        self.edge = 1 + self.window;
    }

    /// Acknowledgements tell from now on what came early.
    pub fn select(&mut self) {
        self.selective = true;
    }

    /// When an acknowledgement that waits goes out alone.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Bytes delivered that no read has returned.
    pub fn unread(&self) -> u64 {
        self.unread + self.direct
    }

    /// The application waits in a read of up to `bytes`, for nothing is there: what comes now goes
    /// straight to it and does not fill the buffer (`ucopy` in Linux's `net/ipv4/tcp_input.c`),
    /// until [`Receiver::read`] returns it.
    ///
    /// # Panics
    /// When there is something to read.
    pub fn wait(&mut self, bytes: u64) {
        assert!(self.unread() == 0, "a read waits when there is nothing");
        self.asked = bytes;
    }

    /// The number that is expected next.
    pub fn expected(&self) -> u64 {
        self.nxt
    }

    /// The connection is over: no acknowledgement waits any more.
    pub fn stop(&mut self) {
        self.deadline = None;
    }

    /// Whether the other end has closed, and everything before has come.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Takes in a segment: its data, and the end of the stream.
    pub fn receive(&mut self, now: Instant, segment: &Segment) -> Received {
        let mut received = self.receive_data(now, segment);
        let ends = segment.flags.contains(Flags::FIN);
        if ends {
            self.fin.get_or_insert(segment.seq + segment.data_numbers());
            received.ack = Ack::Now;
        }
        if self.fin == Some(self.nxt) {
            self.ended = true;
            self.nxt += 1;
            self.edge = self.edge.max(self.nxt);
        }
        received
    }

    fn receive_data(&mut self, now: Instant, segment: &Segment) -> Received {
        // RFC 7323 4.3: of several segments that are acknowledged together, the first one.
        if segment.seq <= self.acked && segment.sent > self.echo {
            self.echo = segment.sent;
        }
        let nothing = |ack| Received { delivered: 0, ack };
        let end = segment.seq + segment.data_numbers();
        let (start, end) = (segment.seq, end.min(self.edge));
        if end <= self.nxt || start >= self.edge {
            if segment.data_numbers() == 0 && start >= self.nxt {
                return nothing(Ack::None);
            }
            // Old data, a SYN that was answered, a probe, or data beyond a closed window: the other
            // end has to hear where things are (RFC 9293 3.10.7.4).
            self.duplicates += u64::from(segment.numbers() > 0);
            self.quick = self.quick_acks;
            return nothing(Ack::Now);
        }
        if segment.len == 0 {
            return nothing(Ack::None);
        }
        if start > self.nxt {
            self.out_of_order += 1;
            self.early.insert(start, end);
            self.latest = start;
            return nothing(Ack::Now);
        }
        let old = self.nxt;
        let gap_open = !self.early.is_empty();
        self.nxt = self.early.pass(end);
        let delivered = self.nxt - old;
        let direct = delivered.min(self.asked);
        self.asked -= direct;
        self.direct += direct;
        self.unread += delivered - direct;
        Received {
            delivered,
            ack: self.when_to_ack(now, gap_open),
        }
    }

    /// In-order data has come (RFC 5681 4.2, RFC 1122 4.2.3.2, `__tcp_ack_snd_check` in Linux's
    /// `net/ipv4/tcp_input.c`). More than a full segment is acknowledged immediately, as long as
    /// the window need not shrink for it: behind an application that does not get to read, Linux
    /// waits until it has.
    fn when_to_ack(&mut self, now: Instant, gap_open: bool) -> Ack {
        self.last_data = Some(now);
        let quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        let shrinks = self.buffer - self.unread < self.edge - self.acked;
        let enough = self.nxt - self.acked > self.mss && !shrinks;
        if gap_open || quick || enough || self.ack_delay.is_zero() {
            return Ack::Now;
        }
        if self.deadline.is_none() {
            self.deadline = Some(now + self.ack_delay);
        }
        Ack::Later
    }

    /// The application reads up to `bytes`, or the read that waits returns with what it has got.
    /// Returns how many there were, and whether the other end should hear of it immediately: when
    /// an acknowledgement of more than a full segment waits, or the window has at least doubled
    /// (`tcp_cleanup_rbuf` in Linux's `net/ipv4/tcp.c`).
    pub fn read(&mut self, bytes: u64) -> (u64, bool) {
        self.asked = 0;
        let mut taken = core::mem::take(&mut self.direct);
        if taken == 0 {
            taken = bytes.min(self.unread);
            self.unread -= taken;
        }
        if taken > 0 && self.deadline.is_some() && self.nxt - self.acked > self.mss {
            return (taken, true);
        }
        let (open, may) = (self.edge - self.nxt, self.offer() - self.nxt);
        (taken, taken > 0 && may > open && may >= 2 * open)
    }

    /// The window's edge that may be advertised now: it moves only by a full segment or half the
    /// buffer (RFC 1122 4.2.3.3).
    fn offer(&self) -> u64 {
        let free = self.nxt + (self.buffer - self.unread).min(self.window);
        let step = self.mss.min(self.window / 2);
        if free >= self.edge + step {
            free
        } else {
            self.edge
        }
    }

    /// Acknowledgement number and window of a segment that goes out now.
    pub fn acknowledge(&mut self) -> Announcement {
        self.edge = self.offer();
        self.acked = self.nxt;
        self.deadline = None;
        // The buffer's size has 32 bits, and no window is larger.
        Announcement {
            ack: self.nxt,
            window: (self.edge - self.nxt) as u32,
            echo: self.echo,
            sack: self.sack(),
        }
    }

    /// The block that came last, then those with the highest numbers, which nearly always were told
    /// last (RFC 2018 section 4).
    fn sack(&self) -> Sack {
        if !self.selective || self.early.is_empty() {
            return Sack::NONE;
        }
        let first = self.early.with(self.latest);
        let others = self.early.backwards().filter(|block| Some(*block) != first);
        Sack::new(self.nxt, first.into_iter().chain(others))
    }

    /// Data goes out at `now`. If that answers what has just come, the connection is a dialogue, in
    /// which acknowledgements travel with answers (Linux's "pingpong").
    pub fn data_sent(&mut self, now: Instant) {
        let answers = |came: Instant| now.saturating_since(came) < self.ack_delay;
        if self.last_data.is_some_and(answers) {
            self.quick = 0;
        }
    }

    /// The timer has fired. Says whether an acknowledgement has to go out.
    pub fn expire(&mut self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MSS: u64 = 1_448;

    fn config() -> TcpConfig {
        TcpConfig {
            receive_buffer: 10 * 1_448,
            window: 10 * 1_448,
            quick_acks: 0,
            ..TcpConfig::default()
        }
    }

    fn open(config: TcpConfig) -> Receiver {
        let mut receiver = Receiver::new(&config);
        receiver.open(Instant::ZERO);
        receiver.acknowledge();
        receiver
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The full segment with index `n`.
    fn nth(n: u64) -> Segment {
        data(1 + n * MSS, MSS as u16)
    }

    fn data(seq: u64, len: u16) -> Segment {
        Segment {
            seq,
            ack: 1,
            window: 0,
            len,
            flags: Flags::ACK,
            sent: Instant::ZERO,
            echo: Instant::ZERO,
            sack: Sack::NONE,
        }
    }

    fn got(delivered: u64, ack: Ack) -> Received {
        Received { delivered, ack }
    }

    #[test]
    fn every_second_full_segment_is_acknowledged() {
        let mut receiver = open(config());
        for n in 0..6 {
            let due = receiver.receive(at(n), &nth(n));
            assert_eq!(
                due,
                got(MSS, Ack::Later),
                "the application has not read: {n}"
            );
            assert_eq!(receiver.deadline(), Some(at(n / 2 * 2 + 40)));
            let second = n % 2 == 1;
            assert_eq!(receiver.read(u64::MAX), (MSS, second));
            if second {
                assert_eq!(receiver.acknowledge().ack, 1 + (n + 1) * MSS);
                assert_eq!(receiver.deadline(), None);
            }
        }
    }

    #[test]
    fn a_burst_is_acknowledged_when_the_application_reads() {
        let mut receiver = open(config());
        for n in 0..5 {
            assert_eq!(receiver.receive(at(0), &nth(n)).ack, Ack::Later, "{n}");
        }
        assert_eq!(receiver.read(u64::MAX), (5 * MSS, true));
        // A window that need not shrink: half of the buffer was full when it was offered last.
        receiver.receive(at(1), &nth(5));
        receiver.receive(at(1), &nth(6));
        receiver.acknowledge();
        receiver.read(u64::MAX);
        let acks = [7, 8].map(|n| receiver.receive(at(2), &nth(n)).ack);
        assert_eq!(acks, [Ack::Later, Ack::Now]);
    }

    #[test]
    fn what_a_read_waits_for_does_not_fill_the_buffer() {
        let mut receiver = open(config());
        receiver.wait(4 * MSS + 100);
        let acks = [0, 1, 2, 3, 4, 5].map(|n| {
            let ack = receiver.receive(at(0), &nth(n)).ack;
            if ack == Ack::Now {
                receiver.acknowledge();
            }
            ack
        });
        let (later, now) = (Ack::Later, Ack::Now);
        assert_eq!(acks, [later, now, later, now, later, later]);
        assert_eq!(receiver.unread(), 6 * MSS);
        // The read returns with what was handed to it, the next one takes the rest.
        assert_eq!(receiver.read(MSS), (4 * MSS + 100, true));
        receiver.acknowledge();
        receiver.receive(at(1), &nth(6));
        assert_eq!(receiver.read(2 * MSS), (2 * MSS, false), "no read waited");
        assert_eq!(receiver.read(u64::MAX), (MSS - 100, false));
    }

    #[test]
    fn a_lone_segment_is_acknowledged_after_40_ms() {
        let mut receiver = open(config());
        receiver.receive(at(0), &data(1, 100));
        receiver.receive(at(10), &data(101, 100));
        assert!(!receiver.expire(at(39)));
        assert!(receiver.expire(at(40)), "40 ms after the first");
    }

    #[test]
    fn the_first_segments_are_acknowledged_one_by_one() {
        let mut receiver = open(TcpConfig {
            quick_acks: 2,
            ..config()
        });
        let acks: Vec<Ack> = (0..4)
            .map(|n| {
                let ack = receiver.receive(at(0), &nth(n)).ack;
                receiver.read(u64::MAX);
                if ack == Ack::Now {
                    receiver.acknowledge();
                }
                ack
            })
            .collect();
        assert_eq!(acks, [Ack::Now, Ack::Now, Ack::Later, Ack::Later]);
    }

    #[test]
    fn answers_carry_acknowledgements() {
        let mut receiver = open(TcpConfig::default());
        assert_eq!(receiver.receive(at(0), &data(1, 10)).ack, Ack::Now);
        receiver.data_sent(at(1));
        assert_eq!(receiver.receive(at(2), &data(11, 10)).ack, Ack::Later);
    }

    #[test]
    fn what_came_early_last_is_told_first() {
        let mut receiver = open(config());
        let blocks = |receiver: &mut Receiver| {
            let told = receiver.acknowledge();
            let segments = told.sack.blocks(told.ack);
            segments
                .map(|(s, e)| (s / MSS, e / MSS))
                .collect::<Vec<_>>()
        };
        for n in [1, 3, 5, 7, 8] {
            receiver.receive(at(n), &nth(n));
        }
        assert_eq!(
            blocks(&mut receiver),
            [],
            "the other end would not understand"
        );
        receiver.select();
        assert_eq!(blocks(&mut receiver), [(7, 9), (5, 6), (3, 4)]);
        receiver.receive(at(9), &nth(2));
        assert_eq!(blocks(&mut receiver), [(1, 4), (7, 9), (5, 6)]);
        receiver.receive(at(10), &nth(0));
        assert_eq!(blocks(&mut receiver), [(7, 9), (5, 6)]);
    }

    #[test]
    fn what_comes_early_waits_and_is_delivered_once() {
        let mut receiver = open(config());
        for n in [4, 2, 1, 2] {
            assert_eq!(receiver.receive(at(0), &nth(n)), got(0, Ack::Now), "{n}");
        }
        assert_eq!(receiver.receive(at(0), &nth(0)), got(3 * MSS, Ack::Now));
        assert_eq!(receiver.receive(at(0), &nth(2)), got(0, Ack::Now));
        assert_eq!(
            receiver.receive(at(0), &nth(3)),
            got(2 * MSS, Ack::Now),
            "fills the gap"
        );
        assert_eq!((receiver.duplicates, receiver.out_of_order), (1, 4));
        assert!(receiver.early.is_empty());
        receiver.acknowledge();
        assert_eq!(
            receiver.receive(at(0), &nth(5)),
            got(MSS, Ack::Later),
            "as before"
        );
    }

    #[test]
    fn overlapping_pieces_count_once() {
        let mut receiver = open(config());
        receiver.receive(at(0), &data(500, 100));
        receiver.receive(at(0), &data(700, 100));
        receiver.receive(at(0), &data(550, 200));
        assert_eq!(receiver.early.backwards().collect::<Vec<_>>(), [(500, 800)]);
        assert_eq!(receiver.receive(at(0), &data(1, 600)).delivered, 799);
        assert_eq!(receiver.receive(at(0), &data(790, 100)).delivered, 90);
    }

    #[test]
    fn the_window_closes_as_the_application_does_not_read() {
        let mut receiver = open(config());
        for n in 0..10 {
            receiver.receive(at(0), &nth(n));
        }
        let told = receiver.acknowledge();
        assert_eq!((told.ack, told.window), (1 + 10 * MSS, 0));
        assert_eq!(
            receiver.receive(at(1), &nth(10)),
            got(0, Ack::Now),
            "beyond"
        );
        // Less than a segment: not worth telling.
        assert_eq!(receiver.read(MSS - 1), (MSS - 1, false));
        assert_eq!(receiver.acknowledge().window, 0);
        assert_eq!(receiver.read(1), (1, true));
        assert_eq!(receiver.acknowledge().window, 1_448);
        assert_eq!(receiver.read(500), (500, false));
        assert_eq!(
            receiver.read(MSS - 500),
            (MSS - 500, true),
            "twice the window"
        );
        assert_eq!(receiver.acknowledge().window, 2 * 1_448);
        assert_eq!(receiver.read(MSS), (MSS, false));
        assert_eq!(receiver.read(u64::MAX), (7 * MSS, true));
        assert_eq!(receiver.read(1), (0, false));
    }

    #[test]
    fn data_beyond_the_window_is_cut_off() {
        let mut receiver = open(TcpConfig {
            receive_buffer: 1_000,
            window: 1_000,
            ..config()
        });
        assert_eq!(receiver.receive(at(0), &nth(0)).delivered, 1_000);
        assert_eq!(receiver.unread(), 1_000);
        receiver.read(600);
        receiver.acknowledge();
        assert_eq!(receiver.receive(at(0), &nth(5)), got(0, Ack::Now));
        assert!(receiver.early.is_empty());
    }

    #[test]
    fn a_probe_is_answered_and_an_acknowledgement_is_not() {
        let mut receiver = open(config());
        receiver.receive(at(0), &nth(0));
        assert_eq!(receiver.receive(at(0), &data(MSS, 0)).ack, Ack::Now);
        assert_eq!(receiver.receive(at(0), &data(1 + MSS, 0)).ack, Ack::None);
        assert_eq!(
            receiver.receive(at(0), &data(1 + 3 * MSS, 0)).ack,
            Ack::None
        );
    }

    #[test]
    fn the_oldest_of_what_is_acknowledged_together_is_echoed() {
        let mut receiver = open(config());
        let sent = |n: u64, ms| Segment {
            sent: at(ms),
            ..nth(n)
        };
        receiver.receive(at(12), &sent(0, 10));
        receiver.receive(at(13), &sent(1, 11));
        assert_eq!(receiver.acknowledge().echo, at(10));
        // Early: it does not tell when what is missing was sent.
        receiver.receive(at(22), &sent(3, 20));
        assert_eq!(receiver.acknowledge().echo, at(10));
        receiver.receive(at(33), &sent(2, 30));
        assert_eq!(receiver.acknowledge().echo, at(30));
        // Old, and sent again.
        receiver.receive(at(43), &sent(0, 40));
        assert_eq!(receiver.acknowledge().echo, at(40));
    }
}
