//! Processes: what guests run, written in one place.
//!
//! A process runs a small program in steps: compute, sleep, read or write a socket or a file,
//! accept a connection, wait for any of several files, yield. A [`Program`] says one step at a time
//! ([`Program::next`]). When the step is over, the program is asked for the next one. So a web
//! server or `dd` is a page of code:
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
//! Processes that only compute and sleep (`burn`, `periodic`, ...) are on every host, by the
//! thousand. Such a process is no trait object but a [`Workload`](crate::config::Workload), whose
//! steps `task.rs` knows: the same steps without a call through a table.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | what a program is, and its steps |
//! | `task` | a process and its progress; the workloads that only compute |
//! | `jobs` | processes whose jobs somebody else plans |
//! | `run` | carrying out the steps of a program |
//! | `running` | a program that runs, and where it is |
//! | [`order`] | which process runs next |
//! | [`roam`] | on which vcpu a process executes |
//! | `programs` | the programs that ship |

mod files;
mod jobs;
pub mod order;
pub mod programs;
pub mod roam;
pub(crate) mod run;
mod running;
pub(crate) mod task;

pub use files::{Directories, FileSizes, WeightedSizes};
pub use jobs::{JobPlan, NewJob, WokenBy};

use crate::bus::owner::Owner;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use domio_core::{Duration, Instant, mixed};
use domio_sim::RandomStream;

/// A process of a domain: a vcpu, and the number of the process there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pid {
    /// Index of the vcpu that the process lives on, [`Pid::ROAMS`] if it may live on any.
    pub vcpu: u16,
    /// Number of the process among those of that vcpu, or among those that may live on any.
    pub index: u32,
}

impl Pid {
    /// In place of a vcpu: the process goes from one to another.
    pub const ROAMS: u16 = u16::MAX;
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
    /// Reads up to `bytes`, which are over zero. Blocks until there is something to read. Returns
    /// how many bytes there were: 0 at the end of a file, or when the other end of a connection has
    /// closed.
    Read {
        /// Where in the file; sockets ignore it.
        offset: u64,
        /// Most bytes that the read takes.
        bytes: u64,
    },
    /// Writes `bytes`, which are over zero. Blocks until there is room for all of them. Returns how
    /// many were written.
    Write {
        /// Where in the file; sockets ignore it.
        offset: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Blocks until somebody has connected to a socket that listens. Returns the number of the
    /// connection's socket, which belongs to the same model.
    Accept,
    /// Blocks until what was written has reached the disk. Sockets return immediately.
    Sync,
    /// Returns how many bytes the request asks for that was read from the connection last: packets
    /// have no contents. 0 for files, and for connections that know nothing of requests.
    Asked,
    /// Closes a connection that was accepted: the process uses the file no more. Returns 0. Files
    /// of other kinds stay open.
    Close,
    /// Makes an empty file in a directory of the file system that the named file belongs to.
    /// Returns the number of the new file, which belongs to the same model; 0 where there is no
    /// file system.
    Create {
        /// Number of the directory ([`Directories::number`]); 0 is the root.
        directory: u32,
    },
    /// Files that were in the file system before the process began, on the disk.
    /// They are made at the first call that asks for them, in no time; the same call by another
    /// process finds them. Returns the number of the first one; the others follow. Returns 0 where
    /// there is no file system.
    Prepare(Prepare),
    /// Chooses one of the files that processes share. The named file is the first one of a
    /// [`What::Prepare`], whose files begin as the list. Returns the number of the chosen file;
    /// that of the file system's own file (0 in its disk) where none was found. Takes no time.
    Choose {
        /// Whether the file is to be in use by nobody else, and leaves the list.
        alone: bool,
        /// A random number, which the choice is made by.
        draw: u64,
    },
    /// Ends the use of the file, which was chosen from the list that begins with `first`, not
    /// alone. Returns 0.
    Release {
        /// The first file of the list.
        first: u32,
    },
    /// Adds the file to the list that begins with `first`, if the file exists. Returns 0.
    Enlist {
        /// The first file of the list.
        first: u32,
    },
    /// Removes the file. Returns 0.
    Remove,
    /// Returns the size of the file (bytes); 0 for sockets.
    Size,
    /// Blocks until everything that was written to the file system has reached the disk. Sockets
    /// return immediately.
    SyncAll,
}

/// Files that a process finds in a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prepare {
    /// How many, at least 1.
    pub files: u32,
    /// Directories that they are spread over in turn.
    pub directories: Directories,
    /// Their sizes.
    pub sizes: FileSizes,
    /// Distinguishes files of one shape: processes with the same number find the same files.
    pub series: u32,
    /// Whether memory holds what making them has left there: their names and inodes, and the data
    /// that was written last, all of which is on the disk. One process made them then. Otherwise
    /// nothing of them is in memory.
    pub cached: bool,
}

impl Prepare {
    /// Size of the file with this place among them (bytes), the same in each run.
    pub fn size(&self, place: u32) -> u64 {
        self.sizes.drawn(mixed(u64::from(place)))
    }
}

/// A system call on a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Which file.
    pub file: FileId,
    /// What the process asks.
    pub what: What,
}

/// What becomes of a process in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a call takes its time, blocks or returns"]
pub enum Answer {
    /// The process executes for this long in the kernel, on behalf of somebody. Then the call
    /// continues.
    Run(Duration, Owner),
    /// The process blocks until the model [wakes](crate::bus::KernelIo::wake) the process. Then the
    /// call continues.
    Block,
    /// The call returns this value.
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
    /// Sleeps until this time. A time that has passed is no sleep.
    SleepUntil(Instant),
    /// Gives the vcpu away, though the process has more to do.
    Yield,
    /// A system call.
    Call(Call),
    /// Waits until one of several files is ready, or until a time ([`Instant::MAX`] for no time).
    /// Returns the index of the first file that is ready, or the number of files when the time has
    /// come.
    Wait {
        /// The files, and what is awaited of each.
        any: Vec<(FileId, Interest)>,
        /// When the wait ends at the latest.
        until: Instant,
    },
    /// A hypercall of the toolstack, which only processes of controllers make.
    Hypercall(Hypercall),
    /// Tells the trace of a job that is done. The step itself takes no time.
    Report {
        /// When the job was there to be done.
        released: Instant,
        /// Processor time that the job took.
        work: Duration,
    },
    /// Ends the process.
    Exit,
}

/// What the toolstack asks of the hypervisor for a controller. The process computes for the time of
/// the hypercall before the step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hypercall {
    /// Returns how many vcpus there are to read figures of.
    Vcpus,
    /// Reads what the domains got and did, for the controller with this number.
    Observe(u16),
    /// Has the controller with this number decide on the figures that were read. Returns how many
    /// adjustments the controller wants, and how many of them last for a time
    /// ([`Hypercall::RENEWED_SHIFT`]).
    Decide(u16),
    /// Carries out the next adjustment of the controller with this number.
    Adjust(u16),
    /// Carries out again those of the adjustments of this controller that last for a time.
    Renew(u16),
}

impl Hypercall {
    /// [`Hypercall::Decide`] returns two numbers, the second one shifted by so many bits: how many
    /// adjustments there are, and how many of them last for a time.
    pub const RENEWED_SHIFT: u32 = 32;
}

/// What a program may know when the program is asked for the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// The time.
    pub now: Instant,
    /// What the step before returned; 0 for a step that returns nothing.
    pub returned: u64,
}

/// A job that a task has finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// From its release to its completion.
    pub turnaround: Duration,
    /// Processor time that the job took.
    pub work: Duration,
}

/// A program.
///
/// Programs are state machines: [`Program::next`] is called when the process first executes, and
/// whenever a step is over. A program whose steps take no time for too long ends the run with an
/// error that names the program.
pub trait Program: Send + Sync + Debug + FreshProgram {
    /// Name for people.
    fn name(&self) -> &'static str;

    /// The next step.
    fn next(&mut self, cx: &Context) -> Op;

    /// Gives the program a stream of random numbers of its own, before the first step. A program
    /// that draws no numbers ignores the stream.
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
