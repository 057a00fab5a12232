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
//! | `kernel` | upcalls, handlers, softirqs, kernel threads of guests with devices |
//! | `pending` | what interrupt handlers leave for later |
//! | `tasks` | which process executes, and for how long |

mod kernel;
mod pending;
mod tasks;

pub(crate) use kernel::{Kernel, KernelStep};
pub(crate) use pending::Pending;

use crate::bus::{Device, Io, KernelIo, KernelTimer, Served, Tasklet, WorkItem};
use crate::config::{GuestConfig, KernelTick, ProcessOrder, TaskConfig, VcpuConfig};
use crate::process::Pid;
use crate::process::order::Order;
use crate::process::run::Next;
use crate::process::task::{Finished, Task};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::{Duration, Instant, VcpuName};

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

/// A job that was finished, for the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// Index of the task.
    pub task: u8,
    /// When it was released and what it took.
    pub finished: Finished,
}

/// One vcpu's guest. What is looked at whenever it executes comes first, a cache line of it.
#[derive(Debug)]
#[repr(C)]
pub struct Guest {
    tasks: Box<[Task]>,
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
    /// How long the current task has executed since it got its turn.
    turn: Duration,
    /// Which process runs next, where that is Linux's to say.
    order: Option<Box<Order>>,
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
        let tasks: Box<[Task]> = vcpu
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
            tasks,
            level: Level::Idle,
            order: None,
            kernel: None,
            pending: false,
            irq_left: Duration::ZERO,
            softirq_due: false,
            softirq_left: Duration::ZERO,
            turn: Duration::ZERO,
            task_wake: Instant::MAX,
            kernel_tick: vcpu.kernel_tick.unwrap_or(NO_TICK),
            ticks: vcpu.kernel_tick.is_some(),
            costs: !(irq_cost + softirq_cost).is_zero(),
            steady: false,
            tick_at: Instant::MAX,
        };
        if config.order == ProcessOrder::Linux26 && !guest.tasks.is_empty() {
            let nice = vcpu.tasks.iter().map(TaskConfig::nice);
            guest.order = Some(Box::new(Order::new(nice, start)));
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

    /// As [`Guest::next_wake`] for a guest that may have a kernel with devices.
    #[inline]
    pub(crate) fn next_wake_of_any(&self) -> Instant {
        let own = self.next_wake();
        match &self.kernel {
            None => own,
            Some(kernel) if kernel.timer_due() => Instant::MAX,
            Some(kernel) => own.min(kernel.next_timer()),
        }
    }

    /// Has `kernel` serve the devices of this vcpu, and take its timer interrupts.
    pub(crate) fn set_kernel(&mut self, mut kernel: Kernel) {
        if self.order.is_some() {
            kernel.has_thread_wait();
        }
        self.kernel = Some(Box::new(kernel));
    }

    /// The kernel that serves devices, if there are any.
    #[inline]
    pub(crate) fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        self.kernel.as_deref_mut()
    }

    /// Goes on with the kernel's work for devices. When that is nothing, tasks may run, which
    /// [`Guest::step`] is for.
    #[inline]
    pub(crate) fn step_kernel<D: Device>(
        &mut self,
        devices: &mut [D],
        io: &mut Io<'_>,
    ) -> KernelStep {
        let Some(kernel) = &mut self.kernel else {
            return KernelStep::Idle;
        };
        if self.level == Level::ToIdle && !kernel.idle_left().is_zero() {
            return KernelStep::Idle;
        }
        let step = kernel.step(devices, io);
        let wake_tasks = kernel.take_wake_tasks();
        while let Some(process) = kernel.pending.next_woken() {
            self.tasks[process as usize].wake();
        }
        if step != KernelStep::Idle {
            self.level = Level::Kernel;
            self.steady = false;
        } else if self.level == Level::Kernel {
            self.level = Level::Idle;
        }
        if wake_tasks {
            self.wake_tasks(io.now);
        }
        step
    }

    /// Goes on with the program that [`Step::Program`] was about, on vcpu `vcpu` of its domain. The
    /// answer is what follows besides looking at what the guest does next. A finished job is
    /// appended to `jobs`.
    pub(crate) fn advance<D: Device>(
        &mut self,
        vcpu: VcpuName,
        devices: &mut [D],
        io: &mut Io<'_>,
        jobs: &mut Vec<Job>,
    ) -> Next {
        let Level::Task(index) = self.level else {
            return Next::GoOn;
        };
        let pid = Pid {
            vcpu: vcpu.index,
            index,
        };
        // Without devices nothing is left for later: a program computes and sleeps.
        let mut alone = None;
        let mut kernel = KernelIo {
            vcpu,
            io,
            pending: match &mut self.kernel {
                Some(kernel) => &mut kernel.pending,
                None => alone.get_or_insert_with(Pending::default),
            },
        };
        let task = &mut self.tasks[index as usize];
        let next = task.advance(pid, self.switch, devices, &mut kernel);
        if let Next::Report(finished) = next {
            let task = index as u8;
            jobs.push(Job { task, finished });
        }
        let asked = kernel.has_asked();
        self.find_task_wake();
        if next == Next::GoOn
            && !asked
            && let Some(left) = self.goes_on(io.now)
            && !left.is_zero()
        {
            return Next::Run(left);
        }
        next
    }

    /// The thread of the softirqs runs.
    pub(crate) fn run_thread(&mut self) {
        if let Some(kernel) = &mut self.kernel {
            kernel.run_thread();
        }
    }

    /// What the vcpu has executed for other domains; none for a guest without devices.
    #[inline]
    pub(crate) fn served(&mut self) -> Option<&mut Served> {
        Some(self.kernel.as_deref_mut()?.served())
    }

    /// Whether the kernel has something to do before processes go on.
    #[inline]
    pub(crate) fn kernel_goes_first(&self) -> bool {
        let kernel = self.kernel.as_deref();
        kernel.is_some_and(|kernel| kernel.pending.concerns_processes())
    }

    /// Whether a process executes and the kernel has been left nothing to do since.
    #[inline]
    pub(crate) fn kernel_is_quiet(&self) -> bool {
        let kernel = self.kernel.as_deref();
        matches!(self.level, Level::Task(_)) && kernel.is_some_and(Kernel::is_quiet)
    }

    /// The process with number `index` was woken by another vcpu of the domain.
    pub(crate) fn wake_process(&mut self, index: u32) {
        self.steady = false;
        self.tasks[index as usize].wake();
    }

    /// Queues a work item for a thread of the kernel.
    pub(crate) fn queue_work(&mut self, item: WorkItem) {
        if let Some(kernel) = &mut self.kernel {
            kernel.pending.queue(item);
        }
    }

    /// Schedules a tasklet.
    pub(crate) fn schedule(&mut self, tasklet: Tasklet) {
        if let Some(kernel) = &mut self.kernel {
            kernel.pending.schedule(tasklet);
        }
    }

    /// Sets a timer of the kernel.
    pub(crate) fn set_kernel_timer(&mut self, timer: KernelTimer, at: Option<Instant>) {
        if let Some(kernel) = &mut self.kernel {
            kernel.pending.set_timer(timer, at);
        }
    }

    /// The process that executes makes a hypercall, which returns `value`.
    pub(crate) fn hypercall_returned(&mut self, value: u64) {
        if let Level::Task(index) = self.level {
            self.tasks[index as usize].returned(value);
        }
    }

    /// Name of the program that executes, for a complaint.
    pub(crate) fn program(&mut self) -> &'static str {
        match self.level {
            Level::Task(index) => self.tasks[index as usize].program(),
            _ => "",
        }
    }

    /// Whether it wakes at times of delivery ([`Demand::at`](crate::config::Demand::at)), which no
    /// timer of the hypervisor puts off.
    pub fn wakes_by_delivery(&self) -> bool {
        self.tasks.iter().any(Task::wakes_by_delivery)
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
            return;
        }
        match self.level {
            Level::Task(task) => {
                self.tasks[task as usize].execute(time);
                // An only task has no turns.
                if self.tasks.len() > 1 {
                    self.turn += time;
                }
                if let Some(order) = &mut self.order {
                    order.ran(time);
                }
                if let Some(kernel) = &mut self.kernel {
                    kernel.process_served(self.tasks[task as usize].owner(), time);
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

    /// Wakes the tasks whose time has come.
    #[inline(always)]
    fn wake_tasks(&mut self, now: Instant) {
        if self.task_wake <= now {
            if let [task] = &mut *self.tasks {
                task.wake_due(now);
                self.task_wake = task.wakes_at();
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
    fn set_tick(&mut self, now: Instant) {
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

    fn find_task_wake(&mut self) {
        let wakes = self.tasks.iter().map(Task::wakes_at);
        self.task_wake = wakes.min().unwrap_or(Instant::MAX);
    }

    /// Writes the state of the guest for people.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for task in &self.tasks {
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
