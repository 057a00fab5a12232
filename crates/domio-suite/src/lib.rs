//! What the conformance suites of policies (`domio-sched`), of controllers (`domio-control`) and
//! of elevators (`domio-blk`) share: random numbers, values of parameters, names of checkers, the
//! list of subjects, findings and reports.
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
pub use report::{CheckerInfo, Finding, Found, Report, SuiteInfo, info, misnamed, subjects, tail};
pub use rng::Rng;
