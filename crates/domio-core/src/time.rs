//! Simulated time: unsigned 64-bit nanoseconds.
//!
//! Arithmetic panics on overflow and underflow, in release too: 584 years are enough for any run,
//! so a wrapped time is a bug and must not become a figure.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// A point in time, in nanoseconds since the start of the run (for a recorded trace: since the
/// origin of its clock).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Instant(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Duration(u64);

impl Instant {
    /// Time zero.
    pub const ZERO: Instant = Instant(0);
    /// The end of time; used for "never".
    pub const MAX: Instant = Instant(u64::MAX);

    /// The instant `ns` nanoseconds after time zero.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Instant(ns)
    }

    /// Nanoseconds since time zero.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`.
    ///
    /// # Panics
    /// When `earlier` is later than `self`.
    #[inline]
    #[track_caller]
    pub fn since(self, earlier: Instant) -> Duration {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Duration(ns),
            None => panic!("time ran backwards: {earlier} is after {self}"),
        }
    }

    /// Time since `earlier`, zero when `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// This instant minus `d`, [`Instant::ZERO`] at least.
    #[inline]
    pub const fn saturating_sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }

    /// This instant plus `d`, [`Instant::MAX`] at most.
    #[inline]
    pub const fn saturating_add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// The longest duration; used for "no limit".
    pub const MAX: Duration = Duration(u64::MAX);

    /// `ns` nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Duration(ns)
    }

    /// `us` microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Self {
        Duration(us * 1_000)
    }

    /// `ms` milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms * 1_000_000)
    }

    /// `s` seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Duration(s * 1_000_000_000)
    }

    /// Length in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whether the length is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The least multiple of `step` that is not shorter; the same duration when `step` is zero, and
    /// the longest there is where no multiple fits.
    #[inline]
    pub const fn next_multiple_of(self, step: Duration) -> Duration {
        if step.is_zero() {
            return self;
        }
        match self.0.checked_next_multiple_of(step.0) {
            Some(ns) => Duration(ns),
            None => Duration::MAX,
        }
    }

    /// `self + other`, [`Duration::MAX`] at most.
    #[inline]
    pub const fn saturating_add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }

    /// `self - other`, zero when `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    #[track_caller]
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.checked_add(d.0).expect("instant out of range"))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    #[track_caller]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    #[inline]
    #[track_caller]
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.checked_sub(d.0).expect("instant before time zero"))
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    #[track_caller]
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.checked_add(d.0).expect("duration out of range"))
    }
}

impl AddAssign for Duration {
    #[inline]
    #[track_caller]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    #[track_caller]
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0.checked_sub(d.0).expect("negative duration"))
    }
}

impl SubAssign for Duration {
    #[inline]
    #[track_caller]
    fn sub_assign(&mut self, d: Duration) {
        *self = *self - d;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    #[track_caller]
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.checked_mul(n).expect("duration out of range"))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl Rem<Duration> for Duration {
    type Output = Duration;
    #[inline]
    fn rem(self, d: Duration) -> Duration {
        Duration(self.0 % d.0)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

impl fmt::Display for Duration {
    /// The largest unit that keeps at least one digit before the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name, digits) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (1_000, "us", 3),
            1_000_000..1_000_000_000 => (1_000_000, "ms", 6),
            _ => (1_000_000_000, "s", 9),
        };
        let fraction = self.0 % unit;
        if fraction == 0 {
            write!(f, "{} {name}", self.0 / unit)
        } else {
            write!(f, "{}.{fraction:0digits$} {name}", self.0 / unit)
        }
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn durations_print_in_the_unit_a_reader_expects() {
        assert_eq!(Duration::from_nanos(999).to_string(), "999 ns");
        assert_eq!(Duration::from_micros(1).to_string(), "1 us");
        assert_eq!(Duration::from_nanos(30_000_898).to_string(), "30.000898 ms");
        assert_eq!(Duration::from_secs(2).to_string(), "2 s");
        assert_eq!(
            Instant::from_nanos(1_500_000_000).to_string(),
            "1.500000000 s"
        );
    }

    #[test]
    #[should_panic(expected = "time ran backwards")]
    fn time_never_runs_backwards_silently() {
        let _ = Instant::ZERO.since(Instant::from_nanos(1));
    }

    #[test]
    #[should_panic(expected = "instant out of range")]
    fn overflow_is_caught_in_every_build() {
        let _ = Instant::MAX + Duration::from_nanos(1);
    }
}
