//! Where somebody is who writes pages or commits: a thread, or a process that is held up.

use alloc::vec::Vec;
use domio_core::Instant;

/// Which pages a pass writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// Of files that became dirty before this time; stops when the queue is congested.
    Old(Instant),
    /// Any; stops when the queue is congested.
    Background,
    /// Any.
    Throttled,
    /// All, also those that are being written: waits for them first.
    All,
    /// All of this file, likewise.
    File(u32),
}

/// A pass over dirty files.
#[derive(Debug)]
pub(crate) struct PassFrame {
    pub which: Which,
    pub left: u32,
    pub congested: bool,
    /// The file that is written, and since when it was dirty.
    pub file: Option<(u32, Instant)>,
    /// Its blocks in the order of the disk, and the next one.
    pub blocks: Vec<u32>,
    pub at: usize,
    /// Blocks that stay dirty.
    pub kept: Vec<u32>,
    pub began: bool,
    pub submitted: bool,
}

impl PassFrame {
    /// Writes `left` pages at most.
    pub fn new(which: Which, left: u32) -> Self {
        PassFrame {
            which,
            left,
            congested: false,
            file: None,
            blocks: Vec::new(),
            at: 0,
            kept: Vec::new(),
            began: false,
            submitted: false,
        }
    }

    pub fn is_patient(&self) -> bool {
        !matches!(self.which, Which::Old(_) | Which::Background)
    }

    pub fn waits(&self) -> bool {
        matches!(self.which, Which::All | Which::File(_))
    }
}

/// Where a commit is; the number is the next block of a list.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) enum CommitFrame {
    #[default]
    Idle,
    Locked,
    Data(usize),
    DataWritten(usize),
    Log(usize),
    Logged,
    Record,
}

/// Where a task that makes room is; the number is the next block of the oldest transaction.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) enum SpaceFrame {
    #[default]
    Begin,
    Look,
    Submit(usize),
    Written(usize),
}

/// Where a thread is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) enum PdflushFrame {
    #[default]
    Idle,
    /// Before a pass: the time of the look, and pages that it may write yet.
    Old(Instant, u32),
    OldPassed(Instant, u32),
    Background,
    BackgroundPassed,
    /// After a wait for room: whether that was because the queue was congested.
    BackgroundWaited(bool),
}

/// Where a writer is that looks at the limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BalanceFrame {
    pub written: u32,
    pub passed: bool,
}

impl BalanceFrame {
    /// Before the first look.
    pub fn new() -> Self {
        BalanceFrame {
            written: 0,
            passed: false,
        }
    }
}
