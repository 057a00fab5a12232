//! A page of a browser keeps all in memory, and does not unpack zstd.

use std::io::{self, Cursor, Read};

/// Most bytes that are unpacked or taken from a pipe, where the format needs a file.
pub const MOST_SPOOLED: u64 = 512 << 20;

/// A file in memory.
pub fn spool() -> Cursor<Vec<u8>> {
    Cursor::default()
}

fn no_zstd<T>() -> io::Result<T> {
    let why = "zstd is not unpacked in a browser: unpack the trace first, or convert it";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// Refuses to unpack a whole file.
pub fn zstd_reader<R: Read>(_packed: R) -> io::Result<io::Empty> {
    no_zstd()
}

/// Refuses to unpack blocks.
pub(crate) struct ZstdBlocks;

impl ZstdBlocks {
    pub fn new() -> io::Result<ZstdBlocks> {
        no_zstd()
    }

    pub fn unpack(&mut self, _from: &[u8], _into: &mut Vec<u8>) -> io::Result<usize> {
        no_zstd()
    }
}

/// Refuses to unpack a stream.
pub(crate) struct ZstdStream;

impl ZstdStream {
    pub fn new() -> io::Result<ZstdStream> {
        no_zstd()
    }

    pub fn piece(&mut self, _from: &[u8], _into: &mut [u8]) -> io::Result<(usize, usize)> {
        no_zstd()
    }
}
