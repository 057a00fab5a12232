//! Interrupts that leave no record of their own, but take time from the guest that executes.

use crate::linux::{KERNEL_TICK, next_after};
use domio_core::{Duration, Instant, VcpuName};
use domio_vmm::Profile;
use std::collections::BTreeMap;

/// Interrupts that a recording does not show.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    /// The time of one kernel tick of each vcpu whose guest's ticks are known. Others follow at
    /// multiples of [`KERNEL_TICK`].
    pub kernel_ticks: BTreeMap<VcpuName, Instant>,
    /// When a timer of the policy expired that no record shows each time.
    pub timer: Expiries,
    /// The slot that the policy keeps the timer in.
    pub slot: u8,
}

impl Unseen {
    /// What these interrupts take from `vcpu` when its guest executes from `from` to `until`.
    pub fn taken(
        &self,
        vcpu: VcpuName,
        from: Instant,
        until: Instant,
        profile: &Profile,
    ) -> Duration {
        let mut ticks = 0;
        let mut at = from;
        while let Some(tick) = self.next_tick(vcpu, at).filter(|tick| *tick < until) {
            ticks += 1;
            at = tick;
        }
        let expired = self.timer.before(until.max(from)) - self.timer.before(from);
        let handler = profile.timer_to_handler[usize::from(self.slot)] + profile.handler;
        profile.interrupt * ticks + handler * expired
    }

    /// The first kernel tick of `vcpu` after `at`, if its ticks are known.
    pub fn next_tick(&self, vcpu: VcpuName, at: Instant) -> Option<Instant> {
        let tick = *self.kernel_ticks.get(&vcpu)?;
        Some(next_after(tick, KERNEL_TICK, at))
    }
}

/// When a timer expired: at times that records show, and between them a period apart.
#[derive(Clone, Debug, Default)]
pub struct Expiries {
    /// Times of records, each with the number of periods since the first.
    shown: Vec<(Instant, u64)>,
}

impl Expiries {
    /// Those of a timer of which records `shown`, in order of time, tell. It expires once in each
    /// `period`.
    pub fn of(shown: impl Iterator<Item = Instant>, period: Duration) -> Expiries {
        let mut counted: Vec<(Instant, u64)> = Vec::new();
        for at in shown {
            let periods = match counted.last() {
                None => 0,
                Some((last, count)) => {
                    // Timers come late, by much less than half a period.
                    let passed = at.since(*last) + period / 2;
                    count + passed.as_nanos() / period.as_nanos()
                }
            };
            if counted.last().is_none_or(|(_, last)| *last < periods) {
                counted.push((at, periods));
            }
        }
        Expiries { shown: counted }
    }

    /// Periods from the first record to `at`, in whole ones and the time beyond them, and how long
    /// one is there; `None` before the first and after the last record.
    fn position(&self, at: Instant) -> Option<(u64, Duration, Duration)> {
        let after = self.shown.partition_point(|(t, _)| *t <= at);
        let (from, count) = *self.shown.get(after.checked_sub(1)?)?;
        let (to, end) = *self.shown.get(after)?;
        let period = to.since(from) / (end - count);
        let into = at.since(from).as_nanos();
        let whole = into / period.as_nanos();
        let beyond = Duration::from_nanos(into % period.as_nanos());
        Some((count + whole, beyond, period))
    }

    /// Whether the timer expired within `tolerance` of `at`.
    pub fn near(&self, at: Instant, tolerance: Duration) -> bool {
        self.position(at)
            .is_some_and(|(_, beyond, period)| beyond.min(period - beyond) <= tolerance)
    }

    /// How often it expired before `at`, counted from the first record on; constant where
    /// no record shows them.
    pub fn before(&self, at: Instant) -> u64 {
        match self.position(at) {
            Some((count, ..)) => count,
            None if self.shown.first().is_none_or(|(first, _)| at < *first) => 0,
            None => self.shown.last().map_or(0, |(_, count)| *count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(at: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(at)
    }

    #[test]
    fn ticks_and_handlers_are_counted_where_guest_code_executes() {
        let profile = Profile::XEN_4_17_EMULATED;
        let vcpu = VcpuName::from_word(1 << 16);
        let unseen = Unseen {
            kernel_ticks: [(vcpu, us(9_500))].into(),
            // Three periods of 30 ms that came 1 us late each.
            timer: Expiries::of(
                [us(10_000), us(100_003)].into_iter(),
                Duration::from_millis(30),
            ),
            slot: 1,
        };
        assert_eq!(unseen.next_tick(vcpu, us(1_000)), Some(us(1_500)));
        assert_eq!(unseen.next_tick(vcpu, us(1_500)), Some(us(5_500)));
        let taken = |from, until| unseen.taken(vcpu, us(from), us(until), &profile);
        let handler = profile.timer_to_handler[1] + profile.handler;
        assert_eq!(taken(1_000, 1_400), Duration::ZERO);
        assert_eq!(taken(1_000, 6_000), profile.interrupt * 2);
        assert_eq!(taken(69_900, 70_100), handler);
        assert_eq!(taken(69_900, 70_000), Duration::ZERO);
        let near = |at| unseen.timer.near(us(at), Duration::from_micros(20));
        assert!(near(40_020) && !near(40_030));
    }
}
