//! The devices that scenarios can ask for, and the one way to attach them.
//!
//! A new device is a line of the list below: the name of its variant in [`DeviceModel`] and
//! [`DeviceConfig`], what it is made of, and its model.

use crate::build::Built;
use domio_blk::loopback::{Loopback, LoopbackConfig};
use domio_net::host::{Network, NetworkConfig};
use domio_net::queue::{Accounted, Ledger};
use domio_vmm::bus::{Assembly, Attach, Blueprint};

/// Declares [`DeviceModel`] and [`DeviceConfig`]. Both are enums, so that a host calls its devices
/// without a table of pointers.
macro_rules! devices {
    ($($(#[$doc:meta])* $variant:ident: $config:ty => $model:ty),+ $(,)?) => {
        domio_vmm::device_models! {
            /// What a host of a scenario may have on its bus.
            pub enum DeviceModel {
                $($(#[$doc])* $variant($model)),+
            }
        }

        /// What a [`DeviceModel`] is made of.
        #[derive(Clone, Debug)]
        pub enum DeviceConfig {
            $($(#[$doc])* $variant(Box<$config>)),+
        }

        impl Blueprint for DeviceConfig {
            type Model = DeviceModel;

            fn make(&self, attach: &mut Attach<'_>, seed: u64, replication: u32) -> DeviceModel {
                match self {
                    $(DeviceConfig::$variant(config) => {
                        DeviceModel::$variant(config.make(attach, seed, replication))
                    })+
                }
            }
        }

        $(impl From<$config> for DeviceConfig {
            fn from(config: $config) -> Self {
                DeviceConfig::$variant(Box::new(config))
            }
        })+
    };
}

devices! {
    /// A card with all that is behind it.
    Network: NetworkConfig => Network,
    /// Disks in a driver domain's memory.
    Loopback: LoopbackConfig => Loopback,
}

impl DeviceConfig {
    /// The network that it is, if it is one.
    pub fn network(&self) -> Option<&NetworkConfig> {
        if let DeviceConfig::Network(config) = self {
            Some(config)
        } else {
            None
        }
    }
}

/// Packets of networks; other devices have none.
impl Accounted for DeviceModel {
    fn account(&self, ledger: &mut Ledger) {
        if let DeviceModel::Network(network) = self {
            network.account(ledger);
        }
    }
}

impl Built {
    /// Puts the devices on the bus of a simulation, in the order of [`Built::devices`], for
    /// replication `replication`.
    pub fn attach(&self, bus: &mut Assembly<'_, DeviceModel>, replication: u32) {
        attach(&self.devices, bus, self.seed, replication);
    }
}

/// Puts `devices` on `bus`, in their order. Their random streams are those of `seed` and
/// `replication`.
pub fn attach(
    devices: &[DeviceConfig],
    bus: &mut Assembly<'_, DeviceModel>,
    seed: u64,
    replication: u32,
) {
    for device in devices {
        bus.add(|attach| device.make(attach, seed, replication));
    }
}
