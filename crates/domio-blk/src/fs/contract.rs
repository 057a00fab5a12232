//! How a file system is driven: tasks, their calls, and the steps that a call consists of.
//!
//! A task is a process from [`FIRST_PROCESS`] on, or a thread of the file system. Its owner
//!
//! 1. begins a call ([`super::FileSystem::begin`]) and asks for steps
//!    ([`super::FileSystem::step`]) until one is [`FsStep::Done`] or [`FsStep::Sleep`];
//! 2. asks a sleeper for steps again once the file system has woken the task
//!    ([`super::FileSystem::take_woken`], after every other call); that goes for threads too,
//!    which sleep when they have nothing to do;
//! 3. reports each bio that is done ([`super::FileSystem::bio_done`]), under the tag that the bio
//!    had;
//! 4. calls [`super::FileSystem::timer`] at [`super::FileSystem::next_timer`] at the latest.

use crate::elevator::{Bio, Submitter};
use domio_core::Duration;

/// What a process asks of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileOp {
    /// Makes an empty file in a directory. Returns the number of the file, from 1; 0 when the disk
    /// is full.
    Create {
        /// Number of the directory: 0 is the root, odd numbers are directories in the root, even
        /// ones are inside a directory of the root.
        directory: u32,
    },
    /// Removes a file. Returns 0.
    Remove {
        /// Number of the file.
        file: u32,
    },
    /// Reads. Returns the bytes that there were: 0 at the end of the file.
    Read {
        /// Number of the file.
        file: u32,
        /// Where in the file (bytes).
        offset: u64,
        /// Most bytes.
        bytes: u64,
    },
    /// Writes; a file grows when written behind its end. Returns the bytes written:
    /// fewer than asked for when the disk is full.
    Write {
        /// Number of the file.
        file: u32,
        /// Where in the file (bytes).
        offset: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Returns when everything of the file that was written is on the disk (`fsync`).
    Flush {
        /// Number of the file.
        file: u32,
    },
    /// Returns when everything that was written is on the disk (`sync`).
    Sync,
    /// Returns the size of the file (bytes).
    Size {
        /// Number of the file.
        file: u32,
    },
}

/// The next thing that a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FsStep {
    /// Executes for this long, then asks for the next step.
    Run(Duration),
    /// Submits this bio with the tag that is in it; if the request layer has no room, the task
    /// sleeps until it has. Then the next step.
    Submit(Bio),
    /// Takes the plug out of the request layer, as who waits for data does. Then the next step.
    Unplug,
    /// Sleeps until the file system wakes this task.
    Sleep,
    /// The call returns this value. Threads never end.
    Done(u64),
}

/// What a file system sees of the request layer below.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueCongestion {
    /// Readers should hold back (`bdi_read_congested`).
    pub read: bool,
    /// Writers should hold back (`bdi_write_congested`).
    pub write: bool,
}

/// `kjournald`: commits transactions.
pub const KJOURNALD: Submitter = Submitter(0);

/// The threads of `pdflush`, from [`Submitter`] 1 on. One of them works on a disk at a time
/// (`writeback_acquire`), so that the kernel's further six would find nothing to do.
pub const PDFLUSH: [Submitter; 2] = [Submitter(1), Submitter(2)];

/// Number of the first process; the numbers before are threads of the file system.
pub const FIRST_PROCESS: Submitter = Submitter(3);
