//! What disks of a driver domain are made of.

use crate::drive::{Drive, DriveConfig};
use crate::elevator::{ElevatorInfo, Tuning};
use crate::fs::config::{FsConfig, FsCosts};
use crate::queue::{DiskQueue, QueueLimits};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use domio_core::{DomainId, Duration, VcpuName};
use domio_vmm::ring::BLOCK;

/// Disks of the driver domain `driver`, and the virtual disks on them.
#[derive(Clone, Debug)]
pub struct SplitConfig {
    /// The domain with the hardware and the back-ends; that of the kernel's threads on a host with
    /// KVM.
    pub driver: DomainId,
    /// The vcpu of `driver` on which the request layers of the disks have their timers and
    /// `kblockd`.
    pub kblockd: u16,
    /// What the work costs.
    pub costs: SplitCosts,
    /// What calls on guests' file systems cost.
    pub file_costs: FsCosts,
    /// The disks of the host.
    pub disks: Vec<HostDiskConfig>,
    /// Disks of guests; the place here is the highest byte of a file's number.
    pub vbds: Vec<VbdConfig>,
    /// Requests that all blkbacks of the driver domain may have under way.
    pub pool: PendingPool,
}

/// Blkback's pending requests, which all disks share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingPool {
    /// How many there are (module parameter `reqs`).
    pub entries: u32,
    /// In which order threads go on that have found none.
    pub order: WakeOrder,
}

impl PendingPool {
    /// 64 entries, first come, first served.
    pub const XEN: PendingPool = PendingPool {
        entries: 64,
        order: WakeOrder::Fifo,
    };
}

/// In which order threads run that were woken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeOrder {
    /// As they went to sleep.
    Fifo,
    /// Any order.
    Random,
}

/// A disk of the host.
#[derive(Clone, Debug)]
pub struct HostDiskConfig {
    /// What the driver domain calls the disk ("sda").
    pub name: String,
    /// The drive.
    pub drive: Box<dyn DriveBlueprint>,
    /// The driver domain's request layer in front of the drive.
    pub layer: LayerConfig,
    /// The driver domain's file system on the disk, with the files of [`BackKind::File`].
    pub files: Option<HostFiles>,
}

/// A file system of the driver domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostFiles {
    /// First sector on the disk, a multiple of 8.
    pub start: u64,
    /// The file system, whose size is that of `config.disk`, and the memory that caches it.
    pub config: FsConfig,
}

/// Makes drives, one for each host that is built of the same configuration.
pub trait DriveBlueprint: Debug + Send + Sync {
    /// A drive. Random streams are those of `seed` and `replication`.
    fn make(&self, seed: u64, replication: u32) -> Box<dyn Drive>;

    /// Whether the drives have an arm and turn.
    fn is_rotational(&self) -> bool;

    /// The same blueprint.
    fn copy(&self) -> Box<dyn DriveBlueprint>;
}

impl DriveBlueprint for DriveConfig {
    fn make(&self, _: u64, _: u32) -> Box<dyn Drive> {
        self.build()
    }

    fn is_rotational(&self) -> bool {
        !matches!(self, DriveConfig::Flash(_))
    }

    fn copy(&self) -> Box<dyn DriveBlueprint> {
        Box::new(*self)
    }
}

impl Clone for Box<dyn DriveBlueprint> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

/// A request layer.
#[derive(Clone, Debug)]
pub struct LayerConfig {
    /// The elevator.
    pub elevator: &'static ElevatorInfo,
    /// Tunables of the elevator that are not at their defaults, as they are written to sysfs.
    pub tuned: Vec<(&'static str, i64)>,
    /// Ticks a second of the kernel's clock.
    pub hz: i64,
    /// Requests of each direction before submitters sleep (`nr_requests`).
    pub requests: u32,
}

impl LayerConfig {
    /// Every tunable at its default.
    pub fn new(elevator: &'static ElevatorInfo, hz: i64) -> Self {
        LayerConfig {
            elevator,
            tuned: Vec::new(),
            hz,
            requests: 128,
        }
    }

    /// The queue, in front of a device that takes `sectors` and `segments` in a request and has
    /// room for `depth` requests. `rotational` is what the kernel thinks of the device.
    ///
    /// # Panics
    /// When the elevator has no such tunable, or a value is out of the tunable's range.
    #[track_caller]
    pub fn make(&self, (sectors, segments): (u32, u32), depth: u32, rotational: bool) -> DiskQueue {
        let mut tuning = Tuning::defaults(self.elevator.tunables, self.hz);
        for (name, value) in &self.tuned {
            let written = tuning.write(name, *value);
            written.unwrap_or_else(|_| panic!("{} takes no {name} = {value}", self.elevator.name));
        }
        let limits = QueueLimits {
            requests: self.requests,
            sectors,
            segments,
            rotational,
            ..QueueLimits::disk(self.hz, depth)
        };
        DiskQueue::new(limits, (self.elevator.make)(&tuning, 0))
    }
}

/// A disk of a guest: a part of a disk of the host.
#[derive(Clone, Debug)]
pub struct VbdConfig {
    /// The guest, which is not the driver domain.
    pub domain: DomainId,
    /// Index of the host's disk.
    pub disk: usize,
    /// First sector on the host's disk; of no meaning for a file.
    pub start: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// The guest's request layer.
    pub layer: LayerConfig,
    /// What serves the requests.
    pub back: BackKind,
    /// Whether the driver domain's memory holds the file that the disk is, from the beginning.
    pub cached: bool,
    /// The file system of the disk, if there is one.
    pub files: Option<FsConfig>,
}

/// What serves the requests of a guest's disk in the driver domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackKind {
    /// Blkback on a block device: a kernel thread for each disk; plain writes.
    Phy,
    /// Blkback on a loop device, which goes through a file of the driver domain's file system: a
    /// loop thread for each disk, and the driver domain's page cache, in which writes are done.
    File,
    /// Blktap with asynchronous I/O past the page cache: a process for each disk, up to 32 requests
    /// each; writes carry the sync flag.
    TapAio,
    /// A process for each guest with so many threads, each of which does one request at a time past
    /// the page cache, as a hosted hypervisor has.
    Hosted {
        /// How many, at least 1.
        threads: u32,
    },
    /// Virtio-blk of KVM: an I/O thread of QEMU, or its main thread, with asynchronous I/O past the
    /// page cache (`aio=native`, `cache=none`); writes carry the sync flag.
    Virtio {
        /// The vcpu that stands for the thread.
        thread: VcpuName,
    },
}

/// Requests of a virtqueue (QEMU: `queue-size`), each in an indirect descriptor.
const VIRTQUEUE: u32 = 128;

impl BackKind {
    /// Most sectors and segments of a request of the front-end.
    pub const fn request_limits(self) -> (u32, u32) {
        match self {
            // Eleven segments of a page.
            BackKind::Phy | BackKind::File | BackKind::TapAio => (88, 11),
            BackKind::Hosted { .. } => (1024, 128),
            // `seg_max` of QEMU: two descriptors of the queue less.
            BackKind::Virtio { .. } => ((VIRTQUEUE - 2) * 8, VIRTQUEUE - 2),
        }
    }

    /// Requests that the ring between guest and back-end holds.
    pub(super) const fn ring(self) -> u32 {
        match self {
            BackKind::Virtio { .. } => VIRTQUEUE,
            _ => BLOCK,
        }
    }

    /// The thread of QEMU that serves the disk, if one does.
    pub(super) const fn qemu(self) -> Option<VcpuName> {
        match self {
            BackKind::Virtio { thread } => Some(thread),
            _ => None,
        }
    }

    /// Whether a thread asks for notifications when the ring is empty after a batch, and not with
    /// the response to the last request (QEMU: `virtio_blk_handle_vq`).
    pub(super) const fn asks_after_batch(self) -> bool {
        self.qemu().is_some()
    }

    /// Threads that serve a disk.
    pub(super) const fn threads(self) -> u32 {
        match self {
            BackKind::Phy | BackKind::File | BackKind::TapAio | BackKind::Virtio { .. } => 1,
            BackKind::Hosted { threads } => threads,
        }
    }

    /// Most requests that each thread has under way; none where the pool is the limit.
    pub(super) const fn own_limit(self) -> Option<u32> {
        match self {
            BackKind::Phy | BackKind::File => None,
            BackKind::TapAio => Some(32),
            BackKind::Virtio { .. } => Some(VIRTQUEUE),
            BackKind::Hosted { .. } => Some(1),
        }
    }

    /// Whether writes carry the sync flag, as those past the page cache do.
    pub(super) const fn is_direct(self) -> bool {
        !matches!(self, BackKind::Phy | BackKind::File)
    }
}

/// What the work on requests costs, in processor time of the domain that does the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SplitCosts {
    /// Guest: taking a piece of I/O through its request layer. Driver domain: the same of a piece
    /// that its file system makes.
    pub submit: Duration,
    /// Guest: putting a request into the ring.
    pub request: Duration,
    /// Guest: ending a request whose response has come.
    pub complete: Duration,
    /// Either domain: the handler of a port.
    pub irq: Duration,
    /// Either domain: the hypercall that sends an event.
    pub send_event: Duration,
    /// Driver domain: taking a request from the ring, with its pages, through its request layer.
    pub serve: Duration,
    /// Driver domain: the response to a request, without its pages.
    pub respond: Duration,
    /// Driver domain: what a request costs more where a process serves it.
    pub process: Duration,
    /// Driver domain: handing a command to the drive.
    pub command: Duration,
    /// Driver domain: ending a command that the drive has finished.
    pub end: Duration,
}

impl SplitCosts {
    /// No cost anywhere.
    pub const FREE: SplitCosts = SplitCosts {
        submit: Duration::ZERO,
        request: Duration::ZERO,
        complete: Duration::ZERO,
        irq: Duration::ZERO,
        send_event: Duration::ZERO,
        serve: Duration::ZERO,
        respond: Duration::ZERO,
        process: Duration::ZERO,
        command: Duration::ZERO,
        end: Duration::ZERO,
    };
}
