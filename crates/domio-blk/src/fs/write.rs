//! Writing (`generic_file_buffered_write`, `ext3_ordered_write_end`).

use super::FileSystem;
use super::cache::{DIRTY, READING};
use super::config::PAGE;
use super::frames::{Flow, Frame, Write, WriteFrame};
use super::journal::PAGE_CREDITS;
use super::layout::GROUP_BLOCKS;
use super::wait::{Lock, Wait};

impl FileSystem {
    /// Continues with a write.
    pub(super) fn write(&mut self, t: u32, write: &mut WriteFrame) -> Flow {
        let file = write.file;
        match write.step {
            Write::Open => {
                if !self.files.exists(file) || write.bytes == 0 {
                    return self.gone(t);
                }
                write.step = Write::Hold;
                self.open(t, file).unwrap_or(Flow::Again)
            }
            Write::Hold => {
                if let Err(wait) = self.hold(t, Lock::File(file)) {
                    return wait;
                }
                if !self.files.exists(file) {
                    self.release(Lock::File(file));
                    return self.gone(t);
                }
                write.step = Write::Start;
                Flow::Again
            }
            Write::Start => {
                write.step = Write::Prepare;
                Flow::Call(Frame::Start(PAGE_CREDITS))
            }
            Write::Prepare => self.write_prepare(t, write),
            Write::Commit => self.write_commit(t, write),
            Write::Stamp => {
                write.step = Write::Close;
                let end = write.end();
                let grows = self.files[file].size < end;
                if !self.is_new_second(file) && !grows {
                    return Flow::Again;
                }
                self.files[file].size = self.files[file].size.max(end);
                let inode = self.layout.table(self.files[file].inode);
                self.touching(t, true, [(inode, true)])
            }
            Write::Close => {
                self.stop(t);
                self.spend(t, self.config.costs.page);
                write.step = Write::Next;
                self.balance_now().map_or(Flow::Again, Flow::Call)
            }
            Write::Next => {
                write.page += 1;
                if write.page * PAGE < write.offset + write.bytes {
                    write.step = Write::Start;
                    return Flow::Again;
                }
                self.release(Lock::File(file));
                Flow::Done(write.bytes)
            }
        }
    }

    /// Has the page in memory: reads it if the write covers a part, takes blocks if it has none.
    /// The handle stays open meanwhile, so that a commit waits for the read.
    fn write_prepare(&mut self, t: u32, write: &mut WriteFrame) -> Flow {
        let (file, page) = (write.file, write.page);
        if let Some((block, _)) = self.files[file].block(page) {
            if let Some(slot) = self.cache.find(block) {
                if self.cache[slot].is(READING) {
                    return Flow::Wait(Wait::Read(block));
                }
            } else if !write.is_whole() {
                let path = self.files[file].path(page);
                if path.clone().any(|b| self.cache.find(b).is_none()) {
                    return self.touching(t, false, path.map(|block| (block, false)));
                }
                self.read_block(t, block, file, false);
                return Flow::Wait(Wait::Read(block));
            }
            write.step = Write::Commit;
            return Flow::Again;
        }
        if self.layout.is_full() {
            self.stop(t);
            self.release(Lock::File(file));
            return Flow::Done((page * PAGE).saturating_sub(write.offset));
        }
        let group = self.files.at(self.files[file].directory).place().0;
        let goal = self.layout.first_goal(group, t);
        let known = self.files[file].metadata().count();
        let block = self.files[file].extend(&mut self.layout, page, goal);
        if self.files[file].metadata().count() != known {
            // New indirect blocks are made in memory.
            for block in self.files[file].path(page) {
                self.fresh(block);
            }
        }
        let bitmap = self.layout.block_bitmap(block);
        let descriptor = self.descriptor(block / GROUP_BLOCKS);
        let path = self.files[file].path(page).map(|block| (block, false));
        write.step = Write::Commit;
        let inode = self.layout.table(self.files[file].inode);
        let all = [(bitmap, false), (descriptor, false), (inode, true)];
        self.touching(t, true, all.into_iter().chain(path))
    }

    /// Makes the page dirty, as data of the running transaction (`journal_dirty_data`).
    fn write_commit(&mut self, t: u32, write: &mut WriteFrame) -> Flow {
        let file = write.file;
        let (block, _) = self.files[file]
            .block(write.page)
            .expect("the page has a block");
        let slot = match self.cache.find(block) {
            Some(slot) => slot,
            None => self.cache.add(block, file, 0),
        };
        self.cache.touch(slot);
        let page = self.cache[slot];
        let id = self.journal.open().id;
        if page.tx != id {
            // Data of the transaction that is being committed is written first.
            if page.tx >= self.cache.uncommitted && page.is(DIRTY) {
                self.write_page(t, slot);
                return Flow::Wait(Wait::Written(block));
            }
            self.cache[slot].tx = id;
            self.journal.open().data.push(block);
        }
        self.files[file].tx = id;
        self.dirtied(slot);
        write.step = Write::Stamp;
        Flow::Again
    }
}
