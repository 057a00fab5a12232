//! Which process of a vcpu executes, and for how long.
//!
//! There are three ways to choose, from the quickest to the most faithful: a process that is alone
//! has no rival; a priority is a priority, and equals take turns; or the scheduler of Linux decides
//! ([`LinuxOrder`](crate::process::order::LinuxOrder)).

use super::{Guest, Job, Level, Step};
use crate::process::order::ChosenProcess;
use crate::process::task::{AfterJob, Task};
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

impl Guest {
    /// As [`Guest::step_tasks`] for a guest with one task, as most have.
    #[inline(always)]
    pub(super) fn step_only_task(&mut self, now: Instant, jobs: &mut Vec<Job>) -> Step {
        loop {
            if !self.tasks[0].ready() {
                self.level = Level::Idle;
                self.tick_at = Instant::MAX;
                return Step::Block;
            }
            self.level = Level::Task(0);
            if self.ticks && self.tick_at == Instant::MAX {
                self.set_tick(now);
            }
            let left = self.tasks.left(0, now);
            if !left.is_zero() {
                self.steady =
                    left == Duration::MAX && !self.ticks && self.task_wake == Instant::MAX;
                return Step::Run(left);
            }
            let Some(task) = self.tasks.only() else {
                return self.step_tasks(now, jobs);
            };
            match task.finish(now) {
                AfterJob::Yield => return Step::Yield,
                AfterJob::Program => return Step::Program,
                AfterJob::Report(finished) => jobs.push(Job::Report { task: 0, finished }),
                AfterJob::Kicks(vcpu) => jobs.push(Job::Kicks(vcpu)),
                AfterJob::Quiet => {}
            }
            self.task_wake = self.tasks[0].wakes_at();
        }
    }

    /// What the only process of a guest has left to execute, if the process was chosen before and
    /// nobody else wants to execute: most guests have one process, and the process continues.
    #[inline(always)]
    pub(super) fn goes_on(&mut self, now: Instant) -> Option<Duration> {
        let order = self.order.as_deref()?;
        if !order.runs_only() || self.tasks.len() != 1 || !self.tasks[0].ready() {
            return None;
        }
        if self.kernel.as_ref().is_some_and(|k| k.wants_thread()) {
            return None;
        }
        self.level = Level::Task(0);
        if self.ticks && self.tick_at == Instant::MAX {
            self.set_tick(now);
        }
        Some(self.tasks.left(0, now))
    }

    /// As [`Guest::step_tasks`] for a guest whose processes take turns as under Linux.
    pub(super) fn step_ordered(&mut self, now: Instant, jobs: &mut Vec<Job>) -> Step {
        loop {
            let Some(order) = &mut self.order else {
                return self.step_tasks(now, jobs);
            };
            let thread = self.kernel.as_ref().is_some_and(|k| k.wants_thread());
            let tasks = &self.tasks;
            // Most guests have one process, and it continues.
            let alone = tasks.len() == 1 && !thread && tasks[0].ready() && order.runs_only();
            let ready = |i: usize| tasks.get(i).map_or(thread, Task::ready);
            let choice = match alone {
                true => Some(ChosenProcess::Process(0)),
                false => order.choose(now, ready),
            };
            let chosen = match choice {
                Some(ChosenProcess::Process(chosen)) => chosen,
                Some(ChosenProcess::Thread) => {
                    self.level = Level::Kernel;
                    return Step::Thread;
                }
                None => {
                    self.level = Level::Idle;
                    self.tick_at = Instant::MAX;
                    return Step::Block;
                }
            };
            let turn = match alone {
                true => Duration::MAX,
                false => order.turn(),
            };
            self.level = Level::Task(chosen as u32);
            if self.ticks && self.tick_at == Instant::MAX {
                self.set_tick(now);
            }
            let left = self.tasks.left(chosen, now);
            if !left.is_zero() {
                return Step::Run(left.min(turn));
            }
            match self.tasks.edit(chosen).finish(now) {
                AfterJob::Yield => {
                    if let Some(order) = &mut self.order {
                        order.yields(now);
                    }
                    return Step::Yield;
                }
                AfterJob::Program => return Step::Program,
                AfterJob::Report(finished) => {
                    let task = chosen as u8;
                    jobs.push(Job::Report { task, finished });
                }
                AfterJob::Kicks(vcpu) => jobs.push(Job::Kicks(vcpu)),
                AfterJob::Quiet => {}
            }
            self.find_task_wake();
        }
    }

    pub(super) fn step_tasks(&mut self, now: Instant, jobs: &mut Vec<Job>) -> Step {
        loop {
            let current = match self.level {
                Level::Task(task) => Some(task as usize),
                _ => None,
            };
            let Some(chosen) = self.choose(current) else {
                self.level = Level::Idle;
                self.tick_at = Instant::MAX;
                return Step::Block;
            };
            if current != Some(chosen) {
                self.tasks.begin_turn();
                self.level = Level::Task(chosen as u32);
            }
            if self.ticks && self.tick_at == Instant::MAX {
                self.set_tick(now);
            }
            let left = self.tasks.left(chosen, now);
            if left.is_zero() {
                let after = self.tasks.edit(chosen).finish(now);
                match after {
                    AfterJob::Yield => return Step::Yield,
                    AfterJob::Program => return Step::Program,
                    AfterJob::Report(finished) => jobs.push(Job::Report {
                        task: chosen as u8,
                        finished,
                    }),
                    AfterJob::Kicks(vcpu) => jobs.push(Job::Kicks(vcpu)),
                    AfterJob::Quiet => {}
                }
                self.find_task_wake();
                continue;
            }
            return Step::Run(if self.has_rival(chosen) {
                left.min(self.task_slice.saturating_sub(self.tasks.turn()))
            } else {
                left
            });
        }
    }

    /// The task to execute: the highest priority; among equals the current one until its turn is
    /// over, else the next one after it.
    fn choose(&mut self, current: Option<usize>) -> Option<usize> {
        let top = self.tasks.top()?;
        if let Some(at) = current
            && self.tasks[at].ready()
            && self.tasks[at].priority() == top
        {
            if self.tasks.turn() < self.task_slice {
                return Some(at);
            }
            self.tasks.begin_turn();
        }
        self.tasks.next(current.map_or(0, |at| at + 1), top)
    }

    /// Whether another ready task has the same priority as `task`.
    fn has_rival(&self, task: usize) -> bool {
        let own = self.tasks[task].priority();
        let mut others = self.tasks.ready().filter(|i| *i != task);
        others.any(|i| self.tasks[i].priority() == own)
    }
}
