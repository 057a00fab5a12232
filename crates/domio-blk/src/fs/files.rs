//! Inodes, the blocks of files, and directories.

use super::cache::NONE;
use super::layout::Layout;
use super::orlov;
use alloc::vec::Vec;
use domio_core::{Instant, mixed};

/// The directory that a file system begins with.
const ROOT: u32 = 0;

/// Blocks that an inode names itself: 48 KiB.
const DIRECT: u64 = 12;

/// Blocks that an indirect block names: 4 MiB.
const INDIRECT: u64 = 1024;

/// Entries of files with short names that a directory's block holds.
const ENTRIES: u16 = 256;

/// Blocks of a file of `pages`: the data, and the metadata that lead to them.
pub(super) fn blocks_of(pages: u64) -> u64 {
    let parts = pages.saturating_sub(DIRECT).div_ceil(INDIRECT);
    pages + parts + u64::from(parts > 1)
}

/// Blocks of directories that are full of `files` entries.
pub(super) fn entry_blocks(files: u64) -> u64 {
    files / u64::from(ENTRIES)
}

/// Contiguous blocks of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Extent {
    /// Page of the file.
    first: u64,
    block: u32,
    count: u32,
}

/// Whether a file is in a queue of dirty files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Queued {
    No,
    /// Since when it is dirty.
    Since(Instant),
}

/// A file.
#[derive(Clone, Debug)]
pub struct Ext3File {
    pub(super) exists: bool,
    pub(super) directory: u32,
    /// Which of the directory's blocks has the entry.
    entry: usize,
    /// Number in the inode tables.
    pub(super) inode: u32,
    /// Bytes.
    pub(super) size: u64,
    extents: Vec<Extent>,
    /// Indirect blocks, by the part of the file.
    indirect: Vec<u32>,
    /// The block that names the indirect blocks from the second on, [`NONE`] at first.
    double: u32,
    /// Blocks of pages that have become dirty since the file was last written back: some were
    /// written by a commit meanwhile.
    pub(super) dirty: Vec<u32>,
    /// Pages that are dirty.
    pub(super) dirty_pages: u32,
    /// Pages that are being written.
    pub(super) written_pages: u32,
    /// The newest transaction that has the inode or data of the file.
    pub(super) tx: u32,
    /// Second of the last change of a time in the inode.
    pub(super) stamp: u64,
    pub(super) queued: Queued,
    /// The task that changes the file, [`NONE`] if none does.
    pub(super) holder: u32,
}

impl Ext3File {
    /// An empty file.
    pub fn new(directory: u32, entry: usize, inode: u32) -> Self {
        Ext3File {
            exists: true,
            directory,
            entry,
            inode,
            size: 0,
            extents: Vec::new(),
            indirect: Vec::new(),
            double: NONE,
            dirty: Vec::new(),
            dirty_pages: 0,
            written_pages: 0,
            tx: 0,
            stamp: u64::MAX,
            queued: Queued::No,
            holder: NONE,
        }
    }

    /// The block of a page, and how many pages follow in contiguous blocks, with this one; `None`
    /// in a hole and behind the end.
    pub fn block(&self, page: u64) -> Option<(u32, u32)> {
        let behind = self.extents.partition_point(|e| e.first <= page);
        let extent = self.extents.get(behind.checked_sub(1)?)?;
        let into = page - extent.first;
        if into >= u64::from(extent.count) {
            return None;
        }
        Some((extent.block + into as u32, extent.count - into as u32))
    }

    /// Blocks of metadata that lead to `page`: the double indirect one and the indirect one.
    pub fn path(&self, page: u64) -> impl Iterator<Item = u32> + Clone + use<> {
        let part = page.checked_sub(DIRECT).map(|p| (p / INDIRECT) as usize);
        let double = part.filter(|p| *p > 0).map(|_| self.double);
        let indirect = part.and_then(|p| self.indirect.get(p).copied());
        let path = [double, indirect].into_iter().flatten();
        path.filter(|block| *block != NONE)
    }

    /// Where the block of `page` should be: behind the one before.
    pub fn goal(&self, page: u64) -> Option<u32> {
        let behind = self.extents.partition_point(|e| e.first <= page);
        let last = self.extents.get(behind.checked_sub(1)?)?;
        Some(last.block + last.count)
    }

    /// Takes blocks for `page`, which has none, and for the metadata that lead to it; `goal` is
    /// where a file without blocks starts. Returns the block of the page.
    pub fn extend(&mut self, layout: &mut Layout, page: u64, goal: u32) -> u32 {
        self.extend_by(layout, page, 1, goal).0
    }

    /// As [`Ext3File::extend`] for `page` and pages behind it, `most` at most. Returns the block of
    /// the page, and how many pages have got blocks in a row.
    pub fn extend_by(
        &mut self,
        layout: &mut Layout,
        page: u64,
        most: u64,
        goal: u32,
    ) -> (u32, u64) {
        let mut goal = self.goal(page).unwrap_or(goal);
        // Up to where other metadata lead.
        let alike = match page.checked_sub(DIRECT) {
            None => DIRECT - page,
            Some(behind) => INDIRECT - behind % INDIRECT,
        };
        let most = most.min(alike);
        if let Some(behind) = page.checked_sub(DIRECT) {
            let part = (behind / INDIRECT) as usize;
            if part > 0 && self.double == NONE {
                self.double = layout.take_block(goal);
                goal = self.double + 1;
            }
            if self.indirect.len() <= part {
                self.indirect.resize(part + 1, NONE);
            }
            if self.indirect[part] == NONE {
                self.indirect[part] = layout.take_block(goal);
                goal = self.indirect[part] + 1;
            }
        }
        let (block, taken) = layout.take_run(goal, most as u32);
        let at = self.extents.partition_point(|e| e.first <= page);
        if let Some(last) = at.checked_sub(1).and_then(|i| self.extents.get_mut(i)) {
            let count = u64::from(last.count);
            if last.first + count == page && last.block + last.count == block {
                last.count += taken;
                return (block, u64::from(taken));
            }
        }
        let (first, count) = (page, taken);
        self.extents.insert(
            at,
            Extent {
                first,
                block,
                count,
            },
        );
        (block, u64::from(taken))
    }

    /// All blocks of data, as runs: first block and number.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.extents.iter().map(|e| (e.block, e.count))
    }

    /// Run number `at` of [`Ext3File::runs`].
    pub fn run(&self, at: usize) -> Option<(u32, u32)> {
        self.extents.get(at).map(|e| (e.block, e.count))
    }

    /// All blocks of metadata.
    pub fn metadata(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.indirect.iter().copied().chain([self.double]);
        all.filter(|block| *block != NONE)
    }
}

/// A directory.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    /// The group that its files are made in.
    group: u32,
    inode: u32,
    blocks: Vec<u32>,
    /// Entries of each block.
    entries: Vec<u16>,
    /// The task that changes the directory, [`NONE`] if none does.
    pub holder: u32,
}

impl Directory {
    /// An empty directory in `group`, with an inode and a block.
    fn new(layout: &mut Layout, group: u32) -> Self {
        layout.count_directory(group);
        Directory {
            group,
            inode: layout.take_inode(group),
            blocks: alloc::vec![layout.take_block(layout.first_goal(group, 0))],
            entries: alloc::vec![0],
            holder: NONE,
        }
    }

    /// The group that its files are made in, and its inode.
    pub fn place(&self) -> (u32, u32) {
        (self.group, self.inode)
    }
}

/// All files and directories. Ext3File 0 stands for the metadata of the disk.
pub(super) struct Files {
    files: Vec<Ext3File>,
    free: Vec<u32>,
    /// By number, [`None`] where no file has been made in them.
    directories: Vec<Option<Directory>>,
    /// The group of the directory that directories with even numbers are in, once that is made.
    outer: Option<u32>,
    /// What random choices are made of, and how many there were.
    seed: u64,
    draws: u64,
}

impl Files {
    /// No file. `seed` decides the groups that directories of the root get.
    pub fn new(seed: u64) -> Self {
        let mut meta = Ext3File::new(0, 0, 0);
        meta.exists = false;
        Files {
            files: alloc::vec![meta],
            free: Vec::new(),
            directories: Vec::new(),
            outer: None,
            seed,
            draws: 0,
        }
    }

    /// Directory `number`: 0 is the root, odd numbers are directories in the root, even ones are
    /// inside one directory of the root. A directory is made when the first file in it is.
    pub fn directory(&mut self, layout: &mut Layout, number: u32) -> &mut Directory {
        if self.directories.len() <= number as usize {
            self.directories.resize_with(number as usize + 1, || None);
        }
        if self.directories[number as usize].is_none() {
            let group = self.group_for(layout, number);
            self.directories[number as usize] = Some(Directory::new(layout, group));
        }
        self.at(number)
    }

    /// The group of a directory that is about to be made.
    fn group_for(&mut self, layout: &mut Layout, number: u32) -> u32 {
        if number == ROOT {
            return 0;
        }
        if !number.is_multiple_of(2) {
            return self.group_in_root(layout);
        }
        let parent = match self.outer {
            Some(parent) => parent,
            None => {
                let group = self.group_in_root(layout);
                Directory::new(layout, group);
                *self.outer.insert(group)
            }
        };
        orlov::beside(layout, parent)
    }

    fn group_in_root(&mut self, layout: &Layout) -> u32 {
        self.draws += 1;
        orlov::in_root(layout, mixed(self.seed ^ self.draws))
    }

    /// Directory `number`, which is there.
    pub fn at(&mut self, number: u32) -> &mut Directory {
        let directory = self.directories[number as usize].as_mut();
        directory.expect("the directory was made with the first file in it")
    }

    fn made(&self, number: u32) -> Option<&Directory> {
        self.directories.get(number as usize)?.as_ref()
    }
    /// The task that changes a directory, which may be yet to come.
    pub fn directory_holder(&self, number: u32) -> u32 {
        self.made(number).map_or(NONE, |d| d.holder)
    }

    /// The block of `directory` that the next entry goes to, and whether this block is new.
    pub fn free_entry(&mut self, layout: &mut Layout, directory: u32) -> (usize, bool) {
        let it = self.directory(layout, directory);
        if let Some(at) = it.entries.iter().position(|n| *n < ENTRIES) {
            return (at, false);
        }
        let goal = it.blocks[it.blocks.len() - 1] + 1;
        it.blocks.push(layout.take_block(goal));
        it.entries.push(0);
        (it.blocks.len() - 1, true)
    }

    /// A block of a directory.
    pub fn entry_block(&self, directory: u32, entry: usize) -> u32 {
        self.made(directory)
            .expect("a file is in a directory")
            .blocks[entry]
    }

    /// The block with the entry of `file`.
    pub fn entry_of(&self, file: u32) -> u32 {
        let file = &self[file];
        self.entry_block(file.directory, file.entry)
    }

    /// Makes an empty file, with its entry in this block of the directory. Returns its number.
    pub fn create(&mut self, directory: u32, entry: usize, inode: u32) -> u32 {
        self.at(directory).entries[entry] += 1;
        let file = Ext3File::new(directory, entry, inode);
        if let Some(number) = self.free.pop() {
            self.files[number as usize] = file;
            return number;
        }
        self.files.push(file);
        self.files.len() as u32 - 1
    }

    /// The name of `file` is gone.
    pub fn unlink(&mut self, file: u32) {
        let (directory, entry) = (self[file].directory, self[file].entry);
        self.at(directory).entries[entry] -= 1;
        self[file].exists = false;
    }

    /// The number of a file that is gone may be used again.
    pub fn forget(&mut self, file: u32) {
        self.free.push(file);
    }

    /// Whether there is such a file.
    pub fn exists(&self, file: u32) -> bool {
        self.files.get(file as usize).is_some_and(|f| f.exists)
    }

    /// Numbers of all files.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (1..self.files.len() as u32).filter(|f| self.exists(*f))
    }
}

impl core::ops::Index<u32> for Files {
    type Output = Ext3File;

    fn index(&self, file: u32) -> &Ext3File {
        &self.files[file as usize]
    }
}

impl core::ops::IndexMut<u32> for Files {
    fn index_mut(&mut self, file: u32) -> &mut Ext3File {
        &mut self.files[file as usize]
    }
}
