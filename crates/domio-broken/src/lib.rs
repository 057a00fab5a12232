//! Policies and controllers with one bug each. Only tests depend on this crate: those of the
//! conformance suites, whose checkers have to catch the bugs, and those of hosts, which have to
//! stop where a policy breaks the contract.
#![no_std]

extern crate alloc;

pub mod controllers;
pub mod policies;
