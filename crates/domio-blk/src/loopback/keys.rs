//! How a scenario asks for a loop-back disk: `kind = "loopback"` of `[domain.disk]`.

use super::{DiskConfig, LoopbackConfig, LoopbackCosts};
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::DomainId;
use domio_core::keys::{Key, KeyReader, KeySection, Keys, Need, bytes, domain_name};
use domio_vmm::bus::{DiskAsked, DiskKind};
use domio_vmm::machine::Hardware;

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
    /// When that is not known ([`DiskKind::COSTS`]).
    #[track_caller]
    pub fn on(machine: &Hardware) -> LoopbackCosts {
        machine.figures(&LOOPBACK_COSTS, loopback_costs, LoopbackCosts::FREE)
    }
}

impl DiskKind for LoopbackConfig {
    const WORD: &'static str = "loopback";
    const DOC: &'static str = "A file in the driver domain's memory, as `xl block-attach` with a \
         file of a memory file system has it: a request takes the processor time of its copying, \
         and no platter turns.";
    const KEYS: &'static [Key] = LoopbackKeys::KEYS;
    const COSTS: &'static KeySection = &LOOPBACK_COSTS;
    type Disk = u64;

    fn asked(table: &mut dyn KeyReader) -> DiskAsked<u64> {
        let LoopbackKeys { size, backend } = LoopbackKeys::read(&*table);
        DiskAsked {
            disk: size.get(),
            size,
            backend,
            on: None,
        }
    }

    fn on(machine: Option<&Hardware>, driver: DomainId) -> Self {
        LoopbackConfig {
            driver,
            costs: machine.map_or(LoopbackCosts::FREE, LoopbackCosts::on),
            disks: Vec::new(),
        }
    }

    fn add(&mut self, domain: DomainId, bytes: u64) {
        self.disks.push(DiskConfig { domain, bytes });
    }
}
