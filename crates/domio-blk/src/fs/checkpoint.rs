//! Making room in the log: metadata of the oldest transaction goes home (`fs/jbd/checkpoint.c`).

use super::cache::{DIRTY, WRITEBACK};
use super::frames::{Flow, SpaceFrame};
use super::wait::{Lock, Wait};
use super::{FileSystem, InFlight};
use crate::elevator::IoWay;

/// Blocks that are submitted in a row before the disk gets them (`NR_BATCH`).
const BATCH: u32 = 64;

impl FileSystem {
    /// Makes room in the log until there is enough (`__log_wait_for_space`).
    pub(super) fn space(&mut self, t: u32, frame: &mut SpaceFrame) -> Flow {
        match *frame {
            SpaceFrame::Begin => {
                if let Err(wait) = self.hold(t, Lock::Checkpoint) {
                    return wait;
                }
                *frame = SpaceFrame::Look;
                Flow::Again
            }
            SpaceFrame::Look => self.space_look(t, frame),
            SpaceFrame::Submit(at) => self.space_submit(t, frame, at),
            SpaceFrame::Written(at) => self.space_written(frame, at),
        }
    }

    fn space_look(&mut self, t: u32, frame: &mut SpaceFrame) -> Flow {
        if !self.journal.is_short() {
            self.release(Lock::Checkpoint);
            return Flow::Return;
        }
        let free = self.journal.free;
        while let Some(oldest) = self.journal.checkpoints.front()
            && oldest.live == 0
        {
            self.journal.free += oldest.log;
            self.journal.checkpoints.pop_front();
        }
        if self.journal.free > free {
            // Where the log begins is in the journal's superblock (`cleanup_journal_tail`).
            let block = self.layout.journal_start();
            self.emit(t, IoWay::Write, InFlight::Own { block, task: t }, false);
            return Flow::Wait(Wait::Own);
        }
        if !self.journal.checkpoints.is_empty() {
            *frame = SpaceFrame::Submit(0);
            return Flow::Again;
        }
        let open = self
            .journal
            .committing
            .as_ref()
            .or(self.journal.running.as_ref());
        let id = open.expect("somebody has the log's blocks").id;
        self.ask_commit(id);
        Flow::Wait(Wait::Committed(id))
    }

    /// The page of the oldest transaction's next block that is not at home, from place `at` on:
    /// slot, and the place behind.
    fn unwritten(&self, at: usize) -> Option<(u32, usize)> {
        let oldest = self.journal.checkpoints.front()?;
        let rest = oldest.blocks.iter().enumerate().skip(at);
        let mut found = rest.filter_map(|(i, block)| Some((self.cache.find(*block)?, i + 1)));
        found.find(|(slot, _)| self.cache[*slot].checkpoint == oldest.id)
    }

    fn space_submit(&mut self, t: u32, frame: &mut SpaceFrame, mut at: usize) -> Flow {
        let mut batch = 0;
        while batch < BATCH
            && let Some((slot, behind)) = self.unwritten(at)
        {
            let page = self.cache[slot];
            if page.tx >= self.cache.uncommitted {
                // The block is part of a later transaction, and goes home with that one.
                self.ask_commit(page.tx);
                *frame = SpaceFrame::Look;
                return Flow::Wait(Wait::Committed(page.tx));
            }
            if page.is(DIRTY) && !page.is(WRITEBACK) {
                self.write_page(t, slot);
                batch += 1;
            }
            at = behind;
        }
        *frame = match batch {
            BATCH => SpaceFrame::Submit(at),
            _ => SpaceFrame::Written(0),
        };
        Flow::Again
    }

    fn space_written(&mut self, frame: &mut SpaceFrame, mut at: usize) -> Flow {
        while let Some((slot, behind)) = self.unwritten(at) {
            if self.cache[slot].is(WRITEBACK) {
                *frame = SpaceFrame::Written(behind);
                return Flow::Wait(Wait::Written(self.cache[slot].block));
            }
            at = behind;
        }
        *frame = SpaceFrame::Look;
        Flow::Again
    }
}
