//! A guest that device models serve: its kernel, and what reaches it from other vcpus.

use super::kernel::{Kernel, KernelStep};
use super::kinds::KernelTimes;
use super::{Guest, Level};
use crate::bus::device::Device;
use crate::bus::io::Io;
use crate::bus::lines::{KernelTimer, Tasklet, WorkItem};
use crate::bus::locks::KernelLock;
use crate::bus::owner::WorkServed;
use alloc::boxed::Box;
use domio_core::Instant;

impl Guest {
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

    /// Continues with the kernel's work for devices. When that is nothing, tasks may run, which
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
            self.tasks.edit(process as usize).wake();
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

    /// The thread of the softirqs runs.
    pub(crate) fn run_thread(&mut self, now: Instant) {
        if let Some(kernel) = &mut self.kernel {
            kernel.run_thread(now);
        }
    }

    /// What the vcpu has executed for other domains; none for a guest without devices.
    #[inline]
    pub(crate) fn served(&mut self) -> Option<&mut WorkServed> {
        Some(self.kernel.as_deref_mut()?.served())
    }

    /// What the vcpu has executed, by kind; nothing for a guest without devices.
    pub(crate) fn kernel_times(&self) -> KernelTimes {
        let kernel = self.kernel.as_deref();
        kernel.map_or_else(KernelTimes::default, Kernel::times)
    }

    /// Whether the kernel has something to do before processes continue.
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
        self.tasks.edit(index as usize).wake();
    }

    /// Whether the kernel or a process spins for `lock`.
    pub(crate) fn spins_for(&self, lock: KernelLock) -> bool {
        let kernel = self.kernel.as_deref();
        let kernel_spins = kernel.is_some_and(|kernel| kernel.spins_for(lock));
        kernel_spins || self.tasks.iter().any(|task| task.spins_for(lock))
    }

    /// `lock`, for which somebody spins, is free: they try again when they execute next.
    pub(crate) fn look_again(&mut self, lock: KernelLock) {
        self.steady = false;
        for i in 0..self.tasks.len() {
            if self.tasks[i].spins_for(lock) {
                self.tasks.edit(i).look_again();
            }
        }
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
}
