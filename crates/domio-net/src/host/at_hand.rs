//! Packets that a vcpu of a driver domain has at hand: those that it has yet to pass on, to guests,
//! to the card or onward (Zeng 2015, IV.B).
//!
//! A packet is at hand from the interrupt of the card, or of the guest that sends it, until the
//! guest that gets it is told, or the card has it. Packets that cannot continue, since their guest
//! has posted no buffer or has used up its rate, are not. The kernel counts after each piece of
//! work of its network, and makes a hypercall where the hypervisor has to know.

use alloc::vec;
use alloc::vec::Vec;
use domio_core::Duration;
use domio_vmm::bus::Progress;

/// What vcpus of driver domains owe for hypercalls that their next piece of work is to include.
pub(super) struct Owed(Vec<Duration>);

impl Owed {
    /// Nothing, for so many vcpus with work of the network.
    pub fn new(vcpus: usize) -> Self {
        Owed(vec![Duration::ZERO; vcpus])
    }

    /// Vcpu `driver` has made a hypercall, which takes `time`.
    pub fn add(&mut self, driver: u16, time: Duration) {
        self.0[usize::from(driver)] += time;
    }

    /// `progress` of vcpu `driver`, with what it owes.
    pub fn added(&mut self, driver: u16, progress: Progress) -> Progress {
        match progress {
            Progress::Run(time, owner) => {
                let owed = core::mem::take(&mut self.0[usize::from(driver)]);
                Progress::Run(time + owed, owner)
            }
            Progress::Done => Progress::Done,
        }
    }
}
