//! What the kernels call the device for: tokens by kind of call. Softirqs are of disks
//! alone, whose tokens are the numbers of the disks.

use domio_vmm::bus::TokenKind;

/// What a port is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfPort {
    /// A virtual disk: blkfront's.
    Front,
    /// A virtual disk: the back-end's.
    Back,
    /// A disk of the host: the interrupt.
    Disk,
}

impl TokenKind for OfPort {
    const ALL: &'static [OfPort] = &[OfPort::Front, OfPort::Back, OfPort::Disk];
}

/// What a timer of the world outside is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfEvent {
    /// A disk of the host: the drive.
    Drive,
    /// A disk of the host: the handler of its interrupt, in the host's own kernel.
    Hard,
}

impl TokenKind for OfEvent {
    const ALL: &'static [OfEvent] = &[OfEvent::Drive, OfEvent::Hard];
}

/// What a thread works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfWork {
    /// A virtual disk: `kblockd` of the guest.
    Guest,
    /// A thread of a back-end.
    Thread,
    /// A disk of the host: `kblockd` of the driver domain.
    Disk,
    /// A virtual disk: a thread of the guest's file system.
    Files(usize),
    /// A thread that works on files of the driver domain.
    Worker,
}

impl TokenKind for OfWork {
    const ALL: &'static [OfWork] = &[
        OfWork::Guest,
        OfWork::Thread,
        OfWork::Disk,
        OfWork::Files(0),
        OfWork::Files(1),
        OfWork::Files(2),
        OfWork::Worker,
    ];
}

/// What a timer of a kernel is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfTimer {
    /// A virtual disk: one of the guest's queue.
    Guest(usize),
    /// A disk of the host: one of the queue.
    Disk(usize),
    /// A virtual disk: the guest's file system.
    Files,
    /// A disk of the host: the driver domain's file system.
    Images,
}

impl TokenKind for OfTimer {
    const ALL: &'static [OfTimer] = &[
        OfTimer::Guest(0),
        OfTimer::Guest(1),
        OfTimer::Guest(2),
        OfTimer::Disk(0),
        OfTimer::Disk(1),
        OfTimer::Disk(2),
        OfTimer::Files,
        OfTimer::Images,
    ];
}
