//! Timers of a queue whose clock is no host's.

use crate::elevator::{Jiffies, QueueTimer};
use alloc::vec::Vec;

const ALL: [QueueTimer; 3] = [QueueTimer::Unplug, QueueTimer::First, QueueTimer::Second];

/// Timers with their jiffies.
#[derive(Clone, Default, Debug)]
pub(crate) struct QueueTimers {
    /// The jiffy and the order of arming of each.
    armed: [Option<(Jiffies, u64)>; 3],
    /// How often one was armed.
    count: u64,
}

/// A timer whose time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DueTimer {
    /// Which.
    pub timer: QueueTimer,
    order: u64,
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

    /// Those that are to fire up to `now`, by jiffy, then by arming.
    pub fn due(&self, now: Jiffies) -> impl Iterator<Item = DueTimer> + use<> {
        let armed = ALL.into_iter().zip(self.armed);
        let due = armed.filter_map(|(timer, armed)| {
            let (jiffy, order) = armed.filter(|(jiffy, _)| *jiffy <= now)?;
            Some((jiffy, DueTimer { timer, order }))
        });
        let mut due: Vec<(Jiffies, DueTimer)> = due.collect();
        due.sort_unstable_by_key(|(jiffy, due)| (*jiffy, due.order));
        due.into_iter().map(|(_, due)| due)
    }

    /// Takes `due` out, and returns whether it is still armed as it was: one that fired before may
    /// have cancelled or moved it.
    pub fn take(&mut self, due: DueTimer) -> bool {
        let armed = &mut self.armed[due.timer as usize];
        let is_same = armed.is_some_and(|(_, order)| order == due.order);
        if is_same {
            *armed = None;
        }
        is_same
    }
}
