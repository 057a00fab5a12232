//! What a kernel that serves devices executes, by kind of work.

use core::ops::{Add, Sub};
use domio_core::Duration;

/// Times that vcpus with such a kernel have executed. What the hypervisor does in the time of a
/// vcpu is in none of them. A kernel that spins for a lock executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelTimes {
    /// Upcalls, the scan over ports, handlers.
    pub interrupts: Duration,
    /// Softirqs without the tasklets, also where their thread runs them.
    pub softirqs: Duration,
    /// Tasklets.
    pub tasklets: Duration,
    /// The part of their time that is for copies and grant operations.
    pub moving: Duration,
    /// Work items, which threads of the kernel do.
    pub items: Duration,
    /// Processes.
    pub processes: Duration,
    /// The way into idle.
    pub idle: Duration,
}

impl KernelTimes {
    /// All of them; the part of tasklets is none of its own.
    pub fn sum(&self) -> Duration {
        self.interrupts + self.softirqs + self.tasklets + self.items + self.processes + self.idle
    }

    fn with(self, other: Self, of: impl Fn(Duration, Duration) -> Duration) -> Self {
        KernelTimes {
            interrupts: of(self.interrupts, other.interrupts),
            softirqs: of(self.softirqs, other.softirqs),
            tasklets: of(self.tasklets, other.tasklets),
            moving: of(self.moving, other.moving),
            items: of(self.items, other.items),
            processes: of(self.processes, other.processes),
            idle: of(self.idle, other.idle),
        }
    }
}

impl Add for KernelTimes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for KernelTimes {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.with(earlier, |a, b| a - b)
    }
}
