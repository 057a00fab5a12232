//! Files of the driver domain that are disks of guests, and the threads that work on them.
//!
//! The file system on a disk of the host has its own threads, as that of a guest has. For each
//! file there is a loop thread (`drivers/block/loop.c` of Linux 2.6.18), which does one piece of
//! I/O after the other through the page cache of the driver domain.

use super::class::DiskPlace;
use super::config::HostFiles;
use super::disk::Issuing;
use super::mounted::Mounted;
use crate::elevator::{Bio, IoWay, Submitter};
use crate::fs::config::PAGE_SECTORS;
use crate::fs::contract::{FIRST_PROCESS, FsStep};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_vmm::bus::{Attach, Token, WorkItem};

/// In the tag of a piece of I/O of the driver domain's file system.
const OF_FILES: u64 = 1 << 63;

/// The tag in a disk's queue of what the file system of the driver domain calls by `tag`.
pub(super) const fn queue_tag(tag: u64) -> u64 {
    tag | OF_FILES
}

/// What the file system of the driver domain calls the piece of this tag, if it is one of its own.
pub(super) fn files_tag(tag: u64) -> Option<u64> {
    (tag & OF_FILES != 0).then_some(tag & !OF_FILES)
}

/// The file system of the driver domain on a disk.
pub(super) struct Images {
    pub mounted: Mounted,
    /// First sector of the file system.
    pub start: u64,
    /// Blocks of the files: the first, the one behind the last, and the index of the virtual disk.
    runs: Vec<(u32, u32, usize)>,
    /// The first of its threads among all workers.
    pub first: usize,
    /// Reads under way, for whomever: tags, and whether the drive has them.
    pub reads: Vec<(u64, bool)>,
    /// The files: index of the virtual disk, number, and what was told last of how many pages of
    /// its guest's files are to be written.
    pub files: Vec<(usize, u32, u32)>,
}

impl Images {
    /// An empty file system, whose threads begin with the worker `first`. `timer` is the token of
    /// its timer.
    pub fn new(files: &HostFiles, attach: &mut Attach<'_>, timer: Token, first: usize) -> Self {
        Images {
            mounted: Mounted::new(&files.config, attach, timer),
            start: files.start,
            runs: Vec::new(),
            first,
            reads: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Makes the file of `sectors` that is the virtual disk `vbd`: all its blocks are there, on the
    /// disk, or in memory as well if it is `cached`. Returns its number.
    pub fn make(&mut self, vbd: usize, sectors: u64, cached: bool) -> u32 {
        let fs = &mut self.mounted.fs;
        let file = fs.populate(0, sectors * 512, vbd as u32);
        if cached {
            fs.warm(file, true);
        }
        let runs = fs
            .blocks(file)
            .map(|(block, count)| (block, block + count, vbd));
        self.runs.extend(runs);
        self.runs.sort_unstable();
        self.files.push((vbd, file, 0));
        file
    }

    /// The read that a loop thread sleeps for as the task `task`: its tag, and where the piece of
    /// I/O is that needs it. None for who sleeps for something else.
    pub fn awaited(&self, task: Submitter) -> Option<(u64, DiskPlace)> {
        let tag = self.mounted.fs.read_of(task)?;
        let (_, started) = self.reads.iter().find(|(own, _)| *own == tag)?;
        let place = match started {
            true => DiskPlace::Drive,
            false => DiskPlace::HostQueue,
        };
        Some((tag, place))
    }

    /// The virtual disk that has the sector of the host's disk in its file.
    pub fn vbd_at(&self, sector: u64) -> Option<usize> {
        let block = (sector.checked_sub(self.start)? / PAGE_SECTORS) as u32;
        let behind = self.runs.partition_point(|(first, ..)| *first <= block);
        let (_, end, vbd) = self.runs.get(behind.checked_sub(1)?)?;
        (block < *end).then_some(*vbd)
    }

    /// The worker that is the task `task` of the file system.
    pub fn worker(&self, task: Submitter) -> usize {
        self.first + task.index()
    }
}

/// Where a worker is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Working {
    /// Before the next step.
    Next,
    /// This is the next step.
    Holding(FsStep),
    /// A piece of I/O goes through the disk's queue.
    Submitting(Bio),
    /// Hands commands on.
    Issuing(Issuing),
    /// A response is being made for the entry with this number.
    Answering(u32),
    /// The guest is being notified.
    Notifying,
}

/// A thread of the driver domain that works on a file system: one of the file system's own, or a
/// loop thread.
pub(super) struct Worker {
    /// Index of the host's disk.
    pub disk: usize,
    /// Its number in the file system, and in the disk's queue.
    pub task: Submitter,
    pub submitter: Submitter,
    pub item: WorkItem,
    pub at: Working,
    /// The file system has it sleep.
    pub sleeps: bool,
    /// What it asked the disk's queue for last.
    pub asks: IoWay,
    /// Waits for a request of the disk's queue.
    pub asleep: bool,
    /// The disk's queue has one.
    pub woken: bool,
    pub looped: Option<Loop>,
}

impl Worker {
    /// A worker that sleeps.
    pub fn new(
        (disk, number): (usize, u32),
        submitter: Submitter,
        item: WorkItem,
        looped: Option<Loop>,
    ) -> Self {
        Worker {
            disk,
            task: Submitter(number),
            submitter,
            item,
            at: Working::Next,
            // A loop thread is in no call yet.
            sleeps: number < FIRST_PROCESS.0,
            asks: IoWay::Read,
            asleep: false,
            woken: false,
            looped,
        }
    }
}

/// What a loop thread has to do.
pub(super) struct Loop {
    /// Index of the virtual disk, and number of its file.
    pub vbd: usize,
    pub file: u32,
    /// Numbers of the entries that wait.
    pub queue: VecDeque<u32>,
    pub current: Option<u32>,
    /// Where the current one is.
    pub place: DiskPlace,
    /// The read that the thread sleeps for, and that the drive does not have.
    pub watched: Option<u64>,
}

impl Loop {
    /// Nothing to do for the virtual disk `vbd`, which is `file`.
    pub fn new(vbd: usize, file: u32) -> Self {
        Loop {
            vbd,
            file,
            queue: VecDeque::new(),
            current: None,
            place: DiskPlace::Loop,
            watched: None,
        }
    }
}
