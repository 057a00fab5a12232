//! A mechanical disk does what its sources say.

use super::loops::{Draw, Loop, closed_loop, command, random_reads};
use domio_blk::drive::Drive;
use domio_blk::drive::disk::{
    DiskOrder, GENERIC_2008, HITACHI_7K500, MechanicalConfig, MechanicalDisk,
};
use domio_blk::elevator::IoWay;
use domio_core::Duration;

/// Sectors of 120 GB.
const REGION: u64 = 120_000_000_000 / 512;

/// Without the age limit, as the table was computed.
fn pure(config: MechanicalConfig) -> MechanicalConfig {
    MechanicalConfig {
        age_limit: Duration::ZERO,
        ..config
    }
}

fn reads(config: MechanicalConfig, depth: u32, sectors: u64) -> Loop {
    let mut disk = MechanicalDisk::new(&config);
    let sectors = sectors.min(disk.sectors());
    random_reads(&mut disk, depth, 6000, sectors)
}

#[test]
fn print_all() {
    let depths = [1, 2, 4, 6, 7, 8, 16, 31];
    for (name, config, sectors) in [
        ("A", HITACHI_7K500, u64::MAX),
        ("A 120", HITACHI_7K500, REGION),
        ("B", GENERIC_2008, u64::MAX),
        ("B 120", GENERIC_2008, REGION),
        ("B 360", GENERIC_2008, REGION * 3),
    ] {
        let iops: Vec<f64> = depths
            .iter()
            .map(|&depth| reads(pure(config), depth, sectors).iops().round())
            .collect();
        println!("{name}: {iops:?}");
    }
    println!("{:?}", reads(pure(HITACHI_7K500), 31, u64::MAX).waits_ms());
    for limit in [250, 500, 1000, 2000] {
        let config = MechanicalConfig {
            age_limit: Duration::from_millis(limit),
            ..HITACHI_7K500
        };
        println!("{limit} {}", reads(config, 31, u64::MAX).iops());
    }
    for slack in [300, 500] {
        let config = MechanicalConfig {
            slack: Duration::from_micros(slack),
            ..pure(HITACHI_7K500)
        };
        println!(
            "slack {slack} {} {}",
            reads(config, 1, u64::MAX).iops(),
            reads(config, 31, u64::MAX).iops()
        );
    }
    let mut disk = MechanicalDisk::new(&HITACHI_7K500);
    let mut draw = Draw::new(3);
    let sectors = disk.sectors();
    let l = closed_loop(&mut disk, 1, 4096, |tag| {
        command(tag, IoWay::Read, draw.below(sectors), 1)
    });
    println!("4096: {}", l.end.as_nanos() as f64 / 1e9);
    for zone in [0, 29] {
        let mut disk = MechanicalDisk::new(&HITACHI_7K500);
        let at = HITACHI_7K500.zone_start(zone) + 100;
        let l = closed_loop(&mut disk, 1, 128, |tag| {
            command(tag, IoWay::Read, at + u64::from(tag) * 256, 256)
        });
        println!("seq {zone}: {}", l.end.as_nanos() as f64 / 1e9);
        let cached = l.done.iter().filter(|d| d.cached).count();
        println!("{cached}");
        let mut disk = MechanicalDisk::new(&HITACHI_7K500);
        let l = closed_loop(&mut disk, 1, 2048, |tag| {
            command(tag, IoWay::Write, at + u64::from(tag) * 256, 256)
        });
        println!(
            "seq write {zone}: {}",
            256.0 / l.end.as_nanos() as f64 * 1e9
        );
    }
    let _ = DiskOrder::Fifo;
}
