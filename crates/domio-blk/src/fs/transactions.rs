//! Handles and transactions (`fs/jbd/transaction.c`).
//!
//! Each change of metadata, and each page that is written, is part of a handle; handles are part of
//! the running transaction. A transaction that is locked, too large, or followed by too little log
//! keeps new handles waiting.

use super::FileSystem;
use super::cache::{DIRTY, META, READING, WRITEBACK};
use super::contract::KJOURNALD;
use super::frames::{Flow, Frame, SpaceFrame};
use super::journal::Transaction;
use super::wait::{Event, Wait};
use alloc::vec::Vec;

impl FileSystem {
    /// Opens a handle for task `t` (`journal_start`).
    pub(super) fn start(&mut self, t: u32, credits: u32) -> Flow {
        let journal = &mut self.journal;
        if let Some(running) = &journal.running {
            if running.locked {
                return Flow::Wait(Wait::NextTransaction(running.id));
            }
            let id = running.id;
            if running.meta.len() as u32 + running.reserved + credits > journal.most {
                self.ask_commit(id);
                return Flow::Wait(Wait::NextTransaction(id));
            }
        }
        if journal.is_short() {
            return Flow::Call(Frame::Space(SpaceFrame::default()));
        }
        let expires = self.tick_after(self.config.commit);
        let journal = &mut self.journal;
        let next = &mut journal.next;
        let running = journal.running.get_or_insert_with(|| {
            *next += 1;
            Transaction {
                id: *next - 1,
                expires,
                locked: false,
                handles: 0,
                reserved: 0,
                data: Vec::new(),
                meta: Vec::new(),
                freed: Vec::new(),
                logging: false,
            }
        });
        running.handles += 1;
        running.reserved += credits;
        self.task(t).credits = credits;
        Flow::Return
    }

    /// Closes the handle of task `t` (`journal_stop`).
    pub(super) fn stop(&mut self, t: u32) {
        let credits = core::mem::take(&mut self.task(t).credits);
        let (now, most) = (self.now, self.journal.most);
        let running = self.journal.open();
        running.handles -= 1;
        running.reserved -= credits;
        let (id, last) = (running.id, running.handles == 0);
        let large = running.meta.len() as u32 + running.reserved > most;
        if large || now >= running.expires {
            self.ask_commit(id);
        }
        if last {
            self.wake(Event::HandlesClosed);
        }
    }

    /// Has the running transaction committed as soon as may be, if it is this one.
    pub(super) fn ask_commit(&mut self, id: u32) {
        if self.journal.running.as_ref().is_some_and(|r| r.id == id) {
            self.journal.requested = self.journal.requested.max(id);
            self.wake_thread(KJOURNALD.0);
        }
    }

    /// Calls for blocks of metadata to be read if they are not cached, and to become part of the
    /// transaction if `join`.
    pub(super) fn touching(
        &mut self,
        t: u32,
        join: bool,
        blocks: impl IntoIterator<Item = (u32, bool)>,
    ) -> Flow {
        let touched = &mut self.task(t).touched;
        touched.clear();
        touched.extend(blocks);
        Flow::Call(Frame::Touch { at: 0, join })
    }

    /// Continues with the task's list of metadata.
    pub(super) fn touch(&mut self, t: u32, at: &mut usize, join: bool) -> Flow {
        while let Some(&(block, meta)) = self.task(t).touched.get(*at) {
            let Some(slot) = self.cache.find(block) else {
                self.read_block(t, block, META, meta);
                return Flow::Wait(Wait::Read(block));
            };
            if self.cache[slot].is(READING) {
                return Flow::Wait(Wait::Read(block));
            }
            self.cache.touch(slot);
            if join && let Some(wait) = self.join(slot) {
                return Flow::Wait(wait);
            }
            self.spend(t, self.config.costs.meta);
            *at += 1;
        }
        Flow::Return
    }

    /// Makes a block of metadata part of the running transaction (`journal_get_write_access`), or
    /// says what to wait for.
    fn join(&mut self, slot: u32) -> Option<Wait> {
        let page = self.cache[slot];
        let id = self.journal.open().id;
        if page.tx == id {
            return None;
        }
        if page.is(WRITEBACK) {
            return Some(Wait::Written(page.block));
        }
        let committing = self.journal.committing.as_ref();
        if committing.is_some_and(|c| c.logging && c.id == page.tx) {
            return Some(Wait::Logged);
        }
        // The transaction has the block now; until then nobody writes it at home.
        if page.is(DIRTY) {
            self.cleaned(slot);
        }
        self.cache[slot].tx = id;
        self.journal.open().meta.push(page.block);
        None
    }

    /// Caches a new block of metadata, which needs no reading.
    pub(super) fn fresh(&mut self, block: u32) {
        if self.cache.find(block).is_none() {
            self.cache.add(block, META, 0);
        }
    }

    /// Forgets a block of metadata that is freed, which is part of the running transaction.
    pub(super) fn forget_meta(&mut self, block: u32) {
        let Some(slot) = self.cache.find(block) else {
            return;
        };
        let checkpoint = self.cache[slot].checkpoint;
        if checkpoint != 0 {
            self.journal.at_home(checkpoint);
        }
        self.cache.remove(slot);
    }
}
