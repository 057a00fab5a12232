//! Where sectors are on the platters, and when they pass the heads.

use domio_blk::drive::disk::geometry::{Geometry, PlatterShape};

fn small() -> Geometry {
    Geometry::new(PlatterShape {
        heads: 3,
        zones: 4,
        cylinders: 40,
        track: [19, 10],
        revolution: 8_333_333,
        switches: [1_000_000, 1_600_000],
    })
}

#[test]
fn tracks_get_shorter_inwards() {
    let geometry = small();
    let ends = [1, 2, 3].map(|zone| geometry.zone_start(zone));
    let mut start = geometry.zone_start(0);
    assert_eq!(start, 0);
    for (end, track) in ends
        .into_iter()
        .chain([geometry.sectors()])
        .zip([19, 16, 13, 10])
    {
        // Ten cylinders of three heads.
        assert_eq!(end - start, 10 * 3 * track);
        start = end;
    }
}

#[test]
fn sectors_are_in_order_of_cylinders_and_heads() {
    let geometry = small();
    let mut before = (0, 0);
    for sector in 1..geometry.sectors() {
        let spot = geometry.spot(sector);
        let here = (spot.cylinder, spot.head);
        assert!(here >= before, "sector {sector}: {here:?} after {before:?}");
        before = here;
    }
    assert_eq!(before, (39, 2));
}

#[test]
fn ways_grow_and_lead_back_to_their_sectors() {
    let geometry = small();
    for sector in 0..geometry.sectors() - 1 {
        let (start, end) = (geometry.way(sector), geometry.way_behind(sector));
        assert!(
            start < end && end <= geometry.way(sector + 1),
            "sector {sector}"
        );
        assert_eq!(geometry.sector_at((start + end) / 2), sector);
        let switch = geometry.way(sector + 1) - end;
        assert!(
            [0, 1_000_000, 1_600_000].contains(&switch),
            "sector {sector}: {switch}"
        );
    }
}
