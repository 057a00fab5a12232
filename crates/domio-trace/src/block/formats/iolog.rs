//! fio's log of calls (`write_iolog`), versions 2 and 3. Source: `fio(1)`, "Trace file format".
//!
//! Version 2 has no times but `wait`, in µs since the wait before. Version 3 begins each line with
//! a time since the start, in µs as fio 3.33 writes it.

use super::line::LineFormat;
use crate::block::event::{BlockAct, BlockEvent, BlockFlags, BlockWay};
use crate::block::fields::{Expect, Field, bytes, number, words};
use crate::block::names::BlockNames;
use domio_core::Instant;

/// Reads lines of a log.
pub struct Iolog {
    version: u8,
    /// Sum of the waits (ns), in version 2.
    at: u64,
}

impl Iolog {
    /// Of a log of that version.
    pub fn new(version: u8) -> Self {
        Iolog { version, at: 0 }
    }
}

impl LineFormat for Iolog {
    fn line(&mut self, line: &[u8], names: &mut BlockNames) -> Field<Option<BlockEvent>> {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"fio version ") {
            return Ok(None);
        }
        let mut fields = words(line);
        let mut next = || fields.next().unwrap_or_default();
        if self.version == 3 {
            let at = number(next()).and_then(|us| us.checked_mul(1000));
            self.at = at.expect_of("a time in µs, as 3002649")?;
        }
        let (file, action) = (next(), next());
        let (offset, length) = (next(), next());
        let way = match action {
            b"read" => BlockWay::Read,
            b"write" => BlockWay::Write,
            b"trim" => BlockWay::Discard,
            b"sync" | b"datasync" | b"sync_file_range" => BlockWay::None,
            b"add" | b"open" | b"close" => return Ok(None),
            b"wait" => {
                let us = number(offset).and_then(|us| us.checked_mul(1000));
                let at = us.and_then(|ns| self.at.checked_add(ns));
                self.at = at.expect_of("a wait in µs, as 1200")?;
                return Ok(None);
            }
            _ => {
                return None.expect_of(
                    "FILE ACTION, with read, write, trim, sync, wait, add, open or close",
                );
            }
        };
        let (sector, sectors) = match way {
            BlockWay::None => (0, 0),
            _ => bytes(offset, length)?,
        };
        Ok(Some(BlockEvent {
            at: Instant::from_nanos(self.at),
            act: BlockAct::Queue,
            way,
            flags: BlockFlags::default(),
            who: names.who(file),
            device: names.device(file),
            sector,
            sectors,
            response: None,
        }))
    }
}
