//! Removing files: the name first, then cached data, then the blocks.

use super::FileSystem;
use super::cache::{DIRTY, READING, WRITEBACK};
use super::frames::{Flow, Frame, Remove, RemoveFrame};
use super::layout::{GROUP_BLOCKS, SUPERBLOCK};
use super::wait::{Lock, Wait};

/// Credits of a handle that removes a name (`EXT3_DELETE_TRANS_BLOCKS`).
const UNLINK_CREDITS: u32 = 20;

/// Credits of a handle that frees the blocks of a file, in addition to its metadata.
const FREE_CREDITS: u32 = 16;

impl FileSystem {
    /// Continues with a removal.
    pub(super) fn remove(&mut self, t: u32, remove: &mut RemoveFrame) -> Flow {
        let file = remove.file;
        match remove.step {
            Remove::Find if !self.files.exists(file) => self.gone(t),
            Remove::Find => {
                remove.step = Remove::Hold;
                self.open(t, file).unwrap_or(Flow::Again)
            }
            Remove::Hold => {
                if !self.files.exists(file) {
                    return self.gone(t);
                }
                if let Err(wait) = self.hold(t, Lock::Directory(self.files[file].directory)) {
                    return wait;
                }
                remove.step = Remove::Start;
                Flow::Again
            }
            Remove::Start => {
                remove.step = Remove::Unlink;
                Flow::Call(Frame::Start(UNLINK_CREDITS))
            }
            Remove::Unlink => {
                remove.step = Remove::Unlinked;
                let directory = self.files[file].directory;
                let own = self.files.at(directory).place().1;
                self.fresh(SUPERBLOCK);
                let all = [
                    (self.files.entry_of(file), true),
                    (self.layout.table(own), true),
                    (self.layout.table(self.files[file].inode), true),
                    // The list of orphans begins in the superblock.
                    (SUPERBLOCK, false),
                ];
                self.touching(t, true, all)
            }
            Remove::Unlinked => {
                self.files.unlink(file);
                self.task(t).open = super::cache::NONE;
                self.stop(t);
                self.release(Lock::Directory(self.files[file].directory));
                remove.step = Remove::Own;
                Flow::Again
            }
            Remove::Own => {
                // Who still writes to the file goes first.
                if let Err(wait) = self.hold(t, Lock::File(file)) {
                    return wait;
                }
                remove.step = Remove::Drop(0, 0);
                Flow::Again
            }
            Remove::Drop(run, at) => self.remove_pages(remove, run, at),
            Remove::StartFree => {
                let metadata = self.files[file].metadata().count() as u32;
                remove.step = Remove::Free;
                Flow::Call(Frame::Start(FREE_CREDITS + metadata))
            }
            Remove::Free => {
                remove.step = Remove::Freed;
                self.remove_blocks(t, file)
            }
            Remove::Freed => {
                self.removed(file);
                self.stop(t);
                self.release(Lock::File(file));
                self.files.forget(file);
                Flow::Done(0)
            }
        }
    }

    /// Drops cached pages (`truncate_inode_pages`): waits for those that are on the way.
    fn remove_pages(&mut self, remove: &mut RemoveFrame, mut run: usize, mut at: u32) -> Flow {
        let file = remove.file;
        while let Some((block, count)) = self.files[file].run(run) {
            while at < count {
                if let Some(slot) = self.cache.find(block + at) {
                    let page = self.cache[slot];
                    if page.is(READING | WRITEBACK) {
                        remove.step = Remove::Drop(run, at);
                        return Flow::Wait(match page.is(READING) {
                            true => Wait::Read(block + at),
                            false => Wait::Written(block + at),
                        });
                    }
                    if page.is(DIRTY) {
                        self.cleaned(slot);
                    }
                    self.cache.remove(slot);
                }
                at += 1;
            }
            (run, at) = (run + 1, 0);
        }
        self.files[file].dirty.clear();
        remove.step = Remove::StartFree;
        Flow::Again
    }

    /// Has everything in the transaction that freeing the blocks changes.
    fn remove_blocks(&mut self, t: u32, file: u32) -> Flow {
        let mut touched = core::mem::take(&mut self.task(t).touched);
        touched.clear();
        let inode = self.files[file].inode;
        touched.extend(self.files[file].metadata().map(|block| (block, false)));
        let mut last = u32::MAX;
        for (block, count) in self.files[file].runs() {
            for group in block / GROUP_BLOCKS..=(block + count - 1) / GROUP_BLOCKS {
                if core::mem::replace(&mut last, group) != group {
                    touched.push((self.layout.block_bitmap(group * GROUP_BLOCKS), false));
                    touched.push((self.layout.descriptor(group), false));
                }
            }
        }
        touched.push((self.layout.inode_bitmap(inode), false));
        touched.push((self.layout.descriptor(self.layout.group_of(inode)), false));
        touched.push((self.layout.table(inode), true));
        touched.push((SUPERBLOCK, false));
        self.task(t).touched = touched;
        Flow::Call(Frame::Touch { at: 0, join: true })
    }

    /// The blocks are free once the transaction is on the disk.
    fn removed(&mut self, file: u32) {
        let mut freed = core::mem::take(&mut self.journal.open().freed);
        for (block, count) in self.files[file].runs() {
            freed.extend(block..block + count);
        }
        let metadata: alloc::vec::Vec<u32> = self.files[file].metadata().collect();
        for block in &metadata {
            self.forget_meta(*block);
        }
        freed.extend(metadata);
        self.journal.open().freed = freed;
        self.layout.give_inode(self.files[file].inode);
    }
}
