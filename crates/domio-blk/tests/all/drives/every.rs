//! What holds for every drive.

use super::loops::{Draw, command};
use domio_blk::drive::array::{ARRAY, ArrayConfig};
use domio_blk::drive::disk::{DiskOrder, HITACHI_7K500, MechanicalConfig};
use domio_blk::drive::{DRIVES, DriveConfig, FinishedCommand, find_drive};
use domio_blk::elevator::IoWay;
use domio_core::{Duration, Instant};
use std::collections::BTreeMap;

/// The drives with names, and some with unusual figures.
fn all() -> Vec<DriveConfig> {
    let odd = MechanicalConfig {
        order: DiskOrder::AgedSptf,
        age_weight: 50,
        age_limit: Duration::from_millis(30),
        slack: Duration::from_micros(300),
        overhead: Duration::ZERO,
        cache: 64 << 10,
        segment: 100,
        extents: 2,
        read_ahead: 3000,
        ..HITACHI_7K500
    };
    let plain = MechanicalConfig {
        write_cache: false,
        read_ahead: 0,
        depth: 1,
        ..HITACHI_7K500
    };
    let small = ArrayConfig {
        disks: 3,
        cache: 1 << 20,
        dirty: 64 << 10,
        disk: plain,
        ..ARRAY
    };
    let named = DRIVES.iter().map(|drive| drive.is.config);
    let others = [
        DriveConfig::Mechanical(odd),
        DriveConfig::Mechanical(plain),
        DriveConfig::Array(small),
    ];
    named.chain(others).collect()
}

/// Runs a mix of streams and jumps, reads and writes, at uneven times, and checks each call.
fn mixed(config: &DriveConfig, seed: u64, count: u32) -> Vec<FinishedCommand> {
    let mut drive = config.build();
    assert_eq!(drive.sectors(), config.sectors());
    let mut draw = Draw::new(seed);
    let mut inside = BTreeMap::new();
    let (mut done, mut all) = (Vec::new(), Vec::new());
    let mut now = Instant::ZERO;
    let mut at = 0;
    let mut tag = 0;
    while tag < count || !inside.is_empty() {
        let room = inside.len() < drive.depth() as usize && tag < count;
        if room && draw.below(3) > 0 {
            let sectors = 1 + draw.below(300) as u32;
            if draw.below(3) == 0 {
                at = draw.below(drive.sectors() / 1000);
            }
            let way = [IoWay::Read, IoWay::Write][draw.below(2) as usize];
            at = at.min(drive.sectors() - u64::from(sectors));
            drive.start(now, command(tag, way, at, sectors));
            inside.insert(tag, now);
            at += u64::from(sectors);
            tag += 1;
            continue;
        }
        let later = now + Duration::from_nanos(draw.below(3_000_000));
        let next = drive.next();
        let next = next.unwrap_or(later);
        assert!(next >= now, "time goes back: {next} after {now}");
        // At the time asked for, or at any time before.
        now = next.min(later);
        drive.advance(now, &mut done);
        let mut last = Instant::ZERO;
        for finished in done.drain(..) {
            assert!(
                finished.at <= now && finished.at >= last,
                "in order of ends"
            );
            last = finished.at;
            let started = inside.remove(&finished.tag).expect("finished once");
            let spent = finished.spent;
            let sum = spent.queued + spent.seek + spent.rotation + spent.transfer;
            assert!(sum > Duration::ZERO, "{finished:?}");
            assert_eq!(started + sum, finished.at, "{finished:?}");
            all.push(finished);
        }
    }
    while let Some(next) = drive.next() {
        assert!(next >= now, "time goes back: {next} after {now}");
        now = next;
        drive.advance(now, &mut done);
    }
    assert_eq!(done, [], "nothing is finished twice");
    all
}

#[test]
fn every_command_finishes_once_after_the_times_that_it_spent() {
    for (index, config) in all().iter().enumerate() {
        for seed in 0..4 {
            let found = mixed(config, seed, 1000);
            assert_eq!(found.len(), 1000, "drive {index}");
        }
    }
}

#[test]
fn the_same_commands_take_the_same_times() {
    for config in all() {
        assert_eq!(mixed(&config, 17, 500), mixed(&config, 17, 500));
    }
}

#[test]
fn drives_are_found_by_name() {
    for drive in &DRIVES {
        let found = find_drive(drive.variant.word);
        assert_eq!(found.map(|found| found.config), Some(drive.is.config));
        assert_eq!(drive.is.config.fault(), None, "{}", drive.variant.word);
        assert!(!drive.is.source.is_empty() && !drive.variant.doc.is_empty());
    }
    assert!(find_drive("floppy").is_none());
}

#[test]
fn impossible_drives_have_a_fault() {
    let faulty = |change: fn(&mut MechanicalConfig)| {
        let mut config = HITACHI_7K500;
        change(&mut config);
        config.fault().is_some()
    };
    assert!(faulty(|config| config.heads = 0));
    assert!(faulty(|config| config.cylinders = 29));
    assert!(faulty(|config| config.seek.mean = Duration::from_millis(20)));
    assert!(faulty(|config| config.slack = Duration::from_millis(9)));
    assert!(faulty(|config| config.cache = 512));
    let pairs = ArrayConfig {
        disks: 7,
        level: domio_blk::drive::array::RaidLevel::Raid10,
        ..ARRAY
    };
    assert!(pairs.fault().is_some());
}
