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
use domio_core::{Duration, Instant, Kind, PcpuId, Record, Runstate, VcpuName};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// Period of the tick of the recorded guests: `CONFIG_HZ=250` of Debian's kernels.
pub const KERNEL_TICK: Duration = Duration::from_millis(4);

/// Times that differ by less, modulo the period, are of one guest.
const SAME: u64 = 1_500;

/// A timer that left no record fired at `at`, while `current` ran.
#[derive(Clone, Copy, Debug)]
struct Clue {
    at: Instant,
    current: VcpuName,
    /// Who ran before it, if that was within the last period: its timer may still be set.
    former: Option<VcpuName>,
}

/// For each vcpu whose kernel tick shows: the time of one tick.
pub fn kernel_ticks(
    records: &[Record],
    profile: &Profile,
    tslice: Duration,
) -> BTreeMap<VcpuName, Instant> {
    let clues = clues(records, profile, tslice);
    let phase = |at: Instant| at.as_nanos() % KERNEL_TICK.as_nanos();
    let near = |a: Instant, b: Instant| {
        let d = phase(a).abs_diff(phase(b));
        d.min(KERNEL_TICK.as_nanos() - d) <= SAME
    };
    // For each vcpu, the clue that most others agree with: those seen while it ran count double.
    let mut best: BTreeMap<VcpuName, (i32, Instant)> = BTreeMap::new();
    for clue in &clues {
        for vcpu in [Some(clue.current), clue.former].into_iter().flatten() {
            let votes: i32 = clues
                .iter()
                .filter(|other| near(clue.at, other.at))
                .map(|other| {
                    if other.current == vcpu {
                        2
                    } else if other.former == Some(vcpu) {
                        1
                    } else {
                        -1
                    }
                })
                .sum();
            let known = best.entry(vcpu).or_insert((0, clue.at));
            if votes > known.0 {
                *known = (votes, clue.at);
            }
        }
    }
    best.retain(|_, (votes, _)| *votes >= 2);
    // The slop counts from the end of the tick's own interrupt.
    best.into_iter()
        .map(|(vcpu, (_, at))| (vcpu, at.saturating_sub(profile.interrupt)))
        .collect()
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

fn clues(records: &[Record], profile: &Profile, tslice: Duration) -> Vec<Clue> {
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
            && expired > due + Duration::from_micros(2)
            && expired < due + profile.timer_slop + Duration::from_micros(5)
        {
            let at = expired.saturating_sub(profile.timer_slop);
            let shown = p
                .known
                .is_some_and(|k| at.saturating_since(k) < profile.timer_slop);
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
        p.former = (!r.vcpu.is_idle()).then_some((r.vcpu, r.at));
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
