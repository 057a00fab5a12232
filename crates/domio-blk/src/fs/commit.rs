//! `kjournald`: commits transactions (`journal_commit_transaction` of `fs/jbd/commit.c`).
//!
//! Lock and wait for handles; all data in the order in which it became dirty; wait; descriptors and
//! metadata into the log; wait; the commit block; wait. Nothing carries the sync flag.

use super::cache::{DIRTY, META, WRITEBACK};
use super::frames::{CommitFrame, Flow};
use super::journal::{Checkpoint, Transaction};
use super::wait::{Event, Wait};
use super::{FileSystem, InFlight};
use crate::elevator::IoWay;

/// Blocks that a descriptor block names: 8 bytes each, 28 bytes for its head.
const DESCRIBED: usize = 508;

impl FileSystem {
    /// Whether a transaction is to be committed.
    pub(super) fn commit_is_due(&self) -> bool {
        let running = self.journal.running.as_ref();
        running.is_some_and(|r| r.id <= self.journal.requested || r.expires <= self.now)
    }

    /// Continues with a commit, or waits for the next.
    pub(super) fn commit(&mut self, t: u32, frame: &mut CommitFrame) -> Flow {
        match *frame {
            CommitFrame::Idle if self.commit_is_due() => {
                self.journal.open().locked = true;
                *frame = CommitFrame::Locked;
                Flow::Wait(Wait::NoHandles)
            }
            CommitFrame::Idle => Flow::Wait(Wait::Work),
            CommitFrame::Locked => {
                self.journal.committing = self.journal.running.take();
                self.wake(Event::Switched);
                *frame = CommitFrame::Data(0);
                Flow::Again
            }
            CommitFrame::Data(at) => self.commit_data(t, frame, at),
            CommitFrame::DataWritten(at) => self.commit_data_written(frame, at),
            CommitFrame::Log(at) => self.commit_log(t, frame, at),
            CommitFrame::Logged => {
                self.committing().logging = false;
                self.wake(Event::Logged);
                self.log_block(t);
                *frame = CommitFrame::Record;
                Flow::Wait(Wait::Own)
            }
            CommitFrame::Record => {
                self.committed();
                *frame = CommitFrame::Idle;
                Flow::Again
            }
        }
    }

    fn committing(&mut self) -> &mut Transaction {
        let committing = self.journal.committing.as_mut();
        committing.expect("kjournald has a transaction")
    }

    /// Submits the data that is still dirty. What was removed meanwhile is not cached any more.
    fn commit_data(&mut self, t: u32, frame: &mut CommitFrame, mut at: usize) -> Flow {
        let id = self.committing().id;
        while let Some(&block) = self.committing().data.get(at) {
            at += 1;
            let Some(slot) = self.cache.find(block) else {
                continue;
            };
            let page = self.cache[slot];
            if page.tx != id || !page.is(DIRTY) {
                continue;
            }
            if page.is(WRITEBACK) {
                *frame = CommitFrame::Data(at - 1);
                return Flow::Wait(Wait::Written(block));
            }
            self.write_page(t, slot);
            *frame = CommitFrame::Data(at);
            return Flow::Again;
        }
        *frame = CommitFrame::DataWritten(0);
        Flow::Again
    }

    /// Waits until no data of the transaction is being written, by whomever.
    fn commit_data_written(&mut self, frame: &mut CommitFrame, mut at: usize) -> Flow {
        while let Some(&block) = self.committing().data.get(at) {
            let slot = self.cache.find(block);
            if slot.is_some_and(|slot| self.cache[slot].is(WRITEBACK)) {
                *frame = CommitFrame::DataWritten(at);
                return Flow::Wait(Wait::Written(block));
            }
            at += 1;
        }
        // What was freed since is not logged.
        let mut meta = core::mem::take(&mut self.committing().meta);
        meta.retain(|block| self.is_meta(*block));
        let committing = self.committing();
        committing.meta = meta;
        committing.logging = true;
        *frame = CommitFrame::Log(0);
        Flow::Again
    }

    fn is_meta(&self, block: u32) -> bool {
        let slot = self.cache.find(block);
        slot.is_some_and(|slot| self.cache[slot].file == META)
    }

    /// Submits the next block of the log: each group of metadata has a descriptor in front.
    fn commit_log(&mut self, t: u32, frame: &mut CommitFrame, at: usize) -> Flow {
        let metadata = self.committing().meta.len();
        if at >= metadata + metadata.div_ceil(DESCRIBED) {
            *frame = CommitFrame::Logged;
            return Flow::Wait(Wait::Own);
        }
        self.log_block(t);
        *frame = CommitFrame::Log(at + 1);
        Flow::Again
    }

    /// Submits a block of the log.
    fn log_block(&mut self, t: u32) {
        let block = self.layout.journal_start() + self.journal.head;
        self.journal.free -= 1;
        self.journal.head += 1;
        if self.journal.head == self.layout.journal {
            self.journal.head = 1;
        }
        self.emit(t, IoWay::Write, InFlight::Own { block, task: t }, false);
    }

    /// The transaction is on the disk: its metadata may go home, what it freed may be used.
    fn committed(&mut self) {
        let Some(done) = self.journal.committing.take() else {
            return;
        };
        let metadata = done.meta.len();
        let mut checkpoint = Checkpoint {
            id: done.id,
            log: (metadata + metadata.div_ceil(DESCRIBED) + 1) as u32,
            blocks: done.meta,
            live: 0,
        };
        self.cache.uncommitted = done.id + 1;
        for i in 0..checkpoint.blocks.len() {
            let slot = self.cache.find(checkpoint.blocks[i]);
            let Some(slot) = slot.filter(|slot| self.cache[*slot].file == META) else {
                continue;
            };
            let earlier = core::mem::replace(&mut self.cache[slot].checkpoint, done.id);
            if earlier != 0 {
                self.journal.at_home(earlier);
            }
            checkpoint.live += 1;
            // A block that has joined the next transaction already goes home with that one.
            if self.cache[slot].tx == done.id {
                self.dirtied(slot);
            }
        }
        self.journal.checkpoints.push_back(checkpoint);
        for block in done.freed {
            self.layout.give_block(block);
        }
        self.wake(Event::Committed);
    }
}
