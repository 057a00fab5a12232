//! A drive whose times are given: the plainest thing that a trace can be replayed on.

use crate::drive::{Command, Drive, FinishedCommand, ServiceTime};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

/// Commands that the drive holds at a time.
const DEPTH: u32 = 32;

/// Serves one command at a time, in the order of arrival.
#[derive(Debug)]
pub struct FixedDrive {
    /// Sectors.
    sectors: u64,
    /// Each command.
    command: Duration,
    /// A command that does not start where the one before ended, at first at 0.
    seek: Duration,
    /// Each sector.
    sector: Duration,
    head: u64,
    waiting: VecDeque<(Command, Instant)>,
    serving: Option<FinishedCommand>,
}

impl FixedDrive {
    /// A drive of so many sectors, with the time of each command, of a command that does not start
    /// where the one before ended, and of each sector. It holds 32 commands.
    pub fn new(sectors: u64, command: Duration, seek: Duration, sector: Duration) -> Self {
        FixedDrive {
            sectors,
            command,
            seek,
            sector,
            head: 0,
            waiting: VecDeque::new(),
            serving: None,
        }
    }

    fn begin(&mut self, now: Instant) {
        let Some((command, came)) = self.waiting.pop_front() else {
            return;
        };
        let seek = match command.sector == self.head {
            true => Duration::ZERO,
            false => self.seek,
        };
        let transfer = self.command + self.sector * u64::from(command.sectors);
        self.head = command.sector + u64::from(command.sectors);
        let finished = FinishedCommand {
            tag: command.tag,
            at: now + seek + transfer,
            spent: ServiceTime {
                queued: now.since(came),
                seek,
                rotation: Duration::ZERO,
                transfer,
            },
            cached: false,
        };
        self.serving = Some(finished);
    }
}

impl Drive for FixedDrive {
    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn depth(&self) -> u32 {
        DEPTH
    }

    fn start(&mut self, now: Instant, command: Command) {
        self.waiting.push_back((command, now));
        if self.serving.is_none() {
            self.begin(now);
        }
    }

    fn next(&self) -> Option<Instant> {
        self.serving.map(|finished| finished.at)
    }

    fn advance(&mut self, now: Instant, done: &mut Vec<FinishedCommand>) {
        while let Some(finished) = self.serving.take_if(|finished| finished.at <= now) {
            done.push(finished);
            self.begin(finished.at);
        }
    }
}
