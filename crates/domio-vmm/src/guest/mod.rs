//! The operating system on one vcpu of a guest: interrupts, softirqs, processes.
//!
//! A guest knows nothing of pcpus or scheduling. The host says how long the guest executed
//! ([`Guest::executed`]), delivers interrupts, and asks what the guest does next. Interrupt work
//! runs before softirq work, softirq work before processes.
//!
//! A guest that a device model serves has event channels, and all interrupts come by way of these
//! (`Guest::step_kernel`, `kernel.rs`). A guest without knows no interrupt but the timer's
//! ([`Guest::interrupt`]): handler and softirq are two pieces of work, and there is nothing to
//! scan.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | what one vcpu does next |
//! | `boot` | the guest of a vcpu, when its domain is created |
//! | `kernel` | upcalls, handlers, softirqs, kernel threads of guests with devices |
//! | `kinds` | what such a kernel executes, by kind |
//! | `pending` | what interrupt handlers leave for later |
//! | `devices` | the kernel of a guest with devices, seen from the host |
//! | `work` | a piece of a kernel's work |
//! | `table` | the processes, and which of them are awake |
//! | `due` | processes that are due, and the kernel tick |
//! | `tasks` | which process executes, and for how long |
//! | `roam` | processes that go from one vcpu to another |
//! | `program` | the program of the process that executes |

pub(crate) mod boot;
mod devices;
mod due;
mod items;
pub(crate) mod kernel;
pub mod kinds;
pub(crate) mod limits;
pub mod pending;
mod program;
mod roam;
mod table;
mod tasks;
pub(crate) mod work;

use crate::bus::owner::Owner;
use crate::config::{GuestConfig, KernelTick, ProcessOrder, TaskConfig, VcpuConfig};
use crate::process::order::LinuxOrder;
use crate::process::task::Task;
use crate::process::{Finished, WokenBy};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use kernel::Kernel;
use table::Tasks;

/// What the guest does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Executes for this long before it has to be asked again; [`Duration::MAX`] for ever.
    Run(Duration),
    /// Nothing to do: blocks until an interrupt comes.
    Block,
    /// Gives the pcpu away, though it has more to do.
    Yield,
    /// A program has come to the end of a step: `Guest::advance` is to be called.
    Program,
    /// The thread of the softirqs has its turn: `Guest::run_thread` is to be called.
    Thread,
}

/// What the guest executes at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    /// Interrupt handlers.
    Irq,
    /// Deferred interrupt work: wakes tasks.
    Softirq,
    /// The task with this index.
    Task(u32),
    /// The part of the kernel that serves devices.
    Kernel,
    /// On the way into idle, with interrupts off.
    ToIdle,
    /// Nothing.
    Idle,
}

/// What follows a job that was finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Job {
    /// The trace reports the job.
    Report {
        /// Index of the task.
        task: u8,
        /// When it was released and what it took.
        finished: Finished,
    },
    /// The job wakes the processes of the domain's vcpu with this index.
    Kicks(u16),
}

/// One vcpu's guest. What is looked at whenever it executes comes first, a cache line of it.
#[derive(Debug)]
#[repr(C)]
pub struct Guest {
    tasks: Tasks,
    level: Level,
    /// An interrupt was delivered and its handler has not begun.
    pending: bool,
    /// Softirq work is due or under way.
    softirq_due: bool,
    /// It executes its only task, which has no end, and waits for nothing.
    steady: bool,
    /// Whether there is a `kernel_tick`.
    ticks: bool,
    /// Whether interrupts take any time.
    costs: bool,
    /// Work left in interrupt handlers.
    irq_left: Duration,
    softirq_left: Duration,
    /// Earliest time at which a task wants to be woken; [`Instant::MAX`] for never.
    task_wake: Instant,
    /// Next kernel tick while a task is ready; [`Instant::MAX`] for none.
    tick_at: Instant,

    /// What the handler of the timer takes, and its softirq.
    irq_cost: Duration,
    softirq_cost: Duration,
    /// How long a task runs before another of the same priority gets its turn.
    task_slice: Duration,
    /// What a switch to a program takes.
    switch: Duration,
    /// Which process runs next, where that is Linux's to say.
    order: Option<Box<LinuxOrder>>,
    /// Serves devices; without any, the guest knows no interrupts but timers.
    kernel: Option<Box<Kernel>>,
    /// Meaningless without one.
    kernel_tick: KernelTick,
}

/// In the place of a tick where there is none: no `Option`, so that a vcpu fits its cache lines.
const NO_TICK: KernelTick = KernelTick {
    period: Duration::ZERO,
    phase: Instant::ZERO,
    least: Duration::ZERO,
};

impl Guest {
    /// A guest that starts at `start`. `stream` names the random streams of its tasks: it is
    /// called with the index of each task that draws.
    pub fn new(
        config: GuestConfig,
        vcpu: &VcpuConfig,
        start: Instant,
        mut stream: impl FnMut(usize) -> domio_sim::RandomStream,
    ) -> Self {
        let tasks: Vec<Task> = vcpu
            .tasks
            .iter()
            .enumerate()
            .map(|(i, t)| Task::new(t, start, stream(i)))
            .collect();
        let (irq_cost, softirq_cost) = (config.costs.timer_interrupt(), config.costs.timer_softirq);
        let mut guest = Guest {
            irq_cost,
            softirq_cost,
            task_slice: config.task_slice,
            switch: config.costs.switch,
            tasks: Tasks::new(tasks),
            level: Level::Idle,
            order: None,
            kernel: None,
            pending: false,
            irq_left: Duration::ZERO,
            softirq_due: false,
            softirq_left: Duration::ZERO,
            task_wake: Instant::MAX,
            kernel_tick: vcpu.kernel_tick.unwrap_or(NO_TICK),
            ticks: vcpu.kernel_tick.is_some(),
            costs: !(irq_cost + softirq_cost).is_zero(),
            steady: false,
            tick_at: Instant::MAX,
        };
        if config.order == ProcessOrder::Linux26 && !guest.tasks.is_empty() {
            let nice = vcpu.tasks.iter().map(TaskConfig::nice);
            guest.order = Some(Box::new(LinuxOrder::new(nice, start)));
        }
        guest.find_task_wake();
        guest.set_tick(start);
        guest
    }

    /// Earliest time at which the guest wants a timer interrupt; [`Instant::MAX`] for never.
    #[inline]
    pub fn next_wake(&self) -> Instant {
        if self.pending || self.softirq_due {
            // The softirq that is to come looks at all times that have passed by then.
            return Instant::MAX;
        }
        self.task_wake.min(self.tick_at)
    }

    /// What wakes the vcpu: an interrupt where it may be one of a process's own.
    pub fn woken_by(&self) -> WokenBy {
        let by_interrupt = |task: &Task| task.woken_by() == WokenBy::Interrupt;
        match self.tasks.iter().any(by_interrupt) {
            true => WokenBy::Interrupt,
            false => WokenBy::Timer,
        }
    }

    /// Whether an interrupt waits to be handled.
    #[inline]
    pub fn has_pending(&self) -> bool {
        self.pending
    }

    /// Delivers an interrupt. Its handler runs when the vcpu executes next.
    #[inline]
    pub fn interrupt(&mut self) {
        self.pending = true;
        self.steady = false;
    }

    /// Has the guest look at what it does, when it executes next.
    #[inline]
    pub(crate) fn disturb(&mut self) {
        self.steady = false;
    }

    /// A job on another vcpu of the domain wakes the processes here: an interrupt is delivered.
    pub fn kicked(&mut self, now: Instant) {
        for i in 0..self.tasks.len() {
            self.tasks.edit(i).kicked(now);
        }
        self.find_task_wake();
        self.interrupt();
    }

    /// Whether the last [`Guest::step`] holds until an interrupt: the guest executes without end
    /// and wants no timer. Neither [`Guest::executed`] nor another step changes anything then.
    #[inline]
    pub fn is_steady(&self) -> bool {
        self.steady
    }

    /// The vcpu executed for `time` since the last [`Guest::step`] or call of this.
    ///
    /// # Panics
    /// When `time` is more than the step allowed: the host's accounting is wrong then.
    #[inline(always)]
    pub fn executed(&mut self, time: Duration) {
        if self.steady {
            if let Some(kernel) = &mut self.kernel {
                kernel.process_executed(Owner::Nobody, time);
            }
            return;
        }
        match self.level {
            Level::Task(task) => {
                self.tasks.execute(task as usize, time);
                if let Some(order) = &mut self.order {
                    order.ran(time);
                }
                if let Some(kernel) = &mut self.kernel {
                    kernel.process_executed(self.tasks[task as usize].owner(), time);
                }
            }
            Level::Irq => self.irq_left -= time,
            Level::Softirq => self.softirq_left -= time,
            Level::Kernel => {
                if let Some(kernel) = &mut self.kernel {
                    kernel.executed(time);
                    if kernel.in_thread()
                        && let Some(order) = &mut self.order
                    {
                        order.ran(time);
                    }
                }
            }
            Level::ToIdle => {
                if let Some(kernel) = &mut self.kernel {
                    kernel.went_idle(time);
                }
            }
            Level::Idle => assert!(time.is_zero(), "an idle guest executed for {time}"),
        }
    }

    /// What the vcpu does from `now` on. Finished jobs are appended to `jobs`.
    #[inline(always)]
    pub fn step(&mut self, now: Instant, jobs: &mut Vec<Job>) -> Step {
        if self.level == Level::ToIdle {
            let left = self
                .kernel
                .as_ref()
                .map_or(Duration::ZERO, |k| k.idle_left());
            if !left.is_zero() {
                return Step::Run(left);
            }
            self.level = Level::Idle;
        }
        if self.pending {
            self.pending = false;
            if self.costs {
                self.irq_left += self.irq_cost;
                if !self.softirq_due {
                    self.softirq_left = self.softirq_cost;
                }
            }
            self.softirq_due = true;
        }
        if self.softirq_due || !self.irq_left.is_zero() {
            if !self.irq_left.is_zero() {
                self.level = Level::Irq;
                return Step::Run(self.irq_left);
            }
            if !self.softirq_left.is_zero() {
                self.level = Level::Softirq;
                return Step::Run(self.softirq_left);
            }
            self.softirq_due = false;
            self.wake_tasks(now);
        }
        if self.order.is_some() {
            match self.goes_on(now) {
                Some(Duration::ZERO) if self.tasks[0].runs_program() => Step::Program,
                Some(left) if !left.is_zero() => Step::Run(left),
                _ => self.step_ordered(now, jobs),
            }
        } else if self.tasks.len() == 1 {
            self.step_only_task(now, jobs)
        } else {
            self.step_tasks(now, jobs)
        }
    }

    /// Nothing is left to do. What the way into idle takes before the hypercall that blocks; zero
    /// when that is next.
    #[inline]
    pub(crate) fn enter_idle(&mut self) -> Duration {
        let left = match &mut self.kernel {
            Some(kernel) => kernel.enter_idle(),
            None => Duration::ZERO,
        };
        if !left.is_zero() {
            self.level = Level::ToIdle;
        }
        left
    }
    /// Writes the state of the guest for people.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for task in self.tasks.iter().filter(|task| task.is_here()) {
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(task.name());
            text.push_str(if task.ready() {
                " (ready)"
            } else {
                " (asleep)"
            });
        }
        text
    }
}
