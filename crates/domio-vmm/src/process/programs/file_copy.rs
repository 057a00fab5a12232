//! Reads or writes a file from beginning to end, as `dd` does.

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
    /// When the call under way began.
    since: Option<Instant>,
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
            since: None,
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
        if self.done >= self.bytes {
            return Op::Exit;
        }
        self.since = Some(cx.now);
        let (offset, bytes) = (self.done, self.block.min(self.bytes - self.done));
        self.file.does(match self.direction {
            CopyDirection::Read => What::Read { offset, bytes },
            CopyDirection::Write => What::Write { offset, bytes },
        })
    }
}
