//! ASCII traces of DiskSim: time (ms), device, block, blocks, flags of which bit 0 means a read.
//! Source: DiskSim 4.0, reference manual, section 4.

use super::line::LineFormat;
use crate::block::event::{BlockAct, BlockEvent, BlockFlags, BlockWay};
use crate::block::fields::{Expect, Field, decimal, number, sectors, words};
use crate::block::names::BlockNames;
use domio_core::Instant;

/// Reads lines of such a trace.
pub struct DiskSim;

impl LineFormat for DiskSim {
    fn line(&mut self, line: &[u8], names: &mut BlockNames) -> Field<Option<BlockEvent>> {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(None);
        }
        let mut fields = words(line);
        let mut next = || fields.next().unwrap_or_default();
        let [time, device, block, count, flags] = [next(), next(), next(), next(), next()];
        // Milliseconds with six decimals are nanoseconds.
        let at = decimal(time, 6).expect_of("five words: ms, device, block, blocks, flags")?;
        number(device).expect_of("the number of a device")?;
        let (sector, sectors) = sectors(block, count)?;
        let flags = std::str::from_utf8(flags).ok();
        let flags = flags.and_then(|flags| u32::from_str_radix(flags, 16).ok());
        let flags = flags.expect_of("flags, as 1")?;
        if fields.next().is_some() || sectors == 0 {
            return None.expect_of("five words: ms, device, block, blocks, flags");
        }
        Ok(Some(BlockEvent {
            at: Instant::from_nanos(at),
            act: BlockAct::Queue,
            way: match flags & 1 {
                1 => BlockWay::Read,
                _ => BlockWay::Write,
            },
            flags: BlockFlags::default(),
            who: names.who(device),
            device: names.device(device),
            sector,
            sectors,
            response: None,
        }))
    }
}
