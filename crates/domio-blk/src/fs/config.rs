//! What a guest's file system is made with: memory, disk, limits, intervals, and what calls cost.

use crate::elevator::IoPrio;
use domio_core::Duration;

/// Bytes of a page, and of a block of the file system.
pub const PAGE: u64 = 4096;

/// Sectors of a page.
pub const PAGE_SECTORS: u64 = PAGE / 512;

/// What the calls of a file system cost the processor. All zero by default: a scenario's machine
/// has the figures.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FsCosts {
    /// A call, whatever it does.
    pub call: Duration,
    /// Finding and copying a page.
    pub page: Duration,
    /// Changing a block of metadata.
    pub meta: Duration,
    /// Making a bio.
    pub bio: Duration,
}

/// A guest's file system and the memory that it caches in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FsConfig {
    /// Memory of the guest (bytes).
    pub memory: u64,
    /// The part of the memory that kernel and processes keep (bytes).
    pub kernel: u64,
    /// Size of the disk (bytes): all of the disk is one file system.
    pub disk: u64,
    /// Size of the journal (bytes); `None` for what `mkfs.ext3` takes for this disk.
    pub journal: Option<u64>,
    /// Longest time from a transaction's first handle to its commit.
    pub commit: Duration,
    /// Dirty pages from which on they are written in the background (percent of the cache).
    pub background: u32,
    /// Dirty pages from which on writers are held up (percent of the cache).
    pub throttle: u32,
    /// How often old pages are looked for.
    pub writeback: Duration,
    /// Age from which on a dirty file is old.
    pub expire: Duration,
    /// Largest window of readahead (bytes).
    pub readahead: u64,
    /// Whether a read changes the time of last access in the inode.
    pub atime: bool,
    /// Ticks a second of the guest's clock.
    pub hz: u32,
    /// I/O class and level of all tasks.
    pub prio: IoPrio,
    /// What calls cost.
    pub costs: FsCosts,
    /// What random choices are made of.
    pub seed: u64,
}

impl FsConfig {
    /// The file system of a guest with 256 MB of memory, on a disk of `disk` bytes.
    pub const fn guest(disk: u64) -> Self {
        FsConfig {
            memory: 256 << 20,
            kernel: 36 << 20,
            disk,
            journal: None,
            commit: Duration::from_secs(5),
            background: 5,
            throttle: 10,
            writeback: Duration::from_secs(5),
            expire: Duration::from_secs(30),
            readahead: 128 << 10,
            atime: true,
            hz: 250,
            prio: IoPrio::None { nice: 0 },
            costs: FsCosts {
                call: Duration::ZERO,
                page: Duration::ZERO,
                meta: Duration::ZERO,
                bio: Duration::ZERO,
            },
            seed: 0,
        }
    }

    /// Pages that the cache holds.
    pub(super) fn pages(&self) -> u32 {
        ((self.memory.saturating_sub(self.kernel) / PAGE) as u32).max(64)
    }

    /// Blocks of the journal.
    pub(super) fn journal_blocks(&self) -> u32 {
        let blocks = self.disk / PAGE;
        let usual = match blocks {
            0..32_768 => 1024,
            32_768..262_144 => 4096,
            262_144..524_288 => 8192,
            524_288..1_048_576 => 16_384,
            _ => 32_768,
        };
        self.journal.map_or(usual, |bytes| (bytes / PAGE) as u32)
    }
}
