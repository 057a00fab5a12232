//! What the conformance suites of policies (`domio-sched`) and of controllers (`domio-control`)
//! share: random numbers, values of parameters, names of checkers, findings and reports.
//!
//! A suite runs what it checks under several *subjects*, which are scripts or histories, some
//! written by hand and some random. Its checkers look at what happened. A [`Finding`] names
//! checker and subject, and a [`Report`] holds all of them.
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

extern crate alloc;

pub mod drawn;
pub mod report;
pub mod rng;

pub use drawn::{draw, drawn};
pub use report::{CheckerInfo, Finding, Report, SuiteInfo, info, misnamed};
pub use rng::Rng;
