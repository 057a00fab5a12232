//! Lee's curve of seek times: from the seek to the next cylinder, the mean seek and the longest
//! one to the time of each distance (`mech_g1` of DiskSim 4.0).
//!
//! With N cylinders, and times in ms: `t(d) = c + a·√(d − 1) + b·(d − 1)`, where
//! `a = (−10·min + 15·mean − 5·max) / (3·√N)`, `b = (7·min − 15·mean + 8·max) / (3·N)`, `c = min`.

use alloc::vec::Vec;
use domio_core::Duration;

/// The three times that a curve follows from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeekTimes {
    /// To the next cylinder.
    pub next: Duration,
    /// The mean over pairs of cylinders.
    pub mean: Duration,
    /// Over the whole disk.
    pub full: Duration,
}

impl SeekTimes {
    /// Three times a·√N and 3·b·N of the curve, in ns; `None` when one of them would be negative,
    /// so that longer seeks could take less time.
    pub(super) fn constants(self) -> Option<(u64, u64)> {
        let ns = |time: Duration| i128::from(time.as_nanos());
        let (next, mean, full) = (ns(self.next), ns(self.mean), ns(self.full));
        let root = u64::try_from(15 * mean - 10 * next - 5 * full);
        let line = u64::try_from(7 * next + 8 * full - 15 * mean);
        root.ok().zip(line.ok())
    }

    /// The time (ns) of each distance from 0 to one less than `cylinders`.
    ///
    /// # Panics
    /// When there are no [`SeekTimes::constants`].
    pub(super) fn curve(self, cylinders: u64) -> Vec<u32> {
        let constants = self.constants();
        let (root, line) = constants.expect("seek times have a curve");
        let cylinders_wide = u128::from(cylinders);
        let time = |distance: u64| {
            let Some(beyond) = distance.checked_sub(1) else {
                return 0;
            };
            // √((d − 1) / N) with 24 bits behind the point.
            let part = (u128::from(beyond) << 48) / cylinders_wide;
            let rooted = (u128::from(root) * (part as u64).isqrt() as u128) >> 24;
            let lined = u128::from(line) * u128::from(beyond) / cylinders_wide;
            self.next.as_nanos() as u32 + ((rooted + lined) / 3) as u32
        };
        (0..cylinders).map(time).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(next: u64, mean: u64, full: u64) -> SeekTimes {
        SeekTimes {
            next: Duration::from_micros(next),
            mean: Duration::from_micros(mean),
            full: Duration::from_micros(full),
        }
    }

    /// Picoseconds of the curve with the constants that the profiles' sources give: a in 10 ps a
    /// root of a cylinder, b in 0.1 ps a cylinder.
    fn expected(a: u64, b: u64, distance: u64) -> u64 {
        let root = (distance - 1) * 1_000_000_000_000;
        800_000_000 + a * 10_000 * root.isqrt() / 1_000_000 + b * (distance - 1) / 10
    }

    #[test]
    fn curves_have_the_constants_of_both_profiles() {
        let hitachi = (times(800, 8200, 14_700).curve(106_410), 4241, 6265);
        let generic = (times(800, 8500, 18_000).curve(179_100), 2324, 411_300);
        for (curve, a, b) in [hitachi, generic] {
            for distance in [1, 2, 10, 100, 1000, 10_000, 50_000, 106_409] {
                let picoseconds = u64::from(curve[distance as usize]) * 1000;
                let lee = expected(a, b, distance);
                assert!(
                    picoseconds.abs_diff(lee) * 2000 < lee,
                    "{distance}: {picoseconds} {lee}"
                );
            }
        }
    }

    #[test]
    fn a_longer_seek_never_takes_less_time() {
        let curve = times(800, 8500, 18_000).curve(179_100);
        assert_eq!(curve[0], 0);
        assert!(curve.windows(2).all(|pair| pair[0] <= pair[1]));
        let last = curve[179_099].abs_diff(18_000_000);
        assert!(last < 1000, "the whole disk takes {last} ns more or less");
    }

    #[test]
    fn times_without_a_curve_are_refused() {
        assert_eq!(times(800, 5000, 18_000).constants(), None);
        assert_eq!(times(800, 12_000, 14_000).constants(), None);
    }
}
