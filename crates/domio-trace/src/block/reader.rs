//! Reads a trace of a block device in any known format.

use super::binary::{Binary, RecordStep};
use super::damage::{BlockDamage, BlockTraceError, Damaged};
use super::event::BlockEvent;
use super::formats::{BlockFormat, LineFormat, lines_of, recognise};
use super::lines::TextLines;
use super::names::BlockNames;
use super::parts::BinaryParts;
use domio_core::{Duration, Instant};
use std::io::{Chain, Cursor, Read};

/// Bytes that are looked at to recognise the format.
const LOOK: u64 = 16_384;

/// Lines of which one has to be good.
const PATIENCE: u64 = 1000;

/// From the first event to the last, at most: 146 years.
const LONGEST: Duration = Duration::from_nanos(1 << 62);

/// Characters of a damaged line that are shown.
const SHOWN: usize = 60;

/// An input whose first bytes were looked at.
type Looked<R> = Chain<Cursor<Vec<u8>>, R>;

/// Streams the events of a trace in the order of time, in memory that does not grow.
///
/// `R` needs no buffer of its own.
pub struct BlockReader<R> {
    format: BlockFormat,
    source: Source<R>,
    names: BlockNames,
    damage: BlockDamage,
    /// Time of the first event in the file.
    origin: Option<u64>,
    last: Instant,
    events: u64,
}

enum Source<R> {
    Lines(TextLines<Looked<R>>, Box<dyn LineFormat + Send>),
    Binary(Box<Binary<Looked<R>>>),
    Parts(BinaryParts<Looked<R>>),
}

impl<R: Read> BlockReader<R> {
    /// Looks at the start of `read`, and prepares to stream it as `format`, or as what it seems to
    /// be.
    ///
    /// # Errors
    /// [`BlockTraceError::Empty`], [`BlockTraceError::Foreign`], and those of reading.
    pub fn new(mut read: R, format: Option<BlockFormat>) -> Result<Self, BlockTraceError> {
        let mut start = Vec::new();
        let mut head = read.by_ref().take(LOOK);
        head.read_to_end(&mut start).map_err(BlockTraceError::Io)?;
        if start.is_empty() {
            return Err(BlockTraceError::Empty);
        }
        let format = format.or_else(|| recognise(&start)).ok_or_else(|| {
            let names: Vec<&str> = BlockFormat::ALL.iter().map(|f| f.name()).collect();
            BlockTraceError::Foreign(names.join(", "))
        })?;
        let read = Cursor::new(start).chain(read);
        let source = match lines_of(format) {
            Some(reader) => Source::Lines(TextLines::new(read), reader),
            None => Source::Binary(Box::new(Binary::new(read))),
        };
        Ok(BlockReader::of(format, source))
    }

    /// Prepares to stream the files of one recording of `blktrace`, one for each cpu, merged by
    /// time. A file without anything in it is that of a cpu that did nothing.
    ///
    /// # Errors
    /// [`BlockTraceError::Empty`] when all are, [`BlockTraceError::Part`], and those of reading.
    pub fn of_parts(files: Vec<R>) -> Result<Self, BlockTraceError> {
        let mut parts = Vec::with_capacity(files.len());
        for (number, mut read) in files.into_iter().enumerate() {
            let mut start = Vec::new();
            let mut head = read.by_ref().take(LOOK);
            head.read_to_end(&mut start).map_err(BlockTraceError::Io)?;
            if start.is_empty() {
                continue;
            }
            if recognise(&start) != Some(BlockFormat::Blktrace) {
                return Err(BlockTraceError::Part(number));
            }
            parts.push(Cursor::new(start).chain(read));
        }
        match parts.is_empty() {
            true => Err(BlockTraceError::Empty),
            false => Ok(BlockReader::of(
                BlockFormat::Blktrace,
                Source::Parts(BinaryParts::new(parts)),
            )),
        }
    }

    fn of(format: BlockFormat, source: Source<R>) -> Self {
        BlockReader {
            format,
            source,
            names: BlockNames::default(),
            damage: BlockDamage::default(),
            origin: None,
            last: Instant::ZERO,
            events: 0,
        }
    }

    /// The format of the file.
    pub fn format(&self) -> BlockFormat {
        self.format
    }

    /// Whose the events are that were handed out. The tables grow at their ends.
    pub fn names(&self) -> &BlockNames {
        &self.names
    }

    /// What was left out so far.
    pub fn damage(&self) -> &BlockDamage {
        &self.damage
    }

    /// The next event; `None` after the last.
    ///
    /// # Errors
    /// When the file cannot be read, or nothing in it fits the format.
    #[inline]
    pub fn next_event(&mut self) -> Result<Option<BlockEvent>, BlockTraceError> {
        loop {
            let event = match &mut self.source {
                Source::Lines(..) => self.next_of_lines()?,
                Source::Binary(_) | Source::Parts(_) => self.next_of_records()?,
            };
            let Some(mut event) = event else {
                if self.events == 0 && self.damage.places > 0 {
                    return Err(self.nothing());
                }
                return Ok(None);
            };
            let origin = *self.origin.get_or_insert(event.at.as_nanos());
            let at = event.at.saturating_since(Instant::from_nanos(origin));
            if at > LONGEST {
                let why = format!("{} s after the first event", at.as_nanos() / 1_000_000_000);
                let place = self.place();
                self.damage.add(|| place, why);
                continue;
            }
            self.events += 1;
            event.at = Instant::ZERO + at;
            if event.at < self.last {
                self.damage.late += 1;
                event.at = self.last;
            }
            self.last = event.at;
            return Ok(Some(event));
        }
    }

    /// Where the reader is.
    fn place(&self) -> String {
        match &self.source {
            Source::Lines(lines, _) => format!("line {}", lines.number()),
            Source::Binary(records) => format!("record {}", records.records()),
            Source::Parts(parts) => format!("record {}", parts.records()),
        }
    }

    fn next_of_lines(&mut self) -> Result<Option<BlockEvent>, BlockTraceError> {
        let Source::Lines(lines, format) = &mut self.source else {
            return Ok(None);
        };
        while lines.advance().map_err(BlockTraceError::Io)? {
            match format.line(lines.line(), &mut self.names) {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(wrong) => {
                    let (number, line) = (lines.number(), lines.line());
                    let why = format!("expected {}, found {}", wrong.expected, shown(line));
                    self.damage.add(|| format!("line {number}"), why);
                    if self.events == 0 && self.damage.places >= PATIENCE {
                        return Err(self.nothing());
                    }
                }
            }
        }
        Ok(None)
    }

    fn next_of_records(&mut self) -> Result<Option<BlockEvent>, BlockTraceError> {
        loop {
            let step = match &mut self.source {
                Source::Lines(..) => return Ok(None),
                Source::Binary(records) => records.step(&mut self.names, &mut self.damage),
                Source::Parts(parts) => parts.step(&mut self.names, &mut self.damage),
            };
            match step.map_err(BlockTraceError::Io)? {
                RecordStep::Event(event) => return Ok(Some(event)),
                RecordStep::Nothing => {}
                RecordStep::End => return Ok(None),
            }
        }
    }

    /// Nothing in the file fits the format.
    fn nothing(&self) -> BlockTraceError {
        let first = self.damage.named.first().cloned();
        BlockTraceError::Nothing {
            lines: match &self.source {
                Source::Lines(lines, _) => lines.number(),
                Source::Binary(records) => records.records(),
                Source::Parts(parts) => parts.records(),
            },
            format: self.format.name(),
            first: first.unwrap_or(Damaged {
                place: "line 1".to_owned(),
                why: "nothing".to_owned(),
            }),
        }
    }
}

/// A damaged line for people: its beginning, on one line.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let cut: String = text.trim().chars().take(SHOWN).map(clean).collect();
    match cut.len() < text.trim().len() {
        true => format!("\"{cut}...\""),
        false => format!("\"{cut}\""),
    }
}
