//! The page cache: pages by block of the disk, and which of them was used longest ago.
//!
//! Each page of a file has a block (ext3 gives one out at the write), so that data and metadata are
//! found by the number of their block. Slots, table and list are dense vectors: once the cache is
//! full, nothing is allocated.

use alloc::vec::Vec;

/// No slot, no block, no task.
pub const NONE: u32 = u32::MAX;

/// The file that metadata belong to.
pub const META: u32 = 0;

/// The data is being read, and not there yet.
pub const READING: u8 = 1;
/// The page differs from the disk, and may be written at any time.
pub const DIRTY: u8 = 2;
/// The page is being written.
pub const WRITEBACK: u8 = 4;
/// Who reads this page has the next window read ahead (`PG_readahead`).
pub const MARKER: u8 = 8;

/// Pages that are looked at for one that can go.
const SCAN: u32 = 32;

/// A cached page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its block on the disk.
    pub block: u32,
    /// The file whose data it is, or [`META`].
    pub file: u32,
    /// Which of [`READING`], [`DIRTY`], [`WRITEBACK`] and [`MARKER`] are set.
    pub flags: u8,
    /// The newest transaction that has the page: out of date once that one is committed.
    pub tx: u32,
    /// The committed transaction that wants the block at its home, 0 for none.
    pub checkpoint: u32,
    /// The task that waits longest for the page; the others follow from task to task.
    pub waiter: u32,
    chain: u32,
    newer: u32,
    older: u32,
}

impl Page {
    /// Whether one of these flags is set.
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// All cached pages.
pub struct Cache {
    pages: Vec<Page>,
    free: Vec<u32>,
    heads: Vec<u32>,
    newest: u32,
    oldest: u32,
    capacity: u32,
    /// Transactions from this one on are not committed: their metadata stays.
    pub uncommitted: u32,
}

impl Cache {
    /// An empty cache for `capacity` pages.
    pub fn new(capacity: u32) -> Self {
        let mut heads = Vec::new();
        heads.resize((capacity as usize * 2).next_power_of_two(), NONE);
        Cache {
            pages: Vec::new(),
            free: Vec::new(),
            heads,
            newest: NONE,
            oldest: NONE,
            capacity,
            uncommitted: 1,
        }
    }

    fn head(&self, block: u32) -> usize {
        // Fibonacci hashing spreads runs of blocks over the table.
        let bits = self.heads.len().trailing_zeros();
        (block.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
    }

    /// The slot of `block`.
    pub fn find(&self, block: u32) -> Option<u32> {
        let mut slot = self.heads[self.head(block)];
        while slot != NONE {
            let page = &self.pages[slot as usize];
            if page.block == block {
                return Some(slot);
            }
            slot = page.chain;
        }
        None
    }

    /// Pages that are cached.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> u32 {
        (self.pages.len() - self.free.len()) as u32
    }

    /// The page was used just now.
    pub fn touch(&mut self, slot: u32) {
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
    }

    /// Caches `block`, which is not cached, for `file`. Pages that were used longest ago make room.
    pub fn add(&mut self, block: u32, file: u32, flags: u8) -> u32 {
        self.make_room();
        let head = self.head(block);
        let page = Page {
            block,
            file,
            flags,
            tx: 0,
            checkpoint: 0,
            waiter: NONE,
            chain: self.heads[head],
            newer: NONE,
            older: NONE,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.pages[slot as usize] = page;
                slot
            }
            None => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
        };
        self.heads[head] = slot;
        self.link(slot);
        slot
    }

    /// Forgets a page.
    pub fn remove(&mut self, slot: u32) {
        let Page { block, chain, .. } = self.pages[slot as usize];
        let head = self.head(block);
        if self.heads[head] == slot {
            self.heads[head] = chain;
        } else {
            let mut at = self.heads[head];
            while self.pages[at as usize].chain != slot {
                at = self.pages[at as usize].chain;
            }
            self.pages[at as usize].chain = chain;
        }
        self.unlink(slot);
        self.pages[slot as usize].block = NONE;
        self.free.push(slot);
    }

    /// Forgets the oldest pages until one more fits. Pages that must stay count as used now; if
    /// there are too many of them, the cache grows for a while.
    fn make_room(&mut self) {
        for _ in 0..SCAN {
            if self.len() < self.capacity {
                return;
            }
            let slot = self.oldest;
            let page = &self.pages[slot as usize];
            let logged = page.file == META && page.tx >= self.uncommitted;
            let stays = page.is(READING | DIRTY | WRITEBACK) || logged || page.waiter != NONE;
            if stays {
                self.touch(slot);
            } else {
                self.remove(slot);
            }
        }
    }

    fn link(&mut self, slot: u32) {
        let page = &mut self.pages[slot as usize];
        page.newer = NONE;
        page.older = self.newest;
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.pages[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Page { newer, older, .. } = self.pages[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.pages[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.pages[older as usize].newer = newer,
        }
    }
}

impl core::ops::Index<u32> for Cache {
    type Output = Page;

    fn index(&self, slot: u32) -> &Page {
        &self.pages[slot as usize]
    }
}

impl core::ops::IndexMut<u32> for Cache {
    fn index_mut(&mut self, slot: u32) -> &mut Page {
        &mut self.pages[slot as usize]
    }
}
