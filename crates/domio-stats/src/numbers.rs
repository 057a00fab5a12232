//! Statistics over replications: means with intervals, comparisons, quantiles, fairness.
//!
//! Replications are independent, so that the mean of their results is treated with Student's t.
//! One replication gives a figure without an interval. A comparison "holds" only when the interval
//! of the difference excludes zero; see [`Difference`].

use domio_answer::{Cell, Holds, Known, MeanCell, Value};
use serde::Serialize;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// A mean over replications with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Lower and upper end of the 95 % confidence interval of the mean; `None` for one value.
    pub ci95: Option<[f64; 2]>,
    /// Sample standard deviation (divisor n - 1); `None` for one value.
    pub deviation: Option<f64>,
    /// Number of values.
    pub n: usize,
}

impl Estimate {
    /// The estimate from one value a replication; `None` when there is no value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let n = values.len();
        let deviation = (n > 1).then(|| variance(values, mean).sqrt());
        let ci95 = deviation.map(|s| {
            let half = t_point(0.05, (n - 1) as f64) * s / (n as f64).sqrt();
            [mean - half, mean + half]
        });
        Some(Estimate {
            mean,
            ci95,
            deviation,
            n,
        })
    }

    /// The interval that misses the mean with probability `risk`, half of it on either side: the
    /// one of 95 % for 0.05. `None` for one value.
    pub fn interval(&self, risk: f64) -> Option<[f64; 2]> {
        let deviation = self.deviation?;
        let half = t_point(risk, (self.n - 1) as f64) * deviation / (self.n as f64).sqrt();
        Some([self.mean - half, self.mean + half])
    }

    /// The estimate in another unit.
    pub fn scaled(&self, factor: f64) -> Self {
        Estimate {
            mean: self.mean * factor,
            ci95: self.ci95.map(|ends| ends.map(|end| end * factor)),
            deviation: self.deviation.map(|d| d * factor),
            n: self.n,
        }
    }

    /// Half the width of the interval, the figure after "±"; `None` for one value.
    pub fn half_width(&self) -> Option<f64> {
        self.ci95.map(|[low, high]| (high - low) / 2.0)
    }
}

impl Value for Estimate {
    const HOLDS: Holds = Holds::Estimate;

    fn cell(&self) -> Cell {
        (*self).into()
    }

    fn of(cell: &Cell, _: Known<'_>) -> Option<Self> {
        match cell {
            Cell::Estimate(MeanCell {
                mean,
                ci95,
                deviation,
                n,
            }) => Some(Estimate {
                mean: *mean,
                ci95: *ci95,
                deviation: *deviation,
                n: *n,
            }),
            _ => None,
        }
    }
}

impl From<Estimate> for MeanCell {
    fn from(estimate: Estimate) -> Self {
        MeanCell {
            mean: estimate.mean,
            ci95: estimate.ci95,
            deviation: estimate.deviation,
            n: estimate.n,
        }
    }
}

impl From<Estimate> for Cell {
    fn from(estimate: Estimate) -> Self {
        Cell::Estimate(estimate.into())
    }
}

/// The difference of two means, `a - b`, with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// Mean of `a` minus mean of `b`.
    pub mean: f64,
    /// 95 % confidence interval of the difference.
    pub ci95: [f64; 2],
    /// Standard error of the difference; zero when neither sample varies.
    pub error: f64,
    /// Degrees of freedom of the t distribution that gave the interval. Infinite when neither
    /// sample varies.
    pub freedom: f64,
}

impl Difference {
    /// Welch's comparison of two independent samples, whose variances may differ.
    ///
    /// `None` unless both have at least two values.
    pub fn welch(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        let (mean_a, mean_b) = (mean(a)?, mean(b)?);
        let part_a = variance(a, mean_a) / a.len() as f64;
        let part_b = variance(b, mean_b) / b.len() as f64;
        let freedom = (part_a + part_b).powi(2)
            / (part_a.powi(2) / (a.len() - 1) as f64 + part_b.powi(2) / (b.len() - 1) as f64);
        // Squares of the smallest numbers vanish, and what is not a number stays none. The smaller
        // sample's own freedom is never too large.
        let least = (a.len().min(b.len()) - 1) as f64;
        let freedom = if freedom.is_finite() {
            freedom.max(least)
        } else {
            least
        };
        let error = (part_a + part_b).sqrt();
        Some(Self::from_error(mean_a - mean_b, error, freedom))
    }

    /// Comparison of two samples whose i-th values belong to the same replication.
    ///
    /// A replication uses the same random streams under every policy, so that pairing removes the
    /// variation that both share. `None` unless both have the same number of values, at least two.
    pub fn paired(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.len() != b.len() || a.len() < 2 {
            return None;
        }
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let mean = mean(&differences)?;
        let n = differences.len() as f64;
        let error = (variance(&differences, mean) / n).sqrt();
        Some(Self::from_error(mean, error, n - 1.0))
    }

    fn from_error(mean: f64, error: f64, freedom: f64) -> Self {
        // Both samples constant: the difference is exact, and the formula above divided 0 by 0.
        if error == 0.0 {
            return Difference {
                mean,
                ci95: [mean, mean],
                error,
                freedom: f64::INFINITY,
            };
        }
        let half = t_point(0.05, freedom) * error;
        Difference {
            mean,
            ci95: [mean - half, mean + half],
            error,
            freedom,
        }
    }

    /// The interval that misses the difference with probability `risk`, half of it on either side.
    pub fn interval(&self, risk: f64) -> [f64; 2] {
        match self.error {
            0.0 => [self.mean; 2],
            error => {
                let half = t_point(risk, self.freedom) * error;
                [self.mean - half, self.mean + half]
            }
        }
    }

    /// Whether `a` is larger beyond the 95 % interval: the whole interval is over zero.
    pub fn is_greater(&self) -> bool {
        self.ci95[0] > 0.0
    }

    /// Whether `a` is smaller beyond the 95 % interval: the whole interval is under zero.
    pub fn is_less(&self) -> bool {
        self.ci95[1] < 0.0
    }
}

/// Whether `a` is larger than `b` beyond the 95 % confidence interval (Welch), which is what an
/// `order` claim needs. False when either sample has fewer than two values: nothing is proven then.
pub fn greater(a: &[f64], b: &[f64]) -> bool {
    Difference::welch(a, b).is_some_and(|d| d.is_greater())
}

/// Arithmetic mean; `None` when empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation (divisor n - 1); `None` under two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| variance(values, mean(values).unwrap_or_default()).sqrt())
}

/// Largest value minus smallest; `None` when empty.
pub fn spread(values: &[f64]) -> Option<f64> {
    span(values).map(|(least, most)| most - least)
}

/// Probability that `k` or fewer of `n` are so, each with probability `p` (0 to 1) on its own.
pub fn binomial_at_most(n: usize, k: usize, p: f64) -> f64 {
    let all = Binomial::new(p.clamp(0.0, 1.0), n as u64).expect("it is from 0 to 1");
    all.cdf(k as u64)
}

/// The least and the most of `values`; `None` when there is none.
pub fn span(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    Some((least, most))
}

/// Median: the middle value, or the mean of the two middle ones; `None` when empty.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let high = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(high);
    }
    Some((sorted[sorted.len() / 2 - 1] + high) / 2.0)
}

/// 95 % confidence interval of the [`median`] of independent values: those at the ranks between
/// which it lies with that probability, whatever the distribution. `None` under six values, of
/// which not even the first and the last are far enough apart.
pub fn median_ci95(values: &[f64]) -> Option<[f64; 2]> {
    const LEAST: usize = 6;
    let sorted = sorted(values);
    let n = sorted.len();
    if n < LEAST {
        return None;
    }
    // As many values at least are under the median with 97.5 %; n half of the time, on average.
    let outside = Binomial::new(0.5, n as u64).expect("a half is a probability");
    let rank = outside.inverse_cdf(0.025).saturating_sub(1) as usize;
    Some([sorted[rank], sorted[n - 1 - rank]])
}

/// The value at rank `floor(q * n)`, counted from 0, of the sorted values (the last one for
/// `q = 1`); `None` when empty or when `q` is not in 0 to 1.
///
/// The meter uses the same rule, so that a quantile read from samples equals one read from a trace.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let sorted = sorted(values);
    let rank = (q * sorted.len() as f64).floor() as usize;
    sorted.get(rank).or(sorted.last()).copied()
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has all.
///
/// `None` when empty or when every value is zero.
pub fn jain(values: &[f64]) -> Option<f64> {
    domio_meter::jain_index(values.iter().copied())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn variance(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The point of Student's t beyond which half of `risk` lies: half of a two-sided interval.
fn t_point(risk: f64, freedom: f64) -> f64 {
    // The library's inverse does not converge for huge arguments; beyond this point it differs
    // from the normal distribution by a hundredth of a percent, on the wide side.
    const LARGEST: f64 = 10_000.0;
    StudentsT::new(0.0, 1.0, freedom.min(LARGEST))
        .expect("degrees of freedom are positive")
        .inverse_cdf(1.0 - risk / 2.0)
}

/// Lower and upper end of the 95 % interval of a proportion of which `count` of `of` were seen,
/// from 0 to 1: the score interval of Wilson (*J. Am. Stat. Assoc.* 22, 1927), which stays within
/// these ends and has a width where all or none were seen. From 0 to 1 when none was looked at.
pub fn wilson(count: usize, of: usize) -> [f64; 2] {
    /// The point that a standard normal figure exceeds in one of forty cases.
    const Z: f64 = 1.959_963_984_540_054;
    if of == 0 {
        return [0.0, 1.0];
    }
    let n = of as f64;
    let seen = count.min(of) as f64 / n;
    let weight = 1.0 + Z * Z / n;
    let middle = (seen + Z * Z / (2.0 * n)) / weight;
    let half = Z / weight * (seen * (1.0 - seen) / n + Z * Z / (4.0 * n * n)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64, within: f64) {
        assert!((a - b).abs() < within, "{a} is not {b}");
    }

    #[test]
    fn t_points_are_those_of_printed_tables() {
        for (freedom, t) in [(1.0, 12.706), (2.0, 4.303), (9.0, 2.262), (29.0, 2.045)] {
            close(t_point(0.05, freedom), t, 0.0006);
        }
        close(t_point(0.05, f64::INFINITY), 1.959_964, 3e-4);
        let mut last = f64::INFINITY;
        for step in 0..900 {
            let t = t_point(0.05, 1.011_f64.powi(step));
            assert!(t <= last, "t falls with more degrees of freedom");
            last = t;
        }
    }

    #[test]
    fn interval_by_hand() {
        // Mean 5, deviation 2 (squares 16 / 4); half = 2.776 * 2 / sqrt 5.
        let e = Estimate::of(&[3.0, 3.0, 5.0, 7.0, 7.0]).unwrap();
        assert_eq!((e.mean, e.deviation, e.n), (5.0, Some(2.0), 5));
        close(e.half_width().unwrap(), 2.483, 0.001);
        assert_eq!(Estimate::of(&[4.0]).unwrap().ci95, None);
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn welch_by_hand() {
        // Means 4 and 2, variances 1 and 4, 3 and 5 values:
        // error = sqrt(1/3 + 4/5) = 1.0646; freedom = 1.13333^2 / (0.05556 + 0.16) = 5.9588.
        let a = [3.0, 4.0, 5.0];
        let b = [0.0, 0.0, 2.0, 4.0, 4.0];
        let d = Difference::welch(&a, &b).unwrap();
        assert_eq!(d.mean, 2.0);
        close(d.freedom, 5.9588, 0.0005);
        close(d.ci95[1] - d.mean, 2.4514 * 1.0646, 0.005);
        assert!(!d.is_greater() && !d.is_less());
        assert!(greater(&[9.0, 9.1, 9.2], &b) && !greater(&b, &[9.0, 9.1, 9.2]));
        assert!(!greater(&[9.0], &b), "one value proves nothing");
    }

    #[test]
    fn constant_samples_differ_exactly() {
        let d = Difference::welch(&[2.0, 2.0], &[1.0, 1.0]).unwrap();
        assert_eq!(d.ci95, [1.0, 1.0]);
        assert!(d.is_greater());
        let tiny = Difference::welch(&[0.0, 1e-120], &[0.0, 3e-120]).unwrap();
        assert!(tiny.freedom == 1.0 && !tiny.is_greater());
        let none = Difference::welch(&[f64::NAN, 1.0], &[0.0, 0.1]).unwrap();
        assert!(!none.is_greater() && !none.is_less());
        let same = Difference::welch(&[1.0, 1.0], &[1.0, 1.0]).unwrap();
        assert!(!same.is_greater() && !same.is_less());
    }

    #[test]
    fn pairing_removes_what_both_share() {
        let a = [10.1, 20.1, 30.2, 40.1];
        let b = [10.0, 20.0, 30.0, 40.0];
        assert!(Difference::paired(&a, &b).unwrap().is_greater());
        assert!(!Difference::welch(&a, &b).unwrap().is_greater());
        assert_eq!(Difference::paired(&a, &b[..3]), None);
    }

    #[test]
    fn ranks_count_from_zero() {
        let v = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&v, 0.0), Some(1.0));
        assert_eq!(quantile(&v, 0.5), Some(3.0));
        assert_eq!(quantile(&v, 0.74), Some(3.0));
        assert_eq!(quantile(&v, 1.0), Some(4.0));
        assert_eq!(quantile(&v, 1.1), None);
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(median(&v), Some(2.5));
        assert_eq!(median(&[5.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(spread(&v), Some(3.0));
        assert_eq!(deviation(&[1.0]), None);
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_printed_tables() {
        // Ranks from 1 of the exact interval for 6, 10, 20 and 50 values.
        for (n, low, high) in [(6, 1, 6), (10, 2, 9), (20, 6, 15), (50, 18, 33)] {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            assert_eq!(
                median_ci95(&values),
                Some([low, high].map(f64::from)),
                "{n}"
            );
        }
        assert_eq!(median_ci95(&[1.0; 5]), None);
    }

    #[test]
    fn fairness_index() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
        assert_eq!(jain(&[]), None);
    }

    proptest! {
        #[test]
        fn welch_is_antisymmetric(
            a in prop::collection::vec(-1e6..1e6f64, 2..12),
            b in prop::collection::vec(-1e6..1e6f64, 2..12),
        ) {
            let ab = Difference::welch(&a, &b).unwrap();
            let ba = Difference::welch(&b, &a).unwrap();
            prop_assert!((ab.ci95[0] + ba.ci95[1]).abs() <= 1e-6 * (1.0 + ab.ci95[0].abs()));
            prop_assert!(!(ab.is_greater() && ba.is_greater()));
            prop_assert!(ab.ci95[0] <= ab.mean && ab.mean <= ab.ci95[1]);
        }

        #[test]
        fn an_interval_covers_its_mean_and_moves_with_the_data(
            v in prop::collection::vec(-1e3..1e3f64, 2..20), shift in -1e3..1e3f64,
        ) {
            let e = Estimate::of(&v).unwrap();
            let moved: Vec<f64> = v.iter().map(|x| x + shift).collect();
            let m = Estimate::of(&moved).unwrap();
            let [low, high] = e.ci95.unwrap();
            prop_assert!(low <= e.mean && e.mean <= high);
            prop_assert!((m.mean - e.mean - shift).abs() < 1e-6);
            prop_assert!((m.half_width().unwrap() - e.half_width().unwrap()).abs() < 1e-6);
        }

        #[test]
        fn jain_lies_between_one_nth_and_one(v in prop::collection::vec(0.0..1e6f64, 1..20)) {
            if let Some(index) = jain(&v) {
                prop_assert!(index >= 1.0 / v.len() as f64 - 1e-9 && index <= 1.0 + 1e-9);
            }
        }
    }

    /// Newcombe (*Statistics in Medicine* 17, 1998), table I, method 3.
    #[test]
    fn intervals_of_proportions_are_those_of_the_literature() {
        for (count, of, ends) in [
            (81, 263, [0.2553, 0.3662]),
            (15, 148, [0.0624, 0.1605]),
            (0, 20, [0.0, 0.1611]),
            (1, 29, [0.0061, 0.1718]),
        ] {
            let found = wilson(count, of);
            let near = |i: usize| (found[i] - ends[i]).abs() < 5e-5;
            assert!(near(0) && near(1), "{count} of {of}: {found:?}");
        }
        assert_eq!(wilson(20, 20)[1], 1.0);
        assert_eq!(wilson(0, 0), [0.0, 1.0]);
    }
}
