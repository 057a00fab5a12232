//! What is wrong with a trace of a block device.

use std::fmt;
use std::io;

/// A place of a file that was left out, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// Where: `line 7`, or `byte 4096` of a file that has no lines.
    pub place: String,
    /// What was expected, and what is there.
    pub why: String,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

/// What was left out of a trace because it is damaged.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct BlockDamage {
    /// Places that were left out.
    pub places: u64,
    /// The first of them.
    pub named: Vec<Damaged>,
    /// Events that were earlier than the one before, and got its time.
    pub late: u64,
}

impl BlockDamage {
    /// Places that are named; more are only counted.
    pub const NAMED: usize = 5;

    /// Adds a place.
    pub(super) fn add(&mut self, place: impl FnOnce() -> String, why: String) {
        self.places += 1;
        if self.named.len() < BlockDamage::NAMED {
            let place = place();
            self.named.push(Damaged { place, why });
        }
    }
}

impl fmt::Display for BlockDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = match self.places {
            1 => "1 damaged place was".to_owned(),
            n => format!("{n} damaged places were"),
        };
        write!(f, "{places} left out")?;
        for (i, damaged) in self.named.iter().enumerate() {
            write!(f, "{}{damaged}", if i == 0 { ": " } else { "; " })?;
        }
        let more = self.places - self.named.len() as u64;
        match more {
            0 => Ok(()),
            n => write!(f, "; and {n} more"),
        }
    }
}

/// Why nothing can be read of a trace of a block device, or nothing more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockTraceError {
    /// The operating system refused to read.
    #[error("cannot read the file")]
    Io(#[source] io::Error),
    /// No byte at all.
    #[error("the file is empty; expected a trace of a block device")]
    Empty,
    /// One of several files, counted from 0, is none that `blktrace` writes.
    #[error(
        "it is no file of blktrace; only the files that blktrace writes of one recording, one for \
         each cpu, are read together"
    )]
    Part(usize),
    /// None of the formats.
    #[error(
        "no format of block traces is recognised; expected one of {0}; if the file has one of them \
         and begins with something else, name the format with --format"
    )]
    Foreign(String),
    /// Nothing that fits the format.
    #[error(
        "nothing in the first {lines} lines fits the format {format}; {first}; name another format \
         with --format if the file has one"
    )]
    Nothing {
        /// Lines, or records, that were looked at.
        lines: u64,
        /// Name of the format.
        format: &'static str,
        /// What is wrong with the first.
        first: Damaged,
    },
}
