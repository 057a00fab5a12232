//! A device of the host before it comes to the bus: what domains with a part in it need to know.

use crate::devices::DeviceConfig;
use crate::plan::DiskInput;
use domio_core::keys::Span;
use domio_vmm::config::TaskConfig;
use domio_vmm::evtchn::Abi;

/// A device and its users.
pub(super) struct Device {
    pub config: DeviceConfig,
    /// Indices of the driver domains, that with the hardware first, each with the event channels
    /// that it needs for its guests.
    pub drivers: Vec<(usize, usize)>,
    /// Indices of the domains with a part in it.
    pub users: Vec<usize>,
    /// Which event channels the kernels of all of them have, as far as that is the device's to say;
    /// all have to agree.
    pub evtchn: Vec<Evtchn>,
    /// Whether packets go through it.
    pub packets: bool,
    /// Makes the processes of its users, told its number on the bus.
    pub processes: Box<dyn Fn(u16) -> Vec<Process>>,
}

/// A kind of event channels that was asked for.
pub(super) struct Evtchn {
    pub abi: Abi,
    /// Path of the key that says so.
    pub key: String,
    /// Where the key is, or else the table.
    pub span: Span,
}

/// A process that uses a device.
pub(super) struct Process {
    /// Index of its domain.
    pub domain: usize,
    /// The vcpu that it lives on, none for one such process on each.
    pub vcpu: Option<usize>,
    /// Whether a kernel that moves processes may move it.
    pub may_roam: bool,
    pub task: TaskConfig,
    /// The file that says what it does, and which others there are: where that is not known yet.
    pub input: Option<DiskInput>,
}

impl Device {
    /// Whether the domain with this index has a part in it, or works for it.
    pub fn serves(&self, index: usize) -> bool {
        self.drives(index) || self.users.contains(&index)
    }

    /// Whether the domain with this index works for others.
    pub fn drives(&self, index: usize) -> bool {
        self.drivers.iter().any(|(driver, _)| *driver == index)
    }
}
