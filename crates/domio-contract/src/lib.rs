//! What a host and a CPU scheduling policy know of each other, apart from every policy.
//!
//! A policy is one implementation of [`Scheduler`]. It sees the host through [`Cx`] alone, keeps
//! its own state in tables indexed by [`domio_core::VcpuId`] and [`domio_core::PcpuId`], returns
//! each decision as a [`Pick`] and asks for everything else through the context. A host is whoever
//! keeps [`Tables`], calls in the order that [`contract`] says, and carries out each [`Effect`].
//! The policies themselves are in `domio-sched`, which nothing here depends on: who simulates hosts
//! is not compiled again when a policy changes.
//!
//! [`control`] is the same for controllers, which look at a whole host a few times a second.
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

extern crate alloc;

pub mod allocation;
pub mod contract;
pub mod control;
pub mod cores;
pub mod cx;
pub mod pools;
pub mod registry;
pub mod releases;
pub mod state;
pub mod work;

pub use allocation::{Credits, ShareBy};
pub use contract::{
    Conflict, Descriptor, Dispatching, GroupId, Needs, PacketsMoved, Pick, Prev, Promises,
    Scheduler, Stop, Wake, WorksFor,
};
pub use cores::Cores;
pub use cx::{Affinity, Cx, Effect, Pause, PcpuView, Tables, VcpuView};
pub use pools::{Pool, Pools};
pub use registry::{Policy, find};
pub use releases::{HostParts, Releases};
pub use state::StateRows;
pub use work::{Work, WorkReport};
