//! Packed parts of version 7: chunks of zstd or zlib, each with both of its sizes.

use std::io::{Read, Write};

use crate::bytes::{Cursor, Endian};
use crate::error::{LinuxError, LinuxErrorKind, cut, damaged};
use crate::input::{Flow, Place};
use crate::platform::{ZstdBlocks, spool};

/// Largest packed section that is believed.
const MOST: u32 = 256 << 20;
/// Largest chunk of pages that is believed. trace-cmd packs ten pages at a time; as many chunks as
/// there are cpus are in memory.
pub(crate) const MOST_CHUNK: u32 = 16 << 20;

/// How parts are packed.
pub(crate) enum Packer {
    None,
    Zlib,
    Zstd(ZstdBlocks),
}

impl Packer {
    /// By the name in the head.
    pub fn new(name: &[u8], at: u64) -> Result<Packer, LinuxError> {
        match name {
            b"none" | b"" => Ok(Packer::None),
            b"zlib" => Ok(Packer::Zlib),
            b"zstd" => Ok(Packer::Zstd(ZstdBlocks::new()?)),
            other => Err(LinuxErrorKind::Unusable(format!(
                "trace.dat is packed with {}, at byte {at}; zstd, zlib and none are read: convert \
                 the file with `trace-cmd convert --compression zstd`",
                String::from_utf8_lossy(&other[..other.len().min(16)])
            ))
            .at(at)),
        }
    }

    /// Unpacks `from` into `into`, at most `size` bytes.
    fn unpack(
        &mut self,
        from: &[u8],
        size: u32,
        into: &mut Vec<u8>,
        at: u64,
    ) -> Result<(), LinuxError> {
        into.clear();
        let done = match self {
            Packer::None => {
                into.extend_from_slice(from);
                Ok(())
            }
            Packer::Zlib => {
                let unpacked = flate2::read::ZlibDecoder::new(from);
                unpacked.take(u64::from(size)).read_to_end(into).map(drop)
            }
            // Zstd's worst case is bounded by the sizes of its blocks, so that a claim far above
            // the packed size is false.
            Packer::Zstd(_) if size as usize / 70_000 > from.len() => {
                return Err(damaged(
                    "packed chunk",
                    "a size that zstd can reach",
                    size,
                    at,
                ));
            }
            Packer::Zstd(unpacker) => {
                into.reserve(size as usize);
                unpacker.unpack(from, into).map(drop)
            }
        };
        done.map_err(|e| damaged("packed chunk", "data of zstd or zlib", e, at))
    }

    /// Reads and unpacks the chunk at `at`. Returns where the next chunk is.
    pub fn chunk(
        &mut self,
        place: &mut Place,
        at: u64,
        most: u32,
        endian: Endian,
        into: &mut Vec<u8>,
    ) -> Result<u64, LinuxError> {
        let head = place.part("packed chunk", at, 8)?;
        let mut cursor = Cursor::new(&head, at, "packed chunk", endian);
        let (packed, size) = (cursor.u32()?, cursor.u32()?);
        if size > most {
            let expected = "a chunk of 16 MiB, or a section of 256 MiB, at most";
            let found = format!("{packed} bytes for {size}");
            return Err(damaged("packed chunk", expected, found, at));
        }
        let data = place.part("packed chunk", at + 8, u64::from(packed))?;
        self.unpack(&data, size, into, at)?;
        Ok(at + 8 + u64::from(packed))
    }

    /// The data of a section with its head at `offset`.
    pub fn section(
        &mut self,
        place: &mut Place,
        offset: u64,
        expected: u16,
        endian: Endian,
    ) -> Result<(Vec<u8>, u64), LinuxError> {
        let (packed, size) = section_head(place, offset, expected, endian)?;
        let at = offset + 16;
        if !packed {
            return Ok((place.part("section", at, size)?, at));
        }
        let mut data = Vec::new();
        self.chunk(place, at, MOST, endian, &mut data)?;
        Ok((data, at))
    }

    /// The text at `offset`, which a latency tracer wrote, as a flow.
    pub fn text(mut self, mut place: Place, offset: u64, packed: bool) -> Result<Flow, LinuxError> {
        if !packed {
            let end = place.len;
            return Ok(Flow::of_place(place, offset, end));
        }
        let endian = Endian::Little;
        let count = place.part("packed text", offset, 4)?;
        let count = Cursor::new(&count, offset, "packed text", endian).u32()?;
        let mut text = spool();
        let (mut at, mut chunk) = (offset + 4, Vec::new());
        for _ in 0..count {
            at = self.chunk(&mut place, at, MOST_CHUNK, endian, &mut chunk)?;
            text.write_all(&chunk)?;
        }
        let text = Place::new(text)?;
        let end = text.len;
        Ok(Flow::of_place(text, 0, end))
    }
}

/// Head of a section: whether it is packed, and its size.
pub fn section_head(
    place: &mut Place,
    offset: u64,
    expected: u16,
    endian: Endian,
) -> Result<(bool, u64), LinuxError> {
    if offset >= place.len {
        return Err(cut("section", 16, 0, offset));
    }
    let head = place.part("head of a section", offset, 16)?;
    let mut cursor = Cursor::new(&head, offset, "head of a section", endian);
    let (id, flags) = (cursor.u16()?, cursor.u16()?);
    if id != expected {
        let what = "kind of a section";
        return Err(damaged(what, "the kind that the options name", id, offset));
    }
    cursor.u32()?;
    Ok((flags & 1 != 0, cursor.u64()?))
}
