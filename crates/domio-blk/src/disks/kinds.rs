//! The kinds of disks: a word each for `kind` of `[domain.disk]`, with its own keys.

use crate::loopback::LoopbackConfig;
use crate::loopback::keys as loopback;
use crate::split::SplitConfig;
use crate::split::keys::{self as split, VbdAsked};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::DomainId;
use domio_core::keys::{KeyReader, KeySection, Slot, WordOf};
use domio_vmm::Hardware;

/// What a domain asks for.
pub(crate) struct DiskAsked {
    /// The disk, unless something is wrong with it.
    pub part: Option<DiskPart>,
    /// The key that says how many bytes it has.
    pub size: Slot<u64>,
    /// The key that names the driver domain.
    pub backend: Slot<String>,
    /// The key that names the disk of the host that it is a part of, if it is one.
    pub on: Option<Slot<String>>,
    /// Keys that are given and that only Xen has.
    pub of_xen: Vec<&'static str>,
    /// The key that names the thread of QEMU that serves it, if there is one.
    pub iothread: Option<Slot<String>>,
}

/// A disk of one domain, as its kind has read it.
#[derive(Clone)]
pub(crate) enum DiskPart {
    /// So many bytes of a driver domain's memory.
    Loopback(u64),
    /// A part of a disk of the host.
    Split(Box<VbdAsked>),
}

/// All disks of one kind and of one driver domain.
pub(super) enum DiskDevice {
    Loopback(Box<LoopbackConfig>),
    Split(Box<SplitConfig>),
}

/// Reads the keys of a kind.
type Read = fn(&mut KeyReader<'_>) -> DiskAsked;

/// The kinds.
pub(super) static KINDS: [WordOf<Read>; 2] = [
    WordOf::with_keys("loopback", loopback::asked, loopback::DOC, loopback::KEYS),
    WordOf::with_keys("vbd", split::asked, split::DOC, split::KEYS),
];

impl DiskPart {
    /// The table of a machine that says what work for such a disk costs.
    pub fn costs(&self) -> &'static KeySection {
        match self {
            DiskPart::Loopback(_) => &loopback::LOOPBACK_COSTS,
            DiskPart::Split(_) => &split::VBD_COSTS,
        }
    }

    /// A device for such disks in the domain `driver` of `machine`, without any yet.
    pub(super) fn device(&self, machine: &Hardware, driver: DomainId) -> DiskDevice {
        let known = machine.table(self.costs()).map(|_| machine);
        match self {
            DiskPart::Loopback(_) => {
                DiskDevice::Loopback(Box::new(LoopbackConfig::on(known, driver)))
            }
            DiskPart::Split(_) => DiskDevice::Split(Box::new(SplitConfig::on(known, driver))),
        }
    }

    /// Adds it, as the disk of `domain`, to the others of its kind; whether `device` has disks of
    /// its kind.
    pub(super) fn add_to(&self, device: &mut DiskDevice, domain: DomainId) -> bool {
        match (self, device) {
            (DiskPart::Loopback(bytes), DiskDevice::Loopback(config)) => {
                config.add(domain, *bytes);
                true
            }
            (DiskPart::Split(asked), DiskDevice::Split(config)) => {
                config.add(domain, asked);
                true
            }
            (DiskPart::Loopback(_) | DiskPart::Split(_), _) => false,
        }
    }

    /// Number of the file that is the disk at `place` among those of its device.
    pub fn file(&self, place: u32) -> u32 {
        match self {
            DiskPart::Loopback(_) => place,
            DiskPart::Split(_) => split::file(place),
        }
    }

    /// The part of a disk of the host that it is, if it is one.
    pub fn vbd(&self) -> Option<&VbdAsked> {
        match self {
            DiskPart::Loopback(_) => None,
            DiskPart::Split(asked) => Some(asked),
        }
    }

    /// The same, to give it its place.
    pub fn vbd_mut(&mut self) -> Option<&mut VbdAsked> {
        match self {
            DiskPart::Loopback(_) => None,
            DiskPart::Split(asked) => Some(asked),
        }
    }

    /// Bytes of the room for files in its file system, 0 without one.
    pub fn room(&self) -> u64 {
        let room = self.vbd().and_then(VbdAsked::room).flatten();
        room.map_or(0, |room| room.bytes)
    }
}
