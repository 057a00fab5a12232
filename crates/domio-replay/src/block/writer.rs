//! Events as CSV, in the format that the reader calls `events`.

use domio_trace::block::{BlockAct, BlockEvent, BlockNames};
use std::io::{self, Write};

/// Writes events, a line each.
pub struct BlockCsv<W> {
    write: W,
}

impl<W: Write> BlockCsv<W> {
    /// Writes the headings.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn new(mut write: W) -> io::Result<Self> {
        writeln!(write, "{}", BlockCsv::<W>::HEADINGS)?;
        Ok(BlockCsv { write })
    }

    /// The first line.
    pub const HEADINGS: &str = "time_s,action,rwbs,sector,nsec,proc";

    /// Writes an event. Commas in names become semicolons.
    ///
    /// # Errors
    /// Those of the output.
    pub fn event(&mut self, names: &BlockNames, event: &BlockEvent) -> io::Result<()> {
        let ns = event.at.as_nanos();
        let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
        let letter = event.act.letter();
        let rwbs = event.flags.rwbs(event.way);
        // As in a recording: an end is nobody's doing.
        let who = match event.act {
            BlockAct::Complete => "0".to_owned(),
            _ => names.actor(event.who).replace([',', '\n', '\r'], ";"),
        };
        let (sector, sectors) = (event.sector, event.sectors);
        writeln!(
            self.write,
            "{seconds}.{ns:09},{letter},{rwbs},{sector},{sectors},{who}"
        )
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.write
    }
}
