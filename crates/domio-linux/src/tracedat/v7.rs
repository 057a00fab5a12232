//! Version 7: sections, which options name.

use super::options::{CMDLINES, DONE, EVENT_FORMATS, FTRACE_EVENTS, HEADER_INFO, Options};
use super::packed::{Packer, section_head};
use super::parts::{Head, Layout, MOST_PAGE};
use crate::bytes::Cursor;
use crate::error::{LinuxError, cut, damaged};
use crate::input::Place;
use crate::known::Known;
use crate::tracefs::format::Field;
use crate::tracefs::page::PageLayout;
use crate::tracefs::{Decoder, head};

/// Most sections of options: more are a circle.
const MOST_SECTIONS: usize = 10_000;
const BUFFER: u16 = 3;
const BUFFER_TEXT: u16 = 22;

pub fn layout(place: &mut Place, start: Head, known: &mut Known) -> Result<Layout, LinuxError> {
    let endian = start.endian;
    let size = (place.len - start.end).min(256);
    let names = place.part("head of trace.dat", start.end, size)?;
    let mut cursor = Cursor::new(&names, start.end, "head of trace.dat", endian);
    let mut packer = Packer::new(cursor.string()?, start.end)?;
    cursor.string()?;
    let mut next = Some(cursor.u64()?);
    let mut options = Options::default();
    let mut sections = 0;
    while let Some(offset) = next {
        if offset == 0 || offset >= place.len {
            // Options are written last: a recorder that was killed leaves no way to its data.
            return Err(cut("the section of options", 16, 0, offset));
        }
        let (data, at) = packer.section(place, offset, DONE, endian)?;
        options.next = None;
        let mut cursor = Cursor::new(&data, at, "options", endian);
        loop {
            let (id, size) = (cursor.u16()?, cursor.u32()?);
            let at = cursor.offset();
            let data = cursor.take(u64::from(size))?;
            options.take(id, data, at, endian, true, known);
            if id == DONE {
                break;
            }
        }
        next = options.next;
        sections += 1;
        if sections > MOST_SECTIONS {
            let what = "sections of options";
            return Err(damaged(what, "10,000 at most", "a circle", offset));
        }
    }
    let mut decoder = Decoder::new(endian);
    let header_page = descriptions(place, &mut packer, &options, &mut decoder, start, known)?;
    let mut page_size = None;
    let mut layout = Layout {
        decoder,
        clock: options.clock,
        page: PageLayout::new(endian, 0, start.long, &header_page),
        packer,
        parts: Vec::new(),
        text: None,
    };
    for buffer in &options.buffers {
        let kind = if buffer.is_text { BUFFER_TEXT } else { BUFFER };
        let (packed, _) = section_head(place, buffer.offset, kind, endian)?;
        if buffer.is_text {
            layout.text = Some((buffer.offset + 16, packed));
            continue;
        }
        let size = buffer.page_size.unwrap_or(start.page_size);
        if !(64..=MOST_PAGE).contains(&size) || page_size.is_some_and(|p| p != size) {
            let expected = "64 bytes to 64 MiB, the same in all buffers";
            return Err(damaged("size of a page", expected, size, buffer.offset));
        }
        page_size = Some(size);
        let parts = buffer.parts.iter().copied();
        layout.parts.extend(parts.map(|mut part| {
            part.packed = packed;
            part
        }));
    }
    // A file that has both is one of pages.
    if !layout.parts.is_empty() {
        layout.text = None;
    }
    layout.page.size = page_size.unwrap_or(start.page_size) as usize;
    Ok(layout)
}

/// Sections with descriptions of events and with names. Returns the fields of `header_page`.
fn descriptions(
    place: &mut Place,
    packer: &mut Packer,
    options: &Options,
    decoder: &mut Decoder,
    start: Head,
    known: &mut Known,
) -> Result<Vec<Field>, LinuxError> {
    let mut header_page = Vec::new();
    for (id, offset) in &options.sections {
        if !matches!(*id, HEADER_INFO | FTRACE_EVENTS | EVENT_FORMATS | CMDLINES) {
            continue;
        }
        let (data, at) = packer.section(place, *offset, *id, start.endian)?;
        let mut cursor = Cursor::new(&data, at, "section", start.endian);
        match *id {
            HEADER_INFO => header_page = head::header_info(&mut cursor)?,
            FTRACE_EVENTS => head::ftrace_events(&mut cursor, decoder, known)?,
            EVENT_FORMATS => head::system_events(&mut cursor, decoder, known)?,
            _ => head::cmdlines(&mut cursor, known)?,
        }
    }
    Ok(header_page)
}
