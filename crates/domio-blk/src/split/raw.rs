//! Reads and writes of a whole disk past the page cache, as `O_DIRECT` has them.
//!
//! A call is cut into pieces of as many pages as a request of the disk may have, all of which are
//! submitted before the process waits for them (disk-spec 1.1, `fs/direct-io.c`).

use crate::elevator::{Bio, IoPrio, IoWay, Submitter};
use crate::fs::contract::FsStep;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;

/// Sectors of a page.
const PAGE: u32 = 8;

/// A call under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawCall {
    way: IoWay,
    submitter: Submitter,
    /// The first sector that is in no piece yet, and the first behind the call.
    next: u64,
    end: u64,
    /// Most sectors of a piece.
    most: u32,
    /// Pieces that are not over.
    pub unanswered: u32,
    unplugged: bool,
    bytes: u64,
}

impl RawCall {
    /// `bytes` from `offset` on, as far as a disk of `sectors` goes, in pieces of `most` sectors.
    pub fn new(
        way: IoWay,
        submitter: Submitter,
        (offset, bytes): (u64, u64),
        (sectors, most): (u64, u32),
    ) -> Self {
        let bytes = bytes.min((sectors * SECTOR).saturating_sub(offset));
        RawCall {
            way,
            submitter,
            next: offset / SECTOR,
            end: if bytes == 0 {
                offset / SECTOR
            } else {
                (offset + bytes).div_ceil(SECTOR)
            },
            most,
            unanswered: 0,
            unplugged: false,
            bytes,
        }
    }

    /// The next step of the call.
    pub fn step(&mut self) -> FsStep {
        if self.next < self.end {
            let sectors = (self.end - self.next).min(u64::from(self.most)) as u32;
            let bio = Bio {
                sector: self.next,
                sectors,
                segments: sectors.div_ceil(PAGE),
                way: self.way,
                sync: self.way == IoWay::Write,
                meta: false,
                submitter: self.submitter,
                prio: IoPrio::None { nice: 0 },
                tag: 0,
            };
            self.next += u64::from(sectors);
            self.unanswered += 1;
            return FsStep::Submit(bio);
        }
        if !core::mem::replace(&mut self.unplugged, true) {
            return FsStep::Unplug;
        }
        match self.unanswered {
            0 => FsStep::Done(self.bytes),
            _ => FsStep::Sleep,
        }
    }
}
