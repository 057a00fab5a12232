//! The cache of a disk: segments that were read, and writes that wait for the platters.

use super::geometry::Spot;
use crate::drive::SectorRange;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Segments that were read, the one used last at the end. Each takes the room of a whole segment,
/// however little it holds.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    segments: VecDeque<SectorRange>,
}

impl Segments {
    /// Keeps what was read: at most the last `longest` sectors, and of all segments the `most`
    /// that were used last.
    pub fn put(&mut self, read: SectorRange, longest: u64, most: usize) {
        let start = read.start.max(read.end.saturating_sub(longest));
        let read = SectorRange { start, ..read };
        self.forget(read);
        self.segments.push_back(read);
        self.shrink(most);
    }

    /// Keeps the segments that were used last.
    pub fn shrink(&mut self, most: usize) {
        let over = self.segments.len().saturating_sub(most);
        self.segments.drain(..over);
    }

    /// Drops segments with any sector of `range`.
    pub fn forget(&mut self, range: SectorRange) {
        // Hardly ever does one.
        if self.segments.iter().any(|segment| segment.meets(range)) {
            self.segments.retain(|segment| !segment.meets(range));
        }
    }

    /// How far the data from the start of `range` on is there: the end of a segment, or the start
    /// of `range`. The segment counts as used.
    pub fn reach(&mut self, range: SectorRange) -> u64 {
        let holds = |s: &SectorRange| s.start <= range.start && range.start < s.end;
        let Some(at) = self.segments.iter().position(holds) else {
            return range.start;
        };
        let Some(used) = self.segments.remove(at) else {
            return range.start;
        };
        self.segments.push_back(used);
        used.end
    }
}

/// Writes that were acknowledged and are not on the platters.
///
/// Extents that touch become one, up to the longest access. Where two overlap and are too long
/// together, the common sectors are written twice.
#[derive(Clone, Debug, Default)]
pub struct Dirty {
    extents: Vec<DirtyExtent>,
    sectors: u64,
    /// The extent that the arm writes.
    leaving: Option<SectorRange>,
}

/// Sectors that wait to be written in one access.
#[derive(Clone, Copy, Debug)]
pub struct DirtyExtent {
    /// The sectors.
    pub range: SectorRange,
    /// Where the first one is, which each choice of the next access asks for.
    pub spot: Spot,
}

/// How much a cache takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheRoom {
    /// Sectors that are not on the platters.
    pub sectors: u64,
    /// Extents, with the one that the arm writes.
    pub extents: usize,
    /// Sectors of the longest extent.
    pub longest: u64,
}

impl Dirty {
    /// The extents that wait.
    pub fn extents(&self) -> &[DirtyExtent] {
        &self.extents
    }

    /// Sectors that are not on the platters.
    pub fn sectors(&self) -> u64 {
        self.sectors + self.leaving.map_or(0, SectorRange::len)
    }

    /// Whether more than half of the room is taken.
    pub fn high(&self, room: CacheRoom) -> bool {
        self.sectors() * 2 > room.sectors || self.extents.len() * 2 > room.extents
    }

    /// Takes a write if there is room. `spot_of` says where a sector is.
    pub fn put(
        &mut self,
        write: SectorRange,
        room: CacheRoom,
        spot_of: impl FnOnce(u64) -> Spot,
    ) -> bool {
        let joined = |DirtyExtent { range: e, .. }: &DirtyExtent| {
            let both = e.start.min(write.start)..e.end.max(write.end);
            let touch = e.start <= write.end && write.start <= e.end;
            touch && both.end - both.start <= room.longest
        };
        let at = self.extents.iter().position(joined);
        let grown = at.map_or(write, |at| self.extents[at].range.around(write));
        let more = grown.len() - at.map_or(0, |at| self.extents[at].range.len());
        if self.sectors() + more > room.sectors {
            return false;
        }
        match at {
            Some(at) => {
                let extent = &mut self.extents[at];
                if grown.start != extent.range.start {
                    extent.spot = spot_of(grown.start);
                }
                extent.range = grown;
            }
            None if self.extents.len() + usize::from(self.leaving.is_some()) >= room.extents => {
                return false;
            }
            None => self.extents.push(DirtyExtent {
                range: write,
                spot: spot_of(write.start),
            }),
        }
        self.sectors += more;
        true
    }

    /// The arm begins to write an extent.
    pub fn leave(&mut self, at: usize) -> SectorRange {
        let extent = self.extents.swap_remove(at).range;
        self.sectors -= extent.len();
        self.leaving = Some(extent);
        extent
    }

    /// The arm has written the extent.
    pub fn left(&mut self) {
        self.leaving = None;
    }

    /// Whether one extent has the whole of `range`.
    pub fn holds(&self, range: SectorRange) -> bool {
        let waiting = self.extents.iter().map(|extent| &extent.range);
        let mut extents = waiting.chain(&self.leaving);
        extents.any(|e| e.start <= range.start && range.end <= e.end)
    }
}
