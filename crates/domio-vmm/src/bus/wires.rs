//! What the host and its device models share.

use super::lines::{KernelTimer, Lines, Tasklet, WorkItem};
use crate::evtchn::channels::{Channels, Sent};
use crate::process::Pid;
use alloc::vec::Vec;
use domio_core::{DomainId, Instant, Record, VcpuName};
use domio_sched::PacketsMoved;

/// Something for the kernel of another vcpu: of the same domain, or of any domain from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Far {
    /// Wakes a process, with an IPI.
    Wake {
        /// The domain's.
        domain: DomainId,
        /// The process.
        process: Pid,
        /// The vcpu that sends the IPI.
        from: VcpuName,
    },
    /// Sets a kernel timer.
    Timer {
        /// Whose kernel's.
        vcpu: VcpuName,
        timer: KernelTimer,
        at: Option<Instant>,
    },
    /// Queues a work item.
    Work { vcpu: VcpuName, item: WorkItem },
    /// Schedules a tasklet.
    Tasklet { vcpu: VcpuName, tasklet: Tasklet },
}

/// What the host and its device models share: event channels, whom to call for what, and what the
/// models have asked for in the call under way.
pub(crate) struct Wires {
    /// Event channels of the host.
    pub channels: Channels,
    pub lines: Lines,
    /// Whom device models notified; delivered at the end of the operation.
    pub kicks: Vec<Sent>,
    /// What device models have for kernels of other vcpus; delivered with the notifications.
    pub far: Vec<Far>,
    /// Records of device models; written at the end of the operation.
    pub records: Vec<Record>,
    /// Whether a trace is taken.
    pub recording: bool,
    /// Whether the trace is to tell every step of a packet.
    pub stages: bool,
    /// Whether it is to be known for whom driver domains work.
    pub owners: bool,
    /// Packets that backends have moved and that the policy was not told yet.
    pub packets: Vec<PacketsMoved>,
    /// Whether the policy is to be told.
    pub tells_packets: bool,
}

impl Wires {
    /// No models, no domains.
    pub fn new() -> Self {
        Wires {
            channels: Channels::new(),
            lines: Lines::default(),
            kicks: Vec::with_capacity(16),
            far: Vec::new(),
            records: Vec::new(),
            recording: false,
            stages: false,
            owners: false,
            packets: Vec::new(),
            tells_packets: false,
        }
    }

    /// Adds to what the policy is to be told: one entry for each guest and driver domain.
    pub fn add_packets(&mut self, moved: PacketsMoved) {
        let PacketsMoved { driver, guest, .. } = moved;
        let same = |p: &&mut PacketsMoved| (p.driver, p.guest) == (driver, guest);
        match self.packets.iter_mut().find(same) {
            Some(entry) => {
                entry.sent = entry.sent.saturating_add(moved.sent);
                entry.received = entry.received.saturating_add(moved.received);
            }
            None => self.packets.push(moved),
        }
    }

    /// Whether something was sent that the host has to deliver first.
    #[inline]
    pub fn has_sent(&self) -> bool {
        !self.kicks.is_empty() || !self.far.is_empty()
    }
}
