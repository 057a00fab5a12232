//! Events as CSV: `time_s,action,rwbs,sector,nsec,proc`, in the letters of `blkparse`. A line
//! without a process may leave the last field empty.

use super::line::LineFormat;
use super::requests::event;
use crate::block::event::{BlockAct, BlockEvent};
use crate::block::fields::{Expect, Field, commas, decimal, sectors};
use crate::block::names::BlockNames;

/// Reads lines of events.
pub struct Events;

impl LineFormat for Events {
    fn line(&mut self, line: &[u8], names: &mut BlockNames) -> Field<Option<BlockEvent>> {
        let line = line.trim_ascii();
        if line.is_empty() || line == b"time_s,action,rwbs,sector,nsec,proc" {
            return Ok(None);
        }
        let fields = commas::<6>(line);
        let expected = "six fields: time_s, action, rwbs, sector, nsec, proc";
        let [time, act, rwbs, sector, count, process] = fields.expect_of(expected)?;
        let at = decimal(time, 9).expect_of("a time in seconds, as 0.000123")?;
        let act = match act {
            [letter] => BlockAct::of_letter(*letter),
            _ => None,
        };
        let act = act.expect_of("a kind of event, as Q, D or C")?;
        let mut event = event(at, act, rwbs, b"0 + 0")?;
        (event.sector, event.sectors) = sectors(sector, count)?;
        event.who = names.who(process);
        event.device = names.device(b"");
        Ok(Some(event))
    }
}
