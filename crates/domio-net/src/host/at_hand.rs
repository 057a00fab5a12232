//! Packets that a vcpu of a driver domain has at hand: those that it has yet to pass on, to guests,
//! to the card or onward (Zeng 2015, IV.B).
//!
//! A packet is at hand from the interrupt of the card, or of the guest that sends it, until the
//! guest that gets it is told, or the card has it. Packets that cannot go on, since their guest has
//! posted no buffer or has used up its rate, are not. The kernel counts after each piece of work of
//! its network, and makes a hypercall where the hypervisor has to know.

use domio_core::Duration;
use domio_vmm::bus::{KernelIo, Progress};

use super::Network;

/// What vcpus of driver domains owe for hypercalls that their next piece of work is to include.
pub(super) struct Owed(Vec<Duration>);

impl Owed {
    /// Nothing, for so many vcpus with work of the network.
    pub fn new(vcpus: usize) -> Self {
        Owed(vec![Duration::ZERO; vcpus])
    }

    /// `progress` of vcpu `driver`, with what it owes.
    fn added(&mut self, driver: u16, progress: Progress) -> Progress {
        match progress {
            Progress::Run(time, owner) => {
                let owed = std::mem::take(&mut self.0[usize::from(driver)]);
                Progress::Run(time + owed, owner)
            }
            Progress::Done => Progress::Done,
        }
    }
}

impl Network {
    /// Packets that vcpu number `driver` of those with work of the network has at hand.
    fn at_hand(&self, driver: u16) -> u32 {
        let own = &self.drivers[usize::from(driver)];
        let in_card = self.card.at_hand(driver);
        let backs = self.of_back.iter().zip(&self.backs);
        let backs = backs.filter(|((_, of), _)| *of == driver);
        let in_backs: usize = backs.map(|(_, back)| back.at_hand()).sum();
        u32::try_from(own.at_hand() + in_card + in_backs).unwrap_or(u32::MAX)
    }

    /// Vcpu number `driver` has done a piece of work, which leads to `progress`: tells what it has
    /// at hand now, if the hypervisor wants to know.
    #[inline]
    pub(super) fn tell_at_hand(
        &mut self,
        driver: u16,
        progress: Progress,
        kernel: &mut KernelIo<'_, '_>,
    ) -> Progress {
        if !kernel.tells_packets_at_hand() {
            return progress;
        }
        if kernel.has_at_hand(self.at_hand(driver)) {
            let site = self.of_driver[usize::from(driver)];
            let hypercall = self.sites[usize::from(site)].costs.grants.hypercall;
            self.owed.0[usize::from(driver)] += hypercall;
        }
        self.owed.added(driver, progress)
    }
}
