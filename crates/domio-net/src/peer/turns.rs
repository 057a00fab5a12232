//! Request and response: a client that asks again when it has its answer.

/// How far a client is that writes so many bytes and reads as many, in turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// Bytes of a request, and of an answer.
    bytes: u64,
    /// Bytes of the answer under way that have come.
    got: u64,
}

impl Turns {
    /// A client that has written its first request.
    pub fn new(bytes: u64) -> Self {
        Turns { bytes, got: 0 }
    }

    /// So many bytes have come, of one answer: what the client writes now.
    pub fn came(&mut self, bytes: u64) -> u64 {
        self.got += bytes;
        match self.got.checked_sub(self.bytes) {
            None => 0,
            Some(rest) => {
                self.got = rest;
                self.bytes
            }
        }
    }
}
