//! What a controller is, and every controller of domio.
//!
//! A scheduling policy decides in microseconds who runs. A controller looks at a whole host a few
//! times a second, sees what each domain got in the [interval](Observation) that just ended, and
//! [answers](Answers) with settings to change: weights, caps, reservations, limits of traffic,
//! parameters of the policy. It sees figures and gives figures. Who reads them and who carries the
//! answers out is not its business: a process in the driver domain of a simulated host, a test,
//! or, later, a program on a real one.
//!
//! Start with [`cap_follows_demand`], the shortest whole controller.
#![no_std]

extern crate alloc;

pub mod accounting;
pub mod broken;
pub mod cap_follows_demand;
pub mod change;
pub mod conformance;
pub mod contract;
pub mod debt_collector;
pub mod registry;
pub mod seen;
pub mod share_guard;

pub use change::{
    Adjustment, Answers, Change, Guard, Kinds, Reservation, SettingKind, Settings, Traffic,
};
pub use contract::{Conflict, Controller, Descriptor, Entry, Promises, interval_ms};
pub use registry::{all, find};
pub use seen::{DomainSeen, Observation, PcpuSeen, PolicySeen, Refusal};
