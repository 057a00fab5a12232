//! Jobs that end by the clock: guests that poll or busy-wait until a time.
//!
//! A loop that reads a clock ends when the time has come, however little of the processor it got
//! until then; other work ends when it has had its processor time. Alone on a pcpu both look the
//! same. Preempted, the one ends when it would have ended anyway, or as soon as it executes again
//! after that; the other ends later by as long as it was preempted. So the jobs of a vcpu that were
//! preempted say what those of the same length are that were not.

use crate::process::Demand;
use domio_core::{Duration, Instant};

/// How one job was executed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Course {
    /// When it executed first; `None` when that was before the trace.
    pub began: Option<Instant>,
    /// When it was preempted last; `None` when it was not.
    pub preempted: Option<Instant>,
    /// When it executed again after that.
    pub resumed: Option<Instant>,
    /// Processor time since then, or since it began.
    pub last: Duration,
    /// When it was done.
    pub ended: Instant,
}

impl Course {
    /// It executes from `at` on, for the first time or again.
    pub fn begin(&mut self, at: Instant) {
        if self == &Course::default() {
            self.began = Some(at);
        } else {
            self.resumed = Some(at);
        }
        self.last = Duration::ZERO;
    }

    /// It is preempted at `at`.
    pub fn preempt(&mut self, at: Instant) {
        self.preempted = Some(at);
    }

    /// One that was under way at `at`, when the trace begins.
    pub fn under_way(at: Instant) -> Course {
        Course {
            resumed: Some(at),
            ..Course::default()
        }
    }

    /// It was done at `at`.
    pub fn ended(self, at: Instant) -> Course {
        Course { ended: at, ..self }
    }

    /// From its begin to `at`.
    fn until(&self, at: Instant) -> Option<Duration> {
        self.began.map(|began| at.saturating_since(began))
    }

    /// From its begin to its end.
    fn wall(&self) -> Option<Duration> {
        self.until(self.ended)
    }
}

/// Jobs of one kind differ in length by no more than this: a guest's loop reads the clock several
/// times in a microsecond, but interrupts come in between.
const SPREAD: Duration = Duration::from_micros(60);

/// A job is clearly nearer to one of two lengths when it is nearer by this: more than what
/// interrupts take from it.
const CLEAR: Duration = Duration::from_micros(20);

/// Shorter jobs are not looked at: what surrounds a loop takes as long as the loop.
const SHORTEST: Duration = Duration::from_micros(200);

/// From the time at which the loop looks at the clock again to the block, at most: it leaves the
/// loop, sets its timer and idles.
const LONGEST_EXIT: Duration = Duration::from_micros(150);

/// Preempted jobs that have to speak for a length.
const LEAST: usize = 3;

/// A length that jobs have by the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Length {
    /// From the begin of the job to its end if it executes then.
    wall: Duration,
    /// The part of it at the end that takes processor time, whatever the clock says.
    exit: Duration,
}

/// Makes jobs among `demands` that end by the clock spin until then. `courses` are those of the
/// first of them, in order.
pub fn spin(demands: &mut [Demand], courses: &[Course]) {
    let lengths = lengths(demands, courses);
    for (demand, course) in demands.iter_mut().zip(courses) {
        let fit = lengths.iter().find_map(|l| l.fit(course));
        if let Some((spin, work)) = fit {
            demand.spin = spin;
            demand.work = work;
        }
    }
}

/// The lengths of jobs that ended while they executed, as [`length`] finds them.
fn lengths(demands: &[Demand], courses: &[Course]) -> Vec<Length> {
    let mut walls: Vec<Duration> = courses
        .iter()
        .filter(|c| c.last > LONGEST_EXIT)
        .filter_map(Course::wall)
        .filter(|wall| *wall >= SHORTEST)
        .collect();
    walls.sort_unstable();
    let groups = walls.chunk_by(|a, b| b.saturating_sub(*a) <= SPREAD / 4);
    groups
        .filter(|group| group.len() >= LEAST)
        .filter_map(|group| length(group[group.len() / 2], demands, courses))
        .collect()
}

/// Whether jobs take `wall` by the clock: at least [`LEAST`] that were preempted end as if they
/// did, four times as many as have it as processor time, and as many as continued working after
/// that time for long, as jobs of any length do. No more than half of them may have one processor
/// time in common, which would explain them as well, unless as many that were not preempted take
/// `wall`: those preempted are so for as long each time then.
fn length(wall: Duration, demands: &[Demand], courses: &[Course]) -> Option<Length> {
    let (mut by_work, mut plain, mut went_on) = (0, 0, 0);
    let mut works = Vec::new();
    let mut exits = Vec::new();
    for (demand, course) in demands.iter().zip(courses) {
        let by_clock = course.wall().map(|w| apart(w, wall));
        if course.resumed.is_none() || course.began.is_none() {
            plain += usize::from(by_clock.is_some_and(|d| d <= SPREAD / 4));
            continue;
        }
        // Preempted for a moment it may be near both: the nearer one counts, if that is clear.
        let (of_work, of_clock) = (apart(demand.work, wall), by_clock.unwrap_or(Duration::MAX));
        if of_work <= SPREAD && of_work.saturating_sub(of_clock) <= CLEAR {
            by_work += usize::from(of_clock.saturating_sub(of_work) > CLEAR);
        } else if course.exits_late(wall) {
            works.push(demand.work);
            exits.push(course.last);
        } else if of_clock <= SPREAD {
            works.push(demand.work);
        } else {
            went_on += usize::from(course.goes_on(wall));
        }
    }
    works.sort_unstable();
    let (alike, _) = most_alike(&works, SPREAD)?;
    exits.sort_unstable();
    let exit = exits.get(exits.len() / 2).copied().unwrap_or_default();
    let other = alike * 2 > works.len() && plain < works.len();
    let against = went_on.max(by_work * 4);
    let speak = works.len() >= LEAST && works.len() >= against && !other;
    speak.then_some(Length { wall, exit })
}

impl Course {
    /// Whether it had more to do than what follows a loop that ends after `wall`, when it executed
    /// again after that.
    fn goes_on(&self, wall: Duration) -> bool {
        let resumed = self.resumed.and_then(|at| self.until(at));
        resumed.is_some_and(|at| at >= wall) && self.last > LONGEST_EXIT
    }

    /// Whether it did no more than what follows a loop that ends after `wall`, when it executed
    /// again after that.
    fn exits_late(&self, wall: Duration) -> bool {
        let resumed = self.resumed.and_then(|at| self.until(at));
        resumed.is_some_and(|at| at + LONGEST_EXIT >= wall) && self.last <= LONGEST_EXIT
    }
}

impl Length {
    /// How long the job of `course` spins and then works, if it is one of this length.
    fn fit(&self, course: &Course) -> Option<(Duration, Duration)> {
        let wall = course.wall()?;
        let spin = self.wall.saturating_sub(self.exit);
        let late = course.resumed.and_then(|at| course.until(at));
        if late.is_some_and(|at| at >= spin) {
            // It still spun when it was preempted: all that follows came after.
            let least = course.preempted.and_then(|at| course.until(at));
            let spin = spin.max(least.unwrap_or_default());
            return course
                .exits_late(self.wall)
                .then_some((spin, course.last.max(Duration::from_nanos(1))));
        }
        let exit = self.exit.max(Duration::from_nanos(1));
        (apart(wall, self.wall) <= SPREAD).then(|| (wall.saturating_sub(exit), exit))
    }
}

/// How far two times are from each other.
pub fn apart(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().abs_diff(b.as_nanos()))
}

/// What most of `times` are, within `spread`: the median of those alike, if there are at least
/// `least` and half of all.
pub fn usual(mut times: Vec<Duration>, spread: Duration, least: usize) -> Option<Duration> {
    times.sort_unstable();
    let (count, first) = most_alike(&times, spread)?;
    (count >= least && count * 2 >= times.len()).then(|| times[first + count / 2])
}

/// Most of the `sorted` times that lie within `spread`, and where those begin: the last place, if
/// there are several. `None` without any.
pub fn most_alike(sorted: &[Duration], spread: Duration) -> Option<(usize, usize)> {
    let from = |i: usize| sorted.partition_point(|t| *t <= sorted[i] + spread) - i;
    (0..sorted.len()).map(|i| (from(i), i)).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Arrival;
    use domio_sim::RandomStream;

    fn us(time: u64) -> Duration {
        Duration::from_micros(time)
    }

    /// A job that began at a time of its own, of `wall`, which had taken `work` when it was done;
    /// preempted last until `resumed` after its begin.
    fn job(wall: u64, work: u64, resumed: Option<u64>) -> (Demand, Course) {
        let began = Instant::ZERO + us(wall * 1_000 + work);
        let demand = Demand {
            at: began,
            spin: Duration::ZERO,
            work: us(work),
            arrival: Arrival::Outside,
        };
        let mut course = Course::default();
        course.begin(began);
        if let Some(after) = resumed {
            course.begin(began + us(after));
        }
        course.last = us(wall - resumed.unwrap_or(0));
        (demand, course.ended(began + us(wall)))
    }

    /// Spin and work of each of `jobs`.
    fn found(jobs: &[(Demand, Course)]) -> Vec<(u64, u64)> {
        let (mut demands, courses): (Vec<_>, Vec<_>) = jobs.iter().copied().unzip();
        spin(&mut demands, &courses);
        let us = |time: Duration| time.as_nanos() / 1_000;
        demands.iter().map(|d| (us(d.spin), us(d.work))).collect()
    }

    #[test]
    fn jobs_that_end_however_little_they_executed_end_by_the_clock() {
        let jobs = [
            job(5_100, 5_100, None),
            job(5_110, 5_110, None),
            job(5_095, 5_095, None),
            job(5_100, 4_000, Some(3_000)),
            job(5_105, 2_000, Some(3_000)),
            job(9_080, 3_000, Some(9_000)),
            job(7_082, 2_500, Some(7_000)),
            // Others that this vcpu has to do.
            job(60, 60, None),
            job(8_000, 8_000, None),
            job(9_000, 4_500, Some(6_000)),
        ];
        assert_eq!(
            found(&jobs),
            [
                (5_018, 82),
                (5_028, 82),
                (5_013, 82),
                (5_018, 82),
                (5_023, 82),
                (5_018, 80),
                (5_018, 82),
                (0, 60),
                (0, 8_000),
                (0, 4_500),
            ]
        );
    }

    #[test]
    fn a_loop_still_ran_when_it_was_preempted() {
        let mut jobs = [job(5_100, 5_100, None); 3].to_vec();
        jobs.extend([4_000, 3_000, 2_000].map(|work| job(5_100, work, Some(4_500))));
        jobs.extend([1_500, 2_500, 3_500].map(|work| job(9_080, work, Some(9_000))));
        // Others ended with 80 us of work; this one was preempted before, or after those began.
        for (preempted, spin) in [(4_900, 5_020), (5_060, 5_060)] {
            let (demand, mut course) = job(5_220, 4_500, Some(5_200));
            course.preempt(demand.at + us(preempted));
            let mut jobs = jobs.clone();
            jobs.push((demand, course));
            assert_eq!(found(&jobs).last(), Some(&(spin, 20)), "{preempted}");
        }
    }

    #[test]
    fn a_length_shows_though_every_job_is_preempted() {
        let jobs = [4_000, 3_000, 2_000, 1_000].map(|work| job(5_100, work, Some(4_500)));
        // All but a nanosecond.
        assert_eq!(found(&jobs), [(5_099, 0); 4]);
        assert_eq!(found(&jobs[..2]), [(0, 4_000), (0, 3_000)], "too few");
    }

    #[test]
    fn jobs_that_take_as_long_as_ever_when_they_are_preempted_do_not() {
        let mut jobs = [job(5_100, 5_100, None); 5].to_vec();
        jobs.extend([6_000, 7_000, 8_000, 9_000].map(|wall| job(wall, 5_100, Some(5_000))));
        let works = vec![(0, 5_100); jobs.len()];
        assert_eq!(found(&jobs), works);
        // A few of other lengths end at the same time by chance.
        jobs.extend([4_000, 3_000, 2_000].map(|work| job(5_100, work, Some(4_500))));
        assert_eq!(found(&jobs)[..5], works[..5]);
        // Nor do they when they are preempted for as long each time.
        let jobs = [job(9_000, 5_100, Some(5_000)); 5];
        assert_eq!(found(&jobs), [(0, 5_100); 5]);
    }

    #[test]
    fn jobs_of_any_length_do_not() {
        // 2 to 8 ms, each second one preempted for 5 ms, somewhere or when its slice of 5 is over:
        // some end as others do, or just after they execute again, by chance.
        let mut random = RandomStream::new(1, 0, "jobs");
        let mut up_to = |most| random.duration_uniform(Duration::ZERO, us(most)).as_nanos() / 1_000;
        let jobs: Vec<_> = (0..800)
            .map(|i| {
                let work = 2_000 + up_to(6_000);
                let after = match work {
                    5_001.. => 5_000,
                    _ => up_to(work),
                };
                match i % 2 {
                    0 => job(work, work, None),
                    _ => job(work + 5_000, work, Some(after + 5_000)),
                }
            })
            .collect();
        let walls = jobs.iter().filter(|(_, c)| c.last < us(150));
        assert!(walls.count() > 2 * LEAST, "some end by chance");
        assert!(found(&jobs).iter().all(|(spin, _)| *spin == 0));
    }

    #[test]
    fn preempted_for_a_moment_they_still_end_by_the_clock() {
        // Each takes 55 us less, which is near to what the others take.
        let mut jobs = [job(2_100, 2_095, None); 5].to_vec();
        jobs.extend([job(2_102, 2_043, Some(1_300)); 4]);
        assert!(found(&jobs).iter().all(|(spin, _)| *spin > 2_000));
        // These take as long as ever, and end as much later.
        let mut jobs = [job(2_100, 2_095, None); 5].to_vec();
        jobs.extend([job(2_158, 2_096, Some(1_300)); 4]);
        assert!(found(&jobs).iter().all(|(spin, _)| *spin == 0));
        // 15 us do not tell.
        let mut jobs = [job(2_100, 2_095, None); 5].to_vec();
        jobs.extend([job(2_105, 2_085, Some(1_300)); 4]);
        assert!(found(&jobs).iter().all(|(spin, _)| *spin == 0));
    }

    #[test]
    fn of_a_job_that_was_under_way_the_begin_does_not_show() {
        let mut jobs = [job(5_100, 5_100, None); 4].to_vec();
        jobs.extend([4_000, 3_000, 2_000].map(|work| job(5_100, work, Some(4_500))));
        jobs[0].1 = Course {
            last: us(5_100),
            ended: jobs[0].1.ended,
            ..Course::under_way(Instant::ZERO)
        };
        assert_eq!(found(&jobs)[..2], [(0, 5_100), (5_099, 0)]);
        // Nor does it when it executes again.
        let mut course = Course::under_way(Instant::ZERO);
        course.begin(Instant::ZERO + us(10));
        assert_eq!(course.began, None);
    }
}
