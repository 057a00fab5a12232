//! Every controller of domio, and the suite that holds controllers to their promises.
//!
//! What a controller is, and what it sees of its host, is said in [`domio_contract::control`].
//!
//! Start with [`cap_follows_demand`], the shortest whole controller.
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

extern crate alloc;

#[macro_use]
mod declare;

pub mod cap_follows_demand;
pub mod conformance;
pub mod debt_collector;
pub mod registry;
pub mod share_guard;

pub use registry::{all, find};
