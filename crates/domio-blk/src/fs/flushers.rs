//! The threads of `pdflush`: what each has to do.

use super::cache::NONE;
use super::contract::PDFLUSH;
use domio_core::Instant;

/// What a thread has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Job {
    /// Writes old pages.
    Old,
    /// Writes until less than the background limit is dirty.
    Background,
}

/// The threads of `pdflush`.
#[derive(Debug)]
pub(super) struct Flushers {
    pub jobs: [Option<Job>; PDFLUSH.len()],
    /// The thread that works on the disk (`writeback_acquire`).
    pub working: u32,
    /// When old pages are looked for next.
    pub next_old: Instant,
}

impl Flushers {
    pub fn new(first: Instant) -> Self {
        Flushers {
            jobs: [None; PDFLUSH.len()],
            working: NONE,
            next_old: first,
        }
    }

    pub fn job(&mut self, t: u32) -> &mut Option<Job> {
        &mut self.jobs[(t - PDFLUSH[0].0) as usize]
    }
}
