//! Block devices of simulated hosts.
//!
//! | module | holds |
//! |---|---|
//! | [`elevator`] | what orders the requests of a disk: the elevators of Linux 2.6.24 and 6.1 |
//! | [`queue`] | the request layer around an elevator |
//! | [`drive`] | what executes commands behind a request layer: disks, flash, arrays |
//! | [`fs`] | a guest's file system: page cache, ext3, write-back |
//! | [`conformance`] | what every elevator has to keep to |
//! | [`replay`] | scripts of requests, and what elevator and request layer did with them |
//! | [`split`] | virtual disks on disks of the host, through both block layers |
//! | [`trace`] | requests of a trace, run against request layer, elevator and drive |
//! | [`disks`] | virtual disks as scenarios ask for them |
//! | [`loopback`] | virtual disks in the driver domain's memory: the example of a device model |
//!
//! # A request from a process to the drive and back
//!
//! A process reads from its guest's disk, past the page cache; the disk is a part of a disk of the
//! host. These are the calls, in order, from the system call to its return. Each comes in by a
//! method of `Device` in `split/mod.rs`, which looks up what the token stands for. A file in
//! brackets is called on the way, and the call returns. How a domain wakes up is on the page of
//! `domio_vmm`.
//!
//! ```text
//!  no. file                    call
//!      -- the process makes the call: domio_vmm, process/run.rs --
//!   1  split/guest.rs          Vbd::call, begin      whose disk; the caller is a submitter
//!   2  split/raw.rs            RawCall::step         cuts the call into bios
//!   3  split/front.rs          go_on, submit         pays for a bio; its record: submitted
//!   4  queue/mod.rs            DiskQueue::submit     merges, or makes a request if there is room
//!                                                    (queue/merge.rs merge, queue/room.rs
//!                                                    try_room); else the process sleeps
//!   5  queue/drive.rs          insert, drive         to the elevator; what the elevator gives
//!                                                    next starts, when the queue is unplugged
//!   6  split/layer.rs          Layer::act            timers, kblockd, started requests
//!   7  split/front.rs          act, push             into the ring; the event, if wanted
//!      -- the driver domain wakes up: domio_vmm, from Host::deliver on --
//!   8  split/serve.rs          want, thread          the back-end's thread looks at the ring
//!   9  split/serve.rs          look, take, submit    a pending entry (split/back.rs may_take), a
//!                                                    bio of the thread's own
//!  10  queue/mod.rs            DiskQueue::submit     as 4 and 5, in the host's queue
//!  11  split/serve.rs          act, issue            pays for each command
//!  12  split/disk.rs           HostDisk::issue       to the drive, which says when it ends
//!      -- the drive works: drive/mod.rs --
//!  13  split/disk.rs           HostDisk::event       it is over: the physical interrupt
//!  14  split/serve.rs          disk_irq              the handler raises the block softirq
//!  15  split/serve.rs          disk_softirq, over    which thread's request, and so whose
//!  16  split/serve.rs          respond, notify       into the ring; the event, if wanted
//!      -- the guest wakes up --
//!  17  split/front.rs          interrupt, end        takes the responses; the request is free
//!  18  split/guest.rs          over, piece_over      the last piece of the call: wakes the process
//!  19  split/guest.rs          Vbd::call             the call returns
//! ```
//!
//! Each queue is visited once, and each driver twice, on the way there and on the way back: that is
//! another event. A read through the page cache begins in `split/files.rs`, and is at 3 what the
//! file system asks for. A blkback with a limit of its own (blktap) answers in its thread: 15 goes
//! to 8, and 16 follows there. A disk that is a file goes from 9 to `split/looped.rs`.
#![no_std]
#![warn(clippy::float_arithmetic)]

extern crate alloc;

#[macro_use]
mod declare;

pub mod conformance;
pub mod disks;
pub mod drive;
pub mod elevator;
pub mod fs;
pub mod loopback;
pub mod queue;
pub mod replay;
pub mod split;
pub mod trace;
