//! Values of one kind, in bounded memory.

use crate::distribution::Distribution;
use domio_answer::rows;

/// Values that are kept one by one; from more, a histogram is made that is right to 0.1 %.
const EXACT_MAX: usize = 1 << 16;

/// Values of one kind.
#[derive(Clone, Debug, Default)]
pub struct Values(Distribution);

rows! {
    /// How values are spread, in their own unit.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Spread {
        /// How many values.
        pub count: u64 = count("count");
        /// Arithmetic mean.
        pub mean: f64 = fact("mean");
        /// The median.
        pub p50: u64 = fact("p50");
        /// 95 % are below.
        pub p95: u64 = fact("p95");
        /// 99 % are below.
        pub p99: u64 = fact("p99");
        /// The largest.
        pub max: u64 = fact("max");
    }
}

impl Values {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if self.0.add(value) && self.0.stored() >= EXACT_MAX {
            self.0.compress();
        }
    }

    /// How the values are spread; `None` when there are none.
    pub fn spread(&mut self) -> Option<Spread> {
        let q = self.0.quantiles();
        Some(Spread {
            count: q.count,
            mean: q.mean?,
            p50: q.p50?,
            p95: q.p95?,
            p99: q.p99?,
            max: q.max?,
        })
    }

    /// The values at `steps` + 1 equal steps of their cumulative distribution, from the least to
    /// the largest, with straight lines between values; `None` when there are none.
    pub fn curve(&mut self, steps: usize) -> Option<Vec<f64>> {
        self.0.curve(steps)
    }
}
