//! What the kernels call the network for: tokens by kind of call.

use domio_vmm::bus::TokenKind;

/// What a port is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfPort {
    /// A queue of the card: the interrupt.
    Card,
    /// An interface: netback's.
    Back,
    /// An interface: netfront's.
    Front,
}

impl TokenKind for OfPort {
    const ALL: &'static [OfPort] = &[OfPort::Card, OfPort::Back, OfPort::Front];
}

/// What a softirq is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfSoftirq {
    /// A vcpu of a driver domain with work of the network: polling.
    DriverRx,
    /// A backend: queues to guests.
    DriverTx,
    /// An interface: the guest polls.
    FrontRx,
    /// An interface: the ring has room again.
    FrontTx,
}

impl TokenKind for OfSoftirq {
    const ALL: &'static [OfSoftirq] = &[
        OfSoftirq::DriverRx,
        OfSoftirq::DriverTx,
        OfSoftirq::FrontRx,
        OfSoftirq::FrontTx,
    ];
}

/// Which of a backend's tasklets it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfTasklet {
    /// Packets to guests.
    Rx,
    /// Packets from guests.
    Tx,
}

impl TokenKind for OfTasklet {
    const ALL: &'static [OfTasklet] = &[OfTasklet::Rx, OfTasklet::Tx];
}

/// What a timer of a kernel is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfTimer {
    /// A backend: limits of interfaces.
    Credit,
    /// A backend: queues that have stood still for too long.
    Queues,
    /// An interface: the guest's stack.
    Stack,
    /// The driver domain's own protocols.
    Local,
}

impl TokenKind for OfTimer {
    const ALL: &'static [OfTimer] = &[
        OfTimer::Credit,
        OfTimer::Queues,
        OfTimer::Stack,
        OfTimer::Local,
    ];
}

/// What a thread of a kernel is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfWork {
    /// An interface: setting it up.
    Boot,
    /// A backend: packets to guests.
    Rx,
    /// An interface: interrupting the guest.
    Inject,
}

impl TokenKind for OfWork {
    const ALL: &'static [OfWork] = &[OfWork::Boot, OfWork::Rx, OfWork::Inject];
}
