//! How a scenario asks for disks of the host (`[[disk]]`), for guests' request layers (`[guests]`),
//! for the driver domain's pool (`[blkback]`), and for a virtual disk: `kind = "vbd"` of
//! `[domain.disk]`.

use super::elevator_keys::{elevator, elevator_at};
use super::raw::SECTOR;
use super::{
    BackKind, HostDiskConfig, HostFiles, INODE, LayerConfig, PendingPool, SplitConfig, SplitCosts,
    VbdConfig, WakeOrder,
};
use crate::disks::{DiskAsked, DiskPart};
use crate::drive::{DRIVES, DriveConfig};
use crate::elevator::ElevatorInfo;
use crate::fs::config::{FsConfig, FsCosts, PAGE, PAGE_SECTORS};
use crate::fs::keys::{FILE_SYSTEM, FILE_SYSTEM_COSTS, fs_costs};
use crate::fs::room::Room;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::keys::{
    Code, Given, Key, KeyReader, KeySection, Keys, Need, Nested, WordOf, Words, bytes, domain_name,
    flag, int, name, nested, text, word, word_text,
};
use domio_core::{DomainId, VcpuName};
use domio_vmm::hardware::Hardware;

/// Largest disk (bytes): a PiB.
const DISK_MAX: u64 = 1 << 50;

/// Largest file system of the driver domain: just under 16 TiB.
const FILES_MAX: u64 = (u32::MAX as u64) * PAGE;

/// Ticks a second that Linux can be built with.
const HZ: (i64, i64) = (100, 1000);

/// `[[disk]]`.
pub static HOST_DISK: KeySection = KeySection::plain(
    "[[disk]]",
    "A disk of the host, with the request layer of the driver domain whose guests use the disk. \
     The elevator says which layer that is: that of Linux 2.6.24, or the multi-queue layer of 6.1. \
     `[disk]` with single brackets will do for one.",
    HostDiskKeys::KEYS,
)
.by("profile", Words::Of(&DRIVES));

keys! {
    struct HostDiskKeys {
        name: String = name(), Need::Word("sda"), "Name in the driver domain.";
        profile: String = word_text(Words::Of(&DRIVES)), Need::Required,
            "The drive whose figures hold where no other key says otherwise.";
        elevator: String = elevator(), Need::Word("cfq"),
            "The driver domain's elevator: a name, or a table.";
        nr_requests: u32 = int(4, 100_000), Need::Int(128),
            "Requests of each direction in the driver domain's layer before submitters sleep.";
        hz: i64 = int(HZ.0, HZ.1), Need::Int(250),
            "Ticks a second of the driver domain's kernel (`CONFIG_HZ`), in which elevators count.";
        file_system: Nested = nested(&FILE_SYSTEM),
            Need::Optional("the usual one where a guest's disk has `path = \"file\"`"),
            "The driver domain's file system behind all other parts of the disk, and the memory of \
             the driver domain that caches its files.";
    }
}

/// A disk of the host with its size.
#[derive(Clone)]
pub struct HostDisk {
    /// The disk.
    pub config: HostDiskConfig,
    /// Number of sectors.
    pub sectors: u64,
    /// The file system of the driver domain, if guests' disks are files there; its size is that of
    /// the whole disk.
    files: FsConfig,
}

impl HostDisk {
    /// The driver domain's file system, if other parts of the disk end at sector `behind`.
    pub fn files_behind(&self, behind: u64) -> HostFiles {
        let start = behind.next_multiple_of(PAGE_SECTORS);
        let disk = self.sectors.saturating_sub(start) * SECTOR;
        HostFiles {
            start,
            config: FsConfig {
                disk: disk.min(FILES_MAX),
                ..self.files
            },
        }
    }
}

/// The disk that `table` describes; `None` when something is wrong with a key.
pub fn host_disk(table: &mut KeyReader<'_>) -> Option<HostDisk> {
    let keys = HostDiskKeys::read(&*table);
    let profile = keys.profile.get()?;
    let drive = DriveConfig::read(&*table)?;
    if let Some(fault) = drive.fault() {
        let misfit = table.keys.wrong(Code::Conflict, &keys.profile, profile);
        table.tell(misfit.says(
            format!("the keys make {fault}"),
            "figures that go together",
            "leave keys of the drive out: the profile's figures go together",
        ));
        return None;
    }
    let (elevator, tuned) = elevator_at(table, &keys.elevator)?;
    let (sectors, hz) = (drive.sectors(), keys.hz.get()?);
    let whole = sectors * SECTOR;
    let files = match table.tables(&keys.file_system, &FILE_SYSTEM).first() {
        Some(own) => FsConfig::asked(&**own, whole, hz as u32)?,
        None => FsConfig {
            hz: hz as u32,
            ..FsConfig::guest(whole)
        },
    };
    Some(HostDisk {
        sectors,
        files,
        config: HostDiskConfig {
            name: keys.name.get()?,
            drive: Box::new(drive),
            layer: LayerConfig {
                elevator,
                tuned,
                hz,
                requests: keys.nr_requests.get()?,
            },
            files: None,
        },
    })
}

/// `[guests]`.
pub static GUESTS: KeySection = KeySection::plain(
    "[guests]",
    "Request layers of guests whose disks say nothing else.",
    GuestsKeys::KEYS,
);

keys! {
    struct GuestsKeys {
        elevator: String = elevator(), Need::Word("noop"),
            "The elevator of guests: a name, or a table. Blkfront of Linux 2.6.24 asks for `noop`.";
        nr_requests: u32 = int(4, 100_000), Need::Int(128),
            "Requests of each direction before submitters sleep.";
        hz: i64 = int(HZ.0, HZ.1), Need::Int(250),
            "Ticks a second of the guests' kernels (`CONFIG_HZ`): their elevators count in them.";
    }
}

/// The request layer of guests; `None` when something is wrong with a key.
pub fn guests(table: &mut KeyReader<'_>) -> Option<LayerConfig> {
    let keys = GuestsKeys::read(&*table);
    let (elevator, tuned) = elevator_at(table, &keys.elevator)?;
    Some(LayerConfig {
        elevator,
        tuned,
        hz: keys.hz.get()?,
        requests: keys.nr_requests.get()?,
    })
}

/// `[blkback]`.
pub static BLKBACK: KeySection = KeySection::plain(
    "[blkback]",
    "What the blkbacks of a driver domain share.",
    BlkbackKeys::KEYS,
);

keys! {
    struct BlkbackKeys {
        reqs: u32 = int(1, 4096), Need::Int(64),
            "Pending requests of all disks together (module parameter `reqs`).";
        wake: WakeOrder = word(&WAKE_ORDERS), Need::Word("fifo"),
            "Who gets one first when none was left and several threads wait.";
    }
}

static WAKE_ORDERS: [WordOf<WakeOrder>; 2] = [
    WordOf::new("fifo", WakeOrder::Fifo, "Who has waited longest."),
    WordOf::new("random", WakeOrder::Random, "Anybody."),
];

/// The pool; `None` when something is wrong with a key.
pub fn pool(table: &dyn Given) -> Option<PendingPool> {
    let keys = BlkbackKeys::read(table);
    Some(PendingPool {
        entries: keys.reqs.get()?,
        order: keys.wake.get()?,
    })
}

keys! {
    struct VbdKeys {
        size: u64 = bytes(SECTOR, DISK_MAX), Need::Required, "How large it is.";
        on: String = name(), Need::Optional("the first `[[disk]]`"),
            "Name of the host's disk that it is a part of.";
        at: u64 = bytes(0, DISK_MAX), Need::Optional("behind the ones before on the same disk"),
            "Where on that disk it begins (bytes).";
        path: Path = word(&PATHS), Need::Word("phy"), "The process or thread that serves its \
        requests.";
        threads: u32 = int(1, 64), Need::Optional("1"),
            "Threads of the process of `path = \"hosted\"`.";
        cached: bool = flag(), Need::Int(0),
            "With `path = \"file\"`: the driver domain's memory holds the file when the run \
            begins, as far as memory goes.";
        elevator: String = elevator(), Need::Optional("that of `[guests]`"),
            "The guest's elevator: a name, or a table.";
        nr_requests: u32 = int(4, 100_000), Need::Optional("as `[guests]` says"),
            "Requests of each direction before submitters sleep.";
        hz: i64 = int(HZ.0, HZ.1), Need::Optional("as `[guests]` says"),
            "Ticks a second of the guest's kernel.";
        file_system: Nested = nested(&FILE_SYSTEM),
            Need::Optional("none, or the usual one where a workload needs it"),
            "The file system on it, and the memory of the guest that caches files.";
        backend: String = domain_name(), Need::Optional("the domain with id 0"),
            "The driver domain that has the disk.";
        iothread: String = text(),
            Need::Optional("the first thread of the guest called `IO ...`, or else \
                            `qemu-system-x86`"),
            "With KVM: the thread of QEMU that serves the disk, the `name` of a \
             `[[domain.thread]]` or `qemu-system-x86`.";
    }
}

/// What serves the requests of a virtual disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Path {
    Phy,
    File,
    TapAio,
    Hosted,
}

static PATHS: [WordOf<Path>; 4] = [
    WordOf::new(
        "phy",
        Path::Phy,
        "Blkback on a block device: a kernel thread for each disk, and plain writes.",
    ),
    WordOf::new(
        "file",
        Path::File,
        "Blkback on a loop device: a file of the driver domain's file system on the disk \
         (`file_system` of `[[disk]]`), through the page cache of the driver domain. A write is \
         answered when it is in that memory.",
    ),
    WordOf::new(
        "tap:aio",
        Path::TapAio,
        "Blktap: a process for each disk with asynchronous I/O past the page cache, 32 requests at \
         most; writes carry the sync flag.",
    ),
    WordOf::new(
        "hosted",
        Path::Hosted,
        "A process of a hosted hypervisor for each disk: `threads`, each of which does one request \
         at a time past the page cache of its host.",
    ),
];

domio_core::times!(VBD_COSTS, vbd_costs, all_of_vbd, SplitCosts, "[vbd.costs]",
    "What the work on requests of virtual disks costs.", {
    submit: submit, "Guest: taking a piece of I/O through its request layer.";
    request: request, "Guest: putting a request into the ring.";
    complete: complete, "Guest: ending a request.";
    irq: irq, "Either domain: the handler of a port.";
    send_event: send_event, "Either domain: the hypercall that sends an event.";
    serve: serve, "Driver domain: taking a request from the ring, with its pages.";
    respond: respond, "Driver domain: a response, with unmapping the pages.";
    process: process, "Driver domain: what each of the two costs more where a process serves.";
    command: command, "Driver domain: handing a command to the drive.";
    end: end, "Driver domain: ending a command.";
});

impl SplitCosts {
    /// What the work costs on `machine`.
    ///
    /// # Panics
    /// When that is not known ([`Hardware::table`]).
    #[track_caller]
    pub fn on(machine: &Hardware) -> SplitCosts {
        machine.figures(&VBD_COSTS, vbd_costs, SplitCosts::FREE)
    }
}

/// What calls on file systems cost on `machine`; nothing where that is not known.
fn file_costs(machine: &Hardware) -> FsCosts {
    let table = machine.table(&FILE_SYSTEM_COSTS);
    let free = FsCosts::default();
    table.map_or(free, |_| {
        machine.figures(&FILE_SYSTEM_COSTS, fs_costs, free)
    })
}

/// A virtual disk, as a domain asks for it, before it has its place on a disk of the host.
#[derive(Clone, Debug)]
pub struct VbdAsked {
    bytes: u64,
    at: Option<u64>,
    back: BackKind,
    cached: bool,
    elevator: Option<(&'static ElevatorInfo, Vec<(&'static str, i64)>)>,
    requests: Option<u32>,
    hz: Option<i64>,
    files: Option<FsConfig>,
    placed: Option<VbdPlace>,
}

/// Where a virtual disk is.
#[derive(Clone, Debug)]
pub struct VbdPlace {
    /// Index of the host's disk.
    pub disk: usize,
    /// Its first sector there.
    pub start: u64,
    /// What the guest's request layer is like, as far as the disk does not say.
    pub guests: LayerConfig,
}

impl VbdAsked {
    /// First sector on the host's disk, if it was asked for.
    pub fn start(&self) -> Option<u64> {
        self.at.map(|at| at / SECTOR)
    }

    /// Number of sectors.
    pub fn sectors(&self) -> u64 {
        self.bytes / SECTOR
    }

    /// Whether it is a file of the driver domain, which has no place of its own.
    pub fn is_file(&self) -> bool {
        self.back == BackKind::File
    }

    /// `thread` of QEMU serves it.
    pub fn serve_in(&mut self, thread: VcpuName) {
        self.back = BackKind::Virtio { thread };
    }

    /// The thread of QEMU that serves it, if one does.
    pub fn qemu(&self) -> Option<VcpuName> {
        self.back.qemu()
    }

    /// Whether it has its place.
    pub fn is_placed(&self) -> bool {
        self.placed.is_some()
    }

    /// A workload uses files: if nothing was said of the file system, the disk has the usual one.
    pub fn need_files(&mut self) {
        self.files.get_or_insert(FsConfig::guest(self.bytes));
    }

    /// The file system, if there is one: the room in it, none where the disk is too small for one.
    pub fn room(&self) -> Option<Option<Room>> {
        self.files.as_ref().map(FsConfig::room)
    }

    /// Gives it its place.
    pub fn place(&mut self, place: VbdPlace) {
        self.placed = Some(place);
    }
}

/// Keys of a disk of `kind = "vbd"`.
pub(crate) const KEYS: &[Key] = VbdKeys::KEYS;

/// What such a disk is, in sentences.
pub(crate) const DOC: &str = "A part of a disk of the host (`[[disk]]`), through the request \
    layers and elevators of guest and driver domain; with KVM of guest and host, by virtio-blk.";

/// What `table` asks for.
pub(crate) fn asked(table: &mut KeyReader<'_>) -> DiskAsked {
    let keys = VbdKeys::read(&*table);
    let part = vbd(table, &keys).map(|asked| DiskPart::Split(Box::new(asked)));
    let of_xen = [
        (keys.path.given, keys.path.name),
        (keys.threads.given, keys.threads.name),
        (keys.cached.given, keys.cached.name),
        (keys.backend.given, keys.backend.name),
    ];
    let of_xen = of_xen.into_iter();
    DiskAsked {
        part,
        size: keys.size,
        of_xen: of_xen
            .filter_map(|(given, name)| given.then_some(name))
            .collect(),
        iothread: Some(keys.iothread),
        backend: keys.backend,
        on: Some(keys.on),
    }
}

/// Number of the file that is the disk at `place` among the disks.
pub(crate) fn file(place: u32) -> u32 {
    place << INODE
}

impl SplitConfig {
    /// No disks yet, whose work costs what `machine` says; nothing without one.
    pub(crate) fn on(machine: Option<&Hardware>, driver: DomainId) -> Self {
        SplitConfig {
            driver,
            kblockd: 0,
            costs: machine.map_or(SplitCosts::FREE, SplitCosts::on),
            file_costs: machine.map_or(FsCosts::default(), file_costs),
            disks: Vec::new(),
            vbds: Vec::new(),
            pool: PendingPool::XEN,
        }
    }

    /// One more disk, that of `domain`.
    pub(crate) fn add(&mut self, domain: DomainId, disk: &VbdAsked) {
        let sectors = disk.sectors();
        let place = disk.placed.clone().expect("a virtual disk has its place");
        let mut layer = place.guests;
        if let Some((elevator, tuned)) = &disk.elevator {
            (layer.elevator, layer.tuned) = (*elevator, tuned.clone());
        }
        layer.requests = disk.requests.unwrap_or(layer.requests);
        layer.hz = disk.hz.unwrap_or(layer.hz);
        self.vbds.push(VbdConfig {
            domain,
            disk: place.disk,
            start: place.start,
            sectors,
            files: disk.files.map(|files| FsConfig {
                hz: layer.hz as u32,
                costs: self.file_costs,
                ..files
            }),
            layer,
            back: disk.back,
            cached: disk.cached,
        });
    }
}

fn vbd(table: &mut KeyReader<'_>, keys: &VbdKeys) -> Option<VbdAsked> {
    let threads = keys.threads.if_given()?;
    let back = match keys.path.get()? {
        Path::Phy => BackKind::Phy,
        Path::File => BackKind::File,
        Path::TapAio => BackKind::TapAio,
        Path::Hosted => BackKind::Hosted {
            threads: threads.unwrap_or(1),
        },
    };
    if keys.threads.given && !matches!(back, BackKind::Hosted { .. }) {
        table.tell(table.keys.misplaced(&keys.threads).says(
            "one thread serves the disk",
            "`path = \"hosted\"` with it",
            "add `path = \"hosted\"`, or remove `threads`",
        ));
        return None;
    }
    if keys.at.given && back == BackKind::File {
        table.tell(table.keys.misplaced(&keys.at).says(
            "a file has no place of its own on the disk",
            "`path = \"file\"` without it",
            "remove `at`: the driver domain's file system is behind all other parts of the disk",
        ));
        return None;
    }
    let cached = keys.cached.get()?;
    if cached && back != BackKind::File {
        table.tell(table.keys.misplaced(&keys.cached).says(
            "no memory of the driver domain holds what is on the disk",
            "`path = \"file\"` with it",
            "add `path = \"file\"`, or remove `cached`",
        ));
        return None;
    }
    let elevator = match keys.elevator.given {
        true => Some(elevator_at(table, &keys.elevator)?),
        false => None,
    };
    let bytes = keys.size.get()?;
    // The clock is the kernel's, which is known later.
    let files = match table.tables(&keys.file_system, &FILE_SYSTEM).first() {
        Some(own) => Some(FsConfig::asked(&**own, bytes, 250)?),
        None => None,
    };
    Some(VbdAsked {
        bytes,
        at: keys.at.if_given()?,
        back,
        cached,
        elevator,
        requests: keys.nr_requests.if_given()?,
        hz: keys.hz.if_given()?,
        files,
        placed: None,
    })
}

impl SplitConfig {
    /// Gives the device its disks: those of `disks` that virtual disks of the device are on, under
    /// the numbers that the virtual disks know.
    pub fn equip(&mut self, disks: &[HostDisk], pool: PendingPool) {
        let mut number = Vec::new();
        for (i, disk) in disks.iter().enumerate() {
            let used = self.vbds.iter().any(|vbd| vbd.disk == i);
            number.push(self.disks.len());
            if used {
                let mut config = disk.config.clone();
                let own = || self.vbds.iter().filter(|vbd| vbd.disk == i);
                if own().any(|vbd| vbd.back == BackKind::File) {
                    let parts = own().filter(|vbd| vbd.back != BackKind::File);
                    let behind = parts.map(|vbd| vbd.start + vbd.sectors).max();
                    let mut files = disk.files_behind(behind.unwrap_or(0));
                    files.config.costs = self.file_costs;
                    config.files = Some(files);
                }
                self.disks.push(config);
            }
        }
        for vbd in &mut self.vbds {
            vbd.disk = number[vbd.disk];
        }
        self.pool = pool;
    }
}
