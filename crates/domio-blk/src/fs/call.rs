//! The calls of processes, but for reads, writes and removals, which have files of their own.

use super::FileSystem;
use super::cache::NONE;
use super::frames::{CallFrame, Create, Flow, Flush, Frame, PassFrame, Sync, Which};
use super::readahead::Readahead;
use super::wait::{Lock, Wait};

/// Credits of a handle that makes a file (`EXT3_DATA_TRANS_BLOCKS` and what names take).
const CREATE_CREDITS: u32 = 20;

impl FileSystem {
    /// Continues with a call.
    pub(super) fn call(&mut self, t: u32, call: &mut CallFrame) -> Flow {
        match call {
            CallFrame::Create(directory, step) => self.create(t, *directory, step),
            CallFrame::Remove(remove) => self.remove(t, remove),
            CallFrame::Read(read) => self.read(t, read),
            CallFrame::Write(write) => self.write(t, write),
            CallFrame::Flush(file, step) => self.flush(*file, step),
            CallFrame::Sync(step) => self.sync(step),
            CallFrame::Size(file, opened) => {
                if !self.files.exists(*file) {
                    return Flow::Done(0);
                }
                if !core::mem::replace(opened, true)
                    && let Some(flow) = self.open(t, *file)
                {
                    return flow;
                }
                Flow::Done(self.files[*file].size)
            }
        }
    }

    /// Finds the name and the inode of a file that the task has not open: reads of metadata, with
    /// nothing read ahead so far.
    pub(super) fn open(&mut self, t: u32, file: u32) -> Option<Flow> {
        let task = self.task(t);
        if core::mem::replace(&mut task.open, file) == file {
            return None;
        }
        task.readahead = Readahead::OPENED;
        let inode = self.layout.table(self.files[file].inode);
        let entry = self.files.entry_of(file);
        Some(self.touching(t, false, [(entry, true), (inode, true)]))
    }

    fn create(&mut self, t: u32, directory: u32, step: &mut Create) -> Flow {
        match *step {
            Create::Hold => {
                if self.layout.is_full() {
                    return self.gone(t);
                }
                self.files.directory(&mut self.layout, directory);
                if let Err(wait) = self.hold(t, Lock::Directory(directory)) {
                    return wait;
                }
                let (entry, new) = self.files.free_entry(&mut self.layout, directory);
                let block = self.files.entry_block(directory, entry);
                if new {
                    self.fresh(block);
                }
                *step = Create::Begin(entry);
                self.touching(t, false, [(block, true)])
            }
            Create::Begin(entry) => {
                *step = Create::Change(entry);
                Flow::Call(Frame::Start(CREATE_CREDITS))
            }
            Create::Change(entry) => {
                if self.layout.is_full() {
                    self.stop(t);
                    self.release(Lock::Directory(directory));
                    return self.gone(t);
                }
                let (group, own) = self.files.at(directory).place();
                let inode = self.layout.take_inode(group);
                let descriptor = self.descriptor(group);
                *step = Create::Close(entry, inode);
                let layout = &self.layout;
                let block = self.files.entry_block(directory, entry);
                let all = [
                    (layout.inode_bitmap(inode), false),
                    (descriptor, false),
                    (layout.table(inode), true),
                    (block, true),
                    (layout.table(own), true),
                ];
                self.touching(t, true, all)
            }
            Create::Close(entry, inode) => {
                let file = self.files.create(directory, entry, inode);
                self.files[file].tx = self.journal.open().id;
                // A number that was used before is another file now.
                self.task(t).open = file;
                self.task(t).readahead = Readahead::OPENED;
                self.stop(t);
                self.release(Lock::Directory(directory));
                Flow::Done(u64::from(file))
            }
        }
    }

    /// The block that describes a group: these are in memory from the start.
    pub(super) fn descriptor(&mut self, group: u32) -> u32 {
        let descriptor = self.layout.descriptor(group);
        self.fresh(descriptor);
        descriptor
    }

    fn flush(&mut self, file: u32, step: &mut Flush) -> Flow {
        if !self.files.exists(file) {
            return Flow::Done(0);
        }
        match *step {
            Flush::Write => {
                *step = Flush::Commit;
                Flow::Call(Frame::Pass(PassFrame::new(Which::File(file), u32::MAX)))
            }
            Flush::Commit => {
                *step = Flush::Wait;
                let id = self.files[file].tx;
                if id < self.cache.uncommitted {
                    return Flow::Again;
                }
                self.ask_commit(id);
                Flow::Wait(Wait::Committed(id))
            }
            Flush::Wait => {
                *step = Flush::Done;
                Flow::Wait(Wait::FileWritten(file))
            }
            Flush::Done => Flow::Done(0),
        }
    }

    fn sync(&mut self, step: &mut Sync) -> Flow {
        match *step {
            Sync::Write => {
                *step = Sync::Commit;
                Flow::Call(Frame::Pass(PassFrame::new(Which::All, u32::MAX)))
            }
            Sync::Commit => {
                *step = Sync::WriteHome;
                let running = self.journal.running.as_ref();
                let Some(last) = running.or(self.journal.committing.as_ref()) else {
                    return Flow::Again;
                };
                let id = last.id;
                self.ask_commit(id);
                Flow::Wait(Wait::Committed(id))
            }
            Sync::WriteHome => {
                *step = Sync::Wait;
                Flow::Call(Frame::Pass(PassFrame::new(Which::All, u32::MAX)))
            }
            Sync::Wait => {
                *step = Sync::Done;
                Flow::Wait(Wait::Through(self.flight.last()))
            }
            Sync::Done => Flow::Done(0),
        }
    }

    /// The call of task `t` finds that its file is gone.
    pub(super) fn gone(&mut self, t: u32) -> Flow {
        self.task(t).open = NONE;
        Flow::Done(0)
    }
}
