//! Averages of load that decay: half in 32 periods of 1024 us (linux-spec 1.10).

/// Halves of halves: y^n times 2^32, for n of 0 to 31.
const DECAY: [u64; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// What a load of 1 sums up to in the end.
const SUM_MAX: u64 = 47_742;
/// The same without the period that has begun: the least that sums are divided by.
const SUM_FLOOR: u64 = SUM_MAX - 1024;

/// Averages of an entity or a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Average {
    /// Until when it was updated, in whole 1024 ns; the lowest value of what is in no sum.
    pub last: i64,
    /// Units of 1024 ns of the period that has begun.
    pub begun: u64,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u64,
    pub load: u64,
    pub runnable: u64,
    pub util: u64,
}

/// `sum` after `periods` more.
fn decay(sum: u64, periods: u64) -> u64 {
    match periods {
        0..=2016 => {
            let sum = u128::from(sum >> (periods / 32));
            ((sum * u128::from(DECAY[(periods % 32) as usize])) >> 32) as u64
        }
        _ => 0,
    }
}

/// `sum`, but no less than what an average of `average` takes. The kernel compares 32 bits of both
/// (`max_t(u32, ...)`), so that sums of heavy weights lose what is above.
fn at_least(sum: u64, average: u64) -> u64 {
    let low = |x: u64| x & u64::from(u32::MAX);
    low(sum).max(low(average * SUM_FLOOR))
}

impl Average {
    pub const NOTHING: Average = Average {
        last: 0,
        begun: 0,
        load_sum: 0,
        runnable_sum: 0,
        util_sum: 0,
        load: 0,
        runnable: 0,
        util: 0,
    };

    /// That of an entity which is in no sum yet.
    pub const ALONE: Average = Average {
        last: i64::MIN,
        ..Average::NOTHING
    };

    /// Whether it is in the sums of a queue.
    #[inline]
    pub fn is_attached(&self) -> bool {
        self.last != i64::MIN
    }

    /// What the sums are divided by.
    #[inline]
    pub fn divider(&self) -> u64 {
        SUM_FLOOR + self.begun
    }

    /// Time goes on to `now`, with these loads since the last update. Returns whether a period has
    /// ended, so that averages are due.
    pub fn advance(&mut self, now: i64, load: u64, runnable: u64, running: bool) -> bool {
        let delta = now - self.last;
        if delta < 0 {
            self.last = now;
            return false;
        }
        let delta = (delta >> 10) as u64;
        if delta == 0 {
            return false;
        }
        self.last += (delta << 10) as i64;
        // An idle one does not add what is not there.
        let (runnable, running) = match load {
            0 => (0, false),
            _ => (runnable, running),
        };
        let total = delta + self.begun;
        let periods = total / 1024;
        let rest = total % 1024;
        let contribution = match periods {
            0 => delta,
            periods => {
                for sum in [
                    &mut self.load_sum,
                    &mut self.runnable_sum,
                    &mut self.util_sum,
                ] {
                    *sum = decay(*sum, periods);
                }
                decay(1024 - self.begun, periods)
                    + (SUM_MAX - decay(SUM_MAX, periods) - 1024)
                    + rest
            }
        };
        self.begun = rest;
        self.load_sum += load * contribution;
        self.runnable_sum += (runnable * contribution) << 10;
        if running {
            self.util_sum += contribution << 10;
        }
        periods > 0
    }

    /// Computes the averages of something with this weight: 1 for a queue.
    pub fn settle(&mut self, weight: u64) {
        let divider = self.divider();
        self.load = weight * self.load_sum / divider;
        self.runnable = self.runnable_sum / divider;
        self.util = self.util_sum / divider;
    }

    /// Something with this weight and average comes to what this is the average of.
    pub fn attach(&mut self, weight: u64, other: &mut Average) {
        other.last = self.last;
        other.begun = self.begun;
        let divider = self.divider();
        other.util_sum = other.util * divider;
        other.runnable_sum = other.runnable * divider;
        let sum = other.load * divider;
        other.load_sum = match weight < sum {
            true => sum / weight,
            // The kernel gives to those that have no load yet.
            false => 1,
        };
        self.add_load(weight, other);
        self.util += other.util;
        self.util_sum += other.util_sum;
        self.runnable += other.runnable;
        self.runnable_sum += other.runnable_sum;
    }

    /// The load of something with this weight and average counts from now on.
    pub fn add_load(&mut self, weight: u64, other: &Average) {
        self.load += other.load;
        self.load_sum += weight * other.load_sum;
    }

    /// The load of something with this weight and average does not count any more.
    pub fn take_load(&mut self, weight: u64, other: &Average) {
        self.load = self.load.saturating_sub(other.load);
        self.load_sum = self.load_sum.saturating_sub(weight * other.load_sum);
        self.load_sum = at_least(self.load_sum, self.load);
    }

    /// Something with this weight and average leaves.
    pub fn detach(&mut self, weight: u64, other: &Average) {
        self.take_load(weight, other);
        self.util = self.util.saturating_sub(other.util);
        self.util_sum = self.util_sum.saturating_sub(other.util_sum);
        self.util_sum = at_least(self.util_sum, self.util);
        self.runnable = self.runnable.saturating_sub(other.runnable);
        self.runnable_sum = self.runnable_sum.saturating_sub(other.runnable_sum);
        self.runnable_sum = at_least(self.runnable_sum, self.runnable);
    }

    /// The average of a queue follows that of `group`, an entity on it with this weight, which
    /// follows that of its own queue `below` (with the weight `below_weight`): threads have come
    /// there with the load `moved`, or have left with it.
    pub fn follow(
        &mut self,
        weight: u64,
        group: &mut Average,
        below: &Average,
        below_weight: u64,
        moved: i64,
    ) {
        let divider = self.divider();
        let follow = |of: (&mut u64, &mut u64), to: u64, queue: (&mut u64, &mut u64)| {
            if *of.0 == to {
                return;
            }
            let sum = to * divider;
            *queue.0 = (*queue.0 + to).saturating_sub(*of.0);
            *queue.1 = (*queue.1 + sum).saturating_sub(*of.1);
            *queue.1 = at_least(*queue.1, *queue.0);
            (*of.0, *of.1) = (to, sum);
        };
        follow(
            (&mut group.util, &mut group.util_sum),
            below.util,
            (&mut self.util, &mut self.util_sum),
        );
        follow(
            (&mut group.runnable, &mut group.runnable_sum),
            below.runnable,
            (&mut self.runnable, &mut self.runnable_sum),
        );
        let sum = match moved {
            0 => return,
            1.. => (group.load_sum + moved as u64).min(divider),
            // What leaves need not have counted in full: the rest is the mean of who stays.
            _ => group
                .load_sum
                .min(below.load_sum.checked_div(below_weight).unwrap_or(0)),
        };
        // Whoever runs is runnable.
        let sum = sum.max(group.util_sum >> 10);
        let load = weight * sum / divider;
        if load == group.load {
            return;
        }
        self.load = (self.load + load).saturating_sub(group.load);
        self.load_sum = (self.load_sum + weight * sum).saturating_sub(weight * group.load_sum);
        self.load_sum = at_least(self.load_sum, self.load);
        (group.load, group.load_sum) = (load, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// linux-spec 12, vector 22.
    #[test]
    fn averages_rise_and_fall_as_the_kernels() {
        let after = |ms: i64| {
            let mut average = Average::NOTHING;
            average.advance(ms * MS, 1, 1, true);
            average.settle(1024);
            (average.util, average.load)
        };
        let rising = [1, 4, 10, 32, 64, 100, 345].map(after);
        assert_eq!(
            rising.map(|r| r.0),
            [20, 81, 191, 495, 751, 894, 1_023].map(|x| x)
        );
        assert_eq!(rising.map(|r| r.1), [20, 81, 191, 495, 751, 894, 1_023]);
        let idle_for = |ms: i64| {
            let mut average = Average::NOTHING;
            average.advance(345 * MS, 1, 1, true);
            average.advance((345 + ms) * MS, 0, 0, false);
            average.settle(1024);
            average.util
        };
        assert_eq!([10, 32, 100].map(idle_for), [832, 528, 129]);
    }

    /// The heaviest thread's sums are beyond 32 bits.
    #[test]
    fn heavy_loads_decay_as_light_ones() {
        let after = |load: u64| {
            let mut average = Average::NOTHING;
            average.advance(345 * MS, load, 1, true);
            average.advance(377 * MS, 0, 0, false);
            average.load_sum / load
        };
        assert_eq!(after(10 * 88_761).abs_diff(after(1)), 0);
    }

    /// What has no load yet counts with a sum of 1.
    #[test]
    fn who_comes_without_load_has_a_sum_of_one() {
        let (mut queue, mut newcomer) = (Average::NOTHING, Average::ALONE);
        queue.attach(1024, &mut newcomer);
        assert_eq!((newcomer.load_sum, queue.load_sum), (1, 1024));
    }

    /// The kernel keeps 32 bits of a sum from which something is taken.
    #[test]
    fn sums_of_heavy_weights_lose_what_is_above_32_bits() {
        let heavy = Average {
            load: 100_000,
            load_sum: 100_000 * 46_718,
            ..Average::NOTHING
        };
        let mut queue = heavy;
        queue.take_load(1, &Average::NOTHING);
        assert_eq!(queue.load_sum, heavy.load_sum & 0xffff_ffff);
    }
}
