//! The scheduler contract and every CPU scheduling policy of domio.
//!
//! A policy is one implementation of [`Scheduler`]. It sees the host through [`Cx`] alone, keeps
//! its own state in tables indexed by [`domio_core::VcpuId`] and [`domio_core::PcpuId`], returns
//! each decision as a [`Pick`] and asks for everything else through the context. The same policy
//! runs in the simulator, in the conformance suite's tiny host and, later, on a real one.
//!
//! Start with [`round_robin`], the shortest whole policy.
#![no_std]

extern crate alloc;

pub mod arinc653;
pub mod broken;
pub mod bvt;
pub mod conformance;
pub mod contract;
pub mod cores;
pub mod credit;
pub mod credit2;
pub mod cx;
pub mod null;
mod placement;
pub mod pools;
pub mod registry;
pub mod releases;
#[cfg(test)]
mod rig;
pub mod round_robin;
pub mod rtds;
pub mod sedf;
pub mod state;
pub mod work;

pub use contract::{
    Conflict, Descriptor, Dispatching, GroupId, Needs, PacketsMoved, Pick, Prev, Promises,
    Scheduler, Stop, Wake,
};
pub use cores::Cores;
pub use cx::{Affinity, Cx, Effect, Pause, PcpuView, Tables, VcpuView};
pub use pools::{Pool, Pools};
pub use registry::{Policy, find, policies};
pub use releases::{HostParts, Releases};
pub use state::StateRows;
pub use work::{Work, WorkReport};
