//! What tasks sleep for.

use domio_core::Instant;

/// Something that one task changes at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lock {
    Directory(u32),
    File(u32),
    /// The right to free space of the log.
    Checkpoint,
}

/// What a task sleeps for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// The data of a block has been read.
    Read(u32),
    /// A block is not being written.
    Written(u32),
    /// The task's own bios are done.
    Own,
    /// Nobody holds this.
    Held(Lock),
    /// This transaction takes no handles any more and another one may.
    NextTransaction(u32),
    /// The running transaction has no open handle.
    NoHandles,
    /// This transaction is committed.
    Committed(u32),
    /// No block of the committing transaction is being written to the log.
    Logged,
    /// No page of a file is being written.
    FileWritten(u32),
    /// All bios up to this one are done.
    Through(u64),
    /// The queue has room for writes, or this time has come.
    Room(Instant),
    /// There is something to do for a thread.
    Work,
}

/// Queues of sleepers that an event wakes all together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Released,
    Switched,
    HandlesClosed,
    Committed,
    Logged,
    FileWritten,
    BioDone,
    Room,
}

impl Event {
    pub const COUNT: usize = 8;
}

impl Wait {
    /// Whether the sleeper takes the plug out of the request layer before.
    pub fn is_for_data(self) -> bool {
        matches!(
            self,
            Wait::Read(_) | Wait::Written(_) | Wait::Own | Wait::FileWritten(_) | Wait::Through(_)
        )
    }

    /// The queue to sleep in; `None` for a queue of the page's, or the task's own.
    pub fn event(self) -> Option<Event> {
        match self {
            Wait::Read(_) | Wait::Written(_) | Wait::Own | Wait::Work => None,
            Wait::Held(_) => Some(Event::Released),
            Wait::NextTransaction(_) => Some(Event::Switched),
            Wait::NoHandles => Some(Event::HandlesClosed),
            Wait::Committed(_) => Some(Event::Committed),
            Wait::Logged => Some(Event::Logged),
            Wait::FileWritten(_) => Some(Event::FileWritten),
            Wait::Through(_) => Some(Event::BioDone),
            Wait::Room(_) => Some(Event::Room),
        }
    }
}
