//! `trace.dat` of trace-cmd, versions 6 and 7.
//!
//! Both have descriptions of events and, for each cpu and buffer, pages of the kernel's ring
//! buffer. Version 6 has its parts in a fixed order, version 7 in sections, which can be packed.

mod merge;
mod options;
mod packed;
mod parts;
mod stream;
mod v6;
mod v7;

use crate::bytes::{Cursor, Endian};
use crate::error::{LinuxError, damaged};
use crate::input::Place;
use crate::known::Known;
use crate::report::LinuxFormat;
use crate::source::Source;

use merge::Merge;
use parts::{Head, MOST_PAGE};

/// Reads what comes before the pages.
pub fn source(
    mut place: Place,
    known: &mut Known,
) -> Result<(LinuxFormat, Box<dyn Source>), LinuxError> {
    let (version, head) = head(&mut place)?;
    let (format, layout) = match version {
        6 => (LinuxFormat::TraceDat6, v6::layout(&mut place, head, known)?),
        _ => (LinuxFormat::TraceDat7, v7::layout(&mut place, head, known)?),
    };
    let source: Box<dyn Source> = match layout.text {
        Some((offset, packed)) => {
            let flow = layout.packer.text(place, offset, packed)?;
            crate::text::source(flow, known)?
        }
        None => Box::new(Merge::new(place, layout, known)?),
    };
    Ok((format, source))
}

/// The first bytes: magic, version, order of bytes, size of words, size of pages.
fn head(place: &mut Place) -> Result<(u32, Head), LinuxError> {
    let size = place.len.min(64);
    let start = place.part("head", 0, size)?;
    let mut cursor = Cursor::new(&start, 0, "head of trace.dat", Endian::Little);
    cursor.take(10)?;
    let version = cursor.string()?;
    let version = match version {
        b"6" => 6,
        b"7" => 7,
        _ => {
            return Err(damaged(
                "version of trace.dat",
                "6 or 7 (convert the file with `trace-cmd convert --file-version 6`)",
                String::from_utf8_lossy(&version[..version.len().min(16)]),
                10,
            ));
        }
    };
    let endian = match cursor.u8()? {
        0 => Endian::Little,
        1 => Endian::Big,
        other => {
            let at = cursor.offset() - 1;
            return Err(damaged("order of bytes", "0 or 1", other, at));
        }
    };
    cursor.set_endian(endian);
    let long = cursor.u8()?;
    let at = cursor.offset();
    let page_size = cursor.u32()?;
    if !(64..=MOST_PAGE).contains(&page_size) {
        let expected = "64 bytes to 64 MiB";
        return Err(damaged("size of a page", expected, page_size, at));
    }
    let end = cursor.offset();
    let head = Head {
        endian,
        long,
        page_size,
        end,
    };
    Ok((version, head))
}
