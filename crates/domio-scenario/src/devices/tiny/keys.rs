//! How a scenario asks for it.

use super::{TinyConfig, TinyDisk};
use domio_core::keys::{Key, KeyReader, KeySection, Keys, Need, bytes, domain_name, time};
use domio_core::{DomainId, Duration};
use domio_vmm::Hardware;
use domio_vmm::bus::{DiskAsked, DiskKind};

keys! {
    struct TinyKeys {
        size: u64 = bytes(1, 1 << 20), Need::Word("64K"), "How large it is.";
        seek: Duration = time("us", 0), Need::TimeNs(5_000), "What each call takes.";
        backend: String = domain_name(), Need::Optional("the domain with id 0"),
            "Its driver domain.";
    }
}

/// It has no work that a machine could price.
static COSTS: KeySection = KeySection::plain("[tiny.costs]", "Nothing.", &[]);

impl DiskKind for TinyConfig {
    const WORD: &'static str = "tiny";
    const DOC: &'static str = "A disk for tests.";
    const KEYS: &'static [Key] = TinyKeys::KEYS;
    const COSTS: &'static KeySection = &COSTS;
    type Disk = TinyDisk;

    fn asked(table: &mut dyn KeyReader) -> DiskAsked<TinyDisk> {
        let TinyKeys {
            size,
            seek,
            backend,
        } = TinyKeys::read(&*table);
        let both = size.get().zip(seek.get());
        DiskAsked {
            disk: both.map(|(bytes, seek)| TinyDisk { bytes, seek }),
            size,
            backend,
            on: None,
        }
    }

    fn on(_: Option<&Hardware>, driver: DomainId) -> Self {
        let disks = Vec::new();
        TinyConfig { driver, disks }
    }

    fn add(&mut self, domain: DomainId, disk: TinyDisk) {
        self.disks.push((domain, disk));
    }
}
