//! Flash drives.

use super::loops::{Draw, closed_loop, command, random_reads};
use domio_blk::drive::Drive;
use domio_blk::drive::flash::{FlashConfig, FlashDrive, NVME, SSD_SATA};
use domio_blk::elevator::IoWay;
use domio_core::Duration;

fn random_writes(drive: &mut FlashDrive, depth: u32, count: usize) -> f64 {
    let mut draw = Draw::new(9);
    let sectors = drive.sectors();
    let make = |tag| command(tag, IoWay::Write, draw.below(sectors / 8) * 8, 8);
    closed_loop(drive, depth, count, make).iops()
}

#[test]
fn an_idle_of_8_ms_is_worth_a_hundred_reads() {
    let mut drive = FlashDrive::new(&SSD_SATA);
    let sectors = drive.sectors();
    let found = random_reads(&mut drive, 1, 1000, sectors);
    let reads = 8e6 / (found.end.as_nanos() as f64 / 1000.0);
    assert!((70.0..110.0).contains(&reads), "{reads}");
}

#[test]
fn reads_a_second_grow_with_the_queue_as_far_as_the_dies_go() {
    let iops = |depth| {
        let mut drive = FlashDrive::new(&SSD_SATA);
        let sectors = drive.sectors();
        random_reads(&mut drive, depth, 4000, sectors).iops()
    };
    let (one, four, full) = (iops(1), iops(4), iops(31));
    assert!(four > 2.8 * one && full > 6.0 * one, "{one} {four} {full}");
    // 10 dies of 75 us.
    assert!(full < 133_400.0, "{full}");
}

#[test]
fn a_write_costs_the_buffer_until_the_buffer_is_full() {
    let mut drive = FlashDrive::new(&SSD_SATA);
    let found = closed_loop(&mut drive, 1, 20_000, |tag| {
        command(tag, IoWay::Write, u64::from(tag) * 8, 8)
    });
    let first = found.waits[0];
    assert!((25..45).contains(&(first.as_nanos() / 1000)), "{first}");
    let late = &found.waits[10_000..];
    let mean = late.iter().map(|wait| wait.as_nanos()).sum::<u64>() / late.len() as u64;
    // 600 us of one of 10 dies, and 10 us of the channel before.
    assert!((55_000..70_000).contains(&mean), "{mean} ns");
}

#[test]
fn a_full_drive_programs_as_many_pages_as_its_amplification_says() {
    for amplification in [100, 150, 300] {
        let config = FlashConfig {
            amplification,
            free_pages: 0,
            ..SSD_SATA
        };
        let mut drive = FlashDrive::new(&config);
        let iops = random_writes(&mut drive, 8, 60_000);
        let [host, copies] = drive.programmed();
        let found = (host + copies) as f64 / host as f64 * 100.0;
        assert!(
            (found - f64::from(amplification)).abs() < 3.0,
            "{found} {amplification}"
        );
        let fresh = random_writes(&mut FlashDrive::new(&SSD_SATA), 8, 30_000);
        assert!(iops < fresh, "erasing takes time: {iops} {fresh}");
    }
}

#[test]
fn a_read_waits_behind_a_program_unless_the_die_suspends_it() {
    let wait = |suspend| {
        let config = FlashConfig {
            dies: 1,
            channels: 1,
            suspend,
            ..SSD_SATA
        };
        let mut drive = FlashDrive::new(&config);
        let found = closed_loop(&mut drive, 1, 2, |tag| match tag {
            0 => command(tag, IoWay::Write, 0, 8),
            _ => command(tag, IoWay::Read, 4096, 8),
        });
        found.waits[1]
    };
    let behind = wait(Duration::ZERO);
    assert!(behind > Duration::from_micros(600), "{behind}");
    let suspended = wait(Duration::from_micros(20));
    assert!(suspended < Duration::from_micros(150), "{suspended}");
}

#[test]
fn nvme_reads_several_times_as_much_as_sata() {
    let iops = |config: &FlashConfig, depth| {
        let mut drive = FlashDrive::new(config);
        let sectors = drive.sectors();
        random_reads(&mut drive, depth, 20_000, sectors).iops()
    };
    let (sata, nvme) = (iops(&SSD_SATA, 31), iops(&NVME, 256));
    assert!(nvme > 4.0 * sata, "{nvme} {sata}");
}
