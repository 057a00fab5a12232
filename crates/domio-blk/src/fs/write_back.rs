//! Dirty pages: how many, of which files since when, and passes that write them
//! (`fs/fs-writeback.c`, `mm/page-writeback.c`).

use super::cache::{DIRTY, META, WRITEBACK};
use super::dirty::Pass;
use super::files::Queued;
use super::frames::{Flow, Frame, PassFrame, Which};
use super::journal::PAGE_CREDITS;
use super::wait::Wait;
use super::{FileSystem, InFlight};
use crate::elevator::IoWay;
use domio_core::Instant;

/// Stale entries that a file's list of dirty blocks may have beside two for each dirty page.
const STALE: usize = 64;

impl FileSystem {
    /// The page of a slot is dirty from now on.
    pub(super) fn dirtied(&mut self, slot: u32) {
        let page = &mut self.cache[slot];
        if page.is(DIRTY) {
            return;
        }
        page.flags |= DIRTY;
        let (number, block) = (page.file, page.block);
        self.dirty.pages += 1;
        let file = &mut self.files[number];
        file.dirty_pages += 1;
        file.dirty.push(block);
        if file.queued == Queued::No {
            file.queued = Queued::Since(self.now);
            self.dirty.queue.push_back((number, self.now));
        }
        if file.dirty.len() > 2 * file.dirty_pages as usize + STALE {
            let mut blocks = core::mem::take(&mut file.dirty);
            blocks.sort_unstable();
            blocks.dedup();
            blocks.retain(|b| self.dirty_slot(number, *b).is_some());
            self.files[number].dirty = blocks;
        }
    }

    /// The page of a slot is not dirty any more.
    pub(super) fn cleaned(&mut self, slot: u32) {
        let page = &mut self.cache[slot];
        page.flags &= !DIRTY;
        let file = page.file;
        self.dirty.pages -= 1;
        self.files[file].dirty_pages -= 1;
    }

    /// Has task `t` write a dirty page.
    pub(super) fn write_page(&mut self, t: u32, slot: u32) {
        self.cleaned(slot);
        let page = &mut self.cache[slot];
        page.flags |= WRITEBACK;
        let (file, block) = (page.file, page.block);
        self.dirty.written += 1;
        self.files[file].written_pages += 1;
        self.emit(t, IoWay::Write, InFlight::Page { block }, false);
    }

    /// The slot of `block`, if that is a dirty page of `file`.
    fn dirty_slot(&self, file: u32, block: u32) -> Option<u32> {
        let slot = self.cache.find(block)?;
        let page = &self.cache[slot];
        (page.file == file && page.is(DIRTY)).then_some(slot)
    }

    /// Continues with a pass.
    pub(super) fn pass(&mut self, t: u32, pass: &mut PassFrame) -> Flow {
        if core::mem::take(&mut pass.submitted) {
            self.stop(t);
        }
        let Some((number, since)) = pass.file else {
            return self.pass_next_file(t, pass);
        };
        if pass.at == pass.blocks.len() {
            self.pass_leave(pass, number, since);
            return Flow::Again;
        }
        if self.pass_is_over(pass) {
            return self.pass_end(t, pass);
        }
        let block = pass.blocks[pass.at];
        let Some(slot) = self.dirty_slot(number, block) else {
            if self.task(t).credits != 0 {
                self.stop(t);
            }
            pass.at += 1;
            return Flow::Again;
        };
        if self.cache[slot].is(WRITEBACK) {
            if self.task(t).credits != 0 {
                self.stop(t);
            }
            if pass.waits() {
                return Flow::Wait(Wait::Written(block));
            }
            pass.kept.push(block);
            pass.at += 1;
            return Flow::Again;
        }
        // `ext3_ordered_writepage` opens a handle, `blkdev_writepage` does not.
        if number != META && self.task(t).credits == 0 {
            return Flow::Call(Frame::Start(PAGE_CREDITS));
        }
        self.write_page(t, slot);
        pass.submitted = number != META;
        pass.left -= 1;
        pass.at += 1;
        Flow::Again
    }

    fn pass_is_over(&self, pass: &mut PassFrame) -> bool {
        if !pass.is_patient() && self.congestion.write {
            pass.congested = true;
        }
        pass.left == 0 || pass.congested
    }

    /// Takes the next file, or ends the pass.
    fn pass_next_file(&mut self, t: u32, pass: &mut PassFrame) -> Flow {
        if self.pass_is_over(pass) {
            return self.pass_end(t, pass);
        }
        let first = !core::mem::replace(&mut pass.began, true);
        if let Which::File(number) = pass.which {
            if !first {
                return self.pass_end(t, pass);
            }
            return self.pass_enter(pass, number, self.now);
        }
        let dirty = &mut self.dirty;
        // Old pages are looked for among the files that are left from the pass before.
        let more = !matches!(pass.which, Which::Old(_)) || dirty.under_way.is_empty();
        if first && more {
            dirty.under_way.append(&mut dirty.more);
            dirty.under_way.append(&mut dirty.queue);
        }
        while let Some(&(number, since)) = dirty.under_way.front() {
            if matches!(pass.which, Which::Old(before) if since > before) {
                break;
            }
            dirty.under_way.pop_front();
            if self.files[number].queued == Queued::Since(since) {
                self.files[number].queued = Queued::No;
                return self.pass_enter(pass, number, since);
            }
        }
        self.pass_end(t, pass)
    }

    fn pass_enter(&mut self, pass: &mut PassFrame, number: u32, since: Instant) -> Flow {
        pass.file = Some((number, since));
        pass.blocks = core::mem::take(&mut self.files[number].dirty);
        pass.blocks.sort_unstable();
        pass.at = 0;
        Flow::Again
    }

    /// Leaves a file: what stays dirty comes again after all others (`redirty_tail`) or, if only
    /// old pages are written, first in the next pass (`requeue_io`). The pass that leaves the file
    /// does not come back to the file: pages that are being written would keep the pass for ever.
    fn pass_leave(&mut self, pass: &mut PassFrame, number: u32, since: Instant) {
        pass.file = None;
        pass.kept.extend(pass.blocks.drain(pass.at..));
        let file = &mut self.files[number];
        file.dirty.append(&mut pass.kept);
        let again = !file.dirty.is_empty() && file.dirty_pages > 0;
        if !again || file.queued != Queued::No {
            return;
        }
        if matches!(pass.which, Which::Old(_)) {
            file.queued = Queued::Since(since);
            self.dirty.more.push_back((number, since));
        } else {
            file.queued = Queued::Since(self.now);
            self.dirty.queue.push_back((number, self.now));
        }
    }

    fn pass_end(&mut self, t: u32, pass: &mut PassFrame) -> Flow {
        if self.task(t).credits != 0 {
            self.stop(t);
        }
        if let Some((number, since)) = pass.file {
            self.pass_leave(pass, number, since);
        }
        self.task(t).pass = Pass {
            left: pass.left,
            congested: pass.congested,
        };
        Flow::Return
    }
}
