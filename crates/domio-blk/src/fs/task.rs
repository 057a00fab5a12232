//! Tasks: processes and threads, each with the stack of its call.

use super::cache::NONE;
use super::dirty::Pass;
use super::frames::Frame;
use super::readahead::Readahead;
use super::wait::Wait;
use crate::elevator::Bio;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_core::Duration;

/// A process or thread.
#[derive(Debug)]
pub(super) struct Task {
    pub stack: Vec<Frame>,
    pub bios: VecDeque<Bio>,
    pub wait: Option<Wait>,
    pub unplugged: bool,
    pub asleep: bool,
    pub cost: Duration,
    /// Bios on the way that the task itself waits for.
    pub own: u32,
    /// The task that waits for the same page behind this one.
    pub next_waiter: u32,
    /// Credits of the open handle, 0 for no handle.
    pub credits: u32,
    /// The file that the task has open.
    pub open: u32,
    pub readahead: Readahead,
    /// Blocks of metadata to be read or changed, and whether their reads are marked so.
    pub touched: Vec<(u32, bool)>,
    /// What the last pass over dirty pages came to.
    pub pass: Pass,
}

impl Default for Task {
    fn default() -> Self {
        Task {
            stack: Vec::new(),
            bios: VecDeque::new(),
            wait: None,
            unplugged: false,
            asleep: false,
            cost: Duration::ZERO,
            own: 0,
            next_waiter: NONE,
            credits: 0,
            open: NONE,
            readahead: Readahead::OPENED,
            touched: Vec::new(),
            pass: Pass::default(),
        }
    }
}
