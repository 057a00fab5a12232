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
    pub fn constants(self) -> Option<(u64, u64)> {
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
    pub fn curve(self, cylinders: u64) -> Vec<u32> {
        let constants = self.constants();
        let (root, line) = constants.expect("seek times have a curve");
        // (d − 1) / N with 48 bits behind the point, whose root has 24 of them; and the line.
        let mut part = Steps::of(1 << 48, cylinders);
        let mut lined = Steps::of(line, cylinders);
        let mut rooted: u64 = 0;
        let mut curve = Vec::with_capacity(cylinders as usize);
        curve.push(0);
        for _ in 1..cylinders {
            rooted = root_from(part.whole, rooted);
            let bent = (u128::from(root) * u128::from(rooted)) >> 24;
            let sum = bent + u128::from(lined.whole);
            curve.push(self.next.as_nanos() as u32 + (sum / 3) as u32);
            part.go_on();
            lined.go_on();
        }
        curve
    }
}

/// The multiples of a fraction, rounded down, one after the other.
struct Steps {
    whole: u64,
    rest: u64,
    step: (u64, u64),
    divisor: u64,
}

impl Steps {
    /// From zero on, in steps of `numerator / divisor`.
    fn of(numerator: u64, divisor: u64) -> Self {
        Steps {
            whole: 0,
            rest: 0,
            step: (numerator / divisor, numerator % divisor),
            divisor,
        }
    }

    fn go_on(&mut self) {
        self.whole += self.step.0;
        self.rest += self.step.1;
        if self.rest >= self.divisor {
            self.rest -= self.divisor;
            self.whole += 1;
        }
    }
}

/// The root of `value`, rounded down; `near` is that of a smaller value not far off.
fn root_from(value: u64, near: u64) -> u64 {
    if near == 0 {
        return value.isqrt();
    }
    // Newton's step from either side ends above the root or on it.
    let mut root = (near + value / near) / 2;
    while root * root > value {
        root = (root + value / root) / 2;
    }
    root
}
