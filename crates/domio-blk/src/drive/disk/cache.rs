//! The cache of a disk: segments that were read, and writes that wait for the platters.

use super::geometry::Spot;
use crate::drive::Range;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Segments that were read, the one used last at the end. Each takes the room of a whole segment,
/// however little it holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    segments: VecDeque<Range>,
}

impl Segments {
    /// Keeps what was read: at most the last `longest` sectors, and of all segments the `most`
    /// that were used last.
    pub fn put(&mut self, read: Range, longest: u64, most: usize) {
        let start = read.start.max(read.end.saturating_sub(longest));
        let read = Range { start, ..read };
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
    pub fn forget(&mut self, range: Range) {
        // Hardly ever does one.
        if self.segments.iter().any(|segment| segment.meets(range)) {
            self.segments.retain(|segment| !segment.meets(range));
        }
    }

    /// How far the data from the start of `range` on is there: the end of a segment, or the start
    /// of `range`. The segment counts as used.
    pub fn reach(&mut self, range: Range) -> u64 {
        let holds = |s: &Range| s.start <= range.start && range.start < s.end;
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
pub(super) struct Dirty {
    extents: Vec<Extent>,
    sectors: u64,
    /// The extent that the arm writes.
    leaving: Option<Range>,
}

/// Sectors that wait to be written in one access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub range: Range,
    /// Where the first one is, which each choice of the next access asks for.
    pub spot: Spot,
}

/// How much a cache takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub sectors: u64,
    pub extents: usize,
    /// Sectors of the longest extent.
    pub longest: u64,
}

impl Dirty {
    /// The extents that wait.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Sectors that are not on the platters.
    pub fn sectors(&self) -> u64 {
        self.sectors + self.leaving.map_or(0, Range::len)
    }

    /// Whether more than half of the room is taken.
    pub fn high(&self, room: Room) -> bool {
        self.sectors() * 2 > room.sectors || self.extents.len() * 2 > room.extents
    }

    /// Takes a write if there is room. `spot_of` says where a sector is.
    pub fn put(&mut self, write: Range, room: Room, spot_of: impl FnOnce(u64) -> Spot) -> bool {
        let joined = |Extent { range: e, .. }: &Extent| {
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
            None => self.extents.push(Extent {
                range: write,
                spot: spot_of(write.start),
            }),
        }
        self.sectors += more;
        true
    }

    /// The arm begins to write an extent.
    pub fn leave(&mut self, at: usize) -> Range {
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
    pub fn holds(&self, range: Range) -> bool {
        let waiting = self.extents.iter().map(|extent| &extent.range);
        let mut extents = waiting.chain(&self.leaving);
        extents.any(|e| e.start <= range.start && range.end <= e.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        sectors: 100,
        extents: 3,
        longest: 20,
    };

    /// Each sector is on a cylinder of its own.
    fn spot_of(sector: u64) -> Spot {
        Spot {
            cylinder: sector as u32,
            head: 0,
            angle: 0,
        }
    }

    #[test]
    fn writes_that_touch_become_one_extent() {
        let mut dirty = Dirty::default();
        assert!(dirty.put(Range::new(0, 8), ROOM, spot_of));
        assert!(dirty.put(Range::new(8, 8), ROOM, spot_of));
        assert!(dirty.put(Range::new(4, 8), ROOM, spot_of));
        let [extent] = dirty.extents() else {
            panic!("{:?}", dirty.extents())
        };
        assert_eq!(extent.range, Range::new(0, 16));
        assert_eq!(dirty.sectors(), 16);
        assert!(
            dirty.put(Range::new(16, 8), ROOM, spot_of),
            "longer than an access: a second extent"
        );
        assert_eq!(dirty.extents().len(), 2);
    }

    #[test]
    fn an_extent_is_where_its_first_sector_is() {
        let mut dirty = Dirty::default();
        for (start, first) in [(50, 50), (54, 50), (46, 46), (48, 46)] {
            assert!(dirty.put(Range::new(start, 4), ROOM, spot_of));
            assert_eq!(dirty.extents()[0].spot, spot_of(first));
            assert_eq!(dirty.extents()[0].range.start, first);
        }
    }

    #[test]
    fn a_full_cache_takes_nothing_until_an_extent_is_written() {
        let mut dirty = Dirty::default();
        for start in [0, 100, 200] {
            assert!(dirty.put(Range::new(start, 4), ROOM, spot_of));
        }
        assert!(dirty.high(ROOM));
        assert!(!dirty.put(Range::new(300, 4), ROOM, spot_of));
        dirty.leave(0);
        assert!(
            !dirty.put(Range::new(300, 4), ROOM, spot_of),
            "its room is taken while it is written"
        );
        assert!(dirty.holds(Range::new(1, 2)));
        dirty.left();
        assert!(!dirty.holds(Range::new(1, 2)));
        assert!(dirty.put(Range::new(300, 4), ROOM, spot_of));
    }

    #[test]
    fn segments_used_last_stay() {
        let mut segments = Segments::default();
        segments.put(Range::new(0, 40), 50, 2);
        segments.put(Range::new(1000, 80), 50, 2);
        assert_eq!(
            segments.reach(Range::new(1000, 8)),
            1000,
            "the start is overwritten"
        );
        assert_eq!(segments.reach(Range::new(1040, 8)), 1080);
        assert_eq!(segments.reach(Range::new(8, 8)), 40);
        segments.put(Range::new(2000, 50), 50, 2);
        assert_eq!(segments.reach(Range::new(1040, 8)), 1040);
        assert_eq!(segments.reach(Range::new(8, 8)), 40);
        segments.forget(Range::new(39, 1));
        assert_eq!(segments.reach(Range::new(8, 8)), 8);
    }
}
