//! Times at which a guest wants to be woken: processes that sleep, the kernel tick.

use super::Guest;
use crate::config::KernelTick;
use crate::process::task::Task;
use domio_core::Instant;

impl Guest {
    /// Wakes the tasks whose time has come.
    #[inline(always)]
    pub(super) fn wake_tasks(&mut self, now: Instant) {
        if let Some(order) = &mut self.order {
            order.tick(now);
        }
        if self.task_wake <= now {
            if let [task] = &mut *self.tasks {
                task.wake_due(now);
                self.task_wake = task.wakes_at().min(self.watchdog_at());
            } else {
                for task in &mut self.tasks {
                    task.wake_due(now);
                }
                self.find_task_wake();
            }
        }
        if self.tick_at <= now {
            self.set_tick(now);
        }
    }

    /// Programs the first kernel tick after `now`, or none when no task is ready.
    pub(super) fn set_tick(&mut self, now: Instant) {
        self.tick_at = if self.ticks && self.tasks.iter().any(Task::ready) {
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

    pub(super) fn find_task_wake(&mut self) {
        let wakes = self.tasks.iter().map(Task::wakes_at);
        self.task_wake = wakes.min().unwrap_or(Instant::MAX).min(self.watchdog_at());
    }

    /// When the watchdog's thread wakes; [`Instant::MAX`] where that does nothing for anybody.
    #[inline]
    fn watchdog_at(&self) -> Instant {
        self.order
            .as_ref()
            .map_or(Instant::MAX, |o| o.watchdog_at())
    }
}
