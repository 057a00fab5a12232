//! Ticks of a kernel's clock, and timers of a queue whose clock is no host's.

use crate::elevator::{Jiffies, QueueTimer};
use domio_core::Instant;

const NS_PER_SECOND: u128 = 1_000_000_000;

/// The clock of a kernel that counts whole ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// Ticks a second.
    pub hz: i64,
    /// The tick at time zero.
    pub first: Jiffies,
}

impl Ticks {
    /// The tick at `now`.
    pub fn at(self, now: Instant) -> Jiffies {
        let ticks = u128::from(now.as_nanos()) * self.hz as u128 / NS_PER_SECOND;
        self.first + ticks as Jiffies
    }

    /// When tick `jiffy` begins.
    pub fn begin(self, jiffy: Jiffies) -> Instant {
        let ticks = (jiffy - self.first).max(0) as u128;
        let ns = (ticks * NS_PER_SECOND).div_ceil(self.hz as u128);
        Instant::from_nanos(ns.min(u128::from(u64::MAX)) as u64)
    }

    /// Nanoseconds at `now`, from tick 0.
    pub fn ns(self, now: Instant) -> i64 {
        let first = self.first as u128 * NS_PER_SECOND / self.hz as u128;
        first as i64 + now.as_nanos().cast_signed()
    }
}

/// Timers with their jiffies.
#[derive(Clone, Default, Debug)]
pub(crate) struct QueueTimers {
    /// The jiffy and the order of arming of each.
    armed: [Option<(Jiffies, u64)>; 3],
    /// How often one was armed.
    count: u64,
}

impl QueueTimers {
    /// `timer` is to fire at `jiffy`, and at no other.
    pub fn arm(&mut self, timer: QueueTimer, jiffy: Jiffies) {
        self.count += 1;
        self.armed[timer as usize] = Some((jiffy, self.count));
    }

    /// `timer` is not to fire.
    pub fn cancel(&mut self, timer: QueueTimer) {
        self.armed[timer as usize] = None;
    }

    /// The first jiffy at which one is to fire.
    pub fn next(&self) -> Option<Jiffies> {
        self.armed.iter().flatten().map(|(jiffy, _)| *jiffy).min()
    }

    /// Takes out the first that is to fire up to `now`: by jiffy, then by arming.
    pub fn take(&mut self, now: Jiffies) -> Option<QueueTimer> {
        let armed = QueueTimer::ALL.into_iter().zip(self.armed);
        let armed = armed.filter_map(|(timer, at)| Some((at?, timer)));
        let ((jiffy, _), timer) = armed.min_by_key(|(at, _)| *at)?;
        (jiffy <= now).then(|| {
            self.cancel(timer);
            timer
        })
    }
}
