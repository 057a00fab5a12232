//! What a command costs the simulation: by kind of drive, and by how many a disk chooses among.
//!
//! The difference between `disk/31` and `disk/1` is thirty positions more, and the choice.

use criterion::{BenchmarkId, Criterion, Throughput};
use domio_blk::drive::disk::HITACHI_7K500;
use domio_blk::drive::{Command, Drive, DriveConfig, find_drive};
use domio_blk::elevator::IoWay;
use domio_core::Instant;
use std::hint::black_box;

const COMMANDS: u32 = 1000;

/// Random reads of 4 KiB, always as many in the drive.
struct Reads {
    drive: Box<dyn Drive>,
    tag: u32,
    state: u64,
    done: Vec<domio_blk::drive::FinishedCommand>,
}

impl Reads {
    fn new(config: &DriveConfig, depth: u32) -> Reads {
        let mut reads = Reads {
            drive: config.build(),
            tag: 0,
            state: 1,
            done: Vec::new(),
        };
        for _ in 0..depth {
            reads.start(Instant::ZERO);
        }
        reads
    }

    fn start(&mut self, now: Instant) {
        // A linear congruential generator (Knuth's MMIX).
        let next = self.state.wrapping_mul(6_364_136_223_846_793_005);
        self.state = next.wrapping_add(1_442_695_040_888_963_407);
        let pages = u128::from(self.drive.sectors() / 8);
        let page = (u128::from(self.state) * pages) >> 64;
        self.tag = self.tag.wrapping_add(1);
        let command = Command {
            tag: self.tag,
            sector: page as u64 * 8,
            sectors: 8,
            way: IoWay::Read,
        };
        self.drive.start(now, command);
    }

    fn run(&mut self, commands: u32) -> u32 {
        let mut left = commands;
        while left > 0 {
            let now = self.drive.next().expect("commands are in the drive");
            let mut done = std::mem::take(&mut self.done);
            self.drive.advance(now, &mut done);
            for _ in done.drain(..) {
                left = left.saturating_sub(1);
                self.start(now);
            }
            self.done = done;
        }
        self.tag
    }
}

fn drives(c: &mut Criterion) {
    let mut group = c.benchmark_group("drive");
    group.throughput(Throughput::Elements(COMMANDS.into()));
    let disk = DriveConfig::Mechanical(HITACHI_7K500);
    for depth in [1, 31] {
        let mut reads = Reads::new(&disk, depth);
        group.bench_function(BenchmarkId::new("disk", depth), |b| {
            b.iter(|| black_box(reads.run(COMMANDS)));
        });
    }
    for name in ["ssd-sata", "array-raid5"] {
        let config = find_drive(name).expect("a drive with this name").config;
        let mut reads = Reads::new(&config, 31);
        group.bench_function(BenchmarkId::new(name, 31), |b| {
            b.iter(|| black_box(reads.run(COMMANDS)));
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    drives(&mut criterion);
    criterion.final_summary();
}
