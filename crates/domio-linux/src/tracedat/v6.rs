//! Version 6: all parts in a fixed order.

use super::options::{DONE, Options};
use super::packed::Packer;
use super::parts::{Head, Layout, Part};
use crate::bytes::Cursor;
use crate::error::{LinuxError, damaged};
use crate::input::Place;
use crate::known::Known;
use crate::tracefs::page::PageLayout;
use crate::tracefs::{Decoder, head};

/// Bytes of the start of the file that are read at first, and at most.
const FIRST: u64 = 4 << 20;
const MOST: u64 = 512 << 20;

/// Reads what comes before the pages, with more and more of the file in memory.
pub fn layout(place: &mut Place, start: Head, known: &mut Known) -> Result<Layout, LinuxError> {
    let mut size = FIRST;
    loop {
        let part = place.part("head", 0, place.len.min(size))?;
        let mut gathered = Known::default();
        match read(&part, start, place, &mut gathered) {
            Err(error) if error.is_truncation() && size < place.len.min(MOST) => size *= 4,
            done => {
                *known = gathered;
                return done;
            }
        }
    }
}

fn read(
    part: &[u8],
    start: Head,
    place: &mut Place,
    known: &mut Known,
) -> Result<Layout, LinuxError> {
    let what = "the part before the pages of trace.dat";
    let mut cursor = Cursor::new(part, 0, what, start.endian);
    cursor.take(start.end)?;
    let header_page = head::header_info(&mut cursor)?;
    let mut decoder = Decoder::new(start.endian);
    head::ftrace_events(&mut cursor, &mut decoder, known)?;
    head::system_events(&mut cursor, &mut decoder, known)?;
    head::skipped(&mut cursor)?;
    head::skipped(&mut cursor)?;
    head::cmdlines(&mut cursor, known)?;
    let mut cpus = cursor.u32()?;
    known.recording.cpus = Some(cpus);
    let mut options = Options::default();
    let mut kind = cursor.take(10)?;
    if kind == b"options  \0" {
        loop {
            let id = cursor.u16()?;
            if id == DONE {
                break;
            }
            let (at, size) = (cursor.offset(), cursor.u32()?);
            let data = cursor.take(u64::from(size))?;
            options.take(id, data, at, start.endian, false, known);
        }
        kind = cursor.take(10)?;
    }
    cpus = options.cpus().unwrap_or(cpus);
    let mut layout = Layout {
        decoder,
        clock: options.clock,
        page: PageLayout::new(
            start.endian,
            start.page_size as usize,
            start.long,
            &header_page,
        ),
        packer: Packer::None,
        parts: Vec::new(),
        text: None,
    };
    match kind {
        b"flyrecord\0" => parts(&mut cursor, 0, cpus, &mut layout.parts)?,
        b"latency  \0" => layout.text = Some((cursor.offset(), false)),
        other => {
            let at = cursor.offset() - 10;
            let expected = "\"options  \", \"flyrecord\" or \"latency  \"";
            let found = String::from_utf8_lossy(other).into_owned();
            return Err(damaged("kind of the data", expected, found, at));
        }
    }
    for (index, buffer) in options.buffers.iter().enumerate() {
        // The head of another buffer is before its pages, behind those of the buffers before it.
        let size = 10 + 16 * u64::from(cpus);
        let left = place.len.saturating_sub(buffer.offset);
        let Ok(head) = place.part("buffer", buffer.offset, size.min(left)) else {
            continue;
        };
        let mut cursor = Cursor::new(&head, buffer.offset, "head of a buffer", start.endian);
        let read = cursor.take(10).and_then(|kind| match kind {
            b"flyrecord\0" => parts(&mut cursor, index as u32 + 1, cpus, &mut layout.parts),
            _ => Ok(()),
        });
        if read.is_err() {
            known.damage.skip("buffers that are cut", buffer.offset);
        }
    }
    Ok(layout)
}

/// Where the pages of each cpu are.
fn parts(
    cursor: &mut Cursor<'_>,
    buffer: u32,
    cpus: u32,
    parts: &mut Vec<Part>,
) -> Result<(), LinuxError> {
    for cpu in 0..cpus {
        parts.push(Part {
            buffer,
            cpu,
            offset: cursor.u64()?,
            size: cursor.u64()?,
            packed: false,
        });
    }
    Ok(())
}
