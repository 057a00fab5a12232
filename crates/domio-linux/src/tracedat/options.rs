//! Options of both versions: clock, host, buffers, identifiers.

use super::parts::{Clock, Part};
use crate::bytes::{Cursor, Endian, text};
use crate::error::LinuxError;
use crate::known::Known;

/// A buffer of the recorder: the top one has no name.
#[derive(Default)]
pub(crate) struct Buffer {
    pub offset: u64,
    pub parts: Vec<Part>,
    /// Size of a page, in version 7.
    pub page_size: Option<u32>,
    pub is_text: bool,
}

/// What options say.
#[derive(Default)]
pub(crate) struct Options {
    pub clock: Clock,
    pub buffers: Vec<Buffer>,
    /// Sections of version 7 by the number of their kind, where they are.
    pub sections: Vec<(u16, u64)>,
    /// The next section of options.
    pub next: Option<u64>,
    cpus: Option<u32>,
}

pub const DONE: u16 = 0;
const DATE: u16 = 1;
const CPUSTAT: u16 = 2;
const BUFFER: u16 = 3;
const TRACECLOCK: u16 = 4;
const UNAME: u16 = 5;
const OFFSET: u16 = 7;
const CPUCOUNT: u16 = 8;
const VERSION: u16 = 9;
const TRACEID: u16 = 11;
const TIME_SHIFT: u16 = 12;
const GUEST: u16 = 13;
const TSC2NSEC: u16 = 14;
pub const HEADER_INFO: u16 = 16;
pub const FTRACE_EVENTS: u16 = 17;
pub const EVENT_FORMATS: u16 = 18;
pub const CMDLINES: u16 = 21;
const BUFFER_TEXT: u16 = 22;

impl Options {
    /// The number of cpus, if an option has it.
    pub fn cpus(&self) -> Option<u32> {
        self.cpus
    }

    /// Takes up one option. Options that are too short for their content are counted.
    pub fn take(
        &mut self,
        id: u16,
        data: &[u8],
        at: u64,
        endian: Endian,
        sections: bool,
        known: &mut Known,
    ) {
        if self.read(id, data, at, endian, sections, known).is_err() {
            known.damage.skip("options that are too short", at);
        }
    }

    fn read(
        &mut self,
        id: u16,
        data: &[u8],
        at: u64,
        endian: Endian,
        sections: bool,
        known: &mut Known,
    ) -> Result<(), LinuxError> {
        let mut cursor = Cursor::new(data, at, "option", endian);
        match id {
            DATE => {
                let us = number(&text(data)).unwrap_or(0);
                self.clock.offset = self.clock.offset.wrapping_add(us.wrapping_mul(1000));
            }
            OFFSET => {
                let ns = number(&text(data)).unwrap_or(0);
                self.clock.offset = self.clock.offset.wrapping_add(ns);
            }
            TRACECLOCK => {
                let clocks = text(data);
                let chosen = clocks
                    .split_once('[')
                    .and_then(|(_, rest)| Some(rest.split_once(']')?.0));
                let clock = chosen.unwrap_or(&clocks).trim();
                if !clock.is_empty() {
                    known.recording.clock = Some(clock.to_string());
                }
            }
            UNAME => {
                let uname = text(data);
                let mut words = uname.split_whitespace().skip(1);
                known.recording.host = words.next().map(str::to_string);
                known.recording.kernel = words.next().map(str::to_string);
                known.recording.machine = words.last().map(str::to_string);
            }
            VERSION => known.recording.tool = Some(format!("trace-cmd {}", text(data))),
            CPUCOUNT => {
                let cpus = cursor.u32()?;
                self.cpus = Some(cpus);
                known.recording.cpus = Some(cpus);
            }
            CPUSTAT => statistics(&text(data), known),
            TRACEID => known.note("trace id", format!("{:#x}", cursor.u64()?)),
            GUEST => known.note("guest", text(data)),
            TIME_SHIFT => known.note(
                "time shift",
                format!(
                    "to the host with trace id {:#x}, not applied",
                    cursor.u64()?
                ),
            ),
            TSC2NSEC => {
                let (mult, shift) = (cursor.u32()?, cursor.u32()?);
                if mult != 0 && shift < 128 {
                    self.clock.cycles = Some((mult, shift));
                }
            }
            BUFFER | BUFFER_TEXT => self.buffer(id, &mut cursor, sections, known)?,
            DONE if sections => {
                let next = cursor.u64()?;
                self.next = (next != 0).then_some(next);
            }
            _ if sections && data.len() >= 8 => self.sections.push((id, cursor.u64()?)),
            _ => {}
        }
        Ok(())
    }

    fn buffer(
        &mut self,
        id: u16,
        cursor: &mut Cursor<'_>,
        sections: bool,
        known: &mut Known,
    ) -> Result<(), LinuxError> {
        let mut buffer = Buffer {
            offset: cursor.u64()?,
            is_text: id == BUFFER_TEXT,
            ..Buffer::default()
        };
        let name = match cursor.string() {
            Ok(name) => text(name),
            Err(_) => text(cursor.rest()),
        };
        if !name.is_empty() {
            known.note("buffer", name.clone());
        }
        let index = self.buffers.len() as u32;
        if sections {
            let clock = text(cursor.string()?);
            if !clock.is_empty() && (name.is_empty() || known.recording.clock.is_none()) {
                known.recording.clock = Some(clock);
            }
            if id == BUFFER {
                buffer.page_size = Some(cursor.u32()?);
                for _ in 0..cursor.u32()? {
                    buffer.parts.push(Part {
                        buffer: index,
                        cpu: cursor.u32()?,
                        offset: cursor.u64()?,
                        size: cursor.u64()?,
                        packed: false,
                    });
                }
            }
        }
        self.buffers.push(buffer);
        Ok(())
    }
}

/// A number in C's notation, decimal or with "0x", with a sign or none.
fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// Statistics of one cpu: lines such as "overrun: 12" and "dropped events: 3".
fn statistics(lines: &str, known: &mut Known) {
    for line in lines.lines() {
        let Some((name, n)) = line.split_once(':') else {
            continue;
        };
        if matches!(name.trim(), "overrun" | "commit overrun" | "dropped events") {
            known.losses.add_somewhere(n.trim().parse().unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_become_nanoseconds_and_offsets_are_added() {
        let clock = Clock {
            cycles: Some((1 << 31, 32)),
            offset: -5,
        };
        assert_eq!(clock.time(1000), 495);
        assert_eq!(clock.time(u64::MAX), u64::MAX / 2 - 5);
    }

    #[test]
    fn numbers_are_read_as_in_c() {
        assert_eq!(number("0x10"), Some(16));
        assert_eq!(number("-12"), Some(-12));
        assert_eq!(number("0xffffffffffffffff"), Some(-1));
        assert_eq!(number("x"), None);
    }
}
