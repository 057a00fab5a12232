//! The events of one cpu in one buffer, page after page.

use std::ops::Range;

use super::packed::{MOST_CHUNK, Packer};
use super::parts::Part;
use crate::bytes::Cursor;
use crate::error::LinuxError;
use crate::input::Place;
use crate::known::Known;
use crate::tracefs::page::{PageCursor, PageLayout, Step};

/// Bytes that are read at a time.
const BLOCK: usize = 128 << 10;

/// What is missing at the end of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Missing {
    pub expected: u64,
    pub found: u64,
}

pub(crate) struct Stream {
    pub part: Part,
    /// Where the next bytes are in the file.
    next: u64,
    end: u64,
    /// Chunks that are left, of a packed part.
    chunks: u32,
    /// Whole pages, unpacked.
    block: Vec<u8>,
    /// Where `block` is from in the file.
    block_at: u64,
    /// Where the next page starts in `block`.
    page: usize,
    cursor: PageCursor,
    event: Range<usize>,
    /// Events that are missing before the current event.
    pub lost: Option<u64>,
    pub missing: Option<Missing>,
}

impl Stream {
    /// Starts before the first event.
    pub fn new(part: Part, place: &mut Place, page: &PageLayout) -> Result<Stream, LinuxError> {
        let whole = part.offset.saturating_add(part.size);
        let end = whole.min(place.len);
        let mut stream = Stream {
            part,
            next: part.offset,
            end,
            chunks: 0,
            block: Vec::new(),
            block_at: part.offset,
            page: 0,
            cursor: PageCursor::default(),
            event: 0..0,
            lost: None,
            missing: None,
        };
        if end < whole && part.size > 0 {
            stream.missing = Some(Missing {
                expected: part.size,
                found: end.saturating_sub(part.offset),
            });
        }
        if part.packed && part.size > 0 {
            match place.part("packed pages", part.offset, 4) {
                Ok(count) => {
                    let mut cursor = Cursor::new(&count, 0, "packed pages", page.endian);
                    stream.chunks = cursor.u32()?;
                    stream.next += 4;
                }
                Err(error) if error.is_truncation() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(stream)
    }

    /// The time of the current event, in units of the recorder's clock.
    #[inline]
    pub fn time(&self) -> u64 {
        self.cursor.time
    }

    /// The bytes of the current event.
    #[inline]
    pub fn event(&self) -> &[u8] {
        &self.block[self.event.clone()]
    }

    /// Where the current event's page is in the file, as near as packing allows.
    pub fn place(&self) -> u64 {
        match self.part.packed {
            true => self.block_at,
            false => self.block_at + self.event.start as u64,
        }
    }

    /// Goes to the next event; false at the end.
    #[inline]
    pub fn advance(
        &mut self,
        place: &mut Place,
        layout: &PageLayout,
        packer: &mut Packer,
        known: &mut Known,
    ) -> Result<bool, LinuxError> {
        loop {
            match self.cursor.step(&self.block, layout.endian) {
                Step::Event(event) => {
                    self.event = event;
                    return Ok(true);
                }
                Step::End => {}
                Step::Damaged => known.damage.skip(
                    "rests of pages with an entry that is too long",
                    self.place(),
                ),
            }
            if !self.next_page(place, layout, packer, known)? {
                return Ok(false);
            }
        }
    }

    #[cold]
    fn next_page(
        &mut self,
        place: &mut Place,
        layout: &PageLayout,
        packer: &mut Packer,
        known: &mut Known,
    ) -> Result<bool, LinuxError> {
        loop {
            if self.page + layout.size > self.block.len()
                && !self.next_block(place, layout, packer, known)?
            {
                self.cursor = PageCursor::default();
                return Ok(false);
            }
            let start = self.page;
            self.page += layout.size;
            match self.cursor.start(&self.block, start, layout) {
                Some(lost) => {
                    // Pages that follow each other without an event between can both miss events.
                    self.lost = match (self.lost, lost) {
                        (Some(a), Some(b)) => Some(a.saturating_add(b)),
                        (a, b) => a.or(b),
                    };
                    return Ok(true);
                }
                None => {
                    let at = self.block_at + if self.part.packed { 0 } else { start as u64 };
                    known.damage.skip("pages with a size that is too large", at);
                    self.lost = Some(self.lost.unwrap_or(0));
                }
            }
        }
    }

    /// Reads the next pages, at least one; false at the end.
    fn next_block(
        &mut self,
        place: &mut Place,
        layout: &PageLayout,
        packer: &mut Packer,
        known: &mut Known,
    ) -> Result<bool, LinuxError> {
        self.page = 0;
        self.block_at = self.next;
        if self.part.packed {
            return self.next_chunk(place, layout, packer, known);
        }
        let size = BLOCK.max(layout.size) / layout.size * layout.size;
        let left = self.end.saturating_sub(self.next);
        let size = left.min(size as u64) as usize;
        self.block.resize(size, 0);
        let read = place.read_at(self.next, &mut self.block)?;
        self.block.truncate(read);
        self.next += read as u64;
        Ok(read >= layout.size)
    }

    fn next_chunk(
        &mut self,
        place: &mut Place,
        layout: &PageLayout,
        packer: &mut Packer,
        known: &mut Known,
    ) -> Result<bool, LinuxError> {
        self.block.clear();
        while self.chunks > 0 {
            self.chunks -= 1;
            let at = self.next;
            match packer.chunk(place, at, MOST_CHUNK, layout.endian, &mut self.block) {
                Ok(next) => {
                    self.next = next;
                    if self.block.len() >= layout.size {
                        return Ok(true);
                    }
                }
                Err(error) if error.is_truncation() || self.missing.is_some() => {
                    self.chunks = 0;
                    self.missing.get_or_insert(Missing {
                        expected: self.part.size,
                        found: at - self.part.offset,
                    });
                }
                Err(_) => {
                    // The sizes lead to the next chunk if they are sound.
                    known
                        .damage
                        .skip("packed chunks that cannot be unpacked", at);
                    self.lost = Some(self.lost.unwrap_or(0));
                    let head = place.part("packed chunk", at, 8)?;
                    let mut cursor = Cursor::new(&head, at, "packed chunk", layout.endian);
                    self.next = at + 8 + u64::from(cursor.u32()?);
                    if self.next > place.len {
                        self.chunks = 0;
                    }
                }
            }
        }
        self.block.clear();
        Ok(false)
    }
}
