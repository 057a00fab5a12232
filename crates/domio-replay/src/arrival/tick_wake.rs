//! Kernel ticks that wake a guest.
//!
//! A Linux guest that goes idle leaves its kernel's tick set once more, so that most of its sleeps
//! begin with a wake-up at one phase of the tick's period. The same tick comes at that phase while
//! the guest executes, where it leaves no record.

use crate::linux::{JITTER, KERNEL_TICK, LEAST, apart};
use crate::named::NamedRecord;
use domio_core::{Instant, Kind, VcpuName};
use std::collections::BTreeMap;

/// Ticks of one guest that wake it differ by less, modulo their period: the slop holds some back.
const SPREAD: u64 = 30_000;

/// Those that nothing holds back differ by less.
const SAME: u64 = 500;

/// Whether a wake-up `at` is at the `phase` of ticks.
pub fn is_one(at: Instant, phase: Instant) -> bool {
    apart(at, phase) <= SPREAD
}

/// The phase that most wake-ups within one tick of a block share, if it is no chance: ticks are a
/// sixtieth of the period wide, so a tenth of at least ten are many. `wakes` are the times of a
/// guest's wake-ups, each with that of the block before.
pub fn phase(wakes: impl Iterator<Item = (Instant, Instant)>) -> Option<Instant> {
    let gap = |(at, block): &(Instant, Instant)| at.saturating_since(*block);
    let soon: Vec<Instant> = wakes
        .filter(|w| gap(w) > LEAST + JITTER && gap(w) <= KERNEL_TICK)
        .map(|(at, _)| at)
        .collect();
    let near = |at: Instant, by: u64| soon.iter().filter(move |t| apart(**t, at) <= by);
    let (count, about) = soon
        .iter()
        .map(|at| (near(*at, SPREAD).count(), *at))
        .max()?;
    let enough = soon.len() >= 10 && count * 10 >= soon.len();
    let on_time = near(about, SPREAD).max_by_key(|at| (near(**at, SAME).count(), **at));
    on_time.copied().filter(|_| enough)
}

/// For each vcpu that its kernel's ticks wake: the time of one such wake-up.
pub fn woken_by_ticks(records: &[NamedRecord]) -> BTreeMap<VcpuName, Instant> {
    let mut asleep: BTreeMap<VcpuName, Instant> = BTreeMap::new();
    let mut wakes: BTreeMap<VcpuName, Vec<(Instant, Instant)>> = BTreeMap::new();
    for r in records {
        match r.kind {
            Some(Kind::Block) => {
                asleep.insert(r.vcpu, r.at);
            }
            Some(Kind::Wake) => {
                if let Some(block) = asleep.remove(&r.vcpu) {
                    wakes.entry(r.vcpu).or_default().push((r.at, block));
                }
            }
            _ => {}
        }
    }
    let phase_of = |(vcpu, wakes): (VcpuName, Vec<_>)| Some((vcpu, phase(wakes.into_iter())?));
    wakes.into_iter().filter_map(phase_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{DomainId, Duration, PcpuId};

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    /// A job every 20 ms, done after 0.2 ms, and a tick at 2.5 ms modulo 4 ms after each; but the
    /// slop holds every third back, and the fourth of each five is something else at a time of its
    /// own. Each wake-up and the block before.
    fn wakes(jobs: u64) -> Vec<(Instant, Instant)> {
        let mut found = Vec::new();
        let mut block = us(0);
        for job in 0..jobs {
            let tick = match (job % 5, job % 3) {
                (3, _) => 1_800 + 61 * job,
                (_, 2) => 2_524,
                _ => 2_500,
            };
            for (at, takes) in [(1_000, 200), (tick, 20)] {
                let at = us(20_000 * job + at);
                found.push((at, block));
                block = at + Duration::from_micros(takes);
            }
        }
        found
    }

    #[test]
    fn most_that_come_soon_after_a_block_are_ticks_and_most_of_those_on_time() {
        let found = phase(wakes(15).into_iter()).expect("ticks");
        assert_eq!(found.as_nanos() % KERNEL_TICK.as_nanos(), 2_500_000);
        assert!(is_one(us(42_524), found) && !is_one(us(42_540), found));
        assert_eq!(phase(wakes(8).into_iter()), None, "could be chance");
    }

    #[test]
    fn who_is_woken_by_ticks_shows_in_his_records_alone() {
        let [sleeper, other] = [1, 2].map(|id| VcpuName::new(DomainId(id), 0));
        let mut records = Vec::new();
        for (wake, block) in wakes(15) {
            let note = |at, kind, vcpu| NamedRecord::new(at, PcpuId(0), kind, vcpu);
            records.push(note(block, Kind::Block, sleeper));
            // Another guest that is woken without a block before.
            records.push(note(wake, Kind::Wake, other));
            records.push(note(wake, Kind::Wake, sleeper));
        }
        let found = woken_by_ticks(&records);
        let phases: Vec<_> = found
            .iter()
            .map(|(vcpu, at)| (*vcpu, at.as_nanos() % KERNEL_TICK.as_nanos()))
            .collect();
        assert_eq!(phases, [(sleeper, 2_500_000)]);
    }
}
