//! Block devices of simulated hosts.
//!
//! | module | holds |
//! |---|---|
//! | [`loopback`] | virtual disks in the driver domain's memory: the example of a device model |
#![no_std]

extern crate alloc;

pub mod loopback;
