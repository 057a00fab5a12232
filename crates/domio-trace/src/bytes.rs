//! A buffered input that knows its place and hands out bounded pieces.

use std::io::{self, Read};

/// First size of the buffer; it grows only to what [`ByteStream::fill`] is asked for.
const BUFFER: usize = 256 * 1024;

/// Reads ahead from an input; the caller looks at bytes before it takes them.
///
/// The input comes with each call that may read, and is the same in all of them. Decoders have no
/// type parameter for the input therefore: their code is compiled in this crate, and optimised as
/// this crate is.
pub(crate) struct ByteStream {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Place of `buffer[start]` in the file.
    offset: u64,
    at_end: bool,
}

impl ByteStream {
    pub(crate) fn new() -> Self {
        ByteStream {
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            offset: 0,
            at_end: false,
        }
    }

    /// Place of the next byte in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that are already buffered.
    #[inline]
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The next bytes of `read`, at least `n` of them unless the file ends before. The caller
    /// bounds `n`.
    #[inline]
    pub(crate) fn fill(&mut self, read: &mut dyn Read, n: usize) -> io::Result<&[u8]> {
        if self.end - self.start < n && !self.at_end {
            self.read_more(read, n)?;
        }
        Ok(self.buffered())
    }

    fn read_more(&mut self, read: &mut dyn Read, n: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < n {
            self.buffer.resize(n, 0);
        }
        while self.end < n {
            match read.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(got) => self.end += got,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Takes `n` bytes that [`ByteStream::fill`] has shown.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        assert!(n <= self.end - self.start, "consumed more than was filled");
        self.start += n;
        self.offset += n as u64;
    }
}

/// The little-endian u32 at `at`; the caller has checked the length.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..].first_chunk();
    u32::from_le_bytes(*four.expect("four bytes from there on"))
}

/// The little-endian u64 at `at`; the caller has checked the length.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes[at..].first_chunk();
    u64::from_le_bytes(*eight.expect("eight bytes from there on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte a call, as a slow pipe may.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            out[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn pieces_are_whole_although_the_input_drips() {
        let data: Vec<u8> = (0..=255).collect();
        let mut drip = Drip(&data);
        let mut s = ByteStream::new();
        assert_eq!(s.fill(&mut drip, 100).unwrap().len(), 100);
        s.consume(99);
        assert_eq!(s.offset(), 99);
        assert_eq!(s.fill(&mut drip, 157).unwrap(), &data[99..]);
        assert_eq!(
            s.fill(&mut drip, 158).unwrap().len(),
            157,
            "the file has no more"
        );
    }
}
