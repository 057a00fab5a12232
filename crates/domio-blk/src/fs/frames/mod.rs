//! Parts of calls: what each does next, and where it is. The file system continues with them; here
//! is only what they keep.

mod calls;
mod threads;

pub(super) use calls::{CallFrame, Create, Flush, Read, ReadFrame, Remove, RemoveFrame, Sync};
pub(super) use calls::{Write, WriteFrame};
pub(super) use threads::{BalanceFrame, CommitFrame, PassFrame, PdflushFrame, SpaceFrame, Which};

use super::wait::Wait;

/// A part of a call.
#[derive(Debug)]
pub(crate) enum Frame {
    /// A call of a process.
    Call(CallFrame),
    /// Reads the blocks of the task's list that are not cached, and makes them part of the running
    /// transaction if `join`.
    Touch { at: usize, join: bool },
    /// Opens a handle with so many credits.
    Start(u32),
    /// Frees space in the log.
    Space(SpaceFrame),
    /// Writes dirty pages.
    Pass(PassFrame),
    /// Holds a writer up while too much is dirty.
    Balance(BalanceFrame),
    /// `kjournald`.
    Commit(CommitFrame),
    /// A thread of `pdflush`.
    Pdflush(PdflushFrame),
}

/// What a frame does next.
#[derive(Debug)]
pub(crate) enum Flow {
    /// Submits what there is to submit, then continues.
    Again,
    /// Sleeps, then continues.
    Wait(Wait),
    /// Has another frame do its part, then continues.
    Call(Frame),
    /// Is done.
    Return,
    /// The whole call is done.
    Done(u64),
}
