//! What every other crate of domio shares: ids, time, sets of pcpus, topology, declared
//! parameters and trace records.
//!
//! Nothing here depends on anything, allocates on a hot path or knows how a host works. A
//! scheduling policy may use this crate and the contract of `domio-sched`, and nothing else.
#![no_std]

extern crate alloc;

pub mod cpuset;
pub mod id;
pub mod keys;
pub mod params;
pub mod place;
pub mod record;
pub mod table;
pub mod time;
pub mod topology;
pub mod version;
pub mod web;

pub use cpuset::{CpuSet, MAX_PCPUS};
pub use id::{DomainId, PcpuId, VcpuId, VcpuName};
pub use params::{Conflict, ParamError, ParamKind, ParamSpec, ParamValues};
pub use place::NetPlace;
pub use record::{Kind, NullSink, Record, Runstate, Sink};
pub use table::PcpuTable;
pub use time::{Duration, Instant};
pub use topology::Topology;
pub use version::XenVersion;
pub use web::WebStep;
