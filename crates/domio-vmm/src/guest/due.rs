//! Times at which a guest wants to be woken: processes that sleep, the kernel tick.

use super::Guest;
use crate::config::KernelTick;
use domio_core::Instant;

impl Guest {
    /// Wakes the tasks whose time has come.
    #[inline(always)]
    pub(super) fn wake_tasks(&mut self, now: Instant) {
        if let Some(order) = &mut self.order {
            order.tick(now);
        }
        if self.task_wake <= now {
            self.tasks.wake_due(now);
            self.find_task_wake();
        }
        if self.tick_at <= now {
            self.set_tick(now);
        }
    }

    /// Programs the first kernel tick after `now`, or none when no task is ready.
    pub(super) fn set_tick(&mut self, now: Instant) {
        self.tick_at = if self.ticks && self.tasks.any_ready() {
            let KernelTick {
                period,
                phase,
                least,
            } = self.kernel_tick;
            let next = if phase > now {
                phase
            } else {
                phase + period * (now.since(phase).as_nanos() / period.as_nanos() + 1)
            };
            next.max(now + least)
        } else {
            Instant::MAX
        };
    }

    #[inline]
    pub(super) fn find_task_wake(&mut self) {
        self.task_wake = self.tasks.wakes_at().min(self.watchdog_at());
    }

    /// When the watchdog's thread wakes; [`Instant::MAX`] where that does nothing for anybody.
    #[inline]
    fn watchdog_at(&self) -> Instant {
        self.order
            .as_ref()
            .map_or(Instant::MAX, |o| o.watchdog_at())
    }
}
