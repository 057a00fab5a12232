//! Figures of all observations of an experiment, whatever replication they are from.
//!
//! The mean over replications of each one's mean depends on how long a replication is measured: one
//! that lasts for a second of bad luck counts as much as one of good luck with a hundred times the
//! observations. The mean of all observations does not. Its interval has to allow for numbers of
//! observations that differ and for observations of a replication that are alike, so it comes from
//! replications too, by linearisation (Cochran, *Sampling Techniques*, on ratio estimates): each
//! replication gets the value that it would have to have for its part in the pooled figure to be
//! one n-th. The mean of these values is the pooled figure exactly, their scatter is its error, and
//! two cells can be paired by replication as ever.

use domio_run::Sample;

/// The observations of one replication.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Group {
    /// How many there are.
    pub count: f64,
    /// Their mean; anything if there are none.
    pub mean: f64,
    /// Their sample standard deviation (divisor n - 1); anything under two.
    pub deviation: f64,
}

impl Group {
    /// The pings of a replication: `ping.replies`, `ping.mean_ms` and `ping.deviation_ms`.
    pub fn pings(sample: &Sample) -> Self {
        let get = |name| sample.get(name).unwrap_or(0.0);
        Group {
            count: get("ping.replies"),
            mean: get("ping.mean_ms"),
            deviation: get("ping.deviation_ms"),
        }
    }

    /// How many of `values` are so, as a mean of zeros and ones.
    pub fn share(values: &[f64], is_so: impl Fn(f64) -> bool) -> Self {
        let so = values.iter().filter(|v| is_so(**v)).count() as f64;
        let count = values.len() as f64;
        Group {
            count,
            mean: if values.is_empty() { 0.0 } else { so / count },
            deviation: 0.0,
        }
    }

    fn sum(&self) -> f64 {
        match self.count {
            0.0 => 0.0,
            count => count * self.mean,
        }
    }

    fn sum_of_squares(&self) -> f64 {
        let within = (self.count - 1.0).max(0.0) * self.deviation.powi(2);
        within + self.sum() * self.mean
    }
}

/// One value a group, whose mean is the mean of all observations. Empty when there is none.
pub fn means(groups: &[Group]) -> Vec<f64> {
    let Some((mean, each)) = moment(groups, Group::sum) else {
        return Vec::new();
    };
    each.iter().map(|part| mean + part).collect()
}

/// One value a group, whose mean is the standard deviation of all observations (divisor n). Empty
/// when there is none.
pub fn deviations(groups: &[Group]) -> Vec<f64> {
    let first = moment(groups, Group::sum);
    let second = moment(groups, Group::sum_of_squares);
    let (Some((mean, means)), Some((square, squares))) = (first, second) else {
        return Vec::new();
    };
    let deviation = (square - mean * mean).max(0.0).sqrt();
    if deviation == 0.0 {
        return vec![0.0; groups.len()];
    }
    // How far a deviation moves with the moments that it is made of.
    let part = |(m, s): (&f64, &f64)| (s - 2.0 * mean * m) / (2.0 * deviation);
    let parts = means.iter().zip(&squares).map(part);
    parts.map(|part| deviation + part).collect()
}

/// The sum of something over the number of all observations, and by how much each group moves it,
/// times the number of groups.
fn moment(groups: &[Group], sum: impl Fn(&Group) -> f64) -> Option<(f64, Vec<f64>)> {
    let count: f64 = groups.iter().map(|g| g.count).sum();
    if count == 0.0 {
        return None;
    }
    let of_all = groups.iter().map(&sum).sum::<f64>() / count;
    let usual = count / groups.len() as f64;
    let part = |g: &Group| (sum(g) - of_all * g.count) / usual;
    Some((of_all, groups.iter().map(part).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{self, Estimate};
    use domio_sim::RandomStream;
    use proptest::prelude::*;

    fn group(observations: &[f64]) -> Group {
        Group {
            count: observations.len() as f64,
            mean: numbers::mean(observations).unwrap_or(0.0),
            deviation: numbers::deviation(observations).unwrap_or(0.0),
        }
    }

    #[test]
    fn by_hand() {
        // All observations: 1, 3, 8; the second group has one of three.
        let groups = [group(&[1.0, 3.0]), group(&[8.0])];
        // Sums 4 and 8 are 4 * 2 - 4 and 4 * 1 + 4; there are 1.5 in a group.
        let part = 4.0 / 1.5;
        assert_eq!(means(&groups), [4.0 - part, 4.0 + part]);
        assert_eq!(Estimate::of(&means(&groups)).unwrap().mean, 4.0);
        let share = |values: &[f64]| Group::share(values, |v| v > 2.0);
        assert_eq!(
            means(&[share(&[1.0, 3.0]), share(&[8.0, 9.0])]),
            [0.5, 1.0],
            "as many in each: each one's own"
        );
    }

    #[test]
    fn no_observation_gives_no_figure() {
        assert!(means(&[]).is_empty() && deviations(&[]).is_empty());
        assert!(means(&[Group::default(); 3]).is_empty());
        let some = [Group::default(), group(&[2.0, 2.0])];
        assert_eq!(means(&some), [2.0, 2.0], "an empty group moves nothing");
        assert_eq!(deviations(&some), [0.0, 0.0]);
    }

    #[test]
    fn the_measured_time_does_not_matter() {
        // Good times have ten pings of 1 ms, bad ones a ping of 100.
        let (good, bad) = (vec![1.0; 10], vec![100.0]);
        let short = [&good, &good, &good, &bad].map(|g| group(g));
        let long = [group(&[good.clone(), good.clone()].concat()), {
            group(&[good, bad].concat())
        }];
        let of = |groups: &[Group]| Estimate::of(&means(groups)).unwrap().mean;
        assert!((of(&short) - of(&long)).abs() < 1e-12);
        assert!((of(&short) - 130.0 / 31.0).abs() < 1e-12);
    }

    /// The interval covers the truth as often as it says, also where the number of observations
    /// depends on their values: good times have many, bad ones few.
    #[test]
    fn intervals_cover_the_true_mean() {
        let mut random = RandomStream::new(1, 0, "replications");
        let mut uniform = move || random.below(1 << 31) as f64 / f64::from(1_u32 << 31);
        let mut replication = || match uniform() < 0.3 {
            true => Group {
                count: 10.0,
                mean: 8.0 + uniform(),
                deviation: 0.0,
            },
            false => Group {
                count: 100.0,
                mean: uniform(),
                deviation: 0.0,
            },
        };
        let truth = (0.3 * 10.0 * 8.5 + 0.7 * 100.0 * 0.5) / (0.3 * 10.0 + 0.7 * 100.0);
        let covered = (0..1_000).filter(|_| {
            let groups: Vec<Group> = (0..40).map(|_| replication()).collect();
            let [low, high] = Estimate::of(&means(&groups)).unwrap().ci95.unwrap();
            low <= truth && truth <= high
        });
        let covered = covered.count();
        assert!((920..=975).contains(&covered), "{covered} of 1000");
    }

    proptest! {
        #[test]
        fn the_mean_of_the_values_is_the_figure_of_all_observations(
            groups in prop::collection::vec(prop::collection::vec(0.1..1e3f64, 0..20), 1..10),
        ) {
            let all = groups.concat();
            prop_assume!(all.len() > 1);
            let groups: Vec<Group> = groups.iter().map(|g| group(g)).collect();
            let mean = numbers::mean(&all).unwrap();
            let n = all.len() as f64;
            let deviation = numbers::deviation(&all).unwrap() * ((n - 1.0) / n).sqrt();
            let of = |values: Vec<f64>| numbers::mean(&values).unwrap();
            prop_assert!((of(means(&groups)) - mean).abs() < 1e-6 * mean);
            prop_assert!((of(deviations(&groups)) - deviation).abs() < 1e-4 * mean);
        }

        #[test]
        fn as_many_observations_in_each_leave_each_one_its_own_mean(
            groups in prop::collection::vec(prop::collection::vec(0.1..1e3f64, 3), 1..10),
        ) {
            let own: Vec<Group> = groups.iter().map(|g| group(g)).collect();
            for (value, group) in means(&own).iter().zip(&own) {
                prop_assert!((value - group.mean).abs() < 1e-9 * 1e3);
            }
        }
    }
}
