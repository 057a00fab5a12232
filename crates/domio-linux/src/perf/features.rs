//! What perf.data says about the host and the command: feature sections.

use super::attr::Attrs;
use crate::bytes::{Cursor, Endian, text};
use crate::error::{LinuxError, damaged};
use crate::known::Known;
use crate::tracefs::{Decoder, head};

pub const TRACING_DATA: u32 = 1;
const HOSTNAME: u32 = 3;
const OSRELEASE: u32 = 4;
const VERSION: u32 = 5;
const ARCH: u32 = 6;
const NRCPUS: u32 = 7;
const CMDLINE: u32 = 11;
const EVENT_DESC: u32 = 12;

/// Takes up one feature, other than the descriptions of events.
pub fn take(
    feature: u32,
    data: &[u8],
    at: u64,
    endian: Endian,
    attrs: &mut Attrs,
    known: &mut Known,
) {
    let mut cursor = Cursor::new(data, at, "feature of perf.data", endian);
    if read(feature, &mut cursor, attrs, known).is_err() {
        known.damage.skip("features that are too short", at);
    }
}

/// A text with its size before it.
fn string(cursor: &mut Cursor<'_>) -> Result<String, LinuxError> {
    let size = cursor.u32()?;
    Ok(text(cursor.take(u64::from(size))?))
}

fn read(
    feature: u32,
    cursor: &mut Cursor<'_>,
    attrs: &mut Attrs,
    known: &mut Known,
) -> Result<(), LinuxError> {
    let recording = &mut known.recording;
    match feature {
        HOSTNAME => recording.host = Some(string(cursor)?),
        OSRELEASE => recording.kernel = Some(string(cursor)?),
        VERSION => recording.tool = Some(format!("perf {}", string(cursor)?)),
        ARCH => recording.machine = Some(string(cursor)?),
        NRCPUS => {
            cursor.u32()?;
            recording.cpus = Some(cursor.u32()?);
        }
        CMDLINE => {
            let mut words = Vec::new();
            for _ in 0..cursor.u32()? {
                words.push(string(cursor)?);
            }
            recording.command = Some(words.join(" "));
        }
        EVENT_DESC => {
            let (events, size) = (cursor.u32()?, cursor.u32()?);
            for _ in 0..events {
                cursor.take(u64::from(size))?;
                let ids = cursor.u32()?;
                let name = string(cursor)?;
                for _ in 0..ids {
                    let id = cursor.u64()?;
                    attrs.name(id, name.clone());
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Descriptions of events: the same block as in trace.dat of version 6, with a head of its own.
pub fn tracing_data(data: &[u8], at: u64, known: &mut Known) -> Result<Decoder, LinuxError> {
    let what = "descriptions of events in perf.data";
    let mut cursor = Cursor::new(data, at, what, Endian::Little);
    let magic = cursor.take(10)?;
    if magic != b"\x17\x08\x44tracing" {
        return Err(damaged(
            what,
            "17 08 44 \"tracing\"",
            format!("{magic:02x?}"),
            at,
        ));
    }
    let version = text(cursor.string()?);
    let endian = match cursor.u8()? {
        1 => Endian::Big,
        _ => Endian::Little,
    };
    cursor.set_endian(endian);
    cursor.u8()?;
    cursor.u32()?;
    head::header_info(&mut cursor)?;
    let mut decoder = Decoder::new(endian);
    head::ftrace_events(&mut cursor, &mut decoder, known)?;
    head::system_events(&mut cursor, &mut decoder, known)?;
    // All that is needed is known. Versions before 0.6 have no names of threads.
    let rest = head::skipped(&mut cursor).and_then(|()| head::skipped(&mut cursor));
    if rest.is_ok() && version != "0.5" && cursor.left() >= 8 {
        let _ = head::cmdlines(&mut cursor, known);
    }
    Ok(decoder)
}

/// The name of a clock that perf was asked for.
pub fn clock(id: Option<i32>) -> String {
    match id {
        None => "perf (sched_clock)".to_string(),
        Some(0) => "realtime".to_string(),
        Some(1) => "mono".to_string(),
        Some(4) => "mono_raw".to_string(),
        Some(7) => "boot".to_string(),
        Some(11) => "tai".to_string(),
        Some(other) => format!("clock {other}"),
    }
}
