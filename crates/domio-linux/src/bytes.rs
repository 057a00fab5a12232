//! Numbers and texts in bytes of either endianness.

use crate::error::{LinuxError, cut};

/// The order of bytes in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Endian {
    Little,
    Big,
}

impl Endian {
    pub fn u16(self, b: [u8; 2]) -> u16 {
        match self {
            Endian::Little => u16::from_le_bytes(b),
            Endian::Big => u16::from_be_bytes(b),
        }
    }

    pub fn u32(self, b: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(b),
            Endian::Big => u32::from_be_bytes(b),
        }
    }

    pub fn u64(self, b: [u8; 8]) -> u64 {
        match self {
            Endian::Little => u64::from_le_bytes(b),
            Endian::Big => u64::from_be_bytes(b),
        }
    }
}

/// The array at `at`, if `data` has one there.
#[inline]
pub fn array<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk::<N>().copied()
}

/// Text up to the first zero, without bytes that are no UTF-8.
pub fn text(data: &[u8]) -> String {
    let end = data.iter().position(|b| *b == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).trim_end().to_string()
}

/// Reads a part of a file from its start to its end.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
    /// Where `data` starts in the file.
    base: u64,
    /// What `data` is, for errors.
    what: &'static str,
    endian: Endian,
}

impl<'a> Cursor<'a> {
    pub fn new(data: &'a [u8], base: u64, what: &'static str, endian: Endian) -> Self {
        Cursor {
            data,
            at: 0,
            base,
            what,
            endian,
        }
    }

    pub fn set_endian(&mut self, endian: Endian) {
        self.endian = endian;
    }

    /// Where the next byte is in the file.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    pub fn left(&self) -> usize {
        self.data.len() - self.at
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.data[self.at..]
    }

    pub fn take(&mut self, n: u64) -> Result<&'a [u8], LinuxError> {
        let left = self.left() as u64;
        if n > left {
            return Err(cut(self.what, n, left, self.offset()));
        }
        let part = &self.data[self.at..self.at + n as usize];
        self.at += n as usize;
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], LinuxError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N as u64)?);
        Ok(out)
    }

    pub fn u8(&mut self) -> Result<u8, LinuxError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16, LinuxError> {
        Ok(self.endian.u16(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, LinuxError> {
        Ok(self.endian.u32(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, LinuxError> {
        Ok(self.endian.u64(self.array()?))
    }

    /// Text that ends with a zero.
    pub fn string(&mut self) -> Result<&'a [u8], LinuxError> {
        let rest = self.rest();
        match memchr::memchr(0, rest) {
            Some(n) => {
                self.at += n + 1;
                Ok(&rest[..n])
            }
            None => Err(cut(
                self.what,
                rest.len() as u64 + 1,
                rest.len() as u64,
                self.offset(),
            )),
        }
    }
}
