//! The block of descriptions that trace.dat of version 6 and perf.data both have: `header_page`,
//! `header_event`, events of ftrace, events of systems, symbols, texts of printk, names.

use super::Decoder;
use super::format::{EventFormat, Field, fields};
use crate::Tid;
use crate::bytes::Cursor;
use crate::error::{LinuxError, damaged};
use crate::known::Known;

/// Takes up the text of one event. A text that is no description is counted.
fn event(decoder: &mut Decoder, system: &str, text: &[u8], at: u64, known: &mut Known) {
    let text = String::from_utf8_lossy(text);
    match EventFormat::parse(&text) {
        Some(format) => decoder.add(system, &format),
        None => known
            .damage
            .skip("descriptions of events that cannot be read", at),
    }
}

/// `header_page` and `header_event`. Returns the fields of `header_page`.
pub fn header_info(cursor: &mut Cursor<'_>) -> Result<Vec<Field>, LinuxError> {
    let mut page = Vec::new();
    for name in ["header_page", "header_event"] {
        let at = cursor.offset();
        let found = cursor.string()?;
        if found != name.as_bytes() {
            return Err(damaged(
                "head of the descriptions of events",
                "header_page, then header_event",
                String::from_utf8_lossy(&found[..found.len().min(32)]),
                at,
            ));
        }
        let size = cursor.u64()?;
        let text = cursor.take(size)?;
        if name == "header_page" {
            page = fields(&String::from_utf8_lossy(text));
        }
    }
    Ok(page)
}

/// Descriptions of the events of ftrace itself.
pub fn ftrace_events(
    cursor: &mut Cursor<'_>,
    decoder: &mut Decoder,
    known: &mut Known,
) -> Result<(), LinuxError> {
    for _ in 0..cursor.u32()? {
        let (at, size) = (cursor.offset(), cursor.u64()?);
        event(decoder, "ftrace", cursor.take(size)?, at, known);
    }
    Ok(())
}

/// Descriptions of the events of all systems.
pub fn system_events(
    cursor: &mut Cursor<'_>,
    decoder: &mut Decoder,
    known: &mut Known,
) -> Result<(), LinuxError> {
    for _ in 0..cursor.u32()? {
        let system = String::from_utf8_lossy(cursor.string()?).into_owned();
        for _ in 0..cursor.u32()? {
            let (at, size) = (cursor.offset(), cursor.u64()?);
            event(decoder, &system, cursor.take(size)?, at, known);
        }
    }
    Ok(())
}

/// Symbols, or texts of printk: skipped.
pub fn skipped(cursor: &mut Cursor<'_>) -> Result<(), LinuxError> {
    let size = cursor.u32()?;
    cursor.take(u64::from(size))?;
    Ok(())
}

/// Lines "PID NAME" of `saved_cmdlines`.
pub fn cmdlines(cursor: &mut Cursor<'_>, known: &mut Known) -> Result<(), LinuxError> {
    let size = cursor.u64()?;
    let lines = cursor.take(size)?;
    for line in lines.split(|b| *b == b'\n') {
        let line = String::from_utf8_lossy(line);
        let Some((pid, comm)) = line.trim_start().split_once(' ') else {
            continue;
        };
        if let Ok(pid) = pid.parse() {
            known.name(Tid(pid), 0, comm.as_bytes());
        }
    }
    Ok(())
}
