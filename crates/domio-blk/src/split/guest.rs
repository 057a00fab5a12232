//! A guest's disk: the front-end, and the processes that use the disk.

use super::bio::{Origin, Piece};
use super::config::VbdConfig;
use super::front::{Doing, Front, Task};
use super::raw::RawCall;
use crate::elevator::{IoWay, Submitter};
use alloc::vec::Vec;
use core::ops::Range;
use domio_vmm::bus::{KernelIo, Owner, Progress};
use domio_vmm::evtchn::Port;
use domio_vmm::process::{Answer, Pid, What};

/// A call under way.
#[derive(Clone, Copy, Debug)]
struct Ongoing {
    number: u64,
    by: Pid,
    task: Task,
    raw: RawCall,
}

/// A disk of a guest.
pub(super) struct Vbd {
    pub config: VbdConfig,
    pub front: Front,
    pub back_port: Option<Port>,
    /// Whether the handler of the back-end's port has been entered.
    pub back_entered: bool,
    /// Threads that serve the disk.
    pub threads: Range<usize>,
    /// Requests that the back-end has taken and not answered.
    pub taken: u32,
    calls: Vec<Ongoing>,
    calls_made: u64,
    /// Processes that have used the disk; the place is the number of the submitter.
    processes: Vec<Pid>,
}

impl Vbd {
    /// The disk, which nobody uses.
    pub fn new(config: VbdConfig, front: Front, threads: Range<usize>) -> Self {
        Vbd {
            config,
            front,
            back_port: None,
            back_entered: false,
            threads,
            taken: 0,
            calls: Vec::new(),
            calls_made: 0,
            processes: Vec::new(),
        }
    }

    /// A process calls the disk itself, or goes on with a call.
    pub fn call(&mut self, what: What, by: Pid, kernel: &mut KernelIo<'_, '_>) -> Answer {
        let place = match self.calls.iter().position(|call| call.by == by) {
            Some(place) => place,
            None => match self.begin(what, by) {
                Some(place) => place,
                None => return Answer::Return(0),
            },
        };
        let Ongoing {
            number, mut task, ..
        } = self.calls[place];
        let calls = &mut self.calls;
        let doing = self.front.go_on(
            &mut task,
            |_, _| calls[place].raw.step(),
            |_| Origin::Call(number),
            kernel,
        );
        self.calls[place].task = task;
        self.wake(kernel);
        match doing {
            Doing::Run(time) => Answer::Run(time, Owner::Nobody),
            Doing::Block => Answer::Block,
            Doing::Done(value) => {
                self.calls.swap_remove(place);
                Answer::Return(value)
            }
        }
    }

    /// Begins a call; none for what a disk itself has nothing to do for.
    fn begin(&mut self, what: What, by: Pid) -> Option<usize> {
        let (way, part) = match what {
            What::Read { offset, bytes } => (IoWay::Read, (offset, bytes)),
            What::Write { offset, bytes } => (IoWay::Write, (offset, bytes)),
            _ => return None,
        };
        let known = self.processes.iter().position(|process| *process == by);
        let submitter = known.unwrap_or_else(|| {
            self.processes.push(by);
            self.processes.len() - 1
        });
        let submitter = Submitter(submitter as u32);
        let (most, _) = self.config.back.request_limits();
        self.calls_made += 1;
        self.calls.push(Ongoing {
            number: self.calls_made,
            by,
            task: Task::new(submitter),
            raw: RawCall::new(way, submitter, part, (self.config.sectors, most)),
        });
        Some(self.calls.len() - 1)
    }

    /// The handler of blkfront's port.
    pub fn interrupt(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let progress = self.front.interrupt(kernel);
        let mut over = core::mem::take(&mut self.front.over);
        for piece in over.drain(..) {
            self.over(&piece, kernel);
        }
        self.front.over = over;
        self.wake(kernel);
        progress
    }

    /// The guest's `kblockd`.
    pub fn kblockd(&mut self, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let progress = self.front.kblockd(kernel);
        self.wake(kernel);
        progress
    }

    /// A piece is over: whoever waits for the last one of a call goes on.
    fn over(&mut self, piece: &Piece, kernel: &mut KernelIo<'_, '_>) {
        match piece.origin {
            Origin::Call(number) => {
                let mut calls = self.calls.iter_mut();
                let call = calls.find(|call| call.number == number);
                let call = call.expect("a call waits for all of its pieces");
                call.raw.unanswered -= 1;
                if call.raw.unanswered == 0 {
                    kernel.wake(call.by);
                }
            }
        }
    }

    /// Those go on who may have a request of the queue.
    fn wake(&mut self, kernel: &mut KernelIo<'_, '_>) {
        for submitter in self.front.layer.woken.drain(..) {
            let mut calls = self.calls.iter_mut();
            if let Some(call) = calls.find(|call| call.task.submitter == submitter) {
                call.task.woken = true;
                kernel.wake(call.by);
            }
        }
    }

    /// Whether nothing of the disk is under way in the guest.
    pub fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.front.pieces.len() == 0
    }
}
