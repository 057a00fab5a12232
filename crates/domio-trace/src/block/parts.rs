//! The files that `blktrace` writes of one recording, one for each cpu, merged by time.

use super::binary::{Binary, Raw, RecordStep};
use super::damage::BlockDamage;
use super::names::BlockNames;
use std::collections::HashMap;
use std::io::{self, Read};

/// All files of a recording. Each is in the order of time; events at one time come in the order of
/// the files.
pub struct BinaryParts<R> {
    all: Vec<Part<R>>,
    /// Names of commands: one file has the name of a process whose requests are in all of them.
    commands: HashMap<u32, Vec<u8>>,
}

struct Part<R> {
    records: Binary<R>,
    next: Next,
}

/// What a file has next.
enum Next {
    /// Nothing was read.
    Unread,
    /// An event at this time.
    Record(u64, Raw),
    /// No more.
    End,
}

impl<R: Read> BinaryParts<R> {
    /// The files of a recording.
    pub fn new(files: Vec<R>) -> Self {
        let all = files.into_iter().map(|file| Part {
            records: Binary::new(file),
            next: Next::Unread,
        });
        BinaryParts {
            all: all.collect(),
            commands: HashMap::new(),
        }
    }

    /// Whole records of all files, so far.
    pub fn records(&self) -> u64 {
        self.all.iter().map(|part| part.records.records()).sum()
    }

    /// The earliest record that is left.
    pub fn step(
        &mut self,
        names: &mut BlockNames,
        damage: &mut BlockDamage,
    ) -> io::Result<RecordStep> {
        let mut first: Option<(u64, usize)> = None;
        for (number, part) in self.all.iter_mut().enumerate() {
            while let Next::Unread = part.next {
                part.next = match part.records.read(damage)? {
                    None => Next::End,
                    // What names a process holds from now on, for all files.
                    Some(raw) if part.records.is_notice(&raw) => {
                        part.records.lend(&mut self.commands);
                        part.records.decode(&raw, names);
                        part.records.lend(&mut self.commands);
                        Next::Unread
                    }
                    Some(raw) => Next::Record(part.records.time(&raw), raw),
                };
            }
            if let Next::Record(at, _) = part.next
                && first.is_none_or(|(earliest, _)| at < earliest)
            {
                first = Some((at, number));
            }
        }
        let Some(part) = first.and_then(|(_, number)| self.all.get_mut(number)) else {
            return Ok(RecordStep::End);
        };
        let Next::Record(_, raw) = std::mem::replace(&mut part.next, Next::Unread) else {
            return Ok(RecordStep::End);
        };
        part.records.lend(&mut self.commands);
        let step = part.records.decode(&raw, names);
        part.records.lend(&mut self.commands);
        Ok(step)
    }
}
