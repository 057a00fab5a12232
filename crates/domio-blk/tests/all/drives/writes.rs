//! The write cache of a mechanical disk.

use super::loops::{Draw, Loop, closed_loop, command};
use domio_blk::drive::Drive;
use domio_blk::drive::disk::{HITACHI_7K500, MechanicalConfig, MechanicalDisk};
use domio_blk::elevator::IoWay;
use domio_core::{Duration, Instant};

fn random_writes(config: MechanicalConfig, depth: u32, count: usize) -> Loop {
    let mut disk = MechanicalDisk::new(&config);
    let mut draw = Draw::new(5);
    let sectors = disk.sectors();
    closed_loop(&mut disk, depth, count, |tag| {
        command(tag, IoWay::Write, draw.below(sectors / 8) * 8, 8)
    })
}

fn sequential_writes(config: MechanicalConfig) -> Loop {
    let mut disk = MechanicalDisk::new(&config);
    closed_loop(&mut disk, 1, 1024, |tag| {
        command(tag, IoWay::Write, u64::from(tag) * 256, 256)
    })
}

const WITHOUT: MechanicalConfig = MechanicalConfig {
    write_cache: false,
    ..HITACHI_7K500
};

#[test]
fn a_write_is_finished_when_it_is_in_the_cache() {
    let found = random_writes(HITACHI_7K500, 1, 60);
    assert!(found.done.iter().all(|finished| finished.cached));
    let most = found.waits.iter().max().copied().unwrap_or_default();
    assert_eq!(most, Duration::from_nanos(500_000 + 13_653));
}

#[test]
fn at_depth_1_a_full_cache_writes_as_a_deep_queue_does() {
    let cached = random_writes(HITACHI_7K500, 1, 4000).iops();
    let bare = random_writes(WITHOUT, 1, 2000).iops();
    let queued = random_writes(WITHOUT, 31, 2000).iops();
    assert!(
        (60.0..78.0).contains(&bare),
        "{bare}: slower than reads by the settling"
    );
    assert!(
        cached > 2.0 * bare && cached > queued,
        "{cached} {bare} {queued}"
    );
}

#[test]
fn sequential_writes_go_at_the_rate_of_the_platters_with_a_cache_alone() {
    let rate = |found: Loop| 1024.0 * 131_072.0 / (found.end.as_nanos() as f64 / 1000.0);
    let cached = rate(sequential_writes(HITACHI_7K500));
    assert!((60.0..76.3).contains(&cached), "{cached} MB/s");
    let bare = rate(sequential_writes(WITHOUT));
    assert!(
        (9.0..16.0).contains(&bare),
        "{bare} MB/s: a revolution for each write"
    );
}

#[test]
fn reads_go_first_until_half_of_the_extents_wait() {
    let read_after = |writes: u64| {
        let mut disk = MechanicalDisk::new(&HITACHI_7K500);
        let mut draw = Draw::new(1);
        let sectors = disk.sectors();
        let mut done = Vec::new();
        let mut now = Instant::ZERO;
        let mut tag = 0;
        // The arm is kept from writing by a read in front of the writes.
        disk.start(now, command(0, IoWay::Read, sectors - 8, 8));
        let mut read = 0;
        let mut left = writes;
        while read < 40 {
            while left > 0 && tag < 30 {
                tag += 1;
                left -= 1;
                let sector = draw.below(sectors / 8) * 8;
                disk.start(now, command(tag, IoWay::Write, sector, 8));
            }
            now = disk.next().expect("a read is in the disk");
            disk.advance(now, &mut done);
            for finished in done.drain(..) {
                if finished.cached {
                    tag -= 1;
                } else {
                    read += 1;
                    let sector = draw.below(sectors / 8) * 8;
                    disk.start(now, command(1000 + read, IoWay::Read, sector, 8));
                }
            }
        }
        now
    };
    let (none, few, many) = (read_after(0), read_after(50), read_after(128));
    assert!(few.since(Instant::ZERO) < none.since(Instant::ZERO) + Duration::from_millis(120));
    assert!(
        many.since(few) > Duration::from_millis(200),
        "writes take the arm: {many} {few}"
    );
}

#[test]
fn a_read_of_what_waits_to_be_written_is_served_by_the_cache() {
    let mut disk = MechanicalDisk::new(&HITACHI_7K500);
    let found = closed_loop(&mut disk, 1, 2, |tag| match tag {
        0 => command(tag, IoWay::Write, 900_000_000, 64),
        _ => command(tag, IoWay::Read, 900_000_016, 8),
    });
    assert!(found.done[1].cached, "{:?}", found.done[1]);
}

#[test]
fn an_idle_disk_empties_its_cache() {
    let mut disk = MechanicalDisk::new(&HITACHI_7K500);
    let mut done = Vec::new();
    for tag in 0..20 {
        let sector = u64::from(tag) * 40_000_000;
        disk.start(Instant::ZERO, command(tag, IoWay::Write, sector, 8));
    }
    let mut last = Instant::ZERO;
    while let Some(now) = disk.next() {
        assert!(now >= last);
        last = now;
        disk.advance(now, &mut done);
    }
    assert_eq!(done.len(), 20);
    let took = last.since(Instant::ZERO);
    assert!(
        took > Duration::from_millis(60),
        "the platters have the data: {took}"
    );
}
