//! Samples of a length of time, exact as long as there is room.

use domio_answer::rows;
use hdrhistogram::Histogram;

/// Digits that a histogram keeps: quantiles are then right to 0.1 %.
const DIGITS: u8 = 3;

/// Longest sample that a histogram takes, 36 years; longer ones count as that long.
const HISTOGRAM_MAX: u64 = 1 << 60;

/// Samples in nanoseconds: every one of them, or a histogram.
#[derive(Clone, Debug)]
pub(crate) enum Distribution {
    /// All samples; those above `u32::MAX` ns (4.3 s) apart, since nearly all are shorter.
    Exact { short: Vec<u32>, long: Vec<u64> },
    /// Counts by size, right to 0.1 %.
    Histogram(Histogram<u64>),
}

rows! {
    /// Quantiles of a distribution, in the unit of the samples, which is nanoseconds for lengths of
    /// time; `None` when there is no sample.
    ///
    /// The quantile `q` of `n` samples is the sample number floor(q n), counted from 0, in
    /// ascending order.
    #[derive(Clone, Copy, PartialEq, Debug, Default)]
    pub struct Quantiles {
        /// Number of samples.
        pub count: u64 = count("count");
        /// 5 % of the samples are below.
        pub p5: Option<u64> = fact("p5");
        /// The median.
        pub p50: Option<u64> = fact("p50");
        /// 95 % of the samples are below.
        pub p95: Option<u64> = fact("p95");
        /// 99 % of the samples are below.
        pub p99: Option<u64> = fact("p99");
        /// The largest sample.
        pub max: Option<u64> = max("max", "");
        /// Arithmetic mean.
        pub mean: Option<f64> = fact("mean");
        /// Standard deviation of the samples themselves: the square root of the mean square
        /// distance from the mean.
        pub sd: Option<f64> = fact("sd");
        /// Whether the quantiles are samples themselves; otherwise they are right to 0.1 %.
        pub exact: bool = all("exact");
    }
}

impl Quantiles {
    /// The value below which so many percent of the samples are; `None` where that is not kept.
    pub fn percent(&self, percent: u8) -> Option<u64> {
        match percent {
            5 => self.p5,
            50 => self.p50,
            95 => self.p95,
            99 => self.p99,
            _ => None,
        }
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution::Exact {
            short: Vec::new(),
            long: Vec::new(),
        }
    }
}

impl Distribution {
    /// Adds a sample; returns whether it takes memory of its own.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) -> bool {
        match self {
            Distribution::Exact { short, long } => {
                match u32::try_from(ns) {
                    Ok(ns) => short.push(ns),
                    Err(_) => long.push(ns),
                }
                true
            }
            Distribution::Histogram(h) => {
                count(h, ns);
                false
            }
        }
    }

    /// Samples that take memory of their own.
    pub(crate) fn stored(&self) -> usize {
        match self {
            Distribution::Exact { short, long } => short.len() + long.len(),
            Distribution::Histogram(_) => 0,
        }
    }

    /// Gives up the samples for a histogram.
    pub(crate) fn compress(&mut self) {
        if let Distribution::Exact { short, long } = self {
            let mut h = Histogram::new(DIGITS).expect("3 digits are legal");
            for ns in short.iter().map(|&ns| u64::from(ns)).chain(long.drain(..)) {
                count(&mut h, ns);
            }
            *self = Distribution::Histogram(h);
        }
    }

    /// Adds all samples of `other`; exact only if both are.
    pub(crate) fn merge(&mut self, other: &Distribution) {
        if matches!(other, Distribution::Histogram(_)) {
            self.compress();
        }
        match (self, other) {
            (
                Distribution::Exact { short, long },
                Distribution::Exact {
                    short: other_short,
                    long: other_long,
                },
            ) => {
                short.extend_from_slice(other_short);
                long.extend_from_slice(other_long);
            }
            (Distribution::Histogram(h), Distribution::Histogram(other)) => {
                h.add(other).expect("histograms resize themselves");
            }
            (Distribution::Histogram(h), Distribution::Exact { short, long }) => {
                for ns in short
                    .iter()
                    .map(|&ns| u64::from(ns))
                    .chain(long.iter().copied())
                {
                    count(h, ns);
                }
            }
            (Distribution::Exact { .. }, Distribution::Histogram(_)) => {
                unreachable!("compressed above")
            }
        }
    }

    /// The values at `steps` + 1 equal steps of the cumulative distribution, from the least to the
    /// largest, with straight lines between samples; `None` when there is no sample.
    pub(crate) fn curve(&mut self, steps: usize) -> Option<Vec<f64>> {
        let share = |i: usize| i as f64 / steps.max(1) as f64;
        match self {
            Distribution::Exact { short, long } => {
                short.sort_unstable();
                long.sort_unstable();
                let last = (short.len() + long.len()).checked_sub(1)?;
                let nth = |i: usize| match short.get(i) {
                    Some(&ns) => f64::from(ns),
                    None => long[i - short.len()] as f64,
                };
                let at = |i| {
                    let place = share(i) * last as f64;
                    let below = place.floor();
                    let (from, to) = (nth(below as usize), nth((below as usize + 1).min(last)));
                    from + (to - from) * (place - below)
                };
                Some((0..=steps).map(at).collect())
            }
            Distribution::Histogram(h) if h.is_empty() => None,
            Distribution::Histogram(h) => {
                let at = |i| h.value_at_quantile(share(i)) as f64;
                Some((0..=steps).map(at).collect())
            }
        }
    }

    pub(crate) fn quantiles(&mut self) -> Quantiles {
        match self {
            Distribution::Exact { short, long } => {
                short.sort_unstable();
                long.sort_unstable();
                let count = short.len() + long.len();
                let nth = |i: usize| match short.get(i) {
                    Some(&ns) => Some(u64::from(ns)),
                    None => long.get(i - short.len()).copied(),
                };
                let at = |percent: usize| nth(percent * count / 100);
                let sum: u128 = short.iter().map(|&ns| u128::from(ns)).sum::<u128>()
                    + long.iter().map(|&ns| u128::from(ns)).sum::<u128>();
                let mean = sum as f64 / count as f64;
                let square = |ns: f64| (ns - mean) * (ns - mean);
                let squares = short.iter().map(|&ns| square(f64::from(ns))).sum::<f64>()
                    + long.iter().map(|&ns| square(ns as f64)).sum::<f64>();
                Quantiles {
                    count: count as u64,
                    exact: true,
                    mean: (count > 0).then_some(mean),
                    sd: (count > 0).then(|| (squares / count as f64).sqrt()),
                    p5: at(5),
                    p50: at(50),
                    p95: at(95),
                    p99: at(99),
                    max: count.checked_sub(1).and_then(nth),
                }
            }
            Distribution::Histogram(h) => {
                let count = h.len();
                // The histogram counts from 1: its quantile r / n is the r-th sample.
                let at = |percent: u64| {
                    let rank = (u128::from(percent) * u128::from(count) / 100) as u64 + 1;
                    (count > 0).then(|| h.value_at_quantile(rank as f64 / count as f64))
                };
                Quantiles {
                    count,
                    exact: false,
                    mean: (count > 0).then(|| h.mean()),
                    sd: (count > 0).then(|| h.stdev()),
                    p5: at(5),
                    p50: at(50),
                    p95: at(95),
                    p99: at(99),
                    max: (count > 0).then(|| h.max()),
                }
            }
        }
    }
}

fn count(histogram: &mut Histogram<u64>, ns: u64) {
    histogram
        .record(ns.min(HISTOGRAM_MAX))
        .expect("the histogram resizes itself");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = u64>) -> Distribution {
        let mut d = Distribution::default();
        for s in samples {
            d.add(s);
        }
        d
    }

    #[test]
    fn quantiles_are_samples_by_rank() {
        let q = of((1..=100).rev().map(|ms| ms * 1_000_000_000)).quantiles();
        assert_eq!(q.p5, Some(6_000_000_000));
        assert_eq!(q.p50, Some(51_000_000_000));
        assert_eq!(q.p99, Some(100_000_000_000));
        assert_eq!(q.max, q.p99);
        assert_eq!(q.mean, Some(50_500_000_000.0));
        // The variance of 1 to n is (n^2 - 1) / 12.
        let sd = q.sd.unwrap() / 1e9;
        assert!((sd - (9_999.0_f64 / 12.0).sqrt()).abs() < 1e-9, "{sd}");
        assert_eq!(of([]).quantiles().sd, None);
        assert_eq!(of([7]).quantiles().sd, Some(0.0));
        assert_eq!(of([]).quantiles().p50, None);
        assert_eq!(of([7]).quantiles().p99, Some(7));
    }

    #[test]
    fn a_histogram_is_right_to_a_thousandth() {
        let samples = || (0..10_000u64).map(|i| (i * i * 977) % 70_000_000_000);
        let exact = of(samples()).quantiles();
        let mut d = of(samples());
        d.compress();
        assert_eq!(d.stored(), 0);
        let rough = d.quantiles();
        assert!(!rough.exact);
        assert_eq!(rough.count, exact.count);
        for (a, b) in [
            (exact.p5, rough.p5),
            (exact.p50, rough.p50),
            (exact.p95, rough.p95),
            (exact.p99, rough.p99),
            (exact.max, rough.max),
        ] {
            let (a, b) = (a.unwrap() as f64, b.unwrap() as f64);
            assert!((a - b).abs() <= a * 0.001 + 1.0, "{a} {b}");
        }
        let (a, b) = (exact.sd.unwrap(), rough.sd.unwrap());
        assert!((a - b).abs() <= a * 0.001, "{a} {b}");
    }

    #[test]
    fn merging_pools_samples_in_every_combination() {
        let rough = |d: Distribution| {
            let mut d = d;
            d.compress();
            d
        };
        for (mut a, b) in [
            (of([1, 2, 3]), of([4, 5_000_000_000])),
            (rough(of([1, 2, 3])), of([4, 5_000_000_000])),
            (of([1, 2, 3]), rough(of([4, 5_000_000_000]))),
            (rough(of([1, 2, 3])), rough(of([4, 5_000_000_000]))),
        ] {
            a.merge(&b);
            let q = a.quantiles();
            assert_eq!((q.count, q.p50), (5, Some(3)));
            assert!(q.max >= Some(5_000_000_000));
        }
    }
}
