//! What `blkparse` prints by default: device, cpu, number, seconds, process, kind, marks, sector,
//! count, command. Source: `blkparse(1)`.

use super::line::LineFormat;
use super::requests::{bracketed, event};
use crate::block::event::{BlockAct, BlockEvent};
use crate::block::fields::{Cut, Expect, Field, decimal, number};
use crate::block::names::BlockNames;

/// How the lines begin that `blkparse` prints at the end.
const TOTALS: [&[u8]; 13] = [
    b"CPU",
    b"Total",
    b"Reads ",
    b"Read ",
    b"Writes ",
    b"PC ",
    b"IO ",
    b"Throughput",
    b"Events",
    b"Skips",
    b"Allocat",
    b"Input",
    b"Dispatch",
];

/// Reads lines of `blkparse`.
pub struct Blkparse;

impl LineFormat for Blkparse {
    fn line(&mut self, line: &[u8], names: &mut BlockNames) -> Field<Option<BlockEvent>> {
        let line = line.trim_ascii();
        if line.is_empty() || TOTALS.iter().any(|begin| line.starts_with(begin)) {
            return Ok(None);
        }
        let mut rest = Cut(line);
        let mut next = || rest.word();
        let device = next();
        is_device(device).expect_of("a device as 8,0")?;
        let (cpu, count) = (next(), next());
        number(cpu)
            .and(number(count))
            .expect_of("a cpu and a number")?;
        let at = decimal(next(), 9).expect_of("a time in seconds, as 0.000123456")?;
        let pid = next();
        number(pid).expect_of("the number of a process")?;
        let act = match next() {
            [letter] => BlockAct::of_letter(*letter),
            _ => None,
        };
        let act = act.expect_of("a kind of event, as Q, D or C")?;
        if act == BlockAct::Other {
            return Ok(None);
        }
        let rwbs = next();
        let Cut(rest) = rest;
        let mut event = event(at, act, rwbs, rest)?;
        event.device = names.device(device);
        event.who = names.process(bracketed(rest).unwrap_or_default(), pid);
        Ok(Some(event))
    }
}

/// A device as two numbers with a comma.
pub fn is_device(word: &[u8]) -> Option<()> {
    let comma = word.iter().position(|b| *b == b',')?;
    number(&word[..comma])
        .and(number(&word[comma + 1..]))
        .map(|_| ())
}
