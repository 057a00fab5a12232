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
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

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
