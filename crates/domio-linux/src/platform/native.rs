//! zstd by its own library, and temporary files without a name.

use std::io::{self, Read};

use zstd::stream::raw::Operation;

/// Most bytes that are unpacked or taken from a pipe, where the format needs a file.
pub const MOST_SPOOLED: u64 = 8 << 30;
/// Most of these bytes that are kept in memory; more go to a temporary file.
const IN_MEMORY: usize = 64 << 20;

/// A file that vanishes when it is closed.
pub fn spool() -> tempfile::SpooledTempFile {
    tempfile::spooled_tempfile(IN_MEMORY)
}

/// Unpacks a whole file.
pub fn zstd_reader<R: Read>(packed: R) -> io::Result<impl Read + use<R>> {
    zstd::stream::read::Decoder::new(packed)
}

/// Unpacks blocks that do not depend on each other.
pub(crate) struct ZstdBlocks(zstd::bulk::Decompressor<'static>);

impl ZstdBlocks {
    pub fn new() -> io::Result<ZstdBlocks> {
        Ok(ZstdBlocks(zstd::bulk::Decompressor::new()?))
    }

    /// Unpacks one block into `into`, as far as there is room.
    pub fn unpack(&mut self, from: &[u8], into: &mut Vec<u8>) -> io::Result<usize> {
        self.0.decompress_to_buffer(from, into)
    }
}

/// Unpacks a stream, a piece at a time.
pub(crate) struct ZstdStream(zstd::stream::raw::Decoder<'static>);

impl ZstdStream {
    pub fn new() -> io::Result<ZstdStream> {
        Ok(ZstdStream(zstd::stream::raw::Decoder::new()?))
    }

    /// Unpacks from the start of `from`. Returns the bytes that were used, and those that came out.
    pub fn piece(&mut self, from: &[u8], into: &mut [u8]) -> io::Result<(usize, usize)> {
        let status = self.0.run_on_buffers(from, into)?;
        Ok((status.bytes_read, status.bytes_written))
    }
}
