//! The devices that scenarios can ask for, and the one way to attach them.
//!
//! A new device is a variant of [`Model`] and one of [`DeviceConfig`].

use crate::build::Built;
use domio_blk::loopback::{Loopback, LoopbackConfig};
use domio_net::host::{Network, NetworkConfig};
use domio_net::queue::{Accounted, Ledger};
use domio_vmm::bus::{Assembly, Attach};

domio_vmm::device_models! {
    /// What a host of a scenario may have on its bus.
    pub enum Model {
        /// A card with all that is behind it.
        Network(Network),
        /// Disks in a driver domain's memory.
        Loopback(Loopback),
    }
}

/// What a [`Model`] is made of.
#[derive(Clone, Debug)]
pub enum DeviceConfig {
    /// See [`Model::Network`].
    Network(Box<NetworkConfig>),
    /// See [`Model::Loopback`].
    Loopback(LoopbackConfig),
}

impl DeviceConfig {
    /// The model. Its random streams are those of `seed` and `replication`.
    ///
    /// # Panics
    /// As the model's own `new`; not for what a scenario gave.
    pub fn make(&self, attach: &mut Attach<'_>, seed: u64, replication: u32) -> Model {
        match self {
            DeviceConfig::Network(config) => {
                Model::Network(Network::new(config, attach, seed, replication))
            }
            DeviceConfig::Loopback(config) => Model::Loopback(Loopback::new(config, attach)),
        }
    }

    /// The network that it is, if it is one.
    pub fn network(&self) -> Option<&NetworkConfig> {
        match self {
            DeviceConfig::Network(config) => Some(config),
            DeviceConfig::Loopback(_) => None,
        }
    }
}

impl From<NetworkConfig> for DeviceConfig {
    fn from(config: NetworkConfig) -> Self {
        DeviceConfig::Network(Box::new(config))
    }
}

/// Packets of networks; other devices have none.
impl Accounted for Model {
    fn account(&self, ledger: &mut Ledger) {
        match self {
            Model::Network(network) => network.account(ledger),
            Model::Loopback(_) => {}
        }
    }
}

impl Built {
    /// Puts the devices on the bus of a simulation, in the order of [`Built::devices`], for
    /// replication `replication`.
    pub fn attach(&self, bus: &mut Assembly<'_, Model>, replication: u32) {
        attach(&self.devices, bus, self.seed, replication);
    }
}

/// Puts `devices` on `bus`, in their order. Their random streams are those of `seed` and
/// `replication`.
pub fn attach(
    devices: &[DeviceConfig],
    bus: &mut Assembly<'_, Model>,
    seed: u64,
    replication: u32,
) {
    for device in devices {
        bus.add(|attach| device.make(attach, seed, replication));
    }
}
