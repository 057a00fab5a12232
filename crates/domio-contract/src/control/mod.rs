//! What an operator's host and a controller know of each other, apart from every controller.
//!
//! A scheduling policy decides in microseconds who runs. A controller looks at a whole host a few
//! times a second, sees what each domain got in the [interval](Observation) that just ended, and
//! [answers](Answers) with settings to change: weights, caps, reservations, limits of traffic,
//! parameters of the policy. It sees figures and gives figures. Who reads them and who carries the
//! answers out is not its business: a process in the driver domain of a simulated host, a test,
//! or, later, a program on a real one.

pub mod accounting;
pub mod change;
pub mod contract;
pub mod seen;

pub use change::{
    Adjustment, Answers, CAP_PER_VCPU, Change, Guard, Kinds, Reservation, SettingKind, Settings,
    Traffic,
};
pub use contract::{
    Conflict, Controller, Descriptor, Entry, Promises, SETTLES_WITHIN, interval_ms,
};
pub use seen::{DomainSeen, Observation, PcpuSeen, PolicySeen, Refusal};
