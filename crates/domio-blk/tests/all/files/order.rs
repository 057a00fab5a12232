//! What comes before what: data before the commit block of their transaction, the log before its
//! commit block, handles before a commit, room in the log before handles.

use super::bench::{Bench, Event, Fault, Plain};
use super::{Random, SERIAL, small};
use domio_blk::elevator::Submitter;
use domio_blk::fs::config::FsConfig;
use domio_blk::fs::contract::{FIRST_PROCESS, FileOp, KJOURNALD};
use domio_core::{Duration, Instant};
use std::collections::BTreeMap;

/// Sectors of the journal: group 1, of 128 MiB.
const JOURNAL: std::ops::Range<u64> = 1 << 18..2 << 18;

/// Writes what two processes like, then has all committed, and again. Each commit block, which is
/// what is written to the log last, must find all that belongs to it on the disk.
fn rounds(elevator: &str, fault: Fault) -> Result<(), String> {
    let mut bench = Bench::new(small(), elevator, SERIAL).with(fault);
    let mut random = Random(7);
    let task = FIRST_PROCESS.0;
    for round in 0..12 {
        bench.events = Some(Vec::new());
        let mut files = Vec::new();
        for i in 0..4 {
            let file = bench.call(task + i % 2, FileOp::Create { directory: i }) as u32;
            let (offset, bytes) = (0, 1 + random.below(400_000));
            let write = FileOp::Write {
                file,
                offset,
                bytes,
            };
            bench.call(task + i % 2, write);
            files.push(file);
        }
        let op = match round % 2 {
            0 => FileOp::Sync,
            _ => FileOp::Flush { file: files[3] },
        };
        bench.call(task, op);
        // What the drive still does is part of the round.
        let events = bench.events.take().unwrap_or_default();
        let blocks = files.iter().flat_map(|file| bench.fs.blocks(*file));
        let data: Vec<u64> = blocks
            .flat_map(|(first, count)| first..first + count)
            .map(|block| u64::from(block) * 8)
            .collect();
        holds(&events, &data).map_err(|e| format!("{elevator}, round {round}: {e}"))?;
        for file in files {
            bench.call(task, FileOp::Remove { file });
        }
        bench.call(task, FileOp::Sync);
    }
    Ok(())
}

/// Whether the last block of the log was submitted after all other blocks of the log and all of
/// `data` (first sectors of blocks) were on the disk.
fn holds(events: &[(Instant, Event)], data: &[u64]) -> Result<(), String> {
    let mut on_the_way: BTreeMap<u64, u64> = BTreeMap::new();
    let mut written: BTreeMap<u64, bool> = data.iter().map(|sector| (*sector, false)).collect();
    let last = events.iter().rposition(|(_, event)| {
        let Event::Submitted(bio) = event else {
            return false;
        };
        bio.submitter == KJOURNALD && JOURNAL.contains(&bio.sector)
    });
    let last = last.ok_or("nothing was committed")?;
    for (_, event) in &events[..last] {
        match event {
            Event::Submitted(bio) => {
                on_the_way.insert(bio.tag, bio.sector);
            }
            Event::OnDisk(tag) => {
                if let Some(sector) = on_the_way.remove(tag)
                    && let Some(written) = written.get_mut(&sector)
                {
                    *written = true;
                }
            }
            Event::Sent(_) => {}
        }
    }
    if let Some(sector) = on_the_way.values().find(|sector| JOURNAL.contains(sector)) {
        return Err(format!("sector {sector} of the log comes after its commit"));
    }
    match written.iter().find(|(_, written)| !**written) {
        Some((sector, _)) => Err(format!("sector {sector} of data comes after its commit")),
        None => Ok(()),
    }
}

#[test]
fn a_commit_block_comes_last() {
    for elevator in ["noop", "deadline", "anticipatory", "cfq"] {
        rounds(elevator, Fault::None).unwrap();
    }
}

#[test]
fn a_disk_that_says_done_too_early_is_found() {
    let found = rounds("noop", Fault::EarlyDone).unwrap_err();
    assert!(found.contains("after its commit"), "{found}");
}

#[test]
fn an_open_handle_holds_up_the_commit_and_the_commit_all_others() {
    let slow = Plain::Serial(Duration::from_secs(6));
    let mut bench = Bench::new(FsConfig::guest(2 << 30), "noop", slow);
    let (reader, other) = (FIRST_PROCESS.0, FIRST_PROCESS.0 + 1);
    let file = bench.fs.populate(0, 6000, 0);
    // Metadata of both is cached from here on, and everything is committed.
    bench.call(reader, FileOp::Size { file });
    let create = FileOp::Create { directory: 1 };
    bench.call(other, create);
    bench.call(other, FileOp::Sync);
    let start = bench.now;
    let after = |ms| start + Duration::from_millis(ms);
    // The write's handle is open until its page has been read.
    let (offset, bytes) = (6000, 100);
    bench.begin(
        reader,
        FileOp::Write {
            file,
            offset,
            bytes,
        },
    );
    bench.settle();
    bench.until(after(1000));
    bench.call(other, create);
    assert_eq!(bench.now, after(1000), "the transaction is still open");
    // The transaction is locked after 5 s.
    bench.until(after(5500));
    bench.call(other, create);
    assert_eq!(bench.now, after(6000), "the handle is closed with the read");
}

#[test]
fn who_finds_the_log_full_writes_metadata_home() {
    let config = FsConfig {
        journal: Some(4 << 20),
        ..FsConfig::guest(2 << 30)
    };
    let mut bench = Bench::new(config, "noop", SERIAL);
    bench.events = Some(Vec::new());
    let task = FIRST_PROCESS.0;
    let mut least = u32::MAX;
    for i in 0..60_000 {
        let directory = i % 100;
        bench.call(task, FileOp::Create { directory });
        least = least.min(bench.fs.used().log);
    }
    // A handle needs 256 free blocks and as many as are being committed, beside 32 and an eighth:
    // room was short, and no commit has used up what the next transaction needs.
    assert!(
        (256..600).contains(&least),
        "{least} of 1024 blocks are free"
    );
    let events = bench.events.take().unwrap_or_default();
    let by = |who| {
        let home = move |(_, event): &&(Instant, Event)| match event {
            Event::Submitted(bio) => bio.submitter == who && !JOURNAL.contains(&bio.sector),
            _ => false,
        };
        events.iter().filter(home).count()
    };
    assert!(
        bench.now < Instant::ZERO + Duration::from_secs(30),
        "nothing is old"
    );
    assert!(by(Submitter(task)) > 500, "{}", by(Submitter(task)));
    assert_eq!(by(KJOURNALD), 0, "there is no data");
}

/// A file whose making was just now is read without the drive, whose every access takes 6 s here.
#[test]
fn what_was_made_last_is_in_memory() {
    let slow = Plain::Serial(Duration::from_secs(6));
    // No times of access to be written in between.
    let config = FsConfig {
        atime: false,
        ..FsConfig::guest(2 << 30)
    };
    let mut bench = Bench::new(config, "noop", slow);
    let [cold, names, data] = [0; 3].map(|_| bench.fs.populate(0, 6000, 0));
    bench.fs.warm(names, false);
    bench.fs.warm(data, true);
    let mut took = |file| {
        let start = bench.now;
        bench.call(
            FIRST_PROCESS.0,
            FileOp::Read {
                file,
                offset: 0,
                bytes: 6000,
            },
        );
        bench.now.since(start).as_nanos() / 1_000_000_000
    };
    assert_eq!(took(data), 0, "all of the file is in memory");
    assert_eq!(
        took(names),
        6,
        "the two pages of the data are read together"
    );
    // All three share the blocks of names and inodes.
    assert_eq!(took(cold), 6);
}
