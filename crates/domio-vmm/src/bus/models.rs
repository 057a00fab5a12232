//! All device models of a host.

use super::device::{Device, Passed};
use super::wires::Wires;
use alloc::vec::Vec;
use domio_contract::control::accounting::Counted;
use domio_core::DomainId;

/// All device models of a host, and whom to call for what.
pub struct Bus<D> {
    pub(crate) devices: Vec<D>,
    pub(crate) wires: Wires,
}

impl<D: Device> Bus<D> {
    /// A bus without devices.
    pub(crate) fn empty() -> Self {
        Bus {
            devices: Vec::new(),
            wires: Wires::new(),
        }
    }

    /// The models, in the order in which they were attached.
    pub fn devices(&self) -> &[D] {
        &self.devices
    }

    /// Whether any model serves `domain`.
    pub(crate) fn serves(&self, domain: DomainId) -> bool {
        self.devices.iter().any(|device| device.serves(domain))
    }

    /// Packets that backends in `driver` have taken from `domain` and handed to it.
    pub(crate) fn counted(&self, driver: DomainId, domain: DomainId) -> Counted {
        let own = self.devices.iter().map(|d| d.counted(driver, domain));
        own.fold(Counted::default(), Counted::plus)
    }

    /// Whether `domain` works for others.
    pub(crate) fn is_driver(&self, domain: DomainId) -> bool {
        self.devices.iter().any(|device| device.drives(domain))
    }

    /// What has gone through the virtual devices of `domain`, of all models.
    pub(crate) fn passed(&self, domain: DomainId) -> Passed {
        let all = self.devices.iter().map(|device| device.passed(domain));
        all.fold(Passed::default(), Passed::plus)
    }
}
