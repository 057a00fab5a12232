//! Both ends of a bulk transfer over a connection.

use crate::process::{Context, FileId, Interest, Op, Program, What};
use alloc::vec;
use domio_core::Instant;

/// Reads what a connection brings, a piece at a time, for ever. Before the first read the process
/// waits until there is something to read.
#[derive(Clone, Debug)]
pub struct StreamReader {
    socket: FileId,
    /// Bytes that each read asks for.
    piece: u64,
    began: bool,
}

impl StreamReader {
    /// Reads `socket` in pieces of `piece` bytes.
    ///
    /// # Panics
    /// When `piece` is zero.
    #[track_caller]
    pub fn new(socket: FileId, piece: u32) -> Self {
        assert!(piece > 0, "a read asks for at least a byte");
        StreamReader {
            socket,
            piece: u64::from(piece),
            began: false,
        }
    }
}

impl Program for StreamReader {
    fn name(&self) -> &'static str {
        "stream"
    }

    fn next(&mut self, _: &Context) -> Op {
        if !core::mem::replace(&mut self.began, true) {
            let any = vec![(self.socket, Interest::Readable)];
            let until = Instant::MAX;
            return Op::Wait { any, until };
        }
        let (offset, bytes) = (0, self.piece);
        self.socket.does(What::Read { offset, bytes })
    }
}

/// Writes to a connection, a piece at a time, for ever or until a time.
#[derive(Clone, Debug)]
pub struct StreamWriter {
    socket: FileId,
    /// Bytes that each write hands over.
    piece: u64,
    begin: Instant,
    end: Instant,
}

impl StreamWriter {
    /// Writes to `socket` in pieces of `piece` bytes, from `begin` on.
    ///
    /// # Panics
    /// When `piece` is zero.
    #[track_caller]
    pub fn new(socket: FileId, piece: u32, begin: Instant) -> Self {
        assert!(piece > 0, "a write hands over at least a byte");
        StreamWriter {
            socket,
            piece: u64::from(piece),
            begin,
            end: Instant::MAX,
        }
    }

    /// The same, which begins no write from `end` on and exits then.
    #[must_use]
    pub fn until(self, end: Instant) -> Self {
        StreamWriter { end, ..self }
    }
}

impl Program for StreamWriter {
    fn name(&self) -> &'static str {
        "stream-out"
    }

    fn next(&mut self, cx: &Context) -> Op {
        if cx.now < self.begin {
            return Op::SleepUntil(self.begin);
        }
        if cx.now >= self.end {
            return Op::Exit;
        }
        let (offset, bytes) = (0, self.piece);
        self.socket.does(What::Write { offset, bytes })
    }
}
