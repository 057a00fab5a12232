//! When jobs were due whose timers came late, or while another interrupt's work waited.
//!
//! A guest that works in a loop by the clock ([`clock`](crate::demand::clock)) sleeps until the
//! next of times that are a period apart. When one job ends after the next is due, the wake-up of
//! that follows the block immediately and does not show when it was due; nor does one that was due
//! while the guest, woken by a tick, waited for the processor. Jobs that came on time before and
//! after show it: the others are as many periods apart.

use crate::demand::clock::{apart, usual};
use crate::linux::{KERNEL_TICK, LEAST};
use crate::process::{Arrival, Demand};
use domio_core::{Duration, Instant};

/// Wake-ups that come on time are multiples of the period apart, give or take this: Linux wakes a
/// task up to 50 us after the time it asked for, when that saves an interrupt (`timer_slack_ns`).
const SPREAD: Duration = Duration::from_micros(50);

/// How often a period has to show.
const SHOWN: usize = 3;

/// `demands`, done at `blocks`, with the times at which jobs in turn were due where that shows.
/// Its kernel ticks at multiples of [`KERNEL_TICK`] from `tick`, if that is known.
pub fn due(mut demands: Vec<Demand>, blocks: &[Instant], tick: Option<Instant>) -> Vec<Demand> {
    let jobs = turns(&demands);
    // By their place among the jobs.
    let on_time: Vec<usize> = (0..jobs.len())
        .filter(|n| came_on_time(&demands, blocks, jobs[*n]))
        .collect();
    let at = |n: usize| demands[jobs[n]].at;
    let Some(period) = period(&on_time, at) else {
        return demands;
    };
    let mut due: Vec<Option<Instant>> = vec![None; demands.len()];
    for pair in on_time.windows(2) {
        let (first, last) = (pair[0], pair[1]);
        let between = at(last).saturating_since(at(first));
        // Where several turns took place in one run, that is of those before the next on time.
        let jobs_between = (last - first) as u64;
        let periods = (between + period / 2).as_nanos() / period.as_nanos();
        if periods < jobs_between || apart(between, period * periods) > SPREAD {
            continue;
        }
        for n in first + 1..last {
            due[jobs[n]] = Some(at(first) + between * (n - first) as u64 / periods);
        }
    }
    for (demand, due) in demands.iter_mut().zip(&due) {
        if let Some(due) = *due
            && demand.has_timer()
            // One that was set by less than its least time ahead came at its own time.
            && due + LEAST * 2 <= demand.at
        {
            demand.at = due;
        }
    }
    with_ticks(demands, &due, blocks, tick)
}

/// The places of jobs in turn among `demands`.
fn turns(demands: &[Demand]) -> Vec<usize> {
    long(demands, Demand::in_turn)
}

/// The places of those `jobs` among `demands` that take more than half as long as most: what takes
/// much less is none of them, but something else that has a timer.
pub(super) fn long(demands: &[Demand], jobs: impl Fn(&Demand) -> bool) -> Vec<usize> {
    let takes = |i: usize| demands[i].spin.max(demands[i].work);
    let mut found: Vec<usize> = (0..demands.len()).filter(|i| jobs(&demands[*i])).collect();
    let mut lengths: Vec<Duration> = found.iter().map(|i| takes(*i)).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    found.retain(|i| takes(*i) > median / 2);
    found
}

/// `demands` with the ticks that a kernel takes after each job, unless the next job comes first,
/// and those apart from the job that was `due` while the tick's work waited.
fn with_ticks(
    demands: Vec<Demand>,
    due: &[Option<Instant>],
    blocks: &[Instant],
    tick: Option<Instant>,
) -> Vec<Demand> {
    let Some(tick) = tick else {
        return demands;
    };
    let work = tick_work(&demands);
    let tick = Demand {
        at: tick,
        spin: Duration::ZERO,
        work,
        arrival: Arrival::Tick {
            period: KERNEL_TICK,
            least: LEAST,
            saved: work,
        },
    };
    let after_jobs = follow_jobs(&demands, blocks, &tick);
    let mut found = Vec::with_capacity(demands.len());
    for (i, mut demand) in demands.iter().copied().enumerate() {
        match (due[i], demand.arrival) {
            (Some(due), Arrival::Tick { .. }) if due > demand.at && !demand.spin.is_zero() => {
                let work = tick.work.min(demand.spin);
                found.push(Demand {
                    at: demand.at,
                    work,
                    ..tick
                });
                demand.at = due;
                demand.spin -= work;
                demand.arrival = Arrival::Timer { least: LEAST };
            }
            _ if demand.has_timer() && after_jobs && i > 0 && both_in_turn(&demands[i - 1..=i]) => {
                found.push(tick);
            }
            _ => {}
        }
        found.push(demand);
    }
    found
}

fn both_in_turn(pair: &[Demand]) -> bool {
    pair.iter().all(Demand::in_turn)
}

/// Whether the first `tick` after a job comes, unless the next job does before: four times as often
/// as it fails to.
fn follow_jobs(demands: &[Demand], blocks: &[Instant], tick: &Demand) -> bool {
    let (mut came, mut failed) = (0, 0);
    for (pair, done) in demands.windows(2).zip(blocks) {
        if !pair[0].in_turn() {
            continue;
        }
        let missing = tick.after(*done).is_some_and(|at| at + SPREAD < pair[1].at);
        match pair[1].arrival {
            Arrival::Tick { .. } => came += 1,
            _ if missing => failed += 1,
            _ => {}
        }
    }
    came > failed * 4
}

/// Whether job `i` was woken by a timer that was due after the block before.
fn came_on_time(demands: &[Demand], blocks: &[Instant], i: usize) -> bool {
    let Some(block) = i.checked_sub(1).and_then(|b| blocks.get(b)) else {
        return false;
    };
    demands[i].has_timer() && demands[i].at > *block + LEAST
}

/// What a tick takes that finds nothing else to do: the median of those that no job follows.
fn tick_work(demands: &[Demand]) -> Duration {
    let mut works: Vec<Duration> = demands
        .iter()
        .filter(|d| !d.in_turn() && matches!(d.arrival, Arrival::Tick { .. }))
        .map(|d| d.work)
        .collect();
    works.sort_unstable();
    let median = works.get(works.len() / 2).copied();
    median.unwrap_or(Duration::from_nanos(1))
}

/// The time between most jobs that follow each other and both came on time.
fn period(on_time: &[usize], at: impl Fn(usize) -> Instant) -> Option<Duration> {
    let gaps = on_time
        .windows(2)
        .filter(|pair| pair[1] == pair[0] + 1)
        .map(|pair| at(pair[1]).since(at(pair[0])))
        .collect();
    usual(gaps, SPREAD, SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMER: Arrival = Arrival::Timer { least: LEAST };
    const TICK: Arrival = Arrival::Tick {
        period: KERNEL_TICK,
        least: LEAST,
        saved: Duration::ZERO,
    };

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    /// Wake-up, spin and work in microseconds, and arrival.
    type Job = (u64, u64, u64, Arrival);

    fn demand((at, spin, work, arrival): Job) -> Demand {
        Demand {
            at: us(at),
            spin: Duration::from_micros(spin),
            work: Duration::from_micros(work),
            arrival,
        }
    }

    /// Jobs every 10 ms, each done 6 ms after its wake-up, with a tick 1 ms later; but the fifth,
    /// if given, as it is, done at the time beside it, and without a tick before.
    fn jobs(fifth: Option<(Job, u64)>) -> (Vec<Demand>, Vec<Instant>) {
        let (mut demands, mut blocks) = (vec![demand((0, 0, 1, Arrival::Outside))], vec![us(1)]);
        let mut add = |job: Job, done: u64| {
            demands.push(demand(job));
            blocks.push(us(done));
        };
        for n in 1..=9 {
            let at = 10_000 * n;
            match fifth {
                Some((job, done)) if n == 5 => add(job, done),
                _ => add((at, 5_900, 100, TIMER), at + 6_000),
            }
            if fifth.is_none() || !(4..=5).contains(&n) {
                add((at + 7_000, 0, 50, TICK), at + 7_050);
            }
        }
        (demands, blocks)
    }

    fn wakes(demands: &[Demand]) -> Vec<(u64, bool)> {
        let read = |d: &Demand| {
            (
                d.at.as_nanos() / 1_000,
                matches!(d.arrival, Arrival::Tick { .. }),
            )
        };
        demands.iter().map(read).collect()
    }

    #[test]
    fn a_job_that_came_late_was_due_a_period_after_the_one_before() {
        // The fourth is done late, so that the fifth follows it at once.
        let late = ((53_000, 5_900, 100, TIMER), 59_000);
        let (demands, mut blocks) = jobs(Some(late));
        blocks[7] = us(53_000);
        let found = due(demands.clone(), &blocks, None);
        assert_eq!(wakes(&demands)[7..9], [(40_000, false), (53_000, false)]);
        assert_eq!(wakes(&found)[7..9], [(40_000, false), (50_000, false)]);
        assert_eq!(found.len(), demands.len());
        // A timer that was set when it was nearly due comes a moment later, at its own time.
        let (mut demands, mut blocks) = jobs(None);
        (demands[9].at, blocks[8]) = (us(50_130), us(50_080));
        let found = due(demands.clone(), &blocks, None);
        assert_eq!(wakes(&found)[9], (50_130, false));
    }

    #[test]
    fn of_two_turns_in_one_run_the_first_was_due_a_period_after_the_one_before() {
        // The fourth is done at 63 ms, and one run until 69 ms is the fifth and the sixth.
        let (mut demands, mut blocks) = jobs(None);
        (demands[9].at, blocks[7], blocks[9]) = (us(63_000), us(63_000), us(69_000));
        for gone in [12, 11, 10, 8] {
            demands.remove(gone);
            blocks.remove(gone);
        }
        let found = due(demands.clone(), &blocks, None);
        let of = |found: &[Demand]| wakes(found)[7..10].to_vec();
        let turns = |fifth| [(40_000, false), (fifth, false), (70_000, false)];
        assert_eq!(of(&demands), turns(63_000));
        assert_eq!(of(&found), turns(50_000));
        // Nothing says when it was due where a new series begins.
        for demand in &mut demands[9..] {
            demand.at += Duration::from_micros(700);
        }
        assert_eq!(of(&due(demands.clone(), &blocks, None)), of(&demands));
    }

    #[test]
    fn without_a_period_nothing_is_known() {
        let late = ((53_000, 5_900, 100, TIMER), 59_000);
        let (mut demands, mut blocks) = jobs(Some(late));
        blocks[7] = us(53_000);
        // Two jobs alone, before the late one, could be a period apart by chance.
        let few = |from: usize, to: usize| {
            let kept = [0].into_iter().chain(from..to);
            let pick = |i: usize| (demands[i], blocks[i]);
            kept.map(pick).unzip::<_, _, Vec<_>, Vec<_>>()
        };
        let (some, done) = few(5, 12);
        assert_eq!(due(some.clone(), &done, Some(us(3_000))), some);
        let (some, done) = few(1, 12);
        assert_ne!(due(some.clone(), &done, Some(us(3_000))), some);
        for (i, demand) in demands.iter_mut().enumerate().skip(1) {
            demand.at += Duration::from_micros(100 * (i * i) as u64);
        }
        assert_eq!(due(demands.clone(), &blocks, Some(us(3_000))), demands);
    }

    #[test]
    fn a_tick_whose_work_waited_until_a_job_was_due_is_apart_from_it() {
        // Woken by a tick at 47 ms, it executes from 51 ms on.
        let late = ((47_000, 5_900, 100, TICK), 57_000);
        let (demands, blocks) = jobs(Some(late));
        let found = due(demands.clone(), &blocks, Some(us(3_000)));
        assert_eq!(wakes(&found)[8..10], [(47_000, true), (50_000, false)]);
        let (tick, job) = (&found[8], &found[9]);
        assert_eq!((tick.spin.as_nanos(), tick.work.as_nanos()), (0, 50_000));
        assert_eq!(
            (job.spin.as_nanos(), job.work.as_nanos()),
            (5_850_000, 100_000)
        );
    }

    #[test]
    fn the_next_job_may_come_before_the_tick_that_would_follow() {
        let late = ((53_000, 5_900, 100, TIMER), 59_000);
        let (demands, mut blocks) = jobs(Some(late));
        blocks[7] = us(53_000);
        let found = due(demands, &blocks, Some(us(3_000)));
        assert_eq!(
            wakes(&found)[7..10],
            [(40_000, false), (3_000, true), (50_000, false)]
        );
        // A guest without such ticks has none.
        let (demands, blocks) = jobs(None);
        let of_job = |d: &&Demand| !matches!(d.arrival, Arrival::Tick { .. });
        let demands: Vec<Demand> = demands.iter().filter(of_job).copied().collect();
        let blocks: Vec<Instant> = blocks.iter().step_by(2).copied().collect();
        assert_eq!(due(demands.clone(), &blocks, Some(us(3_000))), demands);
    }
}
