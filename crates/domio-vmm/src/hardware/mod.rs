//! Machines: named figures of what work costs on one kind of hardware, each with its source.
//!
//! A machine is data. The hypervisor's costs are its [`Profile`]. What kernels, controllers and
//! devices cost are tables, whose headers and keys are those of the sections that declare them
//! ([`domio_core::times!`]): a device asks for its own table, and this crate does not know what
//! devices there are.

mod costs;
mod kvm_2020;
mod linux_rig;
mod opteron_242;
mod xen_4_17_emulated;
mod xeon_e5;
mod xeon_e5462;

pub use costs::{
    CONTROLLER_COSTS, HOST_COSTS, HOST_KERNEL, all_of_host, all_of_kernel, controller_costs,
    host_costs, host_kernel,
};
pub use kvm_2020::KVM_2020;
pub use linux_rig::LINUX_RIG;
pub use opteron_242::OPTERON_242;
pub use xen_4_17_emulated::XEN_4_17_EMULATED;
pub use xeon_e5::XEON_E5;
pub use xeon_e5462::XEON_E5462;

use crate::profile::Profile;
use domio_core::Duration;
use domio_core::keys::{Given, Good, KeySection};

/// A kind of hardware.
pub struct Hardware {
    /// What the hypervisor's work costs; its name is the machine's.
    pub profile: &'static Profile,
    /// By header of their sections: what kernels, controllers and devices cost.
    tables: &'static [(&'static str, Figures)],
}

/// Keys and times.
pub type Figures = &'static [(&'static str, Duration)];

/// One table of a machine.
#[derive(Clone, Copy)]
pub struct HardwareTable(Figures);

/// Work takes no time, and caches stay warm.
pub static IDEAL: Hardware = Hardware {
    profile: &Profile::IDEAL,
    tables: &[],
};

/// Every machine.
pub static HARDWARE: [&Hardware; 7] = [
    &IDEAL,
    &XEN_4_17_EMULATED,
    &LINUX_RIG,
    &OPTERON_242,
    &XEON_E5462,
    &XEON_E5,
    &KVM_2020,
];

impl Hardware {
    /// All tables of the machine: the header of the section, then its keys without units and their
    /// times.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, Figures)> + use<> {
        self.tables.iter().copied()
    }

    /// The machine called `name`.
    pub fn by_name(name: &str) -> Option<&'static Hardware> {
        HARDWARE.into_iter().find(|m| m.profile.name == name)
    }

    /// The figures of `section`, if there are any. On a machine whose work takes no time there are:
    /// none of them, so that all stay as free as they are.
    pub fn table(&self, section: &KeySection) -> Option<HardwareTable> {
        let mut tables = self.tables.iter();
        let found = tables.find(|(header, _)| *header == section.header);
        let own = found.map(|(_, figures)| HardwareTable(figures));
        own.or_else(|| self.profile.is_free().then_some(HardwareTable(&[])))
    }

    /// What `put` makes of `free`, in which nothing costs anything, and the figures of `section`.
    ///
    /// # Panics
    /// When the machine has no such figures, or one that is no key of the section.
    #[track_caller]
    pub fn figures<T>(
        &self,
        section: &KeySection,
        put: fn(&dyn Given, &mut T) -> Option<()>,
        free: T,
    ) -> T {
        let name = self.profile.name;
        let table = self.table(section);
        let table = table.unwrap_or_else(|| panic!("{name} has no figures of {}", section.header));
        let strange = table
            .0
            .iter()
            .find(|(key, _)| section.keys.iter().all(|k| k.name != *key));
        assert!(
            strange.is_none(),
            "{name}: {} has no key {strange:?}",
            section.header
        );
        let mut figures = free;
        put(&table, &mut figures).expect("a machine's figures are times");
        figures
    }
}

impl Given for HardwareTable {
    fn given(&self, name: &str) -> (bool, Option<Good>) {
        let time = self.0.iter().find(|(key, _)| *key == name);
        (time.is_some(), time.map(|(_, time)| Good::Time(*time)))
    }
}

const fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}
