//! A guest's file system on a request layer and a drive, without a host around them: nothing is
//! lost, nobody sleeps for ever, and limits hold, whatever processes do.

mod bench;
mod blocks;
mod figures;
mod layout;
mod order;
mod orlov;
mod page_cache;
mod readahead;

use bench::{Bench, Fault, Plain};
use domio_blk::fs::config::FsConfig;
use domio_blk::fs::contract::{FIRST_PROCESS, FileOp};
use domio_blk::fs::room::taken_by;
use domio_core::{Duration, Instant};
use std::collections::BTreeMap;

/// What the drive needs for a request.
const SERIAL: Plain = Plain::Serial(Duration::from_micros(500));

/// A disk of 2 GB and little memory, so that limits are met.
fn small() -> FsConfig {
    FsConfig {
        memory: 32 << 20,
        kernel: 8 << 20,
        ..FsConfig::guest(2 << 30)
    }
}

pub struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
}

#[test]
fn after_a_sync_nothing_is_dirty_and_reads_come_from_memory() {
    let mut bench = Bench::new(small(), "cfq", SERIAL);
    let task = FIRST_PROCESS.0;
    let file = bench.call(task, FileOp::Create { directory: 0 }) as u32;
    let bytes = 1 << 20;
    let write = FileOp::Write {
        file,
        offset: 0,
        bytes,
    };
    assert_eq!(bench.call(task, write), bytes);
    assert_eq!(bench.call(task, FileOp::Size { file }), bytes);
    assert!(bench.fs.used().dirty >= 256);
    bench.call(task, FileOp::Sync);
    let used = bench.fs.used();
    assert_eq!((used.dirty, used.written), (0, 0));
    // The data, the log and its commit block are on the disk.
    assert!(bench.sectors[1] > bytes / 512);
    let reads = bench.sectors[0];
    let read = FileOp::Read {
        file,
        offset: 4096,
        bytes: 64 << 10,
    };
    assert_eq!(bench.call(task, read), 64 << 10);
    assert_eq!(bench.sectors[0], reads, "it was in memory");
    let behind = FileOp::Read {
        file,
        offset: bytes,
        bytes: 4096,
    };
    assert_eq!(bench.call(task, behind), 0);
}

/// A disk that is full takes less than it is asked to, and goes on with what is removed.
#[test]
fn a_full_disk_writes_less_and_makes_no_file() {
    let config = FsConfig {
        journal: Some(4 << 20),
        ..FsConfig {
            disk: 400 << 20,
            ..small()
        }
    };
    let room = config.room().expect("there is room");
    let mut bench = Bench::new(config, "noop", Plain::Serial(Duration::from_micros(50)));
    assert_eq!(room.bytes / 4096, bench.fs.used().free);
    let task = FIRST_PROCESS.0;
    let file = bench.call(task, FileOp::Create { directory: 0 }) as u32;
    let half = room.bytes / 2 / (1 << 20) * (1 << 20);
    let write = |file, offset, bytes| FileOp::Write {
        file,
        offset,
        bytes,
    };
    assert_eq!(bench.call(task, write(file, 0, half)), half);
    let other = bench.call(task, FileOp::Create { directory: 0 }) as u32;
    let written = bench.call(task, write(other, 0, room.bytes));
    let taken = taken_by(half) + taken_by(written);
    assert!(
        taken < room.bytes && room.bytes - taken < 8 * 4096,
        "{taken} of {room:?}"
    );
    assert_eq!(bench.call(task, FileOp::Size { file: other }), written);
    assert_eq!(bench.call(task, write(other, written, 4096)), 0);
    assert_eq!(bench.call(task, FileOp::Create { directory: 0 }), 0);
    bench.call(task, FileOp::Remove { file });
    bench.call(task, FileOp::Sync);
    assert!(bench.call(task, FileOp::Create { directory: 0 }) > 0);
    assert_eq!(bench.call(task, write(other, written, 4096)), 4096);
}

/// Six processes do what they like; in the end all have got what the sizes say, no two files share
/// a block, and everything reaches the disk.
fn processes_do_what_they_like(seed: u64, elevator: &str) {
    let mut bench = Bench::new(small(), elevator, SERIAL);
    let mut random = Random(seed);
    let tasks: Vec<u32> = (0..6).map(|i| FIRST_PROCESS.0 + i).collect();
    let mut files: BTreeMap<u32, u64> = BTreeMap::new();
    // What each task is doing, with the file that nobody else may touch meanwhile.
    let mut busy: BTreeMap<u32, FileOp> = BTreeMap::new();
    let mut calls = 0;
    let throttle = bench.fs.used().throttle;
    while calls < 600 || !busy.is_empty() {
        for task in &tasks {
            if let Some(value) = bench.returned.remove(task) {
                match busy.remove(task).expect("it was in a call") {
                    FileOp::Create { .. } => {
                        assert!(files.insert(value as u32, 0).is_none(), "{value} is there");
                    }
                    FileOp::Write {
                        file,
                        offset,
                        bytes,
                    } => {
                        assert_eq!(value, bytes);
                        let size = files.get_mut(&file).unwrap();
                        *size = (*size).max(offset + bytes);
                    }
                    FileOp::Read {
                        file,
                        offset,
                        bytes,
                    } => assert_eq!(value, bytes.min(files[&file].saturating_sub(offset))),
                    FileOp::Size { file } => assert_eq!(value, files[&file]),
                    _ => {}
                }
            }
            if calls >= 600 || busy.contains_key(task) {
                continue;
            }
            let taken: Vec<u32> = busy.values().filter_map(file_of).collect();
            let free: Vec<u32> = files
                .keys()
                .copied()
                .filter(|f| !taken.contains(f))
                .collect();
            let file = free
                .get(random.below(free.len().max(1) as u64) as usize)
                .copied();
            let op = some_call(&mut random, &mut files, file);
            calls += 1;
            busy.insert(*task, op);
            bench.begin(*task, op);
        }
        bench.settle();
        if busy.keys().all(|task| !bench.returned.contains_key(task)) {
            assert!(
                bench.next(),
                "{elevator}, seed {seed}: {busy:?} sleep for ever"
            );
        }
        assert!(
            bench.now < Instant::from_nanos(3_600_000_000_000),
            "{busy:?} take for ever"
        );
    }
    let mut owner: BTreeMap<u32, u32> = BTreeMap::new();
    for file in files.keys() {
        for (first, count) in bench.fs.blocks(*file) {
            for block in first..first + count {
                let other = owner.insert(block, *file);
                assert_eq!(other, None, "block {block} has two files");
            }
        }
    }
    // Each of the writers may go over by what it dirties between two looks.
    assert!(
        bench.most_dirty < throttle + 6 * 1024,
        "{} {throttle}",
        bench.most_dirty
    );
    bench.call(FIRST_PROCESS.0, FileOp::Sync);
    let used = bench.fs.used();
    assert_eq!((used.dirty, used.written), (0, 0));
}

/// Some call, on `file` if there is one; a file that is removed leaves `files`.
fn some_call(random: &mut Random, files: &mut BTreeMap<u32, u64>, file: Option<u32>) -> FileOp {
    match (random.below(12), file) {
        (0..=1, _) | (_, None) => FileOp::Create {
            directory: random.below(4) as u32,
        },
        (2..=5, Some(file)) => FileOp::Write {
            file,
            offset: random.below(files[&file] + 1),
            bytes: 1 + random.below(300_000),
        },
        (6..=8, Some(file)) => FileOp::Read {
            file,
            offset: random.below(files[&file] + 1),
            bytes: 1 + random.below(200_000),
        },
        (9, Some(file)) => FileOp::Size { file },
        (10, Some(file)) => FileOp::Flush { file },
        (_, Some(file)) => {
            files.remove(&file);
            FileOp::Remove { file }
        }
    }
}

/// The file that a call is on.
fn file_of(op: &FileOp) -> Option<u32> {
    match op {
        FileOp::Write { file, .. }
        | FileOp::Read { file, .. }
        | FileOp::Size { file }
        | FileOp::Flush { file }
        | FileOp::Remove { file } => Some(*file),
        FileOp::Create { .. } | FileOp::Sync => None,
    }
}

#[test]
fn whatever_processes_do_nothing_is_lost() {
    for seed in 0..12 {
        for elevator in ["noop", "deadline", "anticipatory", "cfq"] {
            processes_do_what_they_like(seed, elevator);
        }
    }
}

#[test]
fn blocks_of_removed_files_are_used_again() {
    let mut bench = Bench::new(small(), "noop", SERIAL);
    let task = FIRST_PROCESS.0;
    let free = bench.fs.used().free;
    for _ in 0..40 {
        let file = bench.call(task, FileOp::Create { directory: 1 }) as u32;
        let write = FileOp::Write {
            file,
            offset: 0,
            bytes: 200_000,
        };
        bench.call(task, write);
        bench.call(task, FileOp::Remove { file });
        bench.call(task, FileOp::Sync);
    }
    // A directory keeps its block.
    assert!(free - bench.fs.used().free <= 4);
}

/// Pages that are dirty again while they are being written can not be written yet. A look for old
/// pages leaves them for the next one, however long the drive takes.
#[test]
fn old_pages_that_are_being_written_end_a_look() {
    let mut bench = Bench::new(small(), "noop", SERIAL);
    let task = FIRST_PROCESS.0;
    let file = bench.call(task, FileOp::Create { directory: 0 }) as u32;
    let write = |page: u64| FileOp::Write {
        file,
        offset: page * 4096,
        bytes: 4096,
    };
    for page in 0..8 {
        bench.call(task, write(page));
    }
    bench.call(task, FileOp::Sync);
    bench.slow_down(Duration::from_secs(100));
    let begin = bench.now;
    let after = |seconds| begin + Duration::from_secs(seconds);
    bench.call(task, write(0));
    // Nothing but the look for old pages writes the page: it begins after 30 s.
    bench.until(after(40));
    assert!(bench.fs.used().written > 0, "the page is being written");
    bench.begin(task, write(0));
    bench.settle();
    bench.until(after(80));
    let used = bench.fs.used();
    assert!(used.dirty > 0 && used.written > 0, "{used:?}");
    bench.until(after(1000));
    let used = bench.fs.used();
    assert_eq!((used.dirty, used.written), (0, 0));
}

#[test]
fn a_wake_up_that_is_lost_is_found() {
    // The threads' first three wake-ups come before the process's.
    let lost = (4..12).filter(|number| {
        let mut bench = Bench::new(small(), "noop", SERIAL).with(Fault::LostWake(*number));
        let task = FIRST_PROCESS.0;
        let Some(file) = bench.try_call(task, FileOp::Create { directory: 0 }) else {
            return true;
        };
        let file = file as u32;
        let write = FileOp::Write {
            file,
            offset: 0,
            bytes: 9000,
        };
        bench.try_call(task, write).is_none() || bench.try_call(task, FileOp::Sync).is_none()
    });
    assert!(lost.count() >= 7, "nearly every one is missed by somebody");
}
