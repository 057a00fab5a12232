//! Block devices of simulated hosts.
//!
//! | module | holds |
//! |---|---|
//! | [`loopback`] | virtual disks in the driver domain's memory, and the example of how a device model is written |
#![no_std]

extern crate alloc;

pub mod loopback;
