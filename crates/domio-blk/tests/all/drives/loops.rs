//! Loops of commands against a drive.

use domio_blk::drive::{Command, Drive, FinishedCommand};
use domio_blk::elevator::IoWay;
use domio_core::{Duration, Instant};

/// Draws numbers, always the same.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// A number below `end` (SplitMix64).
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(x ^ (x >> 31)) * u128::from(end)) >> 64) as u64
    }
}

/// A command.
pub fn command(tag: u32, way: IoWay, sector: u64, sectors: u32) -> Command {
    Command {
        tag,
        sector,
        sectors,
        way,
    }
}

/// What a closed loop has found.
pub struct Loop {
    /// Time from the start of each command to its end, in order of ends.
    pub waits: Vec<Duration>,
    /// Commands as they finished.
    pub done: Vec<FinishedCommand>,
    /// When the last one finished.
    pub end: Instant,
}

impl Loop {
    /// Commands a second.
    pub fn iops(&self) -> f64 {
        self.waits.len() as f64 * 1e9 / self.end.as_nanos() as f64
    }

    /// Mean wait, the wait of 99 %, and the longest, in ms.
    pub fn waits_ms(&self) -> [f64; 3] {
        let mut waits: Vec<f64> = self
            .waits
            .iter()
            .map(|w| w.as_nanos() as f64 / 1e6)
            .collect();
        waits.sort_by(f64::total_cmp);
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        [mean, waits[waits.len() * 99 / 100], waits[waits.len() - 1]]
    }
}

/// Keeps `depth` commands in the drive, each ended one followed by the next of `make`, until
/// `count` have ended. `make` gets the tag.
pub fn closed_loop(
    drive: &mut dyn Drive,
    depth: u32,
    count: usize,
    mut make: impl FnMut(u32) -> Command,
) -> Loop {
    let mut found = Loop {
        waits: Vec::new(),
        done: Vec::new(),
        end: Instant::ZERO,
    };
    let mut starts = Vec::new();
    let mut start = |drive: &mut dyn Drive, now: Instant, starts: &mut Vec<Instant>| {
        drive.start(now, make(starts.len() as u32));
        starts.push(now);
    };
    for _ in 0..depth {
        start(drive, Instant::ZERO, &mut starts);
    }
    let mut done = Vec::new();
    while found.waits.len() < count {
        let now = drive.next().expect("commands are in the drive");
        drive.advance(now, &mut done);
        for finished in done.drain(..) {
            assert_eq!(finished.at, now);
            let wait = now.since(starts[finished.tag as usize]);
            let spent = finished.spent;
            let sum = spent.queued + spent.seek + spent.rotation + spent.transfer;
            assert_eq!(sum, wait, "{finished:?}");
            found.waits.push(wait);
            found.done.push(finished);
            found.end = now;
            start(drive, now, &mut starts);
        }
    }
    found
}

/// Random reads of 4 KiB in a region.
pub fn random_reads(drive: &mut dyn Drive, depth: u32, count: usize, sectors: u64) -> Loop {
    let mut draw = Draw::new(7);
    closed_loop(drive, depth, count, |tag| {
        command(tag, IoWay::Read, draw.below(sectors / 8) * 8, 8)
    })
}
