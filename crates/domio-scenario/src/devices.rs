//! The devices that scenarios can ask for, and the one way to attach them.
//!
//! A new device is a line of `registry!` at the end: the name of its variant in [`DeviceModel`] and
//! [`DeviceConfig`], what it is made of, and its model. A kind of disk brings the rest in its own
//! folder ([`DiskKind`]): the word for it, keys, costs and what a domain asks for.

#[cfg(test)]
mod tiny;

use domio_blk::loopback::{Loopback, LoopbackConfig};
use domio_blk::split::keys::VbdAsked;
use domio_blk::split::{Split, SplitConfig};
use domio_core::keys::{KeyReader, KeySection, WordOf};
use domio_core::{Class, DomainId};
use domio_net::host::{Network, NetworkConfig};
use domio_net::queue::{Accounted, Ledger};
use domio_vmm::Hardware;
use domio_vmm::bus::{Assembly, Attach, Blueprint, DiskAsked, DiskKind};

/// Reads the keys of a kind of disk.
pub(crate) type ReadDisk = fn(&mut dyn KeyReader) -> DiskAsked<DiskPart>;

/// Declares [`DeviceModel`] and [`DeviceConfig`], and the kinds of disks. All are enums, so that a
/// host calls its devices without a table of pointers.
macro_rules! devices {
    (
        networks { $($(#[$netdoc:meta])* $net:ident: $netconfig:ty => $netmodel:ty,)+ }
        disks { $($(#[$doc:meta])* $disk:ident: $config:ty => $model:ty,)+ }
    ) => {
        domio_vmm::device_models! {
            /// What a host of a scenario may have on its bus.
            pub enum DeviceModel {
                $($(#[$netdoc])* $net($netmodel),)+
                $($(#[$doc])* $disk($model),)+
            }
        }

        /// What a [`DeviceModel`] is made of.
        #[derive(Clone, Debug)]
        pub enum DeviceConfig {
            $($(#[$netdoc])* $net(Box<$netconfig>),)+
            $($(#[$doc])* $disk(Box<$config>),)+
        }

        impl Blueprint for DeviceConfig {
            type Model = DeviceModel;

            fn make(&self, attach: &mut Attach<'_>, seed: u64, replication: u32) -> DeviceModel {
                match self {
                    $(DeviceConfig::$net(config) => {
                        DeviceModel::$net(config.make(attach, seed, replication))
                    })+
                    $(DeviceConfig::$disk(config) => {
                        DeviceModel::$disk(config.make(attach, seed, replication))
                    })+
                }
            }
        }

        /// Packets of networks; disks have none.
        impl Accounted for DeviceModel {
            fn account(&self, ledger: &mut Ledger) {
                match self {
                    $(DeviceModel::$net(model) => model.account(ledger),)+
                    $(DeviceModel::$disk(_) => {})+
                }
            }
        }

        /// A disk of one domain, as its kind has read it.
        #[derive(Clone)]
        pub(crate) enum DiskPart {
            $($disk(<$config as DiskKind>::Disk),)+
        }

        impl DiskPart {
            /// The table of a machine that says what work for such a disk costs.
            pub fn costs(&self) -> &'static KeySection {
                match self {
                    $(DiskPart::$disk(_) => <$config as DiskKind>::COSTS,)+
                }
            }

            /// A device for such disks in the domain `driver` of `machine`, without any yet.
            pub fn blueprint(&self, machine: &Hardware, driver: DomainId) -> DeviceConfig {
                let known = machine.table(self.costs()).map(|_| machine);
                match self {
                    $(DiskPart::$disk(_) => {
                        DeviceConfig::$disk(Box::new(<$config as DiskKind>::on(known, driver)))
                    })+
                }
            }

            /// Number of the file that is the disk at `place` among those of its device.
            pub fn file(&self, place: u32) -> u32 {
                match self {
                    $(DiskPart::$disk(_) => <$config as DiskKind>::file(place),)+
                }
            }

            /// Adds it, as the disk of `domain`, to the others of its kind; whether `device` has
            /// disks of its kind.
            pub fn add_to(&self, device: &mut DeviceConfig, domain: DomainId) -> bool {
                match (self, device) {
                    $((DiskPart::$disk(disk), DeviceConfig::$disk(config)) => {
                        config.add(domain, disk.clone());
                        true
                    })+
                    _ => false,
                }
            }
        }

        /// Declarations of the devices' records.
        pub(crate) static RECORDS: &[Option<&'static Class>] = &[
            $(<$netconfig as Blueprint>::RECORDS,)+
            $(<$config as Blueprint>::RECORDS,)+
        ];

        /// The kinds of disks.
        pub(crate) static DISKS: [WordOf<ReadDisk>; [$(stringify!($disk)),+].len()] = [
            $(WordOf::with_keys(
                <$config as DiskKind>::WORD,
                |table| {
                    let asked = <$config as DiskKind>::asked(table);
                    DiskAsked {
                        disk: asked.disk.map(DiskPart::$disk),
                        size: asked.size,
                        backend: asked.backend,
                        on: asked.on,
                    }
                },
                <$config as DiskKind>::DOC,
                <$config as DiskKind>::KEYS,
            )),+
        ];
    };
}

impl DiskPart {
    /// Whether it has its place on a disk of the host, where it needs one.
    pub fn is_placed(&self) -> bool {
        match self {
            DiskPart::Split(asked) => asked.is_placed(),
            _ => true,
        }
    }

    /// Bytes of the room for files in its file system, 0 without one.
    pub fn room(&self) -> u64 {
        match self {
            DiskPart::Split(asked) => asked.room().flatten().map_or(0, |room| room.bytes),
            _ => 0,
        }
    }

    /// The part of a disk of the host that it is, if it is one.
    pub fn vbd(&mut self) -> Option<&mut VbdAsked> {
        match self {
            DiskPart::Split(asked) => Some(&mut **asked),
            _ => None,
        }
    }
}

impl DeviceConfig {
    /// The disks of the host with their virtual disks that it is, if it is that.
    pub(crate) fn split(&mut self) -> Option<&mut SplitConfig> {
        match self {
            DeviceConfig::Split(config) => Some(config),
            _ => None,
        }
    }

    /// The network that it is, if it is one.
    pub fn network(&self) -> Option<&NetworkConfig> {
        if let DeviceConfig::Network(config) = self {
            Some(config)
        } else {
            None
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

/// The list.
macro_rules! registry {
    ($($of_tests:tt)*) => {
        devices! {
            networks {
                /// A card with all that is behind it.
                Network: NetworkConfig => Network,
            }
            disks {
                /// Disks in a driver domain's memory.
                Loopback: LoopbackConfig => Loopback,
                /// Parts of disks of the host, through both block layers.
                Split: SplitConfig => Split,
                $($of_tests)*
            }
        }
    };
}

#[cfg(not(test))]
registry! {}

#[cfg(test)]
registry! {
    /// Disks that seek.
    Tiny: tiny::TinyConfig => tiny::Tiny,
}
