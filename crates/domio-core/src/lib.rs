//! What every other crate of domio shares: ids, time, sets of pcpus, topology, declared
//! parameters and trace records.
//!
//! Nothing here depends on anything, allocates on a hot path or knows how a host works. A
//! scheduling policy may use this crate and the contract of `domio-sched`, and nothing else.
#![no_std]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]

extern crate alloc;

pub mod accounted;
pub mod actor;
pub mod class;
pub mod cpuset;
pub mod figure;
pub mod id;
pub mod keys;
mod mix;
pub mod names;
pub mod params;
pub mod record;
pub mod runstate;
mod says;
pub mod sink;
pub mod table;
pub mod time;
pub mod topology;
pub mod version;

pub use actor::{Actor, ActorId};
pub use class::{
    Acts, Class, ClassId, Declared, Field, Hold, Place, QueueRules, Says, Shows, Unit, WaitsFor,
};
pub use cpuset::{CpuSet, MAX_PCPUS};
pub use figure::{Adds, Better, Felt, Figure, FigureKind, FigureOf, FigureTable, Tally};
pub use id::{DomainId, PcpuId, VcpuId, VcpuName};
pub use mix::mixed;
pub use names::{ActorIndex, Names};
pub use params::{Conflict, ParamError, ParamKind, ParamSpec, ParamValues};
pub use record::{COMMON, FOREIGN, Kind, Record};
pub use runstate::Runstate;
pub use sink::{NullSink, Sink};
pub use table::PcpuTable;
pub use time::{Duration, Instant};
pub use topology::Topology;
pub use version::XenVersion;
