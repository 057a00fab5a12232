//! The congestion window: slow start, congestion avoidance, fast retransmit and fast recovery.
//!
//! RFC 5681 with NewReno (RFC 6582) and limited transmit (RFC 3042), or with the growth of
//! [BIC](super::bic). As in Linux the window counts full segments, and grows for each
//! acknowledgement rather than for the bytes in it (`tcp_reno_cong_avoid` in `net/ipv4/tcp_cong.c`
//! with `tcp_abc` 0, the default of 2008); so delayed acknowledgements halve the growth. In fast
//! recovery every acknowledgement of something new restarts the retransmission timer (the
//! "slow-but-steady" variant of RFC 6582 4), so that a window with many losses recovers one of them
//! in each round trip. With [selective acknowledgements](super::scoreboard) it recovers all in one.

use domio_core::Instant;

use super::bic::Bic;

/// How a congestion window grows, and how much a loss takes away.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Control {
    /// RFC 5681: by a segment in each round trip, and by half.
    #[default]
    Reno,
    /// BIC, the default of Linux from 2.6.8 to 2.6.18: fast to where the last loss was, slowly
    /// there, and by a fifth.
    Bic,
}

/// Sends of one connection, as far as congestion limits them. All windows are in full segments.
#[derive(Clone, Debug)]
pub struct Congestion {
    window: u32,
    /// Slow start ends when the window has reached this.
    threshold: u32,
    /// Acknowledgements since the window last grew, in congestion avoidance.
    counted: u32,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    phase: Phase,
    /// What had been sent when the last loss was found: the number behind it (RFC 6582's
    /// `recover`).
    recover: u64,
    /// After a timeout, until what was sent before it is acknowledged: the threshold to go back to
    /// should nothing have been lost.
    undo: Option<u32>,
    /// None for Reno.
    bic: Option<Bic>,
    /// The other end says what it has: see [`Congestion::select`].
    selective: bool,
    /// See [`Congestion::count_segments`].
    counts_segments: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Slow start or congestion avoidance.
    Open,
    /// Fast recovery.
    Recovery,
}

/// What an acknowledgement of something new asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckProgress {
    /// To continue.
    Normal,
    /// In fast recovery, to retransmit the first unacknowledged segment: another one of the same
    /// window was lost.
    Partial,
}

/// Duplicate acknowledgements that mean a loss (RFC 5681 3.2).
const DUPLICATES: u32 = 3;
/// Segments beyond the window for the first duplicate acknowledgements (RFC 3042).
const LIMITED_TRANSMIT: u32 = 2;
/// Segments that may follow immediately when a window is restored (Linux: `tcp_max_burst`).
const BURST_MAX: u32 = 3;
/// Least slow start threshold (RFC 5681 equation 4).
const THRESHOLD_MIN: u32 = 2;

impl Congestion {
    pub fn new(control: Control, initial_window: u32) -> Self {
        let (bic, threshold) = match control {
            Control::Reno => (None, u32::MAX),
            Control::Bic => (Some(Bic::new()), Bic::THRESHOLD),
        };
        Congestion {
            window: initial_window,
            threshold,
            counted: 0,
            duplicates: 0,
            phase: Phase::Open,
            recover: 0,
            undo: None,
            bic,
            selective: false,
            counts_segments: false,
        }
    }

    /// An acknowledgement of several segments counts as often from now on, where it would count
    /// once (`tcp_slow_start`, `tcp_cong_avoid_ai` in Linux since 3.18). More than half of the
    /// window under way counts as filling the window (`tcp_is_cwnd_limited`): who sends in large
    /// frames leaves some of it.
    pub fn count_segments(&mut self) {
        self.counts_segments = true;
    }

    /// What is lost is known from now on, and need not be concluded from duplicate
    /// acknowledgements: no limited transmit, no inflation, and recovery reduces the window by and
    /// by ([`Congestion::reduce`]).
    pub fn select(&mut self) {
        self.selective = true;
    }

    /// How many segments may be under way.
    #[inline]
    pub fn window(&self) -> u32 {
        match self.phase {
            Phase::Open => self.window + self.duplicates.min(LIMITED_TRANSMIT),
            Phase::Recovery => self.window,
        }
    }

    /// The window without what duplicate acknowledgements add for a moment.
    #[inline]
    pub fn steady_window(&self) -> u32 {
        match self.phase {
            Phase::Open => self.window,
            Phase::Recovery => self.window.min(self.threshold),
        }
    }

    /// Slow start threshold; `u32::MAX` before the first loss.
    #[inline]
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    #[inline]
    pub fn in_recovery(&self) -> bool {
        self.phase != Phase::Open
    }

    /// At `now` comes an acknowledgement of `acked` segments that leaves `una` as first
    /// unacknowledged number. `before` and `after` segments were under way.
    pub fn acknowledged(
        &mut self,
        now: Instant,
        una: u64,
        acked: u32,
        (before, after): (u32, u32),
    ) -> AckProgress {
        self.duplicates = 0;
        if una >= self.recover {
            self.undo = None;
        }
        if !self.in_recovery() {
            if let Some(bic) = self.bic.as_mut().filter(|_| una > self.recover) {
                bic.acknowledged(acked);
            }
            // A window that the sender does not fill says nothing of the path (RFC 2861).
            let filled = match self.counts_segments {
                true => before.saturating_mul(2) > self.window,
                false => before >= self.window,
            };
            if filled {
                self.grow_by(now, acked);
            }
            return AckProgress::Normal;
        }
        if una >= self.recover {
            self.phase = Phase::Open;
            self.counted = 0;
            if self.selective {
                self.window = self.window.min(self.threshold);
                return AckProgress::Normal;
            }
            // No burst when little is under way (RFC 6582 3.2 step 3, full acknowledgement, 1).
            self.window = self.threshold.min(after.max(1) + 1);
            return AckProgress::Normal;
        }
        if self.selective {
            return AckProgress::Normal;
        }
        self.window = self.window.saturating_sub(acked).max(1) + 1;
        AckProgress::Partial
    }

    /// Whether a loss that is found with everything before `una` acknowledged is a new one: not
    /// before all is acknowledged that was sent when the last one was.
    #[inline]
    pub fn may_recover(&self, una: u64) -> bool {
        !self.in_recovery() && una >= self.recover
    }

    /// Something that was sent is lost, with everything up to `sent` sent.
    pub fn recover(&mut self, sent: u64) {
        self.lose(self.window, sent);
        self.phase = Phase::Recovery;
    }

    /// An acknowledgement has come in recovery, and `flight` segments are under way: the window
    /// shrinks by one for each second one, and allows no burst (rate halving, `tcp_cwnd_down` in
    /// Linux's `net/ipv4/tcp_input.c`).
    pub fn reduce(&mut self, flight: u32) {
        let least = match self.bic {
            None => self.threshold / 2,
            Some(_) => self.threshold,
        };
        self.counted += 1;
        if self.counted == 2 {
            self.counted = 0;
            if self.window > least {
                self.window -= 1;
            }
        }
        self.window = self.window.min(flight + 1);
    }

    /// A duplicate acknowledgement of `una`, with `flight` segments under way and everything up to
    /// `sent` sent. Says whether to retransmit the first unacknowledged segment.
    pub fn duplicate(&mut self, una: u64, flight: u32, sent: u64) -> bool {
        if self.in_recovery() {
            // A segment has left the path.
            self.window = self.window.saturating_add(1);
            return false;
        }
        self.duplicates += 1;
        // Duplicates of what was sent before the last loss may come from needless retransmissions.
        if self.duplicates != DUPLICATES || una <= self.recover {
            return false;
        }
        self.lose(flight, sent);
        self.phase = Phase::Recovery;
        self.window = self.threshold + DUPLICATES;
        true
    }

    /// The retransmission timer has expired, for the `first` time since something was acknowledged,
    /// with `flight` segments under way and everything up to `sent` sent.
    pub fn timed_out(&mut self, flight: u32, sent: u64, first: bool) {
        // As Linux (`tcp_enter_loss`): a loss that recovery deals with already has halved it.
        if first && !self.in_recovery() {
            self.undo = Some(self.threshold.max(self.borne()));
            self.lose(flight, sent);
            if let Some(bic) = &mut self.bic {
                bic.timed_out();
            }
        }
        self.recover = sent;
        self.phase = Phase::Open;
        self.duplicates = 0;
        self.counted = 0;
        self.window = 1;
    }

    /// Whether a timeout may still turn out to have been needless.
    #[inline]
    pub fn may_undo(&self) -> bool {
        self.undo.is_some()
    }

    /// The timeout was needless: what it waited for had arrived, and `flight` segments are under
    /// way (RFC 4015 without its care for later timeouts; `tcp_try_undo_loss`, `tcp_undo_cwr` and
    /// `tcp_moderate_cwnd` in Linux's `net/ipv4/tcp_input.c`).
    pub fn undo(&mut self, flight: u32) {
        if let Some(threshold) = self.undo.take() {
            // BIC has forgotten with the timeout what the window was (`bictcp_undo_cwnd`).
            let before = match self.bic {
                None => self.threshold.saturating_mul(2),
                Some(_) => 0,
            };
            self.window = self.window.max(before).min(flight + BURST_MAX);
            self.threshold = self.threshold.max(threshold);
            self.counted = 0;
            self.recover = 0;
        }
    }

    /// The timeout was needed.
    pub fn stand(&mut self) {
        self.undo = None;
    }

    /// What the path bore: three quarters of the window.
    fn borne(&self) -> u32 {
        self.window / 2 + self.window / 4
    }

    /// The SYN was lost: begin with one segment (RFC 5681 3.1).
    pub fn syn_lost(&mut self) {
        self.window = 1;
    }

    /// Nothing was sent for `timeouts` retransmission timeouts: the window halves for each, down to
    /// `restart` (RFC 2861, `tcp_cwnd_restart` in `net/ipv4/tcp_output.c`).
    pub fn idle(&mut self, timeouts: u64, restart: u32) {
        let restart = restart.min(self.window);
        self.threshold = self.threshold.max(self.borne());
        self.window = (self.window >> timeouts.min(31)).max(restart);
        self.counted = 0;
    }

    /// The window grows for an acknowledgement of `acked` segments. BIC has its own way to count
    /// them in congestion avoidance.
    fn grow_by(&mut self, now: Instant, acked: u32) {
        self.grow(now);
        if self.counts_segments {
            let mut more = 1..acked;
            while (self.window < self.threshold || self.bic.is_none()) && more.next().is_some() {
                self.grow(now);
            }
        }
    }

    fn grow(&mut self, now: Instant) {
        if self.window < self.threshold {
            self.window = self.window.saturating_add(1);
            return;
        }
        let step = match &mut self.bic {
            None => self.window,
            // Linux counts one more here than the step.
            Some(bic) => bic.step(now, self.window) + 1,
        };
        self.counted += 1;
        if self.counted >= step {
            self.counted = 0;
            self.window = self.window.saturating_add(1);
        }
    }

    /// Halves what is under way, without what limited transmit added to it (RFC 5681 3.2), or does
    /// as BIC does.
    fn lose(&mut self, flight: u32, sent: u64) {
        let left = match &mut self.bic {
            None => flight.min(self.window) / 2,
            Some(bic) => bic.lose(self.window),
        };
        self.threshold = left.max(THRESHOLD_MIN);
        self.recover = sent;
        self.duplicates = 0;
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A window of `window`, in congestion avoidance, with nothing lost before number 1.
    fn avoiding(window: u32) -> Congestion {
        let mut congestion = Congestion::new(Control::Reno, window);
        congestion.threshold = window;
        congestion
    }

    #[test]
    fn slow_start_adds_one_for_each_acknowledgement() {
        let mut congestion = Congestion::new(Control::Reno, 3);
        for n in 1..=10 {
            let window = congestion.window();
            congestion.acknowledged(Instant::ZERO, n, 1, (window, window - 1));
        }
        assert_eq!(congestion.window(), 13);
    }

    #[test]
    fn avoidance_adds_one_for_each_window() {
        let mut congestion = avoiding(10);
        for n in 0..10 + 11 {
            congestion.acknowledged(Instant::ZERO, n, 2, (congestion.window(), 0));
        }
        assert_eq!(congestion.window(), 12);
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow() {
        let mut congestion = Congestion::new(Control::Reno, 10);
        congestion.acknowledged(Instant::ZERO, 2, 1, (9, 8));
        assert_eq!(congestion.window(), 10);
        congestion.acknowledged(Instant::ZERO, 3, 1, (10, 9));
        assert_eq!(congestion.window(), 11);
    }

    #[test]
    fn three_duplicates_halve_the_window() {
        let mut congestion = avoiding(20);
        assert!(!congestion.duplicate(5, 20, 100));
        assert_eq!(congestion.window(), 21, "limited transmit");
        assert!(!congestion.duplicate(5, 21, 101));
        assert_eq!(congestion.window(), 22);
        assert!(congestion.duplicate(5, 22, 102), "the third");
        assert_eq!((congestion.threshold(), congestion.window()), (10, 13));
        assert!(!congestion.duplicate(5, 22, 102));
        assert_eq!(congestion.window(), 14, "inflated by each further one");
        // Everything that was under way is acknowledged.
        assert_eq!(
            congestion.acknowledged(Instant::ZERO, 102, 22, (22, 15)),
            AckProgress::Normal
        );
        assert_eq!((congestion.window(), congestion.in_recovery()), (10, false));
    }

    #[test]
    fn recovery_with_selective_acknowledgements_halves_by_and_by() {
        let mut congestion = avoiding(20);
        congestion.select();
        congestion.recover(100);
        assert_eq!((congestion.window(), congestion.threshold()), (20, 10));
        for _ in 0..8 {
            congestion.reduce(30);
        }
        assert_eq!(congestion.window(), 16, "one for each second");
        congestion.reduce(8);
        assert_eq!(congestion.window(), 9, "no burst");
        for _ in 0..20 {
            congestion.reduce(30);
        }
        assert_eq!(congestion.window(), 5, "half the threshold at least");
        let told = congestion.acknowledged(Instant::ZERO, 50, 4, (20, 16));
        assert_eq!(
            (told, congestion.in_recovery()),
            (AckProgress::Normal, true)
        );
        congestion.window = 12;
        congestion.acknowledged(Instant::ZERO, 100, 4, (20, 16));
        assert_eq!((congestion.window(), congestion.in_recovery()), (10, false));
    }

    #[test]
    fn bic_keeps_what_it_has_reduced_to() {
        let mut congestion = Congestion::new(Control::Bic, 40);
        congestion.select();
        congestion.recover(100);
        for _ in 0..100 {
            congestion.reduce(60);
        }
        assert_eq!((congestion.window(), congestion.threshold()), (31, 31));
    }

    #[test]
    fn what_a_timeout_sends_again_starts_no_recovery() {
        let mut congestion = avoiding(20);
        congestion.select();
        congestion.timed_out(20, 100, true);
        assert!(!congestion.may_recover(99));
        assert!(congestion.may_recover(100));
        congestion.recover(120);
        assert!(!congestion.may_recover(120), "there is one");
    }

    #[test]
    fn a_full_acknowledgement_with_little_under_way_allows_no_burst() {
        let mut congestion = avoiding(20);
        for _ in 0..3 {
            congestion.duplicate(5, 20, 102);
        }
        congestion.acknowledged(Instant::ZERO, 102, 20, (20, 0));
        assert_eq!(congestion.window(), 2);
    }

    #[test]
    fn a_partial_acknowledgement_retransmits_and_deflates() {
        let mut congestion = avoiding(20);
        for _ in 0..3 + 7 {
            congestion.duplicate(5, 20, 102);
        }
        assert_eq!(congestion.window(), 20);
        let told = congestion.acknowledged(Instant::ZERO, 50, 4, (20, 16));
        assert_eq!((told, congestion.window()), (AckProgress::Partial, 17));
        let told = congestion.acknowledged(Instant::ZERO, 60, 1, (16, 15));
        assert_eq!((told, congestion.window()), (AckProgress::Partial, 17));
        assert!(congestion.in_recovery());
    }

    #[test]
    fn duplicates_of_an_old_loss_do_not_start_another_recovery() {
        let mut congestion = avoiding(20);
        congestion.timed_out(20, 100, true);
        assert_eq!((congestion.threshold(), congestion.window()), (10, 1));
        for _ in 0..5 {
            assert!(!congestion.duplicate(100, 3, 103));
        }
        congestion.acknowledged(Instant::ZERO, 101, 1, (3, 2));
        let third: Vec<bool> = (0..3).map(|_| congestion.duplicate(101, 3, 104)).collect();
        assert_eq!(third, [false, false, true]);
    }

    #[test]
    fn repeated_timeouts_halve_once() {
        let mut congestion = avoiding(20);
        congestion.timed_out(20, 100, true);
        congestion.timed_out(1, 100, false);
        assert_eq!((congestion.threshold(), congestion.window()), (10, 1));
    }

    #[test]
    fn the_threshold_is_at_least_two() {
        let mut congestion = avoiding(2);
        congestion.timed_out(1, 100, true);
        assert_eq!(congestion.threshold(), 2);
    }

    #[test]
    fn idleness_halves_the_window_for_each_timeout() {
        let mut congestion = avoiding(40);
        congestion.idle(2, 3);
        assert_eq!((congestion.window(), congestion.threshold()), (10, 40));
        congestion.idle(9, 3);
        assert_eq!(congestion.window(), 3);
        congestion.window = 2;
        congestion.idle(1, 3);
        assert_eq!(congestion.window(), 2, "never grows by idling");
    }

    #[test]
    fn what_is_undone_leaves_no_trace() {
        let mut congestion = avoiding(20);
        congestion.timed_out(20, 100, true);
        congestion.timed_out(20, 100, false);
        assert!(congestion.may_undo());
        congestion.undo(18);
        assert_eq!((congestion.threshold(), congestion.window()), (20, 20));
        assert!(!congestion.may_undo());
        // A loss in what was under way is found.
        let third: Vec<bool> = (0..3).map(|_| congestion.duplicate(50, 18, 100)).collect();
        assert_eq!(third, [false, false, true]);
    }

    #[test]
    fn a_window_that_is_restored_allows_no_burst() {
        let mut congestion = avoiding(20);
        congestion.timed_out(20, 100, true);
        congestion.undo(5);
        assert_eq!(congestion.window(), 8);
    }

    #[test]
    fn once_everything_is_acknowledged_nothing_is_undone() {
        let mut congestion = avoiding(20);
        congestion.timed_out(20, 100, true);
        congestion.acknowledged(Instant::ZERO, 99, 1, (2, 1));
        assert!(congestion.may_undo());
        congestion.acknowledged(Instant::ZERO, 100, 1, (2, 1));
        assert!(!congestion.may_undo());
    }
}
