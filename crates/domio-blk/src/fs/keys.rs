//! How a scenario asks for a file system: keys of a table, each with its default and source.

use super::config::{FsConfig, FsCosts, PAGE};
use domio_core::Duration;
use domio_core::keys::{Given, KeySection, Keys, Need, bytes, flag, int, time};

/// Least memory of a guest.
const MEMORY_MIN: u64 = 8 << 20;

/// Most memory of a guest: a TiB.
const MEMORY_MAX: u64 = 1 << 40;

/// Smallest journal (`JFS_MIN_JOURNAL_BLOCKS`): 4 MiB.
const JOURNAL_MIN: u64 = 1024 * PAGE;

/// Largest journal (`mke2fs`): 102,400 blocks.
const JOURNAL_MAX: u64 = 102_400 * PAGE;

keys! {
    struct FsKeys {
        memory: u64 = bytes(MEMORY_MIN, MEMORY_MAX), Need::Word("256M"),
            "Memory of the guest, as far as its kernel has it. Boutcher and Chandra: 256 MB.";
        kernel: u64 = bytes(0, MEMORY_MAX), Need::Word("36M"),
            "Memory that kernel and processes keep; the rest caches pages.";
        journal: u64 = bytes(JOURNAL_MIN, JOURNAL_MAX),
            Need::Optional("what mkfs.ext3 takes: 128M from 4G of disk on"),
            "Size of the journal.";
        commit: Duration = time("s", 1), Need::TimeNs(5_000_000_000),
            "Longest time to the commit of a change (`commit=` of mount; \
               `JBD_DEFAULT_MAX_COMMIT_AGE`).";
        dirty_background_ratio: u32 = int(0, 100), Need::Int(5),
            "Dirty pages from which on pdflush writes, in percent of the cache (`/proc/sys/vm`).";
        dirty_ratio: u32 = int(1, 100), Need::Int(10),
            "Dirty pages from which on writers are held up, in percent of the cache \
               (`/proc/sys/vm`).";
        dirty_writeback: Duration = time("s", 1), Need::TimeNs(5_000_000_000),
            "How often pdflush looks for old pages (`dirty_writeback_centisecs`).";
        dirty_expire: Duration = time("s", 0), Need::TimeNs(30_000_000_000),
            "Age from which on pages are old (`dirty_expire_centisecs`).";
        read_ahead: u64 = bytes(0, 1 << 30), Need::Word("128K"),
            "Largest window of readahead (`read_ahead_kb` of the disk's queue).";
        atime: bool = flag(), Need::Int(1),
            "Whether reads change the time of last access, as mounts of 2.6.24 do without \
               `noatime`.";
    }
}

/// The table with a guest's file system.
pub static FILE_SYSTEM: KeySection = KeySection::plain(
    "[domain.file_system]",
    "The ext3 file system of a guest, with ordered data, on its disk, and the memory that it \
       caches \
     in. What is not said is as in Linux 2.6.24.",
    FsKeys::KEYS,
);

domio_core::times!(FILE_SYSTEM_COSTS, fs_costs, all_of_fs, FsCosts, "[file_system.costs]",
    "What calls on a file system cost.", {
    call: call, "A call, whatever it does.";
    page: page, "Finding and copying a page.";
    meta: meta, "Changing a block of metadata.";
    bio: bio, "Making a bio.";
});

impl FsConfig {
    /// The file system that a table asks for, on a disk of `disk` bytes, by a clock of `hz` ticks a
    /// second; `None` when a value is wrong.
    pub fn asked<G: Given + ?Sized>(table: &G, disk: u64, hz: u32) -> Option<FsConfig> {
        let keys = FsKeys::read(table);
        Some(FsConfig {
            memory: keys.memory.get()?,
            kernel: keys.kernel.get()?,
            journal: keys.journal.if_given()?,
            commit: keys.commit.get()?,
            background: keys.dirty_background_ratio.get()?,
            throttle: keys.dirty_ratio.get()?,
            writeback: keys.dirty_writeback.get()?,
            expire: keys.dirty_expire.get()?,
            readahead: keys.read_ahead.get()?,
            atime: keys.atime.get()?,
            hz,
            ..FsConfig::guest(disk)
        })
    }
}
