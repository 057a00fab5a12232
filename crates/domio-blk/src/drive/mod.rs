//! Drives: what executes commands behind a request layer. A disk with an arm, a flash drive, an
//! array.
//!
//! A drive is free of the simulator, as elevators are: the owner gives the time with each call,
//! asks [`Drive::next`] when to come back, and takes finished commands out of [`Drive::advance`].
//!
//! | module | holds |
//! |---|---|
//! | [`disk`] | a mechanical disk |
//! | [`flash`] | a flash drive: SSD, NVMe |
//! | [`array`](mod@array) | an array of disks behind a network |
//! | `registry` | drives by name |
//! | `keys` | how a table asks for a drive |

pub mod array;
pub mod disk;
pub mod flash;
mod keys;
mod registry;

pub use keys::DRIVE;
pub use registry::{DRIVES, DriveConfig, DriveProfile, find_drive};

use crate::elevator::IoWay;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt::Debug;
use domio_core::{Duration, Instant};

/// A command, as the driver hands it to the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// The owner's name for the command, which no other command in the drive has.
    pub tag: u32,
    /// First sector (512 bytes).
    pub sector: u64,
    /// Number of sectors, at least 1.
    pub sectors: u32,
    /// Direction.
    pub way: IoWay,
}

/// What the time in a drive was spent on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ServiceTime {
    /// Waiting in the drive while other commands were served.
    pub queued: Duration,
    /// Moving the arm or changing heads, and settling.
    pub seek: Duration,
    /// Waiting for the platter to turn.
    pub rotation: Duration,
    /// Everything else: commands, transfer, memory cells, cache.
    pub transfer: Duration,
}

/// A command that a drive has finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FinishedCommand {
    /// The owner's name for the command.
    pub tag: u32,
    /// When the drive had finished: not after the time of the call that tells.
    pub at: Instant,
    /// What its time went to.
    pub spent: ServiceTime,
    /// The drive's cache had the data, or room for the data.
    pub cached: bool,
}

/// A drive.
///
/// Order of calls: any number of [`Drive::start`] with times that never go back, each after an
/// [`Drive::advance`] to that time; [`Drive::advance`] at [`Drive::next`] at the latest.
pub trait Drive: Send + Debug {
    /// Number of sectors.
    fn sectors(&self) -> u64;

    /// Commands that the drive holds at a time, at least 1.
    fn depth(&self) -> u32;

    /// A command comes at `now`. There are fewer than [`Drive::depth`] in the drive.
    fn start(&mut self, now: Instant, command: Command);

    /// When something happens next; `None` while the drive has nothing to do.
    fn next(&self) -> Option<Instant>;

    /// Continues until `now`, and appends commands that are finished by then to `done`, in the
    /// order of their ends.
    fn advance(&mut self, now: Instant, done: &mut Vec<FinishedCommand>);
}

/// Sectors that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectorRange {
    /// The first sector.
    pub start: u64,
    /// The sector behind.
    pub end: u64,
}

impl SectorRange {
    /// So many sectors from `start` on.
    pub fn new(start: u64, sectors: u64) -> SectorRange {
        let end = start + sectors;
        SectorRange { start, end }
    }

    /// The sectors of a command.
    fn of(command: &Command) -> SectorRange {
        SectorRange::new(command.sector, command.sectors.into())
    }

    fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether both have a sector in common.
    fn meets(self, other: SectorRange) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The least range with both.
    fn around(self, other: SectorRange) -> SectorRange {
        SectorRange {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// Puts a command with its time behind all that are finished by then.
fn insert_finished(finished: &mut VecDeque<FinishedCommand>, one: FinishedCommand) {
    let at = finished.partition_point(|other| other.at <= one.at);
    finished.insert(at, one);
}
