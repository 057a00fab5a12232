//! The devices that scenarios can ask for, and the one way to attach them.
//!
//! A new device is a line of `devices!` at the end: the function that says how scenarios ask for
//! the device ([`DeviceKind`]), then for each model the name of its variant in [`DeviceModel`] and
//! [`DeviceConfig`], what it is made of, and the model. All else is in the device's own folder.

use domio_blk::disks::virtual_disks;
use domio_blk::loopback::{Loopback, LoopbackConfig};
use domio_blk::split::{Split, SplitConfig};
use domio_core::Class;
use domio_core::keys::{JoinedWords, Key, WordList};
use domio_net::host::{Network, NetworkConfig};
use domio_net::keys::networks;
use domio_net::queue::{Accounted, Ledger};
use domio_vmm::bus::side::DeviceKind;
use domio_vmm::bus::{Assembly, Attach, Blueprint, Device};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Declares [`DeviceModel`] and [`DeviceConfig`], and the list of kinds. Both are enums, so that a
/// host calls its devices without a table of pointers.
macro_rules! devices {
    ($($kind:ident { $($(#[$doc:meta])* $name:ident: $config:ty => $model:ty,)+ })+) => {
        domio_vmm::device_models! {
            /// What a host of a scenario may have on its bus.
            pub enum DeviceModel {
                $($($(#[$doc])* $name($model),)+)+
                /// One that does not ship, which is called through a table of pointers.
                Own(Box<dyn Device + Send>),
            }
        }

        /// What a [`DeviceModel`] is made of.
        #[derive(Clone, Debug)]
        pub enum DeviceConfig {
            $($($(#[$doc])* $name(Box<$config>),)+)+
            /// One that does not ship.
            Own(Arc<dyn OwnDevice>),
        }

        $($(impl From<Box<$config>> for DeviceConfig {
            fn from(config: Box<$config>) -> Self {
                DeviceConfig::$name(config)
            }
        })+)+

        impl Blueprint for DeviceConfig {
            type Model = DeviceModel;

            fn make(&self, attach: &mut Attach<'_>, seed: u64, replication: u32) -> DeviceModel {
                match self {
                    $($(DeviceConfig::$name(config) => {
                        DeviceModel::$name(config.make(attach, seed, replication))
                    })+)+
                    DeviceConfig::Own(own) => {
                        DeviceModel::Own(own.model(attach, seed, replication))
                    }
                }
            }
        }

        impl DeviceConfig {
            /// What it is made of, if that is a `T`.
            pub fn of<T: 'static>(&self) -> Option<&T> {
                let config: &dyn Any = match self {
                    $($(DeviceConfig::$name(config) => &**config,)+)+
                    DeviceConfig::Own(own) => own.as_any(),
                };
                config.downcast_ref()
            }
        }

        impl DeviceModel {
            /// The model, if it is a `T`.
            pub fn of<T: 'static>(&self) -> Option<&T> {
                let model: &dyn Any = match self {
                    $($(DeviceModel::$name(model) => model,)+)+
                    DeviceModel::Own(model) => model,
                };
                model.downcast_ref()
            }
        }

        /// Declarations of the devices' records.
        pub(crate) static RECORDS: &[Option<&'static Class>] = &[
            $($(<$config as Blueprint>::RECORDS,)+)+
        ];

        /// The kinds, in the order in which they come to the bus.
        pub(crate) static KINDS: [DeviceKind<DeviceConfig>; COUNT] = LIST;

        const COUNT: usize = [$(stringify!($kind)),+].len();
        const LIST: [DeviceKind<DeviceConfig>; COUNT] = [$($kind()),+];
    };
}

/// Keys of the document that devices have.
pub(crate) const OF_HOST: [&[Key]; COUNT] = {
    let mut all: [&[Key]; COUNT] = [&[]; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = LIST[i].of_host;
        i += 1;
    }
    all
};

/// Header of the table of a domain.
pub(crate) const DOMAIN_HEADER: &str = "[[domain]]";

/// Keys of a domain that devices have.
pub(crate) const OF_DOMAIN: [&[Key]; COUNT] = {
    let mut all: [&[Key]; COUNT] = [&[]; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = LIST[i].of_domain;
        i += 1;
    }
    all
};

/// Workloads that use devices.
pub(crate) static WORKLOADS: JoinedWords = {
    const WORDS: [&dyn WordList; COUNT] = {
        let mut all: [&dyn WordList; COUNT] = [LIST[0].workloads; COUNT];
        let mut i = 0;
        while i < COUNT {
            all[i] = LIST[i].workloads;
            i += 1;
        }
        all
    };
    JoinedWords(&WORDS)
};

/// How many keys `around` joins.
pub(crate) const fn count(before: &[Key], devices: &[&[Key]], after: &[Key]) -> usize {
    let (mut i, mut count) = (0, before.len() + after.len());
    while i < devices.len() {
        count += devices[i].len();
        i += 1;
    }
    count
}

/// The keys of devices between `before` and `after`.
pub(crate) const fn around<const N: usize>(
    before: &[Key],
    devices: &[&[Key]],
    after: &[Key],
) -> [Key; N] {
    let mut all = [before[0]; N];
    let (mut list, mut count) = (0, 0);
    while list < devices.len() + 2 {
        let keys = match list {
            0 => before,
            _ if list <= devices.len() => devices[list - 1],
            _ => after,
        };
        let mut i = 0;
        while i < keys.len() {
            all[count] = keys[i];
            (i, count) = (i + 1, count + 1);
        }
        list += 1;
    }
    all
}

/// What a device that does not ship is made of: every [`Blueprint`] that can be kept.
pub trait OwnDevice: fmt::Debug + Send + Sync {
    /// The model ([`Blueprint::make`]).
    fn model(&self, attach: &mut Attach<'_>, seed: u64, replication: u32)
    -> Box<dyn Device + Send>;

    /// The blueprint itself.
    fn as_any(&self) -> &dyn Any;
}

impl<B> OwnDevice for B
where
    B: Blueprint + fmt::Debug + Send + Sync + 'static,
    B::Model: Send + 'static,
{
    fn model(
        &self,
        attach: &mut Attach<'_>,
        seed: u64,
        replication: u32,
    ) -> Box<dyn Device + Send> {
        Box::new(self.make(attach, seed, replication))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl DeviceConfig {
    /// A device that does not ship.
    pub fn own(config: impl OwnDevice + 'static) -> Self {
        DeviceConfig::Own(Arc::new(config))
    }
}

/// Packets of networks; other devices have none.
impl Accounted for DeviceModel {
    fn account(&self, ledger: &mut Ledger) {
        if let Some(network) = self.of::<Network>() {
            network.account(ledger);
        }
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

// The list.
devices! {
    networks {
        /// A card with all that is behind it.
        Network: NetworkConfig => Network,
    }
    virtual_disks {
        /// Disks in a driver domain's memory.
        Loopback: LoopbackConfig => Loopback,
        /// Parts of disks of the host, through both block layers.
        Split: SplitConfig => Split,
    }
}
