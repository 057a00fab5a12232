//! The table: who has which part of the major frame, made from what all domains ask for.
//!
//! In Xen an operator writes the table, entry by entry. Here it follows from the parameters of the
//! domains: first those that say where, in the order of their ids, then the others, each in the
//! first gaps that are long enough. A gap is an entry of nobody, as an operator of Xen would write
//! it.

use alloc::vec::Vec;
use domio_core::{DomainId, VcpuName};

/// Most entries of a table in Xen (`ARINC653_MAX_DOMAINS_PER_SCHEDULE`).
pub const MAX_ENTRIES: usize = 64;

/// A part of the major frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// Whose it is; `None` for a gap between two others.
    pub whose: Option<VcpuName>,
    /// Its length, in nanoseconds.
    pub runtime: i64,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FrameTable {
    /// One after the other from the beginning of the major frame.
    pub entries: Vec<TableEntry>,
    /// Length of the major frame, in nanoseconds; of no meaning without entries.
    pub major_frame: i64,
}

/// What a domain asks for. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Who asks.
    pub domain: DomainId,
    /// For how many vcpus.
    pub vcpus: u16,
    /// Length of each entry; 0 for none.
    pub runtime: i64,
    /// Where the first vcpu's begins; `None` for anywhere.
    pub offset: Option<i64>,
    /// From an entry to the next one of the same vcpu; 0 for one entry in a major frame.
    pub every: i64,
}

/// Why there is no such table. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Entries are to be repeated in a major frame that is as long as the entries.
    NoFrame,
    /// They are not repeated evenly.
    NoDivisor {
        /// From one to the next.
        every: i64,
        /// The major frame.
        frame: i64,
    },
    /// Two entries overlap.
    Overlap {
        /// Where the later one begins.
        start: i64,
        /// Where it ends.
        end: i64,
        /// Whose the other one is.
        with: DomainId,
    },
    /// An entry ends too late.
    PastFrame {
        /// Where it ends.
        end: i64,
        /// Where it may end: the major frame, or the time to its repetition.
        frame: i64,
    },
    /// No gap is long enough.
    NoRoom {
        /// The length of the entry.
        runtime: i64,
        /// The major frame.
        frame: i64,
    },
    /// There are more than [`MAX_ENTRIES`].
    TooMany {
        /// How many there may be.
        most: usize,
    },
}

/// A part of the major frame that is taken: from, to, whose.
type Taken = (i64, i64, VcpuName);

const TOO_MANY: Refused = Refused::TooMany { most: MAX_ENTRIES };

impl FrameTable {
    /// The table of a major frame of this length, 0 for as long as it has to be.
    ///
    /// # Errors
    /// The first domain for which there is no place, those with an offset before the others.
    pub fn new(major_frame: i64, domains: &[Asked]) -> Result<FrameTable, (DomainId, Refused)> {
        let mut domains = domains.to_vec();
        domains.retain(|a| a.runtime > 0);
        domains.sort_by_key(|a| (a.offset.is_none(), a.domain));
        let mut taken: Vec<Taken> = Vec::new();
        for asked in &domains {
            for index in 0..asked.vcpus {
                place(major_frame, asked, index, &mut taken).map_err(|r| (asked.domain, r))?;
            }
        }
        let table = FrameTable::of(major_frame, &taken);
        match (table.entries.len() > MAX_ENTRIES, domains.last()) {
            (true, Some(last)) => Err((last.domain, TOO_MANY)),
            _ => Ok(table),
        }
    }

    fn of(major_frame: i64, taken: &[Taken]) -> FrameTable {
        let mut table = FrameTable::default();
        let mut end = 0;
        for &(from, to, whose) in taken {
            if from > end {
                table.entries.push(TableEntry {
                    whose: None,
                    runtime: from - end,
                });
            }
            table.entries.push(TableEntry {
                whose: Some(whose),
                runtime: to - from,
            });
            end = to;
        }
        table.major_frame = if major_frame == 0 { end } else { major_frame };
        table
    }
}

/// Puts the entries of a vcpu into `taken`, which is in the order of time.
fn place(
    major_frame: i64,
    asked: &Asked,
    index: u16,
    taken: &mut Vec<Taken>,
) -> Result<(), Refused> {
    let mut times = 1;
    if asked.every > 0 {
        if major_frame == 0 {
            return Err(Refused::NoFrame);
        }
        if major_frame % asked.every != 0 {
            return Err(Refused::NoDivisor {
                every: asked.every,
                frame: major_frame,
            });
        }
        times = major_frame / asked.every;
    }
    if taken.len() as i64 + times > MAX_ENTRIES as i64 {
        return Err(TOO_MANY);
    }
    let fits = |from: i64| fits(major_frame, asked, times, from, taken);
    let from = match asked.offset {
        Some(offset) => {
            let from = offset + i64::from(index) * asked.runtime;
            fits(from)?;
            from
        }
        None => first_gap(asked, taken, &fits).ok_or(Refused::NoRoom {
            runtime: asked.runtime,
            frame: major_frame,
        })?,
    };
    let whose = VcpuName::new(asked.domain, index);
    let entries = (0..times).map(|i| from + i * asked.every);
    taken.extend(entries.map(|at| (at, at + asked.runtime, whose)));
    taken.sort_unstable_by_key(|(from, ..)| *from);
    Ok(())
}

/// Whether the entries may begin at `from`.
fn fits(
    major_frame: i64,
    asked: &Asked,
    times: i64,
    from: i64,
    taken: &[Taken],
) -> Result<(), Refused> {
    let frame = if asked.every > 0 {
        asked.every
    } else {
        major_frame
    };
    if frame > 0 && from + asked.runtime > frame {
        return Err(Refused::PastFrame {
            end: from + asked.runtime,
            frame,
        });
    }
    for start in (0..times).map(|i| from + i * asked.every) {
        let end = start + asked.runtime;
        let other = taken.iter().find(|(f, t, _)| *f < end && start < *t);
        if let Some((.., whose)) = other {
            let with = whose.domain;
            return Err(Refused::Overlap { start, end, with });
        }
    }
    Ok(())
}

/// The earliest time that fits: the beginning, or the end of some entry.
fn first_gap(
    asked: &Asked,
    taken: &[Taken],
    fits: &dyn Fn(i64) -> Result<(), Refused>,
) -> Option<i64> {
    let ends = taken.iter().map(|(_, to, _)| match asked.every {
        0 => *to,
        every => *to % every,
    });
    let starts = core::iter::once(0).chain(ends);
    starts.filter(|from| fits(*from).is_ok()).min()
}
