//! Virtual disks, as scenarios ask for them: what a kind of disk brings besides its model.

use super::Blueprint;
use crate::machine::Hardware;
use alloc::string::String;
use domio_core::DomainId;
use domio_core::keys::{Key, KeyReader, KeySection, Slot};

/// What one kind of virtual disk is made of: all disks of the kind that one driver domain has. A
/// scenario asks for a disk with `kind` of `[domain.disk]`.
pub trait DiskKind: Blueprint + Sized {
    /// The word for it.
    const WORD: &'static str;
    /// What it is, in sentences.
    const DOC: &'static str;
    /// Keys of a domain's disk.
    const KEYS: &'static [Key];
    /// The table of a machine that says what the work costs.
    const COSTS: &'static KeySection;
    /// What one domain asks for.
    type Disk: Clone;

    /// What `table`, whose keys are [`DiskKind::KEYS`], asks for.
    fn asked(table: &mut dyn KeyReader) -> DiskAsked<Self::Disk>;

    /// No disks yet, whose work costs what `machine` says; nothing without one.
    fn on(machine: Option<&Hardware>, driver: DomainId) -> Self;

    /// One more disk, that of `domain`.
    fn add(&mut self, domain: DomainId, disk: Self::Disk);

    /// Number of the file that is the disk at `place` among the disks.
    fn file(place: u32) -> u32 {
        place
    }
}

/// What a domain asks for.
pub struct DiskAsked<D> {
    /// The disk, unless something is wrong with it.
    pub disk: Option<D>,
    /// The key that says how many bytes it has.
    pub size: Slot<u64>,
    /// The key that names the driver domain.
    pub backend: Slot<String>,
    /// The key that names the disk of the host that it is a part of, if it is one.
    pub on: Option<Slot<String>>,
}
