//! What the event queue delivers to a host.

use domio_core::{DomainId, PcpuId, VcpuId};
use domio_sim::EventQueue;

/// An event of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The slice timer of a pcpu expired.
    Slice(PcpuId),
    /// The policy's timer expired.
    Policy(PcpuId, u8),
    /// The policy's timer of a domain expired.
    DomainTimer(DomainId),
    /// A pcpu's phase `Entering` or `Switching` is over.
    Stage(PcpuId),
    /// The current vcpu of a pcpu has executed what its guest asked for.
    Done(PcpuId),
    /// A rescheduling IPI arrived.
    Ipi(PcpuId),
    /// The timer that a guest set expired.
    GuestTimer(VcpuId),
    /// The periodic tick of a running vcpu is due.
    GuestTick(VcpuId),
    /// The host-wide guest tick of Xen up to 3.0 on one pcpu.
    HostTick(PcpuId),
    /// A job on a pcpu wakes a vcpu of its domain.
    Kick {
        /// Which vcpu.
        vcpu: VcpuId,
        /// Where the job was executed.
        by: PcpuId,
    },
    /// A timer of a device model fired, by its number on the bus.
    Device(u32),
    /// The next [`TimerHold`](crate::host::TimerHold) begins.
    TimerHold,
    /// An operator's action, by index.
    Action(u32),
    /// A domain is created, by index.
    Start(u32),
    /// A domain is destroyed, by index.
    Destroy(u32),
    /// A run that starts from a snapshot begins.
    Begin,
}

/// The queue of a host.
pub(crate) type Queue = EventQueue<Event>;
