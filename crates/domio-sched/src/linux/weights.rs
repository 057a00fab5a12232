//! Weights, their inverses, and the scaling of times by weight (linux-spec 1.1 to 1.5).

/// Weight of nice 0, as it is stored: 1024 with ten more bits.
pub(super) const NICE_0: u64 = 1 << 20;

/// Weight of the class for idle times, before it is scaled.
const IDLE: u64 = 3;
const IDLE_INVERSE: u64 = 1_431_655_765;

/// Weights of nice -20 to 19 (`sched_prio_to_weight`).
const WEIGHTS: [u64; 40] = [
    88_761, 71_755, 56_483, 46_273, 36_291, 29_154, 23_254, 18_705, 14_949, 11_916, 9_548, 7_620,
    6_100, 4_904, 3_906, 3_121, 2_501, 1_991, 1_586, 1_277, 1_024, 820, 655, 526, 423, 335, 272,
    215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// 2^32 over each of them, as the kernel stores it (`sched_prio_to_wmult`).
const INVERSES: [u64; 40] = [
    48_388,
    59_856,
    76_040,
    92_818,
    118_348,
    147_320,
    184_698,
    229_616,
    287_308,
    360_437,
    449_829,
    563_644,
    704_093,
    875_809,
    1_099_582,
    1_376_151,
    1_717_300,
    2_157_191,
    2_708_050,
    3_363_326,
    4_194_304,
    5_237_765,
    6_557_202,
    8_165_337,
    10_153_587,
    12_820_798,
    15_790_321,
    19_976_592,
    24_970_740,
    31_350_126,
    39_045_157,
    49_367_440,
    61_356_676,
    76_695_844,
    95_443_717,
    119_304_647,
    148_102_320,
    186_737_708,
    238_609_294,
    286_331_153,
];

/// A weight as it is stored, with its inverse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Load {
    pub weight: u64,
    /// [`EXACT`] where times are divided by the weight and not multiplied by an inverse (7.2).
    inverse: u64,
}

/// No inverse of a weight.
const EXACT: u64 = 0;

impl Load {
    /// A weight that is computed, such as that of a group or of a sum.
    pub fn of(weight: u64) -> Load {
        let x = down(weight);
        let inverse = match x {
            0 => 0xffff_ffff,
            x if x >= 0xffff_ffff => 1,
            x => 0xffff_ffff / x,
        };
        Load { weight, inverse }
    }

    /// The same weight, by which times are scaled without rounding.
    pub fn exact(self) -> Load {
        Load {
            inverse: EXACT,
            ..self
        }
    }

    /// That of a thread with this nice value, -20 to 19.
    pub fn nice(nice: i64) -> Load {
        let i = (nice + 20).clamp(0, 39) as usize;
        Load {
            weight: WEIGHTS[i] << 10,
            inverse: INVERSES[i],
        }
    }

    /// That of a thread of the class for idle times.
    pub fn idle() -> Load {
        Load {
            weight: IDLE << 10,
            inverse: IDLE_INVERSE,
        }
    }
}

/// A stored weight without its ten bits of scale.
#[inline]
pub(super) fn down(weight: u64) -> u64 {
    match weight {
        0 => 0,
        weight => (weight >> 10).max(2),
    }
}

/// About `delta * weight / load`, as the kernel multiplies by a 32-bit inverse, or exactly so.
#[inline]
pub(super) fn scale(delta: i64, weight: u64, load: &Load) -> i64 {
    if load.inverse == EXACT {
        // Of a request the product has 47 bits.
        let product = i128::from(delta) * i128::from(weight);
        return match i64::try_from(product) {
            Ok(product) => product / load.weight as i64,
            Err(_) => (product / i128::from(load.weight)) as i64,
        };
    }
    let mut factor = down(weight) * load.inverse;
    let mut shift = 32;
    let high = (factor >> 32) as u32;
    if high != 0 {
        let bits = 32 - high.leading_zeros();
        factor >>= bits;
        shift -= bits;
    }
    ((delta as u64 as u128 * u128::from(factor)) >> shift) as i64
}

/// The virtual time that `delta` of time is to an entity of this weight.
#[inline]
pub(super) fn fair(delta: i64, load: &Load) -> i64 {
    match load.weight {
        NICE_0 => delta,
        _ => scale(delta, NICE_0, load),
    }
}

/// The stored weight of a group with this `cpu.weight`.
pub(super) fn shares(cpu_weight: i64) -> u64 {
    let shares = (cpu_weight as u64 * 1024 + 50) / 100;
    shares.clamp(2, 1 << 18) << 10
}

/// The stored weight of a group with `cpu.idle`.
pub(super) const IDLE_SHARES: u64 = IDLE << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// linux-spec 12, vector 1.
    #[test]
    fn halves_are_rounded_by_the_inverse() {
        let two = Load::of(2 * NICE_0);
        let half = |ms: i64| scale(ms * MS, NICE_0, &two);
        assert_eq!(
            [6, 12, 18, 24].map(half),
            [2_999_998, 5_999_997, 8_999_995, 11_999_994]
        );
    }

    /// linux-spec 12, vectors 1 and 21, from 7.2 on.
    #[test]
    fn without_inverses_halves_are_halves() {
        let two = Load::of(2 * NICE_0).exact();
        let half = |ms: i64| scale(ms * MS, NICE_0, &two);
        assert_eq!([6, 12, 18, 24].map(half), [3, 6, 9, 12].map(|ms| ms * MS));
        let group = |weight| fair(700_000, &Load::of(shares(weight)).exact());
        assert_eq!([200, 400].map(group), [350_000, 175_000]);
        let nice = |nice| fair(700_000, &Load::nice(nice).exact());
        assert_eq!([-20, 0, 19].map(nice), [8_075, 700_000, 47_786_666]);
    }

    /// linux-spec 12, vector 4, first part.
    #[test]
    fn virtual_time_goes_by_the_nice_value() {
        let in_4ms = |nice| fair(4 * MS, &Load::nice(nice));
        assert_eq!([0, 5, -5].map(in_4ms), [4_000_000, 12_226_865, 1_312_399]);
        let both = Load::of((1024 + 335) << 10);
        let slice = |nice| scale(6 * MS, Load::nice(nice).weight, &both);
        assert_eq!([0, 5].map(slice), [4_520_971, 1_479_028]);
    }

    /// linux-spec 12, vector 6.
    #[test]
    fn weights_of_groups_are_shares() {
        let of = |weight| shares(weight) >> 10;
        assert_eq!(
            [1, 10, 50, 79, 100, 200, 400, 1_000, 10_000].map(of),
            [10, 102, 512, 809, 1_024, 2_048, 4_096, 10_240, 102_400]
        );
    }

    /// linux-spec 12, vectors 8 and 9.
    #[test]
    fn granularities_of_wake_ups_go_by_weight() {
        let nice = |nice| fair(MS, &Load::nice(nice));
        assert_eq!([5, -5].map(nice), [3_056_716, 328_099]);
        let group = |weight| fair(MS, &Load::of(shares(weight)));
        assert_eq!(
            [10, 20, 33, 34, 50, 200, 400].map(group),
            [
                10_039_215, 4_995_121, 3_029_585, 2_942_528, 1_999_999, 499_999, 249_999
            ]
        );
    }

    /// linux-spec 12, vector 21.
    #[test]
    fn slices_in_virtual_time() {
        let nice = |nice| fair(700_000, &Load::nice(nice));
        assert_eq!(
            [-20, -5, 0, 5, 10, 19].map(nice),
            [8_075, 229_669, 700_000, 2_139_701, 6_516_363, 47_786_666]
        );
        let group = |weight| fair(700_000, &Load::of(shares(weight)));
        assert_eq!([200, 400].map(group), [349_999, 174_999]);
    }
}
