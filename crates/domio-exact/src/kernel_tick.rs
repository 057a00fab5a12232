//! When the kernels of busy guests tick.
//!
//! A busy Linux guest programs a one-shot timer for each of its own ticks. That timer interrupts
//! the guest and leaves no record, but Xen programs the hardware no earlier than the timer slop
//! after it (xen-spec 0.3), so that a scheduler's timer that was due shortly afterwards comes late
//! by a visible amount. Each late tick or slice therefore says when some timer fired before it.
//! Kernel ticks are a fixed period apart, so the times of one guest agree modulo that period; that
//! is how they are distinguished from other timers.

use crate::late::Late;
use domio_core::{Duration, Instant, VcpuName};
use domio_replay::linux::{KERNEL_TICK, LEAST_AHEAD, apart, next_after};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// Times that differ by less, modulo the period, are of one guest.
pub(super) const SAME: u64 = 1_500;

/// How much later than due is no noise: handlers that do more work than most are up to 3 us late.
pub(super) const LATE: Duration = Duration::from_micros(4);

/// Accounting that waited for the slop after a kernel tick makes timers late in its turn. It takes
/// up to this longer with many vcpus.
const ACCOUNTING: Duration = Duration::from_micros(3);

/// How probable it may be that a phase shows by chance.
const CHANCE: f64 = 0.05;

/// A timer that left no record fired at `at`; see [`Late`] for the rest.
#[derive(Clone, Debug)]
struct Clue {
    at: Instant,
    current: VcpuName,
    since: Instant,
    formers: Vec<VcpuName>,
}

impl Clue {
    /// Whether the timer may be that of `vcpu`.
    fn suits(&self, vcpu: VcpuName) -> bool {
        self.current == vcpu || self.formers.contains(&vcpu)
    }
}

/// For each vcpu whose kernel tick shows in timers that were `late`: the time of one tick. Those of
/// others are `known`.
pub fn kernel_ticks(
    late: &[Late],
    profile: &Profile,
    known: BTreeMap<VcpuName, Instant>,
) -> BTreeMap<VcpuName, Instant> {
    let mut clues = clues(late, profile);
    let mut found = known;
    for (vcpu, expired) in &found {
        forget(&mut clues, *vcpu, *expired, profile);
    }
    // The clearest phase first; what it explains speaks for nobody else.
    while let Some((vcpu, at)) = clearest(&clues, late, profile.timer_slop, &found) {
        // The slop counts from the end of the tick's own softirq.
        let expired = at.saturating_sub(until_exit(profile));
        found.insert(vcpu, expired);
        forget(&mut clues, vcpu, expired, profile);
    }
    found
}

/// Leaves the `clues` that ticks of `vcpu`, of which one `expired` then, do not explain.
fn forget(clues: &mut Vec<Clue>, vcpu: VcpuName, expired: Instant, profile: &Profile) {
    let at = expired + until_exit(profile);
    let waited = at + profile.timer_slop + ACCOUNTING / 2;
    clues.retain(|c| {
        let accounted = apart(c.at, waited) <= ACCOUNTING.as_nanos() / 2;
        let put_off = c.current == vcpu && put_off(expired, c.since, c.at, profile);
        !(c.suits(vcpu) && (near(c.at, at) || accounted) || put_off)
    });
}

/// Whether a slop counts from `at` because of a tick of the guest that executes since `since`,
/// which was due too soon after that. Another of its ticks `expired` then.
fn put_off(expired: Instant, since: Instant, at: Instant, profile: &Profile) -> bool {
    let soonest = since + LEAST_AHEAD;
    let due = next_after(expired, KERNEL_TICK, since);
    let comes = soonest + until_exit(profile);
    due < soonest && at.as_nanos().abs_diff(comes.as_nanos()) <= SAME
}

/// The vcpu and time that most clues agree with and few of its timers deny, if that is not chance,
/// among vcpus not in `found`.
fn clearest(
    clues: &[Clue],
    timers: &[Late],
    slop: Duration,
    found: &BTreeMap<VcpuName, Instant>,
) -> Option<(VcpuName, Instant)> {
    let mut best: Option<(i32, VcpuName, Instant)> = None;
    for clue in clues {
        for vcpu in core::iter::once(clue.current).chain(clue.formers.iter().copied()) {
            if found.contains_key(&vcpu) {
                continue;
            }
            let of = clues.iter().filter(|c| c.suits(vcpu)).count();
            let agree = clues.iter().filter(|c| near(clue.at, c.at));
            let (mut votes, mut count) = (0, 0);
            for other in agree {
                // Those seen while it ran count double.
                votes += match (other.current == vcpu, other.suits(vcpu)) {
                    (true, _) => 2,
                    (_, true) => 1,
                    _ => -1,
                };
                count += usize::from(other.suits(vcpu));
            }
            let deny = |t: &&Late| t.current == vcpu && t.denies(clue.at, KERNEL_TICK, slop);
            votes -= 2 * timers.iter().filter(deny).count() as i32;
            if votes >= 2 && !by_chance(count, of) && best.is_none_or(|b| votes > b.0) {
                best = Some((votes, vcpu, clue.at));
            }
        }
    }
    best.map(|(_, vcpu, at)| (vcpu, at))
}

/// Whether `count` of `of` times that have nothing to do with each other may well be near each
/// other. A single one of two is taken at its word: nothing speaks against it.
fn by_chance(count: usize, of: usize) -> bool {
    let mean = of as f64 * (2 * SAME) as f64 / KERNEL_TICK.as_nanos() as f64;
    let others = (1..count).fold(1.0, |p, i| p * mean / i as f64);
    of > 2 && of as f64 * others > CHANCE
}

/// Whether a kernel tick of `ticks`, as [`kernel_ticks`] finds them, is why a timer was `late`.
pub fn explains(ticks: &BTreeMap<VcpuName, Instant>, late: &Late, profile: &Profile) -> bool {
    let at = late.came.saturating_sub(profile.timer_slop);
    let of = |(vcpu, tick): (&VcpuName, &Instant)| {
        let put_off = late.current == *vcpu && put_off(*tick, late.since, at, profile);
        put_off || late.concerns(*vcpu) && near(at, *tick + until_exit(profile))
    };
    late.came > late.due + LATE && ticks.iter().any(of)
}

/// Whether two times are the same modulo the period.
fn near(a: Instant, b: Instant) -> bool {
    apart(a, b) <= SAME
}

/// From the expiry of a guest's timer to the time that the slop counts from.
pub(super) fn until_exit(profile: &Profile) -> Duration {
    profile.softirq.of_guest() + profile.softirq.exit
}

fn clues(late: &[Late], profile: &Profile) -> Vec<Clue> {
    late.iter()
        .filter(|l| l.came > l.due + LATE && !l.explained)
        .map(|l| Clue {
            at: l.came.saturating_sub(profile.timer_slop),
            current: l.current,
            since: l.since,
            formers: l.formers.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::PcpuId;

    const PROFILE: Profile = Profile::XEN_4_17_EMULATED;
    const G1: VcpuName = VcpuName::new(domio_core::DomainId(1), 0);

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    /// A timer that was due at `due` and came `late` microseconds later while g1 ran.
    fn timer(due: u64, late: u64) -> Late {
        Late {
            pcpu: PcpuId(0),
            due: us(due),
            came: us(due + late),
            current: G1,
            since: us(due.saturating_sub(5_000)),
            formers: Vec::new(),
            explained: false,
        }
    }

    /// The slop after a tick at 1 ms, modulo 4 ms, ends at 1,051.88.
    #[test]
    fn timers_that_came_late_at_one_phase_show_a_tick() {
        let late = [timer(13_020, 32), timer(21_033, 19)];
        let found = kernel_ticks(&late, &PROFILE, BTreeMap::new());
        let phase = found[&G1].as_nanos() % 4_000_000;
        assert!(phase.abs_diff(1_000_000) < 1_000, "{phase}");
        assert!(explains(&found, &late[0], &PROFILE));
        assert!(!explains(&found, &timer(13_120, 33), &PROFILE));
    }

    #[test]
    fn what_a_known_tick_explains_speaks_for_nobody() {
        let other = VcpuName::new(domio_core::DomainId(2), 0);
        let late = [timer(13_020, 32), timer(21_033, 19)];
        let late = late.map(|l| Late {
            formers: vec![other],
            ..l
        });
        let known = |phase| BTreeMap::from([(other, us(phase))]);
        assert_eq!(kernel_ticks(&late, &PROFILE, known(5_000)), known(5_000));
        // Theirs is not looked for where it is known.
        let found = kernel_ticks(&late, &PROFILE, known(5_500));
        assert_eq!((found.len(), found[&other]), (2, us(5_500)));
        assert!(apart(found[&G1], us(1_000)) < 1_000);
    }

    #[test]
    fn a_tick_that_is_due_too_soon_is_put_off() {
        // Due 70 us after g1 executes again, it comes 62 us later; so does the end of its slop.
        let since = us(20_930);
        let came = since + LEAST_AHEAD + until_exit(&PROFILE) + PROFILE.timer_slop;
        let late = Late {
            since,
            came,
            due: came.saturating_sub(Duration::from_micros(9)),
            ..timer(0, 0)
        };
        let known = |phase| BTreeMap::from([(G1, us(phase))]);
        assert!(explains(&known(5_000), &late, &PROFILE));
        assert_eq!(
            kernel_ticks(core::slice::from_ref(&late), &PROFILE, known(5_000)),
            known(5_000)
        );
        // One that is due later than that is not put off.
        assert!(!explains(&known(5_070), &late, &PROFILE));
        let other = VcpuName::new(domio_core::DomainId(2), 0);
        assert!(!explains(&[(other, us(5_000))].into(), &late, &PROFILE));
    }

    #[test]
    fn the_tick_of_one_that_waits_shows_whoever_runs() {
        let g = |id| VcpuName::new(domio_core::DomainId(id), 0);
        let beside = |due, late, current, waits: &[VcpuName]| Late {
            current,
            formers: waits.to_vec(),
            ..timer(due, late)
        };
        // Of each two that it may be of, g4 is one.
        let late = [
            beside(13_020, 32, g(2), &[g(4)]),
            beside(25_020, 32, g(3), &[g(2), g(4)]),
            beside(41_030, 22, g(3), &[g(4)]),
            beside(53_010, 42, g(4), &[]),
        ];
        let found = kernel_ticks(&late, &PROFILE, BTreeMap::new());
        assert_eq!(found.keys().collect::<Vec<_>>(), [&g(4)]);
    }

    #[test]
    fn a_timer_that_came_on_time_denies_a_tick_just_before() {
        let on_time = timer(29_030, 0);
        assert!(
            kernel_ticks(
                &[timer(13_020, 33), on_time.clone()],
                &PROFILE,
                BTreeMap::new()
            )
            .is_empty()
        );
        // Later than the slop it says nothing.
        let later = timer(29_060, 0);
        assert_eq!(
            kernel_ticks(&[timer(13_020, 33), later], &PROFILE, BTreeMap::new()).len(),
            1
        );
        // Nor does it while another guest ran at that time.
        let mut other = on_time;
        other.since = us(29_010);
        assert_eq!(
            kernel_ticks(&[timer(13_020, 33), other], &PROFILE, BTreeMap::new()).len(),
            1
        );
    }
}
