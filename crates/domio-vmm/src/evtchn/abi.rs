//! Which event channels a domain uses, and what operations on them answer.

use crate::evtchn::port::Width;
use crate::evtchn::scan::form::ScanForm;
use domio_core::XenVersion;

/// What a send did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a kick has to wake or interrupt the vcpu"]
pub enum Raised {
    /// The port was pending already: the two sends are one to the guest.
    Coalesced,
    /// The port is pending now, but masked; whoever unmasks it finds out.
    Masked,
    /// The port is pending now, and the guest is about to look anyway.
    Latched,
    /// The port is pending now and an upcall has become due: wake the vcpu, or, if it runs,
    /// interrupt its pcpu.
    Kick,
}

/// What an unmasking did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an upcall that became due has to be delivered"]
pub struct Unmasked {
    /// The vcpu that the port notifies.
    pub vcpu: u16,
    /// Whether it takes a hypercall.
    pub hypercall: bool,
    /// The port was pending and an upcall of `vcpu` has become due. Without a hypercall `vcpu` is
    /// the caller, who gets it when upcalls are unmasked next; with one it is kicked.
    pub upcall: bool,
}

/// Which event channels a domain uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abi {
    /// Bitmaps of two levels.
    TwoLevel {
        /// Bits in a word of the guest.
        width: Width,
        /// How its kernel looks for ports.
        scan: ScanForm,
    },
    /// Queues by priority.
    Fifo,
}

impl Abi {
    /// First release that has [`Abi::Fifo`], of those that are distinguished.
    pub const FIFO_SINCE: XenVersion = XenVersion::V4_4;

    /// Those of kernels that say nothing else, under Xen `version`.
    pub fn usual(version: XenVersion) -> Abi {
        match version < Abi::FIFO_SINCE {
            true => Abi::TwoLevel {
                width: Width::Bits64,
                scan: ScanForm::usual(version),
            },
            false => Abi::Fifo,
        }
    }
}

impl ScanForm {
    /// That of Linux of the time of Xen `version`.
    pub fn usual(version: XenVersion) -> ScanForm {
        match version {
            version if version < XenVersion::V3_1 => ScanForm::Nesting,
            version if version < XenVersion::V4_0 => ScanForm::Restart,
            _ => ScanForm::ResumeMainline,
        }
    }
}
