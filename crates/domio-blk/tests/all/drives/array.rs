//! Arrays of disks.

use super::loops::{Draw, closed_loop, command, random_reads};
use domio_blk::drive::Drive;
use domio_blk::drive::array::{ARRAY, ArrayConfig, ArrayDrive, RaidLevel};
use domio_blk::elevator::IoWay;
use domio_core::{Duration, Instant};

/// Eight disks without a cache in front.
fn bare(level: RaidLevel) -> ArrayConfig {
    ArrayConfig {
        level,
        cache: 0,
        dirty: 0,
        ..ARRAY
    }
}

/// Operations of the disks, reads and writes, for one write.
fn operations(level: RaidLevel, sector: u64, sectors: u32) -> [u64; 2] {
    let mut array = ArrayDrive::new(&bare(level));
    array.start(Instant::ZERO, command(0, IoWay::Write, sector, sectors));
    let mut done = Vec::new();
    while let Some(now) = array.next() {
        array.advance(now, &mut done);
    }
    assert_eq!(done.len(), 1);
    array.started()
}

#[test]
fn a_small_write_is_as_many_operations_as_the_level_has() {
    assert_eq!(operations(RaidLevel::Raid0, 1000, 8), [0, 1]);
    assert_eq!(operations(RaidLevel::Raid10, 1000, 8), [0, 2]);
    assert_eq!(operations(RaidLevel::Raid5, 1000, 8), [2, 2]);
    assert_eq!(
        operations(RaidLevel::Raid5, 120, 16),
        [4, 4],
        "over the end of a unit"
    );
}

#[test]
fn a_whole_row_is_written_without_reads() {
    assert_eq!(operations(RaidLevel::Raid5, 7 * 128, 7 * 128), [0, 8]);
    assert_eq!(operations(RaidLevel::Raid10, 0, 4 * 128), [0, 8]);
}

#[test]
fn disks_without_parity_or_copies_give_all_their_room() {
    let sectors = |level| ArrayDrive::new(&bare(level)).sectors();
    let one = sectors(RaidLevel::Raid0) / 8;
    assert_eq!(sectors(RaidLevel::Raid10), 4 * one);
    assert_eq!(sectors(RaidLevel::Raid5), 7 * one);
}

#[test]
fn reads_a_second_grow_with_the_disks() {
    let iops = |disks, depth| {
        let config = ArrayConfig {
            disks,
            ..bare(RaidLevel::Raid0)
        };
        let mut array = ArrayDrive::new(&config);
        let sectors = array.sectors();
        random_reads(&mut array, depth, 3000, sectors).iops()
    };
    let (lone, one, all) = (iops(8, 1), iops(1, 64), iops(8, 64));
    assert!(all > 4.0 * one && all > 8.0 * lone, "{lone} {one} {all}");
}

#[test]
fn reads_of_mirrors_use_both_copies() {
    let iops = |level, disks| {
        let config = ArrayConfig {
            disks,
            ..bare(level)
        };
        let mut array = ArrayDrive::new(&config);
        let sectors = array.sectors();
        random_reads(&mut array, 4, 2000, sectors).iops()
    };
    let (pair, lone) = (iops(RaidLevel::Raid10, 2), iops(RaidLevel::Raid0, 1));
    assert!(pair > 1.25 * lone, "{pair} {lone}");
}

#[test]
fn the_cache_serves_what_was_written_and_what_was_read() {
    let mut array = ArrayDrive::new(&ARRAY);
    let found = closed_loop(&mut array, 1, 5, |tag| match tag {
        0 => command(tag, IoWay::Write, 4000, 64),
        1 => command(tag, IoWay::Read, 4008, 8),
        2 | 3 => command(tag, IoWay::Read, 9_000_000, 8),
        _ => command(tag, IoWay::Read, 9_000_008, 8),
    });
    let cached: Vec<bool> = found.done.iter().map(|finished| finished.cached).collect();
    assert_eq!(cached, [true, true, false, true, false]);
    for hit in [0, 1, 3] {
        assert_eq!(found.waits[hit], Duration::from_micros(300 + 2 * 200));
    }
}

#[test]
fn writes_beyond_the_dirty_limit_wait_for_the_disks() {
    let config = ArrayConfig {
        dirty: 64 * 4096,
        ..ARRAY
    };
    let iops = |config: &ArrayConfig, count| {
        let mut array = ArrayDrive::new(config);
        let mut draw = Draw::new(2);
        let sectors = array.sectors();
        closed_loop(&mut array, 16, count, |tag| {
            command(tag, IoWay::Write, draw.below(sectors / 8) * 8, 8)
        })
        .iops()
    };
    let (room, full) = (iops(&ARRAY, 2000), iops(&config, 2000));
    assert!(room > 20_000.0, "{room}: 16 in 0.7 ms");
    assert!(
        (150.0..600.0).contains(&full),
        "{full}: four operations on eight disks"
    );
}
