//! The cache of a disk.

use domio_blk::drive::SectorRange;
use domio_blk::drive::disk::cache::{CacheRoom, Dirty, Segments};
use domio_blk::drive::disk::geometry::Spot;

const ROOM: CacheRoom = CacheRoom {
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
    assert!(dirty.put(SectorRange::new(0, 8), ROOM, spot_of));
    assert!(dirty.put(SectorRange::new(8, 8), ROOM, spot_of));
    assert!(dirty.put(SectorRange::new(4, 8), ROOM, spot_of));
    let [extent] = dirty.extents() else {
        panic!("{:?}", dirty.extents())
    };
    assert_eq!(extent.range, SectorRange::new(0, 16));
    assert_eq!(dirty.sectors(), 16);
    assert!(
        dirty.put(SectorRange::new(16, 8), ROOM, spot_of),
        "longer than an access: a second extent"
    );
    assert_eq!(dirty.extents().len(), 2);
}

#[test]
fn an_extent_is_where_its_first_sector_is() {
    let mut dirty = Dirty::default();
    for (start, first) in [(50, 50), (54, 50), (46, 46), (48, 46)] {
        assert!(dirty.put(SectorRange::new(start, 4), ROOM, spot_of));
        assert_eq!(dirty.extents()[0].spot, spot_of(first));
        assert_eq!(dirty.extents()[0].range.start, first);
    }
}

#[test]
fn a_full_cache_takes_nothing_until_an_extent_is_written() {
    let mut dirty = Dirty::default();
    for start in [0, 100, 200] {
        assert!(dirty.put(SectorRange::new(start, 4), ROOM, spot_of));
    }
    assert!(dirty.high(ROOM));
    assert!(!dirty.put(SectorRange::new(300, 4), ROOM, spot_of));
    dirty.leave(0);
    assert!(
        !dirty.put(SectorRange::new(300, 4), ROOM, spot_of),
        "its room is taken while it is written"
    );
    assert!(dirty.holds(SectorRange::new(1, 2)));
    dirty.left();
    assert!(!dirty.holds(SectorRange::new(1, 2)));
    assert!(dirty.put(SectorRange::new(300, 4), ROOM, spot_of));
}

#[test]
fn segments_used_last_stay() {
    let mut segments = Segments::default();
    segments.put(SectorRange::new(0, 40), 50, 2);
    segments.put(SectorRange::new(1000, 80), 50, 2);
    assert_eq!(
        segments.reach(SectorRange::new(1000, 8)),
        1000,
        "the start is overwritten"
    );
    assert_eq!(segments.reach(SectorRange::new(1040, 8)), 1080);
    assert_eq!(segments.reach(SectorRange::new(8, 8)), 40);
    segments.put(SectorRange::new(2000, 50), 50, 2);
    assert_eq!(segments.reach(SectorRange::new(1040, 8)), 1040);
    assert_eq!(segments.reach(SectorRange::new(8, 8)), 40);
    segments.forget(SectorRange::new(39, 1));
    assert_eq!(segments.reach(SectorRange::new(8, 8)), 8);
}
