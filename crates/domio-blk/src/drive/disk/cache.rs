//! The cache of a disk: segments that were read, and writes that wait for the platters.

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
    extents: Vec<Range>,
    sectors: u64,
    /// The extent that the arm writes.
    leaving: Option<Range>,
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
    pub fn extents(&self) -> &[Range] {
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

    /// Takes a write if there is room.
    pub fn put(&mut self, write: Range, room: Room) -> bool {
        let joined = |e: &Range| {
            let both = e.start.min(write.start)..e.end.max(write.end);
            let touch = e.start <= write.end && write.start <= e.end;
            touch && both.end - both.start <= room.longest
        };
        let at = self.extents.iter().position(joined);
        let grown = at.map_or(write, |at| self.extents[at].around(write));
        let more = grown.len() - at.map_or(0, |at| self.extents[at].len());
        if self.sectors() + more > room.sectors {
            return false;
        }
        match at {
            Some(at) => self.extents[at] = grown,
            None if self.extents.len() + usize::from(self.leaving.is_some()) >= room.extents => {
                return false;
            }
            None => self.extents.push(write),
        }
        self.sectors += more;
        true
    }

    /// The arm begins to write an extent.
    pub fn leave(&mut self, at: usize) -> Range {
        let extent = self.extents.swap_remove(at);
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
        let mut extents = self.extents.iter().chain(&self.leaving);
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

    #[test]
    fn writes_that_touch_become_one_extent() {
        let mut dirty = Dirty::default();
        assert!(dirty.put(Range::new(0, 8), ROOM));
        assert!(dirty.put(Range::new(8, 8), ROOM));
        assert!(dirty.put(Range::new(4, 8), ROOM));
        assert_eq!(dirty.extents(), [Range::new(0, 16)]);
        assert_eq!(dirty.sectors(), 16);
        assert!(
            dirty.put(Range::new(16, 8), ROOM),
            "longer than an access: a second extent"
        );
        assert_eq!(dirty.extents().len(), 2);
    }

    #[test]
    fn a_full_cache_takes_nothing_until_an_extent_is_written() {
        let mut dirty = Dirty::default();
        for start in [0, 100, 200] {
            assert!(dirty.put(Range::new(start, 4), ROOM));
        }
        assert!(dirty.high(ROOM));
        assert!(!dirty.put(Range::new(300, 4), ROOM));
        dirty.leave(0);
        assert!(
            !dirty.put(Range::new(300, 4), ROOM),
            "its room is taken while it is written"
        );
        assert!(dirty.holds(Range::new(1, 2)));
        dirty.left();
        assert!(!dirty.holds(Range::new(1, 2)));
        assert!(dirty.put(Range::new(300, 4), ROOM));
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
