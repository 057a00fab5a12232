//! Samples of a length of time, exact as long as there is room.

use domio_answer::rows;
use hdrhistogram::Histogram;

/// Digits that a histogram keeps: quantiles are then right to 0.1 %.
const DIGITS: u8 = 3;

/// Longest sample that a histogram takes, 36 years; longer ones count as that long.
const HISTOGRAM_MAX: u64 = 1 << 60;

/// Samples from which a list is looked at: whether so many of them are alike that their numbers
/// take less memory.
const COUNTED_FROM: usize = 1 << 16;

/// Samples in nanoseconds: every one of them, or a histogram.
#[derive(Clone, Debug)]
pub(crate) enum Distribution {
    /// All samples.
    Exact(Samples),
    /// Counts by size, right to 0.1 %.
    Histogram(Histogram<u64>),
}

/// Every sample. Texts have microseconds, so that their samples are few values, many times each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Those up to `u32::MAX` ns (4.3 s), which are nearly all.
    short: Vec<u32>,
    long: Vec<u64>,
    /// Others up to `u32::MAX`, in ascending order, and how often each is there.
    counted: Vec<(u32, u32)>,
}

impl Samples {
    #[inline]
    fn add(&mut self, ns: u64) {
        match u32::try_from(ns) {
            Ok(ns) => {
                if self.short.len() == self.short.capacity() {
                    self.grow();
                }
                self.short.push(ns);
            }
            Err(_) => self.long.push(ns),
        }
    }

    /// The list of short ones is full: counts them, if that takes no more than half of the memory.
    #[cold]
    fn grow(&mut self) {
        if self.short.len() >= COUNTED_FROM {
            self.short.sort_unstable();
            let counted = counted(&self.counted, alike(&self.short));
            // A value and its number are as large as two samples.
            let new = counted.len() - self.counted.len();
            if 4 * new <= self.short.len() {
                self.counted = counted;
                self.short.clear();
            }
        }
    }

    /// Makes the list one in ascending order: those that are counted alone, or none of them.
    fn sort(&mut self) {
        self.short.sort_unstable();
        if !self.counted.is_empty() {
            self.counted = counted(&self.counted, alike(&self.short));
            self.short.clear();
        }
        self.long.sort_unstable();
    }

    /// Values and how often each is there; in ascending order after [`Samples::sort`].
    fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        let counted = self.counted.iter();
        let counted = counted.map(|(ns, times)| (u64::from(*ns), u64::from(*times)));
        let short = self.short.iter().map(|ns| (u64::from(*ns), 1));
        counted
            .chain(short)
            .chain(self.long.iter().map(|ns| (*ns, 1)))
    }

    fn len(&self) -> usize {
        let counted = self.counted.iter().map(|(_, times)| *times as usize);
        counted.sum::<usize>() + self.short.len() + self.long.len()
    }

    /// The sample with this number in ascending order, after [`Samples::sort`].
    fn nth(&self, i: usize) -> Option<u64> {
        if self.counted.is_empty() {
            return match self.short.get(i) {
                Some(&ns) => Some(u64::from(ns)),
                None => self.long.get(i - self.short.len()).copied(),
            };
        }
        let mut left = i as u64;
        let mut values = self.values();
        values.find_map(|(ns, times)| {
            let is_it = left < times;
            left = left.saturating_sub(times);
            is_it.then_some(ns)
        })
    }

    fn merge(&mut self, other: &Samples) {
        if !other.counted.is_empty() {
            self.counted = counted(&self.counted, other.counted.iter().copied());
        }
        self.short.extend_from_slice(&other.short);
        self.long.extend_from_slice(&other.long);
    }
}

/// Values of a list in ascending order, and how often each is there.
fn alike(sorted: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    let alike = sorted.chunk_by(|a, b| a == b);
    alike.map(|alike| (alike[0], u32::try_from(alike.len()).unwrap_or(u32::MAX)))
}

/// Both together; values of each are in ascending order.
fn counted(old: &[(u32, u32)], new: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    let (mut old, mut new) = (old.iter().copied().peekable(), new.peekable());
    let mut both: Vec<(u32, u32)> = Vec::new();
    loop {
        let is_old = match (old.peek(), new.peek()) {
            (Some(a), Some(b)) => a.0 <= b.0,
            (a, _) => a.is_some(),
        };
        let next = if is_old { old.next() } else { new.next() };
        let Some((ns, times)) = next else {
            return both;
        };
        match both.last_mut() {
            Some(last) if last.0 == ns => last.1 = last.1.saturating_add(times),
            _ => both.push((ns, times)),
        }
    }
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
        Distribution::Exact(Samples::default())
    }
}

impl Distribution {
    /// Adds a sample; returns whether it takes memory of its own.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) -> bool {
        match self {
            Distribution::Exact(samples) => {
                samples.add(ns);
                true
            }
            Distribution::Histogram(h) => {
                count(h, ns, 1);
                false
            }
        }
    }

    /// Samples that take memory of their own, or as many as take so much.
    pub(crate) fn stored(&self) -> usize {
        match self {
            Distribution::Exact(samples) => {
                samples.short.len() + samples.long.len() + 2 * samples.counted.len()
            }
            Distribution::Histogram(_) => 0,
        }
    }

    /// Gives up the samples for a histogram.
    pub(crate) fn compress(&mut self) {
        if let Distribution::Exact(samples) = self {
            let mut h = Histogram::new(DIGITS).expect("3 digits are legal");
            for (ns, times) in samples.values() {
                count(&mut h, ns, times);
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
            (Distribution::Exact(samples), Distribution::Exact(other)) => samples.merge(other),
            (Distribution::Histogram(h), Distribution::Histogram(other)) => {
                h.add(other).expect("histograms resize themselves");
            }
            (Distribution::Histogram(h), Distribution::Exact(samples)) => {
                for (ns, times) in samples.values() {
                    count(h, ns, times);
                }
            }
            (Distribution::Exact(_), Distribution::Histogram(_)) => {
                unreachable!("compressed above")
            }
        }
    }

    /// The values at `steps` + 1 equal steps of the cumulative distribution, from the least to the
    /// largest, with straight lines between samples; `None` when there is no sample.
    pub(crate) fn curve(&mut self, steps: usize) -> Option<Vec<f64>> {
        let share = |i: usize| i as f64 / steps.max(1) as f64;
        match self {
            Distribution::Exact(samples) => {
                samples.sort();
                let last = samples.len().checked_sub(1)?;
                let nth = |i: usize| samples.nth(i).map_or(0.0, |ns| ns as f64);
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
            Distribution::Exact(samples) => {
                samples.sort();
                let count = samples.len();
                let nth = |i: usize| samples.nth(i);
                let at = |percent: usize| nth(percent * count / 100);
                let sum = |sum, (ns, times): (u64, u64)| sum + u128::from(ns) * u128::from(times);
                let mean = samples.values().fold(0, sum) as f64 / count as f64;
                let square = |ns: f64| (ns - mean) * (ns - mean);
                // One after the other, as if each was there: sums of floating point depend on it.
                let squares = samples.values().fold(0.0, |squares, (ns, times)| {
                    let square = square(ns as f64);
                    (0..times).fold(squares, |squares, _| squares + square)
                });
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

fn count(histogram: &mut Histogram<u64>, ns: u64, times: u64) {
    histogram
        .record_n(ns.min(HISTOGRAM_MAX), times)
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

    /// Samples that are few values, and others that are not.
    fn alike(n: u64, values: u64) -> impl Iterator<Item = u64> {
        (0..n).map(move |i| (i * 7919 % values) * 1000 + (i % 50_000 == 0) as u64 * 6_000_000_000)
    }

    #[test]
    fn samples_that_are_alike_are_counted_and_give_the_same_figures() {
        let figures = |d: &mut Distribution| (d.quantiles(), d.curve(20));
        let mut counted = of(alike(300_000, 5_000));
        assert!(counted.stored() < 100_000, "{}", counted.stored());
        let mut plain = Distribution::Exact(Samples {
            short: Vec::with_capacity(400_000),
            ..Samples::default()
        });
        alike(300_000, 5_000).for_each(|ns| {
            plain.add(ns);
        });
        assert_eq!(plain.stored(), 300_000);
        let expected = figures(&mut plain.clone());
        assert_eq!(figures(&mut counted.clone()), expected);
        let mut pooled = of(alike(300_000, 5_000));
        pooled.merge(&counted);
        plain.merge(&plain.clone());
        assert_eq!(figures(&mut pooled), figures(&mut plain));
        let mut rough = counted.clone();
        rough.compress();
        counted.merge(&rough);
        assert_eq!(counted.quantiles().count, 600_000);
        // Those that differ are kept one by one.
        assert_eq!(
            of((0..200_000).map(|i| i * 37 % 1_000_003)).stored(),
            200_000
        );
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
