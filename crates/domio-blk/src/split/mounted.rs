//! A file system in a kernel: its timer, and the files that were there before.

use crate::elevator::Submitter;
use crate::fs::FileSystem;
use crate::fs::config::FsConfig;
use crate::fs::contract::{FsStep, QueueCongestion};
use alloc::vec::Vec;
use domio_core::{Duration, Instant};
use domio_vmm::bus::{Attach, KernelTimer, Token};
use domio_vmm::process::Prepare;

/// A file system and its timer.
pub(super) struct Mounted {
    pub fs: FileSystem,
    pub timer: KernelTimer,
    /// When the timer is due.
    due: Option<Instant>,
    tick: Duration,
    /// What was there before, and the number of the first file of each.
    prepared: Vec<(Prepare, u32)>,
}

impl Mounted {
    /// An empty file system. `timer` is the token of its timer.
    pub fn new(config: &FsConfig, attach: &mut Attach<'_>, timer: Token) -> Self {
        Mounted {
            fs: FileSystem::new(*config),
            timer: attach.kernel_timer(timer),
            due: None,
            tick: Duration::from_nanos(1_000_000_000 / u64::from(config.hz)),
            prepared: Vec::new(),
        }
    }

    /// Number of the first of the files that `prepare` asks for. They are made the first time.
    pub fn prepared(&mut self, prepare: &Prepare) -> u32 {
        if let Some((_, first)) = self.prepared.iter().find(|(known, _)| known == prepare) {
            return *first;
        }
        let mut first = None;
        let all = (0..prepare.files).map(|place| prepare.size(place));
        let mut behind: u64 = all.sum();
        for place in 0..prepare.files {
            let directory = prepare.directories.number(place);
            let colour = if prepare.cached { 0 } else { place };
            let bytes = prepare.size(place);
            let file = self.fs.populate(directory, bytes, colour);
            if prepare.cached {
                // Older data would be pushed out.
                self.fs.warm(file, behind <= self.fs.memory());
            }
            behind -= bytes;
            let first = *first.get_or_insert(file);
            assert_eq!(file, first + place, "prepared files have numbers in a row");
        }
        let first = first.expect("there is a file to prepare");
        self.prepared.push((*prepare, first));
        self.fs.list(first, prepare.files);
        first
    }

    /// The next step of the task `submitter`, which sleeps or does not.
    pub fn step(
        &mut self,
        submitter: Submitter,
        sleeps: &mut bool,
        congestion: QueueCongestion,
        now: Instant,
    ) -> FsStep {
        if *sleeps {
            return FsStep::Sleep;
        }
        let step = self.fs.step(now, submitter, congestion);
        *sleeps = step == FsStep::Sleep;
        step
    }

    /// The time has come that the timer was set for.
    pub fn expired(&mut self, now: Instant) {
        self.due = None;
        self.fs.timer(now);
    }

    /// When the timer is to be set for, if it is to be moved: a time that has passed is the next
    /// tick.
    pub fn rearm(&mut self, now: Instant) -> Option<Option<Instant>> {
        let next = self.fs.next_timer();
        let next = if next == Instant::MAX {
            None
        } else if next <= now {
            // Nobody is quicker than the kernel's clock.
            Some(self.due.filter(|due| *due > now).unwrap_or(now + self.tick))
        } else {
            Some(next)
        };
        (next != self.due).then(|| {
            self.due = next;
            next
        })
    }
}
