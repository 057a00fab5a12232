//! A file that somebody else still writes.

use crate::input::Stream;
use crate::interrupt;
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(20);

/// Reads on where the file ended before, as bytes come.
///
/// A reader of traces that asks for the rest of a record waits here until it is there, so that half
/// a record is never taken for the end. The file ends when it is idle for too long and when the
/// program is interrupted. A file that has become shorter than what was read is an error.
pub struct Growing {
    file: Stream,
    read: u64,
    idle: Option<Duration>,
}

impl Growing {
    /// Ends when nothing has come for `idle`, if that is given.
    pub fn new(file: Stream, idle: Option<Duration>) -> Self {
        Growing {
            file,
            read: 0,
            idle,
        }
    }

    fn has_shrunk(&self) -> bool {
        self.file.size().is_some_and(|size| size < self.read)
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let since = Instant::now();
        loop {
            let read = self.file.read(buffer)?;
            self.read += read as u64;
            let idle = self.idle.is_some_and(|idle| since.elapsed() >= idle);
            if read > 0 || buffer.is_empty() || idle || interrupt::has_ended_input() {
                return Ok(read);
            }
            if self.has_shrunk() {
                return Err(io::Error::other(
                    "the file has become shorter while it was read; follow the new one",
                ));
            }
            std::thread::sleep(PAUSE);
        }
    }
}
