//! Requests of disks that are under way.

use std::collections::VecDeque;

use domio_linux::{DiskId, DiskRequest, Tid};

/// Most requests, and pieces of which none was made yet, that are followed at once. The oldest ones
/// beyond are given up: their ends were not recorded.
const FOLLOWED_MAX: usize = 4096;

/// A request that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DoneRequest {
    /// When it was asked for, as far as events say.
    pub since: u64,
    /// When it was done.
    pub at: u64,
    /// The cpu that said so.
    pub cpu: usize,
}

/// A part of a disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub disk: DiskId,
    pub sector: u64,
    pub sectors: u32,
}

impl Extent {
    pub fn of(request: &DiskRequest) -> Self {
        Extent {
            disk: request.disk,
            // A flush has no place; its begin and its end name different ones.
            sector: if request.sectors > 0 {
                request.sector
            } else {
                0
            },
            sectors: request.sectors,
        }
    }

    fn holds(&self, sector: u64) -> bool {
        sector.wrapping_sub(self.sector) < u64::from(self.sectors)
    }
}

/// A piece that a thread asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub extent: Extent,
    pub by: Tid,
    pub at: u64,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// What is left of it.
    pub extent: Extent,
    /// Sectors of all of it.
    pub whole: u32,
    pub writes: bool,
    pub by: Tid,
    /// When it was asked for, or was first seen.
    pub since: u64,
    /// When it was queued, if that was seen.
    pub queued: Option<u64>,
    pub issued: Option<u64>,
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Disks {
    pub pieces: VecDeque<Piece>,
    pub requests: VecDeque<Request>,
}

impl Disks {
    pub fn push<T>(all: &mut VecDeque<T>, new: T) {
        if all.len() >= FOLLOWED_MAX {
            all.pop_front();
        }
        all.push_back(new);
    }

    /// Takes the pieces that `extent` is made of; the first of them. A piece of a partition has
    /// another number, and the sector of the disk.
    pub fn take_pieces(&mut self, extent: Extent) -> Option<Piece> {
        let mut first = None;
        self.pieces.retain(|piece| {
            let own = piece.extent;
            let is_part = own.disk.major() == extent.disk.major()
                && (extent.holds(own.sector) || own.sectors == 0 && extent.sectors == 0);
            if is_part {
                first = first.or(Some(*piece));
            }
            !is_part
        });
        first
    }

    /// The place of the request that `extent` is of, issued or not.
    pub fn place(&self, extent: Extent, is_issued: bool) -> Option<usize> {
        let is_it = |request: &Request| {
            let own = request.extent;
            request.issued.is_some() == is_issued
                && own.disk == extent.disk
                && (own.sector == extent.sector && (own.sectors > 0) == (extent.sectors > 0)
                    // Another piece was merged in front.
                    || !is_issued && extent.holds(own.sector))
        };
        self.requests.iter().position(is_it)
    }
}
