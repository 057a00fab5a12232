//! Pages of the kernel's ring buffer.

use std::ops::Range;

use super::format::Field;
use crate::bytes::{Endian, array};

/// Where the parts of a page are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageLayout {
    pub endian: Endian,
    /// Bytes of a page, with its head.
    pub size: usize,
    /// Place and size of the word with the number of bytes that are used.
    commit: (usize, usize),
    /// Where events begin.
    data: usize,
}

/// Bits of the commit word: events are missing before the page; their number is behind the data.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const USED: u64 = (1 << 27) - 1;

/// Bits of a time that an absolute time stamp leaves out.
const TIME_HIGH: u64 = 0xf8 << 56;

impl PageLayout {
    /// From `header_page`, or for a word of `long` bytes if the file does not describe pages.
    pub fn new(endian: Endian, size: usize, long: u8, header_page: &[Field]) -> PageLayout {
        let find = |name| header_page.iter().find(|f| f.name == name);
        let long = if long == 4 { 4 } else { 8 };
        let commit = match find("commit") {
            Some(f) if f.size == 4 || f.size == 8 => (f.offset as usize, f.size as usize),
            _ => (8, long),
        };
        let data = find("data").map_or(8 + long, |f| f.offset as usize);
        PageLayout {
            endian,
            size,
            commit,
            data,
        }
    }
}

/// Where reading is within a page that is in a larger block of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageCursor {
    at: usize,
    end: usize,
    page_time: u64,
    /// Time of the latest event.
    pub time: u64,
}

/// A step through a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// An event, whose bytes are at this place of the block.
    Event(Range<usize>),
    /// The page has no more events.
    End,
    /// An entry contradicts the format. Nothing more of the page can be read.
    Damaged,
}

impl PageCursor {
    /// Starts with the page at `start` of `block`. Returns the number of events that are missing
    /// before, 0 if unknown; none if the head contradicts the format.
    pub fn start(
        &mut self,
        block: &[u8],
        start: usize,
        layout: &PageLayout,
    ) -> Option<Option<u64>> {
        let endian = layout.endian;
        let page = block.get(start..)?;
        let page = &page[..page.len().min(layout.size)];
        self.page_time = endian.u64(array(page, 0)?);
        self.time = self.page_time;
        let word = |at: usize, size: usize| match size {
            4 => Some(u64::from(endian.u32(array(page, at)?))),
            _ => Some(endian.u64(array(page, at)?)),
        };
        let commit = word(layout.commit.0, layout.commit.1)?;
        let used = (commit & USED) as usize;
        let end = layout.data.checked_add(used)?;
        if end > page.len() {
            return None;
        }
        self.at = start + layout.data;
        self.end = start + end;
        Some(match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => None,
            (true, false) => Some(0),
            (true, true) => Some(word(end, layout.commit.1).unwrap_or(0)),
        })
    }

    /// The next event of the page.
    #[inline]
    pub fn step(&mut self, block: &[u8], endian: Endian) -> Step {
        loop {
            if self.at + 4 > self.end {
                return Step::End;
            }
            let Some(head) = array(block, self.at) else {
                return Step::Damaged;
            };
            let head = endian.u32(head);
            let (kind, delta) = match endian {
                Endian::Little => (head & 0x1f, u64::from(head >> 5)),
                Endian::Big => (head >> 27, u64::from(head & 0x07ff_ffff)),
            };
            let data = self.at + 4;
            if let 1..=28 = kind {
                let end = data + 4 * kind as usize;
                if end > self.end {
                    return Step::Damaged;
                }
                self.time = self.time.wrapping_add(delta);
                self.at = end;
                return Step::Event(data..end);
            }
            // Padding to the end of the page has no length.
            if kind == 29 && delta == 0 {
                return Step::End;
            }
            if data + 4 > self.end {
                return Step::Damaged;
            }
            let Some(word) = array(block, data) else {
                return Step::Damaged;
            };
            let word = endian.u32(word);
            match kind {
                0 => {
                    let end = data + (word as usize).next_multiple_of(4);
                    if word < 4 || end > self.end {
                        return Step::Damaged;
                    }
                    self.time = self.time.wrapping_add(delta);
                    self.at = end;
                    return Step::Event(data + 4..end);
                }
                29 => {
                    let end = data + word as usize;
                    if end > self.end {
                        return Step::Damaged;
                    }
                    self.time = self.time.wrapping_add(delta);
                    self.at = end;
                }
                30 => {
                    let more = (u64::from(word) << 27) + delta;
                    self.time = self.time.wrapping_add(more);
                    self.at = data + 4;
                }
                _ => {
                    let low = (u64::from(word) << 27) + delta;
                    self.time = low | (self.page_time & TIME_HIGH);
                    self.at = data + 4;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five bits of the type, 27 of the time since the event before: type 1 has one word of data.
    #[test]
    fn an_event_begins_with_its_length_and_its_time() {
        let layout = PageLayout {
            endian: Endian::Little,
            size: 24,
            commit: (8, 8),
            data: 16,
        };
        let head = [&1_000_u64.to_le_bytes()[..], &8_u64.to_le_bytes()].concat();
        let event = [0x0000_0fe1_u32, 0x7465_7374].map(u32::to_le_bytes);
        let block = [&head[..], &event.concat()].concat();
        let mut cursor = PageCursor::default();
        assert_eq!(cursor.start(&block, 0, &layout), Some(None));
        let step = cursor.step(&block, layout.endian);
        assert!(matches!(step, Step::Event(at) if at == (20..24)));
        assert_eq!(cursor.time, 1_000 + 127);
        assert!(matches!(cursor.step(&block, layout.endian), Step::End));
    }
}
