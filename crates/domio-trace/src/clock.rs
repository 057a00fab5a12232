//! Time stamp counter to nanoseconds and back.

use crate::TraceErrorKind;

/// Frequency assumed when neither the file nor the reader's caller tells one: 1 GHz, so that one
/// count is one nanosecond.
///
/// A xentrace file holds no frequency. `xenalyze` assumes 2.4 GHz; a wrong guess scales every
/// figure either way, and with 1 GHz the figures are at least the file's own numbers.
pub const DEFAULT_TSC_HZ: u64 = 1_000_000_000;

/// Highest frequency accepted, so that the conversion cannot overflow.
pub const TSC_HZ_MAX: u64 = 18_000_000_000;

const NANOS: u64 = 1_000_000_000;

/// Converts time stamp counts of one frequency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TscClock {
    hz: u64,
}

impl TscClock {
    /// A clock of `hz` counts a second.
    ///
    /// # Errors
    /// [`TraceErrorKind::Option`] unless 1 <= `hz` <= [`TSC_HZ_MAX`].
    pub fn new(hz: u64) -> Result<Self, TraceErrorKind> {
        if (1..=TSC_HZ_MAX).contains(&hz) {
            Ok(TscClock { hz })
        } else {
            Err(TraceErrorKind::Option(format!(
                "a time stamp counter of {hz} Hz: expected 1 to {TSC_HZ_MAX}"
            )))
        }
    }

    /// Counts a second.
    pub fn hz(self) -> u64 {
        self.hz
    }

    /// Nanoseconds of `tsc` counts, rounded down, [`u64::MAX`] at most.
    #[inline]
    pub fn nanos(self, tsc: u64) -> u64 {
        scale(tsc, self.hz, NANOS)
    }

    /// Counts of `nanos` nanoseconds, rounded down, [`u64::MAX`] at most.
    #[inline]
    pub fn counts(self, nanos: u64) -> u64 {
        scale(nanos, NANOS, self.hz)
    }

    /// The first count after `tsc` that is also a later nanosecond, [`u64::MAX`] at most.
    #[inline]
    pub(crate) fn after(self, tsc: u64) -> u64 {
        let nanos = self.nanos(tsc);
        let next = self
            .counts(nanos.saturating_add(1))
            .max(tsc.saturating_add(1));
        // Rounded down twice it may be the same nanosecond still; one more count never is.
        next.saturating_add(u64::from(self.nanos(next) <= nanos))
    }
}

/// `value * to / from` without 128-bit division: whole seconds and the rest apart. The rest is
/// below `from` <= 18e9, times `to` <= 18e9 with one of the two being 1e9, so at most 18e18 < 2^64.
#[inline]
fn scale(value: u64, from: u64, to: u64) -> u64 {
    if from == to {
        return value;
    }
    let seconds = (value / from).saturating_mul(to);
    seconds.saturating_add(value % from * to / from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_gigahertz_is_the_identity() {
        let clock = TscClock::new(NANOS).unwrap();
        assert_eq!(clock.nanos(u64::MAX), u64::MAX);
    }

    #[test]
    fn other_frequencies_agree_with_wide_arithmetic() {
        for hz in [1, 3, 1_000_000, 2_400_000_000, 2_793_652_000, TSC_HZ_MAX] {
            let clock = TscClock::new(hz).unwrap();
            for tsc in [0, 1, hz - 1, hz, 12_345_678_901_234, u64::MAX / 2, u64::MAX] {
                let wide = u128::from(tsc) * u128::from(NANOS) / u128::from(hz);
                assert_eq!(clock.nanos(tsc), u64::try_from(wide).unwrap_or(u64::MAX));
            }
        }
    }

    #[test]
    fn the_count_after_is_the_first_of_a_later_nanosecond() {
        for hz in [
            1,
            3,
            999_999_999,
            NANOS,
            2_400_000_000,
            2_793_652_000,
            TSC_HZ_MAX,
        ] {
            let clock = TscClock::new(hz).unwrap();
            for tsc in (0..100).chain(hz..hz + 100) {
                let after = clock.after(tsc);
                assert!(
                    after > tsc && clock.nanos(after) > clock.nanos(tsc),
                    "{hz} {tsc}"
                );
                let before = clock.nanos(after - 1);
                assert!(
                    before <= clock.nanos(tsc),
                    "{hz} {tsc}: {after} is not the first"
                );
            }
            assert_eq!(clock.after(u64::MAX), u64::MAX);
        }
    }

    #[test]
    fn absurd_frequencies_are_refused() {
        assert!(TscClock::new(0).is_err());
        assert!(TscClock::new(TSC_HZ_MAX + 1).is_err());
    }
}
