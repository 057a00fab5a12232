//! A program that runs, and where it is.

use super::{Call, FileId, Interest, Program};
use crate::bus::locks::{KernelLock, Section};
use crate::bus::owner::Owner;
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_core::Instant;

/// What a process does.
#[derive(Debug)]
pub(super) enum Doing {
    /// The process is to be asked for its next step.
    Next,
    /// A call is under way.
    Call(Call),
    /// A call has come to a section that one vcpu at a time may be in, for whom it continues there.
    Before(Call, Section, Owner),
    /// The same, and another vcpu is in it.
    Spins(Call, Section, Owner),
    /// A call is in such a section.
    Within(Call, KernelLock),
    /// The process waits for any of these files, or until the time.
    Wait(Vec<(FileId, Interest)>, Instant),
    /// The program has ended.
    Nothing,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) program: Box<dyn Program>,
    pub(super) doing: Doing,
    /// What the last step returned.
    pub(super) returned: u64,
    /// The process was woken, and has not been switched to.
    pub(super) woken: bool,
    /// Steps since the process last executed, slept or blocked.
    pub(super) idle_steps: u32,
}

impl Running {
    /// A process that has not begun.
    pub fn new(program: Box<dyn Program>) -> Self {
        Running {
            program,
            doing: Doing::Next,
            returned: 0,
            woken: false,
            idle_steps: 0,
        }
    }

    /// What the step under way returns, from the host.
    pub fn set_returned(&mut self, value: u64) {
        self.returned = value;
    }

    /// The process was woken: from a call, from a wait, or because the time of the sleep has come.
    pub fn wake(&mut self) {
        self.woken = true;
    }

    pub fn name(&self) -> &'static str {
        self.program.name()
    }
}
