//! The meter on whole traces: simulated, recorded, old and poor ones.

mod alone;
mod boosts;
mod cast;
#[path = "../../../domio-trace/tests/common/mod.rs"]
mod common;
mod competing;
mod device;
mod driver_work;
mod linux;
mod linux_disks;
mod network;
mod old_traces;
mod one_answer;
mod places;
mod real_traces;
mod same_figures;
mod tools;
mod unseen_switches;
mod waiting;
mod web;
