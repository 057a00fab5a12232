//! A device's side of scenarios: tables, what a domain asks for, workloads, and the devices that
//! follow.
//!
//! ```text
//!  document ──open──▶ DeviceSide ──work──▶ of each task      ──part──▶ of each domain
//!                          └──devices──▶ Equipped: blueprint, driver domains, processes
//! ```
//!
//! [`DeviceKind`] is a line of the list of kinds that a scenario can ask for. The first call opens
//! the kind for one scenario: what the tables of the host say stays with the device from then on.
//! `C` is the type in which that list keeps blueprints.

mod driver;
mod input;

pub use driver::{DeviceUsers, Domains, DriverMember, who};
pub use input::{InputFiles, NoDemands, RecordedCalls, RecordedRequests, TaskInput};

use crate::config::{KvmThread, TaskConfig};
use crate::evtchn::Abi;
use crate::hardware::Hardware;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use domio_core::keys::{Checker, Key, KeyTable, Slot, Span, WordList};
use domio_core::{CpuSet, Duration, XenVersion};

/// A kind of device that scenarios can ask for.
pub struct DeviceKind<C> {
    /// Keys of the document: tables of the host.
    pub of_host: &'static [Key],
    /// Keys of a domain: tables with what a domain asks for.
    pub of_domain: &'static [Key],
    /// Workloads that use the device.
    pub workloads: &'static dyn WordList,
    /// Reads the tables of the host, once for each scenario.
    pub open: fn(&mut dyn Checker, &dyn KeyTable) -> Box<dyn DeviceSide<C>>,
}

/// A kind of device in one scenario, which has read the tables of the host.
pub trait DeviceSide<C> {
    /// What a task is to do whose workload is the word of `table`, one of the device's;
    /// `placing` has the keys of the task, where the table is one. `None` when something is wrong.
    fn work(
        &self,
        cx: &mut dyn Checker,
        table: &dyn KeyTable,
        placing: Option<Placing<'_>>,
    ) -> Option<DeviceWork> {
        let _ = (cx, table, placing);
        None
    }

    /// What the domain asks for whose table is `domain`, with `tasks` of the device's workloads.
    /// `asks` is the place of what makes the domain have a part where no key says so. `None` when
    /// something is wrong.
    fn part(
        &self,
        cx: &mut dyn Checker,
        domain: &dyn KeyTable,
        tasks: &[DeviceTask],
        asks: Span,
    ) -> Option<DevicePart>;

    /// The devices of `host`, without those that something is wrong with.
    fn devices(&self, cx: &mut dyn Checker, host: &DeviceHost<'_>) -> Devices<C>;
}

/// Devices of one kind.
pub struct Devices<C> {
    /// The devices, in the order in which they come to the bus.
    pub all: Vec<Equipped<C>>,
    /// What is declared in vain where nothing is wrong, in sentences.
    pub unused: Vec<String>,
}

/// Keys of a task that say where its process lives.
#[derive(Clone, Copy)]
pub struct Placing<'k> {
    /// Index of its vcpu, none for one on each.
    pub vcpu: &'k Slot<Option<u16>>,
    /// Its priority.
    pub priority: &'k Slot<i8>,
}

/// What a task does with a device.
#[derive(Clone)]
pub struct DeviceWork {
    /// The device's own words for it.
    pub work: Rc<dyn Any>,
    /// How many tasks it counts for, where that is not one on each of its vcpus.
    pub tasks: Option<usize>,
}

/// A task that uses a device, before the device gives it a process.
#[derive(Clone)]
pub struct DeviceTask {
    /// Its name.
    pub name: String,
    /// Its priority.
    pub priority: i8,
    /// Index of its vcpu, none for one on each.
    pub vcpu: Option<usize>,
    /// Whether the text says which vcpu.
    pub placed: bool,
    /// What it does.
    pub work: DeviceWork,
}

impl DeviceTask {
    /// What it does, in the device's own words.
    ///
    /// # Panics
    /// When `W` is not what [`DeviceSide::work`] made.
    pub fn work<W: 'static>(&self) -> &W {
        let work = self.work.work.downcast_ref();
        work.expect("each device sees tasks of its own workloads")
    }
}

/// What a domain asks for.
#[derive(Clone)]
pub struct DevicePart {
    /// The device's own words for it.
    pub part: Rc<dyn Any>,
    /// Event channels that the domain needs for it.
    pub ports: usize,
    /// The threads that a host with KVM has for it.
    pub threads: Vec<DeviceThread>,
    /// When its workloads begin after the domain's start, each with what to call it.
    pub begins: Vec<(&'static str, Duration)>,
}

/// Threads of a host with KVM that a device has for a guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceThread {
    /// Which thread serves the guest.
    pub serves: ServingThread,
    /// Threads of the kernel that the device has on the host, whichever guests use it.
    pub kernel: Vec<KernelThread>,
    /// Whether there is a kworker on each pcpu as well.
    pub kworkers: bool,
}

/// A thread of the kernel of a host with KVM that a device has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KernelThread {
    /// The one of this name.
    Named(&'static str),
    /// `ksoftirqd` of each of these pcpus, to which the device's interrupts come.
    Softirqs {
        /// The pcpus.
        pcpus: CpuSet,
        /// Path of the key that says so, and where it is.
        key: String,
        /// Where that key is, or else the table.
        span: Span,
    },
}

/// Which thread of a host with KVM serves a device of a guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServingThread {
    /// One beside those of the kernel, whose name begins with this ("vhost"); that of the guest
    /// follows.
    Kernel(&'static str),
    /// The thread of QEMU with this name; without one the first I/O thread of the guest, or else
    /// the main thread.
    Qemu(Option<String>),
}

impl ServingThread {
    /// Name of the thread of QEMU, which has the threads `all` for the guest; none where that is
    /// beside the threads of the kernel.
    pub fn in_qemu<'n>(&'n self, all: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
        match self {
            ServingThread::Kernel(_) => None,
            ServingThread::Qemu(Some(name)) => Some(name),
            ServingThread::Qemu(None) => {
                let first = all.into_iter().find(|name| KvmThread::is_io(name));
                Some(first.unwrap_or(KvmThread::MAIN))
            }
        }
    }
}

/// The host that devices come to.
pub struct DeviceHost<'h> {
    /// The machine, if it is known.
    pub machine: Option<&'static Hardware>,
    /// The release of Xen, if it is known.
    pub version: Option<XenVersion>,
    /// The domains.
    pub domains: Domains<'h>,
    /// Index of the domain of the kernel's threads on a host with KVM, if there are any: where
    /// devices that serve guests have their drivers.
    pub kernel: Option<usize>,
    /// Whether the host has KVM.
    pub kvm: bool,
    /// By domain: what it asks for of the device.
    pub parts: Vec<&'h DevicePart>,
}

impl DeviceHost<'_> {
    /// What each domain asks for, in the device's own words.
    ///
    /// # Panics
    /// When `P` is not what [`DeviceSide::part`] made.
    pub fn parts<P: 'static>(&self) -> impl Iterator<Item = &P> {
        let own = self.parts.iter().map(|part| part.part.downcast_ref());
        own.map(|part| part.expect("each device sees its own parts"))
    }
}

/// A device and its users, before it comes to the bus.
pub struct Equipped<C> {
    /// What it is made of.
    pub config: C,
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
    /// What goes through it and costs nothing, with whether that is many ("disks"), if anything
    /// does on a machine without costs.
    pub free: Option<(&'static str, bool)>,
    /// Makes the processes of its users, told its number on the bus.
    pub processes: Box<dyn Fn(u16) -> Vec<DeviceProcess>>,
}

impl Equipped<()> {
    /// The device, which is made of `config`.
    pub fn made_of<C>(self, config: C) -> Equipped<C> {
        Equipped {
            config,
            drivers: self.drivers,
            users: self.users,
            evtchn: self.evtchn,
            packets: self.packets,
            free: self.free,
            processes: self.processes,
        }
    }
}

impl<C> Equipped<C> {
    /// Whether the domain with this index has a part in it, or works for it.
    pub fn serves(&self, index: usize) -> bool {
        self.drives(index) || self.users.contains(&index)
    }

    /// Whether the domain with this index works for others.
    pub fn drives(&self, index: usize) -> bool {
        self.drivers.iter().any(|(driver, _)| *driver == index)
    }
}

/// A kind of event channels that was asked for.
pub struct Evtchn {
    /// The kind.
    pub abi: Abi,
    /// What asks for it ("network"), and the keys that say so, for people.
    pub of: (&'static str, &'static str),
    /// Path of the key that says so.
    pub key: String,
    /// Where the key is, or else the table.
    pub span: Span,
}

/// A process that uses a device.
pub struct DeviceProcess {
    /// Index of its domain.
    pub domain: usize,
    /// The vcpu that it lives on, none for one such process on each.
    pub vcpu: Option<usize>,
    /// Whether a kernel that moves processes may move it.
    pub may_roam: bool,
    /// What it does.
    pub task: TaskConfig,
    /// The file that says what it does, and which others there are: where that is not known yet.
    pub input: Option<Arc<dyn TaskInput>>,
}
