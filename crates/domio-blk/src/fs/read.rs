//! Reading (`do_generic_mapping_read`).

use super::cache::{MARKER, READING};
use super::config::PAGE;
use super::frames::{Flow, Frame, Read, ReadFrame};
use super::readahead::ReadWindow;
use super::wait::Wait;
use super::{FileSystem, InFlight};
use crate::elevator::IoWay;

/// Credits of a handle that changes an inode.
const INODE_CREDITS: u32 = 2;

/// Nanoseconds of a second, the unit of times in an inode.
const SECOND: u64 = 1_000_000_000;

impl FileSystem {
    /// Continues with a read.
    pub(super) fn read(&mut self, t: u32, read: &mut ReadFrame) -> Flow {
        let file = read.file;
        if !self.files.exists(file) && self.task(t).credits == 0 {
            return self.gone(t);
        }
        match read.step {
            Read::Open => {
                read.step = Read::Begin;
                self.open(t, file).unwrap_or(Flow::Again)
            }
            Read::Begin => {
                let size = self.files[file].size;
                read.bytes = read.bytes.min(size.saturating_sub(read.offset));
                if read.bytes == 0 {
                    return Flow::Done(0);
                }
                let behind = (read.offset + read.bytes).div_ceil(PAGE);
                read.step = Read::Page(read.offset / PAGE, behind);
                Flow::Again
            }
            Read::Page(page, behind) if page == behind => {
                read.step = Read::Stamp;
                Flow::Again
            }
            Read::Page(page, behind) => self.read_page(t, read, page, behind),
            Read::Stamp => {
                if !self.config.atime || !self.is_new_second(file) {
                    return Flow::Done(read.bytes);
                }
                read.step = Read::Change;
                Flow::Call(Frame::Start(INODE_CREDITS))
            }
            Read::Change => {
                read.step = Read::Close;
                self.files[file].tx = self.journal.open().id;
                let inode = self.layout.table(self.files[file].inode);
                self.touching(t, true, [(inode, true)])
            }
            Read::Close => {
                self.stop(t);
                Flow::Done(read.bytes)
            }
        }
    }

    /// Whether the times in the inode of `file` are of another second, and makes them of this one.
    pub(super) fn is_new_second(&mut self, file: u32) -> bool {
        let second = self.now.as_nanos() / SECOND;
        core::mem::replace(&mut self.files[file].stamp, second) != second
    }

    fn read_page(&mut self, t: u32, read: &mut ReadFrame, page: u64, behind: u64) -> Flow {
        let file = read.file;
        let block = self.files[file].block(page).map(|(block, _)| block);
        let cached = block.and_then(|block| self.cache.find(block));
        if let (Some(_), None) = (block, cached) {
            let path = self.files[file].path(page);
            if path.clone().any(|b| self.cache.find(b).is_none()) {
                return self.touching(t, false, path.map(|block| (block, false)));
            }
            self.read_window(t, file, page, behind - page, false);
        }
        let cached = block.and_then(|block| self.cache.find(block));
        if let Some(slot) = cached {
            if self.cache[slot].is(MARKER) {
                self.cache[slot].flags &= !MARKER;
                if !self.congestion.read {
                    self.read_window(t, file, page, behind - page, true);
                }
            }
            if self.cache[slot].is(READING) {
                return Flow::Wait(Wait::Read(self.cache[slot].block));
            }
            self.cache.touch(slot);
        }
        self.spend(t, self.config.costs.page);
        self.task(t).readahead.has_read(page);
        read.step = Read::Page(page + 1, behind);
        Flow::Again
    }

    /// Has task `t` read the window for a page, but for what is cached and what is behind the end.
    fn read_window(&mut self, t: u32, file: u32, page: u64, wanted: u64, marked: bool) {
        let most = self.config.readahead / PAGE;
        let readahead = &mut self.task(t).readahead;
        let window = match most {
            0 => ReadWindow::just(page, wanted),
            most => readahead.window(page, wanted, marked, most),
        };
        let end = self.files[file].size.div_ceil(PAGE);
        let last = (window.first + window.pages).min(end);
        let mut run = (0, 0);
        for page in window.first..last {
            let block = self.files[file].block(page).map(|(block, _)| block);
            let Some(block) = block.filter(|block| self.cache.find(*block).is_none()) else {
                continue;
            };
            let marker = if window.marker == Some(page) {
                MARKER
            } else {
                0
            };
            self.cache.add(block, file, READING | marker);
            if run.0 + run.1 != block {
                self.read_run(t, run);
                run = (block, 0);
            }
            run.1 += 1;
        }
        self.read_run(t, run);
    }

    fn read_run(&mut self, t: u32, (block, pages): (u32, u32)) {
        if pages > 0 {
            self.emit(t, IoWay::Read, InFlight::Read { block, pages }, false);
        }
    }

    /// Has task `t` read blocks of metadata, or a page of data, which are not cached.
    pub(super) fn read_block(&mut self, t: u32, block: u32, file: u32, meta: bool) {
        self.cache.add(block, file, READING);
        self.emit(t, IoWay::Read, InFlight::Read { block, pages: 1 }, meta);
    }
}
