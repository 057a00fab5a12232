//! When the kernels of busy guests tick.
//!
//! A busy Linux guest programs a one-shot timer for each of its own ticks. That timer interrupts
//! the guest and leaves no record, but Xen programs the hardware no earlier than the timer slop
//! after it (xen-spec 0.3), so that a scheduler's timer that was due shortly afterwards comes late
//! by a visible amount. Each late tick or slice therefore tells when some timer fired before it.
//! Kernel ticks are a fixed period apart, so the times of one guest agree modulo that period; that
//! is how they are told from other timers.

use super::demand::SCHEDULE;
use super::start::{is_tick, tick_period};
use super::unseen::Accountings;
use domio_core::{Duration, Instant, Kind, PcpuId, Record, Runstate, VcpuName};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// Period of the tick of the recorded guests: `CONFIG_HZ=250` of Debian's kernels.
pub const KERNEL_TICK: Duration = Duration::from_millis(4);

/// Times that differ by less, modulo the period, are of one guest.
const SAME: u64 = 1_500;

/// How much later than due is no noise: handlers that do more work than most are up to 3 us late.
const LATE: Duration = Duration::from_micros(4);

/// How probable it may be that a phase shows by chance.
const CHANCE: f64 = 0.05;

/// A timer that left no record fired at `at`, while `current` ran.
#[derive(Clone, Copy, Debug)]
struct Clue {
    at: Instant,
    current: VcpuName,
    /// Who was preempted before it, if that was within the last period: its timer may still be
    /// set.
    former: Option<VcpuName>,
}

impl Clue {
    /// Whether the timer may be that of `vcpu`.
    fn suits(&self, vcpu: VcpuName) -> bool {
        self.current == vcpu || self.former == Some(vcpu)
    }
}

/// For each vcpu whose kernel tick shows: the time of one tick. `accountings`, which leave no
/// record mostly, make timers late as well.
pub fn kernel_ticks(
    records: &[Record],
    profile: &Profile,
    tslice: Duration,
    accountings: &Accountings,
) -> BTreeMap<VcpuName, Instant> {
    let mut clues = clues(records, profile, tslice, accountings);
    let mut found = BTreeMap::new();
    // The clearest phase first; what it explains speaks for nobody else.
    while let Some((vcpu, at)) = clearest(&clues, &found) {
        // The slop counts from the end of the tick's own interrupt.
        found.insert(vcpu, at.saturating_sub(profile.interrupt));
        clues.retain(|c| !(c.suits(vcpu) && near(c.at, at)));
    }
    found
}

/// The vcpu and time that most clues agree with, if that is not chance, among vcpus not in `found`.
fn clearest(clues: &[Clue], found: &BTreeMap<VcpuName, Instant>) -> Option<(VcpuName, Instant)> {
    let mut best: Option<(i32, VcpuName, Instant)> = None;
    for clue in clues {
        for vcpu in [Some(clue.current), clue.former].into_iter().flatten() {
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

/// Whether two times are the same modulo the period.
fn near(a: Instant, b: Instant) -> bool {
    let phase = |at: Instant| at.as_nanos() % KERNEL_TICK.as_nanos();
    let d = phase(a).abs_diff(phase(b));
    d.min(KERNEL_TICK.as_nanos() - d) <= SAME
}

/// Follows what runs on one pcpu and which of its timers come late.
#[derive(Clone, Copy, Default)]
struct Follower {
    current: Option<VcpuName>,
    former: Option<(VcpuName, Instant)>,
    tick: Option<Instant>,
    pass: Option<Instant>,
    slice_end: Option<Instant>,
    /// Last timer or wake-up that shows in the trace.
    known: Option<Instant>,
}

fn clues(
    records: &[Record],
    profile: &Profile,
    tslice: Duration,
    accountings: &Accountings,
) -> Vec<Clue> {
    let tick = tick_period(tslice);
    let mut pcpus: BTreeMap<PcpuId, Follower> = BTreeMap::new();
    let mut found = Vec::new();
    for r in records {
        let p = pcpus.entry(r.pcpu).or_default();
        let mut late = None;
        match r.kind {
            Kind::Wake | Kind::Sleep => p.known = Some(r.at),
            Kind::Policy if is_tick(r) => {
                let expired = r.at.saturating_sub(profile.tick_to_record);
                late = p.tick.map(|last| (last + tick, expired));
                p.tick = Some(expired + profile.timer_to_handler[0]);
            }
            Kind::Policy if r.policy_event().is_some_and(|(e, _)| e == SCHEDULE) => {
                let expired = r.at.saturating_sub(profile.timer_to_pass);
                late = p.slice_end.take().map(|end| (end, expired));
                p.pass = Some(r.at);
            }
            Kind::InfNext => p.slice_end = slice_end(p.pass, r.data[1]),
            Kind::Continue => p.slice_end = slice_end(p.pass, r.data[1]),
            Kind::RunstateChange => follow(p, r),
            _ => {}
        }
        if let Some((due, expired)) = late
            && let Some(current) = p.current
            && expired > due + LATE
            && expired < due + profile.timer_slop + Duration::from_micros(5)
        {
            let at = expired.saturating_sub(profile.timer_slop);
            let shown = p
                .known
                .is_some_and(|k| at.saturating_since(k) < profile.timer_slop)
                || accountings.near(at, profile.timer_slop);
            if !shown {
                let former = p
                    .former
                    .filter(|(_, until)| at.saturating_since(*until) < KERNEL_TICK)
                    .map(|(vcpu, _)| vcpu);
                found.push(Clue {
                    at,
                    current,
                    former,
                });
            }
        }
    }
    found
}

fn follow(p: &mut Follower, r: &Record) {
    let Some((old, new)) = r.runstates() else {
        return;
    };
    if old == Runstate::Running {
        p.former = (new == Runstate::Runnable && !r.vcpu.is_idle()).then_some((r.vcpu, r.at));
    }
    if new == Runstate::Running {
        p.current = (!r.vcpu.is_idle()).then_some(r.vcpu);
    }
}

fn slice_end(pass: Option<Instant>, slice: u32) -> Option<Instant> {
    if slice == u32::MAX {
        return None;
    }
    Some(pass? + Duration::from_nanos(u64::from(slice)))
}
