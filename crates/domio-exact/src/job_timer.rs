//! Timers of the jobs of guests that never sleep.
//!
//! A guest in which one task works now and then while another burns never blocks, so that none of
//! its jobs shows as a wake-up. But the timer of each job interrupts the guest as its kernel's
//! ticks do, and by the timer slop (xen-spec 0.3) makes timers of the scheduler late that are due
//! soon afterwards. While the guest waits for the processor it matters twice: Xen has one timer for
//! a vcpu, so that of the tick and the job only the first comes.
//!
//! Jobs come at multiples of a period that the guest has chosen: a whole number of milliseconds, as
//! far as is looked for here.

use crate::kernel_tick::{LATE, SAME, explains, until_exit};
use crate::late::Late;
use domio_core::{Duration, Instant, VcpuName};
use domio_replay::linux::apart;
use domio_validate::simulated::JobTimer;
use domio_vmm::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// What comes as near as this to a tick of the guest's kernel was set off by it: a timer that the
/// slop after the tick held back has a slop of its own.
const SET_OFF: u64 = 100_000;

/// Periods that are tried.
const PERIODS: core::ops::RangeInclusive<u64> = 2..=100;

/// How probable it may be that one of all series that are tried shows by chance.
const CHANCE: f64 = 0.01;

/// How many more timers have to be late by a series than to come in time in spite of it.
const DENIED: usize = 4;

/// How far `at` is from the nearest of the times of `timer`, in nanoseconds.
fn apart_from(timer: &JobTimer, at: Instant) -> u64 {
    let until = timer.after(at).since(at).as_nanos();
    until.min(timer.period.as_nanos() - until)
}

/// Whether `timer` is why a timer was `late`.
pub fn is_why(timer: &JobTimer, late: &Late, profile: &Profile) -> bool {
    late.came > late.due + LATE && apart_from(timer, expired(late, profile)) <= SAME
}

/// When the guest's timer expired that made this one late.
fn expired(late: &Late, profile: &Profile) -> Instant {
    late.came
        .saturating_sub(profile.timer_slop + until_exit(profile))
}

/// For each vcpu that is none of `sleepers` and whose jobs show in timers that were `late`, but not
/// by the kernel's `ticks`: their timer.
pub fn job_timers(
    late: &[Late],
    ticks: &BTreeMap<VcpuName, Instant>,
    sleepers: &BTreeSet<VcpuName>,
    profile: &Profile,
) -> BTreeMap<VcpuName, JobTimer> {
    let mut clues: BTreeMap<VcpuName, Vec<Instant>> = BTreeMap::new();
    let unexplained = late
        .iter()
        .filter(|l| l.came > l.due + LATE && !l.explained)
        .filter(|l| !sleepers.contains(&l.current) && !explains(ticks, l, profile));
    for late in unexplained {
        let at = expired(late, profile);
        let tick = ticks.get(&late.current);
        let set_off = tick.is_some_and(|tick| apart(*tick, at) <= SET_OFF);
        if !set_off {
            clues.entry(late.current).or_default().push(at);
        }
    }
    let found = clues.into_iter().filter_map(|(vcpu, clues)| {
        let (series, count) = clearest(&clues)?;
        let slop = profile.timer_slop;
        let denies = |l: &&Late| l.current == vcpu && l.denies(series.at, series.period, slop);
        let denied = late.iter().filter(denies).count();
        (denied * DENIED <= count).then_some((vcpu, series))
    });
    found.collect()
}

/// The series that is least likely to show in `clues` by chance, with how many it explains, if that
/// is none.
fn clearest(clues: &[Instant]) -> Option<(JobTimer, usize)> {
    let mut best: Option<(f64, JobTimer, usize)> = None;
    for period in PERIODS.map(Duration::from_millis) {
        for at in clues.iter().copied() {
            let series = JobTimer { at, period };
            let count = clues
                .iter()
                .filter(|c| apart_from(&series, **c) <= SAME)
                .count();
            let chance = by_chance(count, clues.len(), period);
            if best.is_none_or(|(least, ..)| chance < least) {
                best = Some((chance, series, count));
            }
        }
    }
    let tried = (clues.len() * PERIODS.count()) as f64;
    best.filter(|(chance, ..)| chance * tried < CHANCE)
        .map(|(_, series, count)| (series, count))
}

/// How probable it is that `count` of `of` times which have nothing to do with each other are near
/// a given one of them modulo `period`, that one included.
fn by_chance(count: usize, of: usize, period: Duration) -> f64 {
    let mean = of as f64 * (2 * SAME) as f64 / period.as_nanos() as f64;
    (1..count).fold(1.0, |p, i| p * mean / i as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, PcpuId};

    const PROFILE: Profile = Profile::XEN_4_17_EMULATED;
    const MIXED: VcpuName = VcpuName::new(DomainId(1), 0);

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    /// A timer of the scheduler that was due `after` microseconds after `timer` of the mixed guest,
    /// and came when the slop was over, or at once.
    fn due(timer: u64, after: u64, held: bool) -> Late {
        let due = us(timer + after);
        let came = us(timer) + until_exit(&PROFILE) + PROFILE.timer_slop;
        Late {
            pcpu: PcpuId(0),
            due,
            came: if held { came } else { due },
            current: MIXED,
            since: us(0),
            formers: Vec::new(),
            explained: false,
        }
    }

    /// Those that five of the jobs made late which come at 3 ms modulo 10 ms, and twenty that come
    /// late at times of their own.
    fn timers() -> Vec<Late> {
        let of_jobs = [2, 5, 6, 11, 40].map(|n| due(10_000 * n + 3_000, 7 * n % 40, true));
        let others = (1..=20).map(|n| due(17_000 * n + 37 * n * n, 20, true));
        of_jobs.into_iter().chain(others).collect()
    }

    fn found(late: &[Late], sleepers: &[VcpuName]) -> BTreeMap<VcpuName, JobTimer> {
        let sleepers = sleepers.iter().copied().collect();
        job_timers(late, &BTreeMap::new(), &sleepers, &PROFILE)
    }

    #[test]
    fn jobs_show_in_timers_that_are_late_at_multiples_of_their_period() {
        let late = timers();
        let series = found(&late, &[])[&MIXED];
        assert_eq!(series.period, Duration::from_millis(10));
        assert!(apart_from(&series, us(73_000)) <= SAME, "{series:?}");
        let is_why = |n: usize| is_why(&series, &late[n], &PROFILE);
        assert!(is_why(0) && !is_why(7));
        assert_eq!(series.after(us(500_000)), us(503_000));
        assert_eq!(found(&late, &[MIXED]), BTreeMap::new(), "it sleeps");
        assert_eq!(found(&late[2..], &[]), BTreeMap::new(), "could be chance");
    }

    #[test]
    fn what_comes_in_time_after_a_job_denies_it() {
        let mut late = timers();
        late.push(due(123_000, 25, false));
        assert_eq!(found(&late, &[]).len(), 1);
        late.push(due(173_000, 30, false));
        assert_eq!(found(&late, &[]), BTreeMap::new());
    }

    #[test]
    fn what_a_tick_of_the_kernel_sets_off_is_no_job() {
        let late = timers();
        let of_tick = |at| {
            let ticks = BTreeMap::from([(MIXED, us(at))]);
            job_timers(&late, &ticks, &BTreeSet::new(), &PROFILE).len()
        };
        // Of 43 and 63 ms, say, every second one is 30 us after a tick at 2.97 ms modulo 4 ms.
        assert_eq!((of_tick(2_970), of_tick(2_000)), (0, 1));
    }
}
