//! What recorded vcpus asked for, for the guests of simulated hosts.
//!
//! ```text
//! trace ─▶ demand ─▶ RecordedDemands ─▶ Scenario::build ─▶ simulated host
//!   │
//!   └───▶ Shown ─┬─▶ from_trace ─▶ text of a scenario
//! what xl printed ─┴─▶ from_lists ─▶ text of a scenario
//! definitions of guests ▶ import ──▶ text of a scenario
//! ```
//!
//! [`demand`] reads off a trace what each vcpu asked for, and [`arrival`] where its wake-ups come
//! from. A process of a simulated guest asks for
//! the same ([`ReplayProcess`]), which a scenario can name ([`RecordedDemands`]). A whole scenario
//! can be made of a trace ([`from_trace`]), or of what `xl` printed alone ([`from_lists`]), or of
//! definitions of guests ([`import`]).
//!
//! Traces of block devices are replayed without a host: against request layer, elevator and drive
//! ([`block`]).
//!
//! Data comes in and goes out: nothing here opens a file, starts a thread or looks at a clock. Who
//! has traces hands them over ([`Traces`]).

pub mod arrival;
pub mod block;
pub mod demand;
mod draft;
pub mod from_lists;
pub mod from_trace;
pub mod import;
pub mod linux;
pub mod named;
pub mod private;
mod process;
mod replays;
mod xl;

pub use named::{NamedRecord, NamedRecords};
pub use process::{Arrival, Demand, ReplayProcess};
pub use replays::{OpenTrace, RecordedDemands, Traces};
