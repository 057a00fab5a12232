//! Records that are packed with zstd, as one stream through the whole file.

use std::io;

use crate::platform::ZstdStream;

/// Unpacks the stream, a piece at a time.
pub(crate) struct Unpacker {
    stream: ZstdStream,
    piece: Vec<u8>,
}

impl Unpacker {
    pub fn new() -> io::Result<Unpacker> {
        Ok(Unpacker {
            stream: ZstdStream::new()?,
            piece: vec![0; 128 << 10],
        })
    }

    /// Unpacks from the start of `from`. Returns the number of bytes that were used, and what came
    /// out; nothing of both when all came out.
    pub fn piece(&mut self, from: &[u8]) -> io::Result<(usize, &[u8])> {
        let (used, out) = self.stream.piece(from, &mut self.piece)?;
        Ok((used, &self.piece[..out]))
    }
}
