//! Block devices of simulated hosts.
//!
//! | module | holds |
//! |---|---|
//! | [`loopback`] | virtual disks in the driver domain's memory: the example of a device model |
#![no_std]

extern crate alloc;

#[macro_use]
#[path = "../../domio-core/src/keys/declare.rs"]
mod declare;

pub mod loopback;
