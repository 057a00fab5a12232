//! Where a call of a process is.

use crate::fs::config::PAGE;
use crate::fs::contract::FileOp;

/// A call, and where it is.
#[derive(Debug)]
pub(crate) enum CallFrame {
    Create(u32, Create),
    Remove(RemoveFrame),
    Read(ReadFrame),
    Write(WriteFrame),
    Flush(u32, Flush),
    Sync(Sync),
    Size(u32, bool),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Create {
    Hold,
    Begin(usize),
    Change(usize),
    Close(usize, u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Flush {
    Write,
    Commit,
    Wait,
    Done,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Sync {
    Write,
    Commit,
    WriteHome,
    Wait,
    Done,
}

impl CallFrame {
    /// The first frame of a call.
    pub fn new(op: FileOp) -> Self {
        match op {
            FileOp::Create { directory } => CallFrame::Create(directory, Create::Hold),
            FileOp::Remove { file } => CallFrame::Remove(RemoveFrame::new(file)),
            FileOp::Read {
                file,
                offset,
                bytes,
            } => CallFrame::Read(ReadFrame::new(file, offset, bytes)),
            FileOp::Write {
                file,
                offset,
                bytes,
            } => CallFrame::Write(WriteFrame::new(file, offset, bytes)),
            FileOp::Flush { file } => CallFrame::Flush(file, Flush::Write),
            FileOp::Sync => CallFrame::Sync(Sync::Write),
            FileOp::Size { file } => CallFrame::Size(file, false),
        }
    }
}

/// A read, and where it is.
#[derive(Debug)]
pub(crate) struct ReadFrame {
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
    pub step: Read,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    Open,
    Begin,
    /// The next page, and the one behind the last.
    Page(u64, u64),
    Stamp,
    Change,
    Close,
}

impl ReadFrame {
    pub fn new(file: u32, offset: u64, bytes: u64) -> Self {
        ReadFrame {
            file,
            offset,
            bytes,
            step: Read::Open,
        }
    }
}

/// A write, and where it is.
#[derive(Debug)]
pub(crate) struct WriteFrame {
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
    /// The page that is written.
    pub page: u64,
    pub step: Write,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Write {
    Open,
    Hold,
    /// Opens the handle of a page.
    Start,
    /// Finds or makes the page.
    Prepare,
    /// Makes the page dirty.
    Commit,
    /// Changes the inode.
    Stamp,
    Close,
    Next,
}

impl WriteFrame {
    pub fn new(file: u32, offset: u64, bytes: u64) -> Self {
        WriteFrame {
            file,
            offset,
            bytes,
            page: offset / PAGE,
            step: Write::Open,
        }
    }

    /// Whether the write covers the whole of its page.
    pub fn is_whole(&self) -> bool {
        let start = self.page * PAGE;
        self.offset <= start && start + PAGE <= self.offset + self.bytes
    }

    /// Where the write ends, as far as this page.
    pub fn end(&self) -> u64 {
        (self.offset + self.bytes).min((self.page + 1) * PAGE)
    }
}

/// A removal, and where it is.
#[derive(Debug)]
pub(crate) struct RemoveFrame {
    pub file: u32,
    pub step: Remove,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Remove {
    Find,
    Hold,
    Start,
    Unlink,
    Unlinked,
    Own,
    /// Drops the page: the number of the run, and the place in it.
    Drop(usize, u32),
    StartFree,
    Free,
    Freed,
}

impl RemoveFrame {
    pub fn new(file: u32) -> Self {
        RemoveFrame {
            file,
            step: Remove::Find,
        }
    }
}
