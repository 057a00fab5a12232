//! One end of a connection: opening it, and who does what when something happens.

use domio_core::{Duration, Instant};

use super::config::{Actions, TcpConfig, Timer};
use super::receiver::{Ack, Receiver};
use super::sender::{Expired, Piece, Sender};
use crate::packet::{Flags, Sack, Segment};

/// How far a connection is open (RFC 9293 3.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It does nothing.
    Closed,
    /// It waits for a SYN.
    Listening,
    /// Its SYN is out.
    SynSent,
    /// It has answered a SYN.
    SynReceived,
    /// Data may flow, one way at least.
    Established,
    /// Both ends have closed, and this one knows (RFC 9293's TIME-WAIT or CLOSED).
    Finished,
    /// One end has reset the connection.
    Reset,
}

/// What one end has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TcpStatistics {
    /// Segments sent, all kinds.
    pub segments_sent: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Among those sent: with data, or SYN, that had been sent before.
    pub retransmitted: u64,
    /// Among those sent: without data, only to acknowledge.
    pub acks_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts that were found to have been needless.
    pub undone: u64,
    /// Losses found by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// Probes of a closed window.
    pub probes: u64,
    /// Bytes of the stream that the other end has acknowledged.
    pub acknowledged: u64,
    /// Bytes of the stream handed to the application.
    pub delivered: u64,
    /// Segments received that brought nothing new.
    pub duplicates: u64,
    /// Segments received before their turn.
    pub out_of_order: u64,
}

/// One end of a connection.
///
/// `now` must never go back from one call to the next.
#[derive(Clone, Debug)]
pub struct Connection {
    state: State,
    sender: Sender,
    receiver: Receiver,
    /// This end tells, or wants to hear, what arrives before its turn.
    selective: bool,
    /// The timers as the owner knows them.
    armed: [Option<Instant>; 2],
    segments_sent: u64,
    segments_received: u64,
    acks_sent: u64,
    acknowledged: u64,
    delivered: u64,
}

impl Connection {
    /// An end that does nothing yet: [`connect`](Self::connect) it or let it
    /// [`listen`](Self::listen).
    ///
    /// # Panics
    /// When a setting is below its least value.
    #[track_caller]
    pub fn new(config: &TcpConfig) -> Self {
        assert!(
            config.mss > 0
                && config.frame > 0
                && config.initial_window > 0
                && config.send_buffer > 0
                && config.receive_buffer > 0
                && config.window > 0,
            "mss, frame, initial window and buffers of a connection are at least 1: {config:?}"
        );
        Connection {
            state: State::Closed,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            selective: config.selective,
            armed: [None; 2],
            segments_sent: 0,
            segments_received: 0,
            acks_sent: 0,
            acknowledged: 0,
            delivered: 0,
        }
    }

    /// Opens the connection: sends a SYN.
    ///
    /// # Panics
    /// When it is not [`State::Closed`].
    #[track_caller]
    pub fn connect(&mut self, now: Instant, out: &mut impl Actions) {
        self.assert_closed();
        self.state = State::SynSent;
        self.send_syn(now, out);
        self.sync(out);
    }

    /// Waits for the other end to open the connection.
    ///
    /// # Panics
    /// When it is not [`State::Closed`].
    #[track_caller]
    pub fn listen(&mut self) {
        self.assert_closed();
        self.state = State::Listening;
    }

    /// A segment of the other end has arrived.
    pub fn segment(&mut self, now: Instant, segment: &Segment, out: &mut impl Actions) {
        self.segments_received += 1;
        let (syn, ack) = (
            segment.flags.contains(Flags::SYN),
            segment.flags.contains(Flags::ACK),
        );
        if segment.flags.contains(Flags::RST) {
            if !matches!(self.state, State::Closed | State::Listening) {
                self.end(State::Reset);
            }
            return self.sync(out);
        }
        match self.state {
            State::Closed | State::Reset => {}
            // The other end has not heard the last acknowledgement.
            State::Finished => {
                if segment.numbers() > 0 {
                    self.send_ack(now, out);
                }
            }
            State::Listening => {
                if syn && !ack {
                    self.receiver.open(segment.sent);
                    self.sender.first_window(segment.window);
                    self.agree(segment);
                    self.state = State::SynReceived;
                    self.send_syn(now, out);
                }
            }
            State::SynSent => {
                if syn && ack && segment.ack == 1 {
                    self.receiver.open(segment.sent);
                    self.agree(segment);
                    self.establish(out);
                    self.process(now, segment, Ack::Now, out);
                }
            }
            State::SynReceived => {
                if syn {
                    // The other end has not seen our answer.
                    self.send_syn(now, out);
                } else if ack && segment.ack >= 1 {
                    self.establish(out);
                    self.process(now, segment, Ack::None, out);
                }
            }
            State::Established => self.process(now, segment, Ack::None, out),
        }
        self.sync(out);
    }

    /// A timer that was armed has fired.
    pub fn timer(&mut self, now: Instant, timer: Timer, out: &mut impl Actions) {
        self.armed[timer as usize] = None;
        match timer {
            Timer::DelayedAck => {
                if self.receiver.expire(now) {
                    self.send_ack(now, out);
                }
            }
            Timer::Retransmit => match self.sender.expire(now) {
                Expired::Nothing => {}
                Expired::Retransmit if self.state == State::Established => {
                    self.transmit(now, out);
                }
                Expired::Retransmit => self.send_syn(now, out),
                Expired::Probe(piece) => self.send_piece(now, piece, out),
            },
        }
        self.sync(out);
    }

    /// The application writes `bytes`. Returns how many the send buffer had room for; when that is
    /// fewer, try again after [`Actions::freed`]. It may write before the connection is open.
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut impl Actions) -> u64 {
        let taken = self.sender.write(bytes);
        if self.state == State::Established {
            self.transmit(now, out);
            self.sync(out);
        }
        taken
    }

    /// The application reads `bytes`. Returns how many there were.
    pub fn read(&mut self, now: Instant, bytes: u64, out: &mut impl Actions) -> u64 {
        let (taken, tell) = self.receiver.read(bytes);
        if tell {
            self.send_ack(now, out);
            self.sync(out);
        }
        taken
    }

    /// The application waits in a read of up to `bytes`: what comes goes straight to it, until the
    /// next call of [`read`](Self::read) returns it.
    ///
    /// # Panics
    /// When there is something to read.
    pub fn wait(&mut self, bytes: u64) {
        self.receiver.wait(bytes);
    }

    /// The application writes no more: a FIN goes out behind what it has written, immediately or
    /// when the connection is open. Once the other end has closed as well, the connection is
    /// [`State::Finished`].
    pub fn close(&mut self, now: Instant, out: &mut impl Actions) {
        if matches!(self.state, State::Finished | State::Reset) {
            return;
        }
        self.sender.close();
        if self.state == State::Established {
            self.transmit(now, out);
            self.sync(out);
        }
    }

    /// Gives the connection up: the other end hears of that by a segment with RST, unless it cannot
    /// know of the connection.
    pub fn abort(&mut self, now: Instant, out: &mut impl Actions) {
        if matches!(self.state, State::Established | State::SynReceived) {
            let told = self.receiver.acknowledge();
            let piece = Piece {
                seq: self.sender.last(),
                len: 0,
                fin: false,
            };
            self.segments_sent += 1;
            let mut segment = piece.segment(now, told);
            segment.flags = segment.flags.with(Flags::RST);
            out.send(segment);
        }
        self.end(State::Reset);
        self.sync(out);
    }

    /// Whether the other end has closed and everything that it wrote was read.
    #[inline]
    pub fn at_end(&self) -> bool {
        self.receiver.unread() == 0
            && (self.receiver.ended() || matches!(self.state, State::Finished | State::Reset))
    }

    /// Whether `segment` has bytes that have not come before.
    #[inline]
    pub fn is_news(&self, segment: &Segment) -> bool {
        segment.len > 0 && segment.seq + segment.data_numbers() > self.receiver.expected()
    }

    /// The connection is over without a word to the other end, which has begun another one.
    pub fn forget(&mut self, out: &mut impl Actions) {
        self.end(State::Reset);
        self.sync(out);
    }

    /// How often the SYN was sent again, or its answer: a connection that is not open has sent
    /// nothing else.
    #[inline]
    pub fn syn_retries(&self) -> u64 {
        self.sender.retransmitted
    }

    /// Room in the send buffer (bytes).
    #[inline]
    pub fn room(&self) -> u64 {
        self.sender.room()
    }

    /// How far the connection is open.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes that the application may read.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.receiver.unread()
    }

    /// Bytes that the application has written and the other end not acknowledged.
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.sender.buffered()
    }

    /// Congestion window (full segments).
    #[inline]
    pub fn congestion_window(&self) -> u32 {
        self.sender.congestion().steady_window()
    }

    /// Slow start threshold in full segments; `None` before the first loss.
    pub fn slow_start_threshold(&self) -> Option<u32> {
        let threshold = self.sender.congestion().threshold();
        (threshold != u32::MAX).then_some(threshold)
    }

    /// Smoothed round-trip time; `None` before it was measured.
    #[inline]
    pub fn round_trip(&self) -> Option<Duration> {
        self.sender.rto().srtt()
    }

    /// What this end has done so far.
    pub fn statistics(&self) -> TcpStatistics {
        TcpStatistics {
            segments_sent: self.segments_sent,
            segments_received: self.segments_received,
            retransmitted: self.sender.retransmitted,
            acks_sent: self.acks_sent,
            timeouts: self.sender.timeouts,
            undone: self.sender.undone,
            fast_retransmits: self.sender.fast_retransmits,
            probes: self.sender.probes,
            acknowledged: self.acknowledged,
            delivered: self.delivered,
            duplicates: self.receiver.duplicates,
            out_of_order: self.receiver.out_of_order,
        }
    }

    #[track_caller]
    fn assert_closed(&self) {
        assert!(
            self.state == State::Closed,
            "a connection is opened once; this one is {:?}",
            self.state
        );
    }

    /// What both ends understand is used (RFC 2018 section 2).
    fn agree(&mut self, syn: &Segment) {
        self.selective &= syn.flags.contains(Flags::SACK_PERMITTED);
        if self.selective {
            self.sender.select();
            self.receiver.select();
        }
    }

    fn establish(&mut self, out: &mut impl Actions) {
        self.state = State::Established;
        out.opened();
    }

    /// Acknowledgement, data, what may be sent now, and an acknowledgement of `at_least` this
    /// urgency.
    fn process(&mut self, now: Instant, segment: &Segment, at_least: Ack, out: &mut impl Actions) {
        let told = self.sender.acknowledge(now, segment);
        if told.fresh > 0 {
            self.acknowledged += told.fresh;
            out.freed(told.fresh);
        }
        let opens = segment.flags.contains(Flags::SYN) && at_least == Ack::Now;
        let mut ack = at_least;
        if !opens {
            let received = self.receiver.receive(now, segment);
            ack = ack.max(received.ack);
            if received.delivered > 0 {
                self.delivered += received.delivered;
                out.deliver(received.delivered);
            }
        }
        if told.retransmit {
            let piece = self.sender.retransmit(now);
            self.send_piece(now, piece, out);
        }
        let sent = self.transmit(now, out);
        if ack == Ack::Now && !(sent || told.retransmit) {
            self.send_ack(now, out);
        }
        if self.sender.closed() && self.receiver.ended() {
            self.end(State::Finished);
        }
    }

    /// The connection is over, in `state`: no timer runs any more.
    fn end(&mut self, state: State) {
        self.state = state;
        self.sender.stop();
        self.receiver.stop();
    }

    /// Sends what may be sent. Says whether anything was.
    fn transmit(&mut self, now: Instant, out: &mut impl Actions) -> bool {
        let mut sent = false;
        while let Some(piece) = self.sender.next(now) {
            self.send_piece(now, piece, out);
            sent = true;
        }
        self.sender.settle(now);
        sent
    }

    fn send_piece(&mut self, now: Instant, piece: Piece, out: &mut impl Actions) {
        if piece.len > 0 {
            self.receiver.data_sent(now);
        }
        let told = self.receiver.acknowledge();
        self.segments_sent += 1;
        out.send(piece.segment(now, told));
    }

    fn send_ack(&mut self, now: Instant, out: &mut impl Actions) {
        let told = self.receiver.acknowledge();
        let piece = Piece {
            seq: self.sender.last(),
            len: 0,
            fin: false,
        };
        self.segments_sent += 1;
        self.acks_sent += 1;
        out.send(piece.segment(now, told));
    }

    /// Sends the SYN, with an acknowledgement if the other end's has come.
    fn send_syn(&mut self, now: Instant, out: &mut impl Actions) {
        self.sender.syn(now);
        let told = self.receiver.acknowledge();
        let answers = self.state == State::SynReceived;
        let flags = if self.selective {
            Flags::SYN.with(Flags::SACK_PERMITTED)
        } else {
            Flags::SYN
        };
        self.segments_sent += 1;
        out.send(Segment {
            seq: 0,
            ack: told.ack,
            window: told.window,
            len: 0,
            flags: if answers {
                flags.with(Flags::ACK)
            } else {
                flags
            },
            sent: now,
            echo: told.echo,
            sack: Sack::NONE,
        });
    }

    /// Tells the owner of timers that have changed.
    fn sync(&mut self, out: &mut impl Actions) {
        let wanted = [
            (Timer::Retransmit, self.sender.deadline()),
            (Timer::DelayedAck, self.receiver.deadline()),
        ];
        for (timer, deadline) in wanted {
            let armed = &mut self.armed[timer as usize];
            if *armed == deadline {
                continue;
            }
            *armed = deadline;
            match deadline {
                Some(at) => out.arm(timer, at),
                None => out.disarm(timer),
            }
        }
    }
}
