//! A drive that serves each command in the same time.

use super::{Command, Drive, FinishedCommand, ServiceTime};
use crate::split::DriveBlueprint;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::{Duration, Instant};

/// What the drive is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantDrive {
    /// Number of sectors.
    pub sectors: u64,
    /// Commands that the drive holds, at least 1.
    pub depth: u32,
    /// Time of a command.
    pub latency: Duration,
    /// Commands that are served at once, at least 1.
    pub channels: u32,
}

impl DriveBlueprint for ConstantDrive {
    fn make(&self, _: u64, _: u32) -> Box<dyn Drive> {
        Box::new(Constant {
            config: *self,
            free: vec![Instant::ZERO; self.channels as usize],
            ends: VecDeque::new(),
        })
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn is_rotational(&self) -> bool {
        false
    }

    fn copy(&self) -> Box<dyn DriveBlueprint> {
        Box::new(*self)
    }
}

/// Such a drive. Commands are served in the order in which they come, so that they end in that order.
#[derive(Debug)]
struct Constant {
    config: ConstantDrive,
    /// When each channel has nothing to do any more.
    free: Vec<Instant>,
    ends: VecDeque<FinishedCommand>,
}

impl Drive for Constant {
    fn sectors(&self) -> u64 {
        self.config.sectors
    }

    fn depth(&self) -> u32 {
        self.config.depth
    }

    fn start(&mut self, now: Instant, command: Command) {
        let channel = self.free.iter_mut().min().expect("a channel at least");
        let begin = now.max(*channel);
        *channel = begin + self.config.latency;
        self.ends.push_back(FinishedCommand {
            tag: command.tag,
            at: *channel,
            spent: ServiceTime {
                queued: begin.saturating_since(now),
                transfer: self.config.latency,
                ..ServiceTime::default()
            },
            cached: false,
        });
    }

    fn next(&self) -> Option<Instant> {
        self.ends.front().map(|command| command.at)
    }

    fn advance(&mut self, now: Instant, done: &mut Vec<FinishedCommand>) {
        while let Some(command) = self.ends.pop_front_if(|command| command.at <= now) {
            done.push(command);
        }
    }
}
