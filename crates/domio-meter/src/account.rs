//! One vcpu's books: where its time went.

use domio_core::{Runstate, VcpuName};
use domio_trace::{StayPassed, Track};

use crate::budget::Budget;
use crate::distribution::Distribution;
use crate::residence::Residence;

/// The part of the trace that counts, in nanoseconds: from `from` up to, not including, `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    /// Length of the part of `start..end` that counts.
    #[inline]
    pub(crate) fn part(self, start: u64, end: u64) -> u64 {
        end.min(self.to).saturating_sub(start.max(self.from))
    }

    /// The part of `start..end` that counts: where it begins and ends, if it is any.
    #[inline]
    pub(crate) fn cut(self, start: u64, end: u64) -> Option<(u64, u64)> {
        let (start, end) = (start.max(self.from), end.min(self.to));
        (start < end).then_some((start, end))
    }

    /// Whether the stretch of time that ends at `at` counts.
    #[inline]
    pub(crate) fn ends_in(self, at: u64) -> bool {
        self.from < at && at <= self.to
    }

    /// Whether what happens at `at` counts.
    #[inline]
    pub(crate) fn holds(self, at: u64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// Sums of a vcpu, in nanoseconds and counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sums {
    /// By runstate number; time for which its own budget held it back counts as offline.
    pub(crate) state: [u64; 4],
    /// Part of blocked: it could not be interrupted.
    pub(crate) uninterruptible: u64,
    /// Runnable after blocked, after running, after offline or nothing known.
    pub(crate) waited_after_wake: u64,
    pub(crate) waited_after_preempt: u64,
    pub(crate) waited_other: u64,
    /// Offline after running or runnable, and held back by its own budget.
    pub(crate) parked: u64,
    /// Across lost records, or between records that contradict each other.
    pub(crate) unknown: u64,
    /// Times that it was put on a pcpu.
    pub(crate) executions: u64,
    /// Times that it was woken.
    pub(crate) wakeups: u64,
}

/// Whether a vcpu was offline that had been put to sleep while it ran or was runnable: by its cap,
/// or because somebody paused its domain. Xen records no difference. One that was not brought up
/// yet, or was blocked before, would not have run.
#[inline]
pub(crate) fn is_parked(passed: &StayPassed) -> bool {
    passed.state == Runstate::Offline && could_run(passed.after)
}

/// Whether a vcpu in `state` runs, or would if it had a pcpu.
#[inline]
pub(crate) fn could_run(state: Runstate) -> bool {
    matches!(state, Runstate::Running | Runstate::Runnable)
}

/// What is known of one vcpu.
#[derive(Debug)]
pub(crate) struct VcpuBook {
    pub(crate) name: VcpuName,
    pub(crate) track: Track,
    pub(crate) budget: Budget,
    /// It cannot be interrupted as long as it is blocked.
    pub(crate) uninterruptible: bool,
    pub(crate) sums: Sums,
    pub(crate) residence: Residence,
    pub(crate) runs: Distribution,
    pub(crate) wake_to_run: Distribution,
}

impl VcpuBook {
    pub(crate) fn new(name: VcpuName) -> Self {
        VcpuBook {
            name,
            track: Track::new(),
            budget: Budget::default(),
            uninterruptible: false,
            sums: Sums::default(),
            residence: Residence::default(),
            runs: Distribution::default(),
            wake_to_run: Distribution::default(),
        }
    }

    /// Adds what `passed`. Returns time on the pcpu that counts, when the vcpu was running.
    #[inline]
    pub(crate) fn pass(&mut self, passed: &StayPassed, window: Window) -> Option<u64> {
        self.sums.unknown += window.part(passed.from, passed.known);
        let held = self.budget.take(passed, window);
        let part = window.part(passed.known, passed.to) - held;
        self.sums.state[passed.state as usize] += part;
        self.sums.state[Runstate::Offline as usize] += held;
        self.sums.parked += held;
        if passed.state == Runstate::Runnable {
            match passed.after {
                Runstate::Blocked => self.sums.waited_after_wake += part,
                Runstate::Running => self.sums.waited_after_preempt += part,
                Runstate::Runnable | Runstate::Offline => self.sums.waited_other += part,
            }
        }
        if is_parked(passed) {
            self.sums.parked += part;
        }
        if self.uninterruptible {
            match passed.state {
                Runstate::Blocked => self.sums.uninterruptible += part,
                _ => self.uninterruptible = false,
            }
        }
        if passed.state != Runstate::Running {
            return None;
        }
        self.residence.stay(self.track.pcpu(), part);
        Some(part)
    }

    /// The vcpu went to `new` when `passed` was over: counts it, and keeps a sample of a stay that
    /// is complete. Returns whether a sample was stored.
    #[inline]
    pub(crate) fn edge(
        &mut self,
        at: u64,
        passed: &StayPassed,
        new: Runstate,
        window: Window,
    ) -> bool {
        let old = passed.state;
        if old == new || !window.holds(at) {
            return false;
        }
        self.sums.executions += u64::from(new == Runstate::Running);
        let woken = old == Runstate::Blocked && new == Runstate::Runnable;
        self.sums.wakeups += u64::from(woken);
        let Some(entered) = passed.entered.filter(|_| passed.sure) else {
            return false;
        };
        let length = at.saturating_sub(entered);
        match (old, new, passed.after) {
            (Runstate::Running, ..) => self.runs.add(length),
            (Runstate::Runnable, Runstate::Running, Runstate::Blocked) => {
                self.wake_to_run.add(length)
            }
            _ => false,
        }
    }
}
