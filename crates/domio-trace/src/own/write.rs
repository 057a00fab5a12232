//! Writes own traces.

use std::io::{self, Write};

use domio_core::{Record, Sink};

use super::pack::{PACKED_MAX, pack};
use super::{BLOCK_HEAD, BLOCK_MAX, BLOCK_TAG, END_TAG, HEADER_MAX, MAGIC, VERSION};
use crate::TraceHeader;

/// Writes an own trace: [`TraceWriter::new`], then [`Sink::record`] for each record, then
/// [`TraceWriter::finish`].
///
/// Records are packed into a block of 64 KiB that goes to `W` in one call, so `W` needs no buffer
/// of its own. A failing write stops the writing; `finish` tells. A writer that is dropped without
/// `finish` leaves a file that readers call truncated.
pub struct TraceWriter<W: Write> {
    out: W,
    /// Block head, records, and room for one record more than a full block has.
    block: Vec<u8>,
    used: usize,
    count: u32,
    base: u64,
    last: u64,
    records: u64,
    error: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace: writes `header` at once.
    ///
    /// # Errors
    /// What `out` says; [`io::ErrorKind::InvalidInput`] for a header above 16 MiB.
    pub fn new(mut out: W, header: &TraceHeader) -> io::Result<Self> {
        let json = serde_json::to_vec(header).map_err(io::Error::other)?;
        if json.len() > HEADER_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a trace header of {} bytes: at most {HEADER_MAX}",
                    json.len()
                ),
            ));
        }
        let mut head = Vec::with_capacity(super::PREAMBLE + json.len());
        head.extend(MAGIC);
        head.extend(VERSION.to_le_bytes());
        head.extend((json.len() as u32).to_le_bytes());
        head.extend(crc32fast::hash(&json).to_le_bytes());
        head.extend(json);
        out.write_all(&head)?;
        Ok(TraceWriter {
            out,
            block: vec![0; BLOCK_HEAD + BLOCK_MAX + PACKED_MAX],
            used: BLOCK_HEAD,
            count: 0,
            base: 0,
            last: 0,
            records: 0,
            error: None,
        })
    }

    /// Records taken so far.
    pub fn records(&self) -> u64 {
        self.records + u64::from(self.count)
    }

    /// Writes what is left and the end mark, and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush_block();
        if let Some(e) = self.error {
            return Err(e);
        }
        let count = self.records.to_le_bytes();
        let mut mark = Vec::with_capacity(super::END_MARK);
        mark.extend(END_TAG.to_le_bytes());
        mark.extend(crc32fast::hash(&count).to_le_bytes());
        mark.extend(count);
        self.out.write_all(&mark)?;
        self.out.flush()?;
        Ok(self.out)
    }

    #[cold]
    fn flush_block(&mut self) {
        if self.count == 0 {
            return;
        }
        let length = (self.used - BLOCK_HEAD) as u32;
        let block = &mut self.block[..self.used];
        block[0..4].copy_from_slice(&BLOCK_TAG.to_le_bytes());
        block[8..12].copy_from_slice(&length.to_le_bytes());
        block[12..16].copy_from_slice(&self.count.to_le_bytes());
        block[16..24].copy_from_slice(&self.base.to_le_bytes());
        // Everything behind the checksum is under it.
        let sum = crc32fast::hash(&block[8..]);
        block[4..8].copy_from_slice(&sum.to_le_bytes());
        if self.error.is_none()
            && let Err(e) = self.out.write_all(block)
        {
            self.error = Some(e);
        }
        self.records += u64::from(self.count);
        self.count = 0;
        self.used = BLOCK_HEAD;
    }
}

impl<W: Write> Sink for TraceWriter<W> {
    #[inline]
    fn record(&mut self, record: &Record) {
        if self.used > BLOCK_HEAD + BLOCK_MAX - PACKED_MAX {
            self.flush_block();
        }
        if self.count == 0 {
            self.base = record.at.as_nanos();
            self.last = self.base;
        }
        let room = &mut self.block[self.used..self.used + PACKED_MAX];
        let room: &mut [u8; PACKED_MAX] = room.try_into().expect("the slice has that length");
        self.used += pack(record, self.last, room);
        self.last = record.at.as_nanos();
        self.count += 1;
    }
}
