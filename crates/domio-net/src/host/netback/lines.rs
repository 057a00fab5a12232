//! What the driver domain's kernel is called by for netback.

use domio_vmm::bus::{KernelTimer, SoftirqLine, Tasklet, WorkItem};

/// Softirq, tasklets and timers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackLines {
    /// Queues to guests continue.
    pub restart: SoftirqLine,
    /// Packets to the guests.
    pub rx_tasklet: Tasklet,
    /// The thread that has them instead (Linux since 3.12).
    pub rx_thread: Option<WorkItem>,
    /// Packets from the guests.
    pub tx_tasklet: Tasklet,
    /// Limits of interfaces.
    pub credit: KernelTimer,
    /// Queues that have stood still for too long.
    pub queues: KernelTimer,
}
