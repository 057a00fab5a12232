//! Scenarios from the outside: what is accepted, what is refused and how that is told.

mod accounting;
mod bvt;
mod common;
mod conflicts;
mod controllers;
mod debts;
mod decisions;
mod devices;
mod errors;
mod guard;
mod guard_properties;
mod limits;
mod mistakes;
mod network;
mod newcomers;
mod overrides;
mod processes;
mod properties;
mod senders;
mod several_vcpus;
mod shipped;
mod stories;
mod told;
mod vcpus;
mod vectors;
mod web;
