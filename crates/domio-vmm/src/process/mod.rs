//! Processes: what guests run, written in one place.
//!
//! A process is a small program in steps: compute, sleep, read or write a socket or a file, accept
//! a connection, wait for any of several, yield. A [`Program`] says one step at a time
//! ([`Program::next`]) and is asked again when the step is over, so that a web server or `dd` is a
//! page of code:
//!
//! ```
//! use domio_core::Duration;
//! use domio_vmm::process::{Context, FileId, Op, Program, What};
//!
//! /// Reads a file from beginning to end, and computes a while for each piece.
//! #[derive(Clone, Debug)]
//! struct Checksum {
//!     file: FileId,
//!     read: u64,
//!     reading: bool,
//! }
//!
//! impl Program for Checksum {
//!     fn name(&self) -> &'static str {
//!         "checksum"
//!     }
//!
//!     fn next(&mut self, cx: &Context) -> Op {
//!         self.reading = !self.reading;
//!         if self.reading {
//!             let (offset, bytes) = (self.read, 4096);
//!             return self.file.does(What::Read { offset, bytes });
//!         }
//!         match cx.returned {
//!             0 => Op::Exit,
//!             bytes => {
//!                 self.read += bytes;
//!                 Op::Compute(Duration::from_micros(10))
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! What only computes and sleeps, and is on every host by the thousand (`burn`, `periodic`, ...),
//! is not a trait object but a [`Workload`](crate::config::Workload) that the task itself knows:
//! the same steps without a call through a table (`task.rs`).
//!
//! | file | holds |
//! |---|---|
//! | `mod` | what a program is, and its steps |
//! | `task` | a process and its progress; the workloads that only compute |
//! | `run` | carrying out the steps of a program |
//! | `order` | which process runs next |
//! | `programs` | the programs that ship |

pub(crate) mod order;
pub mod programs;
pub(crate) mod run;
pub(crate) mod task;

pub use task::Finished;

use crate::bus::Owner;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use domio_core::{Duration, Instant};
use domio_sim::RandomStream;

/// A process of a domain: a vcpu, and the number of the process there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pid {
    /// Index of the vcpu that it lives on.
    pub vcpu: u16,
    /// Its number among the processes of that vcpu.
    pub index: u32,
}

/// A socket or file: a device model, and the model's own number for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId {
    /// Index of the model on the bus.
    pub device: u16,
    /// Number of the socket or file, as the model's page says.
    pub file: u32,
}

impl FileId {
    /// The step that calls `what` on the file.
    pub fn does(self, what: What) -> Op {
        Op::Call(Call { file: self, what })
    }
}

/// What a process asks of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Reads up to `bytes`, which are over zero; blocks until there is something. Returns how many
    /// there were; 0 at the end of a file, or when the other end of a connection has closed.
    Read {
        /// Where in the file; sockets ignore it.
        offset: u64,
        /// Most that it takes.
        bytes: u64,
    },
    /// Writes `bytes`, which are over zero; blocks until there is room for all. Returns how many
    /// were written.
    Write {
        /// Where in the file; sockets ignore it.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// Blocks until somebody has connected to a socket that listens. Returns the number of the
    /// connection's socket, of the same model.
    Accept,
    /// Blocks until what was written has reached the disk; sockets return at once.
    Sync,
}

/// A system call on a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Which file.
    pub file: FileId,
    /// What about it.
    pub what: What,
}

/// What becomes of a process in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a call takes its time, blocks or returns"]
pub enum Answer {
    /// It executes for this long in the kernel on behalf of somebody, and the call goes on then.
    Run(Duration, Owner),
    /// It blocks until the model [wakes](crate::bus::KernelIo::wake) it, and the call goes on then.
    Block,
    /// The call returns, with this.
    Return(u64),
}

/// What a process waits for at a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// That a read or an accept would not block.
    Readable,
    /// That a write of something would not block.
    Writable,
}

/// A step of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Computes for this long; [`Duration::MAX`] for ever.
    Compute(Duration),
    /// Sleeps until this time; one that has passed is no sleep.
    SleepUntil(Instant),
    /// Gives the vcpu away, though it has more to do.
    Yield,
    /// A system call.
    Call(Call),
    /// Waits until one of several files is ready, or until a time ([`Instant::MAX`] for no time).
    /// Returns the index of the first ready one, or their number when the time has come.
    Wait {
        /// What it waits for.
        any: Vec<(FileId, Interest)>,
        /// How long at the most.
        until: Instant,
    },
    /// A hypercall of the toolstack, which only processes of controllers make.
    Hypercall(Hypercall),
    /// Tells the trace of a job that is done, released at this time, which took so much processor
    /// time; takes no time itself.
    Report {
        /// When the job was there to be done.
        released: Instant,
        /// Processor time that it took.
        work: Duration,
    },
    /// Ends the process.
    Exit,
}

/// What the toolstack asks of the hypervisor for a controller. The time of the hypercall is the
/// process's to compute before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hypercall {
    /// Returns how many vcpus there are to read figures of.
    Vcpus,
    /// Reads what the domains got and did, for the controller with this number.
    Observe(u16),
    /// Has the controller with this number decide on what it has read; returns how many
    /// adjustments it wants.
    Decide(u16),
    /// Carries out the next adjustment of the controller with this number.
    Adjust(u16),
}

/// What a program may know when it says its next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// The time.
    pub now: Instant,
    /// What the step before returned; 0 for one that returns nothing.
    pub returned: u64,
}

/// A program.
///
/// Programs are state machines: [`Program::next`] is called when the process first executes, and
/// whenever a step is over. A program whose steps take no time for too long ends the run with an
/// error that names it.
pub trait Program: Send + Sync + Debug + FreshProgram {
    /// Name for people.
    fn name(&self) -> &'static str;

    /// The next step.
    fn next(&mut self, cx: &Context) -> Op;

    /// Gets its own stream of random numbers, before the first step. A program that draws none
    /// ignores it.
    fn seed(&mut self, random: RandomStream) {
        let _ = random;
    }
}

/// Making a process of a program: every [`Program`] that can be cloned has it.
pub trait FreshProgram {
    /// The same program, for another process.
    fn fresh(&self) -> Box<dyn Program>;
}

impl<P: Program + Clone + 'static> FreshProgram for P {
    fn fresh(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}
