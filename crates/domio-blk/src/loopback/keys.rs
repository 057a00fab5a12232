//! How a scenario asks for a loop-back disk: `kind = "loopback"` of `[domain.disk]`.

use super::{DiskConfig, LoopbackConfig, LoopbackCosts};
use crate::disks::{DiskAsked, DiskPart};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::DomainId;
use domio_core::keys::{Key, KeyReader, Keys, Need, bytes, domain_name};
use domio_vmm::hardware::Hardware;

/// Largest disk (bytes): a PiB.
const DISK_MAX: u64 = 1 << 50;

keys! {
    struct LoopbackKeys {
        size: u64 = bytes(1, DISK_MAX), Need::Required,
            "How large it is. Nothing is stored, so that any size will do.";
        backend: String = domain_name(), Need::Optional("the domain with id 0"),
            "The driver domain that has the contents: one domain, which is created before, stays \
             to the end, and has no such disk itself.";
    }
}

domio_core::times!(LOOPBACK_COSTS, loopback_costs, all_of_loopback, LoopbackCosts, "[disk.costs]",
    "What the work on requests costs.", {
    submit: submit, "Guest: making a request.";
    complete: complete, "Guest: taking a response.";
    irq: irq, "Either domain: the handler of a port.";
    serve: serve, "Driver domain: a request, without its bytes.";
    copy_kib: copy_kib, "Driver domain: copying a KiB.";
    send_event: send_event, "Either domain: the hypercall that sends an event.";
});

impl LoopbackCosts {
    /// What the work costs on `machine`.
    ///
    /// # Panics
    /// When that is not known ([`Hardware::table`]).
    #[track_caller]
    pub fn on(machine: &Hardware) -> LoopbackCosts {
        machine.figures(&LOOPBACK_COSTS, loopback_costs, LoopbackCosts::FREE)
    }
}

/// Keys of a disk of `kind = "loopback"`.
pub(crate) const KEYS: &[Key] = LoopbackKeys::KEYS;

/// What such a disk is, in sentences.
pub(crate) const DOC: &str = "A file in the driver domain's memory, as `xl block-attach` with a \
    file \
     of a memory file system has it: a request takes the processor time of its copying, and no \
     platter turns.";

/// What `table` asks for.
pub(crate) fn asked(table: &mut KeyReader<'_>) -> DiskAsked {
    let LoopbackKeys { size, backend } = LoopbackKeys::read(&*table);
    DiskAsked {
        part: size.get().map(DiskPart::Loopback),
        size,
        backend,
        on: None,
        of_xen: vec!["kind"],
        iothread: None,
    }
}

impl LoopbackConfig {
    /// No disks yet, whose work costs what `machine` says; nothing without one.
    pub(crate) fn on(machine: Option<&Hardware>, driver: DomainId) -> Self {
        LoopbackConfig {
            driver,
            costs: machine.map_or(LoopbackCosts::FREE, LoopbackCosts::on),
            disks: Vec::new(),
        }
    }

    /// One more disk, that of `domain`.
    pub(crate) fn add(&mut self, domain: DomainId, bytes: u64) {
        self.disks.push(DiskConfig { domain, bytes });
    }
}
