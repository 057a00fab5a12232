//! Bios on their way: each has the next number as its tag.

use alloc::collections::VecDeque;

/// What a bio is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InFlight {
    /// Reads pages into the cache.
    Read { block: u32, pages: u32 },
    /// Writes a cached page.
    Page { block: u32 },
    /// Writes a block that its task alone waits for.
    Own { block: u32, task: u32 },
}

/// All bios on their way, oldest first, with gaps where younger ones are done.
#[derive(Debug, Default)]
pub(super) struct Flight {
    bios: VecDeque<Option<InFlight>>,
    first: u64,
}

impl Flight {
    /// A bio sets out. Returns its tag.
    pub fn push(&mut self, bio: InFlight) -> u64 {
        self.bios.push_back(Some(bio));
        self.first + self.bios.len() as u64 - 1
    }

    /// A bio is done.
    ///
    /// # Panics
    /// When no bio on the way has this tag.
    #[track_caller]
    pub fn take(&mut self, tag: u64) -> InFlight {
        let at = tag.checked_sub(self.first).map(|at| at as usize);
        let bio = at.and_then(|at| self.bios.get_mut(at)?.take());
        let bio = bio.unwrap_or_else(|| panic!("bio {tag} is not on the way"));
        while let Some(None) = self.bios.front() {
            self.bios.pop_front();
            self.first += 1;
        }
        bio
    }

    /// Tag of the read on the way that has this block.
    pub fn read_of(&self, wanted: u32) -> Option<u64> {
        let has = |bio: &Option<InFlight>| match *bio {
            Some(InFlight::Read { block, pages }) => (block..block + pages).contains(&wanted),
            _ => false,
        };
        Some(self.first + self.bios.iter().position(has)? as u64)
    }

    /// Tag of the oldest bio on the way, or of the next one if there is none.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Tag of the bio that set out last, or one less than the first if none is on the way.
    pub fn last(&self) -> u64 {
        (self.first + self.bios.len() as u64).saturating_sub(1)
    }
}
