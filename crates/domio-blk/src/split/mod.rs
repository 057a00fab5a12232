//! Disks of guests on disks of the host, through both block layers.
//!
//! ```text
//!  guest    process ─▶ request layer, elevator ─▶ blkfront ═╗ ring of 32
//!                                                           ║
//!  driver   drive ◀─ request layer, elevator ◀─ thread ◀════╝
//!  domain     └─▶ interrupt ─▶ block softirq ─▶ response ═══▶ blkfront's interrupt ─▶ process
//! ```
//!
//! All work of the driver domain is done on its vcpu 0, each piece on behalf of a guest
//! ([`Owner`]). On a host with KVM a thread of QEMU does it, which the guest's kick wakes.
//! Blkfront works on vcpu 0 of the guest; processes submit where they execute.
//!
//! A file of the device is `disk << 24 | inode`. Inode 0 is the disk itself, past the page cache;
//! inodes from 1 on are files of the disk's file system.
//!
//! | module | holds |
//! |---|---|
//! | `config` | what disks are made of |
//! | [`keys`], `elevator_keys` | how a scenario asks for disks |
//! | `class` | records |
//! | `layer` | a request layer in a kernel: clock, timers, `kblockd` |
//! | `lines` | what the kernels call the device for |
//! | `guest`, `raw`, `bio` | calls of processes, and the pieces of I/O that they are cut into |
//! | `files` | the file system of a disk, its threads and calls |
//! | `front` | blkfront, and who runs the guest's queue |
//! | `back`, `serve` | threads of back-ends, the pool, completions |
//! | `mounted` | a file system in a kernel, with its timer |
//! | `image`, `looped` | disks that are files of the driver domain, and their threads |
//! | `disk` | a disk of the host: queue, drive, interrupt |
//! | `hardirq` | interrupts of disks on a host with KVM, and threads of QEMU |

mod back;
mod bio;
mod class;
mod config;
mod disk;
mod elevator_keys;
mod files;
mod front;
mod guest;
mod hardirq;
mod image;
pub mod keys;
mod layer;
mod lines;
mod looped;
mod mounted;
mod raw;
mod serve;

pub use class::{DISK_RATE, DiskPlace, DiskRecord, RECORDS};
pub use config::{
    BackKind, DriveBlueprint, HostDiskConfig, HostFiles, LayerConfig, PendingPool, SplitConfig,
    SplitCosts, VbdConfig, WakeOrder,
};

use crate::elevator::Submitter;
use crate::fs::FsUse;
use crate::fs::config::FsConfig;
use alloc::format;
use alloc::vec::Vec;
use back::{Backlog, Thread};
use class::Ends;
use disk::{Completes, DiskLines, HostDisk};
use domio_core::{Class, DomainId, VcpuName};
use domio_sim::RandomStream;
use domio_vmm::bus::{
    Attach, Blueprint, Device, Io, KernelIo, Owner, Passed, Progress, Softirq, Token, TokenKind,
};
use domio_vmm::process::{Answer, Call, Interest, Pid};
use files::{Files, THREADS};
use front::Front;
use guest::Vbd;
use image::{Images, Loop, Worker};
use layer::Layer;
use lines::{OfEvent, OfPort, OfTimer, OfWork};

/// Bits of a file's number below the number of the disk.
const INODE: u32 = 24;

/// All disks of a driver domain.
pub struct Split {
    driver: DomainId,
    costs: SplitCosts,
    pool: PendingPool,
    disks: Vec<HostDisk>,
    vbds: Vec<Vbd>,
    threads: Vec<Thread>,
    /// Threads of the driver domain that work on its files.
    workers: Vec<Worker>,
    /// The driver domain's file systems, by disk.
    images: Vec<Option<Images>>,
    backlog: Backlog,
    tags: Vec<u64>,
    file_tags: Vec<u64>,
}

impl Split {
    /// The disks that `config` describes, before any domain is up.
    ///
    /// # Panics
    /// When a virtual disk is the driver domain's, on a disk that the host does not have, reaches
    /// behind the end of that disk, or is a file where there is no file system with room for it.
    #[track_caller]
    pub fn new(config: &SplitConfig, attach: &mut Attach<'_>, seed: u64, replication: u32) -> Self {
        let class = attach.class::<SplitConfig>();
        let mut disks = Vec::new();
        for (i, disk) in config.disks.iter().enumerate() {
            let drive = disk.drive.make(seed, replication);
            let parts = config
                .vbds
                .iter()
                .filter(|vbd| vbd.disk == i && vbd.back != BackKind::File);
            let end = parts.map(|vbd| vbd.start + vbd.sectors).max();
            assert!(
                end.is_none_or(|end| end <= drive.sectors()),
                "{} has {} sectors",
                disk.name,
                drive.sectors()
            );
            // A SATA disk under libata (disk-spec 1.3).
            let queue = disk
                .layer
                .make((1024, 128), drive.depth(), disk.drive.is_rotational());
            let number = i as u16;
            let timers = [0, 1, 2].map(|timer| OfTimer::Disk(timer).token(number));
            let own = OfWork::Disk.token(number);
            let vcpu = VcpuName::new(config.driver, config.kblockd);
            let mut layer = Layer::new(queue, disk.layer.hz, vcpu, attach, (timers, own));
            let timer = attach.timer(OfEvent::Drive.token(number));
            layer.unplugged_by_all = config.vbds.iter().any(|vbd| vbd.back.qemu().is_some());
            let completes = match layer.unplugged_by_all {
                true => Completes::OnHost {
                    timer: attach.timer(OfEvent::Hard.token(number)),
                },
                false => Completes::InDomain {
                    pirq: attach.pirq(),
                    softirq: attach.softirq(Softirq::Block, Token::from(number)),
                },
            };
            let lines = DiskLines {
                driver: config.driver,
                timer,
                completes,
            };
            disks.push(HostDisk::new(layer, drive, lines));
        }
        let mut threads = Vec::new();
        let mut vbds = Vec::new();
        for (i, vbd) in config.vbds.iter().enumerate() {
            assert!(vbd.domain != config.driver, "a driver domain has no vbd");
            assert!(vbd.disk < disks.len(), "there is no disk {}", vbd.disk);
            // A virtual disk does not turn (`QUEUE_FLAG_VIRT`).
            let queue = vbd
                .layer
                .make(vbd.back.request_limits(), vbd.back.ring(), false);
            let number = i as u16;
            let timers = [0, 1, 2].map(|timer| OfTimer::Guest(timer).token(number));
            let vcpu = VcpuName::new(vbd.domain, 0);
            let own = OfWork::Guest.token(number);
            let layer = Layer::new(queue, vbd.layer.hz, vcpu, attach, (timers, own));
            let ends = Ends {
                guest: vbd.domain,
                driver: vbd.back.qemu().unwrap_or(VcpuName::new(config.driver, 0)),
                class,
                // More disks than a trace distinguishes count as the last one.
                device: vbd.disk.min(u8::MAX.into()) as u8,
            };
            let first = threads.len();
            for t in first..first + vbd.back.threads() as usize {
                let item = attach.work(OfWork::Thread.token(t as u16));
                threads.push(Thread::new(i, Submitter(t as u32), item));
            }
            let front = Front::new(
                (i, ends),
                layer,
                (vbd.back.ring(), attach.lock()),
                config.costs,
            );
            let files = vbd.files.as_ref().map(|files| {
                let stream = format!("ext3/{number}");
                let seed = RandomStream::new(seed, replication, &stream).next_u64();
                let files = &FsConfig { seed, ..*files };
                let own = [0, 1, 2].map(|thread| OfWork::Files(thread).token(number));
                Files::new(files, attach, own, OfTimer::Files.token(number))
            });
            let threads = first..threads.len();
            vbds.push(Vbd::new(i, vbd.clone(), front, files, threads));
        }
        let (workers, images) = workers(config, attach, threads.len());
        let random = RandomStream::new(seed, replication, "blkback/pool");
        Split {
            workers,
            images,
            driver: config.driver,
            costs: config.costs,
            pool: config.pool,
            disks,
            vbds,
            threads,
            backlog: Backlog::new(config.pool, random),
            tags: Vec::new(),
            file_tags: Vec::new(),
        }
    }

    /// Most pending entries of the pool that were in use at a time.
    pub fn most_pending(&self) -> u32 {
        self.backlog.most_used(self.pool.entries)
    }

    /// How full the memory and log of the driver domain are that belong to its files on `disk`;
    /// none where no guest's disk is a file.
    pub fn files_used(&self, disk: usize) -> Option<FsUse> {
        let images = self.images[disk].as_ref()?;
        Some(images.mounted.fs.used())
    }

    /// Whether nothing is under way: every call has returned, every request was answered.
    pub fn is_idle(&self) -> bool {
        self.vbds.iter().all(|vbd| vbd.is_idle() && vbd.taken == 0)
    }
}

/// The threads that work on files of the driver domain, and the file systems by disk. In the queues
/// of the disks, `before` submitters come before these threads.
#[track_caller]
fn workers(
    config: &SplitConfig,
    attach: &mut Attach<'_>,
    before: usize,
) -> (Vec<Worker>, Vec<Option<Images>>) {
    let mut workers: Vec<Worker> = Vec::new();
    let mut images = Vec::new();
    for (i, disk) in config.disks.iter().enumerate() {
        let vbds = config.vbds.iter().enumerate();
        let vbds = vbds.filter(|(_, vbd)| vbd.disk == i && vbd.back == BackKind::File);
        let mut vbds = vbds.peekable();
        if vbds.peek().is_none() {
            images.push(None);
            continue;
        }
        let files = disk.files.as_ref();
        let files = files.expect("a disk with files of the driver domain has a file system");
        let timer = OfTimer::Images.token(i as u16);
        let mut own = Images::new(files, attach, timer, workers.len());
        let mut add = |looped: Option<Loop>, number: u32| {
            let submitter = Submitter((before + workers.len()) as u32);
            let item = attach.work(OfWork::Worker.token(workers.len() as u16));
            workers.push(Worker::new((i, number), submitter, item, looped));
        };
        (0..THREADS as u32).for_each(|number| add(None, number));
        for (number, (v, vbd)) in (THREADS as u32..).zip(vbds) {
            add(
                Some(Loop::new(v, own.make(v, vbd.sectors, vbd.cached))),
                number,
            );
        }
        images.push(Some(own));
    }
    (workers, images)
}

impl Blueprint for SplitConfig {
    type Model = Split;

    const RECORDS: Option<&'static Class> = Some(&RECORDS);

    fn make(&self, attach: &mut Attach<'_>, seed: u64, replication: u32) -> Split {
        Split::new(self, attach, seed, replication)
    }
}

impl Device for Split {
    fn serves(&self, domain: DomainId) -> bool {
        self.drives(domain) || self.vbds.iter().any(|vbd| vbd.config.domain == domain)
    }

    fn drives(&self, domain: DomainId) -> bool {
        let mut all = self.vbds.iter().filter_map(|vbd| vbd.config.back.qemu());
        domain == self.driver || all.any(|thread| thread.domain == domain)
    }

    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        if domain == self.driver {
            for (i, disk) in (0..).zip(&mut self.disks) {
                if let Completes::InDomain { pirq, .. } = disk.completes {
                    let bound = io.bind_pirq(domain, pirq, 0, OfPort::Disk.token(i));
                    disk.port = Some(bound.expect("a domain that boots has free ports"));
                }
            }
            self.boot_files(io);
            return;
        }
        if self.drives(domain) {
            self.qemu_starts(domain, io);
            return;
        }
        for (i, vbd) in (0..).zip(&mut self.vbds) {
            if vbd.config.domain == domain && vbd.config.back.qemu().is_some() {
                // The thread that serves the disk comes next.
                vbd.boot(io);
            } else if vbd.config.domain == domain {
                let front = io.offer(domain, self.driver, 0, OfPort::Front.token(i));
                let front = front.expect("a guest that boots has free ports");
                let back = io.connect(self.driver, domain, front, 0, OfPort::Back.token(i));
                vbd.front.port = Some(front);
                vbd.back_port = Some(back.expect("the driver domain is up, with free ports"));
                vbd.boot(io);
            }
        }
    }

    fn unplug(&mut self, domain: DomainId, io: &mut Io<'_>) {
        if self.drives(domain) {
            self.qemu_ends(domain, io);
            return;
        }
        let own = self.vbds.iter_mut().filter(|v| v.config.domain == domain);
        for vbd in own {
            vbd.front.port = None;
            if let Some(back) = vbd.back_port.take() {
                let closed = io.close(vbd.front.ends.driver.domain, back);
                closed.expect("the port was bound when the guest came");
            }
        }
    }

    fn event(&mut self, token: Token, io: &mut Io<'_>) {
        match OfEvent::of(token) {
            (OfEvent::Drive, disk) => self.drive_event(usize::from(disk), io),
            (OfEvent::Hard, disk) => self.hard_done(usize::from(disk), io),
        }
    }

    fn irq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let (of, number) = OfPort::of(token);
        let number = usize::from(number);
        match of {
            OfPort::Front => self.vbds[number].interrupt(kernel),
            OfPort::Disk => self.disk_irq(number, kernel),
            OfPort::Back => {
                let own = &mut self.vbds[number];
                own.back_entered = !own.back_entered;
                if own.back_entered {
                    return Progress::Run(self.costs.irq, Owner::Domain(own.config.domain));
                }
                self.want(number, kernel);
                Progress::Done
            }
        }
    }

    fn softirq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        self.disk_softirq(token as usize, kernel)
    }

    fn work(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let (of, number) = OfWork::of(token);
        let number = usize::from(number);
        match of {
            OfWork::Thread => self.thread(number, kernel),
            OfWork::Disk => self.disk_kblockd(number, kernel),
            OfWork::Guest => self.vbds[number].kblockd(kernel),
            OfWork::Files(thread) => self.vbds[number].fs_thread(thread, kernel),
            OfWork::Worker => self.worker(number, kernel),
        }
    }

    fn timer(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) {
        let (of, number) = OfTimer::of(token);
        let number = usize::from(number);
        match of {
            OfTimer::Disk(timer) => self.disks[number].layer.timer(timer, kernel),
            OfTimer::Guest(timer) => self.vbds[number].front.timer(timer, kernel),
            OfTimer::Images => self.files_timer(number, kernel),
            OfTimer::Files => self.vbds[number].fs_timer(kernel),
        }
    }

    fn call(&mut self, call: Call, by: Pid, kernel: &mut KernelIo<'_, '_>) -> Answer {
        let file = call.file.file;
        let (vbd, inode) = (file >> INODE, file & ((1 << INODE) - 1));
        match self.vbds.get_mut(vbd as usize) {
            Some(vbd) => vbd.call(call.what, inode, by, kernel),
            None => Answer::Return(0),
        }
    }

    /// A file can always be read and written.
    fn poll(&mut self, _: u32, _: Interest, _: Option<Pid>) -> bool {
        true
    }

    fn passed(&self, domain: DomainId) -> Passed {
        let own = self.vbds.iter().filter(|v| v.config.domain == domain);
        own.fold(Passed::default(), |sum, vbd| sum.plus(vbd.front.passed))
    }
}
