//! Requests of a trace, run against request layer, elevator and drive in virtual time.
//!
//! Whoever has a trace hands its requests over, in the order of their times
//! ([`TraceRig::offer`]), and takes out what happened ([`TraceRig::take`]). Memory does not
//! grow with the trace: at most [`WINDOW`] requests wait for their turn.
//!
//! | module | holds |
//! |---|---|
//! | `turns` | whose request goes when: at its time, or a gap after the one before |
//! | `rig` | queue and drive, and what became of each request |
//! | `fixed` | the plainest drive |

mod fixed;
mod rig;
mod turns;

pub use fixed::FixedDrive;
pub use rig::{RigConfig, TraceRig};
pub use turns::WINDOW;

use crate::drive::ServiceTime;
use crate::elevator::{IoWay, Submitter};
use domio_core::{Duration, Instant};

/// When the requests of a trace go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKind {
    /// At the time that the trace has, whatever became of those before.
    Open,
    /// A gap after the request before of the same submitter: after its end if the submitter waits
    /// for it, otherwise after it was submitted.
    Closed,
}

/// A request of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceIo {
    /// Time in the trace.
    pub at: Instant,
    /// Time in the trace between what the submitter waited for last and this request.
    pub gap: Duration,
    /// Direction.
    pub way: IoWay,
    /// The sync flag, of writes.
    pub sync: bool,
    /// Metadata of a file system.
    pub meta: bool,
    /// The submitter waits until the request is finished.
    pub awaited: bool,
    /// First sector (512 bytes).
    pub sector: u64,
    /// Number of sectors, at least 1.
    pub sectors: u32,
    /// Whose request it is.
    pub submitter: Submitter,
    /// A word of the caller's, which comes back with what happened.
    pub word: u32,
}

/// What happened to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceAct {
    /// It was handed to the request layer.
    Queued,
    /// It went into a request that was there, right after it was queued.
    Merged,
    /// Its submitter sleeps for want of a request, right after it was queued.
    Asleep,
    /// The driver took the request, with all that is merged into it.
    Issued,
    /// The drive has finished the request, with all that is merged into it.
    Completed {
        /// What its time in the drive went to.
        spent: ServiceTime,
        /// The drive's cache had the data, or room for the data.
        cached: bool,
    },
}

/// Something that happened, when, and to what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Happened {
    /// When.
    pub at: Instant,
    /// What.
    pub act: TraceAct,
    /// Direction.
    pub way: IoWay,
    /// The sync flag.
    pub sync: bool,
    /// Metadata of a file system.
    pub meta: bool,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// The caller's word: of a request the one of its first bio.
    pub word: u32,
}
