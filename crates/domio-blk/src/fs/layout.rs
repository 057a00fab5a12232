//! Where things are on the disk: block groups, inode tables, journal, and what is free.
//!
//! A group has 32,768 blocks of 4 KiB. Its first blocks are a copy of the superblock, the two
//! bitmaps and the inode table; the rest is data. The descriptors of all groups are behind the
//! inode table of group 0, and the journal fills whole groups from group 1 on.

use alloc::vec;
use alloc::vec::Vec;

/// Blocks of a group.
pub const GROUP_BLOCKS: u32 = 32_768;

/// Inodes of a group: one for every 8 KiB, the default of `mkfs.ext3` of that time.
pub const GROUP_INODES: u32 = 16_384;

/// Inodes of 128 bytes in a block.
const TABLE_INODES: u32 = 32;

/// Group descriptors of 32 bytes in a block.
const BLOCK_DESCRIPTORS: u32 = 128;

/// Parts of a group that the first blocks of files start in, by the process that writes.
const COLOURS: u32 = 16;

/// Where in a group its two bitmaps and its inode table are.
const BLOCK_BITMAP: u32 = 1;
const INODE_BITMAP: u32 = 2;
const INODE_TABLE: u32 = 3;

/// Blocks that a new page takes at most: its own, the indirect ones, and one of a directory.
const NEEDED_BLOCKS: u64 = 4;

/// The superblock's block.
pub const SUPERBLOCK: u32 = 0;

/// Which of a group's blocks or inodes are taken.
struct Bitmap {
    words: Vec<u64>,
    free: u32,
}

impl Bitmap {
    fn new(bits: u32) -> Self {
        let words = vec![0; bits.div_ceil(64) as usize];
        Bitmap { words, free: bits }
    }

    fn take(&mut self, bit: u32) {
        let word = &mut self.words[(bit / 64) as usize];
        let mask = 1 << (bit % 64);
        assert!(*word & mask == 0, "bit {bit} is taken already");
        *word |= mask;
        self.free -= 1;
    }

    /// Takes bits in a row, as long as they are free: from `from` on, `most` at most. Says how
    /// many.
    fn take_row(&mut self, from: u32, most: u32) -> u32 {
        let end = from.saturating_add(most).min(self.words.len() as u32 * 64);
        let mut at = from;
        while at < end {
            let word = &mut self.words[(at / 64) as usize];
            let into = at % 64;
            let free = (*word >> into).trailing_zeros().min(64 - into);
            let count = free.min(end - at);
            if count == 0 {
                break;
            }
            *word |= (u64::MAX >> (64 - count)) << into;
            at += count;
            if count < 64 - into {
                break;
            }
        }
        self.free -= at - from;
        at - from
    }

    fn give(&mut self, bit: u32) {
        let word = &mut self.words[(bit / 64) as usize];
        let mask = 1 << (bit % 64);
        assert!(*word & mask != 0, "bit {bit} is free already");
        *word &= !mask;
        self.free += 1;
    }

    /// The first free bit from `from` on, or else from 0 on.
    fn find(&self, from: u32) -> Option<u32> {
        if self.free == 0 {
            return None;
        }
        let first = (from / 64) as usize;
        let behind = !0 << (from % 64);
        let ahead = (first..self.words.len()).map(|i| (i, if i == first { behind } else { !0 }));
        let wrapped = (0..=first.min(self.words.len() - 1)).map(|i| (i, !0));
        ahead.chain(wrapped).find_map(|(i, mask)| {
            let free = !self.words[i] & mask;
            (free != 0).then(|| i as u32 * 64 + free.trailing_zeros())
        })
    }
}

struct Group {
    blocks: Bitmap,
    inodes: Bitmap,
    directories: u32,
}

/// How full a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GroupUse {
    /// Free blocks.
    pub blocks: u32,
    /// Free inodes.
    pub inodes: u32,
    /// Directories whose inodes are in the group.
    pub directories: u32,
}

/// The disk's map.
pub struct Layout {
    groups: Vec<Group>,
    /// Free blocks and inodes of all groups.
    blocks: u64,
    inodes: u64,
    /// Blocks of the journal, from the first block of group 1 on.
    pub journal: u32,
}

impl Layout {
    /// An empty file system on a disk of `blocks`, with a journal of `journal` blocks.
    ///
    /// # Panics
    /// When the disk has no room for data beside the journal.
    #[track_caller]
    pub fn new(blocks: u32, journal: u32) -> Self {
        let count = blocks / GROUP_BLOCKS;
        let reserved = 1 + journal.div_ceil(GROUP_BLOCKS);
        assert!(count > reserved, "the disk has no room beside its journal");
        let head = INODE_TABLE + GROUP_INODES / TABLE_INODES;
        let groups = (0..count).map(|g| {
            let mut group = Group {
                blocks: Bitmap::new(GROUP_BLOCKS),
                inodes: Bitmap::new(GROUP_INODES),
                directories: 0,
            };
            let taken = match g {
                0 => head + count.div_ceil(BLOCK_DESCRIPTORS),
                g if g < reserved => GROUP_BLOCKS,
                _ => head,
            };
            group.blocks.take_row(0, taken);
            group
        });
        let groups: Vec<Group> = groups.collect();
        Layout {
            blocks: groups.iter().map(|g| u64::from(g.blocks.free)).sum(),
            inodes: groups.iter().map(|g| u64::from(g.inodes.free)).sum(),
            groups,
            journal,
        }
    }

    /// Free blocks and inodes of an empty file system on a disk of `blocks`, with a journal of
    /// `journal` blocks; `None` when there is no room for data.
    pub fn room(blocks: u32, journal: u32) -> Option<(u64, u64)> {
        let count = blocks / GROUP_BLOCKS;
        let data = count.checked_sub(journal.div_ceil(GROUP_BLOCKS))?;
        if data < 2 {
            return None;
        }
        let free = GROUP_BLOCKS - (INODE_TABLE + GROUP_INODES / TABLE_INODES);
        let descriptors = u64::from(count.div_ceil(BLOCK_DESCRIPTORS));
        Some((
            u64::from(data) * u64::from(free) - descriptors,
            u64::from(count) * u64::from(GROUP_INODES),
        ))
    }

    /// Whether a new file, or a page with the blocks that lead to it, may find no room.
    pub fn is_full(&self) -> bool {
        self.blocks < NEEDED_BLOCKS || self.inodes == 0
    }

    /// What the choice of a group for a directory depends on, group by group.
    pub(super) fn fullness(&self) -> impl ExactSizeIterator<Item = GroupUse> + '_ {
        self.groups.iter().map(|group| GroupUse {
            blocks: group.blocks.free,
            inodes: group.inodes.free,
            directories: group.directories,
        })
    }

    /// One more directory is in `group`.
    pub fn count_directory(&mut self, group: u32) {
        self.groups[group as usize].directories += 1;
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Free blocks of all groups.
    pub fn free(&self) -> u64 {
        self.blocks
    }

    /// Free inodes of all groups.
    pub fn free_inodes(&self) -> u64 {
        self.inodes
    }

    /// First block of the journal, which is the journal's own superblock.
    pub fn journal_start(&self) -> u32 {
        GROUP_BLOCKS
    }

    /// The group of `inode`.
    pub fn group_of(&self, inode: u32) -> u32 {
        inode / GROUP_INODES
    }

    /// The block bitmap of the group of `block`.
    pub fn block_bitmap(&self, block: u32) -> u32 {
        block / GROUP_BLOCKS * GROUP_BLOCKS + BLOCK_BITMAP
    }

    /// The inode bitmap of the group of `inode`.
    pub fn inode_bitmap(&self, inode: u32) -> u32 {
        inode / GROUP_INODES * GROUP_BLOCKS + INODE_BITMAP
    }

    /// The block that describes `group`.
    pub fn descriptor(&self, group: u32) -> u32 {
        INODE_TABLE + GROUP_INODES / TABLE_INODES + group / BLOCK_DESCRIPTORS
    }

    /// The block of the inode table that `inode` is in.
    pub fn table(&self, inode: u32) -> u32 {
        let (group, place) = (inode / GROUP_INODES, inode % GROUP_INODES);
        group * GROUP_BLOCKS + INODE_TABLE + place / TABLE_INODES
    }

    /// Takes the lowest free inode of `group`, or of the next group that has one.
    ///
    /// # Panics
    /// When no inode is free.
    #[track_caller]
    pub fn take_inode(&mut self, group: u32) -> u32 {
        let count = self.groups();
        for g in (group..count).chain(0..group) {
            let inodes = &mut self.groups[g as usize].inodes;
            if let Some(bit) = inodes.find(0) {
                inodes.take(bit);
                self.inodes -= 1;
                return g * GROUP_INODES + bit;
            }
        }
        panic!("the file system has no free inode");
    }

    /// Gives an inode back.
    pub fn give_inode(&mut self, inode: u32) {
        let group = &mut self.groups[(inode / GROUP_INODES) as usize];
        group.inodes.give(inode % GROUP_INODES);
        self.inodes += 1;
    }

    /// Where the first block of a file in `group` should be that process `colour` writes.
    pub fn first_goal(&self, group: u32, colour: u32) -> u32 {
        group * GROUP_BLOCKS + colour % COLOURS * (GROUP_BLOCKS / COLOURS)
    }

    /// Takes the first free block from `goal` on: in its group, or in the next that has one.
    ///
    /// # Panics
    /// When the disk is full.
    #[track_caller]
    pub fn take_block(&mut self, goal: u32) -> u32 {
        let count = self.groups();
        let group = (goal / GROUP_BLOCKS).min(count - 1);
        for g in (group..count).chain(0..group) {
            let from = if g == group { goal % GROUP_BLOCKS } else { 0 };
            let blocks = &mut self.groups[g as usize].blocks;
            if let Some(bit) = blocks.find(from) {
                blocks.take(bit);
                self.blocks -= 1;
                return g * GROUP_BLOCKS + bit;
            }
        }
        panic!("the file system is full");
    }

    /// Takes blocks in a row, as many calls of [`Layout::take_block`] would: from the first free
    /// one on, `most` at most and as long as they are free in the group. Returns the first and how
    /// many.
    ///
    /// # Panics
    /// When the disk is full.
    #[track_caller]
    pub fn take_run(&mut self, goal: u32, most: u32) -> (u32, u32) {
        let first = self.take_block(goal);
        let blocks = &mut self.groups[(first / GROUP_BLOCKS) as usize].blocks;
        let bit = first % GROUP_BLOCKS;
        let row = blocks.take_row(bit + 1, most - 1);
        self.blocks -= u64::from(row);
        (first, 1 + row)
    }

    /// Gives a block back.
    pub fn give_block(&mut self, block: u32) {
        let group = &mut self.groups[(block / GROUP_BLOCKS) as usize];
        group.blocks.give(block % GROUP_BLOCKS);
        self.blocks += 1;
    }
}
