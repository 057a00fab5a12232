//! The sending half of a connection: what may be sent when, and the retransmission timer.
//!
//! Numbers of the stream, all counting from the SYN:
//!
//! ```text
//!   una          nxt           max            end
//!    |------------|-------------|--------------|
//!      under way    sent before   written, not
//!                   a timeout     sent yet
//! ```
//!
//! After a timeout everything is sent again from `una` as the window opens (go-back-N); what the
//! other end has already is skipped, for its acknowledgements cover it.

use domio_core::{Duration, Instant};

use super::config::TcpConfig;
use super::congestion::{AckProgress, Congestion};
use super::receiver::Announcement;
use super::rto::Rto;
use super::scoreboard::Scoreboard;
use crate::packet::{Flags, Segment};

#[derive(Clone, Debug)]
pub struct Sender {
    mss: u16,
    /// Most full segments of a piece of new data.
    frame: u16,
    nodelay: bool,
    buffer: u64,
    restart_window: u32,
    /// First number that is not acknowledged.
    una: u64,
    /// Next number to send.
    nxt: u64,
    /// Behind the highest number ever sent.
    max: u64,
    /// Behind the last byte that the application wrote.
    end: u64,
    /// The application writes no more: a FIN with the number [`Sender::end`] follows.
    closes: bool,
    /// Behind the last number that the other end's window allows.
    edge: u64,
    /// Sequence number of the segment that `edge` was taken from (RFC 9293's SND.WL1).
    edge_from: u64,
    /// The largest window seen.
    window_max: u64,
    congestion: Congestion,
    /// What arrived before its turn; none unless both ends understand [`crate::packet::Sack`].
    board: Option<Scoreboard>,
    rto: Rto,
    /// When the first segment was sent again after a timeout that may have been needless.
    again_since: Option<Instant>,
    deadline: Option<Instant>,
    /// What the deadline is for: probing a closed window rather than retransmitting.
    probing: bool,
    last_sent: Instant,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub undone: u64,
    pub fast_retransmits: u64,
    pub probes: u64,
}

/// How many segments may overtake one another before one counts as lost (Linux's
/// `tcp_reordering`).
const REORDERING: u64 = 3;

/// How long after the last one a piece may wait to become a larger frame.
const DEFER_MAX: Duration = Duration::from_millis(1);

/// What an acknowledgement did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledged {
    /// Bytes that are acknowledged now and were not before.
    pub fresh: u64,
    /// The first unacknowledged segment has to be sent again.
    pub retransmit: bool,
}

/// A piece of the stream to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub seq: u64,
    pub len: u16,
    /// The stream ends behind it.
    pub fin: bool,
}

/// What to do when the timer has expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expired {
    /// It was put off or stopped.
    Nothing,
    /// Send what [`Sender::next`] gives; before the connection is open, the SYN again.
    Retransmit,
    /// Send this to hear of the window.
    Probe(Piece),
}

impl Sender {
    pub fn new(config: &TcpConfig) -> Self {
        let mut congestion = Congestion::new(config.control, config.initial_window);
        if config.counts_segments {
            congestion.count_segments();
        }
        Sender {
            mss: config.mss,
            frame: config.frame.min(u16::MAX / config.mss),
            nodelay: config.nodelay,
            buffer: u64::from(config.send_buffer),
            restart_window: config.initial_window,
            una: 0,
            nxt: 0,
            max: 0,
            end: 1,
            closes: false,
            edge: 1,
            edge_from: 0,
            window_max: 0,
            congestion,
            board: None,
            rto: Rto::new(config),
            again_since: None,
            deadline: None,
            probing: false,
            last_sent: Instant::ZERO,
            retransmitted: 0,
            timeouts: 0,
            undone: 0,
            fast_retransmits: 0,
            probes: 0,
        }
    }

    /// The other end tells from now on what arrives before its turn.
    pub fn select(&mut self) {
        self.board = Some(Scoreboard::default());
        self.congestion.select();
    }

    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    pub fn rto(&self) -> &Rto {
        &self.rto
    }

    /// When the timer expires.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Sequence number of segments without data.
    pub fn last(&self) -> u64 {
        self.max
    }

    /// Data written and not acknowledged (bytes).
    pub fn buffered(&self) -> u64 {
        self.end.saturating_sub(self.una.max(1))
    }

    /// The application writes no more: a FIN follows what it has written.
    pub fn close(&mut self) {
        self.closes = true;
    }

    /// Whether the other end has acknowledged the FIN.
    pub fn closed(&self) -> bool {
        self.closes && self.una > self.end
    }

    /// The connection is over: nothing is sent any more.
    pub fn stop(&mut self) {
        self.stop_timer();
    }

    /// Room in the buffer (bytes).
    pub fn room(&self) -> u64 {
        self.buffer - self.buffered()
    }

    /// The application writes up to `bytes`; returns for how many there is room.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.room());
        self.end += taken;
        taken
    }

    /// The SYN goes out, again if it did before.
    pub fn syn(&mut self, now: Instant) {
        if self.max == 0 {
            self.last_sent = now;
        } else {
            self.retransmitted += 1;
        }
        (self.nxt, self.max) = (1, 1);
        self.deadline = Some(now + self.rto.current());
    }

    /// The window of a SYN, which acknowledges nothing.
    pub fn first_window(&mut self, window: u32) {
        self.edge = 1 + u64::from(window);
        self.window_max = u64::from(window);
    }

    /// An acknowledgement has come (RFC 5681, RFC 9293 3.10.7.4).
    pub fn acknowledge(&mut self, now: Instant, segment: &Segment) -> Acknowledged {
        let mut told = Acknowledged {
            fresh: 0,
            retransmit: false,
        };
        let ack = segment.ack;
        if ack < self.una || ack > self.max {
            return told;
        }
        let edge = ack + u64::from(segment.window);
        let moved = edge != self.edge;
        let newer = ack > self.una || segment.seq > self.edge_from;
        if newer || (segment.seq == self.edge_from && edge > self.edge) {
            if edge > self.edge && self.probing {
                // The window has opened.
                self.stop_timer();
                self.rto.progress();
            }
            self.edge = edge;
            self.edge_from = segment.seq;
            self.window_max = self.window_max.max(u64::from(segment.window));
        }
        if let Some(board) = &mut self.board {
            board.mark(segment, ack, self.max);
        }
        if ack > self.una {
            // Number 0 is the SYN, and that behind the last byte the FIN.
            told.fresh = ack.min(self.end).saturating_sub(self.una.max(1));
            told.retransmit = self.advance(now, ack, segment.echo);
        } else if self.board.is_none() && !moved && segment.numbers() == 0 && self.nxt > self.una {
            let flight = self.flight();
            if self.congestion.duplicate(self.una, flight, self.max) {
                self.fast_retransmits += 1;
                told.retransmit = true;
            }
        }
        self.find_losses();
        told
    }

    /// Concludes from what has arrived what is lost (`tcp_time_to_recover`, `tcp_update_scoreboard`
    /// in Linux's `net/ipv4/tcp_input.c`).
    fn find_losses(&mut self) {
        let Some(board) = &mut self.board else { return };
        let reordering = REORDERING * u64::from(self.mss);
        let reach = board.reach(self.una);
        if reach > reordering && self.congestion.may_recover(self.una) {
            self.fast_retransmits += 1;
            self.congestion.recover(self.max);
            board.begin(self.una);
        }
        if !self.congestion.in_recovery() {
            board.end();
            return;
        }
        if reach > 0 {
            // The first one at least.
            let lost = reach.saturating_sub(reordering).max(u64::from(self.mss));
            board.lose(self.una + lost);
        }
        let flight = self.flight();
        self.congestion.reduce(flight);
    }

    /// Everything before `ack` has arrived. Says whether to retransmit.
    fn advance(&mut self, now: Instant, ack: u64, echo: Instant) -> bool {
        let before = self.flight();
        let acked = self.segments(ack - self.una);
        let opening = self.una == 0;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        if let Some(board) = &mut self.board {
            board.acknowledged(ack);
        }
        self.rto.progress();
        self.rto.sample(now.since(echo), ack, self.nxt);
        if let Some(again) = self.again_since.take() {
            // What answers something that was sent before proves that the original arrived. The
            // first answer decides (RFC 3522).
            if echo < again {
                self.nxt = self.max;
                self.undone += 1;
                self.congestion.undo(self.flight());
            } else {
                self.congestion.stand();
            }
        }
        let after = self.flight();
        let progress = if opening {
            AckProgress::Normal
        } else {
            self.congestion
                .acknowledged(now, ack, acked, (before, after))
        };
        if self.nxt == self.una {
            self.stop_timer();
        } else {
            self.start_timer(now);
        }
        progress == AckProgress::Partial
    }

    /// The next piece that may go out, which counts as sent.
    pub fn next(&mut self, now: Instant) -> Option<Piece> {
        let flight = self.flight();
        if flight == 0 {
            self.note_idleness(now);
        }
        let room = self.congestion.window().saturating_sub(flight);
        if room == 0 {
            return None;
        }
        if let Some(piece) = self.lost(now) {
            return Some(piece);
        }
        self.skip();
        let numbers = self.sendable(self.most(now, room))?;
        Some(self.emit(now, numbers))
    }

    /// In recovery, the next piece that is lost, which counts as sent again.
    fn lost(&mut self, now: Instant) -> Option<Piece> {
        let board = self
            .board
            .as_mut()
            .filter(|_| self.congestion.in_recovery())?;
        let (seq, end) = board.next_lost()?;
        let numbers = (end - seq).min(u64::from(self.mss));
        board.sent_again(seq + numbers);
        self.retransmitted += 1;
        self.last_sent = now;
        if seq == self.una {
            self.start_timer(now);
        }
        Some(self.piece(seq, numbers))
    }

    /// After a timeout: continues to what the other end does not have.
    fn skip(&mut self) {
        if let Some(board) = self.board.as_ref().filter(|_| self.nxt < self.max) {
            self.nxt = board.gap(self.nxt).0;
        }
    }

    /// Sends the first unacknowledged segment again.
    pub fn retransmit(&mut self, now: Instant) -> Piece {
        let numbers = (self.max - self.una).min(u64::from(self.mss));
        self.retransmitted += 1;
        self.last_sent = now;
        self.start_timer(now);
        self.piece(self.una, numbers)
    }

    /// The piece with `numbers` from `seq` on, one of which may be the FIN's.
    fn piece(&self, seq: u64, numbers: u64) -> Piece {
        let fin = self.closes && seq + numbers > self.end;
        Piece {
            seq,
            len: (numbers - u64::from(fin)) as u16,
            fin,
        }
    }

    /// Call this when everything was sent that may be: a window that keeps the rest back while
    /// nothing is under way has to be probed (RFC 1122 4.2.2.17), for the segment that opens it may
    /// get lost.
    pub fn settle(&mut self, now: Instant) {
        let kept_back = self.una > 0 && self.nxt == self.una && self.end > self.nxt;
        if kept_back && self.deadline.is_none() {
            self.probing = true;
            self.deadline = Some(now + self.rto.current());
        }
    }

    /// The timer has fired.
    pub fn expire(&mut self, now: Instant) -> Expired {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return Expired::Nothing;
        }
        if self.probing {
            return Expired::Probe(self.probe(now));
        }
        let first = self.rto.backoff() == 0;
        self.rto.back_off();
        self.timeouts += 1;
        self.deadline = None;
        if self.una == 0 {
            self.congestion.syn_lost();
        } else {
            self.congestion.timed_out(self.flight(), self.max, first);
            self.nxt = self.una;
            if let Some(board) = &mut self.board {
                board.end();
            }
        }
        Expired::Retransmit
    }

    /// What fits into the window, though it is little; if nothing does, a segment without data and
    /// with an old number, which the other end has to answer (`tcp_xmit_probe_skb` in Linux's
    /// `net/ipv4/tcp_output.c`).
    fn probe(&mut self, now: Instant) -> Piece {
        self.probes += 1;
        self.rto.back_off();
        let room = self.edge.saturating_sub(self.nxt);
        let len = room.min(self.end - self.nxt).min(u64::from(self.mss));
        self.deadline = None;
        if len > 0 {
            self.probing = false;
            return self.emit(now, len);
        }
        self.deadline = Some(now + self.rto.current());
        Piece {
            seq: self.una - 1,
            len: 0,
            fin: false,
        }
    }

    /// Most bytes of the next piece, where the congestion window has room for `room` segments. What
    /// is sent again goes out segment by segment. Less than a frame, with more to come, waits while
    /// both windows have less than a third left and the last piece is not a millisecond old, for
    /// the next acknowledgements open them (`tcp_tso_should_defer` in Linux's
    /// `net/ipv4/tcp_output.c`).
    fn most(&self, now: Instant, room: u32) -> u64 {
        let mss = u64::from(self.mss);
        if self.frame == 1 || self.nxt < self.max {
            return mss;
        }
        let frame = u64::from(self.frame) * mss;
        let room = (u64::from(room) * mss).min(self.edge.saturating_sub(self.nxt));
        let waiting = self.end - self.nxt.min(self.end);
        let third =
            (u64::from(self.congestion.window()) * mss).min(self.edge.saturating_sub(self.una)) / 3;
        let recent = now.saturating_since(self.last_sent) < DEFER_MAX;
        let defers = self.nxt > self.una && recent && !self.congestion.in_recovery();
        if defers && room < frame.min(waiting) && room < third {
            return 0;
        }
        frame.min(room.max(mss))
    }

    /// Numbers of the next piece, of `most` bytes at most, by what was written and by the other
    /// end's window; `None` when it would be empty, or small for no good reason (RFC 1122 4.2.3.4).
    /// A FIN goes with the last byte, or alone where that was sent before, and Nagle does not hold
    /// it back (`tcp_send_fin` in Linux's `net/ipv4/tcp_output.c`). Nagle does hold back what is
    /// left of a frame behind its last full segment (`tcp_mss_split_point`).
    fn sendable(&self, most: u64) -> Option<u64> {
        if self.una == 0 || self.nxt > self.end {
            return None;
        }
        let waiting = self.end - self.nxt;
        if waiting == 0 {
            return self.closes.then_some(1);
        }
        let room = self.edge.saturating_sub(self.nxt);
        let gap = self.board.as_ref().and_then(|board| board.gap(self.nxt).1);
        let missing = gap.map_or(u64::MAX, |end| end - self.nxt);
        let mut len = waiting.min(room).min(missing).min(most);
        let mss = u64::from(self.mss);
        let full = len >= mss;
        // Everything that was written: Nagle lets it go when nothing is under way.
        let all = len == waiting && (self.nodelay || self.closes || self.nxt == self.una);
        let again = self.nxt < self.max;
        let half_window = len < waiting && len * 2 >= self.window_max;
        if full && !all {
            len -= len % mss;
        }
        let fin = u64::from(self.closes && len == waiting);
        (len > 0 && (full || all || again || half_window)).then_some(len + fin)
    }

    fn emit(&mut self, now: Instant, numbers: u64) -> Piece {
        let seq = self.nxt;
        self.nxt += numbers;
        if self.nxt <= self.max || seq < self.max {
            self.retransmitted += 1;
            if self.congestion.may_undo() {
                self.again_since.get_or_insert(now);
            }
        }
        self.max = self.max.max(self.nxt);
        self.last_sent = now;
        if self.deadline.is_none() {
            self.start_timer(now);
        }
        self.piece(seq, numbers)
    }

    /// After a pause the old congestion window means little.
    fn note_idleness(&mut self, now: Instant) {
        let timeout = self.rto.current();
        let idle = now.saturating_since(self.last_sent);
        if self.una > 0 && idle > timeout && self.end > self.nxt {
            let timeouts = (idle.as_nanos() - 1) / timeout.as_nanos().max(1);
            self.congestion.idle(timeouts, self.restart_window);
            self.last_sent = now;
        }
    }

    fn start_timer(&mut self, now: Instant) {
        self.probing = false;
        self.deadline = Some(now + self.rto.current());
    }

    fn stop_timer(&mut self) {
        self.probing = false;
        self.deadline = None;
    }

    /// Segments under way.
    fn flight(&self) -> u32 {
        self.segments(match &self.board {
            None => self.nxt - self.una,
            Some(board) => board.under_way(self.una, self.nxt),
        })
    }

    /// `numbers` in full segments, rounded up.
    fn segments(&self, numbers: u64) -> u32 {
        numbers.div_ceil(u64::from(self.mss)) as u32
    }
}

impl Piece {
    /// The segment of this piece, with what the receiving half has to say.
    pub fn segment(self, now: Instant, told: Announcement) -> Segment {
        Segment {
            seq: self.seq,
            ack: told.ack,
            window: told.window,
            len: self.len,
            flags: match self.fin {
                true => Flags::ACK.with(Flags::FIN),
                false => Flags::ACK,
            },
            sent: now,
            echo: told.echo,
            sack: told.sack,
        }
    }
}

#[cfg(test)]
mod selective;
#[cfg(test)]
mod tests;
