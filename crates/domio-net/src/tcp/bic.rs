//! BIC: how the window grows after a loss, the default of Linux from 2.6.8 to 2.6.18.
//!
//! Xu, Harfoush and Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks",
//! INFOCOM 2004, as Linux 2.6.18 has it (`net/ipv4/tcp_bic.c`). A loss takes a fifth of the window
//! away. Then it grows by a quarter of what is missing to where the loss was in each round trip,
//! slowly near there, and faster again beyond. It counts segments where others count
//! acknowledgements: one that covers many makes the window grow as often as many would.

use domio_core::{Duration, Instant};

/// What BIC remembers of the connection. Windows are in full segments.
#[derive(Clone, Debug)]
pub struct Bic {
    /// Where the window was at the last loss, or a bit below if it had not got to where the one
    /// before was; 0 when there was none since the last timeout.
    last_max: u32,
    /// There was a loss.
    lost: bool,
    /// Acknowledgements after which the window grows by one.
    step: u32,
    /// For which window the step was found, and when.
    found: Option<(u32, Instant)>,
    /// Segments that an acknowledgement covers, sliding mean, in sixteenths.
    covered: u32,
}

/// Up to this window it does as Reno does.
const LOW_WINDOW: u32 = 14;
/// Most that the window grows in a round trip.
const MAX_INCREMENT: u32 = 16;
/// What is left of the window after a loss: 819 of 1024, which is four fifths.
const BETA: (u32, u32) = (819, 1024);
/// A quarter of the way at a time.
const B: u32 = 4;
/// Round trips that it takes to grow by [`B`] where the loss was.
const SMOOTH_PART: u32 = 20;
/// Before any loss the window grows by a twentieth in a round trip at least.
const STEP_MAX_UNTIL_LOSS: u32 = 20;
/// A step holds for so long if the window stays the same.
const STEP_LASTS: Duration = Duration::from_micros(31_250);
/// Binary digits of [`Bic::covered`] behind the point.
const RATIO_SHIFT: u32 = 4;

impl Bic {
    /// Slow start threshold of a new connection.
    pub const THRESHOLD: u32 = 100;

    pub fn new() -> Self {
        Bic {
            last_max: 0,
            lost: false,
            step: 0,
            found: None,
            covered: 2 << RATIO_SHIFT,
        }
    }

    /// An acknowledgement of `segments`, while nothing is lost.
    pub fn acknowledged(&mut self, segments: u32) {
        if segments > 0 {
            self.covered += segments;
            self.covered -= (self.covered - segments) >> RATIO_SHIFT;
        }
    }

    /// Acknowledgements after which a window of `window`, in congestion avoidance, grows by one.
    pub fn step(&mut self, now: Instant, window: u32) -> u32 {
        let holds = |(of, since): (u32, Instant)| of == window && now.since(since) <= STEP_LASTS;
        if !self.found.is_some_and(holds) {
            self.found = Some((window, now));
            self.step = self.find_step(window);
        }
        self.step
    }

    fn find_step(&self, window: u32) -> u32 {
        if window <= LOW_WINDOW {
            return window;
        }
        let slowly = window * SMOOTH_PART / B;
        let fastest = window / MAX_INCREMENT;
        let step = if let Some(missing @ 1..) = self.last_max.checked_sub(window) {
            match missing / B {
                0 | 1 => slowly,
                quarter @ 2..=MAX_INCREMENT => window / quarter,
                _ => fastest,
            }
        } else {
            match window - self.last_max {
                0..B => slowly,
                beyond if beyond < MAX_INCREMENT * (B - 1) => window * (B - 1) / beyond,
                _ => fastest,
            }
        };
        let most = if self.lost {
            u32::MAX
        } else {
            STEP_MAX_UNTIL_LOSS
        };
        ((step.min(most) << RATIO_SHIFT) / self.covered).max(1)
    }

    /// A loss with a window of `window`. Returns what is left of it.
    pub fn lose(&mut self, window: u32) -> u32 {
        let (kept, whole) = BETA;
        // Who does not get back to where it was makes room for others.
        self.last_max = if window < self.last_max {
            window * (whole + kept) / (2 * whole)
        } else {
            window
        };
        self.lost = true;
        if window <= LOW_WINDOW {
            window / 2
        } else {
            window * kept / whole
        }
    }

    /// A timeout: begins anew, but knows that something was lost.
    pub fn timed_out(&mut self) {
        let lost = self.lost;
        *self = Bic { lost, ..Bic::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// One that lost something with a window of `window`, and gets an acknowledgement for each
    /// segment.
    fn lost_at(window: u32) -> Bic {
        let mut bic = Bic::new();
        bic.lose(window);
        bic.covered = 1 << RATIO_SHIFT;
        bic
    }

    /// The step for `window`, found afresh.
    fn step(bic: &Bic, window: u32) -> u32 {
        bic.clone().step(Instant::ZERO, window)
    }

    #[test]
    fn a_loss_takes_a_fifth() {
        assert_eq!(Bic::new().lose(100), 79, "819 of 1024");
        assert_eq!(Bic::new().lose(14), 7, "little windows are halved");
    }

    #[test]
    fn it_goes_a_quarter_of_the_way_in_a_round_trip() {
        let bic = lost_at(100);
        assert_eq!(step(&bic, 80), 80 / 5);
        assert_eq!(step(&bic, 60), 60 / 10);
        assert_eq!(step(&bic, 96), 96 * 5, "slowly where the loss was");
        assert_eq!(step(&bic, 100), 100 * 5);
        assert_eq!(step(&bic, 103), 103 * 5);
        assert_eq!(step(&bic, 104), 104 * 3 / 4, "faster beyond");
        assert_eq!(step(&bic, 112), 112 * 3 / 12);
        assert_eq!(step(&bic, 148), 148 / 16, "and at most sixteen");
        assert_eq!(step(&lost_at(200), 100), 100 / 16);
        assert_eq!(step(&bic, 14), 14, "as Reno");
    }

    #[test]
    fn before_any_loss_it_grows_by_a_twentieth() {
        let mut bic = Bic::new();
        assert_eq!(step(&bic, 100), 100 / 16 / 2, "two segments each");
        bic.last_max = 100;
        assert_eq!(step(&bic, 100), 10);
    }

    #[test]
    fn an_acknowledgement_of_many_segments_counts_for_many() {
        let mut bic = lost_at(100);
        for _ in 0..200 {
            bic.acknowledged(20);
        }
        assert_eq!(bic.covered >> RATIO_SHIFT, 20);
        assert_eq!(step(&bic, 100), 500 / 20);
        assert_eq!(step(&bic, 80), 1, "never less than one");
        // Rounded down, the mean of ones stops short of two.
        for _ in 0..200 {
            bic.acknowledged(1);
        }
        assert_eq!(bic.covered, 31);
    }

    #[test]
    fn who_does_not_get_back_makes_room() {
        let mut bic = lost_at(100);
        bic.lose(90);
        assert_eq!(bic.last_max, 80);
        bic.lose(95);
        assert_eq!(bic.last_max, 95);
    }

    #[test]
    fn a_step_holds_for_a_while() {
        let mut bic = lost_at(100);
        assert_eq!(bic.step(at(0), 80), 16);
        bic.last_max = 120;
        assert_eq!(bic.step(at(31), 80), 16);
        assert_eq!(bic.step(at(32), 80), 8);
        assert_eq!(bic.step(at(32), 81), 9, "another window, another step");
    }

    #[test]
    fn a_timeout_forgets_where_the_loss_was() {
        let mut bic = lost_at(100);
        bic.timed_out();
        assert_eq!(bic.last_max, 0);
        assert_eq!(step(&bic, 20), 20 * 3 / 20 / 2);
        assert_eq!(step(&bic, 100), 100 / 16 / 2);
    }
}
