//! Agreement with recorded traces: simulate what a real Xen did and compare.
//!
//! ```text
//! scenario.json ─▶ Recording ─┬─▶ demand, start state ─▶ simulated host ─▶ Meter ─┐
//! trace.bin     ─▶            └─▶ Meter ──────────────────────────────────────────┴─▶ Agreement
//! ```
//!
//! From the recording the simulation takes what the host was configured to be (`scenario.json`),
//! what the guests asked for ([`demand`], [`clock`], [`recur`], [`arrival`], [`unseen`],
//! [`kernel_tick`], [`tick_wake`], [`job_timer`]), what else of theirs kept timers from running
//! ([`late`], [`hold`]) and the state in which the trace found the host ([`mod@start`], and what a
//! trace cannot show of it, [`mod@estimate`], or shows in the length of a pass alone, [`search`]).
//! Everything after that is
//! the model's own. One hardware profile serves every recording
//! ([`domio_vmm::Profile::XEN_4_17_EMULATED`]). A description and a trace that cannot be of one
//! host are refused, and so is a release that is none of Xen 4 (`release`); what they leave open is
//! said beside the figures (`fit`).

pub mod agreement;
pub mod arrival;
pub mod clock;
pub mod demand;
pub mod estimate;
mod fit;
mod guess;
pub mod hold;
pub mod job_timer;
pub mod kernel_tick;
pub mod late;
mod matching;
pub mod recording;
pub mod recur;
mod release;
pub mod search;
pub mod start;
pub mod tick_wake;
pub mod twin;
pub mod unseen;

pub use agreement::{Agreement, DomainAgreement, Pair, Quantiles};
pub use recording::{Recording, RecordingError};
