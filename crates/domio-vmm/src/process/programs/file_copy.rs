//! Reads or writes a file from beginning to end, as `dd` does: one that is there, or a new one.

use crate::process::{Context, FileId, Op, Program, What};
use domio_core::{Duration, Instant};

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyDirection {
    /// From the file: `dd if=FILE of=/dev/null`.
    Read,
    /// To the file: `dd if=/dev/zero of=FILE`.
    Write,
}

/// Goes through a file once, a block at a time, and ends. Each block is reported as a job, from the
/// call to the return.
#[derive(Clone, Debug)]
pub struct FileCopy {
    file: FileId,
    direction: CopyDirection,
    /// Bytes of a block.
    block: u64,
    /// Bytes of the file.
    bytes: u64,
    done: u64,
    /// The file is to be made first.
    makes: Making,
    /// What was written is to reach the disk at the end (`conv=fsync`).
    syncs: bool,
    /// When the call under way began.
    since: Option<Instant>,
}

/// Whether there is a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Making {
    /// It is to be made in the file system that the named file belongs to.
    Wanted,
    /// It is being made.
    Asked,
    /// There is one.
    Done,
}

impl FileCopy {
    /// Goes through the first `bytes` of `file` in blocks of `block` bytes.
    ///
    /// # Panics
    /// When `block` is zero.
    #[track_caller]
    pub fn new(file: FileId, direction: CopyDirection, block: u64, bytes: u64) -> Self {
        assert!(block > 0, "a block has at least a byte");
        FileCopy {
            file,
            direction,
            block,
            bytes,
            done: 0,
            makes: Making::Done,
            syncs: false,
            since: None,
        }
    }

    /// The same with a new file, in the first directory of the file system of the named one.
    #[must_use]
    pub fn into_new_file(self) -> Self {
        FileCopy {
            makes: Making::Wanted,
            ..self
        }
    }

    /// The same, which waits at the end until what was written is on the disk.
    #[must_use]
    pub fn synced(self) -> Self {
        FileCopy {
            syncs: true,
            ..self
        }
    }
}

impl Program for FileCopy {
    fn name(&self) -> &'static str {
        "dd"
    }

    fn next(&mut self, cx: &Context) -> Op {
        if let Some(released) = self.since.take() {
            // The end of the file, or of the medium, ends the program.
            self.done = match cx.returned {
                0 => self.bytes,
                moved => self.done + moved,
            };
            let work = Duration::ZERO;
            return Op::Report { released, work };
        }
        match self.makes {
            Making::Wanted => {
                self.makes = Making::Asked;
                return self.file.does(What::Create { directory: 0 });
            }
            // The disk is full.
            Making::Asked if cx.returned as u32 == self.file.file => return Op::Exit,
            Making::Asked => {
                self.makes = Making::Done;
                self.file.file = cx.returned as u32;
            }
            Making::Done => {}
        }
        if self.done >= self.bytes {
            if !core::mem::take(&mut self.syncs) {
                return Op::Exit;
            }
            return self.file.does(What::Sync);
        }
        self.since = Some(cx.now);
        let (offset, bytes) = (self.done, self.block.min(self.bytes - self.done));
        self.file.does(match self.direction {
            CopyDirection::Read => What::Read { offset, bytes },
            CopyDirection::Write => What::Write { offset, bytes },
        })
    }
}
