//! Pieces of I/O of a guest that are under way: who submitted each, and since when.

use crate::elevator::{Bio, IoWay};
use alloc::vec::Vec;
use domio_core::Instant;

/// For whom a piece of I/O is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// Of the process at this place, the call with this number, past the page cache.
    Call(u32, u64),
    /// The file system, which calls the piece by this tag.
    Files(u64),
}

/// A piece of I/O.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub origin: Origin,
    /// Number among all pieces of the disk.
    pub number: u32,
    pub since: Instant,
    /// First sector of the guest's disk.
    pub sector: u64,
    pub sectors: u32,
    pub writes: bool,
}

/// All pieces that are under way, by the tags that the request layer knows.
#[derive(Default)]
pub(super) struct Pieces {
    slots: Vec<Option<Piece>>,
    free: Vec<u32>,
    made: u32,
}

impl Pieces {
    /// Makes a piece for `bio`. Returns its tag.
    pub fn make(&mut self, origin: Origin, bio: &Bio, now: Instant) -> u64 {
        let piece = Piece {
            origin,
            number: self.made,
            since: now,
            sector: bio.sector,
            sectors: bio.sectors,
            writes: bio.way == IoWay::Write,
        };
        self.made = self.made.wrapping_add(1);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(piece);
        u64::from(slot)
    }

    /// The piece with this tag.
    ///
    /// # Panics
    /// When the piece is over.
    #[track_caller]
    pub fn get(&self, tag: u64) -> &Piece {
        let piece = self.slots[tag as usize].as_ref();
        piece.expect("a piece is over once")
    }

    /// The piece with this tag is over.
    ///
    /// # Panics
    /// When the piece was over already.
    #[track_caller]
    pub fn end(&mut self, tag: u64) -> Piece {
        let piece = self.slots[tag as usize].take();
        self.free.push(tag as u32);
        piece.expect("a piece is over once")
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
