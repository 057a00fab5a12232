//! A mechanical disk reads as its sources say.

use super::loops::{Draw, Loop, closed_loop, command, random_reads};
use domio_blk::drive::Drive;
use domio_blk::drive::disk::{
    DiskOrder, GENERIC_2008, HITACHI_7K500, MechanicalConfig, MechanicalDisk,
};
use domio_blk::elevator::IoWay;
use domio_core::{Duration, Instant};

/// Sectors of 120 GB.
const REGION: u64 = 120_000_000_000 / 512;
const DEPTHS: [u32; 8] = [1, 2, 4, 6, 7, 8, 16, 31];

/// Shortest positioning time first, and nothing else, as the table was computed.
fn pure(config: MechanicalConfig) -> MechanicalConfig {
    MechanicalConfig {
        age_limit: Duration::ZERO,
        ..config
    }
}

fn reads(config: MechanicalConfig, depth: u32, sectors: u64, count: usize) -> Loop {
    let mut disk = MechanicalDisk::new(&config);
    let sectors = sectors.min(disk.sectors());
    random_reads(&mut disk, depth, count, sectors)
}

fn deep(config: MechanicalConfig) -> Loop {
    reads(config, 31, u64::MAX, 6000)
}

#[track_caller]
fn assert_within(percent: f64, found: f64, expected: f64, what: &str) {
    let off = (found / expected - 1.0) * 100.0;
    assert!(
        off.abs() <= percent,
        "{what}: {found:.2}, {off:.1} % off {expected}"
    );
}

/// Commands a second of random reads of 4 KiB, by depth, against the table.
fn assert_table(config: MechanicalConfig, sectors: u64, expected: [u32; 8]) {
    for (depth, expected) in DEPTHS.into_iter().zip(expected) {
        let found = reads(pure(config), depth, sectors, 4000).iops();
        assert_within(5.0, found, expected.into(), &format!("depth {depth}"));
    }
}

#[test]
fn profile_a_has_the_reads_a_second_of_each_depth() {
    let expected = [78, 92, 109, 118, 123, 127, 149, 174];
    assert_table(HITACHI_7K500, u64::MAX, expected);
}

#[test]
fn profile_a_has_the_reads_a_second_of_its_outer_part() {
    let expected = [115, 135, 160, 178, 187, 194, 228, 261];
    assert_table(HITACHI_7K500, REGION, expected);
}

#[test]
fn profile_b_has_the_reads_a_second_of_each_depth() {
    let expected = [78, 94, 114, 127, 133, 137, 167, 199];
    assert_table(GENERIC_2008, u64::MAX, expected);
}

#[test]
fn profile_b_has_the_reads_a_second_of_its_outer_part() {
    let expected = [125, 149, 181, 206, 215, 223, 266, 308];
    assert_table(GENERIC_2008, REGION, expected);
}

#[test]
fn profile_b_has_the_reads_a_second_of_three_regions() {
    let expected = [(1, 91.0), (6, 147.0), (7, 153.0), (16, 193.0), (31, 231.0)];
    for (depth, expected) in expected {
        let found = reads(pure(GENERIC_2008), depth, 3 * REGION, 4000).iops();
        assert_within(5.0, found, expected, &format!("depth {depth}"));
    }
}

#[test]
fn commands_of_a_full_queue_wait_as_long_as_the_oracle_says() {
    // The longest wait is one command of the sample, and no figure to hold to 5 %.
    let [mean, p99, longest] = reads(pure(HITACHI_7K500), 31, u64::MAX, 20_000).waits_ms();
    assert_within(5.0, mean, 176.0, "mean");
    assert_within(5.0, p99, 800.0, "99 %");
    assert!((1200.0..2500.0).contains(&longest), "longest: {longest}");
}

#[test]
fn an_age_limit_below_the_wait_of_fifo_makes_fifo() {
    let limited = |ms| {
        let age_limit = Duration::from_millis(ms);
        deep(MechanicalConfig {
            age_limit,
            ..HITACHI_7K500
        })
        .iops()
    };
    let free = deep(pure(HITACHI_7K500)).iops();
    assert_within(5.0, limited(250), 78.0, "250 ms");
    let costs = 100.0 - 100.0 * limited(500) / free;
    assert!((3.0..9.0).contains(&costs), "500 ms cost {costs} %");
    assert_within(2.0, limited(1000), free, "1 s");
    assert_within(1.0, limited(2000), free, "2 s");
}

#[test]
fn in_order_of_arrival_every_depth_is_as_fast_as_depth_1() {
    let fifo = MechanicalConfig {
        order: DiskOrder::Fifo,
        ..HITACHI_7K500
    };
    let alone = reads(HITACHI_7K500, 1, u64::MAX, 3000).iops();
    for depth in [2, 8, 31] {
        let found = reads(fifo, depth, u64::MAX, 3000);
        assert_within(0.5, found.iops(), alone, &format!("depth {depth}"));
        // What the cache has need not wait for the platters.
        let platters = found.done.iter().filter(|finished| !finished.cached);
        assert!(
            platters.is_sorted_by_key(|finished| finished.tag),
            "in order"
        );
    }
}

#[test]
fn taking_age_into_account_costs_little_and_shortens_the_longest_waits() {
    let aged = MechanicalConfig {
        order: DiskOrder::AgedSptf,
        age_weight: 10,
        ..pure(HITACHI_7K500)
    };
    let (aged, free) = (deep(aged), deep(pure(HITACHI_7K500)));
    assert!(aged.iops() > 0.85 * free.iops(), "{}", aged.iops());
    assert!(
        aged.waits_ms()[1] < 0.8 * free.waits_ms()[1],
        "{:?}",
        aged.waits_ms()
    );
}

#[test]
fn uncertain_predictions_cost_reads() {
    let uncertain = MechanicalConfig {
        slack: Duration::from_micros(400),
        ..pure(HITACHI_7K500)
    };
    let lost = 1.0 - deep(uncertain).iops() / deep(pure(HITACHI_7K500)).iops();
    assert!((0.03..0.15).contains(&lost), "{lost}");
}

/// The maker's typical times have 5 % more than what was measured (specification of the 7K500,
/// p. 18: 55.5 s for 52.9 s), so that the model stands against what they are without.
const TYPICAL: f64 = 1.05;

#[test]
fn profile_a_takes_as_long_for_4096_random_sectors() {
    let mut disk = MechanicalDisk::new(&HITACHI_7K500);
    let mut draw = Draw::new(3);
    let sectors = disk.sectors();
    let found = closed_loop(&mut disk, 1, 4096, |tag| {
        command(tag, IoWay::Read, draw.below(sectors), 1)
    });
    let seconds = found.end.as_nanos() as f64 / 1e9;
    assert_within(5.0, seconds, 52.9, "raw");
    assert_within(5.0, seconds * TYPICAL, 55.5, "typical");
}

/// Seconds of 16 MiB in 128 reads from the start of a zone on, the mean of some: the arm comes
/// from anywhere.
fn sequential(config: MechanicalConfig, zone: usize) -> f64 {
    let mut draw = Draw::new(11);
    let start = config.zone_start(zone);
    let mut sum = 0.0;
    for _ in 0..20 {
        let mut disk = MechanicalDisk::new(&config);
        let from = draw.below(disk.sectors());
        let mut begin = Instant::ZERO;
        let found = closed_loop(&mut disk, 1, 129, |tag| match tag.checked_sub(1) {
            None => command(tag, IoWay::Read, from, 1),
            Some(index) => command(tag, IoWay::Read, start + u64::from(index) * 256, 256),
        });
        begin += found.waits[0];
        sum += found.end.since(begin).as_nanos() as f64 / 1e9;
    }
    sum / 20.0
}

#[test]
fn profile_a_takes_as_long_for_16_mib_at_both_edges() {
    for (zone, expected) in [(0, 0.29), (29, 0.59)] {
        let found = sequential(HITACHI_7K500, zone);
        assert_within(5.0, found * TYPICAL, expected, &format!("zone {zone}"));
    }
}

#[test]
fn without_read_ahead_each_sequential_read_waits_for_a_revolution() {
    let without = MechanicalConfig {
        read_ahead: 0,
        ..HITACHI_7K500
    };
    let revolutions = sequential(without, 0) / 0.008_333_333;
    assert!((128.0..=172.0).contains(&revolutions), "{revolutions}");
}

#[test]
fn reads_of_what_was_read_come_from_the_cache() {
    let mut disk = MechanicalDisk::new(&HITACHI_7K500);
    let found = closed_loop(&mut disk, 1, 3, |tag| {
        command(tag, IoWay::Read, 5_000_000, 8 * (tag.min(1) + 1))
    });
    let cached: Vec<bool> = found.done.iter().map(|finished| finished.cached).collect();
    assert_eq!(
        cached,
        [false, true, true],
        "the second reads what the heads read on"
    );
    // 0.5 ms, and 8 KiB at 300 MB/s.
    assert_eq!(found.waits[2], Duration::from_nanos(500_000 + 27_306));
}
