//! Random streams that do not disturb each other, and the distributions of durations.
//!
//! Every component of a model (a guest's workload, a link, a disk) draws from a stream of its
//! own, named after it. Adding a component, or letting one draw more often, changes no number that
//! another one sees.
//!
//! # Derivation
//!
//! A stream is xoshiro256++ (Blackman and Vigna, 2021). Its four words of state are the first
//! four outputs of SplitMix64 started at `x`, and `x` is computed from seed, replication and name:
//!
//! 1. `x = mix(seed)`
//! 2. `x = mix(x ^ replication)`
//! 3. for each 8 bytes of the name's UTF-8, as a little-endian number, the last one padded with
//!    zero bytes: `x = mix(x ^ word)`
//! 4. `x = mix(x ^ length of the name in bytes)`
//!
//! where `mix(y)` is the output of SplitMix64 at state `y`: with `z = y + 0x9e3779b97f4a7c15`,
//! `z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9`, `z = (z ^ z >> 27) * 0x94d049bb133111eb`, the result
//! is `z ^ z >> 31`, all modulo 2⁶⁴.
//!
//! This is fixed. A change of it changes the result of every run, and the tests pin it.
//!
//! # The same on every machine
//!
//! Integers come from integer arithmetic. The distributions of durations compute in `f64` with the
//! basic operations, which IEEE 754 defines to the bit, and take logarithms, powers and cosines
//! from `libm` in software, not from the platform. Results are rounded to whole nanoseconds.
#![cfg_attr(
    not(test),
    expect(
        clippy::float_arithmetic,
        reason = "distributions, whose functions come from libm in software, the same everywhere"
    )
)]

use core::f64::consts::TAU;

use domio_core::Duration;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random numbers; see the [module](self) for how streams are derived.
///
/// The number of values that a method takes from the stream is part of its description, for
/// whoever has to keep two streams in step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomStream {
    generator: Xoshiro256PlusPlus,
}

impl RandomStream {
    /// The stream of `component` in replication `replication` of the experiment with seed `seed`.
    ///
    /// The name should be the component's path, such as `guest3/web/arrivals`. The same three
    /// arguments give the same stream, on any machine.
    pub fn new(seed: u64, replication: u32, component: &str) -> Self {
        let mut x = mix(seed);
        x = mix(x ^ u64::from(replication));
        for bytes in component.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            x = mix(x ^ u64::from_le_bytes(word));
        }
        x = mix(x ^ component.len() as u64);

        let mut state = [0; 32];
        for word in state.chunks_exact_mut(8) {
            word.copy_from_slice(&mix(x).to_le_bytes());
            x = x.wrapping_add(SPLIT_MIX_STEP);
        }
        RandomStream {
            generator: Xoshiro256PlusPlus::from_seed(state),
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A whole number from 0 to `n - 1`, each equally likely. Takes one value, rarely more.
    ///
    /// # Panics
    /// When `n` is 0.
    #[inline]
    #[track_caller]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below 0");
        // The high half of a product maps 2^64 values to n numbers; the low half tells the values
        // that would make some numbers likelier than others (Lemire 2019).
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let surplus = n.wrapping_neg() % n;
            while (product as u64) < surplus {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// True in `numerator` of `denominator` cases. Takes one value, rarely more.
    ///
    /// # Panics
    /// When `denominator` is 0.
    #[track_caller]
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// A duration from `lo` to `hi`, both included, each nanosecond equally likely. Takes one
    /// value, rarely more.
    ///
    /// # Panics
    /// When `lo` is longer than `hi`.
    #[track_caller]
    pub fn duration_uniform(&mut self, lo: Duration, hi: Duration) -> Duration {
        assert!(lo <= hi, "no duration is between {lo} and {hi}");
        let span = (hi - lo).as_nanos();
        let offset = match span.checked_add(1) {
            Some(n) => self.below(n),
            None => self.next_u64(),
        };
        lo + Duration::from_nanos(offset)
    }

    /// An exponentially distributed duration: the time to the next of events that come
    /// independently of each other, one in `mean` on average. Takes one value.
    pub fn duration_exponential(&mut self, mean: Duration) -> Duration {
        nanos(-libm::log(self.unit()) * mean.as_nanos() as f64)
    }

    /// A normally distributed duration, truncated at zero: negative values are drawn again, so
    /// that the mean of the result is above `mean` when `std` is not small against it. Takes two
    /// values per attempt, and two attempts at most on average.
    pub fn duration_normal(&mut self, mean: Duration, std: Duration) -> Duration {
        let (mean, std) = (mean.as_nanos() as f64, std.as_nanos() as f64);
        loop {
            let value = mean + std * self.standard_normal();
            if value >= 0.0 {
                return nanos(value);
            }
        }
    }

    /// A duration whose logarithm is normally distributed, with this mean and standard deviation
    /// of the duration itself. Takes two values.
    ///
    /// # Panics
    /// When `mean` is zero.
    #[track_caller]
    pub fn duration_lognormal(&mut self, mean: Duration, std: Duration) -> Duration {
        assert!(!mean.is_zero(), "a lognormal duration has a mean above 0");
        let (mean, std) = (mean.as_nanos() as f64, std.as_nanos() as f64);
        let variation = std / mean;
        // Of the logarithm: its variance, and its mean relative to ln(mean).
        let variance = libm::log1p(variation * variation);
        let exponent = libm::sqrt(variance) * self.standard_normal() - variance / 2.0;
        nanos(mean * libm::exp(exponent))
    }

    /// A Pareto distributed duration: never shorter than `minimum`, longer than `x` with
    /// probability `(minimum / x)^shape`. The mean is `minimum * shape / (shape - 1)`, infinite
    /// for a shape of 1 or less; results end at [`Duration::MAX`]. Takes one value.
    ///
    /// # Panics
    /// When `shape` is not a positive number.
    #[track_caller]
    pub fn duration_pareto(&mut self, minimum: Duration, shape: f64) -> Duration {
        assert!(shape > 0.0, "a Pareto shape is above 0, not {shape}");
        nanos(minimum.as_nanos() as f64 * libm::pow(self.unit(), -1.0 / shape)).max(minimum)
    }

    /// A number above 0 and up to 1, one of 2⁵³ equally likely ones.
    #[inline]
    fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((self.next_u64() >> 11) + 1) as f64 * STEP
    }

    /// A number from the standard normal distribution (Box and Muller 1958; the second number
    /// that their method gives is not kept, so that a stream has no other state than its place).
    fn standard_normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(TAU * self.unit())
    }
}

const SPLIT_MIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(y: u64) -> u64 {
    let z = y.wrapping_add(SPLIT_MIX_STEP);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Rounds to whole nanoseconds; what is out of range becomes the nearest duration.
fn nanos(ns: f64) -> Duration {
    Duration::from_nanos((ns + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    const MS: Duration = Duration::from_millis(1);

    fn stream(component: &str) -> RandomStream {
        RandomStream::new(1, 0, component)
    }

    /// Mean and standard deviation of 100,000 draws, in milliseconds.
    fn moments(draw: impl Fn(&mut RandomStream) -> Duration) -> (f64, f64) {
        const DRAWS: usize = 100_000;
        let mut random = stream("moments");
        let draws: Vec<f64> = (0..DRAWS)
            .map(|_| draw(&mut random).as_nanos() as f64 / 1e6)
            .collect();
        let mean = draws.iter().sum::<f64>() / DRAWS as f64;
        let squares = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        (mean, (squares / DRAWS as f64).sqrt())
    }

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 0.02
    }

    /// The values that every version must reproduce, computed by a second implementation of the
    /// derivation and of xoshiro256++ in another language.
    #[test]
    fn streams_are_the_ones_they_have_always_been() {
        let mut random = RandomStream::new(0, 0, "");
        assert_eq!(random.next_u64(), 0xbabb_761a_c830_fe4a);
        assert_eq!(random.next_u64(), 0x2b1a_bb54_7c60_bbab);
        let mut random = RandomStream::new(42, 7, "guest3/web/arrivals");
        assert_eq!(random.next_u64(), 0x3404_cc5e_9035_0d56);
        assert_eq!(random.next_u64(), 0x4ebb_48c9_3bb7_24d4);
    }

    /// As above.
    #[test]
    fn distributions_are_the_ones_they_have_always_been() {
        let mut random = stream("pins");
        assert_eq!([0; 4].map(|_| random.below(1000)), [999, 369, 333, 752]);
        let mut thrice =
            |draw: fn(&mut RandomStream) -> Duration| [0; 3].map(|_| draw(&mut random).as_nanos());
        let uniform = thrice(|random| random.duration_uniform(MS, MS * 2));
        assert_eq!(uniform, [1_637_640, 1_830_331, 1_806_516]);
        let exponential = thrice(|random| random.duration_exponential(MS));
        assert_eq!(exponential, [35_111, 264_155, 291_601]);
        let normal = thrice(|random| random.duration_normal(MS, MS / 4));
        assert_eq!(normal, [813_378, 957_556, 1_381_820]);
        let lognormal = thrice(|random| random.duration_lognormal(MS, MS * 2));
        assert_eq!(lognormal, [168_727, 532_402, 303_427]);
        let pareto = thrice(|random| random.duration_pareto(MS, 1.5));
        assert_eq!(pareto, [2_073_145, 1_110_144, 1_504_694]);
    }

    #[test]
    fn mix_is_split_mix_64() {
        // The first outputs of the published generator started at 0 and at 1234567.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(SPLIT_MIX_STEP), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn streams_differ_in_seed_replication_and_name() {
        let first =
            |seed, replication, name: &str| RandomStream::new(seed, replication, name).next_u64();
        let mut seen = vec![
            first(1, 0, "guest1"),
            first(2, 0, "guest1"),
            first(1, 1, "guest1"),
            first(0, 1, "guest1"),
            first(1, 0, "guest2"),
            first(1, 0, "guest1\0"),
            first(1, 0, "guest1/disk"),
            first(1, 0, "tseug1/disk"),
            first(1, 0, ""),
            first(1, 0, "\0"),
        ];
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn below_is_uniform() {
        let mut random = stream("below");
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[random.below(6) as usize] += 1;
        }
        // 100 is the standard deviation of each count, nearly.
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 400),
            "{counts:?}"
        );
        // Of the plain product, numbers divisible by 3 would come up half of the time.
        let n = (1 << 63) + (1 << 62);
        let thirds = (0..30_000)
            .filter(|_| random.below(n).is_multiple_of(3))
            .count();
        assert!(thirds.abs_diff(10_000) < 400, "{thirds}");
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn chance_is_a_ratio() {
        let mut random = stream("chance");
        let hits = (0..40_000).filter(|_| random.chance(1, 4)).count();
        assert!(hits.abs_diff(10_000) < 400, "{hits}");
        assert!(!random.chance(0, 5) && random.chance(5, 5));
    }

    #[test]
    fn uniform_durations_fill_their_range_and_no_more() {
        let mut random = stream("uniform");
        let (lo, hi) = (Duration::from_nanos(10), Duration::from_nanos(12));
        let mut counts = [0; 3];
        for _ in 0..3_000 {
            counts[(random.duration_uniform(lo, hi) - lo).as_nanos() as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count > 800), "{counts:?}");
        assert_eq!(random.duration_uniform(hi, hi), hi);
        let any = random.duration_uniform(Duration::ZERO, Duration::MAX);
        assert_ne!(any, random.duration_uniform(Duration::ZERO, Duration::MAX));
    }

    #[test]
    fn durations_have_the_moments_that_were_asked_for() {
        let (mean, std) = moments(|random| random.duration_exponential(MS));
        assert!(
            near(mean, 1.0) && near(std, 1.0),
            "exponential {mean} {std}"
        );
        let (mean, std) = moments(|random| random.duration_normal(MS * 10, MS));
        assert!(near(mean, 10.0) && near(std, 1.0), "normal {mean} {std}");
        let (mean, std) = moments(|random| random.duration_lognormal(MS * 4, MS * 2));
        assert!(near(mean, 4.0) && near(std, 2.0), "lognormal {mean} {std}");
        let (mean, std) = moments(|random| random.duration_pareto(MS * 3, 4.0));
        assert!(near(mean, 4.0), "pareto {mean} {std}");
        // A standard normal distribution cut at its mean: sqrt(2/pi).
        let (mean, _) = moments(|random| random.duration_normal(Duration::ZERO, MS));
        assert!(near(mean, 0.797_885), "half normal {mean}");
    }

    #[test]
    fn extremes_stay_durations() {
        let mut random = stream("extremes");
        assert_eq!(random.duration_exponential(Duration::ZERO), Duration::ZERO);
        assert_eq!(random.duration_normal(MS, Duration::ZERO), MS);
        assert_eq!(random.duration_lognormal(MS, Duration::ZERO), MS);
        assert_eq!(random.duration_pareto(MS, f64::INFINITY), MS);
        assert_eq!(random.duration_pareto(MS, 1e-300), Duration::MAX);
        assert_eq!(random.duration_pareto(Duration::MAX, 3.0), Duration::MAX);
    }
}
