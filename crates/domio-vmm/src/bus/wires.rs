//! What the host and its device models share.

use super::at_hand::AtHand;
use super::lines::{BusLines, KernelTimer, Tasklet, WorkItem};
use super::locks::{KernelLock, Locks};
use crate::evtchn::abi::Raised;
use crate::evtchn::channels::{Channels, Sent};
use crate::process::Pid;
use alloc::vec::Vec;
use domio_contract::{Dispatching, PacketsMoved};
use domio_core::{ActorId, DomainId, Duration, Instant, Kind, Names, PcpuId, Record, VcpuName};

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
    Tasklet {
        vcpu: VcpuName,
        tasklet: Tasklet,
        /// The vcpu that sends an IPI; none for what comes from outside.
        from: Option<VcpuName>,
    },
    /// An interrupt of the host takes time on the pcpu that a vcpu was on last.
    Interrupt { vcpu: VcpuName, time: Duration },
    /// A lock is free for which vcpus of the domain spin.
    Unlocked { domain: DomainId, lock: KernelLock },
    /// Flushes the TLBs that have entries of the domain's, from one of its vcpus.
    Flush { from: VcpuName },
}

/// What the host and its device models share: event channels, whom to call for what, and what the
/// models have asked for in the call under way.
pub(crate) struct Wires {
    /// Event channels of the host.
    pub channels: Channels,
    pub lines: BusLines,
    /// Spin locks of all kernels.
    pub locks: Locks,
    /// Whom device models notified; delivered at the end of the operation.
    pub kicks: Vec<Sent>,
    /// What device models have for kernels of other vcpus; delivered with the notifications.
    pub far: Vec<Far>,
    /// Classes of records of the device models, until the host takes them over.
    pub names: Names,
    /// The actor that vcpu 0 of each domain is, by domain id.
    actors: Vec<ActorId>,
    /// Records of device models; written at the end of the operation.
    pub records: Vec<Record>,
    /// Whether a trace is taken.
    pub recording: bool,
    /// Whether the trace is to give every step of a packet.
    pub stages: bool,
    /// Whether it is to be known for whom driver domains work.
    pub owners: bool,
    /// Packets that backends have moved and that the policy was not told yet.
    pub packets: Vec<PacketsMoved>,
    /// Whether the policy is to be told.
    pub tells_packets: bool,
    /// Packets that driver domains have yet to pass on.
    pub at_hand: AtHand,
}

impl Wires {
    /// No models, no domains.
    pub fn new() -> Self {
        Wires {
            channels: Channels::new(),
            lines: BusLines::default(),
            locks: Locks::default(),
            kicks: Vec::with_capacity(16),
            far: Vec::new(),
            names: Names::new(),
            actors: Vec::new(),
            records: Vec::new(),
            recording: false,
            stages: false,
            owners: false,
            packets: Vec::new(),
            tells_packets: false,
            at_hand: AtHand::new(Dispatching::Untold),
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

    /// The vcpus of `domain` are the actor `first` and those behind it.
    pub fn set_actors(&mut self, domain: DomainId, first: ActorId) {
        if self.actors.len() <= domain.index() {
            self.actors.resize(domain.index() + 1, ActorId::NONE);
        }
        self.actors[domain.index()] = first;
    }

    /// The actor that `vcpu` is.
    #[inline]
    pub fn actor(&self, vcpu: VcpuName) -> ActorId {
        match self.actors.get(vcpu.domain.index()) {
            Some(&ActorId(first)) if first != ActorId::NONE.0 => {
                ActorId(first + u32::from(vcpu.index))
            }
            _ => ActorId::NONE,
        }
    }

    /// The record of what was sent by the actor `sender`, from code on pcpu `on`.
    pub fn record_of(&self, now: Instant, on: PcpuId, sent: &Sent, sender: ActorId) -> Record {
        let was_pending = u32::from(sent.raised == Raised::Coalesced);
        let words = [sent.port.0, sender.0, was_pending, 0];
        Record::with(now, on, Kind::EvtchnSend, self.actor(sent.to), words)
    }

    /// Whether something was sent that the host has to deliver first.
    #[inline]
    pub fn has_sent(&self) -> bool {
        !self.kicks.is_empty() || !self.far.is_empty()
    }
}
