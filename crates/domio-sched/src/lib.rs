//! Every CPU scheduling policy of domio, and the suite that holds policies to their promises.
//!
//! What a policy is, and what it sees of its host, is said in [`domio_contract`]. The same policy
//! runs in the simulator, in the conformance suite's tiny host and, later, on a real one.
//!
//! Start with [`round_robin`], the shortest whole policy.
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

extern crate alloc;

#[macro_use]
mod declare;

pub mod arinc653;
pub mod bvt;
pub mod conformance;
pub mod credit;
pub mod credit2;
pub mod linux;
pub mod null;
mod placement;
pub mod registry;
#[cfg(test)]
mod rig;
pub mod round_robin;
pub mod rtds;
pub mod sedf;

pub use registry::{find, policies};
