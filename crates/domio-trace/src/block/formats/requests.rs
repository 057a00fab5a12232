//! What the formats of Linux's events have in common: the words behind the kind of event.

use crate::block::event::{BlockAct, BlockEvent, BlockFlags, BlockWay};
use crate::block::fields::{Expect, Field, sectors, words};
use domio_core::Instant;

/// A name in brackets; the name may have brackets and spaces of its own.
pub fn bracketed(text: &[u8]) -> Option<&[u8]> {
    let begin = text.iter().position(|b| *b == b'[')?;
    let end = text.iter().rposition(|b| *b == b']')?;
    text.get(begin + 1..end)
}

/// The event of the words behind its time: the marks, and `SECTOR + NUMBER` somewhere.
pub fn event(at: u64, act: BlockAct, rwbs: &[u8], rest: &[u8]) -> Field<BlockEvent> {
    let (way, flags) = BlockFlags::of_rwbs(rwbs).expect_of("marks of the request, as WS")?;
    let mut event = BlockEvent {
        at: Instant::from_nanos(at),
        act,
        way,
        flags,
        who: 0,
        device: 0,
        sector: 0,
        sectors: 0,
        response: None,
    };
    let mut before: &[u8] = b"";
    let mut words = words(rest);
    while let Some(word) = words.next() {
        if word == b"+" {
            let count = words.next().unwrap_or_default();
            (event.sector, event.sectors) = sectors(before, count)?;
            return Ok(event);
        }
        before = word;
    }
    // A flush has no data, and a discard may say none.
    let has_data = matches!(way, BlockWay::Read | BlockWay::Write);
    let needs = matches!(
        act,
        BlockAct::Queue | BlockAct::Issue | BlockAct::Complete | BlockAct::Insert
    );
    match has_data && needs && !rwbs.contains(&b'F') {
        true => None.expect_of("a place as SECTOR + NUMBER"),
        false => Ok(event),
    }
}
