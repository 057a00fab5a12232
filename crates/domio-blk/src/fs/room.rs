//! How much fits on a disk beside what the file system itself keeps.

use super::config::{FsConfig, PAGE};
use super::files::{blocks_of, entry_blocks};
use super::layout::Layout;

/// Room on a disk with an empty file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// For data and for the blocks that lead to data (bytes).
    pub bytes: u64,
    /// Files and directories.
    pub files: u64,
}

impl FsConfig {
    /// The room of the empty file system; `None` when the disk is too small for one, or larger than
    /// 16 TiB.
    pub fn room(&self) -> Option<Room> {
        let blocks = u32::try_from(self.disk / PAGE).ok()?;
        let (blocks, files) = Layout::room(blocks, self.journal_blocks())?;
        Some(Room {
            bytes: blocks * PAGE,
            files,
        })
    }
}

/// What a file of so many bytes takes of the room: whole blocks, with those that lead to them
/// (bytes).
pub fn taken_by(bytes: u64) -> u64 {
    blocks_of(bytes.div_ceil(PAGE)) * PAGE
}

/// What so many directories take that have `files` together, at most (bytes).
pub fn directory_bytes(directories: u64, files: u64) -> u64 {
    (directories + entry_blocks(files)) * PAGE
}
